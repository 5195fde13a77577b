"""Helpers shared by the metrics of users' suites: the effective reply, and the expected answers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from basic_control.data.errors import InputError, propose_name
from basic_control.data.messages import ROLES, read_messages, write_transcript
from basic_control.data.reading import ends, reply_text, thinking
from basic_control.data.reading.texts import collapse_spaces, unify
from basic_control.data.records import CALLS, RENDERED, TURNS, Message, Sample, Score
from basic_control.data.truncation import CUT
from basic_control.data.usual_columns import read_question
from basic_control.data.values import write_value
from basic_control.metrics._expected import answers_of

# Emphasis by underscores: "_so_", "__so__"
_EMPHASIS = re.compile(r"(?<![\w)\]}])(_{1,3})(?![\s_])([^_\n]*[^_\s])\1(?!\w)")
# How a turn of a conversation begins: "user: "
_TURN = re.compile(rf"(?:{'|'.join(ROLES)}): ")
WORD = r"[^\W\u3040-\u30ff\u3400-\u9fff]"
"""A word character, in scripts that put spaces between words."""

NO_REPLY = Score(0.0, "no_answer", "empty reply")
NO_EXPECTED = Score(None, "not_applicable", "the row has no answer")


def reply(sample: Sample) -> str:
    """Return the reply without its thinking and without what runs on after it, stripped; '' if there is none."""
    answers = " ".join(map(str, list_expected(sample)))
    question = str(sample.get("question") or "")
    return reply_text(str(sample.get("response") or ""), prompt=prompt(sample), question=question, expected=answers)


def program_reply(sample: Sample) -> str:
    """Return a reply that should hold a program, without thinking and tokens: lines may be the prompt's."""
    spoken, _ = thinking.split(str(sample.get("response") or ""), prompt(sample))
    return ends.split_at_end(spoken, prompt(sample), labels=False)[0].strip()


def prompt(sample: Sample) -> str:
    """Return what the reply answers: the prompt as it was sent, else the row's question."""
    return str(sample.get(RENDERED) or sample.get("prompt") or sample.get("question") or "")


def is_cut(sample: Sample) -> bool:
    """Return whether the reply was truncated at its token limit: then only an explicitly stated answer counts."""
    return bool(sample.get(CUT))


def list_expected(sample: Sample) -> list[Any]:
    """Return the row's answers: all of a list, or of a mapping in a known form; none if the row has none."""
    return answers_of(sample.get("answer")).values


def fold(text: str) -> str:
    """Return a text in one notation, with white space collapsed."""
    return collapse_spaces(unify(text))


NUMBER_BEGINS = r"(?<![0-9][.,])(?<![^\w.][.])(?<![^\w)\]%][-–‑])(?<!^[.])(?<!^[-–‑])"
NUMBER_ENDS = r"(?![.,][0-9])"
"""Boundaries of a number: not next to a decimal point or a thousands' comma, nor after a minus sign."""


def build_pattern(text: str) -> str:
    """Return the pattern of a folded text at word boundaries.

    A boundary is required only next to a letter or digit at an end of the text: at the end of '$5', not of '(a)',
    nor for scripts without spaces, such as Chinese. 12 is not part of 12.5, 12,500 or -12.
    """
    before = after = ""
    if re.match(f"-?{WORD}", text):
        before = f"(?<!{WORD})"
    if text[:1].isdigit():
        before += NUMBER_BEGINS
    if re.search(f"{WORD}$", text):
        after = f"(?!{WORD})"
    if text[-1:].isdigit():
        after += NUMBER_ENDS
    return before + r"\s+".join(map(re.escape, text.split(" "))) + after


def strip_emphasis(text: str) -> str:
    """Return a text without the underscores of Markdown's emphasis, `_so_`; those within a word stay."""
    return _EMPHASIS.sub(r"\2", text)


def question(sample: Sample) -> str:
    """Return the row's question, else the whole prompt."""
    return row_question(sample) or str(sample.get(RENDERED) or sample.get("prompt") or "").strip()


def row_question(sample: Sample) -> str:
    """Return the row's question; of a row that no prompt asks, by whatever name it has one."""
    if sample.get(RENDERED) or sample.get("prompt"):
        return str(sample.get("question") or "").strip()
    return read_question(sample)


def conversation(sample: Sample) -> str:
    """Return what was asked and answered as turns, with the calls of tools that the reply made."""
    prompt_text = prompt(sample).strip()
    if not _TURN.match(prompt_text):
        prompt_text = f"user: {prompt_text}"
    turns = sample.get(TURNS)
    if turns:
        reply_text = write_transcript(read_messages(turns))
    else:
        calls = tuple(call for call in sample.get(CALLS) or () if isinstance(call.get("arguments"), Mapping))
        reply_text = write_transcript([Message("assistant", reply(sample), calls)])
    return f"{prompt_text}\n\n{reply_text}"


def reference(sample: Sample) -> str:
    """Return the row's reference, else its answers; '' if it has neither."""
    return str(sample.get("reference") or "").strip() or "; ".join(texts(sample))


def require_column(samples: Iterable[Sample], column: str, metric: str) -> None:
    """Refuse rows none of which has a column that each may lack.

    Raises:
        InputError: it says so.
    """
    columns: dict[str, None] = {}
    for sample in samples:
        if column in sample:
            return
        columns |= dict.fromkeys(sample)
    raise InputError(
        f"{metric}: column {column!r} not found in any row; the rows have {', '.join(columns)}."
        f"{propose_name(column, columns)} Map it under `columns`."
    )


def texts(sample: Sample) -> Iterator[str]:
    """Yield the row's answers as texts."""
    return map(write_value, list_expected(sample))
