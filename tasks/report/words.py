"""What reports say of a headline and of a pair of models: the score, why it has its outcome, what calls cost."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from basic_control.config.declared import load_declarations as registered_suites
from basic_control.data.suites import ALL
from basic_control.metrics.analysis.failures import lost
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.tasks.report.language import say, say_declared, say_reason
from basic_control.tasks.report.text import format_number, join_names, percent

if TYPE_CHECKING:
    from basic_control.metrics.analysis.pairs import Comparison
    from basic_control.metrics.analysis.spending import Spending


def sort_by_score(models: Iterable[ModelResult]) -> list[ModelResult]:
    """Return models, the best score first; those without a score last."""
    return sorted(models, key=_rank)


def _rank(model: ModelResult) -> float:
    score = (model.overall if model.headlines_with_weight else model.score).measured.score.mean
    return 1.0 if score is None else -score


def headlines_of(models: Iterable[ModelResult]) -> list[Headline]:
    """Return the headlines of all models."""
    return [headline for model in models for headline in model.headlines]


def score_name(headline: Headline) -> str:
    """Return the title of a headline's suite, with its metric if one of several, or of the overall score."""
    if not headline.suite:
        return say("common.overall")
    title = suite_title(headline.suite)
    return f"{title}, {metric_name(headline)}" if is_named(headline) else title


def score_id(headline: Headline) -> str:
    """Return the name that files have for a headline: `score_name` with the suite's own name."""
    if not headline.suite:
        return say("common.overall")
    return f"{headline.suite}, {metric_name(headline)}" if is_named(headline) else headline.suite


def suite_title(name: str) -> str:
    """Return the title of a suite that ships or comes with a plug-in; of any other its name."""
    declaration = registered_suites().get(name)
    title = declaration.values.get("title") if declaration else None
    return say_declared(title, name, name) if isinstance(title, Mapping) else name


def is_named(headline: Headline) -> bool:
    """Return whether a headline is named by its metric: one of several, or the share of rows that hold."""
    return not headline.is_only or headline.metric == ALL


def metric_name(headline: Headline) -> str:
    """Return the name of a headline's metric; of a mean of several, what it is."""
    return headline.metric or say("compare.score")


def bounds(headline: Headline) -> str:
    """Return the bounds of a score given missing or truncated replies; '' if there are none."""
    lower, upper, threshold = headline.missing.lower.mean, headline.missing.upper.mean, headline.decided.threshold
    if lower is not None:
        high = percent(headline.at("upper").mean, threshold)
        return say("common.bounds", lower=percent(lower, threshold), upper=high)
    if upper is None:
        return ""
    needs_packages = any(cause.status == "unsupported" for cause in headline.missing.failures)
    name = "common.bound_packages" if needs_packages and not headline.missing.n_truncated else "common.bound"
    return say(name, upper=percent(upper, threshold))


def describe_calls(requests: Mapping[str, int]) -> str:
    """Return the outcomes of a run's requests, and how many replies were given without a call."""
    n, given = requests["asked"], requests.get("given", 0)
    parts = [say("common.given" if n else "common.only_given", n=given)] if given else []
    if n and requests["cached"] == n:
        parts.append(say("common.no_call", n=n))
    elif n or not given:
        parts.append(say("common.calls", **requests))
    return " ".join(parts)


def measure(headline: Headline) -> str:
    """Return the measure a suite is gated on if it is not a mean: pass@3, pass^3; '' otherwise."""
    sign = {"pass_at_k": "@", "pass_all_k": "^"}.get(headline.measured.gate_on)
    return f"pass{sign}{headline.measured.k}" if sign else ""


def format_score(headline: Headline) -> str:
    """Format a score, with its measure if it is not a mean, and its bounds.

    If none of its judges counts, it says so.
    """
    if not headline.missing.is_measured:
        return say("common.unmeasured")
    if headline.measured.as_judged is not None:
        return format_labelled_score(headline)
    name = measure(headline)
    mean = say("common.mean_beside", mean=percent(headline.measured.mean.mean)) if name else ""
    score = percent(headline.measured.score.mean, headline.decided.threshold)
    return " ".join(filter(None, (name, score, mean, bounds(headline))))


def format_labelled_score(headline: Headline) -> str:
    """Format a score that human labels correct, beside that of the judges."""
    measured = headline.measured
    score = percent(measured.score.mean, headline.decided.threshold)
    return say("common.labelled", score=score, n=measured.n_labels, judged=percent(measured.as_judged))


def explain_outcome(headline: Headline) -> str:
    """Return why a headline has its outcome: the reason, or how many answers would decide it.

    Failures are given with their commonest cause, whatever the outcome.
    """
    decided = headline.decided
    reason = say_reason(decided.reason)
    if not reason and decided.outcome == "undecided":
        if decided.n_deciding:
            phrase = "common.deciding_questions" if measure(headline) else "common.deciding"
            reason = say(phrase, n=decided.n_deciding)
        elif headline.measured.score.interval.low is not None:
            reason = say("common.too_close")
    failed = lost(headline.missing.failures)
    return reason if failed in decided.reason else "; ".join(filter(None, (reason, say_reason(failed))))


def describe_missing(n_lost: int, n_cut: int) -> str:
    """Return what a result depends on: the numbers of replies without a score, and of truncated ones."""
    counts = {"common.lost": n_lost, "common.cut": n_cut}
    return join_names([say(name, n=n) for name, n in counts.items() if n])


def remarks(pair: "Comparison") -> list[str]:
    """Return the qualifications of a comparison: its conditions, and what so few questions cannot show."""
    found = []
    if pair.missing.hangs:
        found.append(say("compare.hangs", what=describe_missing(pair.missing.n_lost, pair.missing.n_cut)))
    elif not pair.test.reachable:
        found.append(say("compare.too_few"))
    if pair.test.interval.fixed_templates:
        found.append(say("compare.fixed_templates"))
    if pair.missing.n_alike:
        found.append(say("compare.alike", n=pair.missing.n_alike))
    return found


def describe_count(pair: "Comparison") -> str:
    """Return how many questions were compared, and how many independent ones these are."""
    is_clustered = pair.n_units < pair.n
    return say("compare.n_independent" if is_clustered else "compare.n_questions", n=pair.n, units=pair.n_units)


def money(value: float | None, currency: str) -> str:
    """Format a sum of money with enough significant decimals; without a price it says so."""
    if value is None:
        return say("common.no_price")
    exponent = math.floor(math.log10(value)) if value > 0 else 0
    amount = format_number(value, 2 if exponent >= 0 else max(4, 1 - exponent))  # a small cost must not look free
    return f"{amount} {currency}" if currency else amount


def cost_lines(spending: "Spending | None") -> Iterator[str]:
    """Yield a run's cost and the prices used; nothing if nothing is priced."""
    if spending is None or spending.cost is None:
        return
    now, whole = money(spending.cost_now, spending.currency), money(spending.cost, spending.currency)
    yield say("common.cost_line", now=now, all=whole)
    if spending.prices:
        yield say("common.prices_of", file=spending.prices, date=spending.date)
    else:
        yield say("common.prices_own")
