"""Set the same question in another layout: a label, a line for each sentence; what is asked stays word for word.

Source: SPEC 17.
"""

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from generators.twins.base import Refused, Renewed

VERSION = 1
LABELS = {
    "en": ("Q:", "Question:", "Problem.", "Task:"),
    "ru": ("Вопрос:", "Задача.", "Задание:"),
    "zh": ("问题：", "题目："),
}
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")


def renew(facts: Mapping[str, Any], answer: str, language: str, rng: Random) -> Renewed:
    """Make a twin in another layout.

    Raises:
        Refused: the row has no question.
    """
    question = facts.get("question")
    if not isinstance(question, str):
        raise Refused("a row without a question")
    label = rng.choice(LABELS.get(language, LABELS["en"]))
    lines = _SENTENCE.split(question.strip()) if rng.random() < 0.5 else [question.strip()]  # noqa: PLR2004 - a coin
    return Renewed(answer, {"question": "\n".join([label, *lines])})
