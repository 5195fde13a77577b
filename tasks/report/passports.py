"""Passports as people read them: a row for each step and language, and what a judge leans to, each with its n."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from data.labelled_sets import SETS
from metrics.analysis.passports import Passport, read_passport
from prompts.phrases import phrase, translated
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import estimated, percent, share
from tasks.report.words import shared, suites_in

USABLE = "usable"
_BY_PLACE = {"prefers the first": "first", "prefers the second": "second"}
Results = Mapping[str, Any]


def _columns(language: str, *, labelled: bool) -> list[Column]:
    """Return what is told of a passport; sets that people labelled correct nothing: they are of other texts."""
    column = column_maker("common", language, "passport_")
    own = [
        column("step", attrgetter("exam")),
        column("language", attrgetter("language")),
        column("right", lambda one: share(one.right)),
        column("sensitivity", lambda one: share(one.sensitivity)),
        column("specificity", lambda one: share(one.specificity)),
        column("kappa", _kappa),
        column("unreadable", lambda one: share(one.failed)),
    ]
    if labelled:
        return [column("data", lambda one: f"{one.domain}: {translated(SETS[one.domain].domain, language)}"), *own]
    return [*own, column("verdict", lambda one: translated(one.usable or USABLE, language))]


def _kappa(one: Passport) -> str:
    low, high = one.kappa_interval.low or 0.0, one.kappa_interval.high or 0.0
    return "–" if one.kappa is None else f"{one.kappa:.2f} [{low:.2f}, {high:.2f}]"


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


def passport_tables(results: Results, language: str) -> Iterator[Table]:
    """Yield what an exam showed of its judges: on its own questions, and apart on what people labelled."""
    found = [read for one in results.get("passports", ()) if (read := read_passport(one))]
    judge = Column(shared("judge", language), attrgetter("judge"))
    for labelled, name in enumerate(("passports", "labelled_sets")):
        yield Table.of(
            (one for one in found if bool(one.domain) == labelled),
            judge,
            *_columns(language, labelled=bool(labelled)),
            title=shared(f"{name}_head", language),
            caption=shared(f"{name}_note", language),
            name=name,
        )


def tables_of(judge: str, found: Sequence[Passport], language: str) -> Iterator[Table]:
    """Yield what an exam showed of one judge, for a terminal: its own questions, what people labelled."""
    for labelled, name in enumerate(("passport", "labelled")):
        if own := [one for one in found if bool(one.domain) == labelled]:
            title = phrase(f"exam.{name}", language, judge=judge)
            yield Table.of(own, *_columns(language, labelled=bool(labelled)), title=title)


def corrected(results: Results, language: str) -> Table:
    """Return each judged mean of a run beside its corrected one; the reason where there is none."""
    column = column_maker("common", language)

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
    for model, suite in suites_in(results):
        named = suite["suite"]
        told = [
            phrase("common.judge_left_out", language, suite=named, judge=who, why=translated(why, language))
            for who, why in suite.get("judges_left_out", {}).items()
        ]
        if blank := suite.get("judges_unmeasured"):
            told.append(phrase("common.no_passport", language, suite=named, judges=", ".join(blank)))
        told += [
            phrase("common.self_judged", language, suite=named, judge=judge, model=model)
            for judge, models in itself.get(named, {}).items()
            if model in models
        ]
        found += [(model, named, said) for said in told]
    return found
