"""Words of reports: phrases, why a suite or a model has its outcome, what calls cost."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from metrics.analysis.failures import FailureCount, lost
from prompts import phrases
from prompts.phrases import phrase, translated
from tasks.report.text import grouped, listed, percent


def say(name: str, language: str, /, **values: object) -> str:
    """Return a phrase of the HTML report, or one that all reports share."""
    section = "page" if f"page.{name}" in phrases.catalogue(phrases.ENGLISH).phrases else "common"
    return phrase(f"{section}.{name}", language, **values)


def shared(name: str, language: str, /, **values: object) -> str:
    """Return a phrase that all reports share."""
    return phrase(f"common.{name}", language, **values)


def best_first(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the models of a run with their verdicts, the best score first."""
    return sorted(results["final"]["models"], key=lambda one: 1.0 if one["score"] is None else -one["score"])


def suites_in(found: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return each suite of each model, with the model's name; `found` is a run's verdict, or its baseline's."""
    return [(model["model"], suite) for model in found["models"] for suite in model["suites"]]


def spending_of(results: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a run used and spent; {} if that is not known."""
    return results["run"].get("spending") or {}


def unmeasured(results: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the (model, suite) pairs whose judges are not reliable."""
    return {(model, one["suite"]) for model, one in suites_in(results["final"]) if not one["measured"]}


def bound(part: Mapping[str, Any], language: str) -> str:
    """Return the bounds of a score given missing or truncated replies; '' if there are none."""
    lower, upper, limit = part.get("lower"), part.get("upper"), part.get("threshold")
    if lower is not None:
        high = part["score"] if upper is None else upper
        return phrase("common.bounds", language, lower=percent(lower, limit), upper=percent(high, limit))
    return "" if upper is None else phrase("common.bound", language, upper=percent(upper, limit))


def has_overall(model: Mapping[str, Any]) -> bool:
    """Return whether a model has an overall score: several of its suites have a weight."""
    return sum(bool(suite["weight"]) for suite in model["suites"]) > 1


def parts(model: Mapping[str, Any], language: str) -> list[Mapping[str, Any]]:
    """Return a model's suites, and its overall score if it has one, as another suite."""
    whole = [{**model, "suite": shared("overall", language)}] if has_overall(model) else []
    return [*model["suites"], *whole]


def asked(requests: Mapping[str, int], language: str) -> str:
    """Return the outcomes of a run's requests, and how many replies were given without a call."""
    n, given = requests["asked"], requests.get("given", 0)
    said = [phrase("common.given" if n else "common.only_given", language, n=given)] if given else []
    if n and requests["cached"] == n:
        said.append(phrase("common.no_call", language, n=n))
    elif n or not given:
        said.append(phrase("common.calls", language, **requests))
    return " ".join(said)


def measure(part: Mapping[str, Any]) -> str:
    """Return the measure a suite is gated on if it is not a mean: pass@3, pass^3; '' otherwise."""
    sign = {"pass_at_k": "@", "pass_all_k": "^"}.get(part.get("gate_on", "mean"))
    return f"pass{sign}{part['k']}" if sign else ""


def scored(part: Mapping[str, Any], language: str) -> str:
    """Format a suite's or a model's score, with its measure if it is not a mean, and its bounds.

    If none of its judges counts, it says so.
    """
    if not part.get("measured", True):
        return phrase("common.unmeasured", language)
    score = percent(part["score"], part.get("threshold"))
    if part.get("as_judged") is not None:
        raw = percent(part["as_judged"])
        return phrase("common.labelled", language, score=score, n=part["n_labels"], judged=raw)
    named = measure(part)
    mean = shared("mean_beside", language, mean=percent(part["mean"])) if named else ""
    return " ".join(filter(None, (named, score, mean, bound(part, language))))


def why(part: Mapping[str, Any], language: str) -> str:
    """Return why a suite or a model has its outcome: the reason, or how many answers would decide it.

    Failures are given with their commonest cause, whatever the outcome.
    """
    said = translated(part["reason"], language)
    if not said and part["outcome"] == "undecided" and part["n_deciding"]:
        said = phrase(f"common.deciding{'_questions' if measure(part) else ''}", language, n=part["n_deciding"])
    elif not said and part["outcome"] == "undecided" and part["interval"]["low"] is not None:
        said = phrase("common.too_close", language)
    failed = lost(FailureCount(**one) for one in part.get("failures", ()))
    return said if failed in part["reason"] else "; ".join(filter(None, (said, translated(failed, language))))


def lacking(lost: int, cut: int, language: str) -> str:
    """Return what a result depends on: the numbers of replies without a score, and of truncated ones."""
    counts = {"lost": lost, "cut": cut}
    return listed([shared(name, language, n=n) for name, n in counts.items() if n], language)


def remarks(pair: Mapping[str, Any], language: str) -> list[str]:
    """Return the qualifications of a comparison: its conditions, and what so few questions cannot show."""
    said = []
    if pair["hangs"]:
        said.append(phrase("compare.hangs", language, what=lacking(pair["n_lost"], pair["n_cut"], language)))
    elif not pair["reachable"]:
        said.append(phrase("compare.too_few", language))
    if pair["interval"]["fixed_templates"]:
        said.append(phrase("compare.fixed_templates", language))
    if pair["n_alike"]:
        said.append(phrase("compare.alike", language, n=pair["n_alike"]))
    return said


def money(value: float | None, currency: str, language: str) -> str:
    """Format a sum of money with enough significant decimals; without a price it says so."""
    if value is None:
        return shared("no_price", language)
    exponent = math.floor(math.log10(value)) if value > 0 else 0
    amount = grouped(value, 2 if exponent >= 0 else max(4, 1 - exponent))  # a small cost must not look free
    return f"{amount} {currency}" if currency else amount


def cost_lines(results: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield a run's cost and the prices used; nothing if nothing is priced."""
    found = spending_of(results)
    if found.get("cost") is None:
        return
    now, whole = (money(found[name], found["currency"], language) for name in ("cost_now", "cost"))
    yield shared("cost_line", language, now=now, all=whole)
    if found["prices"]:
        yield shared("prices_of", language, file=found["prices"], date=found["date"])
    else:
        yield shared("prices_own", language)
