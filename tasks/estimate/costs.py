"""Estimate a configuration's calls, and how many are cached; nothing is called or written."""

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from basic_control.config.exam import plan_short_exams
from basic_control.config.prices import Prices
from basic_control.config.settings import Judge, Model
from basic_control.data.batches import StoredIdentity
from basic_control.data.draw import format_canonical
from basic_control.data.errors import quote_first
from basic_control.data.loading import RESPONSE, list_judged_metrics, needs_of, reply_schema
from basic_control.data.plugins import metric
from basic_control.data.reading.ends import split_at_end
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.judged import collect_left_out, judge_statuses
from basic_control.metrics.analysis.observations import count_units
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.metrics.exam import exam_score
from basic_control.metrics.stats.power import PAIRED_SPREAD, find_difference, find_effect
from basic_control.prompts.phrases import ENGLISH, phrase
from basic_control.tasks.estimate.memory import Memory, describe_exams
from basic_control.tasks.estimate.rehearsal import SENTENCE, JudgeCalls, rehearse
from basic_control.tasks.generate import items_of
from basic_control.tasks.judges.labels import has_labels
from basic_control.tasks.judges.passports import PassportFinder, find_missing_exams, find_suite_statuses
from basic_control.tasks.models.requests import build_requests
from basic_control.tasks.plan import MetricPlan, Panel, Plan, SuitePlan, Target, resolve
from basic_control.tasks.plan_remarks import format_doubts, format_expected_remarks
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.samples import SampleRow, fill_item, merge_columns, select_returned
from basic_control.tasks.twins.renew import TWIN, plan_twins, twins_of

CHARACTERS_PER_TOKEN: Mapping[str, float] = {"en": 4.0, "ru": 2.5, "zh": 1.3}
"""Characters per token, by language; our rough values: tokenisers differ by a third either way."""
FRAME = 10
"""Tokens that the chat format adds to a call."""
ENOUGH = 5
"""Minimum cached replies of a suite for using their means."""
Absent = Mapping[tuple[str, str], StoredIdentity]
"""What identified models and judges whose servers do not answer, by role and name."""
REHEARSED = 200
"""Stand-in responses for rehearsing judges' questions; more are counted in proportion."""
RETRIEVED = "What an application may find, in a passage of its own."


class ForeseenReply(NamedTuple):
    """A reply as far as it is known before a run: a real one, or a stand-in for judges' questions."""

    row: SampleRow
    is_real: bool


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The calls to one model, or to one judge for one metric, in a suite.

    Tokens, cost and time are of the calls that are not cached. `tokens_basis` says what the output tokens are
    estimated from; `exact`: the calls are counted, not estimated. `seconds` is None if no call's time is known.
    `cost` is as configured, `cost_in_batches` the cost in batches: None if the provider has none. `entry` is
    the model's or judge's own name, `unanswered` the questions that are not cached.
    """

    suite: str
    role: str
    name: str
    metric: str
    calls: int
    cached: int
    exact: bool
    tokens_in: int
    tokens_out: int
    tokens_basis: str
    cost: float | None
    seconds: float | None
    cost_in_batches: float | None = None
    entry: str = ""
    unanswered: Sequence[str] = ()

    @property
    def calls_due(self) -> int:
        """The calls that would be made."""
        return max(0, self.calls - self.cached)


@dataclass(frozen=True, slots=True)
class DetectableEffect:
    """With `n` items: the difference of two models, and that of one from a threshold, shown with power 0.8.

    `units` of the items are independent (SPEC 9).
    """

    suite: str
    n: int
    between: float | None
    threshold: float | None
    units: int


@dataclass(frozen=True)
class CostEstimate:
    """All portions, the detectable effects with that many items, and notes on the estimate.

    `problems` are errors the run would end with: a server that does not answer, or a missing key; like all errors
    they are in English, and everything else is in `language`.
    """

    portions: list[CallEstimate]
    effects: list[DetectableEffect]
    notes: list[str]
    currency: str
    prices: Prices | None = None
    problems: list[str] = field(default_factory=list)
    language: str = ENGLISH

    @property
    def seconds(self) -> float | None:
        """The total time: suites in sequence; in each, models in parallel, then judges in parallel."""
        by_name: dict[tuple[str, str, str], float] = {}
        for portion in self.portions:
            if portion.seconds is None:
                return None
            key = (portion.suite, portion.role, portion.name)
            by_name[key] = by_name.get(key, 0.0) + portion.seconds
        longest: dict[tuple[str, str], float] = {}
        for (suite, role, _), seconds in by_name.items():
            longest[suite, role] = max(seconds, longest.get((suite, role), 0.0))
        return sum(longest.values())


def estimate_plan(plan: Plan) -> CostEstimate:
    """Estimate a plan's calls.

    Raises:
        InputError: the items cannot be created, or the cache cannot be read.
    """
    memory = Memory(plan.store, plan.means.fresh, plan.report.language)
    portions: list[CallEstimate] = []
    effects: list[DetectableEffect] = []
    for suite_plan in plan.suites:
        suite = suite_plan.suite
        items = pl.concat(draw_rounds(suite_plan))
        effects.append(find_detectable_effect(suite, items.height, count_units(items)))
        items = _add_twins(suite, items, memory)
        # A suite has either responses in its data or targets to ask.
        replies = list_given(suite_plan, items)
        for target in suite_plan.live_targets:
            portion, target_replies = estimate_target(suite_plan, target, items, memory)
            portions.append(portion)
            replies += target_replies
        portions += estimate_judges(suite_plan, replies, memory)
        portions += estimate_short_exams(plan, suite_plan, items["language"].unique(), memory)
    unstored = describe_unstored(portions, memory.absent)
    memory.problems += [f"{role} {name} cannot be asked: {text}" for (role, name), text in unstored.items()]
    # A judge that decides by rules is examined without a call.
    exam_calls = {judge.name: 0 for judge in plan.judges if judge.exam and judge.name in memory.examinees}
    for portion in portions:
        if portion.metric == exam_score.name and portion.entry in exam_calls:
            exam_calls[portion.entry] += portion.calls
    exams = describe_exams(plan.judges, memory.statuses, exam_calls, memory.language)
    notes = [*memory.notes, *exams, *_list_notes(plan)]
    return CostEstimate(
        portions, effects, notes, plan.pricing.currency, plan.pricing.prices, memory.problems, memory.language
    )


def draw_rounds(plan: SuitePlan) -> list[pl.DataFrame]:
    """Return a suite's items in the rounds in which they are asked: one, unless it stops early."""
    suite = plan.suite
    items = ITEMS.frame(items_of(suite, plan.required, plan.exclusions))
    return [*cut_into_rounds(items, suite, suite.stop)] if suite.stop else [items]


def list_given(plan: SuitePlan, items: pl.DataFrame) -> list[ForeseenReply]:
    """Return the responses in a suite's data; none if it asks models."""
    replies: list[ForeseenReply] = []
    if plan.responses_of:
        for item in items.iter_rows(named=True):
            response = _read_facts(item)[RESPONSE] or ""
            replies.append(ForeseenReply(_build_row(item, plan.responses_of, 0, response), is_real=True))
    return replies


def _add_twins(suite: Suite, items: pl.DataFrame, memory: Memory) -> pl.DataFrame:
    """Return a suite's items with the twins that it asks too, if any; note how many there are of each kind."""
    twin_plans = plan_twins(suite)
    if not twin_plans:
        return items
    twins = ITEMS.frame(twins_of(items, twin_plans, Counter()))
    n_by_kind = Counter(json.loads(facts)[TWIN]["kind"] for facts in twins["facts"])
    kinds = ", ".join(f"{kind}: {n}" for kind, n in n_by_kind.items()) or "–"
    counts = {"n": twins.height, "items": items.height, "kinds": kinds}
    memory.notes.append(phrase("estimate.twins", memory.language, suite=suite.name, **counts))
    return pl.concat([items, twins])


def describe_unstored(portions: Iterable[CallEstimate], absent: Absent) -> dict[tuple[str, str], str]:
    """Return which replies of absent servers are not stored, in words, by role and name."""
    totals: Counter[tuple[str, str]] = Counter()
    due: Counter[tuple[str, str]] = Counter()
    questions: dict[tuple[str, str], list[str]] = {}
    for portion in portions:
        key = (portion.role, portion.entry)
        totals[key] += portion.calls
        if key in absent and portion.calls_due:
            due[key] += portion.calls_due
            questions.setdefault(key, []).extend(portion.unanswered)
    sentences: dict[tuple[str, str], str] = {}
    for key, texts in questions.items():
        counts = f"{due[key]} of {totals[key]} replies are not stored"
        sentences[key] = f"{absent[key].reason}; {counts}, the first to {quote_first(texts)}"
    return sentences


def find_detectable_effect(suite: Suite, n: int, units: int | None = None) -> DetectableEffect:
    """Return the detectable effect with n items: by McNemar's test for yes/no answers, else at maximum spread.

    `units` is the number of independent ones among them (default: all): at worst, templates are alike inside.
    """
    size = n if units is None else units
    if all(metric(name).yes_no for name in suite.score_metrics):
        between = find_difference(size)
    else:
        between = find_effect(size, spread=PAIRED_SPREAD)
    return DetectableEffect(suite.name, n, between, find_effect(size), size)


def estimate_target(
    plan: SuitePlan, target: Target, items: pl.DataFrame, memory: Memory
) -> tuple[CallEstimate, list[ForeseenReply]]:
    """Count a target's calls; return them with its replies, of a suite with judges: cached ones and stand-ins."""
    suite, model = plan.suite, target.model
    identity = memory.identity("model", model)
    unknown_model = model.name if "unavailable" in identity else ""
    tally = JudgeCalls()
    replies: list[ForeseenReply] = []
    has_judges, schema = bool(list_judged_metrics(suite)), reply_schema(suite)
    # What an application would find for its reply, such as passages, as far as metrics read it.
    brought: dict[str, list[str]] = {}
    if model.unit.brings:
        facts = set(needs_of(suite)).intersection(model.unit.brings(model))
        brought = {fact: [RETRIEVED] for fact in facts}
    for batch in items.iter_slices(plan.batch_size):
        items_by_id = {
            item["item_id"]: fill_item(item, _read_facts(item), target.template)
            for item in batch.iter_rows(named=True)
        }
        requests = build_requests(
            batch,
            model,
            identity,
            plan.repeats,
            target=target.name,
            prompt=target.template,
            around=plan.around,
            schema=schema,
        )
        cached = memory.lookup(requests["request_id"])
        columns = ("request_id", "item_id", "repeat", "payload")
        for request_id, item_id, repeat, payload in requests.select(columns).iter_rows():
            item, entry = items_by_id[item_id], cached.get(request_id)
            # Equal requests share a call, of whatever suites they are.
            key = (unknown_model, request_id)
            if key not in memory.foreseen:
                memory.foreseen.add(key)
                tally.count(entry, item["language"], count_sent_signs(payload), question=item["prompt"])
            if not has_judges:
                continue
            if entry:
                row = _build_row(item, target.name, repeat, entry.reply.text, entry.reply.extra)
            else:
                row = _build_row(item, target.name, repeat, suppose_response(suite, item), brought)
            replies.append(ForeseenReply(row, is_real=entry is not None))
    return _estimate_portion(suite.name, model, tally, memory, name=target.name), replies


def count_sent_signs(payload: str) -> int:
    """Return the characters that a request sends: its messages, examples among them, their calls, and its tools."""
    sent = json.loads(payload)
    n = 0
    if sent.get("tools"):
        n += len(json.dumps(sent["tools"], ensure_ascii=False))
    for message in sent["messages"]:
        n += len(message["content"])
        if message.get("tool_calls"):
            n += len(json.dumps(message["tool_calls"], ensure_ascii=False))
    return n


def estimate_judges(plan: SuitePlan, replies: Sequence[ForeseenReply], memory: Memory) -> Iterator[CallEstimate]:
    """Yield each judge's calls for each metric; a judge that decides by rules makes none."""
    languages = {reply.row.language for reply in replies}
    for metric_plan in plan.judge_metrics:
        joined = add_opponents(plan, metric_plan, replies)
        real_rows = [reply.row for reply in joined if reply.is_real]
        stand_ins = drop_duplicates(reply.row for reply in joined if not reply.is_real)
        # Rehearsing takes time: of many stand-ins, each n-th counts for n.
        rehearsed = stand_ins[:: max(1, math.ceil(len(stand_ins) / REHEARSED))]
        shares = find_shares(plan, metric_plan, languages, memory)
        for judge in metric_plan.panel_judges:
            if judge.unit.decide:
                continue
            identities = {judge.name: memory.identity("judge", judge)}
            panel = Panel((judge,), identities, metric_plan.temperature)
            excluded = find_excluded_languages(plan, metric_plan, panel, languages)
            asked_rows = select_asked(real_rows, plan, metric_plan, excluded)
            tally = rehearse(metric_plan, asked_rows, panel, memory.lookup)
            is_exact = not stand_ins and tally.cached == tally.calls
            if rehearsed:
                asked_rows = select_asked(rehearsed, plan, metric_plan, excluded)
                tally.add(rehearse(metric_plan, asked_rows, panel), len(stand_ins) / len(rehearsed))
            # The large judge of a cascade is asked about a share of the replies.
            if judge.name in shares:
                is_exact = False
                share_of_calls = JudgeCalls()
                share_of_calls.add(tally, shares[judge.name])
                tally = share_of_calls
            yield _estimate_portion(
                plan.name, judge, tally, memory, metric_name=metric_plan.name, is_exact=is_exact
            )


def drop_duplicates(stand_ins: Iterable[SampleRow]) -> list[SampleRow]:
    """Return stand-ins without those that repeat a target's earlier one: their replies will be equal."""
    first: dict[tuple[str, int, str], SampleRow] = {}
    for row in stand_ins:
        first.setdefault((row.model, row.repeat, format_canonical(row.sample)), row)
    return list(first.values())


def find_shares(
    plan: SuitePlan, metric_plan: MetricPlan, languages: Iterable[str], memory: Memory
) -> dict[str, float]:
    """Return the share of replies that the large judge of a cascade will see, by its name; note what is known.

    One that judges by itself too sees all.
    """
    shares: dict[str, float] = {}
    ordered_languages = sorted(languages)
    cascades = [judge for judge in metric_plan.judges if judge.members]
    if not ordered_languages or not cascades:
        return shares
    judges_by_themselves = {judge.name for judge in metric_plan.judges}
    identities = {judge.name: memory.identity("judge", judge) for judge in metric_plan.panel_judges}
    finder = PassportFinder([plan], identities, open_store(plan.store)).cascades(plan.name)
    for cascade in cascades:
        deciders = [finder.decider(metric_plan, cascade, language) for language in ordered_languages]
        # What the small judge decides without the large one, and the part of it that is checked all the same.
        decided_share = sum(decider.rule.share for decider in deciders) / len(deciders)
        large_judge = cascade.members[1]
        if large_judge not in judges_by_themselves:
            shares[large_judge] = 1 - decided_share + cascade.options["check"] * decided_share
        first_decider = deciders[0]
        if first_decider.source:
            n = first_decider.rule.n_labelled
            basis = phrase(f"common.cascade_on_{first_decider.source}", memory.language, n=n)
        else:
            basis = phrase("common.cascade_on_nothing", memory.language)
        names = {"suite": plan.name, "judge": cascade.name}
        share = f"{100 * decided_share:.0f}%"
        memory.notes.append(phrase("estimate.cascade", memory.language, share=share, on=basis, **names))
        n_unanswered = first_decider.n_unanswered
        if n_unanswered:
            memory.notes.append(phrase("common.cascade_unanswered", memory.language, n=n_unanswered, **names))
    return shares


def find_excluded_languages(
    plan: SuitePlan, metric_plan: MetricPlan, panel: Panel, languages: Iterable[str]
) -> set[str]:
    """Return the languages in which the passport of a panel's only judge excludes it."""
    (judge,) = panel.judges
    finder = PassportFinder([plan], panel.identities, open_store(plan.store))
    statuses = judge_statuses(plan.suite, metric_plan.name, [judge.name], {*languages}, finder.passport)
    return {language for language, names in collect_left_out(statuses).items() if judge.name in names}


def select_asked(
    rows: Iterable[SampleRow], plan: SuitePlan, metric_plan: MetricPlan, excluded_languages: Collection[str]
) -> list[SampleRow]:
    """Return the rows that a judge is asked about: all but those in languages in which it is excluded.

    A target with people's labels is judged in these too: the judge's errors are measured with it.
    """
    name = metric_plan.name
    return [row for row in rows if row.language not in excluded_languages or has_labels(plan, row.model, name)]


def add_opponents(
    plan: SuitePlan, metric_plan: MetricPlan, replies: Sequence[ForeseenReply]
) -> Sequence[ForeseenReply]:
    """Add the known replies of the target that a metric compares with."""
    if not metric_plan.compared:
        return replies
    by_key = {(reply.row.model, reply.row.item_id, reply.row.repeat): reply for reply in replies}
    joined: list[ForeseenReply] = []
    for reply in replies:
        row = reply.row
        opponent = plan.find_opponent(metric_plan.name, row.model)
        if not opponent:
            joined.append(reply)
            continue
        text, is_real = None, reply.is_real
        opponent_reply = by_key.get((opponent, row.item_id, row.repeat))
        if opponent_reply:
            text = opponent_reply.row.sample["response"]
            is_real = reply.is_real and opponent_reply.is_real
        # Two stand-ins should not be equal.
        if text == row.sample["response"] and not is_real and opponent != row.model:
            text = f"{text} {SENTENCE}"
        sample = {metric_plan.compared: text, **row.sample}
        joined.append(ForeseenReply(replace(row, sample=sample), is_real))
    return joined


def suppose_response(suite: Suite, item: Mapping[str, Any]) -> str:
    """Return a response for counting judges' calls: a metric's own stand-in, or the expected answer if any."""
    for name in list_judged_metrics(suite):
        write_stand_in = metric(name).stand_in
        if write_stand_in:
            return write_stand_in(merge_columns(item, _read_facts(item)))
    return str(item["answer"]) or SENTENCE


def _read_facts(item: Mapping[str, Any]) -> Mapping[str, Any]:
    facts: Mapping[str, Any] = json.loads(item["facts"])
    return facts


def _build_row(
    item: Mapping[str, Any], model: str, repeat: int, text: str, extra: Mapping[str, Any] | None = None
) -> SampleRow:
    facts = _read_facts(item)
    response = split_at_end(text)[0]
    sample = {**merge_columns(item, facts), "response": response, **select_returned(extra or {}, facts)}
    return SampleRow(item["item_id"], model, repeat, item["language"], sample, None, None)


def _estimate_portion(
    suite: str,
    model: Model,
    tally: JudgeCalls,
    memory: Memory,
    *,
    name: str = "",
    metric_name: str = "",
    is_exact: bool = True,
) -> CallEstimate:
    """Return tokens, cost and time of counted calls; a judge's have a metric."""
    calls, cached = round(tally.calls), round(tally.cached)
    n_due = max(0, calls - cached)
    # Only the calls that are not cached send and receive anything.
    tokens_of_texts = 0.0
    for language, signs in tally.signs.items():
        tokens_of_texts += signs / CHARACTERS_PER_TOKEN.get(language, CHARACTERS_PER_TOKEN[ENGLISH])
    tokens_in = FRAME * n_due + tokens_of_texts
    reply_tokens, basis, latency = _estimate_reply(model, tally, memory.language, n_due)
    tokens_out = min(reply_tokens, model.token_limit) * n_due
    # The calls take as long as they wait for each other, or for the server's limit a minute.
    seconds = None
    if latency is not None:
        seconds = latency * n_due / max(1, min(model.concurrency, n_due))
        if n_due and model.requests_per_minute:
            seconds = max(seconds, 60 * n_due / model.requests_per_minute)
    return CallEstimate(
        suite=suite,
        role="judge" if metric_name else "model",
        name=name or model.name,
        metric=metric_name,
        calls=calls,
        cached=cached,
        exact=is_exact,
        tokens_in=round(tokens_in),
        tokens_out=round(tokens_out),
        tokens_basis=basis,
        cost=model.cost(tokens_in, tokens_out, batches=model.batch != "off"),
        seconds=seconds,
        cost_in_batches=model.cost(tokens_in, tokens_out, batches=True) if model.unit.batches else None,
        entry=model.name,
        unanswered=tally.unanswered,
    )


def _estimate_reply(model: Model, tally: JudgeCalls, language: str, n_due: int) -> tuple[float, str, float | None]:
    """Return the tokens of a reply, what they are estimated from, and the seconds of a call if known."""
    if not n_due:
        return 0.0, "", 0.0
    lengths = [entry.reply.tokens_out for entry in tally.remembered if entry.reply.tokens_out is not None]
    if len(lengths) >= ENOUGH:
        latency = sum(entry.latency_s for entry in tally.remembered) / len(tally.remembered)
        return sum(lengths) / len(lengths), phrase("estimate.basis_here", language, n=len(lengths)), latency
    if isinstance(model, Judge):
        reply_tokens = tally.reply_signs / n_due / CHARACTERS_PER_TOKEN[ENGLISH]
        return reply_tokens, phrase("estimate.basis_stand_in", language), None
    return float(model.token_limit), phrase("estimate.basis_most", language), None


def estimate_short_exams(
    plan: Plan, suite_plan: SuitePlan, languages: Iterable[str], memory: Memory
) -> Iterator[CallEstimate]:
    """Yield the short exams that a suite's judges take first: in each step and language without a passport.

    What is known of these judges is added to the memory.
    """
    judges = suite_plan.judges
    if not judges:
        return
    identities = {judge.name: memory.identity("judge", judge) for judge in judges}
    finder = PassportFinder(plan.suites, identities, open_store(plan.store))
    missing: dict[str, set[tuple[str, str]]] = {}
    statuses = find_suite_statuses(suite_plan, languages, finder, in_cascades=True)
    memory.statuses += [status for status in statuses if "unavailable" not in identities[status.judge]]
    for judge, steps in find_missing_exams(suite_plan.suite, judges, statuses).items():
        # An exam that an earlier suite takes is shared with it.
        missing[judge] = {step for step in steps if (judge, *step) not in memory.examined}
        memory.examined.update((judge, *step) for step in steps)
    exams = plan_short_exams(judges, missing, store=suite_plan.store, batch_size=suite_plan.batch_size)
    for settings in exams:
        (exam,) = resolve(settings).suites
        items = ITEMS.frame(items_of(exam.suite, exam.required))
        rows = [_build_row(item, exam.responses_of, 0, "") for item in items.iter_rows(named=True)]
        replies = [ForeseenReply(row, is_real=True) for row in rows]
        for portion in estimate_judges(exam, replies, memory):
            yield replace(portion, suite=suite_plan.name)


def _list_notes(plan: Plan) -> Iterator[str]:
    language, store = plan.report.language, plan.store
    yield from format_doubts(plan)
    yield from format_expected_remarks(plan)
    in_batches = [model.name for model in (*plan.models, *plan.judges) if model.batch != "off"]
    if in_batches:
        yield phrase("estimate.batched", language, names=", ".join(in_batches))
    for suite_plan in plan.suites:
        suite, n = suite_plan.suite, suite_plan.repeats
        say = partial(phrase, suite=suite.name)
        if suite.stop:
            yield say("estimate.stopping", language)
        if suite.gate_on != "mean":
            yield say(f"estimate.{suite.gate_on}", language, k=suite.k or n, n=n)
        if suite_plan.responses_of:
            yield say("estimate.given", language)
        fetching = [metric_plan for metric_plan in suite_plan.metrics if metric(metric_plan.name).sources]
        if any(metric_plan.options.get("network") for metric_plan in fetching):
            yield say("estimate.pages", language)
    if not Path(store.root).exists() and "://" not in store.root and not store.cache:
        yield phrase("estimate.no_store", language, path=store.root)
