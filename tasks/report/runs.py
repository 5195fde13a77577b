"""The page of all runs, as `view` serves it: outcomes, scores, a search, an order, and a choice of two."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from basic_control.data.exits import OUTCOMES
from basic_control.metrics.stats.intervals import Interval
from basic_control.prompts.phrases import list_phrases
from basic_control.tasks.report.language import current, say, say_reason
from basic_control.tasks.report.pages import still
from basic_control.tasks.report.text import around, clip_text, date_in_words, join_names, percent
from basic_control.tasks.report.words import money, name_metric, suite_title
from basic_control.tasks.store.history import HistoryEntry, TargetScore

EACH = 200
"""Runs per page."""
_LONGEST = 160
"""Characters of why a model has no score."""
PAGE_NUMBER = re.compile("[0-9]{1,6}")  # such as 12


def outcome_of(run: HistoryEntry) -> str:
    """Return a run's outcome: pass, fail, error, undecided; its status if it has none."""
    return run.verdict or run.status


def _outcome_name(outcome: str) -> str:
    if outcome in OUTCOMES:
        return say(f"common.{outcome}")
    return list_phrases("view", current()).get(f"status_{outcome}", outcome)


def select(runs: Sequence[HistoryEntry], words: str) -> list[HistoryEntry]:
    """Return the runs that contain all words, in their order."""
    selected = list(runs)
    for word in words.casefold().split():
        selected = [run for run in selected if word in _text_of(run)]
    return selected


def _text_of(run: HistoryEntry) -> str:
    texts = (run.name, run.title, run.started, run.status, outcome_of(run), run.note, run.commit, run.questions)
    return "\n".join((*texts, run.baseline, *run.models, *run.suites)).casefold()


def _score(run: HistoryEntry) -> float | None:
    """Return the score of a run's best target."""
    return max((target.score for target in run.scores.values() if target.score is not None), default=None)


SEVERITIES: Mapping[str, int] = dict(zip(OUTCOMES, range(len(OUTCOMES)), strict=True))
SORTS: Mapping[str, Callable[[HistoryEntry], Any]] = {
    "started": lambda run: run.started or None,
    "verdict": lambda run: SEVERITIES.get(run.verdict),
    "scores": _score,
    "cost": lambda run: run.cost and run.cost.amount,
}
"""What runs are sorted by: values of which the greatest comes first, or last with `-` before the name."""


def sort(runs: Sequence[HistoryEntry], name: str) -> list[HistoryEntry]:
    """Return runs in an order of `SORTS`, those without a value last; unchanged if it is none."""
    value_of = SORTS.get(name.removeprefix("-"))
    if value_of is None:
        return list(runs)
    with_value = [run for run in runs if value_of(run) is not None]
    without_value = [run for run in runs if value_of(run) is None]
    return sorted(with_value, key=value_of, reverse=not name.startswith("-")) + without_value


def index(
    entries: Sequence[HistoryEntry],
    query: Mapping[str, str],
    find_report: Callable[[str], Path | None],
) -> str:
    """Return the page of the runs that a `query` (`words`, `sort` and `page`) asks for.

    `find_report` returns the file of a run's report, None if it has none.
    """
    words, order, number = query.get("words", "")[:200], query.get("sort", "")[:20], query.get("page", "")
    # Whatever else somebody types is the first page.
    page = max(int(number), 1) if PAGE_NUMBER.fullmatch(number) else 1
    runs = sort(select(entries, words), order)
    start = (page - 1) * EACH
    cards = [_describe_card(run, find_report(run.name)) for run in runs[start : start + EACH]]

    def link(**changes: object) -> str:
        values = {"words": words, "sort": order, "page": "", **changes}
        return f"/?{urlencode({key: value for key, value in values.items() if value})}"

    # A click on the column that the runs are sorted by turns the order round.
    sorts = {name: link(sort=name) for name in SORTS}
    if order in SORTS:
        sorts[order] = link(sort=f"-{order}")
    earlier = later = ""
    if page > 1:
        earlier = link(page=page - 1)
    if start + EACH < len(runs):
        later = link(page=page + 1)

    return still(
        "runs.html.j2",
        form=True,
        script="runs.js",
        section="view",
        words=words,
        order=order,
        sorts=sorts,
        link=link,
        cards=cards,
        n=len(runs),
        total=len(entries),
        first=start + 1,
        earlier=earlier,
        later=later,
    )


def address_of(run: str, report: Path | None) -> str:
    """Return the address of a run's report; '' without one."""
    if report is None:
        return ""
    return f"/runs/{quote(run, safe='')}/{quote(report.name, safe='')}"


def _describe_card(run: HistoryEntry, report: Path | None) -> dict[str, Any]:
    """Return a run as a card: its heading is its name or its tasks; `about` says when, of what and at what cost."""
    about, tasks = [_date_of(run.started)], ""
    if run.suites:
        tasks = join_names([*map(suite_title, run.suites)])
    # Without a title the heading names the tasks already.
    if run.title and tasks:
        about.append(tasks)
    if run.cost:
        about.append(money(*run.cost))
    verdict = outcome_of(run)
    return {
        "run": run,
        "heading": run.title or tasks or run.name,
        "address": address_of(run.name, report),
        # A file can be sent: an address of this machine opens nothing elsewhere.
        "path": str(report.resolve() if report else ""),
        "verdict": verdict,
        "outcome": _outcome_name(verdict),
        "about": [*filter(None, about)],
        "targets": [*_describe_targets(run)],
    }


def _date_of(started: str) -> str:
    """Return a start in words; as it is written where it is no date."""
    try:
        return date_in_words(datetime.fromisoformat(started))
    except ValueError:
        return started


def _describe_targets(run: HistoryEntry) -> Iterator[dict[str, Any]]:
    """Yield each target with its scores, or why it has none."""
    scores_by_target: dict[str, list[TargetScore]] = {}
    for name, score in run.targets.items():
        scores_by_target.setdefault(score.model or name, []).append(score)
    is_single = len({score.suite for score in run.targets.values()}) == 1
    for name, scores in scores_by_target.items():
        marks = [_describe_score(score, is_single=is_single) for score in scores if score.score is not None]
        problems = [clip_text(say_reason(score.problem), _LONGEST) for score in scores if score.problem]
        yield {"name": name, "scores": marks, "problem": "".join(problems[:1])}


def _describe_score(target: TargetScore, *, is_single: bool) -> dict[str, Any]:
    """Return a score in words and as numbers in [0, 1]; `name` says which of several it is."""
    name = ""
    if target.suite:
        name = name_metric(target.metric)
        # Of a run's only suite the metric says enough.
        if not is_single:
            name = f"{suite_title(target.suite)}, {name}"
    return {
        **target._asdict(),
        "name": name,
        "text": percent(target.score),
        "around": around(Interval(target.low, target.high)),
        "outcome": target.verdict and _outcome_name(target.verdict),
    }


def message(text: str) -> str:
    """Return a page with one message, such as an error, and a link back."""
    return still("message.html.j2", section="view", text=text)
