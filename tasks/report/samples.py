"""The samples of the HTML report: every question as it was sent, every reply with its scores, and how it ended."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.deciding import headlines, list_deciding
from basic_control.data.errors import InputError
from basic_control.data.messages import write_transcript
from basic_control.data.plugins import metric
from basic_control.data.questions import format_expected, format_question
from basic_control.data.records import Message
from basic_control.data.suites import Suite
from basic_control.data.tools import TOOL_CALLS
from basic_control.prompts import fill
from basic_control.tasks.models.requests import build_row_messages
from basic_control.tasks.plan import Plan, SuitePlan
from basic_control.tasks.report.language import say_reason
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.spans import mark_replies

KEY = ["item_id", "model", "repeat"]
_WORST = (
    "model_error",
    "filtered",
    "judge_failed",
    "truncated",
    "unsupported",
    "no_answer",
    "scored",
    "not_applicable",
)
_EXACT = 1e-9
OUTCOME = (
    pl.when(pl.col("status") != "scored")
    .then("status")
    .when(pl.col("value") >= 1 - _EXACT)
    .then(pl.lit("right"))
    .when(pl.col("value") <= _EXACT)
    .then(pl.lit("wrong"))
    .otherwise(pl.lit("partial"))
)
"""A score's outcome in a word: its status if it is not scored."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The page's tables: a row for each sample, and separately items, metrics and judges' replies.

    `items` have the text of each prompt but the first (`prompt [name]`), and the row's own `question`.
    """

    rows: pl.DataFrame
    items: pl.DataFrame
    scores: pl.DataFrame
    judged: pl.DataFrame


def primary(scores: pl.DataFrame, items: pl.DataFrame, suites: Iterable[Suite]) -> pl.DataFrame:
    """Return each sample's `value`, `status`, `reason` and `outcome` by the metrics of its suite's headlines.

    The value of a score that joins metrics is their mean by weight; of several headlines it is the lowest,
    whose name is `scored_by` ('' where there is one). The status is the worst; not applicable ones are left out.
    `outcomes` has of several metrics that make the headlines a line each, in the suite's order: name, tab, outcome.
    """
    parts = [
        (suite.name, metric, score.headline, share)
        for suite in suites
        for score in headlines(suite)
        for metric, share in score.shares.items()
    ]
    schema = {"suite": pl.String, "metric": pl.String, "headline": pl.String, "share": pl.Float64}
    main = pl.DataFrame(parts, schema=schema, orient="row")
    of_suites = scores.join(items.select("item_id", "suite"), on="item_id", how="left")
    deciding = of_suites.join(main, on=["suite", "metric"]).with_columns(
        rank=pl.col("status").replace_strict(list(_WORST), range(len(_WORST)), return_dtype=pl.Int64),
        value=pl.when(pl.col("status").is_in(["no_answer", "truncated", "unsupported"]))
        .then(pl.col("value").fill_null(0.0))
        .otherwise("value"),
    )
    is_applied = pl.col("status") != "not_applicable"
    value, share = pl.col("value").filter(is_applied), pl.col("share").filter(is_applied)
    ranked = _in_words(deciding).sort("rank", maintain_order=True)
    by_headline = (
        ranked.group_by([*KEY, "headline"], maintain_order=True)
        .agg(
            pl.col("rank", "status").first(),
            reason=pl.col("reason").filter(pl.col("reason") != "").first(),
            value=pl.when(value.null_count() == 0).then((value * share).sum() / share.sum()),
            is_applied=is_applied.any(),
        )
        .with_columns(outcome=OUTCOME)
    )
    # The lowest headline tells what went wrong with a reply, not one beside it.
    lowest = by_headline.sort("rank", "value", nulls_last=False, maintain_order=True)
    worst = pl.col("value").filter("is_applied")
    return (
        lowest.group_by(KEY, maintain_order=True)
        .agg(
            pl.col("status").first(),
            pl.col("reason").first(),
            value=pl.when(worst.null_count() == 0).then(worst.min()),
            scored_by=pl.when(pl.len() > 1).then(pl.col("headline").first()).otherwise(pl.lit("")),
        )
        .with_columns(outcome=OUTCOME)
        .join(_join_outcomes(of_suites, suites), on=KEY, how="left", maintain_order="left")
        .with_columns(pl.col("outcomes").fill_null(""))
    )


def _join_outcomes(scores: pl.DataFrame, suites: Iterable[Suite]) -> pl.DataFrame:
    """Return each sample's outcomes by the metrics that decide it, a line each; '' where there is one.

    Of replies that fail different metrics a joint score alone would say that they are alike.
    """
    deciding: list[tuple[str, str]] = []
    for suite in suites:
        deciding += [(suite.name, name) for name in list_deciding(suite)]
    schema = {"suite": pl.String, "metric": pl.String}
    order = pl.DataFrame(deciding, schema=schema, orient="row").with_row_index("order")
    of_metrics = scores.join(order, on=["suite", "metric"]).with_columns(outcome=OUTCOME)
    lines = pl.format("{}\t{}", "metric", "outcome").sort_by("order").str.join("\n")
    return of_metrics.group_by(KEY).agg(outcomes=pl.when(pl.len() > 1).then(lines).otherwise(pl.lit("")))


def _in_words(scores: pl.DataFrame) -> pl.DataFrame:
    """Return scores with their reasons in the current language."""
    reasons = {reason: say_reason(reason) for reason in scores["reason"].unique().drop_nulls()}
    return scores.with_columns(pl.col("reason").replace(reasons)) if reasons else scores


def _askings(judged: pl.DataFrame) -> pl.DataFrame:
    """Return judges' replies with the model and repeat that they are about."""
    renamed = judged.rename({"model": "judge"}).drop("repeat")
    return renamed.rename({"subject": "model", "subject_repeat": "repeat"}).drop_nulls(["model", "repeat"])


def frames(data: ReportData) -> Frames:
    """Gather the samples, in the order of their requests."""
    replies = _with_calls(data.replies).select(
        *KEY, "request_id", "text", "reasoning", "error", "error_kind", "finish_reason", "tokens_in", "tokens_out",
        "latency_s", "cached",
    )  # fmt: skip
    keys = pl.concat([replies.select(KEY), data.scores.select(KEY)]).unique(maintain_order=True)
    rows = (
        keys.join(replies, on=KEY, how="left", maintain_order="left")
        .join(primary(data.scores, data.items, data.plan.declarations), on=KEY, how="left", maintain_order="left")
        .with_columns(pl.col("outcome").fill_null("unscored"))
    )
    scores = _in_words(data.scores).join(rows.select(KEY).with_row_index("row"), on=KEY).sort("row", "metric")
    rows = rows.with_columns(mark_replies(rows, scores, _list_claim_keys(data.plan.declarations)))
    judged = _askings(data.judged).join(rows.select(KEY).with_row_index("row"), on=KEY).sort("row")
    items = data.items.join(rows.select("item_id").unique(), on="item_id", how="semi")
    return Frames(rows, write_questions(items, data.plan), scores, judged)


def _list_claim_keys(suites: Iterable[Suite]) -> dict[str, str]:
    """Return, for each metric that says which claims of a reply have support, the key of these claims."""
    names = {name for suite in suites for name in suite.metric_names}
    keys = {name: metric(name).shown.claims for name in names}
    return {name: key for name, key in keys.items() if key}


def _with_calls(replies: pl.DataFrame) -> pl.DataFrame:
    """Return replies whose text has the calls of tools that they made, as a turn of a conversation."""
    texts = replies["text"].to_list()
    for number, extra in enumerate(replies["extra"].to_list()):
        # Most replies call nothing: their JSON is not read.
        if not extra or f'"{TOOL_CALLS}"' not in extra or texts[number] is None:
            continue
        calls = json.loads(extra).get(TOOL_CALLS) or ()
        texts[number] = write_transcript([Message("assistant", texts[number], tuple(calls))])
    return replies.with_columns(text=pl.Series(texts, dtype=pl.String))


Row = Mapping[str, Any]
FIRST = "prompt"
"""The column of the prompt with which items are stored; that of another one is `prompt [name]`."""


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """A prompt of a suite: `template` is None for the first; `system` is that of all targets asked with it."""

    suite: SuitePlan
    template: str | None
    system: str

    def write(self, row: Row, facts: Row) -> str | None:
        """Return an item's question as it was sent; None if it cannot be filled any more."""
        # The rules may have changed since: then the grid has the prompt's own text.
        with suppress(InputError):
            if self.system or self.suite.around.examples:
                messages = build_row_messages(row, facts, self.template, self.suite.around, self.system)
                return write_transcript(messages)
            if self.template is not None:
                return fill(self.template, row["language"], facts)
        return None


Prompts = Mapping[tuple[str, str], SentPrompt]
"""Prompts by suite and the column that they are shown in."""


def list_prompts(plan: Plan) -> Prompts:
    """Return the prompts of all suites."""
    prompts = dict[tuple[str, str], SentPrompt]()
    for suite in plan.suites:
        for target in suite.live_targets:
            column = FIRST
            if target.template is not None:
                column = f"prompt [{target.prompt}]"
            key, system = (suite.name, column), target.model.system
            # Models with system prompts of their own share none.
            if key in prompts and prompts[key].system != system:
                system = ""
            prompts[key] = SentPrompt(suite, target.template, system)
    return prompts


def write_questions(items: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return items with texts for people: the row's own question, each prompt, and the expected answer."""
    prompts = list_prompts(plan)
    columns = sorted({column for _, column in prompts if column != FIRST})
    texts: dict[str, list[str | None]] = {name: [] for name in ("question", FIRST, "answer", *columns)}
    for row in items.select("suite", "language", "prompt", "answer", "facts", "text_digest").iter_rows(named=True):
        facts = json.loads(row["facts"] or "{}")
        item_text = format_question(row["prompt"] or "", facts)
        sent = _write(prompts, FIRST, row, facts)
        question = facts.get("question")
        if not isinstance(question, str):
            # The list shows what a question begins with: not the examples, which all share.
            question = None if sent is None else item_text
        texts["question"].append(question)
        texts[FIRST].append(sent or item_text)
        texts["answer"].append(format_expected(row["answer"] or "", facts))
        for column in columns:
            texts[column].append(_write(prompts, column, row, facts))
    return items.with_columns(pl.Series(name, column, dtype=pl.String) for name, column in texts.items())


def _write(prompts: Prompts, column: str, row: Row, facts: Row) -> str | None:
    """Return an item's question by its suite's prompt for a column; None if there is none."""
    prompt = prompts.get((row["suite"], column))
    return None if prompt is None else prompt.write(row, facts)
