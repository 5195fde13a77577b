"""Judges that decide: the questions that they are put in place of a prompt, and what their probabilities say.

The text of a step's prompt becomes the instructions; what its fences hold, the judged texts, becomes the state. A
line `- LABEL: …` of the prompt describes a label.

Source: SPEC 21.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from functools import partial
from itertools import filterfalse
from operator import itemgetter
from typing import Any

from basic_control.data.records import Question, Unparsable
from basic_control.data.typed import Typed, TypedQuestion
from basic_control.prompts import fill, is_template_name, render

REFUSED = "the judge declined to answer"
_SUM = 0.01
"""How far a question's probabilities may add up to other than 1: servers round them."""
_ALONE = "1"
"""The id of an entry that is asked about alone, so that equal texts are an equal question."""

# As in: - NEUTRAL: the source does not settle the claim.
# A label and what it means, in a prompt: "- CORRECT: it says the same"
_DESCRIBED = re.compile(r"^- (?P<label>\w+) ?[:：] ?(?P<line>.+)$", re.MULTILINE)
# More than one empty line: "\\n\\n\\n"
_BLANKS = re.compile(r"\n{3,}")
_MARK = "mark"
_CODE_LENGTH = 12


def pose(typed: Typed, question: Question, part: str, *, prompt: str, language: str, mark: str) -> TypedQuestion:
    """Return the question about one part of a step's question, from the step's prompt as it is filled.

    A user's own prompt that fences nothing in is the state as a whole.

    Raises:
        InputError: no prompt in that language, or a prompt of the user's own that cannot be filled.
    """
    values = dict(typed.part(question.values, part))
    if typed.entries:
        (entry,) = values[typed.entries]
        values[typed.entries] = [{**entry, "id": _ALONE}]
    text = fill(prompt, language, {**values, _MARK: mark})
    # As in: <claim-1-0f3a>\nThe ship sank.\n</claim-1-0f3a>
    fence = re.compile(rf"<(?P<name>[\w-]+)-{mark}>\s*(?P<text>.*?)\s*</(?P=name)-{mark}>", re.DOTALL)
    fences = [*fence.finditer(text)]
    state = {match["name"]: match["text"] for match in fences}
    if is_template_name(prompt) and fences:
        # What follows the texts is the form of a written reply.
        text = text[: fences[-1].end()]
    lines = fence.sub(r"<\g<name>>", text).splitlines()
    instructions = "\n".join(filterfalse(partial(_is_form, typed=typed), lines))
    if not state:
        state, instructions = {"text": instructions.strip()}, render("judging/whole", language)
    described = dict(_DESCRIBED.findall(instructions))
    labels = {label: described.get(label) or typed.descriptions.get(label, "") for label in typed.labels}

    def drop_label(match: re.Match[str]) -> str:
        return "" if match["label"] in labels else match[0]

    instructions_alone = _DESCRIBED.sub(drop_label, instructions)
    return TypedQuestion(typed.kind, _BLANKS.sub("\n\n", instructions_alone).strip(), state, labels)


def _is_form(line: str, typed: Typed) -> bool:
    """Return whether a line of a prompt shows the JSON of a written reply."""
    return "{" in line and f'"{typed.name}"' in line


def read_probabilities(text: str, labels: Mapping[str, str]) -> dict[str, float]:
    """Read a deciding judge's answer: the probability of each label, renormalised to add up to 1.

    Raises:
        Unparsable: it declined; a label lacks one, is unknown or there twice; or they are no probabilities.
    """
    answer: Any = json.loads(text)
    if answer.get("refusal"):
        raise Unparsable(REFUSED)
    pairs = answer["probabilities"]
    names = [*map(itemgetter(0), pairs)]
    # A boolean is no label, whatever it is called.
    if {*map(type, names)} != {str} or sorted(names) != sorted(labels):
        raise Unparsable(f"probabilities of {_list(names)}; expected one for each of {_list(labels)}")
    probabilities: dict[str, float] = {}
    for name, value in pairs:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:
            raise Unparsable(f"the probability of {name} is {str(value)[:40]}; expected a number from 0 to 1")
        probabilities[name] = float(value)
    total = math.fsum(probabilities.values())
    if abs(total - 1) > _SUM + 1e-9:
        raise Unparsable(f"the probabilities add up to {total:.4g}; expected 1, within {_SUM}")
    return {label: probabilities[label] / total for label in labels}


def _list(names: Any) -> str:
    return ", ".join(str(name)[:40] for name in names) or "none"


def fence_code(values: Mapping[str, Any]) -> str:
    """Return the code that closes a prompt's fences: a hash of its contents that does not occur in them.

    A judged text cannot contain it: it would have to contain a hash of itself. Equal prompts have equal codes, so
    that the reply cache recognises them.
    """
    text = json.dumps(values, ensure_ascii=False, sort_keys=True, default=str)
    code = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_CODE_LENGTH]
    while code in text:
        code = hashlib.sha256(code.encode()).hexdigest()[:_CODE_LENGTH]
    return code
