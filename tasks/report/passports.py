"""Passports for people: a row for each step and language, each figure with its n."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from data.labelled_sets import SETS
from metrics.analysis.passports import Passport, read_passport
from prompts.phrases import phrase, translated
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import around, estimated, listed, percent, share, shortened, written
from tasks.report.words import shared, suites_in

_EACH = 2
"""Maximum number of judges that get a line each."""
Results = Mapping[str, Any]


def _columns(language: str, *, labelled: bool) -> list[Column]:
    """Return the columns of a passport; human-labelled sets correct nothing: they have other texts."""
    column = column_maker("common", language, "passport_")

    def kappa(one: Passport) -> str:
        low, high = one.kappa_interval.low or 0.0, one.kappa_interval.high or 0.0
        return "–" if one.kappa is None else written(f"{one.kappa:.2f} [{low:.2f}, {high:.2f}]")

    own = [
        column("step", attrgetter("exam")),
        column("language", attrgetter("language")),
        column("right", lambda one: share(one.right)),
        column("sensitivity", lambda one: share(one.sensitivity)),
        column("specificity", lambda one: share(one.specificity)),
        column("kappa", kappa),
        column("unreadable", lambda one: share(one.failed)),
        column("changed", lambda one: share(one.repeated)),
    ]
    if labelled:
        return [column("data", lambda one: f"{one.domain}: {translated(SETS[one.domain].domain, language)}"), *own]
    return [*own, column("verdict", lambda one: translated(one.exclusion or "usable", language))]


def passport_tables(results: Results, language: str) -> Iterator[Table]:
    """Yield the exam's results for its judges: on its own questions, and separately on human-labelled ones."""
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
    """Yield one judge's exam results for a terminal: on its own questions, and on human-labelled ones."""
    for labelled, name in enumerate(("passport", "labelled")):
        if own := [one for one in found if bool(one.domain) == labelled]:
            title = phrase(f"exam.{name}", language, judge=judge)
            yield Table.of(own, *_columns(language, labelled=bool(labelled)), title=title)


def corrected(results: Results, language: str) -> Table:
    """Return each judged mean of a run with its corrected value, or the reason why there is none."""
    column = column_maker("common", language)

    def is_corrected(one: Mapping[str, Any]) -> bool:
        return None not in (one["value"], one["interval"]["low"], one["interval"]["high"])

    def interval(one: Mapping[str, Any]) -> str:
        low, high = one["interval"]["low"], one["interval"]["high"]
        return around(low, high) if is_corrected(one) else translated(one["reason"], language)

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
        column("corrected", lambda one: percent(one["value"]) if is_corrected(one) else "–", numeric=True),
        column("verdicts", lambda one: str(one["n_verdicts"] or one["n_samples"]), numeric=True),
        column("exam_questions", lambda one: str(one["n_exam"] or "–"), numeric=True),
        title=shared("judges_head", language),
        caption=shared("judges_note", language),
        name="judged",
    )


def warnings(results: Results, language: str) -> list[tuple[str, str, str]]:
    """Return (model, suite, text) of judges that do not count, were not examined, or grade their own model."""
    found = []
    itself = results.get("self_judged", {})
    for model, suite in suites_in(results["final"]):
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


def panel(results: Results, language: str) -> Iterator[str]:
    """Yield a line for each judge of a run, one for all from three on: whether they count, unreadable replies.

    Then the corrections of judged means by human labels; nothing if there are no judges.
    """
    suites = suites_in(results["final"])
    rated = [one for metric in results.get("judges", {}).values() for one in metric["judges"]]
    judges, left_out, blank = dict.fromkeys(one["judge"] for one in rated), dict[str, list[str]](), set[str]()
    for _, part in suites:
        blank.update(own := part.get("judges_unmeasured", ()))
        judges |= dict.fromkeys(own)
        for judge_and_metric, why in part.get("judges_left_out", {}).items():
            judges[judge := judge_and_metric.rpartition(", ")[0]] = None
            left_out.setdefault(judge, []).append(why)
    itself = results.get("self_judged", {}).values()
    judges |= dict.fromkeys(chain(*itself))
    if len(judges) > _EACH:
        counts = {"not_counting": len(left_out), "not_measured": len(blank)}
        told = [phrase(f"screen.{name}", language, n=n) for name, n in counts.items() if n]
        told += _read(rated, judges, language)
        yield phrase("screen.judges", language, n=len(judges), told="; ".join(told))
        judges = {}
    for judge in judges:
        told = [_left_out(left_out[judge], language)] if judge in left_out else []
        told += [phrase("screen.no_passport", language)] if judge in blank else []
        if own := [*dict.fromkeys(model for models in itself for model in models.get(judge, ()))]:
            told.append(phrase("screen.self_judged", language, models=listed(own, language)))
        told += _read(rated, [judge], language)
        yield phrase("screen.judge", language, judge=shortened(judge), told="; ".join(told))
    for model, part in suites:
        if part.get("as_judged") is not None:
            raw, score = percent(part["as_judged"]), percent(part["score"])
            said = shared("labelled", language, score=score, n=part["n_labels"], judged=raw)
            yield f"{part['suite']}, {shortened(model)}: {said}"


def _left_out(reasons: Sequence[str], language: str) -> str:
    n = len({*reasons}) - 1
    more = phrase("screen.left_out_more", language, n=n) if n else ""
    return phrase("screen.left_out", language, why=translated(reasons[0], language)) + more


def _read(rated: Sequence[Mapping[str, Any]], judges: Collection[str], language: str) -> Iterator[str]:
    own = [one for one in rated if one["judge"] in judges]
    counts = {"k": sum(one["n_failed"] for one in own), "n": sum(one["n_asked"] for one in own)}
    if counts["n"]:
        yield phrase(f"screen.{'unread' if counts['k'] else 'read'}", language, **counts)
