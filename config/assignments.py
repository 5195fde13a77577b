"""Assignments `path.to.key=value` over a configuration, which remember what the user typed to make them."""

import json
import re
from typing import Any, Self

from basic_control.config.addresses import mask_secrets

SECRET = re.compile(r"api_?key|password|secret", re.IGNORECASE)
"""A key whose value messages do not repeat, such as `api_key`: somebody may have written the secret there."""
LONGEST = 500
"""Characters of an assignment in a message."""


class Assignment(str):
    """An assignment that an option stands for; `typed` is that option as the user wrote it, such as --data FILE."""

    __slots__ = ("typed",)
    typed: str

    def __new__(cls, text: str, typed: str) -> Self:
        """Return the assignment `text` of the option that was `typed`."""
        assignment = super().__new__(cls, text)
        assignment.typed = typed
        return assignment


def format_assignment(assignment: str) -> str:
    """Return an assignment for a message, as the user wrote it, without secrets and shortened."""
    if isinstance(assignment, Assignment):
        return mask_secrets(assignment.typed)[:LONGEST]
    dotted, _, value = assignment.partition("=")
    if SECRET.search(dotted):
        return f"--set {dotted}=…"
    return f"--set {mask_secrets(f'{dotted}={value}')[:LONGEST]}"


def as_yaml(value: Any) -> str:
    """Return JSON that is YAML too, which knows no surrogates and takes some characters only escaped."""
    text = json.dumps(value, ensure_ascii=False)
    # Control characters and line separators that YAML refuses or folds: a line separator becomes \u2028.
    return re.sub("[\x7f-\x9f\u2028\u2029\ufffe\uffff]", lambda match: f"\\u{ord(match[0]):04x}", text)
