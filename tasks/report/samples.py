"""The samples of the HTML report: every question as it was sent, every reply with its scores, and how it ended.

Sentences of a reply whose claims nothing supports are marked. A judge words claims anew, so that a claim is looked
for by its words: those of few sentences count for more.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from basic_control.data.deciding import headlines, list_deciding
from basic_control.data.errors import InputError
from basic_control.data.messages import write_transcript
from basic_control.data.plugins import metric
from basic_control.data.questions import format_expected, format_question
from basic_control.data.records import Message
from basic_control.data.sentences import split_sentences
from basic_control.data.suites import Suite
from basic_control.data.tools import TOOL_CALLS
from basic_control.metrics.analysis.score_remarks import SUPPORTED, read_details, read_mapping
from basic_control.prompts import fill
from basic_control.tasks.models.requests import build_row_messages
from basic_control.tasks.plan import Plan, SuitePlan
from basic_control.tasks.report.language import say_reason
from basic_control.tasks.report.report_data import ReportData

# A run of letters or of digits, or one character of a script without spaces: Ulm, 1879, 北
_WORD = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff]|\d+(?:[.,]\d+)*|[^\W\d_]+")
_STEM = 5
"""Letters by which words are compared: their endings change."""
_ENOUGH, _TOGETHER = 0.5, 0.7
"""The least share of a claim's words, by their weight, that one sentence has, or two."""
_GAIN = 0.3
"""What a second sentence must add."""
_SUBJECT = 3
"""The part of a claim, one in so many words, that says what it is about."""
_LONGEST = 20_000
"""Characters of a reply in which claims are looked for."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MarkedReply:
    """What of a reply is not supported: marked spans with their claims, and claims that stand in none.

    Offsets are the page's UTF-16 units.
    """

    spans: Mapping[Span, list[str]] = field(default_factory=dict)
    elsewhere: Sequence[str] = ()

    def as_json(self) -> str:
        """Return it as the page's script reads it."""
        marks = [[*span, claims] for span, claims in sorted(self.spans.items())]
        return json.dumps({"spans": marks, "elsewhere": [*self.elsewhere]}, ensure_ascii=False)


def list_stems(text: str) -> list[str]:
    """Return the words of a text in order, each once, without their endings."""
    return [*dict.fromkeys(word[:_STEM] for word in _WORD.findall(text.casefold()))]


def find_claim(claim: str, sentences: Mapping[Span, set[str]]) -> list[Span]:
    """Return the sentences that a claim came from, by the stems of each; none if it cannot be told."""
    order = list_stems(claim)
    stems = set(order)
    occurrences = Counter[str]()
    for words in sentences.values():
        occurrences.update(words & stems)
    # A word that stands in each sentence says little; one that stands in none speaks against all.
    weights = {stem: 1 / max(1, occurrences[stem]) for stem in stems}
    # A claim begins with what it is about, where the sentence often has a pronoun.
    for stem in order[: round(len(order) / _SUBJECT)]:
        weights[stem] /= 2
    total = sum(weights.values())
    if not total:
        return []

    def weigh(words: set[str]) -> float:
        return sum(weights[stem] for stem in words & stems) / total

    ranked = sorted(sentences, key=lambda span: -weigh(sentences[span]))
    if not ranked:
        return []
    best = sentences[ranked[0]]
    share = weigh(best)
    # Sentences of the same words cannot be told apart: all of them are meant.
    equal = [span for span in ranked if sentences[span] & stems == best & stems]
    for second in ranked[len(equal) :]:
        joint_share = weigh(best | sentences[second])
        if joint_share - share >= _GAIN and joint_share >= _TOGETHER:
            return sorted([*equal, second])
    return sorted(equal) if share >= _ENOUGH else []


def mark_reply(text: str, claims: Sequence[tuple[str, str]]) -> MarkedReply:
    """Return what to mark in a reply, given its unsupported claims, each with the words to show."""
    text = text[:_LONGEST]
    sentences: dict[Span, set[str]] = {}
    for start, end in split_sentences(text):
        sentences[start, end] = {*list_stems(text[start:end])}
    spans: dict[Span, list[str]] = {}
    elsewhere: list[str] = []
    for claim, words in claims:
        places = find_claim(claim, sentences)
        if not places:
            elsewhere.append(words)
        for start, end in places:
            units = _count_units(text[:start]), _count_units(text[:end])
            spans.setdefault(units, []).append(words)
    return MarkedReply(spans, elsewhere)


def _count_units(text: str) -> int:
    """Return the length of a text in the page's UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def list_unsupported(details: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield the claims that a judge did not find supported, each with its verdict and reason and whose it is."""
    document = read_details(details)
    left_out = read_mapping(document.get("left_out"))
    for judge, result in read_mapping(document.get("judges")).items():
        # What a judge says who does not count stands below its name, with the reason.
        if judge in left_out:
            continue
        for claim in _list_claims(result, key):
            if claim.get("verdict") != SUPPORTED:
                finding = [judge, str(claim.get("verdict", "")).lower(), str(claim.get("reason", ""))]
                text = str(claim.get("text", ""))
                yield text, f"{text} ({': '.join(filter(None, finding))})"


def _list_claims(result: Any, key: str) -> list[Mapping[str, Any]]:
    """Return the claims in what a judge said, whatever else stands there."""
    for part in ("details", key):
        result = result.get(part) if isinstance(result, Mapping) else None
    if not isinstance(result, list):
        return []
    return [claim for claim in result if isinstance(claim, Mapping)]


def mark_replies(rows: pl.DataFrame, scores: pl.DataFrame, keys: Mapping[str, str]) -> pl.Series:
    """Return a column `marks` for samples; `scores` have each the `row` of theirs, `keys` the claims' by metric."""
    claims: dict[int, list[tuple[str, str]]] = {}
    for metric_name, row, details in scores.select("metric", "row", "details").iter_rows():
        if metric_name in keys:
            claims.setdefault(row, []).extend(list_unsupported(details, keys[metric_name]))
    texts, marks = rows["text"], list[str | None]([None] * rows.height)
    for row, unsupported in claims.items():
        # A reply that a call did not bring has no text, and no claims either.
        if texts[row] and unsupported:
            marks[row] = mark_reply(texts[row], unsupported).as_json()
    return pl.Series("marks", marks, dtype=pl.String)


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
