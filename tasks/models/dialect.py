"""How a server with OpenAI's API is written to: the form of its API, less what the server has refused."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.characters import make_visible
from basic_control.data.draw import format_canonical
from basic_control.data.records import Call, Reply
from basic_control.tasks.models.openai_forms import Body, Form
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.refused_parameters import (
    is_unsupported,
    merge_system,
    names_parameter,
    names_structure,
    names_system,
)
from basic_control.tasks.models.replies import read_reply
from basic_control.tasks.models.server_errors import USED_UP, Refusal, ServerErrors, read_error

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger

_OPTIONAL = ("temperature", "top_p", "seed", "stop", "presence_penalty", "frequency_penalty")
_STRENGTHS = ("schema", "json", "off")
_REFUSING = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
"""Statuses with which a server refuses a parameter by name."""
_BROKEN = {HTTPStatus.INTERNAL_SERVER_ERROR, HTTPStatus.NOT_IMPLEMENTED}
"""Statuses with which some servers refuse a schema or a template's role."""


class Dialect:
    """The requests of one model in the form that its server takes.

    What a server refuses by name (max_tokens, a sampling parameter, structured output) is renamed or left out from
    then on, with a warning in the log: some models accept no temperature, for example.
    """

    def __init__(self, model: Model, form: Form, errors: ServerErrors) -> None:
        self.form = form
        self._model = model
        self._errors = errors
        self._renamed = dict(form.names)
        self._left_out: set[str] = set()
        self._structured = model.structured
        self._has_system = True

    async def ask(self, call: Call, send: Callable[[Body], Awaitable[bytes]]) -> Reply:
        """Ask once, by way of `send`; a refused parameter is renamed or left out and the call repeated at once.

        Raises:
            CallError: no usable reply came.
        """
        while True:
            body = self.body_of(call)
            try:
                return self.read(await send(body))
            except Refusal as refusal:
                if refusal.status not in _REFUSING | _BROKEN:
                    raise
                if USED_UP in read_error(refusal.body)[0]:
                    return read_reply("", finish_reason="length")
                if not self._adapt(refusal.status, refusal.body, body):
                    raise

    def body_of(self, call: Call) -> Body:
        """Return a call's request body; unknown parameters are passed through unchanged."""
        parameters = {**self._model.extra, **call.parameters}
        if any(parameters.get(name) is not None for name in self.form.limits):
            # Set under its other name; servers refuse both together.
            parameters.pop("max_tokens", None)
        sent = {}
        for name, value in parameters.items():
            if value is None or name in self._left_out:
                continue
            if name in self.form.lacks:
                self._left_out.add(name)
                self._warn(f"uses the responses API, which has no parameter {name!r}; continuing without it")
                continue
            sent[self._renamed.get(name, name)] = value
        messages = call.messages if self._has_system else merge_system(call.messages)
        body = self.form.body(self._model.server_name, messages, sent, call.tools)
        if call.schema is not None and self._structured != "off":
            self.form.constrain(body, call.schema if self._structured == "schema" else None)
        return body

    def read(self, content: bytes) -> Reply:
        """Return the reply in a response's body.

        Raises:
            CallError: it is an error, or no response.
        """
        where, body = self._errors.where, self._errors.parse(content)
        if isinstance(body, dict) and body.get("error"):
            error = json.dumps(body)
            raise self._errors.refusal(_status_of(read_error(error)[1]), {}, error)
        try:
            return self.form.read(body)
        except CallError as error:
            text = f"{where}: {error.message}: {self._errors.quote(content)}"
            raise CallError(error.kind, text) from None
        except (KeyError, IndexError, TypeError, AttributeError, ValueError):
            text = f"{where} sent no {self.form.holds}: {self._errors.quote(content)}"
            raise CallError("server", text) from None

    def read_line(self, response: Any, error: Any) -> Reply:
        """Parse one line of a batch's results: a request's response, or its error.

        Raises:
            CallError: there is no usable reply.
        """
        fields = response if isinstance(response, dict) else {}
        status, body = fields.get("status_code"), fields.get("body")
        if status == HTTPStatus.OK:
            return self.read(json.dumps(body).encode())
        content = json.dumps(body or {"error": error})
        message, code, _ = read_error(content)
        if USED_UP in message:
            return read_reply("", finish_reason="length")
        if "expired" in code:
            raise CallError("expired", f"{self._errors.where}: {self._errors.clean(message)}")
        if not isinstance(status, int):
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        raise self._errors.refusal(status, {}, content)

    @property
    def lessons(self) -> str:
        """What the server has refused so far, as text that `learn` reads."""
        refused = sorted(self._left_out.difference(self.form.lacks))
        is_changed = self._structured != self._model.structured or not self._has_system
        if not refused and self._renamed == self.form.names and not is_changed:
            return ""
        lesson: dict[str, Any] = {"left_out": refused, "renamed": self._renamed, "structured": self._structured}
        if not self._has_system:
            lesson["system"] = False
        return format_canonical({self.form.path: lesson})

    def learn(self, lessons: str) -> None:
        """Adopt what another client of the same model has learned."""
        lesson = json.loads(lessons or "{}").get(self.form.path)
        if lesson is None:
            return
        self._left_out |= {*lesson["left_out"]}
        self._renamed |= lesson["renamed"]
        self._structured = max(self._structured, lesson["structured"], key=_STRENGTHS.index)
        self._has_system = self._has_system and lesson.get("system", True)
        if lesson["left_out"]:
            self._warn(f"has refused {', '.join(lesson['left_out'])} before; continuing without")

    def heed(self, refusal: Any, call: Call) -> None:
        """Learn from a refusal in a batch's results, for a call in the current request form.

        Raises:
            CallError: it refuses a parameter that `extra` sets.
        """
        self._adapt(HTTPStatus.BAD_REQUEST, json.dumps(refusal), self.body_of(call))

    def _adapt(self, status: int, refusal: str, body: Mapping[str, Any]) -> bool:
        """Learn from a refusal; return whether the call can be repeated in another form.

        Raises:
            CallError: it refuses a parameter that `extra` sets, and would refuse it in every call.
        """
        message, code, param = read_error(refusal)
        text = f"{param} {message}".lower()
        # First what is named by more than one word: `stop` and `seed` may stand in many a message.
        if self._adapt_messages(text, body) or self._adapt_structure(text, body):
            return True
        if status in _BROKEN:
            return False
        is_refused = is_unsupported(f"{code} {text}".lower())
        if "max_tokens" in body and (param == "max_tokens" or "max_completion_tokens" in text):
            if "max_completion_tokens" not in text and "unsupported" not in f"{code} {text}".lower():
                return False
            self._renamed["max_tokens"] = "max_completion_tokens"
            return True
        if is_refused:
            for name in _OPTIONAL:
                if name in body and names_parameter(name, param, text):
                    self._warn_once(name not in self._left_out, f"the parameter {name!r}; continuing without it")
                    self._left_out.add(name)
                    return True
        else:
            # A message about something else may have a parameter's name among its words.
            text = ""
        # What the entry sets is neither renamed nor left out.
        for name in self._model.extra:
            if names_parameter(name, param, text):
                reason = f"HTTP {status}: {self._errors.clean(message)}"
                advice = f"the entry's `extra` sets {name}, which the server does not accept: change or remove it"
                raise CallError("parameter", f"{reason}; {advice}")
        return False

    def _adapt_messages(self, text: str, body: Mapping[str, Any]) -> bool:
        """Learn that a system message is refused; return whether the call can be repeated without."""
        messages = body.get("messages", body.get("input", ()))
        if not (any(message.get("role") == "system" for message in messages) and names_system(text)):
            return False
        self._warn_once(self._has_system, "a system message; continuing with its text in the user's")
        self._has_system = False
        return True

    def _adapt_structure(self, text: str, body: Mapping[str, Any]) -> bool:
        """Learn that a way to ask for JSON is refused; return whether the call can be repeated in a weaker one."""
        constraint = self.form.find_constraint(body)
        is_set = bool(self.form.find_constraint(self._model.extra))
        if is_set or not (constraint and names_structure(text)):
            return False
        # Never upgrade: of many calls in flight, one may see the first refusal after another saw the second.
        is_last = self._structured == "off" or constraint == "json_object"
        weaker = "off" if is_last else "json"
        refused = f"{self.form.structured} {constraint}; continuing with {weaker!r}"
        self._warn_once(weaker != self._structured, refused)
        self._structured = weaker
        return True

    def _warn_once(self, is_new: bool, refused: str) -> None:  # noqa: FBT001 - one call a line
        """Say what the server refuses, unless another call has said it."""
        if is_new:
            self._warn(f"refuses {refused}")

    def _warn(self, text: str) -> None:
        _log.warning("model %s at %s %s", make_visible(self._model.name), self._errors.where, text)


def _status_of(code: str) -> int:
    """Return the HTTP status for an error in the body of a 2xx response."""
    marks = {
        "rate_limit": 429,
        "invalid_prompt": 400,
        "content_filter": 400,
        "content_policy": 400,
        "inspection": 400,
    }
    for mark, status in marks.items():
        if mark in code:
            return status
    return next((int(word) for word in code.split() if word.isdecimal() and len(word) == 3), 500)  # noqa: PLR2004 - an HTTP status
