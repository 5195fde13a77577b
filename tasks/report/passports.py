"""Judges for people: their passports, what they did to a run's scores, and what is to be said of them."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from basic_control.data.commands import format_command
from basic_control.data.labelled_sets import SETS
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.judged import CorrectedMean, JudgeStatus
from basic_control.metrics.analysis.passports import Passport
from basic_control.metrics.analysis.results import JudgeFindings
from basic_control.metrics.stats.agreement import JudgeFailures
from basic_control.metrics.stats.calibration import HARDLY_READ, NOT_SHOWN, UNTESTED
from basic_control.metrics.stats.intervals import Interval
from basic_control.metrics.stats.reliability import ReliabilityBin
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import (
    around,
    format_estimate,
    join_bounds,
    join_names,
    localize_digits,
    percent,
    share,
    shorten_name,
)
from basic_control.tasks.report.words import format_labelled_score, score_name, suite_title

SPLIT = "split"
"""The step whose rates are of facts and claims, not of verdicts."""
_INCONCLUSIVE = (NOT_SHOWN, UNTESTED, HARDLY_READ)
"""Findings of an exam that a longer one may change."""


def _format_reliability(name: str, passport: Passport) -> str:
    """Return how far a judge's probabilities can be believed by one measure, with its interval."""
    measured = passport.reliability
    if measured is None:
        return "–"
    interval: Interval = getattr(measured, f"{name}_interval")
    return _format_rate(getattr(measured, name), interval)


def _format_rate(value: float, interval: Interval) -> str:
    """Return a number from −1 to 1 with its interval: `0.25 (0.11–0.39)`."""
    rate, low, high = map(_format_decimal, (value, interval.low, interval.high))
    return f"{rate} ({join_bounds(low, high)})"


def _format_decimal(number: float | None) -> str:
    return localize_digits(f"{number or 0.0:.2f}".replace("-", "−"))


def _columns(*, is_labelled: bool, has_probabilities: bool) -> list[Column]:
    """Return the columns of a passport; human-labelled sets correct nothing: they have other texts."""
    column = column_maker("common", "passport_")

    def kappa(passport: Passport) -> str:
        if passport.kappa is None:
            return "–"
        return _format_rate(passport.kappa, passport.kappa_interval)

    columns = [
        column("step", attrgetter("exam")),
        column("language", attrgetter("language")),
        column("right", lambda passport: share(passport.right)),
        column("sensitivity", lambda passport: share(passport.sensitivity), unbroken=True),
        column("specificity", lambda passport: share(passport.specificity), unbroken=True),
        column("kappa", kappa),
        column("unreadable", lambda passport: share(passport.failed)),
        column("changed", lambda passport: share(passport.repeated)),
    ]
    # Only judges that give probabilities have measures of them.
    if has_probabilities:
        columns += [
            column("brier", partial(_format_reliability, "brier")),
            column("calibration", partial(_format_reliability, "error")),
        ]
    if is_labelled:
        data = column("data", lambda passport: f"{passport.domain}: {say_reason(SETS[passport.domain].domain)}")
        return [data, *columns]
    return [*columns, column("verdict", lambda passport: say_reason(passport.exclusion or _name_use(passport)))]


def _name_use(passport: Passport) -> str:
    """Return how a judge that counts may be used."""
    if passport.is_weak:
        return "usable, but hardly better than chance"
    return "usable"


def passport_tables(passports: Iterable[Passport]) -> Iterator[Table]:
    """Yield the exam's results for its judges: on its own questions, and separately on human-labelled ones."""
    listed_passports = [*passports]
    for is_labelled, name in ((False, "passports"), (True, "labelled_sets")):
        yield Table.of(
            [passport for passport in listed_passports if bool(passport.domain) == is_labelled],
            Column(say("common.judge"), attrgetter("judge")),
            *_columns(is_labelled=is_labelled, has_probabilities=_have_probabilities(listed_passports)),
            title=say(f"common.{name}_head"),
            caption=" ".join([say(f"common.{name}_note"), *explain(listed_passports)]),
            name=name,
        )


def tables_of(judge: str, passports: Sequence[Passport]) -> Iterator[Table]:
    """Yield one judge's exam results for a terminal: on its own questions, and on human-labelled ones.

    Of the exam's own questions only what decides, and what went wrong: reports have every measure.
    """
    for is_labelled, name in ((False, "passport"), (True, "labelled")):
        rows = [passport for passport in passports if bool(passport.domain) == is_labelled]
        if rows:
            columns = _columns(is_labelled=is_labelled, has_probabilities=_have_probabilities(rows))
            # People's labels have no verdict, and so room for every measure.
            if not is_labelled:
                titles = _list_measures(rows)
                columns = [column for column in columns if column.name in titles]
            title, caption = say(f"exam.{name}", judge=judge), " ".join(explain(rows))
            yield Table.of(rows, *columns, title=title, caption=caption)


def _list_measures(passports: Sequence[Passport]) -> list[str]:
    """Return the titles of the columns of a passport that a terminal has room for."""
    names = ["step", "language", "sensitivity", "specificity", "verdict"]
    if any(passport.failed.k for passport in passports):
        names.append("unreadable")
    if any(passport.repeated.k for passport in passports):
        names.append("changed")
    return [say(f"common.passport_{name}") for name in names]


def _have_probabilities(passports: Iterable[Passport]) -> bool:
    return any(passport.probabilities for passport in passports)


def explain(passports: Iterable[Passport]) -> Iterator[str]:
    """Yield what the measures of splits and of probabilities mean, if there are any."""
    listed_passports = [*passports]
    if any(passport.exam == SPLIT for passport in listed_passports):
        yield say("common.split_note")
    if _have_probabilities(listed_passports):
        yield say("common.probabilities_note")


class ReliabilityCurve(NamedTuple):
    """One judge's curve at a step: its confidence against the share that is right."""

    title: str
    bins: Sequence[ReliabilityBin]


def reliability_curves(judged: JudgeFindings) -> list[ReliabilityCurve]:
    """Return the curves of the judges that decide, of their exams before this run and in it."""
    curves: dict[str, ReliabilityCurve] = {}
    for measured in (*judged.statuses, *judged.passports):
        if measured.reliability is not None:
            title = f"{measured.judge}: {getattr(measured, 'domain', '') or measured.exam} ({measured.language})"
            curves[title] = ReliabilityCurve(title, measured.reliability.bins)
    return [*curves.values()]


def build_corrected_table(means: Sequence[CorrectedMean]) -> Table:
    """Return each judged mean of a run with its corrected value, or the reason why there is none."""
    column = column_maker("common")

    def is_corrected(mean: CorrectedMean) -> bool:
        return mean.value.mean is not None and mean.value.interval.low is not None

    def interval(mean: CorrectedMean) -> str:
        return around(mean.value.interval) if is_corrected(mean) else say_reason(mean.reason)

    def format_corrected(mean: CorrectedMean) -> str:
        return percent(mean.value.mean) if is_corrected(mean) else "–"

    return Table.of(
        means,
        column("model", attrgetter("model")),
        column("suite", attrgetter("suite")),
        column("metric", attrgetter("metric")),
        column("judge", lambda mean: f"{mean.judge} ({mean.language})"),
        column("interval", interval),
        column("as_judged", lambda mean: format_estimate(mean.raw), numeric=True),
        column("corrected", format_corrected, numeric=True),
        column("verdicts", lambda mean: str(mean.n_verdicts or mean.n_samples), numeric=True),
        column("exam_questions", lambda mean: str(mean.n_exam or "–"), numeric=True),
        title=say("common.judges_head"),
        caption=say("common.judges_note"),
        name="judged",
    )


class JudgeWarning(NamedTuple):
    """A warning about a judge of a model's headline."""

    model: str
    suite: str
    metric: str
    text: str


def _exam_command(run: str) -> str:
    """Return what measures the errors of a run's judges, as it is typed."""
    return format_command(f"exam --run {run}" if run else "exam FILE")


def warnings(headlines: Iterable[Headline], judged: JudgeFindings, run: str = "") -> list[JudgeWarning]:
    """Return the warnings of judges that do not count, were not examined, or grade their own model."""
    judge_warnings = []
    for headline in headlines:
        missing, names = headline.missing, {"suite": suite_title(headline.suite)}
        texts = [
            say("common.judge_left_out", **names, judge=judge, why=say_reason(reason))
            for judge, reason in missing.judges_left_out.items()
        ]
        if missing.judges_unmeasured:
            texts.append(
                say(
                    "common.no_passport",
                    **names,
                    judges=", ".join(missing.judges_unmeasured),
                    command=_exam_command(run),
                )
            )
        texts += [
            say("common.self_judged", **names, judge=judge, model=headline.model)
            for judge, models in judged.self_judged.get(headline.suite, {}).items()
            if headline.model in models
        ]
        judge_warnings += [JudgeWarning(headline.model, headline.suite, headline.metric, text) for text in texts]
    return judge_warnings


def panel(headlines: Sequence[Headline], judged: JudgeFindings, run: str = "") -> Iterator[str]:
    """Yield how much a run's judges rated, what to do where none counts, and the corrections by people's labels."""
    counts_by_judge: dict[str, list[JudgeFailures]] = {}
    for agreement in judged.agreement.values():
        for failures in agreement.judges:
            counts_by_judge.setdefault(failures.judge, []).append(failures)
    # What stands against a judge is among the warnings.
    rated = []
    for judge, counts in counts_by_judge.items():
        facts = [*_describe_readability(counts), *_describe_exam(judge, judged)]
        if facts:
            rated.append(say("screen.judge_with", judge=shorten_name(judge), told=", ".join(facts)))
    if rated:
        phrase = "screen.judge_alone" if len(rated) == 1 else "screen.judges_alone"
        yield say(phrase, told=join_names(rated))
    yield from _list_next_steps(headlines, run)
    # Human labels correct what judges say.
    for headline in headlines:
        if headline.measured.as_judged is not None:
            yield f"{score_name(headline)}, {shorten_name(headline.model)}: {format_labelled_score(headline)}"


def _list_next_steps(headlines: Sequence[Headline], run: str) -> Iterator[str]:
    """Yield what can be done about a score of which no judge counts, as it is typed."""
    reasons: list[str] = []
    for headline in headlines:
        if not headline.missing.is_measured:
            reasons += headline.missing.judges_left_out.values()
    if not reasons or not run:
        return
    if reasons[0].startswith(_INCONCLUSIVE):
        yield say("screen.next_exam", command=_exam_command(run))
    yield say("screen.next_labels", command=format_command(f"label {run}"))
    yield say("screen.next_judge", command=format_command(f"rejudge {run} --judge PROVIDER/NAME"))


def _describe_exam(judge: str, judged: JudgeFindings) -> Iterator[str]:
    """Yield how often a judge was right in its exam where it counts, at the worst step, and where it is weak."""
    statuses = [status for status in judged.statuses if status.judge == judge and status.counts]
    # How facts are split has no table of right and wrong.
    exams = sorted(filter(_rate, statuses), key=_rate)
    for status in exams[:1]:
        yield say("screen.exam_right", share=percent(_rate(status)))
    weak = [status for status in exams if status.is_weak]
    for status in weak[:1]:
        yield say("screen.weak", step=status.exam, language=status.language)


def _rate(status: JudgeStatus) -> float:
    """Return how often a judge was right in an exam; 0 without a question."""
    if status.right is None or status.right.share is None:
        return 0.0
    return status.right.share


def _describe_readability(counts: Sequence[JudgeFailures]) -> Iterator[str]:
    """Yield how many of a judge's replies could be read, if any was asked for, and of how many it is unsure."""
    n_asked, n_failed, n_unsure = (
        sum(map(attrgetter(name), counts)) for name in ("n_asked", "n_failed", "n_unsure")
    )
    if n_asked:
        phrase = "screen.unread" if n_failed else "screen.read"
        yield say(phrase, k=n_failed, n=n_asked)
    if n_unsure:
        yield say("screen.unsure", n=n_unsure)
