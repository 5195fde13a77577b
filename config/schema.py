"""The JSON schema of a configuration, for completion and checks in editors, generated from the declarations.

Where the two could differ it is as lenient as the reader. It includes all available units and suites: shipped,
registered, and those of the given plug-ins.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from config.declared import Declaration, known
from config.models import Judge, Model
from config.settings import Settings
from data import plugins
from data.options import Declared
from data.plugins import discover, families, metrics
from data.records import Loader, Provider
from data.suites import Suite, Use

Schema = dict[str, Any]
KINDS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}


class OptionSchemas:
    """The schemas of all parts of a configuration; `defs` are the definitions that they refer to."""

    def __init__(self) -> None:
        units = (*discover(Loader).values(), *discover(Provider).values(), *metrics().values())
        own = [unit.options for unit in units if isinstance(unit.options, type)]
        listed: list[type[BaseModel]] = list(dict.fromkeys([Settings, Model, Judge, Suite, Use, *own]))
        refs, found = models_json_schema([(one, "validation") for one in listed])
        self.defs: dict[str, Schema] = found["$defs"]
        self._refs = {one: refs[one, "validation"]["$ref"].rpartition("/")[2] for one in listed}

    def of(self, declared: Declared) -> dict[str, Schema]:
        """Return the schemas of options, by name."""
        if isinstance(declared, type):
            return dict(self.defs[self._refs[declared]].get("properties", {}))
        kinds = {name: {"type": KINDS[type(one)]} if type(one) in KINDS else {} for name, one in declared.items()}
        return {name: {**kind, "default": declared[name]} for name, kind in kinds.items()}

    def shared(self) -> dict[str, Schema]:
        """Return the definitions that schemas refer to, except classes that are assembled here from their keys."""
        whole = {"Options", "Settings", "Suite", "Use", "Model", "Judge"}
        built = {name for one, name in self._refs.items() if one.__name__ in whole}
        return {name: schema for name, schema in self.defs.items() if name not in built}


def _object(properties: Mapping[str, Schema], **more: Any) -> Schema:
    return {"type": "object", "properties": dict(properties), "additionalProperties": False, **more}


def _united(listed: Iterable[Mapping[str, Schema]]) -> dict[str, Schema]:
    """Merge the properties of several objects; a property with several schemas allows any of them."""
    found: dict[str, list[Schema]] = {}
    for properties in listed:
        for name, schema in properties.items():
            if schema not in found.setdefault(name, []):
                found[name].append(schema)
    return {name: one[0] if len(one) == 1 else {"anyOf": one} for name, one in found.items()}


def _entry(source: OptionSchemas, model: type[Model]) -> Schema:
    """Return the schema of an entry of `models` or `judges`, with the keys of every provider."""
    shared = {name: one for name, one in source.of(model).items() if name != "options"}
    shared["provider"] = {**shared["provider"], "enum": [*discover(Provider)]}
    own = _united(source.of(unit.options) for unit in discover(Provider).values())
    address = {"url": {"type": "string", "description": "another name of base_url"}}
    return _object({**address, **own, **shared}, required=["name"])


def _metric(source: OptionSchemas, declared: Declared) -> Schema:
    return {"anyOf": [{"type": "null"}, _object({**source.of(declared), **source.of(Use)})]}


def _suite(source: OptionSchemas) -> dict[str, Schema]:
    keys = source.of(Suite)
    loaders = discover(Loader)
    named = {"loader": {"enum": [*loaders], "default": "table", "description": "where the items come from"}}
    items = _object({**_united(source.of(one.options) for one in loaders.values()), **named})
    measured = {name: _metric(source, unit.options) for name, unit in metrics().items()}
    texts = {"type": "array", "items": {"type": "string"}}
    return keys | {
        "title": {**keys["title"], "type": ["string", "object"]},
        "items": {**items, "description": keys["items"]["description"]},
        "prompts": {"anyOf": [keys["prompts"], texts], "description": keys["prompts"]["description"]},
        "metrics": {
            "anyOf": [_object(measured, minProperties=1), {"type": "array", "items": {"enum": [*measured]}}],
            "description": keys["metrics"]["description"],
        },
    }


def _at(source: OptionSchemas, declared: Declaration, steps: Iterable[str | int]) -> Schema:
    """Return the schema of the path within a suite that a short key stands for."""
    first, *rest = map(str, steps)
    if first == "items":
        unit: Any = discover(Loader)[str(declared.values["items"]["loader"])]
    elif first == "metrics" and len(rest) > 1:
        unit, rest = metrics()[rest[0]], rest[1:]
    elif first == "metrics":
        return _metric(source, metrics()[rest[0]].options)
    else:
        return source.of(Suite)[first]
    schema = {**source.of(unit.options), **(source.of(Use) if first == "metrics" else {})}[rest[0]]
    for step in rest[1:]:
        target = source.defs[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        schema = target["properties"][step]
    return schema


def schema(paths: Iterable[str] = ()) -> Schema:
    """Return the JSON schema (draft 2020-12) of a configuration; `paths` are plug-ins that it may use.

    Raises:
        InputError: a plug-in does not exist or cannot be loaded.
    """
    plugins.use(paths)
    source = OptionSchemas()
    keys = _suite(source)
    told = source.of(Settings)
    every = known()
    parts = {name: keys[name] for name in ("items", "metrics")}
    keys |= {name: {"$ref": f"#/$defs/{name}", "description": one["description"]} for name, one in parts.items()}
    unnamed = {name: one for name, one in keys.items() if name != "name"}
    named = {"anyOf": [{"enum": [*every]}, _object(keys, required=["name"])]}
    gate = {key: one for key, one in told["gate"].items() if key != "type"}
    names = {"type": "array", "items": {"type": "string"}}
    properties = {
        **told,
        "models": {**told["models"], "items": {"$ref": "#/$defs/model"}},
        "judges": {**told["judges"], "items": {"$ref": "#/$defs/judge"}},
        "suites": {**told["suites"], "items": named},
        "gate": {**gate, "enum": [*gate["enum"], False]},  # YAML reads `off` as False
        **{
            name: _object({**unnamed, **{key: _at(source, one, paths[0]) for key, paths in one.keys.items()}})
            for name, one in every.items()
        },
        "weights": _object(
            {key: {"type": "number", "minimum": 0} for key in every}, description="weights of suites, by name"
        ),
        "models_to_test": {**names, "description": "the seed's form: names of Ollama's models"},
        "tests_to_run": {
            "type": "array",
            "items": {
                "enum": sorted({one for unit in families().values() for one in (unit.name, unit.seed_id)} - {""})
            },
            "description": "the seed's form: families",
        },
        "runs_per_test": {"type": "integer", "minimum": 1, "description": "the seed's form: items of each family"},
    }
    entries = {"model": _entry(source, Model), "judge": _entry(source, Judge), **parts}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A configuration of Basic Control",
        "type": "object",
        "properties": properties,
        "additionalProperties": _object(unnamed),  # the section of a suite that the file itself declares
        "$defs": {**source.shared(), **entries},
    }
