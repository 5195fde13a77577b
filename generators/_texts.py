"""The texts that families draw from: `texts/<language>/<name>.yaml`, for who writes a language but no Python."""

from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter

from prompts import render

Form = TypeVar("Form")
FOLDER = Path(__file__).parent / "texts"
SLOT = "\x00"  # stands for what a text is to hold


def read(form: type[Form], name: str, language: str) -> Form:
    """Return a file's texts in the form that its family has for them; to be kept by the caller.

    Raises:
        ValidationError: the file has not that form.
    """
    text = (FOLDER / language / f"{name}.yaml").read_text(encoding="utf-8")
    return TypeAdapter(form).validate_python(yaml.load(text, yaml.CSafeLoader))


@cache
def frame(name: str, language: str, **values: str) -> tuple[str, str]:
    """Return a prompt before and after its text: rendered once, where the text is all that changes."""
    before, after = render(name, language, text=SLOT, **values).split(SLOT)
    return before, after.rstrip("\n")
