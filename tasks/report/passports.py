"""Passports as people read them: a row for each step and language, and what a judge leans to, each with its n."""

from collections.abc import Iterator, Mapping
from typing import Any

from data.labelled_sets import SETS
from metrics.corrected import NO_PASSPORT
from metrics.passports import Passport, read_passport
from prompts.phrases import phrase, translated
from tasks.report.tables import Table, columns
from tasks.report.text import estimated, percent, points, share
from tasks.report.words import shared

HEADER = ("step", "language", "right", "sensitivity", "specificity", "kappa", "unreadable", "verdict")
LABELLED_HEADER = ("data", *HEADER[:-1])
"""Of sets that people labelled, which correct nothing: they tell of other texts than the exam's."""
USABLE = "usable"
Results = Mapping[str, Any]


def row_of(one: Passport) -> tuple[str, ...]:
    """Return a passport's row."""
    low, high = one.kappa_interval.low or 0.0, one.kappa_interval.high or 0.0
    kappa = "–" if one.kappa is None else f"{one.kappa:.2f} [{low:.2f}, {high:.2f}]"
    rates = (share(one.right), share(one.sensitivity), share(one.specificity))
    return (one.exam, one.language, *rates, kappa, share(one.failed), one.usable or USABLE)


def labelled_row_of(one: Passport) -> tuple[str, ...]:
    """Return the row of a set that people labelled."""
    return (f"{one.domain}: {SETS[one.domain].domain}", *row_of(one)[:-1])


def leanings_of(one: Passport) -> Iterator[str]:
    """Yield what a judge leans to at a step, and each probe's figures."""
    where = f"{one.domain or one.exam} ({one.language})"
    counted = dict.fromkeys(("lenient", "strict"), one.lenient)
    counted |= dict.fromkeys(("prefers the first", "prefers the second"), one.first)
    for name in one.leanings:
        if name in counted:
            of = (
                "errors say better than the truth"
                if name in {"lenient", "strict"}
                else "pairs decided by place went first"
            )
            yield f"{where}: {name}; {share(counted[name])} of its {of}"
    if one.repeated.n:
        yield f"{where}: asked the same twice, {share(one.repeated)} of the verdicts differ"
    for probe in one.probes:
        swayed = " (swayed)" if f"swayed by {probe.probe}" in one.leanings else ""
        yield f"{where}: {probe.probe}: {share(probe.followed)} of the verdicts follow it{swayed}"


def passport_tables(results: Results, language: str) -> list[Table]:
    """Return what an exam showed of its judges: on its own questions, and apart on what people labelled."""
    found = [read_passport(one) for one in results.get("passports", ())]
    parts = (
        ("passports", HEADER, [(one.judge, *row_of(one)) for one in found if not one.domain]),
        ("labelled_sets", LABELLED_HEADER, [(one.judge, *labelled_row_of(one)) for one in found if one.domain]),
    )
    made = []
    for name, header, rows in parts:
        heads = [shared("judge", language), *(shared(f"passport_{head}", language) for head in header)]
        told = [[*row[:-1], translated(row[-1], language)] for row in rows]
        title, note = shared(f"{name}_head", language), shared(f"{name}_note", language)
        made += [Table(columns(*heads), told, title, note)] if told else []
    return made


def corrected(results: Results, language: str) -> list[dict[str, str]]:
    """Return each judged mean of a run beside its corrected one, as texts; the reason where there is none."""
    return [_corrected(one, language) for one in results.get("corrected", ())]


def _corrected(one: Mapping[str, Any], language: str) -> dict[str, str]:
    low, high = one["interval"]["low"], one["interval"]["high"]
    none = one["value"] is None or low is None
    came = translated(one["reason"], language) if none else ""
    told = {name: str(one[name]) for name in ("suite", "model", "metric", "judge", "language")}
    return {
        **told,
        "raw": estimated(one["raw"], one["raw_interval"]["low"], one["raw_interval"]["high"]),
        "verdicts": str(one["n_verdicts"] or one["n_samples"]),
        "exam": str(one["n_exam"] or "–"),
        "value": "–" if none else percent(one["value"]),
        "interval": came if none else f"{percent(low)} – {percent(high)}",
        "came": came
        if none
        else phrase(
            "terminal.corrected",
            language,
            value=percent(one["value"]),
            low=percent(low),
            high=percent(high),
            exam=one["n_exam"],
        ),
    }


def warnings(results: Results, language: str) -> list[tuple[str, str, str]]:
    """Return (model, suite, text) for each suite decided by judges whose errors nobody has measured.

    Of suites whose judges are not believed the outcome says so already.
    """
    found = []
    for model in results.get("final", {}).get("models", ()):
        for suite in model["suites"]:
            if not suite.get("measured", True) or suite.get("as_judged") is not None:
                continue
            rows = [
                one
                for one in results.get("corrected", ())
                if (one["suite"], one["model"]) == (suite["suite"], model["model"]) and one["reason"] == NO_PASSPORT
            ]
            if rows:
                judges = ", ".join(dict.fromkeys(one["judge"] for one in rows))
                n = max(one["n_samples"] for one in rows)
                said = phrase("common.no_passport", language, suite=suite["suite"], judges=judges, n=n)
                found.append((model["model"], suite["suite"], said))
    return found


def self_lines(results: Results, language: str) -> Iterator[str]:
    """Yield how judges grade their own models, a line each."""
    for one in results.get("self_preference", ()):
        low, high = one["interval"]["low"], one["interval"]["high"]
        if one["difference"] is None or low is None:
            came = translated(one["reason"], language)
        else:
            figures = {"difference": points(one["difference"]), "low": points(low), "high": points(high)}
            came = phrase("common.self_difference", language, n=one["n_items"], **figures)
        what = f"{one['suite']}, {one['metric']}"
        yield phrase("common.self_judged", language, what=what, judge=one["judge"], came=came)


def corrected_lines(results: Results, language: str) -> Iterator[str]:
    """Yield a line for each judged mean, for a terminal."""
    for one in corrected(results, language):
        what = f"{one['suite']}, {one['model']}, {one['metric']}"
        said = {key: one[key] for key in ("judge", "language", "raw", "verdicts", "came")}
        yield phrase("terminal.judged", language, what=what, **said)
