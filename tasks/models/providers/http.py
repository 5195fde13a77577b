"""An application behind HTTP: a template defines the request, paths locate the values in its response."""

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from basic_control.data.decorators import provider
from basic_control.data.options import Frozen

# A header's name as HTTP allows it, such as X-Request-Id.
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,80}")
# A name of what must not be in a configuration, such as X-Api-Key, Authorization or Session-Token.
_SECRET = re.compile(r"auth|cookie|api[-_]?key|token|secret|password|credential", re.IGNORECASE)
_CLIENTS = {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}
"""Headers that the client sets, by what it sends."""
BROUGHT = {"contexts": "retrieved_contexts", "citations": "citations"}
"""What accompanies an answer, by option name, under the name that metrics use."""
_PATHS = ("text", "contexts", "citations", "tokens_in", "tokens_out", "finish_reason", "calls", "messages")


class Options(Frozen):
    """How the application is called, and where its response has its values (dotted paths)."""

    method: Literal["POST", "GET", "PUT"] = Field("POST", description="a GET sends the body's keys as the query")
    headers: dict[str, str] = Field(
        default_factory=dict, description="additional headers; no secrets: see `api_key_env`"
    )
    body: Any = Field(
        default_factory=lambda: {"prompt": "{{ prompt }}"}, description="any JSON; its strings are Jinja2 templates"
    )
    text: str = Field("", description="path to the answer's text; default: the whole body")
    contexts: str = Field("", description="path to the retrieved texts, such as documents.*.text")
    citations: str = Field("", description="path to the answer's citations")
    tokens_in: str = Field("", description="path to the number of input tokens")
    tokens_out: str = Field("", description="path to the number of output tokens")
    finish_reason: str = Field("", description="path to the reason why the answer ended")
    calls: str = Field("", description="path to the calls of tools that it made, each with name and arguments")
    messages: str = Field("", description="path to the messages since the question, whose last text is the answer")
    version: str = Field("", description="the application's version; changing it asks everything again")

    @field_validator("headers")
    @classmethod
    def _check_headers(cls, value: dict[str, str]) -> dict[str, str]:
        for name, content in value.items():
            if not _NAME.fullmatch(name) or name.lower() in _CLIENTS:
                raise ValueError(f"{name[:80]!r} is not a header that can be set here")
            if _SECRET.search(name):
                raise ValueError(
                    f"the header {name} would hold a secret, which must not be in the configuration: "
                    "name its variable in `api_key_env`, and the header in `api_key_header`"
                )
            if not (content.isascii() and content.isprintable()):
                raise ValueError(f"the header {name} contains characters not allowed in a header")
        return value

    @field_validator("body")
    @classmethod
    def _check_template(cls, value: Any) -> Any:
        from basic_control.tasks.models.templates import check_body

        check_body(value)
        return value

    @field_validator(*_PATHS)
    @classmethod
    def _check_path(cls, value: str) -> str:
        from basic_control.tasks.models.templates import check_path

        return check_path(value)

    @model_validator(mode="after")
    def _check_paths(self) -> Self:
        names = [name for name in _PATHS[1:] if getattr(self, name)]
        if names and not (self.text or self.messages):
            raise ValueError(f"`{names[0]}` is a path into a JSON answer, so `text` must be a path too")
        if self.method == "GET" and not isinstance(self.body, dict):
            raise ValueError("a GET has no body: expected `body` to be a mapping, sent as its query")
        return self


def _sees(model: Any) -> bool:
    from basic_control.tasks.models.templates import names_item

    return names_item(model.options["body"])


@provider(
    options=Options,
    check=lambda model: "" if model.base_url else "provider http needs `base_url`: the application's address",
    sees=_sees,
    brings=lambda model: [fact for path, fact in BROUGHT.items() if model.options[path]],
)
def http(model: Any) -> Any:
    """Return a client of the application."""
    from basic_control.tasks.models.http import HttpClient

    return HttpClient(model)
