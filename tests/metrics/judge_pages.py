"""The pages under tests/fixtures/judges: what a judge is sent, a good reply, and how it is read.

`python -m tests.metrics.judge_pages` writes the prompts again after a template has changed; replies and readings
come from here, so that a changed page is read before it is committed.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.records import Metric, Question, Step, Unparsable
from basic_control.metrics.citation.citation import citation_score
from basic_control.metrics.factual_correctness import factual_correctness
from basic_control.metrics.judging import write, write_repair
from basic_control.metrics.preference import preference
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.metrics.rubric import rubric

FOLDER = Path(__file__).parent.parent / "fixtures" / "judges"

TEXTS: dict[str, dict[str, Any]] = {
    "en": {
        "question": "When did the Titanic sink?",
        "response": "The Titanic sank on 15 April 1912. She was the fastest ship of her time.",
        "reference": "RMS Titanic sank on 15 April 1912.",
        "claims": ["The Titanic sank on 15 April 1912.", "The Titanic was the fastest ship of her time."],
        "short": ["15 April 1912"],
        "reason": "The date is given, the speed is not.",
        "dated": "The date is the same.",
        "silent": "Nothing is said of her speed.",
        "agrees": "The answer says so.",
        "criterion": "It gives the date and nothing that is not known.",
        "other": "She sank in April 1912.",
        "better": "Only the first gives the day.",
    },
    "ru": {
        "question": "Когда затонул «Титаник»?",
        "response": "«Титаник» затонул 15 апреля 1912 года. Он был самым быстрым кораблём своего времени.",
        "reference": "Пароход «Титаник» затонул 15 апреля 1912 года.",
        "claims": [
            "«Титаник» затонул 15 апреля 1912 года.",
            "«Титаник» был самым быстрым кораблём своего времени.",
        ],
        "short": ["15 апреля 1912 года"],
        "reason": "Дата названа, о скорости ничего нет.",
        "dated": "Дата совпадает.",
        "silent": "О скорости ничего не сказано.",
        "agrees": "В ответе так и сказано.",
        "criterion": "Названа дата, и нет ничего неизвестного.",
        "other": "Он затонул в апреле 1912 года.",
        "better": "День назван только в первом.",
    },
    "zh": {
        "question": "泰坦尼克号何时沉没？",
        "response": "泰坦尼克号于1912年4月15日沉没。它是当时最快的船。",
        "reference": "皇家邮轮泰坦尼克号于1912年4月15日沉没。",
        "claims": ["泰坦尼克号于1912年4月15日沉没。", "泰坦尼克号是当时最快的船。"],
        "short": ["1912年4月15日"],
        "reason": "给出了日期，但没有提到速度。",
        "dated": "日期一致。",
        "silent": "没有提到速度。",
        "agrees": "回答中正是这样说的。",
        "criterion": "给出日期，且不含未知内容。",
        "other": "它于1912年4月沉没。",
        "better": "只有第一个给出了具体日期。",
    },
}


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its name, its step and question, a good reply."""

    name: str
    language: str
    step: Step
    question: Question
    reply: str


def _json(**values: Any) -> str:
    return json.dumps(values, ensure_ascii=False)


def _step(metric: Metric, name: str) -> Step:
    return next(step for step in metric.steps if step.name == name)


def pages() -> Iterator[Page]:
    """Yield the page of each judge prompt in each language."""
    for language, one in TEXTS.items():
        claims = [{"id": str(n), "text": text} for n, text in enumerate(one["claims"], 1)]
        verdicts = [
            {"id": "1", "reason": one["dated"], "verdict": "SUPPORTED"},
            {"id": "2", "reason": one["silent"], "verdict": "NEUTRAL"},
        ]
        factual, grounded, cited = factual_correctness, response_groundedness, citation_score
        support = {"context": one["response"]}
        asked = {
            "claims_split": (
                _step(factual, "split"), {"text": one["response"], "question": one["question"]},
                _json(claims=one["claims"]),
            ),
            "claims_entails": (
                _step(factual, "entails"), {"claims": claims, "source": one["reference"]}, _json(verdicts=verdicts),
            ),
            "groundedness_rate": (
                _step(grounded, "rate"),
                {"question": one["question"], "response": one["response"], "contexts": [one["reference"]]},
                _json(reason=one["reason"], rating=1),
            ),
            "citation_support": (
                _step(cited, "support"),
                {**support, "kind": "passage", "content": one["reference"], "claim": one["claims"][0]},
                _json(reason=one["dated"], verdict="ENTAILMENT"),
            ),
            "citation_support_answer": (
                _step(cited, "support"),
                {**support, "kind": "answer", "content": one["response"], "claim": one["claims"][1]},
                _json(reason=one["agrees"], verdict="ENTAILMENT"),
            ),
            "citation_correctness": (
                _step(cited, "correctness"),
                {"question": one["question"], "short_answers": one["short"], "long_answer": one["reference"],
                 "answer": one["response"]},
                _json(reason=one["dated"], verdict="CORRECT"),
            ),
            "rubric_rate": (
                _step(rubric, "rate"),
                {"question": one["question"], "reference": one["reference"], "response": one["response"],
                 "criterion": one["criterion"], "lo": 1, "hi": 5},
                _json(reason=one["reason"], rating=3),
            ),
            "preference_compare": (
                _step(preference, "compare"),
                {"question": one["question"], "reference": "", "criteria": "",
                 "first": one["response"], "second": one["other"]},
                _json(reason=one["better"], winner="first"),
            ),
        }  # fmt: skip
        for name, (step, values, reply) in asked.items():
            key = "ab" if name.startswith("preference") else "key"
            yield Page(f"{language}_{name}", language, step, Question(key, values), reply)


def show(page: Page) -> str:
    """Write a page: system and user message, the reply and its reading, and the repair of a cut reply."""
    ask = write(page.step, page.question, page.language, {"prompt": ""})
    read: Any = page.step.parse(page.question, page.reply)
    cut = page.reply[:-2]
    with pytest.raises(Unparsable) as unreadable:
        page.step.parse(page.question, cut)
    repair = write_repair(ask, cut, str(unreadable.value), page.language)
    reading = json.dumps(asdict(read) if is_dataclass(read) else read, ensure_ascii=False, indent=2)
    parts = {
        "system": ask.messages[0].content,
        "user": ask.messages[1].content,
        "good reply": page.reply,
        "read as": reading,
        "cut reply": repair.messages[2].content,
        "repair request": repair.messages[3].content,
    }
    return "\n".join(f"===== {name} =====\n{text}" for name, text in parts.items()) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for written in pages():
        (FOLDER / f"{written.name}.txt").write_text(show(written), encoding="utf-8")
