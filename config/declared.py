"""Suites as a configuration names them: shipped, discovered or its own, with their sections and short keys.

`suites` lists names and declarations. A declaration of a known name goes over what that name declares; so does the
section of that name (`cot: {n_samples: 10}`), in whose short keys (`keys` of a shipped declaration) the form of
earlier versions lives on. What results are whole declarations (`data.suites.Suite`), each key of which is known by
where it was written.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from data import plugins
from data.errors import InputError
from data.options import names, settle
from data.plugins import loader, metric
from data.records import Loader, Metric
from data.suites import Suite, Use

SHIPPED = Path(__file__).parent / "suites"
PROMPT_FILE = re.compile(r"\S+\.(?:j2|jinja2?|txt|md)")
Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Declaration:
    """A suite as a file declares it, and the short keys of its section with the paths that each stands for.

    `default`: it runs where a configuration names no suites. `text` is the file's own, `origin` its name.
    """

    values: Mapping[str, Any]
    keys: Mapping[str, tuple[Steps, ...]]
    default: bool = False
    text: str = ""
    origin: str = ""


@dataclass
class Resolved:
    """A configuration with whole suites; `written` says of a path where its value was written.

    `declared` are the declarations under which suites are known that the configuration names, by their places.
    """

    raw: dict[str, Any]
    written: dict[Steps, Steps] = field(default_factory=dict)
    declared: dict[Steps, Declaration] = field(default_factory=dict)

    def origin(self, path: Steps) -> Steps:
        """Return where the value at a path was written."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.written:
                return (*self.written[path[:length]], *path[length:])
        return path

    def source(self, path: Steps) -> Declaration | None:
        """Return the declaration of a file that a path's value comes from; None where the configuration has it."""
        return self.declared.get(path[:2]) if self.origin(path) == path else None


class DeclarationError(InputError):
    """What is wrong with suites: errors in pydantic's form, with what is `allowed` where a key is unknown."""

    def __init__(self, *errors: Mapping[str, Any]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors))
        self.errors = errors
        self.resolved: Resolved | None = None


def _unknown(path: Steps, allowed: Iterable[str]) -> DeclarationError:
    return DeclarationError(
        {"loc": path, "type": "extra_forbidden", "msg": "unknown key", "allowed": tuple(allowed)}
    )


def _declaration(text: str, name: str, origin: str) -> Declaration:
    try:
        found = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: not valid YAML ({error}).") from error
    if not isinstance(found, dict):
        raise InputError(f"{origin}: expected the keys of a suite, found {type(found).__name__}.")
    keys = found.pop("keys", {})
    paths = {short: tuple(_steps(path) for path in str(listed).split()) for short, listed in keys.items()}
    default = bool(found.pop("default", False))
    return Declaration({"name": name, **found}, paths, default, text, origin)


def _steps(dotted: str) -> Steps:
    return tuple(dotted.split("."))


def _files() -> Iterator[Path]:
    yield from sorted(SHIPPED.glob("*.yaml"))
    yield from plugins.files(".yaml")


@cache
def _read_declarations(there: tuple[str, ...]) -> Mapping[str, Declaration]:
    found: dict[str, Declaration] = {}
    for one in (*_of_files(there), *_registered()):
        name = str(one.values["name"])
        if name in found:
            raise InputError(
                f"two suites are named {name!r}: {found[name].origin} and {one.origin}. Rename or remove one."
            )
        found[name] = one
    return found


def _of_files(there: Iterable[str]) -> Iterator[Declaration]:
    for one in there:
        try:
            text = Path(one).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{one}: cannot be read as a suite ({error}).") from error
        yield _declaration(text, Path(one).stem, one)


def _registered() -> Iterator[Declaration]:
    for point in plugins.registered("suites"):
        text = plugins.load(point)
        if not isinstance(text, str):
            raise InputError(f"entry point {point.name} = {point.value}: expected a suite's YAML as text.")
        declared = _declaration(text, point.name, f"entry point {point.name}")
        yield replace(declared, values={**declared.values, "name": point.name})


def known() -> Mapping[str, Declaration]:
    """Return every declared suite, by name: shipped, of plug-ins, of other distributions."""
    return _read_declarations(tuple(map(str, _files())))


def takes_all(name: str) -> bool:
    """Say whether a suite is declared to take all rows of its data."""
    declared = known().get(name, Declaration({}, {})).values
    return bool(declared.get("items", {}).get("sample", {}).get("method") == "all")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Lay one mapping over another; mappings in both are merged, all else is replaced."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def _put(values: dict[str, Any], path: Steps, value: Any) -> dict[str, Any]:
    for step in reversed(path):
        value = {step: value}
    return merged(values, value)  # pyrefly: ignore[bad-argument-type] # the first step is a name


def _section(
    values: dict[str, Any], declared: Declaration, section: object, name: str, place: Steps
) -> tuple[dict[str, Any], dict[Steps, Steps]]:
    """Lay a section over a suite; return where each of its keys went."""
    written: dict[Steps, Steps] = {}
    if not isinstance(section, Mapping):
        raise DeclarationError({"loc": (name,), "type": "dict_type", "msg": "", "input": section})
    for key, value in section.items():
        paths = declared.keys.get(key)
        if paths is None and key in Suite.model_fields and key != "name":
            paths = ((key,),)
        if paths is None:
            own = [one for one in Suite.model_fields if one != "name"]
            raise _unknown((name, key), dict.fromkeys([*declared.keys, *own]))
        for path in paths:
            values = _put(values, path, value)
            written[*place, *path] = (name, key)
    return values, written


def _settled(values: dict[str, Any], place: Steps) -> dict[str, Any]:
    """Check the options of a suite's loader and metrics, and fill in their defaults; all else is pydantic's."""
    for name in values["metrics"] if isinstance(values.get("metrics"), Mapping | list | tuple) else ():
        try:
            metric(str(name))
        except InputError as error:
            raise DeclarationError(
                {"loc": (*place, "metrics", str(name)), "type": "unknown", "msg": str(error)}
            ) from error
    try:
        suite = Suite.model_validate(values)
    except ValidationError:
        return values
    try:
        unit = loader(suite.loader)
    except InputError as error:
        raise DeclarationError(
            {"loc": (*place, "items", "loader"), "type": "unknown", "msg": str(error)}
        ) from error
    source = _options(unit, suite.source, (*place, "items"))
    if wrong := list(unit.check(source)) if unit.check else []:
        raise DeclarationError(
            *({"loc": (*place, "items", *path), "type": "unit", "msg": said} for path, said in wrong)
        )
    metrics = {}
    for name, given in suite.metrics.items():
        here = (*place, "metrics", name)
        measure = metric(name)
        own = suite.options(name)
        metrics[name] = {
            **{key: value for key, value in given.items() if key not in own},
            **_options(measure, own, here),
        }
        _votes(suite, name, measure, place)
        if measure.verifies and unit.units is None and suite.use(name).enabled:
            said = f"{name} goes by the items' families, and the loader {suite.loader} has none"
            raise DeclarationError({"loc": here, "type": "unit", "msg": said})
    prompts: dict[str, Any] = {}
    if "prompt" in values:
        prompts["prompt"] = _read(suite.prompt, (*place, "prompt"))
    if "prompts" in values:
        read = {name: _read(text, (*place, "prompts", name)) for name, text in suite.prompts.items()}
        prompts["prompts"] = read
    return {**values, **prompts, "items": {"loader": suite.loader, **source}, "metrics": metrics}


def _read(prompt: str, place: Steps) -> str:
    """Return a prompt's text, a file's where it names one: manifests and keys of caches hold the text itself."""
    if not PROMPT_FILE.fullmatch(prompt):
        return prompt
    try:
        return Path(prompt).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        said = f"the prompt's file {prompt} cannot be read ({why}); expected a text file, from where the run starts"
        raise DeclarationError({"loc": place, "type": "unit", "msg": said}) from error


def _options(unit: Loader | Metric, given: Mapping[str, Any], place: Steps) -> dict[str, Any]:
    try:
        return settle(unit.options, given)
    except ValidationError as error:
        known = [*names(unit.options), *(Use.model_fields if isinstance(unit, Metric) else ())]
        listed = ({**one, "loc": (*place, *one["loc"]), "allowed": tuple(known)} for one in error.errors())
        raise DeclarationError(*listed) from error


def _votes(suite: Suite, name: str, measure: Metric, place: Steps) -> None:
    """Refuse before anything is asked what would end as an error after every judge was paid."""
    use = suite.use(name)
    if use.enabled and measure.steps and not measure.votes and (use.aggregate or suite.aggregate) == "majority":
        said = (
            f"no majority can be taken of {name}, since each judge makes claims of its own; take mean, median, min "
            f"or max, or set {name}.enabled to false"
        )
        raise DeclarationError({"loc": (*place, "aggregate"), "type": "unit", "msg": said})


def _whole(entry: Mapping[str, Any]) -> bool:
    """Say whether a declaration is complete, as a manifest holds it, and goes over nothing."""
    return set(Suite.model_fields) <= set(entry)


def suites_in(configuration: Mapping[str, Any]) -> list[Suite]:
    """Return the suites of a run's configuration, of this version or an earlier one, as far as they can be told.

    Options stay as they were written where a unit is not there any more, or has others now. The run's own plug-ins
    are not loaded: nothing of a finished run is executed to show it.
    """
    own = {key: value for key, value in configuration.items() if key != "plugins"}
    try:
        listed = resolve(own).raw["suites"]
    except InputError:
        bare = Resolved(dict(own))
        with suppress(InputError):
            _resolve(bare, settled=False)
        listed = bare.raw.get("suites") or []
    found = []
    for values in listed if isinstance(listed, list | tuple) else ():
        with suppress(ValidationError):
            found.append(Suite.model_validate(values))
    return found


def resolve(raw: Mapping[str, Any], *, settled: bool = True) -> Resolved:
    """Return a configuration in which every suite is a whole declaration, and nothing else tells of suites.

    Where it is not to be `settled`, options stay as they were written, and no loader or metric is imported.

    Raises:
        DeclarationError: a name that no suite has, a key that a section cannot have, an option that does not fit.
    """
    result = Resolved(dict(raw))
    try:
        _resolve(result, settled=settled)
    except DeclarationError as error:
        error.resolved = result
        raise
    return result


def _resolve(result: Resolved, *, settled: bool = True) -> None:
    rest = result.raw
    listed = rest.get("suites", [name for name, one in known().items() if one.default])
    if not isinstance(listed, list | tuple):
        return  # pydantic says what is wrong with it
    if isinstance(paths := rest.get("plugins", ()), list | tuple):
        plugins.use(map(str, paths))
    entries = [entry.model_dump() if isinstance(entry, Suite) else entry for entry in listed]
    own = [one["name"] for one in entries if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    sections = {name: rest.pop(name) for name in dict.fromkeys([*known(), *own]) if name in rest}
    weights = rest.pop("weights", None) or {}
    if unknown := [name for name in weights if name not in known() and name not in own]:
        raise _unknown(("weights", unknown[0]), dict.fromkeys([*known(), *own]))
    suites: list[Any] = []
    for index, entry in enumerate(entries):
        place: Steps = ("suites", index)
        name = _name(entry, place)
        if name is None:
            suites.append(entry)  # pydantic says what is wrong with it
            continue
        declared = known().get(name, Declaration({}, {}))
        if isinstance(entry, str):
            result.declared[place] = declared
        values = _overlaid(declared, entry)
        values, written = _section(values, declared, sections.pop(name, {}), name, place)
        result.written |= written
        if name in weights:
            values["weight"] = weights[name]
            result.written[*place, "weight"] = ("weights", name)
        suites.append(_settled(values, place) if settled else values)
    for name, section in sections.items():  # of suites that do not run: checked all the same
        declared = known().get(name, Declaration({}, {}))
        values, result.written = _section(dict(declared.values), declared, section, name, ("suites", len(suites)))
        if settled:
            _settled(values, ("suites", len(suites)))
    rest["suites"] = suites


def _name(entry: object, place: Steps) -> str | None:
    """Return the name of an entry of `suites`; None where it is neither a name nor a declaration."""
    if isinstance(entry, Mapping):
        return str(entry.get("name", ""))
    if not isinstance(entry, str):
        return None
    if entry not in known():
        there = ", ".join(known())
        said = f"unknown suite {entry!r}: expected one of {there}, or a declaration"
        raise DeclarationError({"loc": place, "type": "unknown", "msg": said})
    return entry


def _overlaid(declared: Declaration, entry: object) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        return dict(declared.values)
    return dict(entry) if _whole(entry) else merged(declared.values, entry)
