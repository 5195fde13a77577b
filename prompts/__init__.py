"""Jinja2 prompt templates for models and judges, `<language>/<topic>/<step>.j2`, and users' own prompts."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import (
    Environment,
    FileSystemLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    meta,
    nodes,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from basic_control.data import plugins
from basic_control.data.errors import InputError, propose_name
from basic_control.data.messages import (
    MESSAGES,
    has_system,
    is_conversation,
    read_conversation,
    read_messages,
    write_transcript,
)
from basic_control.data.notations import parse_list
from basic_control.data.questions import WHOLE
from basic_control.data.records import Message

_FOLDER = Path(__file__).parent
# A template's name: qa/ask
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)+")
_LONGEST = 10_000_000
"""Maximum length of a filled prompt in characters: a longer one has a runaway loop."""
_COLUMN_ALONE = re.compile(r"\s*\{\{-?\s*(?:row\.)?messages\s*-?\}\}\s*")  # {{ messages }}
# As Jinja says it: 'questoin' is undefined; 'dict object' has no attribute 'questoin'
_UNDEFINED = re.compile(r"'(\w+)'(?= is undefined)|(?<=has no attribute )'(\w+)'")
# {{ name }}, {% for … %}, {# a comment #}
_BRACES = re.compile(r"\{\{|\{%|\{#")
_RAW = "; text with braces of its own stands between {% raw %} and {% endraw %}"


def folders() -> tuple[Path, ...]:
    """Return the folders that hold languages: the project's, then those of plug-ins."""
    return (_FOLDER, *(path for path in plugins.paths() if path.is_dir()))


class _RowEnvironment(Environment):
    """One in which the text of a list, as a cell of CSV has it, is that list where a template takes parts of it.

    Printed it stays the text that it is.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **options)
        self.filters[_LISTED] = _read_list

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = _read_listed(loop.iter)
        for call in [*template.find_all(nodes.Filter)]:
            if call.name in _FILTERS_OF_LISTS and call.node is not None:
                call.node = _read_listed(call.node)
        for part in template.find_all(nodes.Getitem):
            is_numbered = isinstance(part.arg, nodes.Const) and isinstance(part.arg.value, int)
            if is_numbered or isinstance(part.arg, nodes.Slice):
                part.node = _read_listed(part.node)
        return template


_FILTERS_OF_LISTS = frozenset(
    {"count", "first", "join", "last", "length", "list", "map", "reverse", "sort", "unique"}
)
_LISTED = "listed"
"""The name of the filter that reads a text as a list."""


def _read_listed(expression: Any) -> nodes.Expr:
    return nodes.Filter(expression, _LISTED, [], [], None, None, lineno=expression.lineno)


def _read_list(value: Any) -> Any:
    """Return the list that a text holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "(")):
        return parse_list(value)
    return value


class _Sandbox(_RowEnvironment, ImmutableSandboxedEnvironment):
    """The same for users' own prompts."""


@cache
def _build_environment(existing: tuple[Path, ...]) -> Environment:
    # A byte-order mark at the start of a file is none of its text.
    loader = FileSystemLoader(existing, encoding="utf-8-sig")
    return _RowEnvironment(loader=loader)


@cache
def load_template(name: str, language: str) -> Template:
    """Return the template `<language>/<name>.j2`.

    Raises:
        InputError: there is none, and the message lists the languages that have it; or there are two.
    """
    file = f"{language}/{name}.j2"
    holders = [folder for folder in folders() if (folder / file).is_file()]
    if not holders:
        raise InputError(
            f"no prompt {name!r} in language {language!r}; expected one of {', '.join(languages(name)) or 'none'}."
        )
    if len(holders) > 1:
        raise InputError(f"two prompts are named {file}: in {holders[0]} and {holders[1]}. Rename or remove one.")
    jinja_template = _build_environment(folders()).get_template(file)
    jinja_template.globals = dict(jinja_template.globals)  # each render copies them, and a ChainMap is slow to copy
    return jinja_template


def languages(name: str) -> list[str]:
    """Return the languages that have a template."""
    return list(_find_languages(name, folders()))


@cache
def _find_languages(name: str, existing: tuple[Path, ...]) -> tuple[str, ...]:
    names: set[str] = set()
    for folder in existing:
        names |= {path.relative_to(folder).parts[0] for path in folder.glob(f"*/{name}.j2")}
    return tuple(sorted(names))


def _read_texts(name: str, language: str) -> list[str]:
    """Return the texts of a template and of all that it includes, imports or extends."""
    environment = _build_environment(folders())
    loader: Any = environment.loader
    texts: dict[str, str] = {}
    due = [str(load_template(name, language).name)]
    while due:
        file = due.pop()
        if file in texts:
            continue
        try:
            texts[file] = loader.get_source(environment, file)[0]
        except TemplateNotFound:  # it may be optional; if not, filling the template fails
            texts[file] = ""
        references = [*meta.find_referenced_templates(environment.parse(texts[file]))]
        due += filter(None, references)
        # None: which one is included is known only when the template is filled.
        if None in references:
            due += environment.list_templates(filter_func=_is_template_file)
    return [*texts.values()]


def _is_template_file(file: str) -> bool:
    return file.endswith(".j2") and bool(_NAME.fullmatch(file.removesuffix(".j2")))


def digest_template(name: str, language: str) -> str:
    """Return the SHA-256 of a template's texts, or of the given text if it is no template's name."""
    text = name
    if is_template_name(name):
        text = "\0".join(_read_texts(name.strip(), language))
    return hashlib.sha256(text.encode()).hexdigest()


def digest_templates(*prompts: str | None) -> tuple[str, ...]:
    """Return the digests of the templates that prompts name, in all their languages; none for a text."""
    names = [prompt.strip() for prompt in prompts if prompt and is_template_name(prompt)]
    return tuple(digest_template(name, language) for name in names for language in languages(name))


def render(name: str, language: str, **values: Any) -> str:
    """Fill a template; a name without a value is an error (StrictUndefined)."""
    return load_template(name, language).render(**values)


def is_template_name(prompt: str) -> bool:
    """Return whether a suite's prompt is a template's name, not a text."""
    return bool(_NAME.fullmatch(prompt.strip())) and bool(languages(prompt.strip()))


def _refuse_lists(value: Any) -> Any:
    """Return a value to be printed into a prompt; a list or a mapping would be printed as Python writes it.

    Raises:
        _PrintedListError: it is one.
    """
    if isinstance(value, Mapping | list | tuple | set | frozenset | Iterator):
        raise _PrintedListError(value)
    return value


class _PrintedListError(TypeError):
    """A list or mapping that a prompt would print."""

    def __init__(self, value: Any) -> None:
        super().__init__("a list or mapping")
        self.value = value

    def describe(self, values: Mapping[str, Any]) -> str:
        """Return what was found, with the name of its column, and what to write instead."""
        kind = "mapping" if isinstance(self.value, Mapping) else "list"
        column = _find_column(self.value, values, 0)
        source = f"column {column!r}" if column else "an expression"
        advice = "use a loop, an index, `| join(', ')` or `| tojson`"
        if column == MESSAGES:
            advice += ", or alone as the prompt for a conversation"
        return f"{source} holds a {kind}, which would be printed as Python writes it; {advice}"


def _find_column(value: Any, values: Any, depth: int) -> str:
    """Return the path of a value in a row, such as `user.addresses`; '' if it is not there."""
    members = list[tuple[str, Any]]()
    if isinstance(values, Mapping):
        members = [(str(key), member) for key, member in values.items()]
    elif isinstance(values, list | tuple):
        members = [(str(number), member) for number, member in enumerate(values)]
    for name, member in members:
        if member is value:
            return name
    for name, member in members:
        if depth < _DEEPEST:
            inner = _find_column(value, member, depth + 1)
            if inner:
                return f"{name}.{inner}"
    return ""


_DEEPEST = 5
"""Levels of a row that are searched for a printed value."""


@cache
def build_template(text: str, *, may_print_lists: bool = False) -> Template:
    """Return a user's own prompt as a template: sandboxed, and strict about undefined names and printed lists.

    Raises:
        InputError: it is not valid Jinja2.
    """
    environment = _Sandbox(autoescape=False)
    if not may_print_lists:
        environment.finalize = _refuse_lists
    try:
        return environment.from_string(text)
    except TemplateError as error:
        number = getattr(error, "lineno", None)
        location = f", line {number}" if number else ""
        raise InputError(f"prompt{location}: not valid Jinja2 ({error.message or error}).") from error


@cache
def find_columns(prompt: str) -> frozenset[str]:
    """Return the columns that a suite's prompt reads, in any language; `WHOLE` if it uses the whole row.

    Raises:
        InputError: it is not valid Jinja2.
    """
    conversation = read_conversation(prompt)
    if isinstance(conversation, str):
        return frozenset({conversation})
    if conversation is not None:
        return frozenset[str]().union(
            *(find_columns(message.content) for message in conversation if message.content)
        )
    texts = [prompt]
    if is_template_name(prompt):
        # A column that is read in one language only is needed all the same.
        texts = [text for language in languages(prompt.strip()) for text in _read_texts(prompt.strip(), language)]
    else:
        build_template(prompt)  # raises if invalid
    return frozenset[str]().union(*map(_find_columns_of_text, texts))


def _find_columns_of_text(text: str) -> set[str]:
    parsed = Environment().parse(text)  # noqa: S701 - read, and never rendered
    free_names = meta.find_undeclared_variables(parsed)
    if "row" not in free_names:
        return free_names
    row_columns = [*_list_row_columns(parsed)]
    columns = (free_names - {"row"}) | {*row_columns}
    # Where `row` occurs more often than its columns, a loop or a filter has all of it.
    if sum(name.name == "row" for name in parsed.find_all(nodes.Name)) > len(row_columns):
        columns.add(WHOLE)
    return columns


def find_columns_of_all(prompts: Iterable[str]) -> frozenset[str]:
    """Return the columns of a row that any of a suite's prompts reads."""
    return frozenset[str]().union(*map(find_columns, filter(None, prompts)))


def _list_row_columns(parsed: nodes.Template) -> Iterator[str]:
    """Yield the columns named as `row.x`, `row["x"]` or `row.get("x")`; other methods read the whole row."""
    for node in parsed.find_all((nodes.Call, nodes.Getattr, nodes.Getitem)):
        match node:
            case nodes.Call(
                node=nodes.Getattr(node=nodes.Name(name="row"), attr="get"), args=[nodes.Const(value=str(name)), *_]
            ):
                yield name
            case nodes.Getattr(node=nodes.Name(name="row"), attr=name) if not hasattr(dict, name):
                yield name
            case nodes.Getitem(node=nodes.Name(name="row"), arg=nodes.Const(value=str(name))):
                yield name


def fill(prompt: str, language: str, values: Mapping[str, Any], *, may_print_lists: bool = False) -> str:
    """Fill a suite's prompt, a template's name or a text, with a row's values, which are never taken as templates.

    `may_print_lists`: a list is printed as Python writes it, as in judges' prompts.

    Raises:
        InputError: the prompt names a value that the row does not have, or a template that is not there, or is not
            valid, or is empty.
    """
    conversation = read_conversation(prompt)
    if conversation is not None or holds_conversation(prompt, values):
        return write_transcript(fill_messages(prompt, language, values))
    if is_template_name(prompt):
        return render(prompt.strip(), language, **values)
    if not prompt.strip():
        raise InputError("prompt: missing. Write what is asked: a text, a file, or a template's name.")
    if _NAME.fullmatch(prompt.strip()):
        raise InputError(f"prompt: no template is named {prompt.strip()!r}; expected one, or a text.")
    filled = _render_template(build_template(prompt, may_print_lists=may_print_lists), values, "prompt")
    if len(filled) > _LONGEST:
        raise InputError(f"prompt: filled it has {len(filled)} characters, expected at most {_LONGEST}.")
    return filled


def _render_template(template: Template, values: Mapping[str, Any], kind: str, advice: str = "") -> str:
    """Fill a template with a row's columns; a message names the kind of prompt, and ends with an advice."""
    try:
        return template.render(**values, row=values)
    except _PrintedListError as error:
        raise InputError(f"{kind}: {error.describe(values)}.") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        columns = ", ".join(sorted(values)) or "no columns"
        undefined, proposal = _UNDEFINED.search(str(error)), ""
        if undefined:
            proposal = propose_name(undefined[undefined.lastindex or 0], values)
        raise InputError(f"{kind}: cannot be filled ({error}); the row has {columns}{advice}.{proposal}") from error


def may_hold_conversation(prompt: str) -> bool:
    """Return whether a prompt is a conversation, or `{{ messages }}` alone, which is one if its column is."""
    return read_conversation(prompt) is not None or _COLUMN_ALONE.fullmatch(prompt) is not None


def holds_conversation(prompt: str, values: Mapping[str, Any]) -> bool:
    """Return whether a prompt is `{{ messages }}` alone, and the row's column a conversation."""
    return _COLUMN_ALONE.fullmatch(prompt) is not None and is_conversation(values.get(MESSAGES))


def fill_messages(prompt: str, language: str, values: Mapping[str, Any], system: str = "") -> tuple[Message, ...]:
    """Fill a suite's prompt as a conversation: a text is a user's single message.

    `system`, a template like the prompt, stands before it unless it has a system message of its own.

    Raises:
        InputError: as `fill`; or the column holds no conversation, or something else than text.
    """
    conversation = read_conversation(prompt)
    if conversation is None and holds_conversation(prompt, values):
        conversation = MESSAGES
    if conversation is None:
        messages: tuple[Message, ...] = (Message("user", fill(prompt, language, values)),)
    elif isinstance(conversation, str):
        messages = _read_column(conversation, values)
    else:
        messages = tuple(_fill_message(message, language, values) for message in conversation)
    if system and not has_system(messages):
        return (Message("system", fill_system(system, values)), *messages)
    return messages


def _read_column(column: str, values: Mapping[str, Any]) -> tuple[Message, ...]:
    """Return the conversation that a row's column holds, as it is."""
    if column not in values:
        raise InputError(
            f"prompt: column {column!r}, named in `messages`, not found; the row has {', '.join(values)}."
            f"{propose_name(column, values)}"
        )
    try:
        return read_messages(values[column])
    except ValueError as error:
        raise InputError(f"column {column!r}: {error}.") from error


def _fill_message(message: Message, language: str, values: Mapping[str, Any]) -> Message:
    if not message.content.strip():  # as of an assistant that only calls tools
        return replace(message, content="")
    return replace(message, content=fill(message.content, language, values))


def fill_system(system: str, values: Mapping[str, Any]) -> str:
    """Fill a system prompt, which is a template if it has Jinja's braces; one without is sent as it is.

    Raises:
        InputError: it is not valid, or names what the row does not have: its braces may be meant as text.
    """
    if not _BRACES.search(system):
        return system
    with _name_system():
        template = build_template(system)
    return _render_template(template, values, "system", _RAW)


@contextmanager
def _name_system() -> Iterator[None]:
    """Say of a prompt that is not valid that it is the system's, and how braces are text."""
    try:
        yield
    except InputError as error:
        message = str(error).replace("prompt", "system", 1).removesuffix(".")
        raise InputError(f"{message}{_RAW}.") from error


def find_columns_of_system(system: str | None) -> frozenset[str]:
    """Return the columns that a system prompt reads; none of one without braces.

    Raises:
        InputError: it is not valid.
    """
    if not system or not _BRACES.search(system):
        return frozenset()
    with _name_system():
        return find_columns(system)
