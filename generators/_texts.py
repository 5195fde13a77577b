"""The texts that families draw from: `texts/<language>/<name>.yaml`, editable without knowing Python."""

from functools import cache
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter

from prompts import render

Form = TypeVar("Form")
FOLDER = Path(__file__).parent / "texts"
SLOT = "\x00"  # placeholder for the text to insert


def read(form: type[Form], name: str, language: str) -> Form:
    """Return a file's texts in the family's form; callers should cache the result.

    Raises:
        ValidationError: the file does not have that form.
    """
    text = (FOLDER / language / f"{name}.yaml").read_text(encoding="utf-8")
    return TypeAdapter(form).validate_python(yaml.load(text, yaml.CSafeLoader))


@cache
def frame(name: str, language: str, **values: str) -> tuple[str, str]:
    """Return a prompt's parts before and after its text, rendered once if only the text changes."""
    before, after = render(name, language, text=SLOT, **values).split(SLOT)
    return before, after.rstrip("\n")
