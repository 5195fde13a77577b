"""A metric that is a function of the Python process which started the run: `bc.evaluate(rows, metrics=function)`.

Such a function may be made in a notebook's cell, in a script or inside another function, and may use whatever is
there. The run scores each reply by calling it over loopback, as it asks a function that answers.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from basic_control.data.errors import InputError, RaisedError, ReturnedError
from basic_control.data.records import Found, Metric, Sample, Score
from basic_control.tasks.models.functions import CALLER, call_caller
from basic_control.tasks.models.server_errors import clean_error


def build_served_metric(
    name: str, *, version: int = 1, needs: Sequence[str] = (), yes_no: bool = False, options: Mapping[str, Any]
) -> Metric:
    """Return a metric that calls the function `name` of the process that started this run."""

    def score(sample: Sample, _found: Found, options: Mapping[str, Any]) -> Score:
        return _read_score(_call_metric(name, {"sample": dict(sample), "options": dict(options)}))

    return Metric(
        name=name,
        version=version,
        bounds=(0.0, 1.0),
        score=score,
        needs=tuple(needs),
        yes_no=yes_no,
        options=options,
    )


def name_function(metric: str) -> str:
    """Return the name by which a metric's function is served, which no model has."""
    return f"metric\0{metric}"


def _call_metric(name: str, offered: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what the caller's process says of a sample.

    Raises:
        InputError: that process has ended, or there never was one.
    """
    if not os.environ.get(CALLER):
        raise InputError(
            f"metric {name}: it is a function of the Python process that started its run; call bc.evaluate again, "
            "or write it to a file."
        )
    try:
        message: dict[str, Any] = call_caller(name_function(name), offered)
    except (OSError, ValueError) as error:
        raise InputError(f"metric {name}: its process does not answer ({error}); call bc.evaluate again.") from None
    return message


def _read_score(message: Mapping[str, Any]) -> Score:
    """Return the score in a message that the caller's process writes.

    Raises:
        ReturnedError: the function returned something else.
        RaisedError: it raised.
    """
    if "score" in message:
        return Score(**message["score"])
    if "returned" in message:
        raise ReturnedError(clean_error(str(message["returned"])))
    raise RaisedError(f"raised {clean_error(str(message.get('raised', 'nothing')))}{message.get('at', '')}")
