"""What reports say of a headline and of a pair of models: the score, why it has its outcome, what calls cost."""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from basic_control.config.declared import load_declarations as registered_suites
from basic_control.data.suites import ALL
from basic_control.metrics.analysis.failures import describe_lost
from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.policy import reaches
from basic_control.tasks.report.language import say, say_declared, say_reason
from basic_control.tasks.report.text import format_number, join_names, percent

if TYPE_CHECKING:
    from basic_control.metrics.analysis.pairs import Comparison
    from basic_control.metrics.analysis.spending import Spending


def sort_by_score(models: Iterable[ModelResult]) -> list[ModelResult]:
    """Return models, the best score first; those without a score last."""
    return sorted(models, key=_rank)


def _rank(model: ModelResult) -> float:
    headline = model.overall if model.headlines_with_weight else model.score
    score = headline.measured.score.mean
    if score is None:
        return 1.0  # after every score, which are in 0…1 and negated
    return -score


def headlines_of(models: Iterable[ModelResult]) -> list[Headline]:
    """Return the headlines of all models."""
    return [*chain.from_iterable(model.headlines for model in models)]


def score_name(headline: Headline) -> str:
    """Return the title of a headline's suite, with its metric if one of several, or of the overall score."""
    if not headline.suite:
        return say("common.overall")
    title = suite_title(headline.suite)
    if not is_named(headline):
        return title
    return f"{title}, {name_metric(headline.metric)}"


def score_id(headline: Headline) -> str:
    """Return the name that files have for a headline: `score_name` with the suite's own name."""
    if not headline.suite:
        return say("common.overall")
    if not is_named(headline):
        return headline.suite
    return f"{headline.suite}, {headline.metric or say('compare.score')}"


def score_title(headline: Headline, *, is_single: bool) -> str:
    """Return a score's name on a screen: its metric's alone where the run has a single suite; with its measure."""
    name = score_name(headline)
    if not headline.suite:
        name = say("screen.overall")
    elif is_single and is_named(headline):
        name = name_metric(headline.metric)
    return " ".join(filter(None, (name, measure(headline))))


def suite_title(name: str) -> str:
    """Return the title of a suite that ships or comes with a plug-in; of any other its name."""
    declaration = registered_suites().get(name)
    if declaration is None:
        return name
    title = declaration.values.get("title")
    if not isinstance(title, Mapping):
        return name
    return say_declared(title, name, name)


def is_named(headline: Headline) -> bool:
    """Return whether a headline is named by its metric: one of several, or the share of rows that hold."""
    return not headline.is_only or headline.metric == ALL


def name_metric(name: str) -> str:
    """Return a metric's name for people: also of the share of rows that every metric finds right, and of a mean."""
    if name == ALL:
        return say("screen.all")
    return name or say("compare.score")


def bounds(headline: Headline) -> str:
    """Return the bounds of a score given missing or truncated replies; '' if there are none."""
    lower, upper, threshold = headline.missing.lower.mean, headline.missing.upper.mean, headline.decided.threshold
    if lower is not None:
        high = percent(headline.at("upper").mean, threshold)
        return say("common.bounds", lower=percent(lower, threshold), upper=high)
    if upper is None:
        return ""
    # Without a lower bound only the best case is known: packages that programs need, or truncated replies.
    phrase = "common.bound"
    needs_packages = any(cause.status == "unsupported" for cause in headline.missing.failures)
    if needs_packages and not headline.missing.n_truncated:
        phrase = "common.bound_packages"
    return say(phrase, upper=percent(upper, threshold))


def describe_calls(requests: Mapping[str, int]) -> str:
    """Return the outcomes of a run's requests, and how many replies were given without a call."""
    n_asked, n_given, n_open = requests["asked"], requests.get("given", 0), requests.get("submitted", 0)
    parts = []
    if n_given:
        phrase = "common.given" if n_asked else "common.only_given"
        parts.append(say(phrase, n=n_given))
    if n_asked and requests["cached"] == n_asked:
        parts.append(say("common.no_call", n=n_asked))
    elif n_asked and not requests["cached"] and not n_open:
        parts.append(say("common.new_calls", **requests))
    elif n_asked or not n_given:
        parts.append(say("common.calls", **requests))
    if n_open:
        parts.append(say("common.open_calls", **requests))
    return " ".join(parts)


def measure(headline: Headline) -> str:
    """Return the measure a suite is gated on if it is not a mean: pass@3, pass^3; '' otherwise."""
    sign = {"pass_at_k": "@", "pass_all_k": "^"}.get(headline.measured.gate_on)
    if sign is None:
        return ""
    return f"pass{sign}{headline.measured.k}"


def format_score(headline: Headline) -> str:
    """Format a score, with its measure if it is not a mean, and its bounds.

    If none of its judges counts, it says so.
    """
    if not headline.missing.is_measured:
        return say("common.unmeasured")
    if headline.measured.as_judged is not None:
        return format_labelled_score(headline)
    name, mean = measure(headline), ""
    if name:
        mean = say("common.mean_beside", mean=percent(headline.measured.mean.mean))
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
            # Measures of several attempts, pass@k, count questions; a mean counts answers.
            phrase = "common.deciding_questions" if measure(headline) else "common.deciding"
            reason = say(phrase, n=decided.n_deciding)
        elif headline.measured.score.interval.low is not None:
            reason = say("common.too_close")
    if not reason:
        reason = describe_strictness(headline)
    failed = describe_lost(headline.missing.failures)
    if failed in decided.reason:
        return reason
    return "; ".join(filter(None, (reason, say_reason(failed))))


def describe_strictness(headline: Headline) -> str:
    """Return that a threshold of 100 % lets no row fail, and how many did; '' of other thresholds and outcomes."""
    measured = headline.measured
    is_strict = headline.decided.threshold is not None and reaches(headline.decided.threshold, 1.0)
    # Corrected by people's labels, a score is no share of the rows.
    if not is_strict or headline.decided.outcome != "fail" or measured.n_labels or not measured.n_scored:
        return ""
    # Of several attempts at a question those that are right say nothing of how many questions pass.
    if measure(headline):
        return say("common.every_question")
    return say("common.every_row", k=measured.n_scored - measured.n_right, n=measured.n_scored)


def is_within_luck(headline: Headline) -> bool:
    """Return whether a score passes or fails although its interval has both sides of the threshold."""
    interval, threshold = headline.measured.score.interval, headline.decided.threshold
    if threshold is None or interval.low is None or interval.high is None:
        return False
    return headline.decided.outcome in {"pass", "fail"} and interval.low < threshold <= interval.high


def describe_missing(n_lost: int, n_cut: int) -> str:
    """Return what a result depends on: the numbers of replies without a score, and of truncated ones.

    With neither, what other scores lack changes its level.
    """
    counts = {"common.lost": n_lost, "common.cut": n_cut}
    if not any(counts.values()):
        return say("common.lost_elsewhere")
    return join_names([say(phrase, n=n) for phrase, n in counts.items() if n])


def remarks(pair: "Comparison") -> list[str]:
    """Return the qualifications of a comparison: its conditions, and what so few questions cannot show."""
    sentences = []
    if pair.missing.hangs:
        sentences.append(say("compare.hangs", what=describe_missing(pair.missing.n_lost, pair.missing.n_cut)))
    elif not pair.test.reachable:
        sentences.append(say("compare.too_few"))
    if pair.test.interval.fixed_templates:
        sentences.append(say("compare.fixed_templates"))
    if pair.missing.n_alike:
        sentences.append(say("compare.alike", n=pair.missing.n_alike))
    return sentences


def describe_count(pair: "Comparison") -> str:
    """Return how many questions were compared, and how many independent ones these are."""
    if pair.n_units < pair.n:
        return say("compare.n_independent", n=pair.n, units=pair.n_units)
    return say("compare.n_questions", n=pair.n)


def money(value: float | None, currency: str) -> str:
    """Format a sum of money with enough significant decimals; without a price it says so."""
    if value is None:
        return say("common.no_price")
    places = 2
    if 0 < value < 1:
        # Two significant digits: a small cost must not look free.
        exponent = math.floor(math.log10(value))
        places = max(4, 1 - exponent)
    amount = format_number(value, places)
    if not currency:
        return amount
    return f"{amount} {currency}"


def cost_lines(spending: "Spending | None") -> Iterator[str]:
    """Yield a run's cost and the prices used; nothing if nothing is priced."""
    if spending is None or spending.cost is None:
        return
    cost_now, total = money(spending.cost_now, spending.currency), money(spending.cost, spending.currency)
    yield say("common.cost_line", now=cost_now, all=total)
    if spending.prices:
        yield say("common.prices_of", file=spending.prices, date=spending.date)
    else:
        yield say("common.prices_own")
