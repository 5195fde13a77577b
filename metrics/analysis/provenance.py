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
_PARAMETERS = "parameters of "
"""What the facts under test begin with that are parameters by name, of a model or a suite."""
_ABSENT = object()

Kind = Literal["decides", "tested", "unit", "rescored", "new"]


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """The rules that decide a suite: the metrics of its scores, its headlines, and every rule by path.

    `headlines` are the metrics of each headline by their weights ('' names a mean of several); empty for a file,
    and for a baseline of an earlier version, whose only one was the mean of its metrics. `in_rounds`: it was asked
    until decided. Paths are `threshold`, `metrics.<metric>.<option>`, `judges.<metric>.<judge>`,
    `judge_prompts.<metric>.<prompt>` and so on; values are JSON. `defaults` are the metric options' defaults, used
    where a baseline predates an option; a baseline has none.
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
    def metrics_counted(self) -> tuple[str, ...]:
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


def differences(
    baseline: Provenance,
    run: Provenance,
    rescored: Collection[str] = (),
    models: Iterable[tuple[str, str]] = (),
) -> list[RuleDifference]:
    """List the facts that differ between two runs, for suites and metrics that both have.

    `rescored` are the units with which the baseline's responses were rescored; `models` pairs the run's models with
    the baseline's, whose names may differ.
    """
    differing = []
    for kind, what, before, after in (*_list_common_facts(baseline, run), *_list_tested(baseline, run, models)):
        if format_canonical(before) != format_canonical(after):
            differing.append(RuleDifference(kind, what, *_format_difference(before, after)))
    for name, rules in run.suites.items():
        if name in baseline.suites:
            differing += _list_new_metrics(name, baseline.suites[name], rules)
        else:
            differing.append(RuleDifference("new", f"suite {name}", "none", "evaluated"))
    for name in list_changed_units(baseline, run):
        before, after = baseline.units[name], run.units[name]
        # Where the version differs, the source does too: the version says enough.
        what = "source"
        if before.get("version") != after.get("version"):
            what = "version"
        kind: Kind = "unit"
        if name in rescored:
            kind = "rescored"
        old, new = one_line(before.get(what)), one_line(after.get(what))
        differing.append(RuleDifference(kind, f"{what} of {name}", old, new))
    return differing


def _list_new_metrics(suite: str, before: SuiteRules, after: SuiteRules) -> Iterator[RuleDifference]:
    """Yield the headlines and metrics of a suite that only the run has."""
    is_of_mean = len(before.score) > 1 and not before.headlines
    if is_of_mean and after.headlines and after.lines != before.lines:
        was = f"the mean of {', '.join(before.score)}"
        now = ", ".join(name or "another mean" for name in after.headlines)
        yield RuleDifference("tested", f"what decides suite {suite}", was, now)
    for metric in after.metrics_counted:
        if metric not in before.score:
            yield RuleDifference("new", f"metric {metric} of suite {suite}", "none", "in its score")


def _list_common_facts(baseline: Provenance, run: Provenance) -> Iterator[tuple[Kind, str, Any, Any]]:
    """Yield the facts that both sides have, but for units; a model on one side only is not a difference."""
    # With one suite neither its weight nor the overall threshold matters.
    is_single = min(len(baseline.suites), len(run.suites)) == 1
    for name, before in baseline.rules.items():
        if name in run.rules and not is_single:
            yield "decides", name, before, run.rules[name]
    for suite, rules in baseline.suites.items():
        if suite not in run.suites:
            continue
        after = run.suites[suite]
        metrics = [metric for metric in rules.score if metric in after.score]
        for path, old, new in _list_comparable(rules, after, metrics):
            if not (is_single and path == "weight"):
                yield "decides", _name_rule(path, suite), old, new


def _list_tested(
    baseline: Provenance, run: Provenance, models: Iterable[tuple[str, str]]
) -> Iterator[tuple[Kind, str, Any, Any]]:
    """Yield what both sides have under test, parameters one by one; also of a model with another name."""
    names = {f"{_PARAMETERS}{before}": f"{_PARAMETERS}{after}" for after, before in models}
    for name, before in baseline.tested.items():
        new_name = names.get(name, name)
        if new_name not in run.tested:
            continue
        after = run.tested[new_name]
        if not (name.startswith(_PARAMETERS) and isinstance(before, Mapping) and isinstance(after, Mapping)):
            yield "tested", name, before, after
            continue
        owner = new_name.removeprefix(_PARAMETERS)
        for key in dict.fromkeys((*before, *after)):
            yield "tested", f"{key} of {owner}", before.get(key), after.get(key)


def _name_rule(path: str, suite: str) -> str:
    """Return what a suite's rule is called before people."""
    return f"{path.removeprefix('metrics.')} of suite {suite}"


def has_same_rules(baseline: Provenance, run: Provenance, suite: str, metric: str) -> bool:
    """Return whether both score a suite by a metric, and by the same rules."""
    before, after = baseline.suites.get(suite), run.suites.get(suite)
    if before is None or after is None or metric not in before.score or metric not in after.score:
        return False
    for path, old, new in _list_comparable(before, after, [metric]):
        if _metric_of(path) and format_canonical(old) != format_canonical(new):
            return False
    return True


def _metric_of(path: str) -> str:
    """Return the metric a rule belongs to; '' for a rule of the suite."""
    kind, _, name = path.partition(".")
    if kind not in _OF_METRIC:
        return ""
    return name.partition(".")[0]


def _list_comparable(
    before: SuiteRules, after: SuiteRules, metrics: Iterable[str]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the comparable rules of both sides, those of `metrics` and of the suite as a whole: path and values.

    An option only the run has is new: the baseline used its default. An option only the baseline has no longer
    exists and is ignored. Suite rules and judge prompts are compared where both sides have them.
    """
    # A part is decided by its metric's rules.
    owners = {"", *(name.partition(".")[0] for name in metrics)}
    for path in dict.fromkeys((*before.rules, *after.rules)):
        # A judge or family that only one side has differs from None; other rules that a side lacks say nothing.
        absent: Any = _ABSENT
        if path.partition(".")[0] in _COUNTED_ALONE:
            absent = None
        old = before.rules.get(path, after.defaults.get(path, absent))
        new = after.rules.get(path, absent)
        is_comparable = old is not _ABSENT and new is not _ABSENT
        if is_comparable and _metric_of(path) in owners:
            yield path, old, new


def list_changed_units(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the metrics and families whose version or source differs, where both sides record it."""
    changed = []
    for name, before in baseline.units.items():
        after = run.units.get(name, {})
        recorded = {"version", "source"} & before.keys() & after.keys()
        if any(before[key] != after[key] for key in recorded):
            changed.append(name)
    return changed


def list_stated_facts(provenance: Provenance) -> dict[str, str]:
    """Return all facts by name, each in one line."""
    facts = {**provenance.tested, **provenance.rules}
    for suite, rules in provenance.suites.items():
        facts |= {_name_rule(path, suite): value for path, value in rules.rules.items()}
    for name, unit in provenance.units.items():
        facts |= {f"{key} of {name}": value for key, value in unit.items()}
    return {name: one_line(value) for name, value in facts.items()}


def list_missing(baseline: Provenance, run: Provenance) -> list[str]:
    """Return the baseline's suites and score metrics that a run lacks."""
    gone = [f"suite {suite}" for suite in baseline.suites if suite not in run.suites]
    for suite, rules in baseline.suites.items():
        if suite not in run.suites:
            continue
        scored = run.suites[suite].score
        gone += (f"metric {metric} of suite {suite}" for metric in rules.metrics_counted if metric not in scored)
    return gone


def _format_difference(*values: Any) -> Iterator[str]:
    """Format two values on a line each; long texts with a common start are shown from where they diverge."""
    texts = [*map(one_line, values)]
    start = 0
    if max(map(len, texts)) > _LONGEST:
        # Some characters before the first difference say where it is.
        first_difference = next((n for n, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), 0)
        start = max(0, first_difference - _LONGEST // 4)
    end = start + _LONGEST
    for text in texts:
        before, after = "…" * (start > 0), "…" * (len(text) > end)
        yield f"{before}{text[start:end]}{after}"


def one_line(value: Any) -> str:
    """Format a fact on one line."""
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one_line(value[key])}" for key in sorted(value)) or "nothing"
    if isinstance(value, list | tuple):
        return ", ".join(map(one_line, value)) or "nothing"
    text = " ".join(str(value).split()) or "nothing"
    if _DIGEST.fullmatch(text):
        return text[:_DIGITS]
    return text


def refuse(name: str, differing: Sequence[RuleDifference], *, allow_different: bool) -> None:
    """Refuse a meaningless comparison.

    Raises:
        InputError: a rule that decides the scores differs, and this was not allowed.
    """
    deciding = [str(difference) for difference in differing if difference.kind == "decides"]
    if deciding and not allow_different:
        raise InputError(
            f"baseline {name}: its scores were decided by other rules than this run's. {'; '.join(deciding)}. Set "
            "a new baseline, or add --allow-different to compare anyway."
        )
