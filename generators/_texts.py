"""The texts that families draw from: `texts/<language>/<name>.yaml`, for who writes a language but no Python."""

from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter

Form = TypeVar("Form")
FOLDER = Path(__file__).parent / "texts"


def read(form: type[Form], name: str, language: str) -> Form:
    """Return a file's texts in the form that its family has for them; to be kept by the caller.

    Raises:
        ValidationError: the file has not that form.
    """
    text = (FOLDER / language / f"{name}.yaml").read_text(encoding="utf-8")
    return TypeAdapter(form).validate_python(yaml.load(text, yaml.CSafeLoader))
