"""Forecast: what a configuration would ask, of which how much is remembered; nothing is asked or written."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from artifacts.replies import Remembered
from config.settings import Model, Settings
from data.plugins import family
from data.tables import ITEMS
from metrics.final import SUITE_METRICS
from metrics.statistics import PAIRED_SPREAD, detectable_difference, detectable_effect
from tasks.conclude import took_part
from tasks.generate import draw_all, row
from tasks.judge import Bench
from tasks.load import citation_items, cot_items, holds_responses, name_of, rag_items
from tasks.memory import Memory
from tasks.rehearsal import Tally, rehearse
from tasks.requests import for_items
from tasks.samples import Answered

SIGNS_PER_TOKEN: Mapping[str, float] = {"en": 4.0, "ru": 2.5, "zh": 1.3}
"""Signs that a token stands for, by language; ours, rough: tokenisers differ by a third either way."""
FRAME = 10
"""Tokens that a chat's form adds to a call."""
REHEARSED = 200
"""Supposed responses on which judges' questions are rehearsed; more are counted in proportion."""
ENOUGH = 5
"""Remembered replies of a suite from which their own means are used."""
CITED = 3


@dataclass(frozen=True, slots=True)
class Portion:
    """What one model, or one judge for one metric, would be asked in a suite.

    Tokens, cost and time are of the calls that are not remembered. `tokens_basis` says what the tokens written are
    estimated from; `exact`: the calls are counted, not estimated. `seconds` is None where no call's time is known.
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

    @property
    def fresh(self) -> int:
        """The calls that would be made."""
        return max(0, self.calls - self.cached)


@dataclass(frozen=True, slots=True)
class Effect:
    """With `n` items: the difference of two models, and that of one from a threshold, shown with power 0.8."""

    suite: str
    n: int
    between: float | None
    threshold: float | None


@dataclass(frozen=True)
class Forecast:
    """All portions, what could be told from so many items, and what is to be known about the estimate."""

    portions: list[Portion]
    effects: list[Effect]
    notes: list[str]
    currency: str

    @property
    def seconds(self) -> float | None:
        """The whole time: suites one after another; in each, models side by side, then judges side by side."""
        total = 0.0
        for suite in dict.fromkeys(portion.suite for portion in self.portions):
            for role in ("model", "judge"):
                by_name: dict[str, float] = {}
                for portion in self.portions:
                    if (portion.suite, portion.role) == (suite, role):
                        if portion.seconds is None:
                            return None
                        by_name[portion.name] = by_name.get(portion.name, 0.0) + portion.seconds
                total += max(by_name.values(), default=0.0)
        return total


@dataclass(frozen=True, slots=True)
class Hearing:
    """A judged metric of a suite, as its flow puts it to the judges."""

    metric: str
    options: Mapping[str, Any]
    temperature: float | None


def forecast(settings: Settings) -> Forecast:
    """Count what a configuration would ask.

    Raises:
        InputError: the items cannot be made, the cache cannot be read, or no suite has a weight.
    """
    took_part(settings, {guest: suite for suite in settings.suites if (guest := guest_of(settings, suite))})
    memory = Memory(settings.store, settings.fresh)
    portions: list[Portion] = []
    effects = []
    for suite in settings.suites:
        items = items_of(settings, suite)
        effects.append(effect(suite, items.height))
        answered: list[tuple[Answered, bool]] = []
        if guest := guest_of(settings, suite):
            answered = [(_sample(one, guest, 0, _facts(one)["response"]), True) for one in _rows(items)]
        else:
            for model in settings.models:
                portion, own = ask_model(settings, suite, model, items, memory)
                portions.append(portion)
                answered += own
        portions += judged(settings, suite, answered, memory)
    return Forecast(portions, effects, [*memory.notes, *_notes(settings, portions)], settings.currency)


def items_of(settings: Settings, suite: str) -> pl.DataFrame:
    """Make a suite's items as its flow does, without storing them."""
    if suite == "basic_control":
        part = settings.basic_control
        families = {family(name).name: family(name).version for name in part.families}
        drawn = draw_all(
            families,
            levels=part.levels,
            languages=part.languages,
            seed=part.seed,
            n_items=part.n_items,
            options=part.options,
        )
        return ITEMS.frame(row(item) for item in drawn)
    if suite == "cot":
        cot = settings.cot
        rows = cot_items(cot.data, language=cot.language, method=cot.sample_method, n=cot.n_samples, seed=cot.seed)
    elif suite == "citation":
        cited = settings.citation
        rows = citation_items(
            cited.data,
            language=cited.language,
            mode=cited.mode,
            method=cited.sample_method,
            n=cited.n_samples,
            seed=cited.seed,
        )
    else:
        rag = settings.rag
        required = ["question"]
        required += ["reference"] if rag.factual_correctness.enabled else []
        required += ["retrieved_contexts"] if rag.response_groundedness.enabled else []
        rows = rag_items(
            rag.data,
            language=rag.language,
            required=tuple(required),
            method=rag.sample_method,
            n=rag.n_samples,
            seed=rag.seed,
        )
    return ITEMS.frame(rows).unique("item_id", maintain_order=True)


def guest_of(settings: Settings, suite: str) -> str:
    """Return whose responses a rag data set holds; '' where models are asked."""
    if suite != "rag" or not holds_responses(settings.rag.data):
        return ""
    return settings.rag.response_model or f"responses of {name_of(settings.rag.data)}"


def hearings(settings: Settings, suite: str) -> list[Hearing]:
    """Return what judges are asked in a suite."""
    if suite == "citation":
        options = settings.citation.model_dump(
            include={"mode", "weight_interpretability", "weight_correctness", "alce"}
        )
        return [Hearing("citation", options, None)]
    if suite != "rag":
        return []
    facts, grounds = settings.rag.factual_correctness, settings.rag.response_groundedness
    listed = [
        (facts.enabled, Hearing("factual_correctness", {"mode": facts.mode}, 0.0)),
        (
            grounds.enabled,
            Hearing(
                "response_groundedness", {"heuristic_shortcuts": grounds.heuristic_shortcuts}, grounds.temperature
            ),
        ),
    ]
    return [hearing for enabled, hearing in listed if enabled]


def effect(suite: str, n: int) -> Effect:
    """Return what so many items can show: of yes/no answers by McNemar's test, else of scores spread at worst."""
    yes_no = SUITE_METRICS.get(suite) == ("correct",)
    between = detectable_difference(n) if yes_no else detectable_effect(n, spread=PAIRED_SPREAD)
    return Effect(suite, n, between, detectable_effect(n))


def ask_model(
    settings: Settings, suite: str, model: Model, items: pl.DataFrame, memory: Memory
) -> tuple[Portion, list[tuple[Answered, bool]]]:
    """Count a model's calls; return them with its replies: remembered ones, and stand-ins for judges (False)."""
    identity = memory.identity("model", model)
    languages = dict(items.select("item_id", "language").iter_rows())
    tally, seen = Tally(), set[str]()
    answered: list[tuple[Answered, bool]] = []
    hear = bool(hearings(settings, suite))
    for batch in items.iter_slices(settings.batch_size):
        by_id = {one["item_id"]: one for one in _rows(batch)}
        requests = for_items(batch, model, identity or {}, settings.repeats)
        known = memory.lookup(requests["request_id"]) if identity is not None else {}
        system = len(model.system)
        for request_id, item_id, repeat in requests.select("request_id", "item_id", "repeat").iter_rows():
            item, entry = by_id[item_id], known.get(request_id)
            if request_id not in seen:
                seen.add(request_id)
                tally.calls += 1
                if entry:
                    tally.cached += 1
                    tally.known.append(entry)
                else:
                    language = languages[item_id]
                    tally.signs[language] = tally.signs.get(language, 0) + len(item["prompt"]) + system
            if hear:
                text = entry.reply.text if entry else supposed(suite, item)
                answered.append((_sample(item, model.name, repeat, text), entry is not None))
    return _portion(suite, model, tally, memory), answered


def judged(
    settings: Settings, suite: str, answered: Sequence[tuple[Answered, bool]], memory: Memory
) -> Iterator[Portion]:
    """Yield what each judge would be asked for each metric."""
    names = () if suite not in {"citation", "rag"} else getattr(settings, suite).judges
    benched = tuple(judge for judge in settings.judges if not names or judge.name in names)
    real = [one for one in answered if one[1]]
    others = [one for one in answered if not one[1]]
    some = others[:: max(1, -(-len(others) // REHEARSED))]
    for hearing in hearings(settings, suite):
        for judge in benched:
            identity = memory.identity("judge", judge)
            bench = Bench((judge,), {judge.name: identity or {}}, hearing.temperature)
            # Without an identity no request is the one that a run would make.
            look = memory.lookup if identity is not None else _nothing
            tally = rehearse(hearing.metric, hearing.options, real, bench=bench, lookup=look)
            exact = not others and tally.cached == tally.calls
            if some:
                more = rehearse(hearing.metric, hearing.options, some, bench=bench, lookup=_nothing)
                tally.add(more, len(others) / len(some))
            yield _portion(suite, judge, tally, memory, metric=hearing.metric, exact=exact)


def _nothing(ids: Iterable[str]) -> Mapping[str, Remembered]:
    for _ in ids:
        pass
    return {}


def supposed(suite: str, item: Mapping[str, Any]) -> str:
    """Return a response to rehearse with: the reference; in citation, each of its sentences with a citation."""
    facts = _facts(item)
    if suite != "citation":
        return str(item["answer"])
    said = [part for part in str(facts.get("long_answer") or item["answer"]).split(". ") if part][:CITED]
    text = " ".join(f"{part.rstrip('.')} [{n}]." for n, part in enumerate(said, 1))
    if facts.get("passages"):
        return text
    sources = [f'[{n}] Source, https://source-{n}.org/page "{part}"' for n, part in enumerate(said, 1)]
    return "\n".join([text, "Sources:", *sources])


def _rows(items: pl.DataFrame) -> list[dict[str, Any]]:
    return items.rows(named=True)


def _facts(item: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(item["facts"])
    return found


def _sample(item: Mapping[str, Any], model: str, repeat: int, text: str) -> Answered:
    sample = {**item, **_facts(item), "response": text}
    return Answered(item["item_id"], model, repeat, item["language"], sample, None, None)


def _portion(
    suite: str, model: Model, tally: Tally, memory: Memory, *, metric: str = "", exact: bool = True
) -> Portion:
    """Make tokens, cost and time of counted calls; a judge's have a metric."""
    role = "judge" if metric else "model"
    calls, cached = round(tally.calls), round(tally.cached)
    fresh = max(0, calls - cached)
    per_token = {language: SIGNS_PER_TOKEN.get(language, SIGNS_PER_TOKEN["en"]) for language in tally.signs}
    tokens_in = sum(signs / per_token[language] for language, signs in tally.signs.items()) + FRAME * fresh
    written, basis, latency = _habits(role, model, tally, memory, fresh)
    tokens_out = min(written, model.max_tokens) * fresh
    return Portion(
        suite=suite,
        role=role,
        name=model.name,
        metric=metric,
        calls=calls,
        cached=cached,
        exact=exact,
        tokens_in=round(tokens_in),
        tokens_out=round(tokens_out),
        tokens_basis=basis if fresh else "",
        cost=_cost(model, tokens_in, tokens_out),
        seconds=_seconds(model, fresh, latency),
    )


def _habits(role: str, model: Model, tally: Tally, memory: Memory, fresh: int) -> tuple[float, str, float | None]:
    """Return the tokens of a reply, what they are estimated from, and the seconds of a call if known."""
    if not fresh:
        return 0.0, "", 0.0
    lengths = [entry.reply.tokens_out for entry in tally.known if entry.reply.tokens_out is not None]
    if len(tally.known) >= ENOUGH and lengths:
        latency = sum(entry.latency_s for entry in tally.known) / len(tally.known)
        return sum(lengths) / len(lengths), f"{len(lengths)} remembered replies here", latency
    known = memory.usage(model)
    if known.tokens_out is not None:
        return known.tokens_out, f"{known.n} remembered replies of {model.name}", known.latency_s
    if role == "judge":
        return tally.reply_signs / fresh / SIGNS_PER_TOKEN["en"], "stand-in replies", known.latency_s
    return float(model.max_tokens), "max_tokens, the most", known.latency_s


def _cost(model: Model, tokens_in: float, tokens_out: float) -> float | None:
    if model.price_in is None and model.price_out is None:
        return None
    return (tokens_in * (model.price_in or 0.0) + tokens_out * (model.price_out or 0.0)) / 1e6


def _seconds(model: Model, fresh: int, latency: float | None) -> float | None:
    if not fresh:
        return 0.0
    if latency is None:
        return None
    allowed = 60 * fresh / model.requests_per_minute if model.requests_per_minute else 0.0
    return max(latency * fresh / min(model.concurrency, fresh), allowed)


def _notes(settings: Settings, portions: Sequence[Portion]) -> Iterator[str]:
    for suite in settings.suites:
        if hearings(settings, suite) and not any((p.suite, p.role) == (suite, "judge") for p in portions):
            yield f"{suite}: no judge is configured: the run would stop with an error."
    if "citation" in settings.suites and settings.citation.network:
        yield "citation: pages that are fetched are not forecast, nor what a judge is asked about them."
    if not Path(settings.store.root).exists() and "://" not in settings.store.root and not settings.store.cache:
        yield f"The store {settings.store.root} is not there yet: nothing is remembered."
