"""Jinja2 prompt templates for models and judges, `<language>/<topic>/<step>.j2`, and users' own prompts."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
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
from basic_control.data.errors import InputError
from basic_control.data.questions import WHOLE

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)+")
_LONGEST = 10_000_000
"""Maximum length of a filled prompt in characters: a longer one has a runaway loop."""


def folders() -> tuple[Path, ...]:
    """Return the folders that hold languages: the project's, then those of plug-ins."""
    return (_FOLDER, *(path for path in plugins.paths() if path.is_dir()))


@cache
def _environment(there: tuple[Path, ...]) -> Environment:
    return Environment(  # noqa: S701 - prompts are plain text, not HTML
        loader=FileSystemLoader(there), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def template(name: str, language: str) -> Template:
    """Return the template `<language>/<name>.j2`.

    Raises:
        InputError: there is none, and the message lists the languages that have it; or there are two.
    """
    file = f"{language}/{name}.j2"
    there = [folder for folder in folders() if (folder / file).is_file()]
    if not there:
        raise InputError(
            f"no prompt {name!r} in language {language!r}; expected one of {', '.join(languages(name)) or 'none'}."
        )
    if len(there) > 1:
        raise InputError(f"two prompts are named {file}: in {there[0]} and {there[1]}. Rename or remove one.")
    found = _environment(folders()).get_template(file)
    found.globals = dict(found.globals)  # each render copies them, and a ChainMap is slow to copy
    return found


def languages(name: str) -> list[str]:
    """Return the languages that have a template."""
    return list(_languages(name, folders()))


@cache
def _languages(name: str, there: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(sorted({path.relative_to(one).parts[0] for one in there for path in one.glob(f"*/{name}.j2")}))


def _texts(name: str, language: str) -> list[str]:
    """Return the texts of a template and of all that it includes, imports or extends."""
    environment = _environment(folders())
    loader: Any = environment.loader
    texts: dict[str, str] = {}
    due = [str(template(name, language).name)]
    while due:
        if (one := due.pop()) not in texts:
            try:
                texts[one] = loader.get_source(environment, one)[0]
            except TemplateNotFound:  # it may be optional; if not, filling the template fails
                texts[one] = ""
            named = [*meta.find_referenced_templates(environment.parse(texts[one]))]
            # None: which one is included is known only when the template is filled.
            due += filter(None, named)
            if None in named:
                due += environment.list_templates(filter_func=_is_one)
    return [*texts.values()]


def _is_one(file: str) -> bool:
    return file.endswith(".j2") and bool(_NAME.fullmatch(file.removesuffix(".j2")))


def digest(name: str, language: str) -> str:
    """Return the SHA-256 of a template's texts, or of the given text if it is no template's name."""
    text = "\0".join(_texts(name.strip(), language)) if shipped(name) else name
    return hashlib.sha256(text.encode()).hexdigest()


def digests(*prompts: str | None) -> tuple[str, ...]:
    """Return the digests of a template in all its languages; none for a user's text."""
    named = (prompt.strip() for prompt in prompts if prompt and shipped(prompt))
    return tuple(digest(name, language) for name in named for language in languages(name))


def render(name: str, language: str, **values: Any) -> str:
    """Fill a template; a name without a value is an error (StrictUndefined)."""
    return template(name, language).render(**values)


def shipped(prompt: str) -> bool:
    """Return whether a suite's prompt is a template's name, not a text."""
    return bool(_NAME.fullmatch(prompt.strip())) and bool(languages(prompt.strip()))


@cache
def own(text: str) -> Template:
    """Return a user's own prompt as a template: sandboxed, and strict about undefined names.

    Raises:
        InputError: it is not valid Jinja2.
    """
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        return environment.from_string(text)
    except TemplateError as error:
        where = f", line {at}" if (at := getattr(error, "lineno", None)) else ""
        raise InputError(f"prompt{where}: not valid Jinja2 ({error.message or error}).") from error


@cache
def reads(prompt: str) -> frozenset[str]:
    """Return the columns that a suite's prompt reads, in any language; `WHOLE` if it uses the whole row.

    Raises:
        InputError: it is not valid Jinja2.
    """
    if shipped(prompt):
        texts = [text for language in languages(prompt.strip()) for text in _texts(prompt.strip(), language)]
    else:
        own(prompt)  # raises if invalid
        texts = [prompt]
    found: set[str] = set()
    for text in texts:
        parsed = Environment().parse(text)  # noqa: S701 - read, and never rendered
        free = meta.find_undeclared_variables(parsed)
        found |= free - {"row"}
        if "row" in free:
            columns = [*_columns_of_row(parsed)]
            found.update(columns)
            if sum(one.name == "row" for one in parsed.find_all(nodes.Name)) > len(columns):
                found.add(WHOLE)
    return frozenset(found)


def read_by(prompts: Iterable[str]) -> frozenset[str]:
    """Return the columns of a row that any of a suite's prompts reads."""
    return frozenset[str]().union(*map(reads, filter(None, prompts)))


def _columns_of_row(parsed: nodes.Template) -> Iterator[str]:
    """Yield the columns named as `row.x`, `row["x"]` or `row.get("x")`; other methods read the whole row."""
    for one in parsed.find_all((nodes.Call, nodes.Getattr, nodes.Getitem)):
        match one:
            case nodes.Call(
                node=nodes.Getattr(node=nodes.Name(name="row"), attr="get"), args=[nodes.Const(value=str(name)), *_]
            ):
                yield name
            case nodes.Getattr(node=nodes.Name(name="row"), attr=name) if not hasattr(dict, name):
                yield name
            case nodes.Getitem(node=nodes.Name(name="row"), arg=nodes.Const(value=str(name))):
                yield name


def fill(prompt: str, language: str, values: Mapping[str, Any]) -> str:
    """Fill a suite's prompt, a template's name or a text, with a row's values, which are never taken as templates.

    Raises:
        InputError: the prompt names a value that the row does not have, or a template that is not there, or is not
            valid, or is empty.
    """
    if shipped(prompt):
        return render(prompt.strip(), language, **values)
    if not prompt.strip():
        raise InputError("prompt: found none; expected what is asked: a text, a file, or a template's name.")
    if _NAME.fullmatch(prompt.strip()):
        raise InputError(f"prompt: no template is named {prompt.strip()!r}; expected one, or a text.")
    try:
        filled = own(prompt).render(**values, row=values)
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        known = ", ".join(sorted(values))
        raise InputError(f"prompt: cannot be filled ({error}); the row has {known}.") from error
    if len(filled) > _LONGEST:
        raise InputError(f"prompt: filled it has {len(filled)} characters, expected at most {_LONGEST}.")
    return filled
