"""The judges' exam: labelled questions that ship as data, their form as items, and the marking of splits.

The facts of an exam's item: `exam` (the judged step), `questions` (each with `key` and the `values` of the step's
prompt), `truth` (a label; a label for each claim's id; or the spellings of each fact of a text), `kind` (how the
question was made), and `twice` if each question is asked again. In a set that people labelled, `folded` maps
verdicts to the set's labels.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from basic_control.data.draw import content_id, format_canonical
from basic_control.data.records import Item

Step = Literal[
    "split",
    "entails",
    "support",
    "correctness",
    "groundedness",
    "rubric",
    "preference",
    "answers_question",
    "useful",
]
STEPS: tuple[Step, ...] = get_args(Step)
"""The judged steps, by the names of their exams."""
EXAM, QUESTIONS, TRUTH, KIND, FOLDED, TWICE = "exam", "questions", "truth", "kind", "folded", "twice"


class ExamPart(NamedTuple):
    """A file of questions about some steps; a change of the file raises its version, which seeds the draw."""

    version: int
    file: Path
    steps: tuple[Step, ...]


_SAMPLES = Path(__file__).parent / "samples"
# A file for each version: what judges were asked of the others, and paid for, goes on counting.
PARTS = (
    ExamPart(1, _SAMPLES / "judges_exam.parquet", STEPS[:7]),
    ExamPart(2, _SAMPLES / "judges_exam_2.parquet", STEPS[7:]),
)
MOST = 40
"""Questions of each truth in a file, for each step, language and level."""

_LETTER = "0-9A-Za-zА-яЁё"


def part_of(step: str) -> ExamPart:
    """Return the part of the exam that has a step's questions."""
    return next(part for part in PARTS if step in part.steps)


def edition(step: str) -> str:
    """Return version and digest of a step's questions; passports are kept by it."""
    part = part_of(step)
    return f"{part.version} {_digest(part.file)}"


@cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def exam_item(
    step: str,
    language: str,
    kind: str,
    truth: Any,
    questions: Sequence[Mapping[str, Any]],
    *,
    source: str = "",
    folded: Mapping[str, str] | None = None,
    twice: bool = False,
) -> Item:
    """Return an item that asks a judged step one or more questions.

    Its prompt, for people, is the questions' texts; its family is the labelled set `source`, or else the step.
    """
    # A pair of responses is asked about in both orders.
    keys = ("ab", "ba") if step == "preference" else [str(n) for n in range(1, len(questions) + 1)]
    keyed = [{"key": key, "values": dict(values)} for key, values in zip(keys, questions, strict=True)]
    texts: dict[str, None] = {}
    for values in questions:
        texts.update(dict.fromkeys(_texts(values)))
    labels = truth.values() if isinstance(truth, Mapping) else [truth]
    return Item(
        prompt="\n\n".join(texts),
        answer=", ".join(map(str, labels)),
        facts={
            EXAM: step,
            QUESTIONS: keyed,
            TRUTH: truth,
            KIND: kind,
            FOLDED: dict(folded or {}),
            TWICE: twice,
            "response": "",
        },
        # The same question in a short exam, which asks nothing twice.
        item_id=content_id(step, format_canonical(keyed)),
        family=source or step,
        language=language,
    )


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts within a question's values, without the ids of claims."""
    if isinstance(value, str):
        if len(value) > 1:
            yield value
        return
    if isinstance(value, Mapping):
        value = value.values()
    if isinstance(value, Iterable):
        for part in value:
            yield from _texts(part)


def has_value(text: str, spellings: Sequence[str]) -> bool:
    """Return whether a value occurs in a text as a whole, not within a longer number or word."""
    # '25' is in 'in 25 days', and not in 'in 1925'.
    value = "|".join(map(re.escape, spellings))
    return bool(re.search(rf"(?<![{_LETTER}])(?:{value})(?![{_LETTER}])", text, re.IGNORECASE))


def mark_split(facts: Sequence[Sequence[str]], claims: Sequence[str]) -> dict[str, int]:
    """Count how a split treated a text's facts, each given by the spellings of its value.

    `alone`: in a claim of its own; `joined`: only in claims with other facts; `missing`; `extra`: claims without a
    fact, among all `claims`.
    """
    alone: set[int] = set()
    anywhere: set[int] = set()
    n_extra = 0
    for claim in claims:
        numbers = [n for n, spellings in enumerate(facts) if has_value(claim, spellings)]
        anywhere.update(numbers)
        if len(numbers) == 1:
            alone.update(numbers)
        n_extra += not numbers
    return {
        "facts": len(facts),
        "alone": len(alone),
        "joined": len(anywhere - alone),
        "missing": len(facts) - len(anywhere),
        "extra": n_extra,
        "claims": len(claims),
    }
