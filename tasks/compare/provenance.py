"""The facts behind a run's numbers, from its manifest: what decides its scores, and what it tested."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_core import PydanticUndefined, to_jsonable_python

from basic_control.config.declared import suites_in
from basic_control.data.deciding import has_one_headline, headlines, list_metrics, weight_of
from basic_control.data.documents import METHODOLOGY
from basic_control.data.errors import InputError
from basic_control.data.loading import list_judged_metrics
from basic_control.data.options import Declared
from basic_control.data.plugins import metric
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.explainability import EXPLAINED
from basic_control.metrics.analysis.rules import Provenance, SuiteRules
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.judging import templates
from basic_control.prompts import digest, is_template_name, languages, read_by
from basic_control.tasks.compare.configurations import flatten
from basic_control.tasks.store.manifest import strip_freshness

_SAMPLING = ("temperature", "seed", "max_tokens", "system", "extra")
_JUDGING = (*_SAMPLING, "structured")
_ASKING = ("system", "temperature", "repeats")
_OF_SUITE = ("strata", "gate_on", "k", "threshold")
_SHOWN = 12


def judge_prompts(suites: Iterable[Suite]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the digests of judges' prompts: by suite and metric, then by template and language."""
    return {
        suite.name: {name: dict(_digests(name, suite.options(name))) for name in list_judged_metrics(suite)}
        for suite in suites
    }


def _digests(name: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in templates(metric(name), options):
        if is_template_name(one):
            yield from ((f"{one} in {language}", digest(one, language)) for language in languages(one))


def provenance_of(manifest: Mapping[str, Any]) -> Provenance:
    """Return the facts behind a run, as far as its manifest states them: it may be of an earlier version."""
    configuration, sources = manifest.get("configuration") or {}, manifest.get("sources") or {}
    suites = suites_in(configuration)
    names = {suite.name for suite in suites}
    overall = THRESHOLD if (given := configuration.get("threshold")) is None else given
    explained = dict(flatten(configuration.get("explainability") or {}, "explainability"))
    return Provenance(
        suites={
            suite.name: SuiteRules(
                tuple(dict.fromkeys((*list_metrics(suite), *suite.score_metrics))),
                dict(_rules(suite, manifest)),
                dict(_defaults(suite)),
                {} if METHODOLOGY not in manifest else {one.headline: one.shares for one in headlines(suite)},
                in_rounds=suite.stop is not None,
            )
            for suite in suites
        },
        rules={"threshold": overall, **(explained if names >= {*EXPLAINED} else {})},
        units={
            name: {"version": version, **({"source": sources[name]} if name in sources else {})}
            for name, version in (manifest.get("verifiers") or {}).items()
        },
        tested=dict(_tested(suites, manifest)),
    )


def _rules(suite: Suite, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what decides a suite's score, by path."""
    told = suite.model_dump(mode="json", include={*_OF_SUITE})
    yield from ((name, told[name]) for name in _OF_SUITE)
    if has_one_headline(suite):
        yield "weight", weight_of(suite)
    if METHODOLOGY in manifest:
        yield "score", suite.weights or suite.score
        yield from ((f"threshold of {name}", suite.threshold_of(name)) for name in suite.metric_names)
    for family, options in (suite.source.get("options") or {}).items() if suite.loader == "families" else ():
        yield f"families.{family}", options
    asked = (manifest.get("judge_prompts") or {}).get(suite.name) or {}
    for name in suite.metric_names:
        yield from ((f"metrics.{name}.{option}", value) for option, value in suite.options(name).items())
        if name in asked or _judged(name):
            use = suite.use(name)
            yield f"metrics.{name}.aggregate", use.aggregate or suite.aggregate
            yield f"metrics.{name}.temperature", use.temperature
            yield from _judges(suite, name, manifest)
            yield from ((f"judge_prompts.{name}.{prompt}", one) for prompt, one in asked.get(name, {}).items())


def _defaults(suite: Suite) -> Iterator[tuple[str, Any]]:
    """Yield the defaults of the options of a suite's metrics, by path."""
    for name in suite.metric_names:
        try:
            declared: Declared = metric(name).options
        except InputError:  # of a plug-in that no longer exists
            continue
        if not isinstance(declared, Mapping):
            fields = declared.model_fields.items()
            given = {option: field.get_default(call_default_factory=True) for option, field in fields}
            declared = to_jsonable_python({k: v for k, v in given.items() if v is not PydanticUndefined})
        yield from ((f"metrics.{name}.{option}", value) for option, value in declared.items())


def _judged(name: str) -> bool:
    try:
        return bool(metric(name).steps)
    except InputError:
        return False


def _judges(suite: Suite, name: str, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    chosen = suite.use(name).judges or suite.judges
    identities = manifest.get("judge_identities") or {}
    for one in _entries(manifest, "judges"):
        if not chosen or one["name"] in chosen:
            identity = strip_freshness(identities.get(one["name"]) or {})
            yield f"judges.{name}.{one['name']}", {**identity, **_set(one, _JUDGING)}


def _entries(manifest: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    listed = (manifest.get("configuration") or {}).get(kind) or ()
    return [one for one in listed if isinstance(one, Mapping) and "name" in one]


def _set(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: entry[name] for name in names if entry.get(name) not in (None, "", {}, [])}


def _tested(suites: list[Suite], manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, identity in (manifest.get("identities") or {}).items():
        yield f"model {name}", strip_freshness(identity)
    for one in _entries(manifest, "models"):
        yield f"parameters of {one['name']}", _set(one, _SAMPLING)
    repeats = (manifest.get("configuration") or {}).get("repeats", 1)
    for suite in suites:
        yield f"parameters of suite {suite.name}", _set({"repeats": repeats, **_set(dict(suite), _ASKING)}, _ASKING)
        if files := (manifest.get("files") or {}).get(suite.name):
            yield f"data of suite {suite.name}", [one[:_SHOWN] for one in files]
        for path, value in flatten(suite.items, "items"):
            if path != "items.data" and value not in (None, "", {}, []):  # the digest of data stands above
                yield f"{path} of suite {suite.name}", value
        prompts = suite.prompts_by_name.items()
        yield (
            f"prompt of suite {suite.name}",
            {name or "text": _short(prompt) for name, prompt in prompts if prompt},
        )
        yield (
            f"columns that the prompt of suite {suite.name} reads",
            sorted(read_by(suite.prompts_by_name.values())),
        )


def _short(prompt: str) -> str:
    """Return a template's name with a digest of its texts; for a user's own text, a digest."""
    text = prompt.strip()
    if not is_template_name(text):
        return hashlib.sha256(text.encode()).hexdigest()[:_SHOWN]
    known = hashlib.sha256("".join(digest(text, language) for language in languages(text)).encode()).hexdigest()
    return f"{text} {known[:_SHOWN]}"
