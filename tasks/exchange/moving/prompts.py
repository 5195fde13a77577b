"""promptfoo's prompts as prompts of ours: texts, conversations, and the files that hold them."""

import json
import re
from typing import Any

from basic_control.data.errors import InputError
from basic_control.prompts import reads
from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder, UnreadableError, parse
from basic_control.tasks.exchange.moving.variables import wrap

Prompt = str | list[dict[str, Any]]
_FILE = re.compile(
    r"(?:file://)?[^\s{}]+\.(?:txt|md|j2|json|ya?ml|js|mjs|cjs|ts|py)(?::\w+)?"
)  # file://prompts/a.txt
_SEPARATOR = re.compile(r"\n---+\s*\n")  # a line `---` between two prompts
_ROLES = {"system", "user", "assistant", "tool"}
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")  # ": " in `Formal: short`
INERT = '{{ "" }}'
"""Before a text of one word, which could be read as the name of a file or of a template."""


def convert_prompts(entries: Any, folder: Folder, account: Account) -> dict[str, Prompt]:
    """Return prompts by short names."""
    prompts: dict[str, Prompt] = {}
    for entry in wrap(entries):
        label = entry.get("label") if isinstance(entry, dict) else None
        try:
            texts = _texts(entry, folder)
        except UnreadableError as error:
            account.add(f"prompt {_quote_start(entry)}", "left out", str(error))
            continue
        for text in texts:
            prompt = _conversation(text) or _make_inert(text.replace("| dump", "| tojson"))
            try:
                read_names(prompt)
            except InputError as error:
                account.add(f"prompt {_quote_start(text)}", "left out", str(error))
                continue
            number = len(prompts) + 1
            name = _NO_NAME.sub("-", str(label or "")).strip("-.")[:30] or f"prompt{number}"
            if name in prompts:
                name = f"{name}-{number}"
            prompts[name] = prompt
            account.add("prompt", "taken")
    return prompts


def read_names(prompt: Prompt) -> frozenset[str]:
    """Return the variables that a prompt names.

    Raises:
        InputError: it is no template of ours.
    """
    messages = [{"content": prompt}] if isinstance(prompt, str) else prompt
    # A text is read as the only message.
    texts = [str(message.get("content", "")) for message in messages]
    names: frozenset[str] = frozenset().union(*(reads(_make_inert(text)) for text in texts))
    if "env" in names:
        raise InputError("prompt: it reads the environment, which a prompt cannot here.")
    return names


def _texts(entry: Any, folder: Folder) -> list[str]:
    """Return the texts of an entry of `prompts`: its own, or its file's, of which `---` makes several."""
    raw = entry
    if isinstance(entry, dict):
        raw = entry.get("raw") or entry.get("id")
    if not isinstance(raw, str) or not raw.strip():
        raise UnreadableError("expected a text or a file")
    if not (raw.startswith(SCHEME) or _FILE.fullmatch(raw)):
        return [raw]
    texts = []
    for path in folder.find(raw):
        text = folder.read(str(path.relative_to(folder.path)))
        is_conversation = path.suffix in {".json", ".yaml", ".yml"}
        if is_conversation:
            texts.append(json.dumps(parse(text, path.name), ensure_ascii=False))
        else:
            texts += filter(None, map(str.strip, _SEPARATOR.split(text)))
    return texts


def _conversation(text: str) -> list[dict[str, Any]] | None:
    """Return the messages of a prompt that is a list of them in JSON; None if it is a text."""
    if not text.lstrip().startswith("["):
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(messages, list) or not messages:
        return None
    if all(map(_is_message, messages)):
        return messages
    return None


def _is_message(value: Any) -> bool:
    """Return whether a value is a message: a role and a text, and nothing else."""
    if not isinstance(value, dict) or set(value) != {"role", "content"}:
        return False
    return str(value["role"]) in _ROLES and isinstance(value["content"], str)


def _make_inert(text: str) -> str:
    if re.search(r"\s", text.strip()):  # `Hello {{ name }}`
        return text
    return INERT + text


def _quote_start(entry: Any) -> str:
    """Return the start of a prompt's text, by which its line in the account is found."""
    if not isinstance(entry, str):
        entry = json.dumps(entry, default=str)
    return entry[:50]
