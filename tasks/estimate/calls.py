"""Estimate a configuration's calls, and how many are cached; nothing is called or written."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.exam import plan_short_exams
from basic_control.config.prices import Prices
from basic_control.config.settings import Judge, Model
from basic_control.data.draw import format_canonical
from basic_control.data.loading import RESPONSE, list_judged_metrics, needs_of, reply_schema
from basic_control.data.plugins import metric
from basic_control.data.reading.ends import split
from basic_control.data.suites import Suite
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.judged import collect_left_out, judge_statuses
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.metrics.analysis.values import count_units
from basic_control.metrics.stats.power import PAIRED_SPREAD, find_difference, find_effect
from basic_control.prompts.phrases import ENGLISH, phrase
from basic_control.tasks.estimate.judged import SENTENCE, JudgeCalls, rehearse
from basic_control.tasks.estimate.memory import Memory
from basic_control.tasks.generate import items_of
from basic_control.tasks.judges.labels import has_labels
from basic_control.tasks.judges.passports import PassportFinder, find_missing_exams, statuses_in
from basic_control.tasks.models.requests import build_requests
from basic_control.tasks.plan import MetricPlan, Panel, Plan, SuitePlan, Target, format_expected_remarks, resolve
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.samples import SampleRow, merge_columns, select_returned
from basic_control.tasks.twins.renew import TWIN, plan_twins, twins_of

CHARACTERS_PER_TOKEN: Mapping[str, float] = {"en": 4.0, "ru": 2.5, "zh": 1.3}
"""Characters per token, by language; our rough values: tokenisers differ by a third either way."""
FRAME = 10
"""Tokens that the chat format adds to a call."""
ENOUGH = 5
"""Minimum cached replies of a suite for using their means."""
REHEARSED = 200
"""Stand-in responses for rehearsing judges' questions; more are counted in proportion."""
RETRIEVED = "What an application may find, in a passage of its own."


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """The calls to one model, or to one judge for one metric, in a suite.

    Tokens, cost and time are of the calls that are not cached. `tokens_basis` says what the output tokens are
    estimated from; `exact`: the calls are counted, not estimated. `seconds` is None if no call's time is known.
    `cost` is as configured, `cost_in_batches` the cost in batches: None if the provider has none.
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

    @property
    def fresh(self) -> int:
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
        for one in self.portions:
            if one.seconds is None:
                return None
            key = (one.suite, one.role, one.name)
            by_name[key] = by_name.get(key, 0.0) + one.seconds
        longest: dict[tuple[str, str], float] = {}
        for (suite, role, _), seconds in by_name.items():
            longest[suite, role] = max(seconds, longest.get((suite, role), 0.0))
        return sum(longest.values())


def estimate(plan: Plan) -> CostEstimate:
    """Estimate a plan's calls.

    Raises:
        InputError: the items cannot be created, or the cache cannot be read.
    """
    memory = Memory(plan.store, plan.means.fresh, plan.report.language)
    portions: list[CallEstimate] = []
    effects = []
    for one in plan.suites:
        items = ITEMS.frame(items_of(one.suite, one.required, one.exclusions))
        if one.suite.stop:
            items = pl.concat(cut_into_rounds(items, one.suite, one.suite.stop))
        effects.append(effect(one.suite, items.height, count_units(items)))
        if wanted := plan_twins(one.suite):
            renewed = ITEMS.frame(twins_of(items, wanted, Counter()))
            kinds = Counter(json.loads(facts)[TWIN]["kind"] for facts in renewed["facts"])
            listed = ", ".join(f"{kind}: {n}" for kind, n in kinds.items()) or "–"
            said = {"suite": one.suite.name, "n": renewed.height, "items": items.height, "kinds": listed}
            memory.notes.append(phrase("estimate.twins", memory.language, **said))
            items = pl.concat([items, renewed])
        answered: list[tuple[SampleRow, bool]] = []
        if whose := one.responses_of:
            answered = [
                (_sample(item, whose, 0, _facts(item)[RESPONSE] or ""), True)
                for item in items.iter_rows(named=True)
            ]
        for target in one.live_targets:
            portion, own = ask_model(one, target, items, memory)
            portions.append(portion)
            answered += own
        portions += judged(one, answered, memory)
        portions += short_exams(plan, one, items["language"].unique(), memory)
    notes = [*memory.notes, *_notes(plan)]
    return CostEstimate(
        portions, effects, notes, plan.pricing.currency, plan.pricing.prices, memory.problems, memory.language
    )


def effect(suite: Suite, n: int, units: int | None = None) -> DetectableEffect:
    """Return the detectable effect with n items: by McNemar's test for yes/no answers, else at maximum spread.

    `units` is the number of independent ones among them (default: all): at worst, templates are alike inside.
    """
    size = n if units is None else units
    yes_no = all(metric(name).yes_no for name in suite.score_metrics)
    between = find_difference(size) if yes_no else find_effect(size, spread=PAIRED_SPREAD)
    return DetectableEffect(suite.name, n, between, find_effect(size), size)


def ask_model(
    plan: SuitePlan, target: Target, items: pl.DataFrame, memory: Memory
) -> tuple[CallEstimate, list[tuple[SampleRow, bool]]]:
    """Count a target's calls; return them with its replies: cached ones, and stand-ins for judges (False)."""
    suite, model = plan.suite, target.model
    identity = memory.identity("model", model)
    tally, seen = JudgeCalls(), set[str]()
    answered: list[tuple[SampleRow, bool]] = []
    hear, schema = list_judged_metrics(suite), reply_schema(suite)
    facts = set(needs_of(suite)).intersection(model.unit.brings(model) if model.unit.brings else ())
    brought = {fact: [RETRIEVED] for fact in facts}
    for batch in items.iter_slices(plan.batch_size):
        by_id = {one["item_id"]: one for one in batch.iter_rows(named=True)}
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
        known = memory.lookup(requests["request_id"])
        columns = ("request_id", "item_id", "repeat", "payload")
        for request_id, item_id, repeat, payload in requests.select(columns).iter_rows():
            item, entry = by_id[item_id], known.get(request_id)
            if request_id not in seen:
                seen.add(request_id)
                tally.count(entry, item["language"], count_sent(payload))
            if hear:
                text = entry.reply.text if entry else supposed(suite, item)
                extra = entry.reply.extra if entry else brought
                answered.append((_sample(item, target.name, repeat, text, extra), entry is not None))
    return _portion(suite.name, model, tally, memory, name=target.name), answered


def count_sent(payload: str) -> int:
    """Return the characters that a request sends: its messages, examples among them, their calls, and its tools."""
    sent = json.loads(payload)
    n = len(json.dumps(sent["tools"], ensure_ascii=False)) if sent.get("tools") else 0
    for message in sent["messages"]:
        n += len(message["content"])
        if message.get("tool_calls"):
            n += len(json.dumps(message["tool_calls"], ensure_ascii=False))
    return n


def judged(plan: SuitePlan, answered: Sequence[tuple[SampleRow, bool]], memory: Memory) -> Iterator[CallEstimate]:
    """Yield each judge's calls for each metric; a judge that decides by rules makes none."""
    for own in plan.judge_metrics:
        paired = add_opponents(plan, own, answered)
        real = [one for one, known in paired if known]
        others = without_equals(one for one, known in paired if not known)
        some = others[:: max(1, -(-len(others) // REHEARSED))]
        shares = find_shares(plan, own, answered, memory)
        for judge in (judge for judge in own.panel_judges if not judge.unit.decide):
            panel = Panel((judge,), {judge.name: memory.identity("judge", judge)}, own.temperature)
            is_asked = find_asked(plan, own, panel, answered)
            tally = rehearse(own, [*filter(is_asked, real)], panel, memory.lookup)
            exact = not others and tally.cached == tally.calls
            if some:
                more = rehearse(own, [*filter(is_asked, some)], panel)
                tally.add(more, len(others) / len(some))
            if judge.name in shares:
                whole, tally, exact = tally, JudgeCalls(), False
                tally.add(whole, shares[judge.name])
            yield _portion(plan.name, judge, tally, memory, metric=own.name, exact=exact)


def without_equals(samples: Iterable[SampleRow]) -> list[SampleRow]:
    """Return stand-in samples without those that repeat a target's earlier one: their replies will be equal."""
    first: dict[tuple[str, int, str], SampleRow] = {}
    for sample in samples:
        first.setdefault((sample.model, sample.repeat, format_canonical(sample.sample)), sample)
    return list(first.values())


def find_shares(
    plan: SuitePlan, own: MetricPlan, answered: Sequence[tuple[SampleRow, bool]], memory: Memory
) -> dict[str, float]:
    """Return the share of replies that the large judge of a cascade will see, by its name; note what is known.

    One that judges by itself too sees all.
    """
    shares: dict[str, float] = {}
    alone = {judge.name for judge in own.judges}
    languages = sorted({sample.language for sample, _ in answered})
    for cascade in (judge for judge in own.judges if judge.members and languages):
        identities = {judge.name: memory.identity("judge", judge) for judge in own.panel_judges}
        finder = PassportFinder([plan], identities, open_store(plan.store))
        deciders = [finder.cascades(plan.name).decider(own, cascade, language) for language in languages]
        share = sum(decider.rule.share for decider in deciders) / len(deciders)
        large, source = cascade.members[1], deciders[0].source
        if large not in alone:
            shares[large] = 1 - share + cascade.options["check"] * share
        known = {"n": deciders[0].rule.n_labelled} if source else {}
        said = phrase(f"common.cascade_on_{source or 'nothing'}", memory.language, **known)
        told = {"suite": plan.name, "judge": cascade.name, "share": f"{100 * share:.0f}%", "on": said}
        memory.notes.append(phrase("estimate.cascade", memory.language, **told))
        if n_unanswered := deciders[0].n_unanswered:
            told = {"suite": plan.name, "judge": cascade.name, "n": n_unanswered}
            memory.notes.append(phrase("common.cascade_unanswered", memory.language, **told))
    return shares


def find_asked(
    plan: SuitePlan, own: MetricPlan, panel: Panel, answered: Sequence[tuple[SampleRow, bool]]
) -> Callable[[SampleRow], bool]:
    """Return which replies a panel's only judge is asked about: all, unless its passport excludes it."""
    (judge,) = panel.judges
    languages = {sample.language for sample, _ in answered}
    finder = PassportFinder([plan], panel.identities, open_store(plan.store))
    excluded = collect_left_out(judge_statuses(plan.suite, own.name, [judge.name], languages, finder.passport))

    def is_asked(sample: SampleRow) -> bool:
        return judge.name not in excluded.get(sample.language, ()) or has_labels(plan, sample.model, own.name)

    return is_asked


def add_opponents(
    plan: SuitePlan, own: MetricPlan, answered: Sequence[tuple[SampleRow, bool]]
) -> Sequence[tuple[SampleRow, bool]]:
    """Add the known replies of the target that a metric compares with."""
    if not own.compared:
        return answered
    said = {(one.model, one.item_id, one.repeat): (one.sample["response"], real) for one, real in answered}
    paired = []
    for one, real in answered:
        opponent = plan.opponent_of(own.name, one.model)
        text, known = said.get((opponent, one.item_id, one.repeat), (None, True))
        both = real and known
        if text == one.sample["response"] and not both and opponent != one.model:
            text = f"{text} {SENTENCE}"  # two stand-ins should not be equal
        paired.append((replace(one, sample={own.compared: text, **one.sample}), both) if opponent else (one, real))
    return paired


def supposed(suite: Suite, item: Mapping[str, Any]) -> str:
    """Return a response for counting judges' calls: a metric's own stand-in, or the expected answer if any."""
    own = [metric(name).stand_in for name in list_judged_metrics(suite)]
    making = next((one for one in own if one), None)
    return making(merge_columns(item, _facts(item))) if making else str(item["answer"]) or SENTENCE


def _facts(item: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(item["facts"])
    return found


def _sample(
    item: Mapping[str, Any], model: str, repeat: int, text: str, extra: Mapping[str, Any] | None = None
) -> SampleRow:
    facts = _facts(item)
    response = split(text)[0]
    sample = {**merge_columns(item, facts), "response": response, **select_returned(extra or {}, facts)}
    return SampleRow(item["item_id"], model, repeat, item["language"], sample, None, None)


def _portion(
    suite: str,
    model: Model,
    tally: JudgeCalls,
    memory: Memory,
    *,
    name: str = "",
    metric: str = "",
    exact: bool = True,
) -> CallEstimate:
    """Return tokens, cost and time of counted calls; a judge's have a metric."""
    role = "judge" if metric else "model"
    calls, cached = round(tally.calls), round(tally.cached)
    fresh = max(0, calls - cached)
    english = CHARACTERS_PER_TOKEN[ENGLISH]
    asked = sum(signs / CHARACTERS_PER_TOKEN.get(language, english) for language, signs in tally.signs.items())
    tokens_in = FRAME * fresh + asked
    written, basis, latency = _reply_means(model, tally, memory.language, fresh)
    tokens_out = min(written, model.token_limit) * fresh
    allowed = 60 * fresh / model.requests_per_minute if fresh and model.requests_per_minute else 0.0
    side_by_side = max(1, min(model.concurrency, fresh))
    return CallEstimate(
        suite=suite,
        role=role,
        name=name or model.name,
        metric=metric,
        calls=calls,
        cached=cached,
        exact=exact,
        tokens_in=round(tokens_in),
        tokens_out=round(tokens_out),
        tokens_basis=basis,
        cost=model.cost(tokens_in, tokens_out, batches=model.batch != "off"),
        seconds=None if latency is None else max(latency * fresh / side_by_side, allowed),
        cost_in_batches=model.cost(tokens_in, tokens_out, batches=True) if model.unit.batches else None,
    )


def _reply_means(model: Model, tally: JudgeCalls, language: str, fresh: int) -> tuple[float, str, float | None]:
    """Return the tokens of a reply, what they are estimated from, and the seconds of a call if known."""
    if not fresh:
        return 0.0, "", 0.0
    lengths = [entry.reply.tokens_out for entry in tally.remembered if entry.reply.tokens_out is not None]
    if len(lengths) >= ENOUGH:
        latency = sum(entry.latency_s for entry in tally.remembered) / len(tally.remembered)
        return sum(lengths) / len(lengths), phrase("estimate.basis_here", language, n=len(lengths)), latency
    if isinstance(model, Judge):
        written = tally.reply_signs / fresh / CHARACTERS_PER_TOKEN[ENGLISH]
        return written, phrase("estimate.basis_stand_in", language), None
    return float(model.token_limit), phrase("estimate.basis_most", language), None


def short_exams(plan: Plan, own: SuitePlan, languages: Iterable[str], memory: Memory) -> Iterator[CallEstimate]:
    """Yield the short exams that a suite's judges take first: in each step and language without a passport."""
    if not any(judge.exam for judge in own.judges):
        return
    identities = {judge.name: memory.identity("judge", judge) for judge in own.judges}
    found = PassportFinder(plan.suites, identities, open_store(plan.store))
    missing: dict[str, set[tuple[str, str]]] = {}
    statuses = statuses_in(own, languages, found, in_cascades=True)
    for judge, steps in find_missing_exams(own.suite, own.judges, statuses).items():
        # An exam that an earlier suite takes is shared with it.
        missing[judge] = {
            (exam, language) for exam, language in steps if (judge, exam, language) not in memory.examined
        }
        memory.examined.update((judge, *step) for step in steps)
    for settings in plan_short_exams(own.judges, missing, store=own.store, batch_size=own.batch_size):
        (exam,) = resolve(settings).suites
        items = ITEMS.frame(items_of(exam.suite, exam.required))
        answered = [(_sample(item, exam.responses_of, 0, ""), True) for item in items.iter_rows(named=True)]
        yield from (replace(portion, suite=own.name) for portion in judged(exam, answered, memory))


def _notes(plan: Plan) -> Iterator[str]:
    language, store = plan.report.language, plan.store
    yield from format_expected_remarks(plan)
    if batched := [model.name for model in (*plan.models, *plan.judges) if model.batch != "off"]:
        yield phrase("estimate.batched", language, names=", ".join(batched))
    for one in plan.suites:
        suite, n = one.suite, one.repeats
        say = partial(phrase, suite=suite.name)
        if suite.stop:
            yield say("estimate.stopping", language)
        if suite.gate_on != "mean":
            yield say(f"estimate.{suite.gate_on}", language, k=suite.k or n, n=n)
        if one.responses_of:
            yield say("estimate.given", language)
        if any(own.options.get("network") for own in one.metrics if metric(own.name).sources):
            yield say("estimate.pages", language)
    if not Path(store.root).exists() and "://" not in store.root and not store.cache:
        yield phrase("estimate.no_store", language, path=store.root)
