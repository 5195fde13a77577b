"""A suite: the source of its items, its prompts, the metrics that score responses, and what makes its score.

The shipped suites (`config/suites/*.yaml`), those of other distributions and a user's own are all declared in this
form; nothing else in the project refers to a suite by name.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, field_validator, model_validator

from basic_control.data.messages import MESSAGES, write_conversation
from basic_control.data.options import Frozen, Seed, Share, check_parameters
from basic_control.data.tools import read_tools

Aggregate = Literal["mean", "median", "min", "max", "majority"]
GateOn = Literal["mean", "pass_at_k", "pass_all_k"]
TwinKind = Literal["numbers", "names", "order", "format", "language"]
TWIN_KINDS: tuple[TwinKind, ...] = get_args(TwinKind)
TABLE = "table"
"""The default loader: rows of a file, columns by name."""
MAX_DROP = 0.02
"""Default tolerated drop of a suite below its baseline."""
ALL = "all"
"""The share of rows on which every part of a suite holds: a score, and a reserved name of metrics."""
WEIGHT = 0.2
"""Default weight of a suite with one headline in the overall score."""
# The name of a template with options of the loader in it: qa/{mode}
_NAME_WITH_OPTIONS = re.compile(r"[\w/-]+(?:\{\w+\}[\w/-]*)+")
ScoreRule = Literal["all"] | dict[str, float] | tuple[str, ...]


class PromptMessage(Frozen):
    """A message of a prompt that is a conversation; its content is Jinja2."""

    role: str = Field(description="system, user, assistant or tool")
    content: str = Field("", description="what it says")
    tool_calls: tuple[dict[str, Any], ...] = Field((), description="calls that an assistant made")
    tool_call_id: str = Field("", description="the call that a tool answers")
    name: str = Field("", description="the speaker's or the tool's name")


class PromptColumn(Frozen):
    """A prompt that is the conversation in a column."""

    messages: str = Field(description="the column of messages")


PromptMessages = tuple[PromptMessage, ...]
Prompt = str | PromptMessages | PromptColumn


def _write_prompt(value: object) -> object:
    """Return a prompt as text: one that is a conversation in the form that `read_conversation` reads."""
    if isinstance(value, Mapping) and [*value] == [MESSAGES]:
        return write_conversation(value[MESSAGES])
    if isinstance(value, list | tuple):
        return write_conversation(value)
    return value


def _read_stem(prompt: str) -> str:
    """Return the last part of a template's or a file's name; '' of a prompt that is a text."""
    if "\n" in prompt or " " in prompt:
        return ""
    return PurePath(prompt).stem


def _drop_enabled(options: object) -> object:
    """Return a metric's options without `enabled: true`, which is the default; no options as an empty mapping."""
    if options is None:
        return {}
    if isinstance(options, Mapping) and options.get("enabled") is True:
        return {name: value for name, value in options.items() if name != "enabled"}
    return options


def name_metrics(value: object) -> object:
    """Return metrics by name with their options, where they are a list of names and of names with options."""
    if not isinstance(value, list | tuple) or not all(isinstance(entry, str | dict) for entry in value):
        return value
    options: dict[object, object] = {}
    for entry in value:
        if isinstance(entry, str):
            options[entry] = {}
        else:
            options |= entry
    return options


class Use(Frozen):
    """How a suite uses a metric: the settings common to all metrics, without the metric's own options."""

    enabled: bool = Field(default=True, description="false leaves the metric out")
    judges: tuple[str, ...] = Field((), description="names of judges; default: the suite's")
    aggregate: Aggregate | None = Field(None, description="of several judges; default: the suite's")
    temperature: float | None = Field(None, ge=0, le=2, description="of the judges; default: the metric's own")
    threshold: Share | None = Field(
        None, description="minimum of this metric to pass; null: it is only measured; default: the suite's"
    )


class Stop(Frozen):
    """Stopping rule: questions are asked in rounds until every verdict is decided (docs/stopping.md)."""

    when: Literal["decided", "ranked"] = Field(
        "decided", description="decided: the threshold is excluded; ranked: every pair of models is distinguished"
    )
    alpha: float = Field(0.05, gt=0, lt=1, description="the probability of any false decision in the run")
    first: int = Field(30, ge=1, description="questions before the first check")
    most: int = Field(1000, ge=1, description="maximum number of questions")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.first > self.most:
            raise ValueError(f"first ({self.first}) exceeds most ({self.most})")
        return self


class Twins(Frozen):
    """Which renewed twins of each item are also asked (docs/twins.md); a list is short for the kinds."""

    kinds: tuple[TwinKind, ...] = Field(min_length=1, description="what to renew")
    k: int = Field(1, ge=1, le=100, description="number of twins of each kind per item")
    seed: Seed = Field(0, description="random seed for the twins")

    @field_validator("kinds")
    @classmethod
    def _drop_repeated(cls, value: tuple[TwinKind, ...]) -> tuple[TwinKind, ...]:
        return tuple(dict.fromkeys(value))


class Examples(Frozen):
    """Answered rows that stand before each question (few-shot): the same for all, never the question itself."""

    model_config = ConfigDict(populate_by_name=True)  # `form`, as a run's own record of its configuration has it

    data: str = Field(description="their file, with the columns of the suite's items")
    n: int = Field(ge=0, le=100, description="how many stand before a question")
    seed: Seed = Field(0, description="random seed of the draw and of their order")
    form: Literal["turns", "text"] = Field(
        "turns",
        alias="as",
        description="turns: each a user's message and an answer; text: all in the question's",
    )
    exclude: bool = Field(default=False, description="true: rows that are examples are not asked")


class Suite(Frozen):
    """A test suite.

    `items` names a loader (default `table`) with its options; `metrics` holds, by metric name, the keys of `Use`
    and the metric's own options. Each metric with a threshold decides for itself, unless `score` joins some of them
    (`data.deciding`). `strata`: the score is the unweighted mean over the families of the items (a TOTAL), not over
    the items.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="unique among the run's suites")
    title: dict[str, str] = Field(default_factory=dict, description="the name for people, by language")
    items: dict[str, Any] = Field(description="a loader and its options")
    prompt: str = Field(
        "",
        description="the text itself (Jinja2), a file (.j2, .jinja, .txt or .md), or a shipped template's name; or "
        "a list of messages, each with `role` and `content`; or {messages: the column that holds them}",
    )
    prompts: dict[str, str] = Field(
        default_factory=dict, description="several prompts by short names; each model × prompt is a target"
    )
    examples: Examples | None = Field(None, description="answered rows before each question (few-shot)")
    metrics: dict[str, dict[str, Any]] = Field(min_length=1, description="metrics by name, with their options")
    score: ScoreRule | None = Field(
        None,
        description="what joins metrics: a list (their mean), weights by metric, or all (the share of rows on "
        "which each holds); default: each metric decides for itself",
    )
    strata: Literal["", "family"] = Field("", description="family: the score is a TOTAL over families")
    threshold: Share | None = Field(None, description="minimum score to pass; default: measured, without a verdict")
    weight: float | None = Field(
        None,
        ge=0,
        allow_inf_nan=False,
        description="in the overall score; renormalised; default: 0.2, or 0 if several scores decide the suite",
    )
    repeats: int | None = Field(None, ge=1, description="times each question is asked; default: the run's")
    gate_on: GateOn = Field(
        "mean",
        description="what the score is. mean: of all answers; pass_at_k: the share of questions of which at least "
        "one of k answers is right; pass_all_k: of which all k are; these two need repeats",
    )
    k: int | None = Field(None, ge=1, description="of pass_at_k and pass_all_k; default: repeats")
    models: tuple[str, ...] = Field((), description="names of models; default: all")
    judges: tuple[str, ...] = Field((), description="names of judges; default: all")
    slices: tuple[str, ...] = Field(
        (), description="columns by whose values the score is shown too, the worst first; decides nothing"
    )
    aggregate: Aggregate = Field("mean", description="of several judges' scores")
    system: str | None = Field(None, description="the system prompt; default: the model's own")
    tools: str | tuple[dict[str, Any], ...] = Field(
        "",
        description="tools that the model may call: a list, each with `name`, `description` and `parameters`, or "
        "the column of each row's; default: the column `tools`, if a metric is tool_calls and no prompt reads it",
    )
    temperature: float | None = Field(None, ge=0, le=2, description="default: the model's own")
    max_tokens: int | None = Field(None, ge=1, description="limit of tokens per reply; default: the model's own")
    extra: dict[str, Any] = Field(
        default_factory=dict,
        description="further request parameters over the model's own, such as {stop: END}, where a reply ends",
    )
    stop: Stop | None = Field(None, description="ask in rounds until the verdict is clear; default: all at once")
    twins: Twins | None = Field(
        None, description="renewed items asked in addition to the items: numbers, names, order, format, language"
    )
    skip_unreadable: bool = Field(
        default=False,
        description="true: a metric leaves out rows whose expected answer it cannot read; by default they are an "
        "error",
    )
    responses_of: str = Field("", description="whose responses are in the data; default: the file's name")

    # What people may write in short, and what earlier versions wrote, becomes the one form that the code reads.

    @field_validator("tools", mode="after")
    @classmethod
    def _are_tools(cls, value: str | tuple[dict[str, Any], ...]) -> str | tuple[dict[str, Any], ...]:
        if not isinstance(value, str):
            read_tools(value)
        return value

    @field_validator("extra")
    @classmethod
    def _are_parameters(cls, value: dict[str, Any]) -> dict[str, Any]:
        return check_parameters(value)

    @field_validator("items", mode="before")
    @classmethod
    def _fill_loader(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {"loader": TABLE, **value}

    @field_validator("twins", mode="before", json_schema_input_type=Twins | tuple[TwinKind, ...] | None)
    @classmethod
    def _read_kinds(cls, value: object) -> object:
        if not isinstance(value, list | tuple):
            return value
        return {"kinds": value} if value else None

    @field_validator("title", mode="before", json_schema_input_type=str | dict[str, str])
    @classmethod
    def _read_title(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return {"en": value}

    @field_validator("prompt", mode="before", json_schema_input_type=str | PromptMessages | PromptColumn)
    @classmethod
    def _read_prompt(cls, value: object) -> object:
        return _write_prompt(value)

    @field_validator("prompts", mode="before", json_schema_input_type=dict[str, Prompt] | tuple[Prompt, ...])
    @classmethod
    def _name_prompts(cls, value: object) -> object:
        """Name listed prompts: a template or a file by the last part of its name, a text by its position."""
        if isinstance(value, Mapping):
            return {name: _write_prompt(prompt) for name, prompt in value.items()}
        if isinstance(value, list | tuple):
            value = [_write_prompt(prompt) for prompt in value]
        if not isinstance(value, list | tuple):
            return value
        stems = [*map(_read_stem, map(str, value))]
        prompts = {}
        for number, (stem, prompt) in enumerate(zip(stems, value, strict=True), 1):
            is_unique = stem and stems.count(stem) == 1
            prompts[stem if is_unique else f"prompt {number}"] = prompt
        return prompts

    @field_validator("score", mode="before", json_schema_input_type=str | dict[str, float] | tuple[str, ...] | None)
    @classmethod
    def _score(cls, value: object) -> object:
        """Accept one metric's name; an empty list is the form of earlier versions for no score."""
        if isinstance(value, str) and value != ALL:
            return (value,)
        return None if value in ([], ()) else value

    @field_validator("metrics", mode="before")
    @classmethod
    def _metrics(cls, value: object) -> object:
        """Accept a list, and names without options; `enabled: true` is the default and is dropped."""
        value = name_metrics(value)
        if not isinstance(value, dict):
            return value
        return {name: _drop_enabled(options) for name, options in value.items()}

    # What no key can tell by itself.

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.prompt and self.prompts:
            raise ValueError("found both prompt and prompts, expected one of them")
        if ALL in self.metrics:
            raise ValueError(f"metrics: {ALL!r} is the name of a score; rename the metric")
        missing = [name for name in self.weights if name not in self.metrics]
        if missing:
            raise ValueError(f"score names {missing[0]!r}, which is not among metrics ({', '.join(self.metrics)})")
        if not all(0 < weight < math.inf for weight in self.weights.values()):
            raise ValueError(f"score: found the weights {self.score}, expected numbers above 0")
        # How many originals are asked is known only at the end, and each twin needs its own.
        if self.twins and self.stop:
            raise ValueError(
                "found both twins and stop, expected one of them: stop asks only some of the originals"
            )
        n_scores = len(self.score_metrics)
        if self.strata and n_scores > 1:
            raise ValueError(f"strata: {self.strata} requires one metric in score, found {n_scores}")
        if not n_scores:
            raise ValueError("metrics: every metric of the score is disabled; enable one")
        return self

    # What other code asks a suite.

    @property
    def loader(self) -> str:
        """The loader's name."""
        return str(self.items["loader"])

    @property
    def source(self) -> Mapping[str, Any]:
        """The loader's options."""
        return {key: value for key, value in self.items.items() if key != "loader"}

    @property
    def seed(self) -> int:
        """The seed for drawing or sampling; 0 if the loader has none."""
        sample = self.items.get("sample")
        options = self.items if "seed" in self.items or not isinstance(sample, Mapping) else sample
        seed = options.get("seed")
        return seed if isinstance(seed, int) else 0

    @property
    def prompts_by_name(self) -> dict[str, str]:
        """The prompts by short names, '' for the only one; `{option}` in a template's name is a loader option."""
        prompts = self.prompts or {"": self.prompt}
        return {name: self._fill_name(prompt) for name, prompt in prompts.items()}

    def _fill_name(self, prompt: str) -> str:
        """Fill a template's name with the loader's options; a prompt that is a text stays as it is."""
        if not _NAME_WITH_OPTIONS.fullmatch(prompt):
            return prompt
        return re.sub(r"\{(\w+)\}", lambda option: str(self.items.get(option[1], option[0])), prompt)

    def targets(self, models: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield what is under test, by name: each of the suite's models with each of its prompts' short names."""
        for model in models:
            if self.models and model not in self.models:
                continue
            for prompt_name in self.prompts_by_name:
                target = f"{model} [{prompt_name}]" if prompt_name else model
                yield target, model, prompt_name

    @property
    def item_prompt(self) -> str:
        """The prompt with which the items are stored, the first."""
        return next(iter(self.prompts_by_name.values()))

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics that are enabled, as declared."""
        return tuple(name for name, options in self.metrics.items() if options.get("enabled", True))

    @property
    def score_metrics(self) -> tuple[str, ...]:
        """The enabled metrics that make up the score."""
        return tuple(name for name in self.weights or self.metrics if name in self.metric_names)

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the metrics that a declared score joins; empty without one, and for `all`."""
        if isinstance(self.score, Mapping):
            return dict(self.score)
        if self.score is None or self.score == ALL:
            return {}
        return dict.fromkeys(self.score, 1.0)

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each metric whose values make the score."""
        return {name: self.weights.get(name, 1.0) for name in self.value_metrics}

    @property
    def value_metrics(self) -> tuple[str, ...]:
        """The metrics whose values make the score: `all`, which has its own, or those of `score_metrics`."""
        if self.score == ALL:
            return (ALL,)
        return self.score_metrics

    @property
    def headline(self) -> str:
        """The metric that is the score, or `all`; '' if the score is a mean of several."""
        names = self.value_metrics
        return names[0] if len(names) == 1 else ""

    def threshold_of(self, metric: str) -> float | None:
        """Return the threshold that a metric has by itself: its own; the suite's only without a declared score."""
        # `threshold: null` of a metric means that it has none, whatever the suite's is.
        if "threshold" in self.metrics[metric]:
            return self.use(metric).threshold
        return self.threshold if self.score is None else None

    @property
    def of_k(self) -> bool:
        """Whether the score is of k answers to each question, not a mean."""
        return self.gate_on != "mean"

    def use(self, metric: str) -> Use:
        """Return how a metric is used."""
        return Use(**{key: value for key, value in self.metrics[metric].items() if key in Use.model_fields})

    def options(self, metric: str) -> dict[str, Any]:
        """Return a metric's own options."""
        return {key: value for key, value in self.metrics[metric].items() if key not in Use.model_fields}


def find_targets(suites: Iterable[Suite], models: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return the model and the prompt's name of each target, of suites with several prompts."""
    targets: dict[str, tuple[str, str]] = {}
    for suite in suites:
        if suite.prompts:
            targets |= {target: (model, prompt_name) for target, model, prompt_name in suite.targets(models)}
    return targets
