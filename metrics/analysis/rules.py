"""The facts that give a run's numbers their meaning, and in which of them two runs differ.

Source: SPEC 10.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.suites import ALL

_LONGEST = 80
_DIGEST = re.compile("[0-9a-f]{32,}")  # a SHA-256, such as 9f86d081884c7d659a2feaa0c55ad015…
_DIGITS = 12
"""Digest characters shown to people."""
_OF_METRIC = frozenset({"metrics", "judges", "judge_prompts"})
_COUNTED_ALONE = frozenset({"judges", "families"})
"""Rules that differ where one side lacks them: another judge or family took part."""
_ABSENT = object()

Kind = Literal["decides", "tested", "unit", "rescored", "new"]


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """The rules that decide a suite: the metrics of its scores, its headlines, and every rule by path.

    `headlines` are the metrics of each headline by their weights ('' names a mean of several); empty for a file,
    and for a baseline of an earlier version, whose only one was the mean of its metrics. `in_rounds`: it was asked
    until decided. Paths are `threshold`,
    `metrics.<metric>.<option>`, `judges.<metric>.<judge>`, `judge_prompts.<metric>.<prompt>` and so on; values are
    JSON. `defaults` are the metric options' defaults, used where a baseline predates an option; a baseline has
    none.
    """

    score: tuple[str, ...]
    rules: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    headlines: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    in_rounds: bool = False

    @property
    def lines(self) -> Mapping[str, Mapping[str, float]]:
        """The headlines; the mean of all metrics where none are stated."""
        mean = dict.fromkeys(self.score, 1.0)
        return self.headlines or {"" if len(mean) > 1 else next(iter(mean), ""): mean}

    @property
    def counted(self) -> tuple[str, ...]:
        """The metrics, without a share of rows that is only shown beside them."""
        return tuple(name for name in self.score if name != ALL or name in self.lines)


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
    listed = [
        RuleDifference(kind, what, *_from_where_they_part(before, after))
        for kind, what, before, after in _common_facts(baseline, run)
        if format_canonical(before) != format_canonical(after)
    ]
    for name, rules in run.suites.items():
        if name not in baseline.suites:
            listed.append(RuleDifference("new", f"suite {name}", "none", "evaluated"))
            continue
        before_rules = baseline.suites[name]
        added = [metric for metric in rules.counted if metric not in before_rules.score]
        is_of_mean = len(before_rules.score) > 1 and not before_rules.headlines
        if is_of_mean and rules.headlines and rules.lines != before_rules.lines:
            was = f"the mean of {', '.join(before_rules.score)}"
            now = ", ".join(name or "another mean" for name in rules.headlines)
            listed.append(RuleDifference("tested", f"what decides suite {name}", was, now))
        listed += [
            RuleDifference("new", f"metric {metric} of suite {name}", "none", "in its score") for metric in added
        ]
    for name in list_changed_units(baseline, run):
        before, after = baseline.units[name], run.units[name]
        what = "version" if before.get("version") != after.get("version") else "source"
        kind: Kind = "rescored" if name in rescored else "unit"
        listed.append(
            RuleDifference(kind, f"{what} of {name}", one_line(before.get(what)), one_line(after.get(what)))
        )
    return listed


def _common_facts(baseline: Provenance, run: Provenance) -> Iterator[tuple[Kind, str, Any, Any]]:
    """Yield the facts that both sides have, but for units; a model on one side only is not a difference."""
    # With one suite neither its weight nor the overall threshold matters.
    is_single = min(len(baseline.suites), len(run.suites)) == 1
    for name, before in ({} if is_single else baseline.rules).items():
        if name in run.rules:
            yield "decides", name, before, run.rules[name]
    for suite, rules in baseline.suites.items():
        after = run.suites.get(suite, SuiteRules(()))
        metrics = [metric for metric in rules.score if metric in after.score]
        for path, old, new in _comparable(rules, after, metrics) if suite in run.suites else ():
            if not (is_single and path == "weight"):
                yield "decides", f"{path.removeprefix('metrics.')} of suite {suite}", old, new
    for name, before in baseline.tested.items():
        if name in run.tested:
            yield "tested", name, before, run.tested[name]


def has_same_rules(baseline: Provenance, run: Provenance, suite: str, metric: str) -> bool:
    """Return whether both score a suite by a metric, and by the same rules."""
    before, after = (side.suites.get(suite, SuiteRules(())) for side in (baseline, run))
    if metric not in before.score or metric not in after.score:
        return False
    rules = _comparable(before, after, [metric])
    return all(format_canonical(old) == format_canonical(new) for path, old, new in rules if _metric_of(path))


def _metric_of(path: str) -> str:
    """Return the metric a rule belongs to; '' for a rule of the suite."""
    kind, _, name = path.partition(".")
    return name.partition(".")[0] if kind in _OF_METRIC else ""


def _comparable(before: SuiteRules, after: SuiteRules, metrics: Iterable[str]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the comparable rules of both sides, those of `metrics` and of the suite as a whole: path and values.

    An option only the run has is new: the baseline used its default. An option only the baseline has no longer
    exists and is ignored. Suite rules and judge prompts are compared where both sides have them.
    """
    # A part is decided by its metric's rules.
    owners = {"", *(name.partition(".")[0] for name in metrics)}
    for path in dict.fromkeys((*before.rules, *after.rules)):
        old = before.rules.get(path, after.defaults.get(path, _ABSENT))
        new = after.rules.get(path, _ABSENT)
        is_absent = old is _ABSENT or new is _ABSENT
        if _metric_of(path) in owners and not (is_absent and path.partition(".")[0] not in _COUNTED_ALONE):
            yield path, None if old is _ABSENT else old, None if new is _ABSENT else new


def list_changed_units(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the metrics and families whose version or source differs, where both sides record it."""
    changed = []
    for name, before in baseline.units.items():
        after = run.units.get(name, {})
        stated = [key for key in ("version", "source") if key in before and key in after]
        if any(before[key] != after[key] for key in stated):
            changed.append(name)
    return changed


def list_stated_facts(provenance: Provenance) -> dict[str, str]:
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
            lacking = [metric for metric in rules.counted if metric not in run.suites[suite].score]
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
