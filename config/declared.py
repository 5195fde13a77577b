"""A configuration's suites (shipped, discovered or its own), with their sections and short keys.

`suites` lists names and declarations. A declaration overrides the known one of the same name; so does the section
of that name (`cot: {n_samples: 10}`), whose short keys (`keys` of a shipped declaration) keep the form of earlier
versions working. The results are whole declarations (`data.suites.Suite`), with the origin of each key recorded.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from basic_control.data import plugins
from basic_control.data.deciding import has_one_headline, without_threshold
from basic_control.data.errors import InputError
from basic_control.data.options import names, settle
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Loader, Metric
from basic_control.data.suites import ALL, ROBUST, Suite, Use
from basic_control.data.yaml_depth import check_depth

SHIPPED = Path(__file__).parent / "suites"
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
        return self.declared.get(path[:2]) if self.origin(path) == path else None


class DeclarationError(InputError):
    """Errors about suites in pydantic's form, with the `allowed` keys if one is unknown."""

    def __init__(self, *errors: Mapping[str, Any]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors))
        self.errors = errors


def _wrong(path: Steps, said: str, kind: str = "unit", **more: Any) -> DeclarationError:
    return DeclarationError({"loc": path, "type": kind, "msg": said, **more})


def _declaration(text: str, name: str, origin: str) -> Declaration:
    try:
        check_depth(text)
        found = yaml.load(text, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise InputError(f"{origin}: not valid YAML ({error}).") from error
    if not isinstance(found, dict):
        raise InputError(f"{origin}: expected the keys of a suite, found {type(found).__name__}.")
    keys = found.pop("keys", {})
    paths = {key: tuple(tuple(path.split(".")) for path in str(listed).split()) for key, listed in keys.items()}
    default = bool(found.pop("default", False))
    return Declaration({"name": name, **found}, paths, default, text, origin)


@cache
def _read_declarations(there: tuple[str, ...]) -> Mapping[str, Declaration]:
    found: dict[str, Declaration] = {}
    for one in (*map(_of_file, there), *_registered()):
        name = str(one.values["name"])
        if name in found:
            raise InputError(
                f"two suites are named {name!r}: {found[name].origin} and {one.origin}. Rename or remove one."
            )
        found[name] = one
    return found


def _of_file(one: str) -> Declaration:
    try:
        text = Path(one).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{one}: cannot be read as a suite ({error}).") from error
    return _declaration(text, Path(one).stem, one)


def _registered() -> Iterator[Declaration]:
    for point in plugins.list_entry_points("suites"):
        text = plugins.load(point)
        if not isinstance(text, str):
            raise InputError(f"entry point {point.name} = {point.value}: expected a suite's YAML as text.")
        yield _declaration(text, point.name, f"entry point {point.name}")


def known() -> Mapping[str, Declaration]:
    """Return every declared suite by name: shipped, from plug-ins, from other distributions."""
    return _read_declarations(tuple(map(str, (*sorted(SHIPPED.glob("*.yaml")), *plugins.files(".yaml")))))


def takes_all(name: str) -> bool:
    """Return whether a suite is declared to take all rows of its data."""
    declared = known().get(name, Declaration({}, {})).values
    return bool(declared.get("items", {}).get("sample", {}).get("method") == "all")


def merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Override one mapping with another; mappings in both are merged recursively, all else is replaced."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def _section(result: Resolved, place: Steps, name: str, values: dict[str, Any], section: object) -> dict[str, Any]:
    """Return a suite with its section applied; where each of the section's keys went is recorded."""
    if not isinstance(section, Mapping):
        raise _wrong((name,), "", "dict_type", input=section)
    short = known()[name].keys if name in known() else {}
    keys = {**{key: ((key,),) for key in Suite.model_fields if key != "name"}, **short}
    above: dict[str, Any] = {}
    for key, value in section.items():
        if key not in keys:
            allowed = tuple(dict.fromkeys([*short, *keys]))
            raise _wrong((name, key), "unknown key", "extra_forbidden", allowed=allowed)
        for path in keys[key]:
            laid: Any = value
            for step in reversed(path):
                laid = {str(step): laid}
            above = merged(above, laid)
            result.written[*place, *path] = (name, key)
    return _overridden(values, above)


def _overridden(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Override a suite's values: a number of rows alone is drawn at random where all rows were taken before."""
    values, stated = merged(below, above), _sample_of(above)
    if "n" in stated and "method" not in stated and _sample_of(values).get("method") == "all":
        values = merged(values, {"items": {"sample": {"method": "random"}}})
    return values


def _sample_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return how a suite's values say that rows are drawn."""
    items = values.get("items")
    sample = items.get("sample") if isinstance(items, Mapping) else None
    return sample if isinstance(sample, Mapping) else {}


def _settled(values: Mapping[str, Any], place: Steps) -> Mapping[str, Any]:
    """Return a suite with its options checked and their defaults; pydantic checks the rest."""
    for name in values["metrics"] if isinstance(values.get("metrics"), Mapping | list | tuple) else ():
        try:
            metric(str(name))
        except InputError as error:
            said = RETIRED_METRICS.get(str(name), str(error))
            raise _wrong((*place, "metrics", str(name)), said, "unknown") from error
    values = _with_own_score(values)
    try:
        suite = Suite.model_validate(values)
    except ValidationError:
        return values
    try:
        unit = loader(suite.loader)
    except InputError as error:
        raise _wrong((*place, "items", "loader"), str(error), "unknown") from error
    source = _options(unit, suite.source, (*place, "items"))
    if wrong := list(unit.check(source)) if unit.check else []:
        raise DeclarationError(
            *({"loc": (*place, "items", *path), "type": "unit", "msg": said} for path, said in wrong)
        )
    metrics = {}
    for name, given in suite.metrics.items():
        here, measure, own = (*place, "metrics", name), metric(name), suite.options(name)
        shared = {key: value for key, value in given.items() if key not in own}
        metrics[name] = {**shared, **_options(measure, own, here)}
        _check_use(suite, name, here)
        _votes(suite, name, measure, place)
        if measure.verifies and unit.units is None and suite.use(name).enabled:
            raise _wrong(here, f"{name} needs items of families, which the loader {suite.loader} does not have")
    _check_all(suite, place)
    # With every key, so that it is complete when it is laid out again.
    whole = {**suite.model_dump(), **values, "items": {"loader": suite.loader, **source}, "metrics": metrics}
    default = known()[suite.name].values.get("weight") if suite.name in known() else None
    if suite.weight == default and not has_one_headline(suite):
        whole["weight"] = None  # a default, which several scores have not
    return whole | _read_prompts(suite, values, place)


def _with_own_score(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a suite without those metrics of its file's score that the configuration has replaced."""
    name, metrics = values.get("name"), values.get("metrics")
    score = known()[name].values.get("score") if isinstance(name, str) and name in known() else None
    if (
        values.get("score") != score
        or not isinstance(score, list)
        or not isinstance(metrics, Mapping | list | tuple)
    ):
        return values
    return {**values, "score": [part for part in score if part in metrics]}


def _read_prompts(suite: Suite, values: Mapping[str, Any], place: Steps) -> dict[str, Any]:
    """Return the texts of the prompts that a suite declares."""
    texts: dict[str, Any] = {}
    if "prompt" in values:
        texts["prompt"] = _read(suite.prompt, (*place, "prompt"))
    if "prompts" in values:
        texts["prompts"] = {name: _read(text, (*place, "prompts", name)) for name, text in suite.prompts.items()}
    return texts


def _check_all(suite: Suite, place: Steps) -> None:
    """Refuse a share of rows that hold where nothing says when a metric's do."""
    graded = without_threshold(suite) if suite.score == ALL else []
    if graded:
        said = (
            f"all needs to know when a row holds, and {graded[0]} grades; give it a threshold of its own "
            f"({graded[0]}: {{threshold: 0.8}}), or list under score what is to be joined"
        )
        raise _wrong((*place, "score"), said)


def _read(prompt: str, place: Steps) -> str:
    """Return a prompt's text, reading a file if it names one: manifests and cache keys contain the text itself."""
    if not PROMPT_FILE.fullmatch(prompt):
        return prompt
    try:
        return Path(prompt).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        said = f"prompt file {prompt} cannot be read ({why}); expected a path relative to where the run starts"
        raise _wrong(place, said) from error


def _options(unit: Loader | Metric, given: Mapping[str, Any], place: Steps) -> dict[str, Any]:
    try:
        return settle(unit.options, given)
    except ValidationError as error:
        known = [*names(unit.options), *(Use.model_fields if isinstance(unit, Metric) else ())]
        listed = ({**one, "loc": (*place, *one["loc"]), "allowed": tuple(known)} for one in error.errors())
        raise DeclarationError(*listed) from error


def _check_use(suite: Suite, name: str, place: Steps) -> None:
    """Refuse a setting common to all metrics that is not valid."""
    try:
        suite.use(name)
    except ValidationError as error:
        raise DeclarationError(*({**one, "loc": (*place, *one["loc"])} for one in error.errors())) from error


def _votes(suite: Suite, name: str, measure: Metric, place: Steps) -> None:
    """Refuse before anything is asked what would fail after every judge was paid."""
    use = suite.use(name)
    if use.enabled and measure.steps and not measure.votes and (use.aggregate or suite.aggregate) == "majority":
        said = (
            f"majority is not possible for {name}, whose claims differ between judges; use mean, median, min or "
            f"max, or set {name}.enabled to false"
        )
        raise _wrong((*place, "aggregate"), said)


_BATCHES = {
    "batch_poll_s": "a run that waits looks often at first, then twice a minute",
    "batch_price": "a batched call costs half of a direct one",
}
EXAM = "judges_exam"
RETIRED: Mapping[Steps, str] = {
    ("alce",): "its support, coverage and source verification stay",
    ("currency",): "a table of prices states its own (`prices: FILE`)",
    **{(role, key): why for role in ("models", "judges") for key, why in _BATCHES.items()},
    ("report", "file"): "`report.name`, or --name, names a run",
    ("report", "samples"): "the report's page has every sample",
    ("report", "junit_items"): "JUnit has a case for each gate; single items are in the report and in tables/",
    ("stop", "share"): "every sequence of a run has an equal share of `stop.alpha`",
    (EXAM, "families"): f"{EXAM}.items.steps names judged steps",
    **{
        (EXAM, key): f"{EXAM}.items.{key} is the same"
        for key in ("n_items", "levels", "languages", "seed", "data", "n_data")
    },
}
"""Keys of earlier versions, none of which affected a score, by the end of their path: what replaces each."""


RETIRED_METRICS = {
    "chain": "the metric 'chain' was removed; cot names the first wrong step by rules, and rubric asks a judge",
}
"""Metrics of earlier versions, and what replaces each."""


def replacement_of(path: Steps) -> str:
    """Return what replaces a key of earlier versions; '' if the key was never one."""
    names = tuple(step for step in path if isinstance(step, str))
    ends = (names[start:] for start in range(len(names)))
    return next(
        (RETIRED[end] for end in ends if end in RETIRED and (len(end) > 1 or end in {names, ("alce",)})), ""
    )


def recorded(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recorded configuration without retired keys and without judge temperatures that nobody set.

    Before suites were declarations, every judge was recorded with the default 0.0, which was ignored: judges were
    asked at the metric's own temperature.
    """
    kept: dict[str, Any] = _without_retired(configuration)
    suites, judges = kept.get("suites"), kept.get("judges")
    _forget_defaults(kept.get("models"), suites)
    for suite in suites if isinstance(suites, list) else ():
        _restore_mean(suite)
    if not isinstance(suites, list) or not isinstance(judges, list):
        return kept
    if not any(isinstance(suite, Mapping) for suite in suites):
        for judge in judges:
            if isinstance(judge, dict) and judge.get("temperature") == 0.0:
                del judge["temperature"]
    return kept


def _forget_defaults(models: object, suites: object) -> None:
    """Take out `structured` of models where earlier versions recorded its default, which changed no request."""
    has_schema = '"schema"' in json.dumps(suites, default=str)
    for model in models if isinstance(models, list) and not has_schema else ():
        if isinstance(model, dict):
            model.pop("structured", None)


def _restore_mean(suite: object) -> None:
    """Name the metrics whose mean was the score of an earlier version's suite, where it named none itself."""
    if isinstance(suite, dict) and suite.get("score") == [] and isinstance(suite.get("metrics"), Mapping):
        options = suite["metrics"].items()
        suite["score"] = [name for name, given in options if (given or {}).get("enabled", True)]


def _without_retired(value: Any, path: Steps = ()) -> Any:
    """Return a copy of mappings and lists without retired keys."""
    if isinstance(value, list):
        return [_without_retired(entry, (*path, index)) for index, entry in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    kept = {}
    for key, entry in value.items():
        is_retired = replacement_of((*path, key)) or (key, entry) == ("gate_on", ROBUST)
        if not is_retired:
            kept[key] = _without_retired(entry, (*path, key))
    return kept


def suites_in(configuration: Mapping[str, Any]) -> list[Suite]:
    """Return the suites of a run's configuration, of this or an earlier version, as far as possible.

    Options are kept as written if their unit is gone or has others now. The run's own plug-ins are not loaded:
    showing a finished run executes none of its code.
    """
    own = {key: value for key, value in recorded(configuration).items() if key != "plugins"}
    result = Resolved(own)
    with suppress(InputError):
        result = lay_out(own)
        settle_options(result)
    listed = result.raw.get("suites")
    found = []
    for values in listed if isinstance(listed, list | tuple) else ():
        with suppress(ValidationError):
            found.append(Suite.model_validate(values))
    return found


def resolve(raw: Mapping[str, Any]) -> Resolved:
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
    rest = dict(raw)
    result = Resolved(rest)
    listed = rest.get("suites", [name for name, one in known().items() if one.default])
    if not isinstance(listed, list | tuple):
        return result  # pydantic reports the error
    if isinstance(paths := rest.get("plugins", ()), list | tuple):
        plugins.use(map(str, paths))
    entries = [entry.model_dump() if isinstance(entry, Suite) else entry for entry in listed]
    own = [one["name"] for one in entries if isinstance(one, Mapping) and isinstance(one.get("name"), str)]
    names = tuple(dict.fromkeys([*known(), *own]))
    sections = {name: rest.pop(name) for name in names if name in rest}
    weights = rest.pop("weights", None) or {}
    if unknown := [name for name in weights if name not in names]:
        raise _wrong(("weights", unknown[0]), "unknown key", "extra_forbidden", allowed=names)
    suites: list[Any] = []
    for index, entry in enumerate(entries):
        place: Steps = ("suites", index)
        if not isinstance(entry, str | Mapping):
            suites.append(entry)  # pydantic reports the error
            continue
        name, values = _laid(entry, place)
        if isinstance(entry, str):
            result.declared[place] = known()[entry]
        values = _section(result, place, name, values, sections.pop(name, {}))
        if name in weights:
            values["weight"] = weights[name]
            result.written[*place, "weight"] = ("weights", name)
        suites.append(values)
    for index, (name, section) in enumerate(sections.items(), len(suites)):
        values = dict(known()[name].values)
        result.idle.append(_section(result, ("suites", index), name, values, section))
    rest["suites"] = suites
    return result


def settle_options(result: Resolved) -> None:
    """Check the options of each suite's loader and metrics, and fill in their defaults.

    Raises:
        DeclarationError: an invalid option.
    """
    listed = result.raw["suites"]
    if isinstance(listed, list):
        each = enumerate([*listed, *result.idle])
        settled = [_settled(one, ("suites", n)) if isinstance(one, Mapping) else one for n, one in each]
        result.raw["suites"] = settled[: len(listed)]


def _laid(entry: str | Mapping[str, Any], place: Steps) -> tuple[str, dict[str, Any]]:
    """Return the name of an entry of `suites`, and its keys merged over the declaration of that name."""
    if isinstance(entry, str):
        if entry not in known():
            said = f"unknown suite {entry!r}: expected one of {', '.join(known())}, or a declaration"
            raise _wrong(place, said, "unknown")
        return entry, dict(known()[entry].values)
    name = str(entry.get("name", ""))
    complete = set(Suite.model_fields) <= set(entry)  # as in a manifest: it needs no other declaration
    return name, dict(entry) if complete or name not in known() else _overridden(known()[name].values, entry)
