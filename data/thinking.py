"""Separation of a model's thinking from its answer."""

import re

from data.patterns import pattern

_TAG = pattern(
    r"(?P<start>^[^\S\n]*)?<(?P<close>/?)(?P<name>think|thinking|thought|reasoning)>(?P<end>(?=[^\S\n]*(?:\n|\Z)))?",
    re.IGNORECASE | re.MULTILINE,
)


def split(text: str) -> tuple[str, str]:
    """Separate thinking from the answer.

    text -> (answer, reasoning). Thinking is the text between `<think>`, `<thinking>`, `<thought>` or `<reasoning>`
    at the start of a line and its closing tag; if unclosed, it runs to the end. A closing tag that starts or ends a
    line without an opening tag closes thinking that the chat template opened. Other tags are text. A text without
    thinking is returned unchanged; linear in its length.
    """
    answers: list[str] = []
    thoughts: list[str] = []
    opened, position = "", 0
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if not tag["close"]:
            if not opened and tag["start"] is not None:
                answers.append(text[position : tag.start()])
                opened, position = name, tag.end()
        elif name == opened:
            thoughts.append(text[position : tag.start()])
            opened, position = "", tag.end()
        elif not opened and not thoughts and (tag["start"] is not None or tag["end"] is not None):
            thoughts.append(text[: tag.start()])
            answers.clear()
            position = tag.end()
    if not thoughts and not opened:
        return text, ""
    (thoughts if opened else answers).append(text[position:])
    return "".join(answers).strip(), "\n".join(kept for thought in thoughts if (kept := thought.strip()))
