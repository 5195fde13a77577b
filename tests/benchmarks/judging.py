"""Measure our own work for each judge's call: rendering, parsing, scoring; no client, no network.

`python -m tests.benchmarks.judging [samples]` prints calls and samples for each second on one core. The judge is a
table of ready replies, so that nearly all of the time is the engine's. Wanted: 2 000 calls/s or more.
"""

import sys
import time
from itertools import cycle, islice
from typing import Any

from basic_control.data.loaders import natural_questions, retrieved
from basic_control.data.plugins import metrics
from basic_control.metrics.judging import JudgeRequest, Session, advance, begin
from basic_control.metrics.panels import combine

_REASON = "The source says so in its first sentence, and nothing in it speaks against the claim. " * 2


def reply(ask: JudgeRequest) -> str:
    """Answer any step well."""
    if ask.step == "split":
        return '{"claims": ["The first claim is here.", "The second claim is here.", "A third claim is here."]}'
    if ask.step == "entails":
        verdicts = (
            f'{{"id": "{claim["id"]}", "reason": "{_REASON}", "verdict": "SUPPORTED"}}'
            for claim in ask.question.values["claims"]
        )
        return f'{{"verdicts": [{", ".join(verdicts)}]}}'
    if ask.step == "rate":
        return f'{{"reason": "{_REASON}", "rating": 1}}'
    verdict = "CORRECT" if ask.step == "correctness" else "ENTAILMENT"
    return f'Here it is:\n```json\n{{"reason": "{_REASON}", "verdict": "{verdict}",}}\n```'


def samples(name: str, count: int) -> list[dict[str, Any]]:
    """Repeat the shipped samples, each with an answer of its own."""
    if name == "citation":
        rows = [{**one.facts, "language": one.language} for one in natural_questions.read_questions()]
        answer = (
            "{0} it was, as the first passage says [1]. Others say the same of it [2][3]. Item {1} ends here [1]."
        )
        given = [{**row, "response": answer} for row in rows]
        return [
            {**row, "response": answer.format(row["short_answers"][0], n)}
            for n, row in enumerate(islice(cycle(given), count))
        ]
    rows = [{**one.facts, "language": one.language} for one in retrieved.read_questions()]
    return [
        {**row, "response": f"{row['reference']} This is item {n}."}
        for n, row in enumerate(islice(cycle(rows), count))
    ]


def run(name: str, count: int) -> tuple[int, float]:
    """Score `count` samples with one judge, in waves; return calls and seconds."""
    unit, given = metrics()[name], samples(name, count)
    start = time.perf_counter()
    sessions: list[Session] = [begin(unit, sample, language=sample["language"]) for sample in given]
    while any(session.asks for session in sessions):
        sessions = [advance(one, [reply(ask) for ask in one.asks]) if one.asks else one for one in sessions]
    scores = [combine({"judge": one}) for one in sessions]
    elapsed = time.perf_counter() - start
    if any(score.value is None for score in scores):
        raise SystemExit(f"{name}: a sample was not scored")
    return sum(one.n_calls for one in sessions), elapsed


def main() -> None:
    """Print a line for each metric."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name in ("factual_correctness", "response_groundedness", "citation"):
        calls, seconds = run(name, count)
        print(f"{name:24} {calls / seconds:8.0f} calls/s {count / seconds:8.0f} samples/s   ({calls} calls)")


if __name__ == "__main__":
    main()
