"""Write what `basic-control demo` shows: invented replies of three models and of a judge that knows the truth.

Run `python -m tests.benchmarks.demo`; writes config/demo/replies.parquet. `MISTAKES` says how often each model is
wrong: `careful` and `steady` pass and cannot be told apart, `hasty` fails.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from basic_control.config.reading import read
from basic_control.config.settings import Settings
from basic_control.data.loading import offer_items
from basic_control.data.plugins import family, loader, metric
from basic_control.data.sentences import split_sentences
from basic_control.data.tables import ITEMS
from basic_control.metrics.contains import holds
from basic_control.metrics.judging import advance, begin
from basic_control.tasks.generate import items_of
from basic_control.tasks.judge import room_of
from basic_control.tasks.plan import Plan, SuitePlan, resolve
from basic_control.tasks.store.samples import merge_columns
from tests.conftest import TOP
from tests.helpers.exam import exam_items, perfect, spoken

FOLDER = TOP / "config" / "demo"
FILE = FOLDER / "replies.parquet"
MISTAKES: Mapping[str, tuple[int, int]] = {"careful": (24, 5), "steady": (11, 3), "hasty": (2, 1)}
"""Of each model: every how manieth reply of a suite is wrong, and which is the first."""
INVENTED = "It is the best known of its kind in the world."
JUDGE = "judge"

Row = dict[str, Any]
Values = Mapping[str, Any]


def list_sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


def is_slip(model: str, number: int) -> bool:
    every, first = MISTAKES[model]
    return number % every == first


def miscalculate(answer: str) -> str:
    """Return a chain of thought whose last result, and final answer, is one too many."""
    *steps, final = answer.splitlines()
    result = final.removeprefix("#### ")
    wrong = str(int(result) + 1)
    # <<30-12=18>>18 candles: the last step's result, within its brackets and behind them.
    last = re.sub(rf"\b{result}\b", wrong, steps[-1])
    return "\n".join([*steps[:-1], last, f"#### {wrong}"])


def cite(facts: Values, number: int, *, is_wrong: bool) -> str:
    """Return an answer with its passage; a wrong one cites another passage, or answers from it."""
    gold, passages = facts["gold_number"], facts["passages"]
    sentences = list_sentences(passages[gold - 1]["text"])
    options = {"raw": False, "case_sensitive": False, "words": True}
    answering = [text for text in sentences if any(holds(text, short, options) for short in facts["short_answers"])]
    statement = [*answering, *sentences][0]
    if not is_wrong:
        return f"{statement} [{gold}]"
    other = gold % len(passages) + 1
    if number % 3:
        return f"{list_sentences(passages[other - 1]['text'])[0]} [{other}]"
    return f"{statement} [{other}]"


def answer_from(facts: Values, number: int, *, is_wrong: bool) -> str:
    """Return the reference; a wrong answer leaves its end out, or says something else in its place."""
    first, *others = list_sentences(facts["reference"])
    if not is_wrong:
        return " ".join([first, *others])
    if number % 3:
        return f"{first} {INVENTED}"
    return INVENTED


def write_replies(suite: SuitePlan, model: str) -> Iterator[tuple[Row, str]]:
    """Yield the items of a suite with a model's reply."""
    drawn = loader(suite.suite.loader).load(offer_items(suite.suite), suite.required)
    rows = ITEMS.frame(items_of(suite.suite, suite.required)).iter_rows(named=True)
    for number, (item, row) in enumerate(zip(drawn, rows, strict=True)):
        is_wrong = is_slip(model, number)
        if suite.name == "basic_control":
            unit = family(item.family)
            misses = unit.near_misses(item) if unit.near_misses else []
            yield row, misses[0] if is_wrong else unit.reference(item)
        elif suite.name == "cot":
            chain = item.facts["reference"]
            yield row, miscalculate(chain) if is_wrong else chain
        else:
            write = cite if suite.name == "citation" else answer_from
            yield row, write(json.loads(row["facts"]), number, is_wrong=is_wrong)


def judge(step: str, values: Values) -> Row:
    """Return a judge's reply: what stands in a text word for word is supported by it."""
    if step == "split":
        return {"claims": list_sentences(values["text"])}
    if step == "entails":
        labels = {claim["id"]: claim["text"] in values["source"] for claim in values["claims"]}
        verdicts = {True: ("The source says so.", "SUPPORTED"), False: ("The source does not say it.", "NEUTRAL")}
        return {
            "verdicts": [
                {"id": claim, "reason": verdicts[label][0], "verdict": verdicts[label][1]}
                for claim, label in labels.items()
            ]
        }
    if step == "support":
        is_held = values["claim"].strip() in values["content"]
        reasons = {True: ("The passage says so.", "ENTAILMENT"), False: ("It speaks of something else.", "NEUTRAL")}
        return dict(zip(("reason", "verdict"), reasons[is_held], strict=True))
    if step == "correctness":
        options = {"raw": False, "case_sensitive": False, "words": True}
        is_right = any(holds(values["answer"], short, options) for short in values["short_answers"])
        reasons = {
            True: ("It names the gold answer.", "CORRECT"),
            False: ("It answers something else.", "INCORRECT"),
        }
        return dict(zip(("reason", "verdict"), reasons[is_right], strict=True))
    sentences = list_sentences(values["response"])
    n_invented = sentences.count(INVENTED)
    rating = 2 - (n_invented > 0) - (n_invented == len(sentences))
    return {
        "reason": f"{len(sentences) - n_invented} of {len(sentences)} sentences are in the contexts.",
        "rating": rating,
    }


def write_judgements(plan: Plan, suite: SuitePlan, row: Row, reply: str) -> Iterator[tuple[str, str]]:
    """Yield what the judge is asked about a reply, and what it says."""
    (panelist,) = plan.judges
    sample = {**merge_columns(row, json.loads(row["facts"])), "response": reply}
    for use in suite.judge_metrics:
        session = begin(metric(use.name), sample, language="en", options=use.options, room=room_of(panelist))
        while session.asks:
            said = [json.dumps(judge(ask.step, ask.question.values)) for ask in session.asks]
            yield from ((ask.messages[-1].content, text) for ask, text in zip(session.asks, said, strict=True))
            session = advance(session, said)


def script(settings: Settings) -> pl.DataFrame:
    """Return all replies of the demo: model, prompt, text; none twice."""
    plan = resolve(settings)
    rows: list[tuple[str, str, str]] = []
    for suite in plan.suites:
        for model in MISTAKES:
            for row, reply in write_replies(suite, model):
                rows.append((model, row["prompt"], reply))
                rows += [(JUDGE, *asked) for asked in write_judgements(plan, suite, row, reply)]
    n_exam = settings.judges[0].exam
    steps = ("split", "entails", "support", "correctness", "groundedness")
    exam = exam_items("en", n_exam, levels=["easy"], steps=steps, twice=False)
    rows += [(JUDGE, prompt, text) for prompt, text in spoken(exam, perfect).items()]
    return pl.DataFrame(rows, ["model", "prompt", "text"], orient="row").unique(maintain_order=True)


def main() -> None:
    """Write the file."""
    script(read(FOLDER / "run.yaml")).write_parquet(FILE, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main()
