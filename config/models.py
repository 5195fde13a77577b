"""A model under test, or a judge: every key that its entry in the configuration may have."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from basic_control.data.errors import InputError
from basic_control.data.exam import MOST
from basic_control.data.options import OFF, Frozen, Number, Seed, check_parameters, list_option_names, settle
from basic_control.data.plugins import discover, find_unit
from basic_control.data.records import Provider
from basic_control.data.truncation import find_sent_limit

BATCH_PRICE = 0.5
"""The price of a batched call as a share of the full price: what every server with batches charges."""


# What Azure's portal shows as a deployment's target:
# https://NAME.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01
_AZURE_TARGET = re.compile(
    r"(?P<base>https?://[^/?]+)/openai/deployments/(?P<model>[^/?]+)(?:/[^?]*)?"
    r"(?:\?(?:[^#]*&)?api-version=(?P<version>[\w.-]+)[^#]*)?"
)


def _split_azure_target(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry whose address is a deployment's, as the portal shows it, with its parts as keys."""
    name = "base_url" if "base_url" in entry else "url"
    match = _AZURE_TARGET.fullmatch(str(entry.get(name) or ""))
    if entry.get("provider") != "azure" or match is None:
        return entry
    stated = {"model": match["model"], "api_version": match["version"]}
    parts = {key: value for key, value in stated.items() if value and not entry.get(key)}
    return {**entry, **parts, name: match["base"]}


class Model(Frozen):
    """A model under test, or a judge: its address, request settings and limits."""

    name: str = Field(min_length=1, description="the name in reports; unique in its list")
    provider: str = Field("ollama", description="a provider, shipped or of a plug-in")
    model: str = Field("", description="the server's name for it; default: `name`")
    base_url: str = Field("", description="the server's address, also as `url`; default: the provider's own")
    api_key_env: str = Field("", description="the environment variable that holds the key")
    api_key_header: str = Field(
        "", description="the header that carries the key, such as X-Api-Key; default: the provider's own"
    )
    api_key_query: str = Field("", description="the query parameter that carries the key, such as key")
    api_version: str = Field("", description="azure: the API version")
    file: str = Field("", description="embedded: a GGUF path; replay: a Parquet or JSONL file")
    sha256: str = Field("", description="embedded: the expected SHA-256 of the file")
    threads: int = Field(
        0,
        ge=0,
        description="embedded: threads per engine, 0 for one; as many engines run as cores and memory allow",
    )
    context: int = Field(4096, ge=256, description="embedded: context length in tokens")

    system: str = Field("", description="the system prompt; default: none")
    temperature: float | None = Field(0.0, ge=0, le=2, description="sampling temperature; null sends none")
    seed: Seed | None = Field(0, description="sampling seed, from which each repeat has its own; null sends none")
    max_tokens: int = Field(512, ge=1, description="limit of tokens per reply; a longer reply is truncated")
    extra: dict[str, Any] = Field(
        default_factory=dict, description="further request parameters, by the server's names"
    )
    structured: Literal["schema", "json", "off"] = Field(
        "schema",
        description="how JSON replies are constrained: by schema, to any JSON, or not at all; a model's only where "
        "this is written, by the schema of its suite's `json_match`",
    )

    max_concurrency: int = Field(8, ge=1, le=4096, description="maximum calls in flight")
    requests_per_minute: int | None = Field(None, ge=1, description="calls started per minute; default: no limit")
    deadline_s: Number = Field(300.0, gt=0, description="time limit of a call in seconds, retries included")
    max_response_bytes: int = Field(
        16_000_000, ge=1000, description="maximum decoded bytes per response; a longer one fails"
    )
    price_in: Number | None = Field(
        None, ge=0, description="price of 1 000 000 input tokens, in US dollars or the price table's currency"
    )
    price_out: Number | None = Field(None, ge=0, description="price of 1 000 000 output tokens")
    price_cached: Number | None = Field(
        None, ge=0, description="price of 1 000 000 cached input tokens; default: price_in"
    )
    price_thinking: Number | None = Field(
        None, ge=0, description="price of 1 000 000 thinking tokens; default: price_out"
    )

    batch: Annotated[Literal["off", "submit", "wait"], OFF] = Field(
        "off",
        description="submit: use the server's batch endpoint, end the run undecided and collect replies later; "
        "wait: use it and wait for the replies",
    )

    options: dict[str, Any] = Field(
        default_factory=dict, description="the provider's own keys, written beside the others"
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_options(cls, entry: Any) -> Any:
        """Move the provider's own keys into `options`, checked and with their defaults."""
        if not isinstance(entry, Mapping):
            return entry
        entry = _split_azure_target(_complete_cascade(entry))
        shared_keys = [key for key in cls.model_fields if key != "options"]
        shared = {key: value for key, value in entry.items() if key in shared_keys}
        options = {key: value for key, value in entry.items() if key not in shared_keys}
        if isinstance(options.get("options"), Mapping):
            options = {**options.pop("options"), **options}
        try:
            unit = find_unit(Provider, str(entry.get("provider", "ollama")))
        except InputError:
            return shared  # its keys are unknown: `_find_provider` reports the error
        declared = list_option_names(unit.options)
        ambiguous = set(shared_keys) & set(declared)
        if ambiguous:
            raise InputError(f"provider {unit.name} declares {min(ambiguous)!r}, which every entry has; rename it.")
        # `url` is short for `base_url`, unless it is the provider's own key.
        if "url" in options and "base_url" not in shared and "url" not in declared:
            shared["base_url"] = options.pop("url")
        unknown_key = PydanticCustomError("extra_forbidden", "unknown key", {"allowed": (*shared_keys, *declared)})
        errors: list[InitErrorDetails] = [
            {"type": unknown_key, "loc": (key,), "input": value}
            for key, value in options.items()
            if key not in declared
        ]
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return {**shared, "options": settle(unit.options, options)}

    @model_serializer(mode="wrap")
    def _flat(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Put the provider's keys beside the others, as in a configuration."""
        entry: dict[str, Any] = serialize(self)
        # A default that nobody wrote would read as written in what is recorded.
        if type(self) is Model and not self.is_structured:
            entry.pop("structured", None)
        return entry | entry.pop("options", {})

    @field_validator("provider")
    @classmethod
    def _find_provider(cls, value: str) -> str:
        try:
            return find_unit(Provider, value).name
        except InputError as error:
            providers = ", ".join(map(repr, discover(Provider)))
            raise ValueError(f"expected one of {providers}") from error

    @field_validator("api_key_env")
    @classmethod
    def _check_key_name(cls, value: str) -> str:
        if value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError(
                "expected the name of an environment variable, such as OPENAI_API_KEY; the key itself must not be "
                "in the configuration"
            )
        return value

    @field_validator("api_key_header", "api_key_query")
    @classmethod
    def _check_key_place(cls, value: str) -> str:
        if value and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", value):
            raise ValueError(
                "expected the name of a header or a query parameter, such as X-Api-Key; the key itself must "
                "not be in the configuration"
            )
        if value.lower() in {"host", "content-type", "content-length", "transfer-encoding", "connection"}:
            raise ValueError(f"{value} is a standard HTTP header, which cannot carry a key")
        return value

    @field_validator("extra")
    @classmethod
    def _check_parameters(cls, value: dict[str, Any]) -> dict[str, Any]:
        return check_parameters(value)

    @property
    def server_name(self) -> str:
        """The server's name for the model."""
        return self.model or self.name

    @property
    def is_structured(self) -> bool:
        """Whether the entry says how replies are constrained."""
        return "structured" in self.model_fields_set

    @property
    def token_limit(self) -> int:
        """The limit of tokens per reply that is sent: `extra` may set it under its server's name."""
        return find_sent_limit({"max_tokens": self.max_tokens, **self.extra}) or self.max_tokens

    @property
    def concurrency(self) -> int:
        """The maximum of calls in flight; for a model on this machine, at most what it has room for."""
        measure_room = self.unit.at_once
        if measure_room is None:
            return self.max_concurrency
        return min(self.max_concurrency, measure_room(self))

    @property
    def decides(self) -> bool:
        """Whether it is put typed questions, and answers with probabilities."""
        return self.unit.decides is not None and self.unit.decides(self)

    @property
    def unit(self) -> Provider:
        """The provider itself."""
        return find_unit(Provider, self.provider)

    def cost(
        self, tokens_in: float, tokens_out: float, cached: float = 0, thinking: float = 0, *, batches: bool = False
    ) -> float | None:
        """Return the cost of tokens, `cached` and `thinking` of them at their own prices; None without prices."""
        price_in, price_out = self.price_in, self.price_out
        if price_in is None or price_out is None:
            return None
        price_cached = price_in if self.price_cached is None else self.price_cached
        price_thinking = price_out if self.price_thinking is None else self.price_thinking
        # Cached tokens are among those read, and thinking ones among those written.
        cached, thinking = min(cached, tokens_in), min(thinking, tokens_out)
        cost_in = price_in * (tokens_in - cached) + price_cached * cached
        cost_out = price_out * (tokens_out - thinking) + price_thinking * thinking
        return (cost_in + cost_out) * (BATCH_PRICE if batches else 1.0) / 1e6

    @property
    def key_place(self) -> str:
        """The header or query parameter for the key; '' for the provider's own."""
        return self.api_key_header or self.api_key_query

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.api_key_header and self.api_key_query:
            raise ValueError("expected `api_key_header` or `api_key_query`, not both")
        if self.key_place and not self.api_key_env:
            raise ValueError(
                f"found a place for a key ({self.key_place}), but no key; name its variable in `api_key_env`"
            )
        if self.batch != "off" and self.unit.batches is None:
            raise ValueError(f"batch: provider {self.provider} has no batch endpoint; leave it off")
        problem = self.unit.check(self) if self.unit.check else ""
        if problem:
            raise ValueError(problem)
        return self


def _complete_cascade(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an entry with the provider and the name of a cascade, if it is one without."""
    members = entry.get("cascade")
    if not isinstance(members, list | tuple) or len(members) != 2:  # noqa: PLR2004 - a small and a large judge
        return entry
    return {"provider": "cascade", "name": "+".join(map(str, members)), **entry}


class Judge(Model):
    """A judge: a model whose temperature is the metric's unless it is set here."""

    system: str = Field("", description="a system prompt to put before the metric's own; default: none")
    temperature: float | None = Field(None, ge=0, le=2, description="for every metric; default: the metric's own")
    max_tokens: int = Field(
        1024, ge=1, description="limit of tokens per reply; lists and reasons are bounded to fit"
    )
    exam: int = Field(
        0,
        ge=0,
        le=MOST,
        description="questions per true answer and judged step in the short exam, which a judge without a passport "
        "takes in the run",
    )

    @property
    def members(self) -> tuple[str, ...]:
        """The names of a cascade's judges, the small one first; none of any other judge."""
        return tuple(self.options.get("cascade", ()))
