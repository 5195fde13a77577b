"""The judges of a run in a line each, in one from three on: whether they count, and what could not be read."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prompts.phrases import phrase, translated
from tasks.report.text import listed, percent, shortened
from tasks.report.words import shared, suites_in

Results = Mapping[str, Any]
_EACH = 2
"""Judges that have a line each."""


def panel(results: Results, language: str) -> Iterator[str]:
    """Yield the lines, and what people's labels make of judged means; nothing where nobody judged."""
    judges = _judges(results)
    if len(judges) <= _EACH:
        for judge in judges:
            told = "; ".join(_told(results, judge, language))
            yield phrase("screen.judge", language, judge=shortened(judge), told=told)
    else:
        yield phrase("screen.judges", language, n=len(judges), told="; ".join(_folded(results, judges, language)))
    for model, part in suites_in(results):
        if part.get("as_judged") is not None:
            raw, score = percent(part["as_judged"]), percent(part["score"])
            told = shared("labelled", language, score=score, n=part["n_labels"], judged=raw)
            yield f"{part['suite']}, {shortened(model)}: {told}"


def _judges(results: Results) -> list[str]:
    """Return the judges that rated, and those that nobody measured, that do not count, that grade themselves."""
    found = [one["judge"] for metric in results.get("judges", {}).values() for one in metric["judges"]]
    for _, part in suites_in(results):
        found += [*part.get("judges_unmeasured", ()), *map(_named, part.get("judges_left_out", {}))]
    found += [judge for judges in results.get("self_judged", {}).values() for judge in judges]
    return list(dict.fromkeys(found))


def _named(judge_and_metric: str) -> str:
    return judge_and_metric.rpartition(", ")[0]


def _rated(results: Results, judges: Sequence[str]) -> dict[str, int]:
    """Return of how many ratings (`n`) how many (`k`) could not be had."""
    every = (one for metric in results.get("judges", {}).values() for one in metric["judges"])
    own = [one for one in every if one["judge"] in judges]
    return {"k": sum(one["n_failed"] for one in own), "n": sum(one["n_asked"] for one in own)}


def _unmeasured(results: Results, judge: str) -> bool:
    return any(judge in part.get("judges_unmeasured", ()) for _, part in suites_in(results))


def _left_out(results: Results, judge: str) -> list[str]:
    """Return why a judge does not count, each reason once."""
    every = (both for _, part in suites_in(results) for both in part.get("judges_left_out", {}).items())
    return list(dict.fromkeys(why for who, why in every if _named(who) == judge))


def _told(results: Results, judge: str, language: str) -> Iterator[str]:
    if reasons := _left_out(results, judge):
        more = phrase("screen.left_out_more", language, n=len(reasons) - 1) if len(reasons) > 1 else ""
        yield phrase("screen.left_out", language, why=translated(reasons[0], language)) + more
    if _unmeasured(results, judge):
        yield phrase("screen.no_passport", language)
    itself = (models.get(judge, ()) for models in results.get("self_judged", {}).values())
    if own := [*dict.fromkeys(model for models in itself for model in models)]:
        yield phrase("screen.self_judged", language, models=listed(own, language))
    yield from _read(results, [judge], language)


def _folded(results: Results, judges: Sequence[str], language: str) -> Iterator[str]:
    counts = {
        "not_counting": sum(bool(_left_out(results, one)) for one in judges),
        "not_measured": sum(_unmeasured(results, one) for one in judges),
    }
    yield from (phrase(f"screen.{name}", language, n=n) for name, n in counts.items() if n)
    yield from _read(results, judges, language)


def _read(results: Results, judges: Sequence[str], language: str) -> Iterator[str]:
    rated = _rated(results, judges)
    if rated["n"]:
        yield phrase(f"screen.{'unread' if rated['k'] else 'read'}", language, **rated)
