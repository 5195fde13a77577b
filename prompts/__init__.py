"""Jinja2 templates, `<language>/<topic>/<step>.j2`: what models and judges are asked."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateNotFound

from data.errors import InputError

_FOLDER = Path(__file__).parent


@cache
def _environment() -> Environment:
    return Environment(  # noqa: S701 - prompts are plain text, not HTML
        loader=FileSystemLoader(_FOLDER), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def template(name: str, language: str) -> Template:
    """Return the template `<language>/<name>.j2`.

    Raises:
        InputError: there is none; the message says in which languages there is.
    """
    try:
        found = _environment().get_template(f"{language}/{name}.j2")
    except TemplateNotFound as error:
        there = sorted(path.relative_to(_FOLDER).parts[0] for path in _FOLDER.glob(f"*/{name}.j2"))
        raise InputError(
            f"no prompt {name!r} in language {language!r}; expected one of {', '.join(there) or 'none'}."
        ) from error
    found.globals = dict(found.globals)  # each render copies them, and a ChainMap copies slowly
    return found


def render(name: str, language: str, **values: Any) -> str:
    """Fill a template; a value that the template names and is not given is an error (StrictUndefined)."""
    return template(name, language).render(**values)
