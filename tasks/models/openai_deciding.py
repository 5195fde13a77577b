"""Judges that decide, behind servers with OpenAI's API: decisions, System One's wire, a chat model's logprobs."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from basic_control.config.settings import Model
from basic_control.data.records import Call, Reply
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models.deciding_judges import (
    Answered,
    DecisionsWire,
    Logprobs,
    SystemOneWire,
    ask_for_logprobs,
    decide_by_tokens,
    put_alone,
    put_together,
    read_answers,
)
from basic_control.tasks.models.dialect import Dialect
from basic_control.tasks.models.openai import OpenAIClient
from basic_control.tasks.models.openai_forms import LOGPROBS
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.server_errors import Refusal, ServerErrors

NO_DECISIONS = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED})
"""Statuses of a server, or a model, that does not answer typed questions."""


class DecidingClient(OpenAIClient):
    """A judge that is put typed questions, as `api` of its entry says."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self._api = str(model.options["api"])
        self._wire = SystemOneWire() if self._api == "systemone" else DecisionsWire()
        if self._api == LOGPROBS:
            self.dialect = Dialect(model, Logprobs(), self.server.errors)

    async def ask(self, call: Call) -> Reply:
        """Ask one typed question."""
        if self._api != LOGPROBS or call.typed is None:
            return await put_alone(call, self._put)
        return decide_by_tokens(await super().ask(ask_for_logprobs(call)), call.typed)

    async def ask_together(self, calls: Sequence[Call]) -> list[Reply | CallError]:
        """Ask typed questions about one text in one request.

        Raises:
            CallError: the request failed.
        """
        return await put_together(calls, self._put)

    async def _put(self, state: str, questions: Sequence[TypedQuestion]) -> Answered:
        """Put questions about a state in one request.

        Raises:
            CallError: no usable response came.
        """
        body = self._wire.body(state, questions)
        errors = self.server.errors
        try:
            # The package does not know System One's path.
            content = await (self._send_state(body) if self._api == "systemone" else self._create(body))
        except Refusal as refusal:
            raise explain_refusal(refusal, errors, self._api) from None
        return read_answers(content, self._wire, questions, errors)

    async def _create(self, body: Mapping[str, Any]) -> bytes:
        """Ask by way of the package, which knows each server's path and key."""
        with self.raise_call_errors():
            response = await self.api.decisions.with_raw_response.create(
                model=self._model.server_name, extra_body=self._model.extra, **body
            )
        return response.http_response.content

    async def _send_state(self, body: Mapping[str, Any]) -> bytes:
        url = f"{self.base}{SystemOneWire.path}"
        with self.server.raise_call_errors():
            response = await self._http.post(
                url, json={"model": self._model.server_name, **self._model.extra, **body}
            )
        return response.content


def explain_refusal(refusal: Refusal, errors: ServerErrors, api: str) -> CallError:
    """Return the error of a server that does not answer typed questions, which no further try will change."""
    if refusal.status not in NO_DECISIONS:
        return refusal
    advice = f"it does not answer `api: {api}`; check `base_url`, and that the model is a decision model"
    return CallError("unknown_model", f"{errors.where}: {refusal.message}; {advice}")
