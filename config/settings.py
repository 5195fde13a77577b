"""The configuration: every key that a YAML file or `--set` may name, with its default and its meaning.

All models are frozen and refuse unknown keys. Secrets never stand in it: only the name of an environment
variable does (`api_key_env`).
"""

import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Suite = Literal["basic_control", "cot", "citation", "rag"]
SUITES: tuple[Suite, ...] = ("basic_control", "cot", "citation", "rag")
Aggregate = Literal["mean", "median", "min", "max", "majority"]
Sampling = Literal["random", "first", "all"]


class Frozen(BaseModel):
    """What every part of the configuration is: frozen, and strict about its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _no_switch(cls, value: object, info: ValidationInfo) -> object:
        """Refuse `yes` where a number belongs, which pydantic would take for 1."""
        if isinstance(value, bool) and cls.model_fields[info.field_name or ""].annotation in NUMBERS:
            raise ValueError("expected a number")
        return value


NUMBERS = (int, float, int | None, float | None, Seed | None)


def _distinct(values: Sequence[str]) -> Sequence[str]:
    """Refuse a name that is listed twice, which would count what it names twice."""
    if repeated := sorted({value for value in values if values.count(value) > 1}):
        raise ValueError(f"{repeated[0]!r} stands twice; list each once")
    return values


class Model(Frozen):
    """A model under test, or a judge: where it is, how it is asked, and how hard it may be pushed."""

    name: str = Field(min_length=1, description="the name in reports; unique in its list")
    provider: Literal["embedded", "ollama", "openai", "azure", "replay"] = "ollama"
    model: str = Field("", description="the server's name for it; `name` unless given")
    base_url: str = Field(
        "", description="ollama, openai, azure: where the server is; the provider's own unless given"
    )
    api_key_env: str = Field("", description="openai, azure: the environment variable that holds the key")
    api_version: str = Field("", description="azure: the API version")
    file: str = Field(
        "", description="embedded: a GGUF path or hf:owner/repo/file.gguf; replay: a Parquet or JSONL file"
    )
    sha256: str = Field("", description="embedded: what the downloaded file must hash to")
    threads: int = Field(0, ge=0, description="embedded: threads; 0 means one for each core")
    context: int = Field(4096, ge=256, description="embedded: context length in tokens")

    system: str = Field("", description="the system prompt; none unless given")
    temperature: float = Field(0.0, ge=0, le=2)
    seed: Seed | None = 0
    max_tokens: int = Field(512, ge=1)
    extra: dict[str, Any] = Field(
        default_factory=dict, description="more sampling parameters, as the server names them"
    )
    structured: Literal["schema", "json", "off"] = Field(
        "schema", description="how a JSON reply is constrained: by its schema, to any JSON, or not at all"
    )

    max_concurrency: int = Field(8, ge=1, le=4096)
    requests_per_minute: int | None = Field(None, ge=1)
    deadline_s: Number = Field(300.0, gt=0, description="one call's limit in seconds, retries included")
    price_in: Number | None = Field(None, ge=0, description="price of 1 000 000 input tokens, in `currency`")
    price_out: Number | None = Field(None, ge=0, description="price of 1 000 000 output tokens")

    @field_validator("api_key_env")
    @classmethod
    def _a_name(cls, value: str) -> str:
        if value and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError(
                "expected the name of an environment variable, such as OPENAI_API_KEY; the key itself never stands "
                "in the configuration"
            )
        return value

    @field_validator("extra")
    @classmethod
    def _sendable(cls, value: dict[str, Any]) -> dict[str, Any]:
        if ours := sorted({"model", "messages", "stream"} & set(value)):
            raise ValueError(f"found {ours[0]!r}, which is not to be set here; expected sampling parameters")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"expected what JSON can hold, since it is sent so ({error}); quote dates") from error
        return value

    @property
    def served(self) -> str:
        """The server's name for the model."""
        return self.model or self.name

    @property
    def concurrency(self) -> int:
        """The most calls in flight; one for the embedded engine, whose parallel slots are not bit-identical."""
        return 1 if self.provider == "embedded" else self.max_concurrency

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.provider == "replay" and not self.file:
            raise ValueError("provider replay needs `file`: a Parquet or JSONL file of recorded replies")
        if self.provider == "azure" and not (self.base_url and self.api_version):
            raise ValueError("provider azure needs `base_url` and `api_version`")
        return self


class BasicControl(Frozen):
    """The six generated families."""

    families: tuple[str, ...] = Field(
        ("simple_logic", "instructions", "code_gen", "data_extraction", "summarization", "arithmetic"), min_length=1
    )
    n_items: int = Field(10, ge=1, le=10_000_000, description="items for each family, level and language")
    levels: tuple[str, ...] = Field(("easy",), min_length=1)
    languages: tuple[str, ...] = Field(("en",), min_length=1)
    seed: Seed = 42
    options: dict[str, dict[str, Any]] = Field(default_factory=dict, description="options of a family, by its name")
    threshold: Share = 0.8

    _once = field_validator("levels", "languages", "families")(_distinct)


class CotWeights(Frozen):
    """The weights of the four levels."""

    l1: Share = 0.4
    l2: Share = 0.1
    l3: Share = 0.2
    l4: Share = 0.3


class Cot(Frozen):
    """Chain of thought on GSM8K and its like."""

    data: str = Field("sample", description="`sample` (shipped), `gsm8k`, `mgsm_en` … (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="of the questions; the data's own unless given")
    sample_method: Sampling = "random"
    n_samples: int = Field(30, ge=1)
    seed: Seed = 50
    weights: CotWeights = CotWeights()
    known_constants: tuple[Number, ...] = Field(
        (), description="numbers that a chain may use unannounced, such as 7"
    )
    threshold: Share = 0.8


class Citation(Frozen):
    """Cited answers on Natural Questions."""

    data: str = Field("sample", description="`sample` (shipped), `nq` (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = ""
    mode: Literal["passages", "closed_book"] = "passages"
    sample_method: Sampling = "random"
    n_samples: int = Field(5, ge=1)
    seed: Seed = 50
    network: bool = Field(default=False, description="fetch cited pages (http and https, public addresses only)")
    weight_interpretability: Share = 0.5
    weight_correctness: Share = 0.5
    alce: bool = Field(
        default=False, description="ALCE's citation recall and precision, at the cost of more judge calls"
    )
    judges: tuple[str, ...] = Field((), description="names of judges; all unless given")
    aggregate: Aggregate = "mean"
    threshold: Share = 0.8


class FactualCorrectness(Frozen):
    """Claims of the response against claims of the reference."""

    enabled: bool = True
    mode: Literal["f1", "precision", "recall"] = "f1"


class Groundedness(Frozen):
    """The response against the retrieved contexts."""

    enabled: bool = True
    heuristic_shortcuts: bool = True
    temperature: float = Field(0.1, ge=0, le=2)


class Rag(Frozen):
    """Factual correctness and response groundedness on question, response, reference, retrieved_contexts."""

    data: str = Field("sample", description="`sample` (shipped) or a Parquet, CSV or JSONL file")
    response_model: str = Field("", description="whose responses the data holds; named after the file unless given")
    language: Literal["", "en", "ru", "zh"] = ""
    sample_method: Sampling = "all"
    n_samples: int = Field(30, ge=1)
    seed: Seed = 50
    factual_correctness: FactualCorrectness = FactualCorrectness()
    response_groundedness: Groundedness = Groundedness()
    judges: tuple[str, ...] = Field((), description="names of judges; all unless given")
    aggregate: Aggregate = "mean"
    threshold: Share = 0.8

    @model_validator(mode="after")
    def _votes(self) -> Self:
        """Refuse before anything is asked what would end as an error after every judge was paid."""
        if self.aggregate == "majority" and self.factual_correctness.enabled:
            raise ValueError(
                "aggregate: no majority can be taken of factual_correctness, since each judge makes claims of its "
                "own; take mean, median, min or max, or set factual_correctness.enabled to false"
            )
        return self


class Weights(Frozen):
    """The suites' weights in the overall score; renormalised over those that ran."""

    basic_control: Share = 0.4
    cot: Share = 0.2
    citation: Share = 0.2
    rag: Share = 0.2


class Explainability(Frozen):
    """How cot and citation join in `FINAL_RESULTS_<date>.json`."""

    weight_cot: Share = 0.5
    weight_citation: Share = 0.5
    threshold: Share = 0.8


class Store(Frozen):
    """Where tables, replies and runs are kept."""

    root: str = Field("artifacts/store", min_length=1, description="a folder or an fsspec URL (s3://…)")
    cache: str = Field(
        "",
        description="an SQLAlchemy URL of the reply cache, with no password; replies.sqlite in `root` unless given",
    )
    runs: str = Field("artifacts/runs", min_length=1, description="the folder where reports land")

    @field_validator("cache", "root")
    @classmethod
    def _no_password(cls, value: str) -> str:
        # The configuration stands in every manifest.
        if "@" in value and ":" in value.partition("://")[2].rpartition("@")[0]:
            raise ValueError(
                "it holds a password; leave that out, and set it in the environment (PGPASSWORD, a .pgpass file; "
                "AWS_SECRET_ACCESS_KEY)"
            )
        return value


class Report(Frozen):
    """What is written for people."""

    language: Literal["en", "ru"] = "en"
    html: bool = True
    junit: str = Field("", description="a file to write JUnit XML to as well; the same as --junit FILE")


StageName = Literal["generate", "query", "verify", "judge", "score", "aggregate", "report"]
STAGES: tuple[StageName, ...] = ("generate", "query", "verify", "judge", "score", "aggregate", "report")
"""The stages in the order in which they depend on each other."""


class Again(Frozen):
    """What of an earlier run is done again; everything else comes from the caches."""

    resume: str = Field("", description="the unfinished run to go on with, in its own folder")
    rerun: StageName | Literal[""] = Field("", description="the stage to run anew, with all that depends on it")
    of: str = Field("", description="the run that is rerun; for the manifest")
    suite: Suite | Literal[""] = Field("", description="only this suite's")
    model: str = Field("", description="only this model's")


class Settings(Frozen):
    """One evaluation."""

    models: tuple[Model, ...] = Field(min_length=1)
    judges: tuple[Model, ...] = ()
    suites: tuple[Suite, ...] = Field(("basic_control",), min_length=1)
    repeats: int = Field(1, ge=1, description="how often each model is asked each question")
    basic_control: BasicControl = BasicControl()
    cot: Cot = Cot()
    citation: Citation = Citation()
    rag: Rag = Rag()
    weights: Weights = Weights()
    explainability: Explainability = Explainability()
    threshold: Share = 0.8
    gate: Literal["point", "interval", "off"] = "point"
    store: Store = Store()
    report: Report = Report()
    batch_size: int = Field(2000, ge=1, description="items in a batch: the unit of tasks and of Parquet files")
    runner: Literal["local", "dask", "ray"] = "local"
    runner_address: str = Field("", description="a running cluster; a local one is started unless given")
    runner_workers: int = Field(2, ge=1, description="worker processes of a local cluster")
    currency: str = "USD"
    fresh: str = Field(
        "", description="sets this run's requests apart from all remembered ones; --fresh fills it in"
    )

    @property
    def title(self) -> str:
        """The models and suites in a line, as lists of runs show it."""
        named, rest = [model.name for model in self.models[:3]], len(self.models) - 3
        return f"{', '.join(named)}{f' and {rest} more' if rest > 0 else ''}: {', '.join(self.suites)}"

    _once = field_validator("suites")(_distinct)

    @field_validator("gate", mode="before")
    @classmethod
    def _off(cls, gate: object) -> object:
        """Take what YAML reads an unquoted `off` as."""
        return "off" if gate is False else gate

    @model_validator(mode="after")
    def _names(self) -> Self:
        for kind, listed in (("models", self.models), ("judges", self.judges)):
            names = [m.name for m in listed]
            if repeated := sorted({n for n in names if names.count(n) > 1}):
                raise ValueError(f"{kind}: the name {repeated[0]!r} stands twice; each needs a name of its own")
            for index, model in enumerate(listed):
                if re.search(r"://[^/?#]*:[^/?#]*@", model.base_url):
                    raise ValueError(
                        f"{kind}.{index}.base_url: it holds a password, which would stand in every manifest; leave "
                        "that out, and name the variable of a key in `api_key_env` (Ollama: or set OLLAMA_HOST)"
                    )
        known = {j.name for j in self.judges}
        for suite in ("citation", "rag"):
            if missing := sorted(set(getattr(self, suite).judges) - known):
                raise ValueError(
                    f"{suite}.judges names {missing[0]!r}, which is not among judges ({', '.join(known) or 'none'})"
                )
        return self
