"""Identity of a question: an id independent of the prompt, and digests of its text and answer.

A prompt's template, a recorded reply, the file and the position in it are not part of a question, so that runs with
the same questions pair by `question_id`, whatever the model, the prompt and the source of the rows.
"""

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from basic_control.data.draw import content_id, format_canonical
from basic_control.data.exam import EXAM, QUESTIONS
from basic_control.data.messages import MESSAGES
from basic_control.data.notations import parse_cell
from basic_control.data.records import Item

WHOLE = "*"
"""Placeholder column for prompts that read the whole row."""
_CONTEXTS = ("contexts", "passages", "retrieved_contexts")
_OPTIONS = ("options", "choices")
_STANDARD = frozenset({"question", "messages", *_CONTEXTS, *_OPTIONS})
_REPLY = frozenset({"response", "finish_reason", "tokens_in", "tokens_out", "stated", "tool_calls"})
_EXPECTED = ("answer", "reference", "tests", "outputs", "calls", "checks")
_RETRIEVED = "retrieved_contexts"
_NOTHING = format_canonical(None)


class Identity(NamedTuple):
    """Identity of a question: its id (`question_id`), text (`text_digest`) and answer (`answer_digest`).

    The id is the text's digest unless the row declares one. `answer_digest` is '' if nothing is expected.
    """

    question_id: str
    text_digest: str
    answer_digest: str


def identify_question(item: Item, read: Collection[str] = ()) -> Identity:
    """Return the identity of an item's question; `read` are the columns that the suite's prompts read.

    Source: SPEC 15.
    """
    content = build_content(item.prompt, item.facts, read)
    text = content_id("question", format_canonical(content), " ".join(item.stated_language.split()))
    question_id = text
    if item.declared_id:
        question_id = " ".join(filter(None, (item.stated_language, item.declared_id)))
    return Identity(question_id, text, _digest_expected(item))


def identify_asked(item: Item, read: Collection[str], column: str = "") -> Identity:
    """Return the identity of an item's question; `column` is that of its conversation, if it is the prompt.

    Whatever its column is called, a conversation is the same question.
    """
    if not column or column == MESSAGES:
        return identify_question(item, read)
    facts = dict(item.facts)
    facts[MESSAGES] = facts.pop(column, None)
    return identify_question(replace(item, facts=facts), {*read} - {column})


def identify_text(question: str, answer: str) -> tuple[str, str]:
    """Return the digests of a question text and an expected text, as `identify` does, but faster."""
    content = f'{{"question":{format_canonical(_tidy_text(question))}}}'
    return content_id("question", content, ""), _digest_answer(answer)


@lru_cache(1_000)
def _digest_answer(answer: str) -> str:
    text = _tidy_text(answer)
    if not text:
        return ""
    # Canonical JSON in canonical JSON, as `_digest_expected` makes it of a row.
    return content_id("answer", f'{{"answer":{format_canonical(format_canonical(text))}}}')


def build_content(prompt: str, facts: Mapping[str, Any], read: Collection[str] = ()) -> Any:
    """Return an item's question content, in canonical form.

    A `prompt` from a loader or family is the question itself. Otherwise the content is the row's question,
    contexts, options and messages, and all other columns that the suite's prompts read. Fields returned with a
    recorded reply belong to the reply. If nothing is left, as for a row with only a reply to be judged, it is the
    whole row except the expected answer.
    """
    if EXAM in facts:  # the judge is asked, and the text that it judges is part of its question
        return _tidy_value({EXAM: facts[EXAM], QUESTIONS: facts.get(QUESTIONS)})
    if prompt:
        return _tidy_value({"question": prompt})
    has_reply = isinstance(facts.get("response"), str)
    content = {**_collect_standard(facts, read, has_reply=has_reply), **_collect_other_columns(facts, read)}
    if len(content) == 1:
        value = next(iter(content.values()))
        if isinstance(value, str):
            return {"question": value}  # whatever the column's name
    if content:
        return content
    return _tidy_value({name: value for name, value in facts.items() if name not in _EXPECTED})


def format_question(prompt: str, facts: Mapping[str, Any]) -> str:
    """Return the question for people: the prompt, else the row's question or contents."""
    if prompt.strip():
        return prompt
    question = facts.get("question")
    if isinstance(question, str):
        return question
    content = build_content("", facts) or {}
    lines = []
    for name, value in content.items():
        text = value if isinstance(value, str) else format_canonical(value)
        if len(content) > 1:
            text = f"{name}: {text}"
        lines.append(text)
    return "\n".join(lines)


def format_expected(answer: str, facts: Mapping[str, Any]) -> str:
    """Return the expected answer for people: the reference if the row has no answer."""
    return answer or str(facts.get("reference") or facts.get("long_answer") or "")


def _collect_standard(facts: Mapping[str, Any], read: Collection[str], *, has_reply: bool) -> dict[str, Any]:
    """Return the question, its contexts, options and messages, under standard names."""
    question, messages = _tidy_value(facts.get("question")), _tidy_value(parse_cell(facts.get("messages")))
    # A conversation of one question is that question.
    match messages:
        case [{"role": "user", "content": text, **rest}] if not rest and question in {None, text}:
            question, messages = text, None
    # What a recorded reply was made from is the reply's, unless a prompt reads it.
    context_columns = [name for name in _CONTEXTS if not has_reply or (name in read and name != _RETRIEVED)]
    contexts = next(filter(None, map(_tidy_contexts, map(facts.get, context_columns))), None)
    options = next(filter(None, map(_tidy_value, map(facts.get, _OPTIONS))), None)
    content = {"question": question, "contexts": contexts, "options": options, "messages": messages}
    return _drop_empty(content)


def _tidy_contexts(value: Any) -> Any:
    """Return contexts as a list of texts, or of texts with additional fields."""
    contexts = []
    if not isinstance(value, list | tuple):
        value = [value]
    for context in value:
        tidy = _tidy_value(context)
        if isinstance(tidy, dict) and [*tidy] == ["text"]:
            tidy = tidy["text"]
        if tidy is not None:
            contexts.append(tidy)
    return contexts or None


def _collect_other_columns(facts: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    """Return the columns that prompts read and that have no standard name."""
    names = {*read}
    if WHOLE in read:
        names = {*facts} - {*_EXPECTED}
    names -= _STANDARD | _REPLY | {"language"}
    return _drop_empty({name: _tidy_value(value) for name, value in facts.items() if name in names})


def _drop_empty(columns: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in columns.items() if value is not None}


def _digest_expected(item: Item) -> str:
    """Return a digest of the expected answer; it ignores the order of alternative answers."""
    facts = item.facts
    # The item of a judge's exam holds the text that is judged as facts: its answer is not what is expected.
    answer = item.answer
    if EXAM not in facts:
        answer = facts.get("answer", answer)
    alternatives: list[str] = []
    if isinstance(answer, list | tuple):
        alternatives = sorted({format_canonical(_tidy_value(alternative)) for alternative in answer})
    expected: dict[str, Any] = {"answer": alternatives or format_canonical(_tidy_value(answer))}
    if len(alternatives) == 1:
        expected["answer"] = alternatives[0]
    for name in _EXPECTED[1:]:
        expected[name] = format_canonical(_tidy_value(facts.get(name)))
    expected = {name: value for name, value in expected.items() if value != _NOTHING}
    if not expected:
        return ""
    return content_id("answer", format_canonical(expected))


def _tidy_value(value: Any) -> Any:
    """Return a value in canonical form: NFC, white space collapsed, numbers as text, empty values as None."""
    if isinstance(value, Mapping):
        return _drop_empty({str(key): _tidy_value(member) for key, member in value.items()}) or None
    if isinstance(value, list | tuple):
        members = [_tidy_value(member) for member in value]
        return None if members.count(None) == len(members) else members
    return None if value is None else _tidy_text(str(value))


def _tidy_text(text: str) -> str | None:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.split()) or None
