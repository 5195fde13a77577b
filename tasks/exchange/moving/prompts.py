"""promptfoo's prompts as prompts of ours: texts, conversations, and the files that hold them."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from basic_control.data.errors import InputError
from basic_control.data.messages import is_conversation, read_messages, write_message
from basic_control.prompts import find_columns
from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import SCHEME, Folder, parse
from basic_control.tasks.exchange.moving.variables import VARIABLE, UntakenError, wrap

Prompt = str | list[dict[str, Any]]
_FILE = re.compile(
    r"(?:file://)?[^\s{}]+\.(?:txt|md|j2|json|ya?ml|js|mjs|cjs|ts|py)(?::\w+)?"
)  # file://prompts/a.txt
_OURS = re.compile(r"[^\s{}]+\.(?:j2|txt|md)")  # prompts/a.txt, which a suite may name
_SEPARATOR = re.compile(r"\n---+\s*\n")  # a line `---` between two prompts
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)  # {% if tone %}
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")  # ": " in `Formal: short`
INERT = '{{ "" }}'
"""Before a text of one word, which could be read as the name of a file or of a template."""
AFFIXES = ("prefix", "suffix")
"""What a test puts before and after each prompt: columns of these names."""
_NOT_HERE = {"env": "the environment", "_conversation": "a conversation over several tests"}
"""Names of promptfoo's own in a prompt."""


@dataclass(frozen=True, slots=True)
class ConvertedPrompt:
    """A prompt: its text or messages, the file below the folder that is to hold its text ('': none), its names."""

    content: Prompt
    file: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        """The templates in it: its text, or its messages' contents."""
        if isinstance(self.content, str):
            return [self.content]
        return [str(message.get("content", "")) for message in self.content]

    def change(self, write: Callable[[str], str]) -> "ConvertedPrompt":
        """Return the prompt with its texts written anew."""
        if isinstance(self.content, str):
            return replace(self, content=write(self.content))
        messages = [{**message, "content": write(message["content"])} for message in self.content]
        return replace(self, content=messages)


def convert_prompts(entries: Any, folder: Folder, account: Account) -> dict[str, ConvertedPrompt]:
    """Return prompts by short names."""
    prompts: dict[str, ConvertedPrompt] = {}
    if isinstance(entries, dict) and all(isinstance(label, str) for label in entries.values()):
        # An earlier form: files with their labels.
        entries = [{"id": source, "label": label} for source, label in entries.items()]
    for entry in wrap(entries):
        label = entry.get("label") if isinstance(entry, dict) else None
        aliases = tuple(str(alias) for alias in (label, read_source(entry)) if alias)
        try:
            texts = [*_texts(entry, folder)]
        except UntakenError as error:
            account.add(f"prompt {_quote_start(entry)}", "left out", str(error))
            continue
        for text, file in texts:
            prompt = ConvertedPrompt(_conversation(text) or text, file, aliases).change(_write_ours)
            try:
                read_names(prompt)
            except InputError as error:
                account.add(f"prompt {_quote_start(text)}", "left out", str(error))
                continue
            number = len(prompts) + 1
            stem = PurePosixPath(file).stem
            name = _NO_NAME.sub("-", str(label or stem)).strip("-.")[:30] or f"prompt{number}"
            if name in prompts:
                name = f"{name}-{number}"
            prompts[name] = prompt
            account.add("prompt", "taken")
    return prompts


def _write_ours(text: str) -> str:
    """Return a text of promptfoo's as a template of ours."""
    return _make_inert(text.replace("| dump", "| tojson"))


def read_source(entry: Any) -> str:
    """Return the text of an entry of `prompts`, or the file that it names; '' if it has none."""
    raw = entry
    if isinstance(entry, dict):
        raw = entry.get("raw") or entry.get("id")
    if isinstance(raw, str):
        return raw
    return ""


def read_names(prompt: ConvertedPrompt) -> frozenset[str]:
    """Return the variables that a prompt names.

    Raises:
        InputError: it is no template of ours.
    """
    # A text is read as the only message.
    names: frozenset[str] = frozenset().union(*(find_columns(_make_inert(text)) for text in prompt.texts))
    for name, meaning in _NOT_HERE.items():
        if name in names:
            raise InputError(f"prompt: it reads {meaning}, which a prompt cannot here.")
    return names


def list_printed(prompt: ConvertedPrompt) -> set[str]:
    """Return the variables that a prompt prints as they are: `{{ ticket }}`."""
    return {name for text in prompt.texts for name in VARIABLE.findall(text)}


def list_tested(prompt: ConvertedPrompt) -> set[str]:
    """Return the names in statements of a prompt, such as {% if tone %}: what they name may be missing."""
    names: set[str] = set()
    for text in prompt.texts:
        for statement in _STATEMENT.findall(text):
            names.update(re.findall(r"[A-Za-z_]\w*", statement))  # if, tone
    return names


def add_affix(prompt: ConvertedPrompt, affix: str, account: Account) -> ConvertedPrompt:
    """Return a text with the column of each test's own text before or after it; messages as they are."""
    if not isinstance(prompt.content, str):
        account.add(f"options.{affix}", "left out", "no equal for a list of messages")
        return prompt
    column = f"{{{{ {affix} }}}}"
    if affix == AFFIXES[0]:
        return prompt.change(lambda text: column + text)
    return prompt.change(lambda text: text + column)


def rename_variables(prompt: ConvertedPrompt, reserved: tuple[str, ...]) -> ConvertedPrompt:
    """Return a prompt that finds the variables of reserved names under their other names."""

    def write(text: str) -> str:
        names = find_columns(_make_inert(text))
        lines = (f"{{% set {name} = {name}_var %}}" for name in reserved if name in names)
        return "".join(lines) + text

    return prompt.change(write)


def _texts(entry: Any, folder: Folder) -> Iterator[tuple[str, str]]:
    """Yield the texts of an entry of `prompts`, each with the name of a file for it, if it comes from one.

    A file's `---` makes several of it.
    """
    raw = read_source(entry)
    if not raw.strip():
        raise UntakenError("expected a text or a file")
    if not (raw.startswith(SCHEME) or _FILE.fullmatch(raw)):
        yield raw, ""
        return
    for path in folder.find(raw):
        file = path.relative_to(folder.path).as_posix()
        text = folder.read(file)
        if path.suffix in {".json", ".yaml", ".yml"}:
            # Such as {% for completion in _conversation %}
            if "{%" in text:
                raise UntakenError(f"{path.name} is JSON only once it is filled in; write its messages out")
            yield json.dumps(parse(text, path.name), ensure_ascii=False), ""
            continue
        parts = [*filter(None, map(str.strip, _SEPARATOR.split(text)))]
        for number, part in enumerate(parts, start=1):
            name = file
            if len(parts) > 1:
                name = path.relative_to(folder.path).with_stem(f"{path.stem}-{number}").as_posix()
            yield part, name if _OURS.fullmatch(name) else ""


def _conversation(text: str) -> list[dict[str, Any]] | None:
    """Return the messages of a prompt that is a list of them in JSON; None if it is a text."""
    if not is_conversation(text):
        return None
    try:
        return [*map(write_message, read_messages(text))]
    except ValueError:
        return None


def _make_inert(text: str) -> str:
    if re.search(r"\s", text.strip()):  # `Hello {{ name }}`
        return text
    return INERT + text


def _quote_start(entry: Any) -> str:
    """Return the start of a prompt's text, by which its line in the account is found."""
    if not isinstance(entry, str):
        entry = json.dumps(entry, default=str)
    return entry[:50]
