"""A whole run made in memory: real items, real verifiers and metrics, replies and judges by rule, all statuses."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.config.settings import Judge, Model, Report, Settings
from basic_control.data.draw import draw, format_canonical
from basic_control.data.options import options_of
from basic_control.data.plugins import families, metrics
from basic_control.data.records import Item, Score
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES, VERDICTS
from basic_control.metrics.analysis import results as analysis
from basic_control.metrics.analysis.observations import Observations
from basic_control.metrics.analysis.results import Participants, SuiteFindings
from basic_control.metrics.analysis.scores import suite_headlines
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.verdict import verdict_of
from basic_control.metrics.judging import JudgeRequest, Session, UnansweredRequest, advance, begin
from basic_control.metrics.panels import combine
from basic_control.tasks.findings import circumstances
from basic_control.tasks.plan import list_crossed, resolve
from basic_control.tasks.report import chunks, html
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.samples import primary
from basic_control.tasks.score import metric_rows, scores_of
from basic_control.tasks.store.samples import SampleRow
from basic_control.tasks.verify import ReplyToVerify, verdict_row
from tests.helpers.suites import rows_of
from tests.helpers.suites import shipped as _shipped

MODELS = ("acme/large:70b", "acme/small:8b", "other-model")
JUDGES = ("gpt-judge", "tiny-judge:0.5b")
RIGHT = {"acme/large:70b": 0.9, "acme/small:8b": 0.6, "other-model": 0.55}
FAMILIES = ("simple_logic", "arithmetic", "data_extraction")

Row = dict[str, Any]


shipped = cache(_shipped)


def chance(*identity: object) -> float:
    """Return a number in [0, 1) that depends on its arguments only."""
    digest = hashlib.sha256("\x1f".join(map(str, identity)).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def settings(**changes: Any) -> Settings:
    """Return a configuration with three models and two judges, one of them tiny."""
    given: Row = {
        "models": [
            Model(name=MODELS[0], provider="openai", price_in=1.0, price_out=4.0),
            Model(name=MODELS[1], provider="ollama"),
            Model(name=MODELS[2], provider="ollama"),
        ],
        "judges": [
            Judge(name=JUDGES[0], provider="openai", price_in=5.0, price_out=0.0),
            Judge(name=JUDGES[1], provider="ollama"),
        ],
        "suites": ["basic_control", "cot", "citation", "rag"],
        "basic_control": {"families": FAMILIES, "levels": ("easy", "hard"), "languages": ("en", "ru")},
        **changes,
    }
    return Settings(**given)


def in_language(data: ReportData, language: str) -> ReportData:
    """Return a run whose reports are in another language."""
    report = data.plan.report.model_copy(update={"language": language})
    return replace(data, plan=replace(data.plan, report=report))


def outcomes(data: ReportData) -> pl.DataFrame:
    """Return the outcome of each sample, as the page's browser shows it."""
    return primary(data.scores, data.items, data.plan.declarations)


def page_of(data: ReportData) -> str:
    """Return a run's page."""
    return html.compose(data)


def write_page(data: ReportData, folder: Path, *, size: int = chunks.SIZE) -> Path:
    """Write a run's page in a folder."""
    return html.write(data, folder / "reports" / f"report_{data.stamp}.html", size=size)


def _row(item: Item) -> Row:
    fields = {name: getattr(item, name) for name in ITEMS.columns}
    return {**fields, "facts": format_canonical(dict(item.facts))}


@cache
def _items(count: int) -> tuple[Row, ...]:
    drawn = [
        # As a run has them: each is a question of its own.
        {**_row(item), "question_id": item.item_id, "text_digest": item.item_id}
        for family in FAMILIES
        for level in ("easy", "hard")
        for language in ("en", "ru")
        for item in draw(
            families()[family], level=level, language=language, seed=7, count=count, suite="basic_control"
        )
    ]
    loaded = [
        row
        for suite, n in (("cot", 12), ("citation", 8), ("rag", 8))
        for row in rows_of(suite, language="en", sample_method="first", n_samples=n, seed=1)
    ]
    return (*drawn, *loaded)


def _generated(item: Item, model: str) -> str:
    unit = families()[item.family]
    drawn = chance("reply", item.item_id, model)
    if drawn < RIGHT[model]:
        return unit.reference(item)
    misses = list(unit.near_misses(item)) if unit.near_misses else []
    return misses[int(drawn * 1e6) % len(misses)] if misses and drawn < 0.97 else "I would rather not say."


def _cot(facts: Mapping[str, Any], item_id: str, model: str) -> str:
    drawn = chance("cot", item_id, model)
    reference = str(facts["reference"])
    if drawn < RIGHT[model] - 0.2:
        return reference
    start = "So it is <<2+2=4>>4.\n" * int(3 * chance("start", item_id, model))
    if drawn < RIGHT[model]:  # the right answer from a wrong calculation
        return f"{start}Two and two <<2+2=5>>5.\n{reference}"
    return f"{start}It is about <<3*3=10>>10.\n#### 10" if drawn < 0.95 else "I do not know how to say."


def _cited(facts: Mapping[str, Any], item_id: str, model: str) -> str:
    answer = (facts["short_answers"] or ["?"])[0]
    number = facts["gold_number"] if chance("cite", item_id, model) < RIGHT[model] else 99
    return f"The answer is {answer} [{number}]. It was so for a long time before the others came. See also [1]."


def reply_of(row: Mapping[str, Any], model: str) -> str:
    """Return what a model replies to an item."""
    facts = json.loads(row["facts"])
    if row["suite"] == "basic_control":
        return _generated(Item(**{**row, "facts": facts}), model)
    if row["suite"] == "cot":
        return _cot(facts, row["item_id"], model)
    if row["suite"] == "citation":
        return _cited(facts, row["item_id"], model)
    beside = " And the moon is made of cheese." if chance(row["item_id"], model) > 0.5 else ""
    return str(facts["reference"]) + beside


def judge_says(judge: str, ask: JudgeRequest) -> str | UnansweredRequest:
    """Answer a judge's question by rule; some calls fail, and the tiny judge writes nonsense at times."""
    drawn = chance(judge, ask.step, ask.question.key, str(ask.question.values))
    if drawn > 0.985:
        return UnansweredRequest("timeout")
    if judge == JUDGES[1] and drawn > 0.9:
        return "I think it is fine!"
    reason = f"{judge} looked and found {int(100 * drawn)}."
    if ask.step == "split":
        return format_canonical({"claims": ["The first claim is here.", "The second claim is here."]})
    if ask.step == "entails":
        verdict = "SUPPORTED" if drawn < 0.7 else "NEUTRAL" if drawn < 0.85 else "CONTRADICTED"
        listed = [{"id": c["id"], "reason": reason, "verdict": verdict} for c in ask.question.values["claims"]]
        return format_canonical({"verdicts": listed})
    if ask.step == "support":
        verdict = "ENTAILMENT" if drawn < 0.6 else "NEUTRAL" if drawn < 0.8 else "CONTRADICTION"
    elif ask.step == "correctness":
        verdict = "CORRECT" if drawn < 0.6 else "PARTIALLY_CORRECT" if drawn < 0.8 else "INCORRECT"
    else:
        return format_canonical({"reason": reason, "rating": 2 if drawn < 0.5 else 1 if drawn < 0.8 else 0})
    return format_canonical({"reason": reason, "verdict": verdict})


def _heard(metric: str, reply: SampleRow, log: list[Row]) -> Score:
    """Have both judges go through one sample; their replies go to the log, as rows of `ReportData.judged`."""
    sessions: dict[str, Session] = {}
    for judge in JUDGES:
        session = begin(metrics()[metric], reply.sample, language="en")
        while session.asks:
            said = [judge_says(judge, ask) for ask in session.asks]
            for ask, text in zip(session.asks, said, strict=True):
                log.append(_judged(reply, judge, ask, text))
            session = advance(session, said)
        sessions[judge] = session
    return combine(sessions)


def _judged(reply: SampleRow, judge: str, ask: JudgeRequest, text: str | UnansweredRequest) -> Row:
    key = f"{reply.model}/{reply.repeat}/{ask.question.key}"
    failed = isinstance(text, UnansweredRequest)
    return {
        "request_id": hashlib.sha256(f"{judge}{ask.step}{reply.item_id}{key}{ask.repair}".encode()).hexdigest(),
        "item_id": reply.item_id,
        "model": judge,
        "step": f"{ask.step} (repair)" if ask.repair else ask.step,
        "subject": reply.model,
        "subject_repeat": reply.repeat,
        "key": ask.question.key,
        "repeat": 0,
        "text": None if failed else text,
        "error": text.reason if isinstance(text, UnansweredRequest) else None,
        "error_kind": "timeout" if failed else None,
        "finish_reason": None if failed else "stop",
        "tokens_in": 200,
        "tokens_out": 40,
        "latency_s": 0.4,
        "cached": False,
    }


def _asked(row: Mapping[str, Any], model: str, text: str) -> Row:
    """Return a row of `ReportData.replies`; a few calls fail and a few replies are cut off."""
    drawn = chance("call", row["item_id"], model)
    failed = drawn > 0.985
    return {
        "request_id": hashlib.sha256(f"{row['item_id']}{model}".encode()).hexdigest(),
        "item_id": row["item_id"],
        "model": model,
        "step": "answer",
        "subject": None,
        "subject_repeat": None,
        "key": "",
        "repeat": 0,
        "text": None if failed else text,
        "reasoning": None if failed else "First I look at the facts." if model == MODELS[0] else "",
        "error": "HTTP 500: overloaded" if failed else None,
        "error_kind": "server" if failed else None,
        "finish_reason": None if failed else "length" if drawn > 0.97 else "stop",
        "tokens_in": None if failed else 60 + int(40 * drawn),
        "tokens_out": None if failed else 20 + int(80 * drawn),
        "latency_s": None if failed else round(0.2 + 3 * drawn**3 + MODELS.index(model) * 0.4, 4),
        "cached": drawn < 0.3,
    }


def _scored(replies: Iterable[tuple[Row, Row]], log: list[Row]) -> Iterator[Row]:
    """Yield the scores of the suites that metrics score."""
    found: dict[str, list[tuple[SampleRow, Score]]] = {}
    for item, asked in replies:
        facts = json.loads(item["facts"])
        reply = SampleRow(
            item_id=item["item_id"],
            model=asked["model"],
            repeat=0,
            language=item["language"],
            sample={**item, **facts, "response": asked["text"]},
            error_kind=asked["error_kind"],
            error=asked["error"],
        )
        for name in () if shipped(item["suite"]).strata else shipped(item["suite"]).metric_names:
            unit = metrics()[name]
            if reply.error_kind:
                score = Score(None, "model_error", reply.error_kind, {"error": reply.error})
            elif unit.steps:
                score = _heard(name, reply, log)
            else:
                score = unit.score(reply.sample, {}, options_of(unit, {}))
            found.setdefault(name, []).append((reply, score))
    for name, listed in found.items():
        yield from metric_rows(metrics()[name], listed)


def _verdicts(replies: Iterable[tuple[Row, Row]]) -> list[Row]:
    return [
        verdict_row(ReplyToVerify(item, asked["model"], 0, asked["text"], asked["error"], asked["error_kind"]))
        for item, asked in replies
        if shipped(item["suite"]).strata
    ]


Change = Callable[[Row, Row], Row]


def build(count: int = 6, *, change: Change | None = None, **configured: Any) -> ReportData:
    """Return a run: `count` items for each family, level and language, and three data sets, for three models.

    `change` is given every item and reply and may return the reply otherwise.
    """
    given = settings(**configured)
    items = [row for row in _items(count) if row["suite"] in given.suite_names]
    models = [model.name for model in given.models]
    pairs = [(item, _asked(item, model, reply_of(item, model))) for model in models for item in items]
    if change:
        pairs = [(item, change(item, asked)) for item, asked in pairs]
    log: list[Row] = []
    verdicts = VERDICTS.frame(_verdicts(pairs))
    correct = metrics()["correct"]
    verified = (row for v in verdicts.iter_rows(named=True) for row in scores_of(v, correct))
    scored = [*verified, *_scored(pairs, log)]
    columns = {**REQUESTS.columns, **RESPONSES.columns}
    columns.pop("payload")
    asked = pl.DataFrame([row for _, row in pairs], schema=columns)
    judged = pl.DataFrame(log, schema=columns)
    scores = SCORES.frame(scored)
    return complete(given, ITEMS.frame(items), asked, verdicts=verdicts, scores=scores, judged=judged)


def complete(
    given: Settings,
    items: pl.DataFrame,
    asked: pl.DataFrame,
    *,
    verdicts: pl.DataFrame,
    scores: pl.DataFrame,
    judged: pl.DataFrame,
) -> ReportData:
    """Sum a run's tables up and conclude it, as the flow does."""
    summary, plan = summarise(scores, items), resolve(given)
    once = Observations(scores, items)
    findings = []
    for suite in plan.suites:
        facts, models = circumstances(suite), [*plan.members]
        findings.append(SuiteFindings(suite_headlines(suite.suite, models, once, summary, facts), facts))
    found = analysis.build_results(
        findings,
        Participants(plan.declarations, plan.members, list_crossed(plan)),
        once,
        summary,
        run={"run": "20261105_140233"},
    )
    n = {"asked": asked.height, "cached": int(asked["cached"].sum()), "failed": int(asked["error"].count())}
    manifest = {
        "schema": 1,
        "run": "20261105_140233",
        "started": datetime(2026, 11, 5, 14, 2, 33, tzinfo=UTC).isoformat(),
        "versions": {"python": "3.11.9", "polars": "2.1.0"},
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "units": dict.fromkeys(FAMILIES, 1),
        "sources": dict.fromkeys(FAMILIES, "ab54a98ceb1f0ad2"),
        "sandbox": {
            "wasm": "CPython 3.14.0 in wasmtime 50.0.1",
            "landlock": "off",
            "kotlin": "off (no Java for Kotlin)",
        },
        "identities": {model.name: {"provider": model.provider, "digest": "c0ffee"} for model in given.models},
        "judge_identities": {
            judge.name: {"provider": judge.provider, "digest": "decade"} for judge in given.judges
        },
        "tables": {"items": [{"table": "items", "digest": "d" * 64, "rows": items.height}]},
        "requests": {**n, "answered": asked.height - n["cached"]},
        "wall_s": 14.2,
    }
    return ReportData(
        plan=plan,
        items=ITEMS.check(items),
        replies=asked.join(items, on="item_id", how="left", maintain_order="left"),
        judged=judged,
        verdicts=VERDICTS.check(verdicts),
        scores=SCORES.check(scores),
        summary=summary,
        manifest=manifest,
        results=found,
        verdict=verdict_of(found, plan.policy),
    )


def prompts_run(folder: Path, language: str = "en") -> ReportData:
    """Return a run of two models by two prompts on 30 rows of a file, scored by exact match and by a judge."""
    file = folder / "tickets.jsonl"
    file.write_text('{"question": "?", "answer": "!"}\n', encoding="utf-8")
    suite = {
        "name": "tickets",
        "items": {"data": str(file)},
        "prompts": {"plain": "{{ question }}", "steps": "Think step by step.\n\n{{ question }}"},
        "metrics": {"exact_match": {}, "rubric": {"criteria": "It is friendly.", "scale": [1, 5]}},
        "score": ["exact_match", "rubric"],
        "threshold": 0.7,
    }
    models = [Model(name=name, provider="openai") for name in ("large", "small")]
    given = settings(models=models, suites=[suite], report=Report(language=language))
    blank = dict.fromkeys(ITEMS.columns, "") | {"suite": "tickets", "language": "en", "version": 1, "seed": 0}
    listed = [
        {**blank, "item_id": f"t{n}", "question_id": f"q{n}", "index": n, "answer": str(n + 2),
         "prompt": f"What is {n} + 2?", "facts": format_canonical({"question": f"What is {n} + 2?"})}
        for n in range(30)
    ]  # fmt: skip
    asked, scores = [], []
    for model, share in (("large", 0.8), ("small", 0.4)):
        for prompt in ("plain", "steps"):
            for item in listed:
                name, right = (
                    f"{model} [{prompt}]",
                    chance(model, item["item_id"]) < share + 0.15 * (prompt == "steps"),
                )
                text = (
                    "First I add.\nThen I look.\nThen I look once more.\nAnd again.\n" * (prompt == "steps")
                ) + (str(item["answer"]) if right else "I am not sure.")
                asked.append({**_asked(item, MODELS[0], text), "model": name, "error": None, "text": text})
                asked[-1] |= {
                    "error_kind": None,
                    "finish_reason": "stop",
                    "request_id": f"{name} {item['item_id']}",
                }
                rated = round(chance("rated", name, item["item_id"]) * 4) / 4
                said = {"rating": 1 + round(4 * rated), "reason": "A bare number <b>is</b> not friendly."}
                judge = {"value": rated, "status": "scored", "reason": "", "details": {"ratings": {"rating": said}}}
                key = {"item_id": item["item_id"], "model": name, "repeat": 0, "version": 1, "status": "scored"}
                exact = {
                    "metric": "exact_match",
                    "value": float(right),
                    "reason": "" if right else "another answer",
                }
                scores += [
                    {**key, **exact, "details": "{}"},
                    {**key, "metric": "rubric", "value": rated, "reason": "",
                     "details": format_canonical({"aggregate": "mean", "judges": {JUDGES[0]: judge}})},
                ]  # fmt: skip
    columns = {name: kind for name, kind in {**REQUESTS.columns, **RESPONSES.columns}.items() if name != "payload"}
    return complete(
        given, ITEMS.frame(listed), pl.DataFrame(asked, schema=columns), verdicts=VERDICTS.frame([]),
        scores=SCORES.frame(scores), judged=pl.DataFrame(schema=columns),
    )  # fmt: skip


def hostile(text: str) -> Change:
    """Return a change that makes one model's first reply to a generated item a given text."""

    def change(item: Row, asked: Row) -> Row:
        first = item["suite"] == "basic_control" and item["index"] == 0 and item["level"] == "easy"
        if not (first and item["family"] == "simple_logic" and item["language"] == "en"):
            return asked
        return asked if asked["model"] != MODELS[1] else {**asked, "text": text, "error": None, "error_kind": None}

    return change


def with_reasons(data: ReportData, reason: str) -> ReportData:
    """Return the run with one reason and error text in place of every reason that is not empty."""
    changed = pl.when(pl.col("reason") != "").then(pl.lit(reason)).otherwise("reason").alias("reason")
    return replace(data, scores=data.scores.with_columns(changed))
