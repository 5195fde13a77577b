"""The facts that give a run's numbers their meaning, and in which of them two runs differ.

Source: SPEC 10.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from data.draw import canonical
from data.errors import InputError

_LONGEST = 80
_DIGEST = re.compile("[0-9a-f]{32,}")  # a SHA-256, such as 9f86d081884c7d659a2feaa0c55ad015…
_DIGITS = 12
"""Digest characters shown to people."""
_OF_METRIC = frozenset({"metrics", "judges", "judge_prompts"})

Kind = Literal["decides", "tested", "unit", "rescored", "new"]


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """The rules that decide a suite's score: its metrics, and every rule by path.

    Paths are `threshold`, `metrics.<metric>.<option>`, `judges.<metric>.<judge>`, `judge_prompts.<metric>.<prompt>`
    and so on; values are JSON. `defaults` are the metric options' defaults, used where a baseline predates an
    option; a baseline has none.
    """

    score: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The facts that give a run's numbers their meaning.

    `suites` and `rules` (run-wide) decide the scores; `units` are the versions and sources of the scoring code, by
    metric and family. `tested` is what is under test, by name: models, prompts and parameters.
    """

    suites: Mapping[str, SuiteRules]
    rules: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tested: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleDifference:
    """A fact, named by `what`, that differs between run and baseline.

    `decides`: a rule that decides scores, which prevents comparison unless allowed. `tested`: what the comparison
    is meant to vary. `unit`: only the version or source of scoring code; `rescored`: the same, but the baseline's
    responses were rescored with the run's code. `new`: the baseline lacks it.
    """

    kind: Kind
    what: str
    baseline: str
    run: str

    def __str__(self) -> str:
        return f"{self.what}: {self.run}, in the baseline {self.baseline}"


def differences(baseline: Provenance, run: Provenance, rescored: Collection[str] = ()) -> list[RuleDifference]:
    """List the facts that differ between two runs, for suites and metrics that both have.

    `rescored` are the units with which the baseline's responses were rescored.
    """
    # With one suite neither its weight nor the overall threshold matters.
    single = min(len(baseline.suites), len(run.suites)) == 1
    listed = [] if single else [*_differing("decides", *_in_both(baseline.rules, run.rules))]
    for name, before in baseline.suites.items():
        if name in run.suites:
            listed += _suite_differences(name, before, run.suites[name], single=single)
    added = [name for name in run.suites if name not in baseline.suites]
    listed += [RuleDifference("new", f"suite {name}", "none", "evaluated") for name in added]
    listed += _differing("tested", *_in_both(baseline.tested, run.tested))
    for name in changed_units(baseline, run):
        before, after = baseline.units[name], run.units[name]
        what = "version" if before.get("version") != after.get("version") else "source"
        kind: Kind = "rescored" if name in rescored else "unit"
        values = (one_line(unit.get(what)) for unit in (before, after))
        listed.append(RuleDifference(kind, f"{what} of {name}", *values))
    return listed


def _suite_differences(
    name: str, before: SuiteRules, after: SuiteRules, *, single: bool
) -> Iterator[RuleDifference]:
    rules = _comparable(before, after, {*before.score} & {*after.score})
    for side in rules if single else ():
        side.pop("weight", None)
    yield from _differing("decides", *rules, of=f" of suite {name}")
    for metric in after.score:
        if metric not in before.score:
            yield RuleDifference("new", f"metric {metric} of suite {name}", "none", "in its score")


def same_rules(baseline: Provenance, run: Provenance, suite: str, metric: str) -> bool:
    """Return whether both score a suite by a metric, and by the same rules."""
    before, after = (side.suites.get(suite, SuiteRules(())) for side in (baseline, run))
    if metric not in before.score or metric not in after.score:
        return False
    old, new = (
        {path: value for path, value in side.items() if _metric_of(path)}
        for side in _comparable(before, after, {metric})
    )
    return not list(_differing("decides", old, new))


def _metric_of(path: str) -> str:
    """Return the metric a rule belongs to; '' for a rule of the suite."""
    kind, _, rest = path.partition(".")
    return rest.partition(".")[0] if kind in _OF_METRIC else ""


def _comparable(baseline: SuiteRules, run: SuiteRules, metrics: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the comparable rules of both sides: those of `metrics` and of the suite as a whole.

    An option only the run has is new: the baseline used its default. An option only the baseline has no longer
    exists and is ignored. Suite rules and judge prompts are compared where both sides have them.
    """
    # A part is decided by its metric's rules.
    owners = {"", *(name.partition(".")[0] for name in metrics)}
    before, after = (
        {path: value for path, value in side.rules.items() if _metric_of(path) in owners}
        for side in (baseline, run)
    )
    for path in {*before} ^ {*after}:
        kind, dotted, _ = path.partition(".")
        if kind == "metrics" and path in after and path in run.defaults:
            before[path] = run.defaults[path]
        elif kind in {"metrics", "judge_prompts"} or not dotted:
            before.pop(path, None)
            after.pop(path, None)
    return before, after


def _in_both(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the entries both sides have; a model on one side only is not a difference."""
    names = [name for name in before if name in after]
    return {name: before[name] for name in names}, {name: after[name] for name in names}


def _differing(
    kind: Kind, before: Mapping[str, Any], after: Mapping[str, Any], of: str = ""
) -> Iterator[RuleDifference]:
    for path in dict.fromkeys((*before, *after)):
        old, new = before.get(path), after.get(path)
        if canonical(old) != canonical(new):
            yield RuleDifference(kind, f"{path.removeprefix('metrics.')}{of}", *_from_where_they_part(old, new))


def changed_units(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the metrics and families whose version or source differs, where both sides record it."""
    changed = []
    for name, before in baseline.units.items():
        after = run.units.get(name, {})
        stated = [key for key in ("version", "source") if key in before and key in after]
        if any(before[key] != after[key] for key in stated):
            changed.append(name)
    return changed


def stated_facts(provenance: Provenance) -> dict[str, str]:
    """Return all facts by name, each in one line."""
    facts = {**provenance.tested, **provenance.rules}
    for suite, rules in provenance.suites.items():
        facts |= {f"{path.removeprefix('metrics.')} of suite {suite}": value for path, value in rules.rules.items()}
    for name, unit in provenance.units.items():
        facts |= {f"{key} of {name}": value for key, value in unit.items()}
    return {name: one_line(value) for name, value in facts.items()}


def missing(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the baseline's suites and score metrics that a run lacks."""
    gone = [f"suite {suite}" for suite in baseline.suites if suite not in run.suites]
    for suite, rules in baseline.suites.items():
        if suite in run.suites:
            lacking = [metric for metric in rules.score if metric not in run.suites[suite].score]
            gone += [f"metric {metric} of suite {suite}" for metric in lacking]
    return gone


def _from_where_they_part(*values: Any) -> Iterator[str]:
    """Format two values on a line each; long texts with a common start are shown from where they diverge."""
    texts = [*map(one_line, values)]
    at = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
    start = 0 if max(map(len, texts)) <= _LONGEST else max(0, at - _LONGEST // 4)
    end = start + _LONGEST
    for text in texts:
        yield f"{'…' if start else ''}{text[start:end]}{'…' if len(text) > end else ''}"


def one_line(value: Any) -> str:
    """Format a fact on one line."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one_line(value[key])}" for key in sorted(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(one_line, value)) or "nothing"
    text = "none" if value is None else " ".join(str(value).split()) or "nothing"
    return text[:_DIGITS] if _DIGEST.fullmatch(text) else text


def refuse(name: str, listed: Sequence[RuleDifference], *, allow_different: bool) -> None:
    """Refuse a meaningless comparison.

    Raises:
        InputError: a rule that decides the scores differs, and this was not allowed.
    """
    deciding = [str(difference) for difference in listed if difference.kind == "decides"]
    if deciding and not allow_different:
        raise InputError(
            f"baseline {name}: its scores were decided by other rules than this run's. {'; '.join(deciding)}. Set "
            "a new baseline, or add --allow-different to compare anyway."
        )
