"""Scripted judges: they answer a session's questions from a script and count how often they were asked."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

from data.labelled_sets import SETS
from data.plugins import metric as unit_of
from data.records import Item, Metric, Sample, Score
from metrics.analysis.passports import ExamResult, Passport, passports
from metrics.exam import LABELS
from metrics.judging import JudgeRequest, Session, UnansweredRequest, advance, begin, outcome
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
        unit = unit_of(f"exam_{item.facts['exam']}")
        session = converse(unit, sample(item), lambda ask, one=item: judge(one, ask), language=item.language)
        yield _result(item, session)


def _result(item: Item, session: Session) -> ExamResult:
    unit = session.metric
    score = unit.score(session.sample, session.found, session.options) if not session.failure else None
    return ExamResult(
        "judge",
        str(item.facts["exam"]),
        item.language,
        item.item_id,
        score.status if score else "judge_failed",
        json.loads(json.dumps(dict(score.details))) if score else {},
        session.n_repairs,
        item.family if item.family in SETS else "",
    )


def exams(items: Sequence[Item], rate: float, times: int, *, fixed: bool, seed: int = 0) -> list[list[Passport]]:
    """Have a judge take an exam many times that errs at random in a share of all its replies.

    `fixed`: whether it errs hangs on the words that it is asked, so that it errs alike when asked again.
    """
    opened = [
        (item, begin(unit_of(f"exam_{item.facts['exam']}"), sample(item), language=item.language)) for item in items
    ]
    made = []
    for time in range(times):
        erring = partial(_erring, rate=rate, time=f"{seed} {time}", fixed=fixed)
        ended = [(item, advance(one, [erring(item, ask) for ask in one.asks])) for item, one in opened]
        made.append(passports(_result(item, session) for item, session in ended))
    return made


def _erring(item: Item, ask: JudgeRequest, *, rate: float, time: str, fixed: bool) -> str:
    """Say the truth or, by chance, another verdict; of several claims each by its own chance."""
    words = ask.messages[-1].content if fixed else ask.question.key
    rng = Random(f"{time} {item.item_id} {words}")
    exam, right = str(item.facts["exam"]), perfect(item, ask)
    if exam == "entails":
        listed = json.loads(right)["verdicts"]
        verdicts = [{**one, "verdict": _other(rng, rate, exam, one["verdict"])} for one in listed]
        return json.dumps({"verdicts": verdicts})
    if exam == "split":
        claims = [one for one in json.loads(right)["claims"] if rng.random() >= rate]
        return json.dumps({"claims": claims or ["It is a building."]})
    if exam == "preference":
        winner = json.loads(right)["winner"]
        others = [one for one in ("first", "tie", "second") if one != winner]
        return say(exam, rng.choice(others) if rng.random() < rate else winner)
    return say(exam, _other(rng, rate, exam, str(item.facts["truth"])))


def _other(rng: Random, rate: float, exam: str, truth: str) -> str:
    return rng.choice([one for one in LABELS[exam] if one != truth]) if rng.random() < rate else truth
