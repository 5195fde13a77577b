"""Logging: events with fields, for people or, on request, as one JSON object per line.

Fields are numbers and the configuration's own names. No key and no text of a model is ever logged.
"""

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from basic_control.data.characters import make_visible

VARIABLE = "BASIC_CONTROL_LOG"
FORMS = ("text", "json")
LOGGER = logging.getLogger("basic_control")
LOGGER.setLevel(logging.INFO)
# Silent unless enabled by `begin` or Prefect's `extra_loggers`: a run at a terminal shows its progress and tables.
LOGGER.addHandler(logging.NullHandler())
LOGGER.propagate = False
CARE = logging.getLogger("tasks.store")
"""The store's messages, such as a repaired reply cache; always shown."""


def log_event(name: str, /, *, level: int = logging.INFO, subject: object = None, **fields: Any) -> None:
    """Log an event; `fields` are JSON, `subject` is what handlers of this process take instead of them."""
    if LOGGER.isEnabledFor(level):
        text = " ".join(f"{key}={_format_value(value)}" for key, value in fields.items())
        LOGGER.log(level, "%s %s", name, text, extra={"event": name, "fields": fields, "subject": subject})


def _format_value(value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and " " not in value:
        return value
    return make_visible(json.dumps(value, ensure_ascii=False, default=str))


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (UTC), level, event, then the event's own fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields: Mapping[str, Any] = getattr(record, "fields", {"message": record.getMessage()})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
        }
        return json.dumps({**fields, **line} if set(fields) & set(line) else {**line, **fields}, default=str)


def is_structured() -> bool:
    """Return whether the environment asks for JSON."""
    return os.environ.get(VARIABLE, "").lower() == "json"


def begin(form: str = "") -> bool:
    """Write JSON lines to stderr if `form` or the environment asks for it; return whether they are written.

    Processes that this one starts do the same.
    """
    if form:
        os.environ[VARIABLE] = form
    for logger in (LOGGER, CARE):
        for handler in list(logger.handlers):
            if isinstance(handler.formatter, JsonFormatter):
                logger.removeHandler(handler)
        if is_structured():
            lines = logging.StreamHandler(sys.stderr)
            lines.setFormatter(JsonFormatter())
            logger.addHandler(lines)
    CARE.propagate = not is_structured()
    return is_structured()


# Deployed runs and workers have an environment and no command line.
begin()
