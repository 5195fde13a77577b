"""Passports as people read them: a row for each step and language, and what a judge leans to, each with its n."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from data.labelled_sets import SETS
from metrics.analysis.passports import Passport, read_passport
from prompts.phrases import phrase, translated
from tasks.report.tables import Column, Table, columns
from tasks.report.text import estimated, percent, share
from tasks.report.words import shared

HEADER = ("step", "language", "right", "sensitivity", "specificity", "kappa", "unreadable", "verdict")
LABELLED_HEADER = ("data", *HEADER[:-1])
"""Of sets that people labelled, which correct nothing: they tell of other texts than the exam's."""
USABLE = "usable"
_BY_PLACE = {"prefers the first": "first", "prefers the second": "second"}
Results = Mapping[str, Any]


def row_of(one: Passport, language: str) -> tuple[str, ...]:
    """Return a passport's row."""
    low, high = one.kappa_interval.low or 0.0, one.kappa_interval.high or 0.0
    kappa = "–" if one.kappa is None else f"{one.kappa:.2f} [{low:.2f}, {high:.2f}]"
    rates = (share(one.right), share(one.sensitivity), share(one.specificity))
    return (one.exam, one.language, *rates, kappa, share(one.failed), translated(one.usable or USABLE, language))


def labelled_row_of(one: Passport, language: str) -> tuple[str, ...]:
    """Return the row of a set that people labelled."""
    return (f"{one.domain}: {translated(SETS[one.domain].domain, language)}", *row_of(one, language)[:-1])


def leanings_of(one: Passport, language: str) -> Iterator[str]:
    """Yield what a judge leans to at a step, and each probe's figures."""
    say = partial(phrase, where=f"{one.domain or one.exam} ({one.language})")
    for name in one.leanings:
        if name in {"lenient", "strict"}:
            yield say(f"exam.{name}", language, share=share(one.lenient))
        elif name in _BY_PLACE:
            yield say(f"exam.{_BY_PLACE[name]}", language, share=share(one.first))
    if one.repeated.n:
        yield say("exam.repeated", language, share=share(one.repeated), reworded=share(one.reworded))
    for probe in one.probes:
        name = "swayed" if f"swayed by {probe.probe}" in one.leanings else "probe"
        yield say(f"exam.{name}", language, probe=probe.probe, share=share(probe.flipped))


def passport_tables(results: Results, language: str) -> list[Table]:
    """Return what an exam showed of its judges: on its own questions, and apart on what people labelled."""
    found = [read for one in results.get("passports", ()) if (read := read_passport(one))]
    own = [(one.judge, *row_of(one, language)) for one in found if not one.domain]
    labelled = [(one.judge, *labelled_row_of(one, language)) for one in found if one.domain]
    made = []
    for name, header, rows in (("passports", HEADER, own), ("labelled_sets", LABELLED_HEADER, labelled)):
        heads = columns(shared("judge", language), *_heads(header, language))
        title, note = shared(f"{name}_head", language), shared(f"{name}_note", language)
        made += [Table(heads, rows, title, note, name=name)] if rows else []
    return made


def _heads(header: Sequence[str], language: str) -> list[str]:
    return [shared(f"passport_{head}", language) for head in header]


def tables_of(judge: str, found: Sequence[Passport], language: str) -> Iterator[Table]:
    """Yield what an exam showed of one judge, for a terminal: its own questions, what people labelled."""
    own = [row_of(one, language) for one in found if not one.domain]
    labelled = [labelled_row_of(one, language) for one in found if one.domain]
    for name, header, rows in (("passport", HEADER, own), ("labelled", LABELLED_HEADER, labelled)):
        if rows:
            title = phrase(f"exam.{name}", language, judge=judge)
            yield Table(columns(*_heads(header, language)), rows, title)


def corrected(results: Results, language: str) -> Table:
    """Return each judged mean of a run beside its corrected one; the reason where there is none."""

    def column(name: str, take: Callable[[Mapping[str, Any]], str], *, numeric: bool = False) -> Column:
        return Column(shared(name, language), take, numeric=numeric)

    def interval(one: Mapping[str, Any]) -> str:
        low, high = one["interval"]["low"], one["interval"]["high"]
        return f"{percent(low)} – {percent(high)}" if _is_corrected(one) else translated(one["reason"], language)

    def as_judged(one: Mapping[str, Any]) -> str:
        return estimated(one["raw"], one["raw_interval"]["low"], one["raw_interval"]["high"])

    return Table.of(
        results.get("corrected", ()),
        column("model", itemgetter("model")),
        column("suite", itemgetter("suite")),
        column("metric", itemgetter("metric")),
        column("judge", lambda one: f"{one['judge']} ({one['language']})"),
        column("interval", interval),
        column("as_judged", as_judged, numeric=True),
        column("corrected", lambda one: percent(one["value"]) if _is_corrected(one) else "–", numeric=True),
        column("verdicts", lambda one: str(one["n_verdicts"] or one["n_samples"]), numeric=True),
        column("exam_questions", lambda one: str(one["n_exam"] or "–"), numeric=True),
        title=shared("judges_head", language),
        caption=shared("judges_note", language),
        name="judged",
    )


def _is_corrected(one: Mapping[str, Any]) -> bool:
    return one["value"] is not None and one["interval"]["low"] is not None and one["interval"]["high"] is not None


def warnings(results: Results, language: str) -> list[tuple[str, str, str]]:
    """Return (model, suite, text) of judges that do not count, that nobody measured, that grade their own model."""
    found = []
    itself = results.get("self_judged", {})
    for model in results.get("final", {}).get("models", ()):
        for suite in model["suites"]:
            named = suite["suite"]
            for who, why in suite.get("judges_left_out", {}).items():
                said = phrase(
                    "common.judge_left_out", language, suite=named, judge=who, why=translated(why, language)
                )
                found.append((model["model"], named, said))
            if blank := suite.get("judges_unmeasured"):
                said = phrase("common.no_passport", language, suite=named, judges=", ".join(blank))
                found.append((model["model"], named, said))
            own = [judge for judge, models in itself.get(named, {}).items() if model["model"] in models]
            for judge in own:
                said = phrase("common.self_judged", language, suite=named, judge=judge, model=model["model"])
                found.append((model["model"], named, said))
    return found
