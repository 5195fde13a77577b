"""The texts that families draw from: `texts/<language>/<name>.yaml`, editable without knowing Python."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter

from basic_control.prompts import render

Form = TypeVar("Form")
FOLDER = Path(__file__).parent / "texts"
SLOT = "\x00"  # placeholder for the text to insert


def by_language(form: type[Form], name: str) -> Callable[[str], Form]:
    """Return a function that returns a language's texts of a name, in the family's form; each is read once.

    The function raises `ValidationError` if the file does not have that form.
    """

    @cache
    def read(language: str) -> Form:
        text = (FOLDER / language / f"{name}.yaml").read_text(encoding="utf-8")
        return TypeAdapter(form).validate_python(yaml.load(text, yaml.CSafeLoader))

    return read


@cache
def frame(name: str, language: str, **values: str) -> tuple[str, str]:
    """Return a prompt's parts before and after its text, rendered once if only the text changes."""
    before, after = render(name, language, text=SLOT, **values).split(SLOT)
    return before, after.rstrip("\n")
