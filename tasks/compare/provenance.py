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
from basic_control.metrics.analysis.provenance import Provenance, SuiteRules
from basic_control.metrics.analysis.scores import THRESHOLD
from basic_control.metrics.judging import templates
from basic_control.prompts import digest_template, find_columns_of_all, is_template_name, languages
from basic_control.tasks.compare.configurations import flatten
from basic_control.tasks.store.manifest import strip_freshness

_SAMPLING = ("temperature", "seed", "max_tokens", "system", "extra")
_JUDGING = (*_SAMPLING, "structured")
_ASKING = ("system", "temperature", "max_tokens", "extra", "repeats")
_OVERRIDING = ("system", "temperature", "max_tokens")
"""Settings of a suite in whose place a model's own is not used; `extra` is joined with it."""
_OF_SUITE = ("strata", "gate_on", "k", "threshold")
_DIGEST_LENGTH = 12


def digest_judge_prompts(suites: Iterable[Suite]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the digests of judges' prompts: by suite and metric, then by template and language."""
    prompts: dict[str, dict[str, dict[str, str]]] = {}
    for suite in suites:
        prompts[suite.name] = {name: dict(_digest_templates(name, suite)) for name in list_judged_metrics(suite)}
    return prompts


def _digest_templates(name: str, suite: Suite) -> Iterator[tuple[str, str]]:
    for template in filter(is_template_name, templates(metric(name), suite.options(name))):
        for language in languages(template):
            yield f"{template} in {language}", digest_template(template, language)


def read_provenance(manifest: Mapping[str, Any]) -> Provenance:
    """Return the facts behind a run, as far as its manifest states them: it may be of an earlier version."""
    configuration, sources = manifest.get("configuration") or {}, manifest.get("sources") or {}
    suites = suites_in(configuration)
    names = {suite.name for suite in suites}
    rules: dict[str, Any] = {"threshold": configuration.get("threshold")}
    if rules["threshold"] is None:
        rules["threshold"] = THRESHOLD
    if names >= {*EXPLAINED}:
        rules |= flatten(configuration.get("explainability") or {}, "explainability")
    units: dict[str, dict[str, Any]] = {}
    for name, version in (manifest.get("verifiers") or {}).items():
        units[name] = {"version": version}
        # Runs of earlier versions did not record what their units were made of.
        if name in sources:
            units[name]["source"] = sources[name]
    return Provenance(
        suites={suite.name: _collect_rules(suite, manifest) for suite in suites},
        rules=rules,
        units=units,
        tested=dict(_list_tested(suites, manifest)),
    )


def _collect_rules(suite: Suite, manifest: Mapping[str, Any]) -> SuiteRules:
    """Return what decides a suite; runs before each metric decided for itself state no headlines."""
    shares_by_headline: dict[str, dict[str, float]] = {}
    if METHODOLOGY in manifest:
        shares_by_headline = {score.headline: score.shares for score in headlines(suite)}
    return SuiteRules(
        tuple(dict.fromkeys((*list_metrics(suite), *suite.score_metrics))),
        dict(_list_rules(suite, manifest)),
        dict(_list_defaults(suite)),
        shares_by_headline,
        in_rounds=suite.stop is not None,
    )


def _list_rules(suite: Suite, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what decides a suite's score, by path."""
    declared = suite.model_dump(mode="json", include={*_OF_SUITE})
    yield from zip(_OF_SUITE, map(declared.get, _OF_SUITE), strict=True)
    if has_one_headline(suite):
        yield "weight", weight_of(suite)
    if METHODOLOGY in manifest:
        yield "score", suite.weights or suite.score
        for name in suite.metric_names:
            yield f"threshold of {name}", suite.threshold_of(name)
    if suite.loader == "families":
        for family, options in (suite.source.get("options") or {}).items():
            yield f"families.{family}", options
    prompts_by_metric = (manifest.get("judge_prompts") or {}).get(suite.name) or {}
    for name in suite.metric_names:
        for option, value in suite.options(name).items():
            yield f"metrics.{name}.{option}", value
        # Of a plug-in that is gone, the manifest still says whether judges were asked.
        if name in prompts_by_metric or _is_judged(name):
            yield from _list_judging(suite, name, manifest)
            for prompt, prompt_digest in prompts_by_metric.get(name, {}).items():
                yield f"judge_prompts.{name}.{prompt}", prompt_digest


def _list_defaults(suite: Suite) -> Iterator[tuple[str, Any]]:
    """Yield the defaults of the options of a suite's metrics, by path."""
    for name in suite.metric_names:
        try:
            declared: Declared = metric(name).options
        except InputError:  # of a plug-in that no longer exists
            continue
        if not isinstance(declared, Mapping):
            defaults: dict[str, Any] = {}
            for option, field in declared.model_fields.items():
                default = field.get_default(call_default_factory=True)
                if default is not PydanticUndefined:
                    defaults[option] = default
            declared = to_jsonable_python(defaults)
        for option, value in declared.items():
            yield f"metrics.{name}.{option}", value


def _is_judged(name: str) -> bool:
    try:
        return bool(metric(name).steps)
    except InputError:
        return False


def _list_judging(suite: Suite, name: str, manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield who judges by a metric, how, and how several judges are joined, by path."""
    use = suite.use(name)
    yield f"metrics.{name}.aggregate", use.aggregate or suite.aggregate
    yield f"metrics.{name}.temperature", use.temperature
    judges = use.judges or suite.judges
    identities = manifest.get("judge_identities") or {}
    for judge in _list_entries(manifest, "judges"):
        if not judges or judge["name"] in judges:
            identity = strip_freshness(identities.get(judge["name"]) or {})
            yield f"judges.{name}.{judge['name']}", {**identity, **_select_stated(judge, _JUDGING)}


def _list_entries(manifest: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the configuration's entries with a name, of the kind `models` or `judges`."""
    entries = (manifest.get("configuration") or {}).get(kind) or ()
    return [entry for entry in entries if isinstance(entry, Mapping) and "name" in entry]


def _select_stated(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return those values of an entry that it states."""
    return {name: entry[name] for name in names if entry.get(name) not in (None, "", {}, [])}


def _list_tested(suites: list[Suite], manifest: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what a comparison is meant to vary, by name: the models, their parameters, data and prompts."""
    for name, identity in (manifest.get("identities") or {}).items():
        yield f"model {name}", strip_freshness(identity)
    for entry in _list_entries(manifest, "models"):
        yield f"parameters of {entry['name']}", _select_stated(entry, _list_in_force(entry["name"], suites))
    repeats = (manifest.get("configuration") or {}).get("repeats", 1)
    for suite in suites:
        # A suite's own setting goes before the configuration's.
        asking = {"repeats": repeats, **_select_stated(dict(suite), _ASKING)}
        yield f"parameters of suite {suite.name}", _select_stated(asking, _ASKING)
        if suite.examples is not None:
            examples = suite.examples.model_dump(mode="json", by_alias=True)
            yield f"examples of suite {suite.name}", {key: examples[key] for key in ("data", "n", "seed", "as")}
        files = (manifest.get("files") or {}).get(suite.name)
        if files:
            yield f"data of suite {suite.name}", [file_digest[:_DIGEST_LENGTH] for file_digest in files]
        for path, value in flatten(suite.items, "items"):
            if path != "items.data" and value not in (None, "", {}, []):  # the digest of data stands above
                yield f"{path} of suite {suite.name}", value
        prompts = suite.prompts_by_name
        digests = {name or "text": _digest_prompt(prompt) for name, prompt in prompts.items() if prompt}
        yield f"prompt of suite {suite.name}", digests
        yield f"columns that the prompt of suite {suite.name} reads", sorted(find_columns_of_all(prompts.values()))


def _list_in_force(model: str, suites: Iterable[Suite]) -> tuple[str, ...]:
    """Return which parameters of a model are in force in some suite: those that not every suite sets itself."""
    stated = [
        _select_stated(dict(suite), _OVERRIDING) for suite in suites if not suite.models or model in suite.models
    ]
    if not stated:
        return _SAMPLING
    overridden = set.intersection(*({*values} for values in stated))
    return tuple(name for name in _SAMPLING if name not in overridden)


def _digest_prompt(prompt: str) -> str:
    """Return a template's name with a digest of its texts; for a user's own text, a digest."""
    text = prompt.strip()
    if not is_template_name(text):
        return _digest_text(text)
    digests = [digest_template(text, language) for language in languages(text)]
    return f"{text} {_digest_text(''.join(digests))}"


def _digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
