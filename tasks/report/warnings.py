"""Warnings to read before relying on a run's verdict: one list, in one order, for every report.

The page and the Markdown report show all. The screen and a merge request omit notes that are no warnings, and
those that need a run's tables.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import polars as pl

from basic_control.config.budget import format_amount
from basic_control.data.commands import format_command
from basic_control.data.documents import ABSENT
from basic_control.data.filters import KIND
from basic_control.data.reading.refusals import is_refusal
from basic_control.data.records import HIDDEN_KEYS, NO_CONTEXTS, ONLY_CALLS
from basic_control.data.truncation import THINKING_ALONE
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.failures import find_spent_budget
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.spending import Spending
from basic_control.metrics.analysis.summary import OF_SUITES, cells
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks.models.protocol import UNASKED
from basic_control.tasks.plan import Plan
from basic_control.tasks.plan_remarks import format_doubts, format_expected_remarks, format_newly_apart
from basic_control.tasks.report import passports
from basic_control.tasks.report.cascades import cascade_warnings
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.regressions import describe_question_changes, list_differences
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import join_names
from basic_control.tasks.report.titles import metric_title
from basic_control.tasks.report.words import headlines_of, money, suite_title

FEW = 10
"""Number of scored answers below which a suite's score says little."""
_RESERVE = 1.2
"""How much more than it takes on average is proposed as a budget."""
_TOKENS = 5
"""Maximum number of things after the end of replies that are named."""


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence; `kind` is how a page shows it, `topic` groups it with its like."""

    text: str
    kind: Literal["warn", "info"] = "warn"
    topic: str = field(default="", compare=False)


def group_notes(notes: Iterable[Note]) -> list[list[Note]]:
    """Return notes by their topic, the warnings first; a note without one stands by itself."""
    by_topic: dict[str, list[Note]] = {}
    for note in notes:
        by_topic.setdefault(note.topic or note.text, []).append(note)
    return sorted(by_topic.values(), key=lambda topic: topic[0].kind != "warn")


def notes(
    results: Results, verdict: RunVerdict, plan: Plan | None = None, data: ReportData | None = None
) -> list[Note]:
    """Return the run's notes, most important first, without duplicates.

    With its `plan` also those that say what to set, with `data` those from its tables.
    """
    headlines, run = headlines_of(verdict.models), str(results.run.get("run", ""))
    # The order is that of the reports: what invalidates a verdict before what qualifies it.
    run_notes = [*_against(results.baseline), *_of_run(results, verdict)]
    if plan:
        run_notes += [*_of_truncation(headlines, plan, run), *_of_templates(headlines, plan)]
    run_notes += [*_of_packages(headlines), *_of_silence(headlines)]
    if plan:
        run_notes += _of_budget(results, verdict, plan)
    for warning in passports.warnings(headlines, results.judged, run):
        run_notes.append(Note(warning.text, topic="judges"))
    run_notes += [Note(text, topic="cascades") for text in cascade_warnings(results.judged.cascades)]
    run_notes += [*_of_tables(data), *_prices(results.spending), *_of_small_counts(headlines)]
    if plan:
        run_notes += _of_rows(results, plan)
    return list({note.text: note for note in run_notes}.values())


def _of_rows(results: Results, plan: Plan) -> Iterator[Note]:
    """Yield what is said of rows before they are asked."""
    for line in format_doubts(plan):
        yield Note(line, topic="rows")
    for line in (*format_expected_remarks(plan), *format_newly_apart(plan, results.run)):
        yield Note(line, "info", topic="rows")


def _against(baseline: BaselineComparison | None) -> Iterator[Note]:
    """Yield changes from the baseline."""
    if baseline:
        for line in list_differences(baseline):
            yield Note(line, topic="baseline")
        for change in baseline.headlines:
            for line in describe_question_changes(change.moved):
                yield Note(line, topic="moved")


def _of_run(results: Results, verdict: RunVerdict) -> Iterator[Note]:
    """Yield which servers did not answer, that nothing decides the run, and what its data repeat."""
    for sentence in results.run.get(ABSENT, ()):
        yield Note(str(sentence), topic="absent")
    if verdict.gate != "off" and not verdict.changes and {model.verdict for model in verdict.models} == {"none"}:
        yield Note(say("common.nothing_decides"))
    for suite in results.doubled:
        yield Note(
            say("common.doubled", suite=suite_title(suite.suite), k=suite.n_repeating, n=suite.n_rows),
            topic="doubled",
        )
    if results.few_templates:
        yield Note(say("common.few_templates", suite=", ".join(map(suite_title, results.few_templates))))


def _of_templates(headlines: Iterable[Headline], plan: Plan) -> Iterator[Note]:
    """Yield which suites could have stopped early and did not, as their questions share few templates."""
    stopping = {suite.name: suite.suite for suite in plan.suites if suite.suite.stop}
    for headline in headlines:
        is_followed = headline.measured.stopping or not headline.measured.n_scored
        if headline.suite in stopping and not is_followed and headline.measured.gate_on == "mean":
            key = "common.total_not_stopping" if stopping[headline.suite].strata else "common.not_stopping"
            yield Note(say(key, suite=suite_title(headline.suite)), topic="not_stopping")


def _of_truncation(headlines: Iterable[Headline], plan: Plan, run: str) -> Iterator[Note]:
    """Yield how many replies were truncated, and how to ask them again."""
    models = {target.name: target.model for suite in plan.suites for target in suite.targets}
    # Several headlines of a suite count the same truncated replies.
    by_cell = Counter[tuple[str, str]]()
    for headline in headlines:
        model = models.get(headline.model)
        if model and model.provider != "replay":  # recorded replies stay as they were cut
            cell = headline.suite, headline.model
            by_cell[cell] = max(by_cell[cell], headline.missing.n_truncated)
    if by_cell.total():
        names = list(plan.model_names)
        limits: dict[str, None] = {}
        cut_models: dict[str, None] = {}
        for (suite, target), n in by_cell.items():
            # A suite's own limit goes before its models'.
            owner = f"models.{names.index(models[target].name)}"
            if plan.find_suite(suite).suite.max_tokens is not None:
                owner = suite
            if n:
                limits[f"--set {owner}.max_tokens=N"] = None
                cut_models[models[target].name] = None
        command = format_command(f"run --run {run} --only-truncated {' '.join(limits)}")
        yield Note(say("screen.cut", n=by_cell.total(), models=join_names([*cut_models]), command=command))


def _of_packages(headlines: Iterable[Headline]) -> Iterator[Note]:
    """Yield how many of a model's programs could not run, and what they need."""
    for headline in headlines:
        lacking = [cause for cause in headline.missing.failures if cause.status == "unsupported"]
        if lacking:
            causes = ", ".join(f"{cause.n} × {say_reason(cause.cause)}" for cause in lacking)
            yield Note(say("screen.packages", model=headline.model, causes=causes), topic="packages")


def _of_silence(headlines: Iterable[Headline]) -> Iterator[Note]:
    """Yield how many of a model's replies a filter stopped, are thinking alone, call tools only, lack contexts."""
    kinds = (
        ("filtered", "filtered", ""),
        ("no_answer", "thinking_alone", THINKING_ALONE),
        ("no_answer", "only_calls", ONLY_CALLS),
        ("not_applicable", "no_contexts", NO_CONTEXTS),
        ("scored", "no_contexts_zero", NO_CONTEXTS),
    )
    for status, phrase, reason in kinds:
        counts: dict[str, dict[str, int]] = {}
        metrics: dict[str, dict[str, None]] = {}
        for headline in headlines:
            causes = headline.missing.failures
            n_replies = sum(cause.n for cause in causes if cause.status == status and reason in ("", cause.cause))
            by_suite = counts.setdefault(headline.model, {})
            # Several scores of one suite lack the same replies.
            by_suite[headline.suite] = max(n_replies, by_suite.get(headline.suite, 0))
            if n_replies:
                metrics.setdefault(headline.model, {})[headline.metric] = None
        totals = {model: sum(by_suite.values()) for model, by_suite in counts.items()}
        for model, n in totals.items():
            if n:
                names = join_names([*metrics[model]])
                yield Note(say(f"screen.{phrase}", model=model, n=n, metrics=names), topic=phrase)


def _of_budget(results: Results, verdict: RunVerdict, plan: Plan) -> Iterator[Note]:
    """Yield what it takes to go on with a run whose budget is spent."""
    headlines = headlines_of(verdict.models)
    failures = chain.from_iterable(headline.missing.failures for headline in headlines)
    budget = find_spent_budget(failures)
    spending = results.spending
    if not (budget and plan.pricing.budget and spending):
        return
    n_calls = sum(spent.fresh for spent in spending.models) - verdict.waiting
    needed = {}
    # A continued run has the same time again.
    if plan.pricing.budget.calls is not None:
        needed["calls"] = str(verdict.waiting)
    if plan.pricing.budget.usd is not None and spending.cost_now and n_calls > 0:
        # As much as the calls so far cost on average.
        cost = verdict.waiting * spending.cost_now / n_calls
        needed["usd"] = format_amount(float(f"{cost * _RESERVE:.2g}"))
        yield Note(say("screen.budget_left", n=verdict.waiting, more=money(cost, plan.pricing.currency)))
    words = [f"run --resume {results.run.get('run', '')}"]
    words += [f"--set budget.{name}={amount}" for name, amount in needed.items()]
    command = format_command(" ".join(words))
    yield Note(say("screen.budget", command=command))


def _of_tables(data: ReportData | None) -> Iterator[Note]:
    """Yield what the run's tables show, where they are read."""
    if data:
        yield from _of_replies(data.replies)
        yield from _of_judges(data.summary)


def _of_replies(replies: pl.DataFrame) -> Iterator[Note]:
    """Yield for each model the number of failed calls and of cleaned replies."""
    for (model,), rows in replies.group_by("model", maintain_order=True):
        counts = {"model": model, "n": rows.height}
        # Requests waiting in a batch have not failed: the verdict says how many wait.
        # What a content filter refused is counted by itself.
        failed = rows.filter(
            pl.col("error").is_not_null(), ~pl.col("error_kind").fill_null("").is_in([*UNASKED, KIND])
        )
        if failed.height:
            kinds = map(say_reason, failed["error_kind"].drop_nulls().unique().sort())
            yield Note(
                say("page.note_errors", **counts, k=failed.height, kinds=", ".join(kinds) or "–"), topic="errors"
            )
        leaked = rows["stop_tokens"].drop_nulls().to_list()
        if leaked:
            # A token, or the label of a new question: what follows it would only repeat the reply.
            beginnings = dict.fromkeys(text.split()[0] for text in leaked)
            tokens = ", ".join([*beginnings][:_TOKENS])
            yield Note(
                say("page.note_stop_tokens", **counts, k=len(leaked), tokens=tokens), "info", topic="stop_tokens"
            )
        declined = sum(map(is_refusal, rows["text"].drop_nulls().to_list()))
        if declined:
            yield Note(say("page.note_refusals", **counts, k=declined), "info", topic="refusals")
        has_key = pl.col("extra").fill_null("").str.contains(f'"{HIDDEN_KEYS}"', literal=True)
        hidden = rows.filter(has_key).height
        if hidden:
            yield Note(say("page.note_keys", **counts, k=hidden), topic="keys")


def _of_judges(summary: pl.DataFrame) -> Iterator[Note]:
    """Yield the failures of judges."""
    whole_metrics = ~pl.col("metric").str.contains(".", literal=True)
    for cell in cells(summary.filter(OF_SUITES & whole_metrics & (pl.col("n_judge_failed") > 0))):
        counts = {"k": cell.counts.n_judge_failed, "n": cell.counts.n_asked}
        text = say("page.note_judges", model=cell.model, metric=metric_title(cell.metric), **counts)
        yield Note(text, topic="judges_failed")


def _prices(spending: Spending | None) -> Iterator[Note]:
    if spending and spending.unpriced and spending.cost is not None:
        yield Note(say("common.unpriced", names=", ".join(spending.unpriced)))
    if spending and spending.unmeasured:
        yield Note(say("common.tokens_unknown", names=", ".join(spending.unmeasured)))
    if spending and spending.stale_days:
        yield Note(say("common.prices_stale", days=spending.stale_days))


def _of_small_counts(headlines: Iterable[Headline]) -> Iterator[Note]:
    """Yield the suites of which few answers are scored."""
    few: dict[str, list[str]] = {}
    for headline in headlines:
        if 0 < headline.measured.n_scored < FEW:
            few.setdefault(headline.suite, []).append(f"{headline.model} {headline.measured.n_scored}")
    for suite, models in few.items():
        yield Note(
            say("page.note_few", name=suite_title(suite), models=", ".join(dict.fromkeys(models))),
            "info",
            topic="few",
        )
