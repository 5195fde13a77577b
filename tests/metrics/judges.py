"""Scripted judges: they answer a session's questions from a script and count how often they were asked."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from data.labelled_sets import SETS
from data.plugins import metric as unit_of
from data.records import Item, Metric, Sample, Score
from metrics.judging import Ask, Failed, Session, advance, begin, outcome
from metrics.passports import Passport, Sitting, passports
from tests.helpers.exam import Judge, sample

Script = Callable[[Ask], str | Failed]


def converse(metric: Metric, sample: Sample, script: Script, *, language: str = "en", **options: Any) -> Session:
    """Let a scripted judge answer until the session ends."""
    session = begin(metric, sample, language=language, options=options)
    while session.asks:
        session = advance(session, [script(ask) for ask in session.asks])
    return session


def judged(metric: Metric, sample: Sample, script: Script, **options: Any) -> Score:
    """Return what a scripted judge's session comes to."""
    return outcome(converse(metric, sample, script, **options))


def never(ask: Ask) -> str:
    """Refuse to be asked at all."""
    raise AssertionError(f"asked {ask.step}/{ask.question.key}, though no call was needed")


def always(reply: str) -> Script:
    """Answer every question alike."""
    return lambda _: reply


def claims(split: Mapping[str, list[str]], verdicts: Mapping[str, str]) -> Script:
    """Split each side as given, and give each claim the verdict of its text."""

    def answer(ask: Ask) -> str:
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
    found = []
    for item in items:
        unit = unit_of(f"exam_{item.facts['exam']}")
        session = converse(unit, sample(item), lambda ask, one=item: judge(one, ask), language=item.language)  # type: ignore[misc] # mypy sees no type for defaults of a lambda
        score = unit.score(session.sample, session.found, session.options) if not session.failure else None
        found.append(
            Sitting(
                "judge",
                str(item.facts["exam"]),
                item.language,
                score.status if score else "judge_failed",
                json.loads(json.dumps(dict(score.details))) if score else {},
                session.n_repairs,
                item.family if item.family in SETS else "",
            )
        )
    return passports(found)
