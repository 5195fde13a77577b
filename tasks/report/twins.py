"""Results on renewed items: a model's accuracy on twins, and how many of the originals have one."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from operator import itemgetter
from typing import Any

import polars as pl

from data.batches import TwinCount
from data.questions import shown_question
from metrics.analysis.twins import right_by, shares
from prompts.phrases import phrase, translated
from tasks.report.report_data import ReportData
from tasks.report.tables import Column, Table
from tasks.report.text import clipped, estimated, grouped, percent, points, written
from tasks.report.titles import metric_title
from tasks.report.words import shared

_COLUMNS = {
    "": ("model", "suite", "metric", "twins", "pairs", "mean", "against", "difference", "says"),
    "made_": ("suite", "twins", "made", "reasons"),
    "changed_": ("model", "suite", "twins", "original", "original_reply", "twin", "twin_reply"),
}
Results = Mapping[str, Any]
_POINT = 100


def sentence(one: Mapping[str, Any], language: str) -> str:
    """Return a difference in words that claim no more than it shows."""
    name = one["outcome"]
    if name in {"falls", "rises"}:
        kind = one["kind"] if one["kind"] in {"numbers", "names"} else "other"
        alone = kind == "numbers" and one["against"] != "names"
        name = f"{name}_{'numbers_alone' if alone else kind}"
    elif name == "unknown" and one["needed"]:
        name = "unknown_needed"
    size = _POINT * abs(one["difference"] or 0.0)
    ends = sorted(_POINT * abs(one["interval"][end] or 0.0) for end in ("low", "high"))
    said = {"points": written(f"{size:.1f}"), "low": written(f"{ends[0]:.1f}"), "high": written(f"{ends[1]:.1f}")}
    needed = grouped(one["needed"]) if one["needed"] else ""
    return phrase(f"twins.{name}", language, n=grouped(one["n"]), needed=needed, kind=one["kind"], **said)


def tables(results: Results, language: str) -> list[Table]:
    """Return the results on twins, and how many originals have one; nothing if a run has none."""
    counts = [TwinCount(**one) for one in results.get("twin_counts", ())]
    made = []
    for (suite, kind), (n, every) in shares(counts).items():
        reasons = [one for one in counts if (one.suite, one.kind) == (suite, kind) and one.reason]
        said = "; ".join(f"{translated(one.reason, language)}: {one.n}" for one in reasons)
        made.append({"suite": suite, "twins": kind, "made": f"{n} / {every}", "reasons": said})
    shown = _table("", _rows(results["twins"], language), language) if counts else None
    return [one for one in (shown, _table("made_", made, language)) if one and one.rows]


def _table(which: str, rows: Iterable[Mapping[str, str]], language: str, **said: str) -> Table:
    def column(name: str) -> Column:
        known = name in {"model", "suite", "metric"}
        title = shared(name, language) if known else phrase(f"twins.{name}", language)
        return Column(title, itemgetter(name), numeric=name in {"pairs", "mean", "against", "difference"})

    title, note = (phrase(f"twins.{which}{one}", language, **own) for one, own in (("head", {}), ("note", said)))
    heads = map(column, _COLUMNS[which])
    return Table.of(rows, *heads, title=title, caption=note, name=f"twins-{which}".strip("_-"))


def _rows(results: Iterable[Results], language: str) -> Iterator[Mapping[str, str]]:
    """Yield a row for each difference, and one for the share right in all twins, of each model and suite."""
    for result in results:
        of = {**result, "metric": metric_title(result["metric"], language)}
        for one in result["differences"]:
            low, high = (one["interval"][end] for end in ("low", "high"))
            ends = "" if low is None or high is None else f" ({points(low)} … {points(high)})"
            yield of | {
                "twins": f"{one['kind']} − {one['against']}",
                "pairs": str(one["n"]),
                "mean": percent(one["mean"]),
                "against": percent(one["mean_against"]),
                "difference": points(one["difference"]) + ends,
                "says": sentence(one, language),
            }
        yield of | {
            "twins": phrase("twins.every", language),
            "pairs": str(result["n_robust"]),
            "mean": _robust(result),
            "against": "–",
            "difference": "–",
            "says": phrase("twins.right_in_all", language),
        }


def _robust(one: Results) -> str:
    interval = one["robust_interval"]
    return estimated(one["robust"], interval["low"], interval["high"])


PAIRS = 50
"""Pairs that a report shows side by side."""
_LONGEST = 400
_KEY = ["item_id", "model", "repeat"]
_BEFORE = "_original"


def changed(data: ReportData) -> Table | None:
    """Return the pairs with one right and one wrong reply, side by side; None if a run has none."""
    telling = {one.name: name for one in data.plan.declared if one.twins for name in islice(right_by(one), 1)}
    if data.twins.is_empty():
        return None
    twins, originals = (
        replies.join(scores.select(*_KEY, "metric", "value").drop_nulls(), on=_KEY).filter(
            pl.col("metric") == pl.col("suite").replace_strict(telling, default="")
        )
        for replies, scores in ((data.twins, data.twin_scores), (data.replies, data.scores))
    )
    pairs = twins.join(
        originals, left_on=["original", *_KEY[1:]], right_on=_KEY, suffix=_BEFORE, maintain_order="left"
    ).filter((pl.col("value") == 1) != (pl.col(f"value{_BEFORE}") == 1))
    rows = [
        {**one, "twins": one["kind"], **_told(one, "original", _BEFORE), **_told(one, "twin", "")}
        for one in pairs.head(PAIRS).iter_rows(named=True)
    ]
    n, shown = grouped(pairs.height), grouped(len(rows))
    return _table("changed_", rows, data.language, n=n, shown=shown)


def _told(one: Mapping[str, Any], name: str, side: str) -> dict[str, str]:
    """Return a question with its expected answer, and the reply with whether it is right."""
    facts, text = json.loads(one[f"facts{side}"]), (one[f"text{side}"] or "").strip()
    question = facts.get("question") or shown_question(one[f"prompt{side}"], facts)
    shown = text if len(text) <= _LONGEST else f"…{text[-_LONGEST:]}"  # the answer is at the end
    right = "✓" if one[f"value{side}"] == 1 else "✗"
    return {name: f"{clipped(question, _LONGEST)} → {one[f'answer{side}']}", f"{name}_reply": f"{right} {shown}"}


MOST = 3
"""Maximum lines on a run's last screen."""


def lines(results: Results, language: str) -> Iterator[str]:
    """Yield lines of differences and robust shares: the largest drops first, then the number of others."""
    falling, others = list[str](), list[str]()
    for result in results.get("twins", ()):
        for one in result["differences"]:
            said = f"{result['model']}, {result['suite']}, {one['kind']}: {sentence(one, language)}"
            (falling if one["outcome"] == "falls" else others).append(said)
        named = {"model": result["model"], "suite": result["suite"], "n": result["n_robust"]}
        others.append(phrase("twins.robust", language, share=_robust(result), **named))
    every = [*falling, *others]
    yield from every[:MOST]
    if len(every) > MOST:
        yield phrase("screen.folded", language, n=len(every) - MOST)
