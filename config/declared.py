"""A configuration's suites (shipped, discovered or its own), with their sections and short keys.

`suites` lists names and declarations. A declaration overrides the known one of the same name; so does the section
of that name (`cot: {n_samples: 10}`), whose short keys (`keys` of a shipped declaration) keep the form of earlier
versions working. The results are whole declarations (`data.suites.Suite`), with the origin of each key recorded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from basic_control.data import plugins
from basic_control.data.deciding import has_one_headline, without_threshold
from basic_control.data.errors import InputError, find_folder_above
from basic_control.data.options import list_option_names, settle
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Loader, Metric
from basic_control.data.suites import ALL, Suite, Use, name_metrics
from basic_control.data.yaml_depth import check_depth

SHIPPED = Path(__file__).parent / "suites"
# A prompt that is a file's path: prompts/short.j2
PROMPT_FILE = re.compile(r"\S+\.(?:j2|jinja2?|txt|md)")
Steps = tuple[str | int, ...]


@dataclass(frozen=True)
class Declaration:
    """A suite as a file declares it, and the paths that each short key of its section stands for.

    `default`: it runs if a configuration names no suites. `text` is the text of the file, `origin` its name.
    """

    values: Mapping[str, Any]
    keys: Mapping[str, tuple[Steps, ...]]
    default: bool = False
    text: str = ""
    origin: str = ""


@dataclass
class Resolved:
    """A configuration with whole suites; `written` maps a path to where its value was written.

    `declared` maps the places of suites that the configuration names to the declarations known by those names.
    `idle` are suites that do not run and have a section, which is checked all the same.
    """

    raw: dict[str, Any]
    written: dict[Steps, Steps] = field(default_factory=dict)
    declared: dict[Steps, Declaration] = field(default_factory=dict)
    idle: list[dict[str, Any]] = field(default_factory=list)

    def origin(self, path: Steps) -> Steps:
        """Return where the value at a path was written."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.written:
                return (*self.written[path[:length]], *path[length:])
        return path

    def source(self, path: Steps) -> Declaration | None:
        """Return the file declaration that a path's value comes from; None if the configuration itself has it."""
        if self.origin(path) != path:
            return None
        return self.declared.get(path[:2])


class DeclarationError(InputError):
    """Errors about suites in pydantic's form, with the `allowed` keys if one is unknown."""

    def __init__(self, *errors: Mapping[str, Any]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in errors))
        self.errors = errors


def _make_error(path: Steps, message: str, kind: str = "unit", **details: Any) -> DeclarationError:
    return DeclarationError({"loc": path, "type": kind, "msg": message, **details})


def _parse_declaration(text: str, name: str, origin: str) -> Declaration:
    try:
        check_depth(text)
        document = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: not valid YAML ({error}).") from error
    if not isinstance(document, dict):
        raise InputError(f"{origin}: expected the keys of a suite, found {type(document).__name__}.")
    paths: dict[str, tuple[Steps, ...]] = {}
    for key, dotted in document.pop("keys", {}).items():
        paths[key] = tuple(tuple(path.split(".")) for path in str(dotted).split())
    default = bool(document.pop("default", False))
    return Declaration({"name": name, **document}, paths, default, text, origin)


@cache
def _read_declarations(files: tuple[str, ...]) -> Mapping[str, Declaration]:
    by_name: dict[str, Declaration] = {}
    for declaration in (*map(_read_file, files), *_read_entry_points()):
        name = str(declaration.values["name"])
        if name in by_name:
            raise InputError(
                f"two suites are named {name!r}: {by_name[name].origin} and {declaration.origin}. Rename or remove "
                "one."
            )
        by_name[name] = declaration
    return by_name


def _read_file(file: str) -> Declaration:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read as a suite ({error}).") from error
    return _parse_declaration(text, Path(file).stem, file)


def _read_entry_points() -> Iterator[Declaration]:
    for point in plugins.list_entry_points("suites"):
        text = plugins.load(point)
        if not isinstance(text, str):
            raise InputError(f"entry point {point.name} = {point.value}: expected a suite's YAML as text.")
        yield _parse_declaration(text, point.name, f"entry point {point.name}")


def load_declarations() -> Mapping[str, Declaration]:
    """Return every declared suite by name: shipped, from plug-ins, from other distributions."""
    return _read_declarations(tuple(map(str, (*sorted(SHIPPED.glob("*.yaml")), *plugins.files(".yaml")))))


def takes_all(name: str) -> bool:
    """Return whether a suite is declared to take all rows of its data."""
    declared = load_declarations().get(name, Declaration({}, {})).values
    return bool(declared.get("items", {}).get("sample", {}).get("method") == "all")


def merge_mappings(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Override one mapping with another; mappings in both are merged recursively, all else is replaced."""
    result = dict(below)
    for key, value in above.items():
        old = result.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            result[key] = merge_mappings(old, value)
        else:
            result[key] = value
    return result


def _apply_section(
    result: Resolved, location: Steps, name: str, values: dict[str, Any], section: object
) -> dict[str, Any]:
    """Return a suite with its section applied; where each of the section's keys went is recorded."""
    if not isinstance(section, Mapping):
        raise _make_error((name,), "", "dict_type", input=section)
    short_keys: Mapping[str, tuple[Steps, ...]] = {}
    if name in load_declarations():
        short_keys = load_declarations()[name].keys
    # A short key of the declaration stands before a suite's own key of that name.
    paths: dict[str, tuple[Steps, ...]] = {key: ((key,),) for key in Suite.model_fields if key != "name"}
    paths |= short_keys
    above: dict[str, Any] = {}
    for key, value in section.items():
        if key not in paths:
            allowed = tuple(dict.fromkeys([*short_keys, *paths]))
            raise _make_error((name, key), "unknown key", "extra_forbidden", allowed=allowed)
        for path in paths[key]:
            nested: Any = value
            for step in reversed(path):
                nested = {str(step): nested}
            above = merge_mappings(above, nested)
            result.written[*location, *path] = (name, key)
    return _override_values(values, above)


def _override_values(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Override a suite's values: a number of rows alone is drawn at random where all rows were taken before."""
    values, stated = merge_mappings(below, above), _find_sample(above)
    if "n" in stated and "method" not in stated and _find_sample(values).get("method") == "all":
        values = merge_mappings(values, {"items": {"sample": {"method": "random"}}})
    return values


def _find_sample(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how a suite's values say that rows are drawn."""
    items = values.get("items")
    if isinstance(items, Mapping):
        sample = items.get("sample")
        if isinstance(sample, Mapping):
            return sample
    return {}


def _settle_suite(values: Mapping[str, Any], location: Steps) -> Mapping[str, Any]:
    """Return a suite with its options checked and their defaults; pydantic checks the rest."""
    _check_metric_names(values.get("metrics"), location)
    values = _drop_replaced_scores(values)
    try:
        suite = Suite.model_validate(values)
    except ValidationError:
        return values
    try:
        unit = loader(suite.loader)
    except InputError as error:
        raise _make_error((*location, "items", "loader"), str(error), "unknown") from error
    source = _settle_unit(unit, suite.source, (*location, "items"))
    if unit.check:
        errors = [
            {"loc": (*location, "items", *path), "type": "unit", "msg": message}
            for path, message in unit.check(source)
        ]
        if errors:
            raise DeclarationError(*errors)
    metrics = {name: _settle_metric(suite, name, unit, location) for name in suite.metrics}
    _check_all(suite, location)
    # With every key, so that it is complete when it is laid out again.
    complete = {**suite.model_dump(), **values, "items": {"loader": suite.loader, **source}, "metrics": metrics}
    default = None
    if suite.name in load_declarations():
        default = load_declarations()[suite.name].values.get("weight")
    if suite.weight == default and not has_one_headline(suite):
        complete["weight"] = None  # a default, which several scores have not
    return complete | _read_prompts(suite, values, location)


def _check_metric_names(names: object, location: Steps) -> None:
    """Refuse a metric that there is not, before pydantic says something about its options."""
    names = name_metrics(names)
    if not isinstance(names, Mapping):
        return
    for name in map(str, names):
        try:
            metric(name)
        except InputError as error:
            message, replacement = str(error), replacement_of(("metrics", name))
            if replacement:
                message = f"the metric {name!r} was removed; {replacement}"
            raise _make_error((*location, "metrics", name), message, "unknown") from error


def _settle_metric(suite: Suite, name: str, unit: Loader, location: Steps) -> dict[str, Any]:
    """Return a metric's keys with the defaults of its own options; refuse a use that cannot work."""
    metric_location = (*location, "metrics", name)
    measure, options = metric(name), suite.options(name)
    shared = {key: value for key, value in suite.metrics[name].items() if key not in options}
    settled = {**shared, **_settle_unit(measure, options, metric_location)}
    _check_use(suite, name, metric_location)
    _check_votes(suite, name, measure, location)
    if measure.verifies and unit.units is None and suite.use(name).enabled:
        message = f"{name} needs items of families, which the loader {suite.loader} does not have"
        raise _make_error(metric_location, message)
    return settled


def _drop_replaced_scores(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a suite without those metrics of its file's score that the configuration has replaced."""
    name, score, metrics = values.get("name"), values.get("score"), name_metrics(values.get("metrics"))
    if not isinstance(name, str) or name not in load_declarations() or not isinstance(metrics, Mapping):
        return values
    if not isinstance(score, list) or score != load_declarations()[name].values.get("score"):
        return values
    return {**values, "score": [part for part in score if part in metrics]}


def _read_prompts(suite: Suite, values: Mapping[str, Any], location: Steps) -> dict[str, Any]:
    """Return the texts of the prompts that a suite declares."""
    texts: dict[str, Any] = {}
    if "prompt" in values:
        texts["prompt"] = _read_prompt(suite.prompt, (*location, "prompt"))
    if "prompts" in values:
        texts["prompts"] = {
            name: _read_prompt(text, (*location, "prompts", name)) for name, text in suite.prompts.items()
        }
    return texts


def _check_all(suite: Suite, location: Steps) -> None:
    """Refuse a share of rows that hold where nothing says when a metric's do."""
    if suite.score != ALL:
        return
    graded = without_threshold(suite)
    if graded:
        message = (
            f"all needs to know when a row holds, and {graded[0]} grades; give it a threshold of its own "
            f"({graded[0]}: {{threshold: 0.8}}), or list under score what is to be joined"
        )
        raise _make_error((*location, "score"), message)


def _read_prompt(prompt: str, location: Steps) -> str:
    """Return a prompt's text, reading a file if it names one: manifests and cache keys contain the text itself."""
    if not PROMPT_FILE.fullmatch(prompt):
        return prompt
    try:
        return Path(prompt).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        message = f"prompt file {prompt} cannot be read ({why}); expected a path relative to where the run starts"
        folder = find_folder_above(Path(prompt))
        if folder:
            message += f"; it exists from {folder}: run from there"
        raise _make_error(location, message) from error


def _settle_unit(unit: Loader | Metric, values: Mapping[str, Any], location: Steps) -> dict[str, Any]:
    try:
        return settle(unit.options, values)
    except ValidationError as error:
        allowed = list_option_names(unit.options)
        if isinstance(unit, Metric):
            allowed = (*allowed, *Use.model_fields)
        raise DeclarationError(*_locate_errors(error, location, allowed=allowed)) from error


def _locate_errors(error: ValidationError, location: Steps, **details: Any) -> list[dict[str, Any]]:
    """Return the errors of a part of a configuration by their paths in the whole."""
    return [{**problem, "loc": (*location, *problem["loc"]), **details} for problem in error.errors()]


def _check_use(suite: Suite, name: str, location: Steps) -> None:
    """Refuse a setting common to all metrics that is not valid."""
    try:
        suite.use(name)
    except ValidationError as error:
        raise DeclarationError(*_locate_errors(error, location)) from error


def _check_votes(suite: Suite, name: str, measure: Metric, location: Steps) -> None:
    """Refuse before anything is asked what would fail after every judge was paid."""
    use = suite.use(name)
    if use.enabled and measure.steps and not measure.votes and (use.aggregate or suite.aggregate) == "majority":
        message = (
            f"majority is not possible for {name}, whose claims differ between judges; use mean, median, min or "
            f"max, or set {name}.enabled to false"
        )
        raise _make_error((*location, "aggregate"), message)


_BATCHES = {
    "batch_poll_s": "a run that waits looks often at first, then twice a minute",
    "batch_price": "a batched call costs half of a direct one",
}
EXAM = "judges_exam"
RETIRED: Mapping[Steps, str] = {
    ("alce",): "its support, coverage and source verification stay",
    ("currency",): "a table of prices states its own (`prices: FILE`)",
    **{("models", key): why for key, why in _BATCHES.items()},
    **{("judges", key): why for key, why in _BATCHES.items()},
    ("metrics", "chain"): "cot names the first wrong step by rules, and rubric asks a judge",
    ("report", "file"): "`report.name`, or --name, names a run",
    ("report", "samples"): "the report's page has every sample",
    ("report", "junit_items"): "JUnit has a case for each gate and each row without it: remove the key",
    ("stop", "share"): "every sequence of a run has an equal share of `stop.alpha`",
    (EXAM, "families"): f"{EXAM}.items.steps names judged steps",
    **{
        (EXAM, key): f"{EXAM}.items.{key} is the same"
        for key in ("n_items", "levels", "languages", "seed", "data", "n_data")
    },
}
"""Keys of earlier versions, none of which affected a score, by the end of their path: what replaces each."""


def replacement_of(path: Steps) -> str:
    """Return what replaces a key of earlier versions; '' if the key was never one."""
    names = tuple(step for step in path if isinstance(step, str))
    for start in range(len(names)):
        end = names[start:]
        # A single word is a key of earlier versions only at the top; `alce` was one anywhere.
        if end in RETIRED and (len(end) > 1 or end in {names, ("alce",)}):
            return RETIRED[end]
    return ""


def suites_in(configuration: Mapping[str, Any]) -> list[Suite]:
    """Return the suites of a run's configuration, as far as possible.

    Options are kept as written if their unit is gone or has others now. The run's own plug-ins are not loaded:
    showing a finished run executes none of its code.
    """
    raw = {key: value for key, value in configuration.items() if key != "plugins"}
    result = Resolved(raw)
    with suppress(InputError):
        result = lay_out(raw)
        settle_options(result)
    suites = []
    for values in _list_entries(result.raw.get("suites")):
        with suppress(ValidationError):
            suites.append(Suite.model_validate(values))
    return suites


def _list_entries(value: object) -> Sequence[Any]:
    """Return the entries of a list; none of anything else."""
    return value if isinstance(value, list | tuple) else ()


def resolve_suites(raw: Mapping[str, Any]) -> Resolved:
    """Return a configuration in which every suite is a whole declaration, and no other key is about suites.

    Raises:
        DeclarationError: an unknown suite, a key that a section cannot have, or an invalid option.
    """
    result = lay_out(raw)
    settle_options(result)
    return result


def lay_out(raw: Mapping[str, Any]) -> Resolved:
    """Merge each suite's declaration, section and weight. Options stay as written; no unit is imported.

    Raises:
        DeclarationError: an unknown suite, or a key that a section cannot have.
    """
    remaining = dict(raw)
    result = Resolved(remaining)
    defaults = [name for name, declaration in load_declarations().items() if declaration.default]
    written_suites = remaining.get("suites", defaults)
    if not isinstance(written_suites, list | tuple):
        return result  # pydantic reports the error
    # Plug-ins first: they may declare suites.
    plugins.use(map(str, _list_entries(remaining.get("plugins"))))
    entries = [*map(_dump_entry, written_suites)]
    names = tuple(dict.fromkeys([*load_declarations(), *filter(None, map(_name_declaration, entries))]))
    sections = {name: remaining.pop(name) for name in names if name in remaining}
    weights = remaining.pop("weights", None) or {}
    unknown = [name for name in weights if name not in names]
    if unknown:
        raise _make_error(("weights", unknown[0]), "unknown key", "extra_forbidden", allowed=names)
    suites: list[Any] = []
    for index, entry in enumerate(entries):
        location: Steps = ("suites", index)
        if not isinstance(entry, str | Mapping):
            suites.append(entry)  # pydantic reports the error
            continue
        name, values = _merge_declaration(entry, location)
        if isinstance(entry, str):
            result.declared[location] = load_declarations()[entry]
        values = _apply_section(result, location, name, values, sections.pop(name, {}))
        if name in weights:
            values["weight"] = weights[name]
            result.written[*location, "weight"] = ("weights", name)
        suites.append(values)
    # Sections of suites that do not run are checked all the same.
    for index, (name, section) in enumerate(sections.items(), len(suites)):
        values = dict(load_declarations()[name].values)
        result.idle.append(_apply_section(result, ("suites", index), name, values, section))
    remaining["suites"] = suites
    return result


def _dump_entry(entry: object) -> object:
    return entry.model_dump() if isinstance(entry, Suite) else entry


def _name_declaration(entry: object) -> str:
    """Return the name of an entry that is a declaration; '' if it has none."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else ""


def settle_options(result: Resolved) -> None:
    """Check the options of each suite's loader and metrics, and fill in their defaults.

    Raises:
        DeclarationError: an invalid option.
    """
    suites = result.raw["suites"]
    if isinstance(suites, list):
        settled = []
        for index, values in enumerate([*suites, *result.idle]):
            settled.append(_settle_suite(values, ("suites", index)) if isinstance(values, Mapping) else values)
        result.raw["suites"] = settled[: len(suites)]


def _merge_declaration(entry: str | Mapping[str, Any], location: Steps) -> tuple[str, dict[str, Any]]:
    """Return the name of an entry of `suites`, and its keys merged over the declaration of that name."""
    if isinstance(entry, str):
        if entry not in load_declarations():
            message = f"unknown suite {entry!r}: expected one of {', '.join(load_declarations())}, or a declaration"
            raise _make_error(location, message, "unknown")
        return entry, dict(load_declarations()[entry].values)
    name = str(entry.get("name", ""))
    is_complete = set(Suite.model_fields) <= set(entry)  # as in a manifest: it needs no other declaration
    if is_complete or name not in load_declarations():
        return name, dict(entry)
    return name, _override_values(load_declarations()[name].values, entry)
