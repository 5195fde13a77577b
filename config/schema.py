"""The JSON schema of a configuration, for completion and checks in editors: pydantic's, with the options of units.

It takes whatever the reader takes. It includes all available units and suites: shipped, registered, and those of
given plug-ins.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from pydantic import BaseModel, Field, WithJsonSchema, create_model
from pydantic.json_schema import GenerateJsonSchema

from basic_control.config.declared import Declaration, load_declarations
from basic_control.config.models import Judge, Model
from basic_control.config.settings import Settings
from basic_control.data import plugins
from basic_control.data.options import Frozen, Number, model_of
from basic_control.data.plugins import discover, families, loader, metrics
from basic_control.data.records import Loader, Provider
from basic_control.data.suites import TABLE, Suite, Use


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, which requires no key: a section is merged with a declaration that has the others."""

    def field_is_required(self, field: Any, total: bool) -> bool:  # noqa: ARG002, FBT001 - pydantic's interface
        """Return that it is not."""
        return False

    def literal_schema(self, schema: Any) -> dict[str, Any]:
        """Return an enumeration, with False beside `off`: YAML reads the word so."""
        words = [*schema["expected"]]
        if "off" in words:
            words.append(False)
        return super().literal_schema({**schema, "expected": words})


def _one_of(names: Iterable[str]) -> Any:
    return Annotated[str, WithJsonSchema({"enum": [*names]})]


def _list_of(kind: Any) -> Any:
    return tuple[kind, ...]


def _describe_type(kind: Any, description: str, **bounds: Any) -> Any:
    return Annotated[kind, Field(description=description, **bounds)]


def _extend_model(name: str, base: Any, **kinds: Any) -> Any:
    """Return a model with other types of its keys, whose descriptions stay, and with more keys of any name."""
    fields: dict[str, Any] = {}
    for number, (key, kind) in enumerate(kinds.items()):
        field = base.model_fields.get(key)
        if field:
            fields[key] = (kind, field)
        else:  # a name of any form, such as `my-suite`, is no attribute
            fields[f"key_{number}"] = (kind, Field(alias=key))
    return create_model(name, __base__=base, **fields)


def _build_entries(base: type[Model]) -> Any:
    """Return the list of `models` or `judges`: an entry has the keys of its provider."""
    kinds = []
    for name, unit in discover(Provider).items():
        entry = create_model(f"{base.__name__}_{name}", __base__=(base, model_of(unit.options)))
        kinds.append(_extend_model(entry.__name__, entry, provider=_one_of([name]), url=str))
    return _list_of(reduce(or_, kinds))


def _build_suite_model() -> Any:
    """Return the model of a suite's declaration: its items have the keys of a loader, each metric its own."""
    items_models = []
    for name, unit in discover(Loader).items():
        items_models.append(_extend_model(f"loader_{name}", model_of(unit.options), loader=_one_of([name])))
    metric_models = {}
    for name, unit in metrics().items():
        if unit.internal:  # of the product's own suites
            continue
        metric_models[name] = create_model(f"metric_{name}", __base__=(Use, model_of(unit.options))) | None
    metrics_with_options = _extend_model("metrics", Frozen, **metric_models)
    metrics_type = metrics_with_options | _list_of(_one_of(metric_models))
    return _extend_model("suite", Suite, items=reduce(or_, items_models), metrics=metrics_type)


def _find_type(kind: Any, path: Iterable[str | int]) -> Any:
    """Return the type of the value at a path within a model."""
    key, *inner = map(str, path)
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    field = fields[key]
    if not inner:
        return Annotated[field.annotation, *field.metadata, Field(description=field.description)]
    # The model among `Model | None`, or the model alone.
    classes = [part for part in (field.annotation, *get_args(field.annotation)) if isinstance(part, type)]
    return _find_type(next(part for part in classes if issubclass(part, BaseModel)), inner)


def _build_section(name: str, declaration: Declaration, suite: Any) -> Any:
    """Return the section of a known suite: the keys of a declaration, and short keys for paths in it."""
    items = model_of(loader(declaration.values.get("items", {}).get("loader", TABLE)).options)
    short = {}
    for key, (path, *_) in declaration.keys.items():
        short[key] = _find_type(items, path[1:]) if path[0] == "items" else _find_type(suite, path)
    return _extend_model(f"section_{name}", suite, **short)


def build_schema(paths: Iterable[str] = ()) -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a configuration; `paths` are plug-ins that it may use.

    Raises:
        InputError: a plug-in does not exist or cannot be loaded.
    """
    plugins.use(paths)
    suite, declared = _build_suite_model(), load_declarations()
    units = families().values()
    tests = {unit.name for unit in units} | {unit.seed_id for unit in units if unit.seed_id}
    configuration = _extend_model(
        "A configuration of Basic Control",
        Settings,
        models=_build_entries(Model),
        judges=_build_entries(Judge),
        suites=_list_of(_one_of(declared) | suite),
        weights=_describe_type(dict[str, Annotated[Number, Field(ge=0)]], "weights of suites, by name"),
        models_to_test=_describe_type(tuple[str, ...], "the seed's form: names of Ollama's models"),
        tests_to_run=_describe_type(_list_of(_one_of(sorted(tests))), "the seed's form: families"),
        runs_per_test=_describe_type(int, "the seed's form: items of each family", ge=1),
        **{name: _build_section(name, declaration, suite) for name, declaration in declared.items()},
    )
    document: dict[str, Any] = configuration.model_json_schema(schema_generator=_Generator)
    document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    document["additionalProperties"] = {"$ref": "#/$defs/suite"}  # the section of a suite that the file declares
    return document
