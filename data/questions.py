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
from basic_control.data.records import Item
from basic_control.data.tools import parse_json

WHOLE = "*"
"""Placeholder column for prompts that read the whole row."""
_CONTEXTS = ("contexts", "passages", "retrieved_contexts")
_OPTIONS = ("options", "choices")
_STANDARD = frozenset({"question", "messages", *_CONTEXTS, *_OPTIONS})
_REPLY = frozenset({"response", "finish_reason", "tokens_in", "tokens_out", "stated", "tool_calls"})
_EXPECTED = ("answer", "reference", "tests", "outputs", "calls")
_RETRIEVED = "retrieved_contexts"
_NOTHING = format_canonical(None)


class Identity(NamedTuple):
    """Identity of a question: its id (`question_id`), text (`text_digest`) and answer (`answer_digest`).

    The id is the text's digest unless the row declares one. `answer_digest` is '' if nothing is expected.
    """

    question_id: str
    text_digest: str
    answer_digest: str


def identify(item: Item, read: Collection[str] = ()) -> Identity:
    """Return the identity of an item's question; `read` are the columns that the suite's prompts read.

    Source: SPEC 15.
    """
    content = question_content(item.prompt, item.facts, read)
    text = content_id("question", format_canonical(content), " ".join(item.stated_language.split()))
    named = " ".join(part for part in (item.stated_language, item.declared_id) if part) if item.declared_id else ""
    return Identity(named or text, text, _expected(item))


def identify_asked(item: Item, read: Collection[str], column: str = "") -> Identity:
    """Return the identity of an item's question; `column` is that of its conversation, if it is the prompt.

    Whatever its column is called, a conversation is the same question.
    """
    if not column or column == MESSAGES:
        return identify(item, read)
    facts = {name: value for name, value in item.facts.items() if name != column}
    facts[MESSAGES] = item.facts.get(column)
    return identify(replace(item, facts=facts), {*read} - {column})


def identify_text(question: str, answer: str) -> tuple[str, str]:
    """Return the digests of a question text and an expected text, as `identify` does, but faster."""
    return content_id("question", f'{{"question":{format_canonical(_line(question))}}}', ""), _answer_digest(answer)


@lru_cache(1_000)
def _answer_digest(answer: str) -> str:
    told = _line(answer)
    return content_id("answer", f'{{"answer":{format_canonical(format_canonical(told))}}}') if told else ""


def question_content(prompt: str, facts: Mapping[str, Any], read: Collection[str] = ()) -> Any:
    """Return an item's question content, in canonical form.

    A `prompt` from a loader or family is the question itself. Otherwise the content is the row's question,
    contexts, options and messages, and all other columns that the suite's prompts read. Fields returned with a
    recorded reply belong to the reply. If nothing is left, as for a row with only a reply to be judged, it is the
    whole row except the expected answer.
    """
    if EXAM in facts:  # the judge is asked, and the text that it judges is part of its question
        return _tidy({EXAM: facts[EXAM], QUESTIONS: facts.get(QUESTIONS)})
    if prompt:
        return _tidy({"question": prompt})
    given = isinstance(facts.get("response"), str)
    content = {**_standard(facts, read, given=given), **_others(facts, read)}
    if len(content) == 1 and isinstance(only := next(iter(content.values())), str):
        return {"question": only}  # whatever the column's name
    left = {name: value for name, value in facts.items() if name not in _EXPECTED}
    return content or _tidy(left)


def shown_question(prompt: str, facts: Mapping[str, Any]) -> str:
    """Return the question for people: the prompt, else the row's question or contents."""
    if prompt.strip():
        return prompt
    if isinstance(own := facts.get("question"), str):
        return own
    content = question_content("", facts) or {}
    texts = {name: value if isinstance(value, str) else format_canonical(value) for name, value in content.items()}
    return "\n".join(text if len(texts) == 1 else f"{name}: {text}" for name, text in texts.items())


def shown_answer(answer: str, facts: Mapping[str, Any]) -> str:
    """Return the expected answer for people: the reference if the row has no answer."""
    return answer or next((str(facts[name]) for name in ("reference", "long_answer") if facts.get(name)), "")


def _standard(facts: Mapping[str, Any], read: Collection[str], *, given: bool) -> dict[str, Any]:
    """Return the question, its contexts, options and messages, under standard names."""
    question, messages = _tidy(facts.get("question")), _tidy(parse_json(facts.get("messages")))
    match messages:
        case [{"role": "user", "content": text, **rest}] if not rest and question in {None, text}:
            question, messages = text, None
    shown = [name for name in _CONTEXTS if not given or (name in read and name != _RETRIEVED)]
    contexts = next((found for name in shown if (found := _contexts(facts.get(name)))), None)
    options = next((found for name in _OPTIONS if (found := _tidy(facts.get(name)))), None)
    content = {"question": question, "contexts": contexts, "options": options, "messages": messages}
    return {name: value for name, value in content.items() if value is not None}


def _contexts(value: Any) -> Any:
    """Return contexts as a list of texts, or of texts with additional fields."""
    listed = value if isinstance(value, list | tuple) else [value]
    found = [one for one in map(_tidy, listed) if one is not None]
    return [one["text"] if isinstance(one, dict) and [*one] == ["text"] else one for one in found] or None


def _others(facts: Mapping[str, Any], read: Collection[str]) -> dict[str, Any]:
    aside = _STANDARD | _REPLY | {"language"}
    names = (name for name in facts if (name not in _EXPECTED if WHOLE in read else name in read))
    found = {name: _tidy(facts[name]) for name in names if name not in aside}
    return {name: value for name, value in found.items() if value is not None}


def _expected(item: Item) -> str:
    """Return a digest of the expected answer; it ignores the order of alternative answers."""
    facts = item.facts
    answer = facts.get("answer", item.answer) if EXAM not in facts else item.answer
    listed = sorted(
        {format_canonical(one) for one in map(_tidy, answer)} if isinstance(answer, list | tuple) else ()
    )
    found = {"answer": listed[0] if len(listed) == 1 else listed or format_canonical(_tidy(answer))}
    found |= {name: format_canonical(_tidy(facts[name])) for name in _EXPECTED[1:] if facts.get(name) is not None}
    said = {name: value for name, value in found.items() if value != _NOTHING}
    return content_id("answer", format_canonical(said)) if said else ""


def _tidy(value: Any) -> Any:
    """Return a value in canonical form: NFC, white space collapsed, numbers as text, empty values as None."""
    if isinstance(value, Mapping):
        found = {str(key): _tidy(one) for key, one in value.items()}
        return {key: one for key, one in found.items() if one is not None} or None
    if isinstance(value, list | tuple):
        listed = [_tidy(one) for one in value]
        return listed if any(one is not None for one in listed) else None
    return None if value is None else _line(str(value))


def _line(text: str) -> str | None:
    return " ".join((text if text.isascii() else unicodedata.normalize("NFC", text)).split()) or None
