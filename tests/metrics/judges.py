"""Scripted judges: they answer a session's questions from a script and count how often they were asked."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from basic_control.data.labelled_sets import SETS
from basic_control.data.records import Item, Metric, Sample, Score
from basic_control.metrics.analysis.passports import ExamResult, Passport, passports
from basic_control.metrics.exam import LABELS, exam_score
from basic_control.metrics.judging import JudgeRequest, Session, UnansweredRequest, advance, begin, outcome
from tests.helpers.exam import Judge, perfect, sample, say

Script = Callable[[JudgeRequest], str | UnansweredRequest]


def converse(metric: Metric, sample: Sample, script: Script, *, language: str = "en", **options: Any) -> Session:
    """Let a scripted judge answer until the session ends."""
    session = begin(metric, sample, language=language, options=options)
    while session.asks:
        session = advance(session, [script(ask) for ask in session.asks])
    return session


def judged(metric: Metric, sample: Sample, script: Script, **options: Any) -> Score:
    """Return what a scripted judge's session comes to."""
    return outcome(converse(metric, sample, script, **options))


def never(ask: JudgeRequest) -> str:
    """Refuse to be asked at all."""
    raise AssertionError(f"asked {ask.step}/{ask.question.key}, though no call was needed")


def always(reply: str) -> Script:
    """Answer every question alike."""
    return lambda _: reply


def claims(split: Mapping[str, list[str]], verdicts: Mapping[str, str]) -> Script:
    """Split each side as given, and give each claim the verdict of its text."""

    def answer(ask: JudgeRequest) -> str:
        if ask.step == "split":
            return json.dumps({"claims": split[ask.question.key]})
        return json.dumps(
            {
                "verdicts": [
                    {"id": claim["id"], "reason": "", "verdict": verdicts[claim["text"]]}
                    for claim in ask.question.values["claims"]
                ]
            }
        )

    return answer


def earned(items: Iterable[Item], judge: Judge) -> list[Passport]:
    """Have a scripted judge answer questions of known truth; return its passports."""
    return passports(_answered(items, judge))


def _answered(items: Iterable[Item], judge: Judge) -> Iterator[ExamResult]:
    for item in items:
        session = converse(exam_score, sample(item), partial(judge, item), language=item.language)
        yield _result(item, session)


def _result(item: Item, session: Session) -> ExamResult:
    score = outcome(session)
    return ExamResult(
        "judge",
        str(item.facts["exam"]),
        item.language,
        item.item_id,
        score.status,
        json.loads(json.dumps(dict(score.details))),
        item.family if item.family in SETS else "",
    )


def exams(items: Sequence[Item], rate: float, times: int, seed: int = 0) -> Iterator[list[Passport]]:
    """Have a judge take an exam many times that gives another verdict by chance, in a share of all."""
    opened = [(item, begin(exam_score, sample(item), language=item.language)) for item in items]
    for time in range(times):
        rng = Random(f"{seed} {time}")
        results = []
        for item, session in opened:
            replies = [_err(item, ask, rate, rng) for ask in session.asks]
            results.append(_result(item, advance(session, replies)))
        yield passports(results)


def _err(item: Item, ask: JudgeRequest, rate: float, rng: Random) -> str:
    """Say the truth or, by chance, another verdict; of several claims each by its own chance."""
    exam, right = str(item.facts["exam"]), perfect(item, ask)
    if exam == "entails":
        verdicts = json.loads(right)["verdicts"]
        for verdict in verdicts:
            verdict["verdict"] = _miss(rng, rate, LABELS[exam], verdict["verdict"])
        return json.dumps({"verdicts": verdicts})
    if exam == "split":
        claims = [claim for claim in json.loads(right)["claims"] if rng.random() >= rate]
        return json.dumps({"claims": claims or ["It is a building."]})
    if exam == "preference":
        return say(exam, _miss(rng, rate, ("first", "tie", "second"), json.loads(right)["winner"]))
    return say(exam, _miss(rng, rate, LABELS[exam], str(item.facts["truth"])))


def _miss(rng: Random, rate: float, labels: Sequence[str], truth: str) -> str:
    return rng.choice([label for label in labels if label != truth]) if rng.random() < rate else truth
