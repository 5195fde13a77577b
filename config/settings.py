"""The configuration: every key of a YAML file or `--set`, with its default and its meaning.

All models are frozen and refuse unknown keys. It never contains secrets, only the names of environment variables
that hold them (`api_key_env`).
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Annotated, Literal, Self

from pydantic import Field, WithJsonSchema, field_validator, model_validator

from basic_control.config.about import About
from basic_control.config.addresses import (
    ADVICE,
    find_other_scheme,
    find_secret_parameter,
    find_secret_part,
    holds_key,
    holds_user,
    walk_texts,
)
from basic_control.config.budget import Budget, costs_money
from basic_control.config.declared import DeclarationError, resolve
from basic_control.config.models import Judge, Model
from basic_control.config.prices import Prices, fill_prices
from basic_control.data.deciding import components, has_one_headline, headlines, weight_of
from basic_control.data.loading import reply_schema
from basic_control.data.options import OFF, Frozen, Share
from basic_control.data.plugins import loader, metric
from basic_control.data.suites import ALL, MAX_DROP, Stop, Suite

__all__ = ["Judge", "Model", "Settings", "Suite"]


_PRICES = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}
"""A configuration names the file, which is later replaced by what was read from it."""
USUAL = {"OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_API_KEY"}
"""Variables that keys are read from by default."""
_OF_SCORES = {"overall", ALL}
"""Names that reports give to scores, which a suite's would be mistaken for."""


class Explainability(Frozen):
    """How cot and citation join in `FINAL_RESULTS_<date>.json`; the weights are renormalised."""

    weight_cot: Share = Field(0.5, description="weight of the chains of thought")
    weight_citation: Share = Field(0.5, description="weight of the citations")
    threshold: Share = Field(0.8, description="threshold of the joint score")

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not self.weight_cot and not self.weight_citation:
            raise ValueError("the weights weight_cot, weight_citation are all 0; give one of them a weight")
        return self


class StoreSettings(Frozen):
    """Where tables, replies and runs are kept."""

    root: str = Field("artifacts/store", min_length=1, description="a folder or an fsspec URL (s3://…)")
    cache: str = Field(
        "", description="the reply cache as an SQLAlchemy URL without a password; default: replies.sqlite in `root`"
    )
    runs: str = Field("artifacts/runs", min_length=1, description="the folder of the runs and their reports")

    @field_validator("cache", "root")
    @classmethod
    def _no_password(cls, value: str) -> str:
        # The configuration is part of every manifest.
        if ("@" in value and ":" in value.partition("://")[2].rpartition("@")[0]) or find_secret_part(value):
            raise ValueError(
                "contains a password or a key; remove it and set it in the environment (PGPASSWORD, a .pgpass "
                "file; AWS_SECRET_ACCESS_KEY)"
            )
        return value


class Sandbox(Frozen):
    """What runs models' programs in languages that need a tool of this machine."""

    kotlin_compiler: str = Field(
        "", description="the path of kotlinc or its folder; default: $BASIC_CONTROL_KOTLINC, else found on the PATH"
    )
    java: str = Field(
        "", description="the path of its Java or the folder; default: JAVA_HOME, else found on the PATH"
    )


class Telemetry(Frozen):
    """Where a run's spans and counts are sent, through OpenTelemetry."""

    endpoint: str = Field(
        "",
        pattern=r"^(https?://[^\s]+)?$",
        description="an OTLP collector over HTTP, such as http://127.0.0.1:4318; default: off. Headers come "
        "from OTEL_EXPORTER_OTLP_HEADERS",
    )

    @field_validator("endpoint")
    @classmethod
    def _no_secret(cls, value: str) -> str:
        if holds_user(value) or find_secret_part(value):
            raise ValueError(
                "contains a password or a key, which would be stored in every manifest; remove it and set "
                "OTEL_EXPORTER_OTLP_HEADERS in the environment"
            )
        return value


class Report(Frozen):
    """What is written for people."""

    language: str = Field("en", description="en, ru, or a language that a plug-in adds")
    html: bool = Field(default=True, description="write the HTML report")
    junit: str = Field("", description="a JUnit XML file to write; the same as --junit FILE")
    markdown: str = Field(
        "", description="a Markdown summary to write, such as for a merge request; --markdown FILE"
    )
    results: str = Field("", description="a copy of results.json to write; --json FILE")
    name: str = Field("", description="the run's name in lists of runs; the same as --name NAME")
    note: str = Field("", description="a note shown in lists of runs; --note TEXT")

    @field_validator("language")
    @classmethod
    def _spoken(cls, value: str) -> str:
        if value != "en":
            from basic_control.prompts.phrases import languages

            if value not in (known := languages()):
                there = ", ".join(known)
                raise ValueError(f"found no catalogue of phrases in {value!r}; expected one of {there}")
        return value


StageName = Literal["generate", "query", "verify", "judge", "score", "aggregate", "report"]
"""The stages in dependency order."""


class Rerun(Frozen):
    """Which parts of an earlier run to repeat; everything else comes from the caches."""

    resume: str = Field("", description="the unfinished run to continue, in its own folder")
    rerun: StageName | Literal[""] = Field("", description="the stage to run again, with all that depends on it")
    of: str = Field("", description="the run that is rerun; for the manifest")
    suite: str = Field("", description="only this suite")
    model: str = Field("", description="only this model")
    failed: bool = Field(default=False, description="ask judges again whose replies could not be read")
    truncated: bool = Field(default=False, description="ask again only what was truncated, with another limit")
    replies: str = Field("", description="the run whose replies are judged; no model is asked")
    sets: tuple[str, ...] = Field((), description="what was set beside the configuration; for the manifest")


class Settings(Frozen):
    """One evaluation."""

    models: tuple[Model, ...] = Field(
        (), description="the models under test; may be empty if all responses are given"
    )
    judges: tuple[Judge, ...] = Field((), description="the judges, for metrics that need them")
    suites: tuple[Suite, ...] = Field(min_length=1, description="what is evaluated: names and declarations")
    plugins: tuple[str, ...] = Field((), description="files and folders with your own units and suites")
    repeats: int = Field(1, ge=1, description="how often each model is asked each question")
    explainability: Explainability = Explainability()
    threshold: Share | None = Field(
        None,
        description="threshold of the overall score of several suites; default: 0.8 if each suite with a weight "
        "has one",
    )
    gate: Annotated[Literal["point", "interval", "off"], OFF] = Field(
        "point",
        description="point: the score decides; interval: its whole interval; off: nothing, with exit code 0",
    )
    undecided: Literal["undecided", "pass"] = Field(
        "undecided", description="how an undecided gate counts: exit code 3, or 0"
    )
    judges_must_have: Literal["nothing", "passport", "labels"] = Field(
        "nothing",
        description="what a verdict on a judged suite requires: its judges' passports, or people's labels",
    )
    baseline: str = Field("", description="the baseline to compare the run with; the same as --baseline NAME")
    fail_on: Literal["threshold", "regression"] = Field(
        "threshold", description="regression: a suite that fell below its baseline also fails the run"
    )
    max_drop: Share = Field(MAX_DROP, description="the tolerated drop from the baseline")
    allow_different: bool = Field(default=False, description="compare even if rules differ or parts are missing")
    store: StoreSettings = StoreSettings()
    sandbox: Sandbox = Sandbox()
    report: Report = Report()
    about: About = About()
    telemetry: Telemetry = Telemetry()
    batch_size: int = Field(2000, ge=1, description="items per batch, the unit of tasks and Parquet files")
    runner: Literal["local", "dask", "ray"] = Field("local", description="where tasks run")
    runner_address: str = Field("", description="a running cluster's address; default: a local one is started")
    runner_workers: int = Field(2, ge=1, description="worker processes of a local cluster")
    prices: Annotated[Prices | None, WithJsonSchema(_PRICES, mode="validation")] = Field(
        None, description="a YAML file of dated model prices: docs/servers.md"
    )
    budget: Budget | None = Field(
        None, description="what a start of a run may spend: US dollars, or {calls: 500}; then it stops, undecided"
    )
    fresh: str = Field("", description="separates this run's requests from all cached ones; set by --fresh")

    @property
    def title(self) -> str:
        """The run's name, or its models and suites in a line, for lists of runs."""
        if self.report.name:
            return self.report.name
        named, rest = [model.name for model in self.models[:3]], len(self.models) - 3
        return f"{', '.join(named)}{f' and {rest} more' if rest > 0 else ''}: {', '.join(self.named)}"

    @property
    def currency(self) -> str:
        """The currency of prices: the price table's, or US dollars without one."""
        return self.prices.currency if self.prices else "USD"

    @property
    def named(self) -> tuple[str, ...]:
        """The suites' names."""
        return tuple(suite.name for suite in self.suites)

    def suite(self, name: str) -> Suite:
        """Return a suite by its name."""
        return next(suite for suite in self.suites if suite.name == name)

    def waiting(self) -> Self:
        """Return the same evaluation, changed to wait for everything it submits in batches."""
        waits = {
            kind: tuple(m.model_copy(update={"batch": "wait"}) if m.batch == "submit" else m for m in listed)
            for kind, listed in (("models", self.models), ("judges", self.judges))
        }
        return self.model_copy(update=waits)

    def until_decided(self) -> Self:
        """Return the same evaluation with every suite asked until it is decided, by its own rule or the default.

        A suite with twins, without a threshold, or gated on k answers is asked in full: the rule is about means.
        """

        def stopping(suite: Suite) -> Suite:
            has_threshold = any(score.threshold is not None for score in headlines(suite))
            if suite.gate_on != "mean" or suite.twins or not has_threshold:
                return suite
            return suite.model_copy(update={"stop": suite.stop or Stop()})

        return self.model_copy(update={"suites": tuple(map(stopping, self.suites))})

    def limited(self, most: int) -> Self:
        """Return the same evaluation with at most `most` questions per suite; rows are sampled at random."""

        def fewer(suite: Suite) -> Suite:
            unit, source, stop, each = loader(suite.loader), suite.source, suite.stop, 1
            if unit.generated and unit.count and "n_items" in source:
                each = unit.count(source) // source["n_items"]
                source = {**source, "n_items": min(source["n_items"], max(1, most // each))}
            elif isinstance(sample := source.get("sample"), Mapping):
                method = "random" if sample["method"] == "all" else sample["method"]
                source = {**source, "sample": {**sample, "method": method, "n": most}}
            if stop:
                n = min(stop.most, max(most, each))
                stop = stop.model_copy(update={"most": n, "first": min(stop.first, n)})
            return suite.model_copy(update={"items": {"loader": suite.loader, **source}, "stop": stop})

        return self.model_copy(update={"suites": tuple(map(fewer, self.suites))})

    def times(self, suite: Suite) -> int:
        """Return how often each question of a suite is asked."""
        return suite.repeats or self.repeats

    @model_validator(mode="before")
    @classmethod
    def _declared(cls, raw: object) -> object:
        """Replace the names, sections and overrides of suites by whole declarations."""
        if not isinstance(raw, Mapping):
            return raw
        try:
            return resolve(fill_prices(raw)).raw
        except DeclarationError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _names(self) -> Self:
        for kind, listed in (("models", self.models), ("judges", self.judges)):
            if repeated := _twice(model.name for model in listed):
                raise ValueError(f"{kind}: the name {repeated!r} is used twice; expected unique names")
        for place, model in self.entries():
            stored = "which would be stored in every manifest"
            if holds_user(model.base_url):
                raise ValueError(
                    f"{place}.base_url: contains a user or a password, {stored}; remove it and name the variable "
                    "of a key in `api_key_env` (Ollama: or set OLLAMA_HOST)"
                )
            if scheme := find_other_scheme(model.base_url):
                raise ValueError(f"{place}.base_url: found the scheme {scheme}:, expected http:// or https://")
            if named := find_secret_part(model.base_url):
                raise ValueError(f"{place}.base_url: contains a key (parameter {named!r}), {stored}; {ADVICE}")
            if named := find_secret_parameter(model.extra):
                raise ValueError(f"{place}.extra: {named} contains a key, {stored}; {ADVICE}")
        return self

    @model_validator(mode="after")
    def _cascades(self) -> Self:
        judges = {judge.name: judge for judge in self.judges}
        for index, judge in enumerate(self.judges):
            for name in judge.members:
                if name not in judges or judges[name].members:
                    single = ", ".join(sorted(one.name for one in self.judges if not one.members)) or "none"
                    raise ValueError(
                        f"judges.{index}.cascade: names {name!r}; expected two other judges of the list ({single})"
                    )
            if judge.members and not judges[judge.members[0]].decides:
                raise ValueError(
                    f"judges.{index}.cascade: {judge.members[0]!r} writes its answers; expected a judge that "
                    "decides by probabilities (`api: decisions`, `systemone`, `logprobs`) as the small one"
                )
        return self

    def entries(self) -> Iterator[tuple[str, Model]]:
        """Yield models and judges, each with its place."""
        for kind, listed in (("models", self.models), ("judges", self.judges)):
            yield from ((f"{kind}.{index}", model) for index, model in enumerate(listed))

    @model_validator(mode="after")
    def _texts(self) -> Self:
        """Refuse API keys in whatever text: all is copied to manifests, most to tables and reports."""
        named = {one.api_key_env for one in (*self.models, *self.judges)} | USUAL
        known = {os.environ.get(name, "").strip() for name in named if name}
        for place, text in walk_texts(self.model_dump(mode="json", exclude={"prices"})):
            if holds_key(text, known):
                raise ValueError(
                    f"{place}: contains a key, which would be sent or stored in every manifest and report; "
                    "remove it and name its variable in `api_key_env`"
                )
        return self

    @model_validator(mode="after")
    def _suites(self) -> Self:
        if repeated := _twice(self.named):
            raise ValueError(f"suites: {repeated!r} is listed twice; list each once")
        models, judges = {m.name for m in self.models}, {j.name for j in self.judges}
        for index, suite in enumerate(self.suites):
            if suite.name in type(self).model_fields:
                raise ValueError(
                    f"suites.{index}.name: {suite.name!r} is a key of the configuration; rename the suite"
                )
            if suite.name.casefold() in _OF_SCORES:
                raise ValueError(
                    f"suites.{index}.name: {suite.name!r} is the name of a score in reports; rename the suite"
                )
            for path, named, known in (
                ("models", suite.models, models),
                ("judges", suite.judges, judges),
                *((f"metrics.{name}.judges", suite.use(name).judges, judges) for name in suite.metric_names),
            ):
                if missing := [name for name in named if name not in known]:
                    there = ", ".join(sorted(known)) or "none"
                    raise ValueError(
                        f"suites.{index}.{path}: {suite.name} names {missing[0]!r}, which is not among "
                        f"{'models' if known is models else 'judges'} ({there})"
                    )
        return self

    @model_validator(mode="after")
    def _budgeted(self) -> Self:
        """Refuse a budget that cannot be kept: of money without a price, and of what waits in batches."""
        for place, entry in self.entries() if self.budget else ():
            if entry.batch != "off":
                raise ValueError(f"{place}.batch: found {entry.batch!r} and a budget; expected one of them")
            has_price = entry.cost(1, 1) is not None
            if self.budget and self.budget.usd is not None and not has_price and costs_money(entry):
                raise ValueError(
                    f"{place}: found no price, and a budget in {self.currency}; set price_in and price_out (0 if "
                    "its calls cost nothing), or budget: {calls: …}"
                )
        return self

    @model_validator(mode="after")
    def _structured(self) -> Self:
        """Refuse `structured` of a model where no suite has a schema that its replies could follow."""
        has_schema = any(reply_schema(suite) for suite in self.suites)
        for index, model in enumerate(self.models):
            if model.is_structured and not has_schema:
                raise ValueError(
                    f"models.{index}.structured: found {model.structured!r}, and no suite with a schema of "
                    "replies; remove it, or give a suite's metric one: json_match: {schema: …}"
                )
        return self

    @model_validator(mode="after")
    def _repeated(self) -> Self:
        for suite in self.suites:
            if not suite.of_k and suite.k:
                raise ValueError(
                    f"{suite.name}.k is {suite.k}, and {suite.name}.gate_on is {suite.gate_on}; k goes with "
                    "pass_at_k and pass_all_k"
                )
            if not suite.of_k:
                continue
            gated = f"{suite.name}.gate_on is {suite.gate_on}"
            if suite.stop:
                raise ValueError(f"{gated}, and {suite.name}.stop asks until a mean is decided; remove one of them")
            n = self.times(suite)
            if n == 1:
                raise ValueError(
                    f"{gated}, and each question is asked once (repeats: 1); set {suite.name}.repeats to 2 or more"
                )
            if suite.k and suite.k > n:
                raise ValueError(f"{suite.name}.k is {suite.k}, expected at most the number of repeats, {n}")
            joined = [score for score in headlines(suite) if score.score != ALL]  # which is yes or no
            units = [metric(name) for score in joined for name in components(score)]
            if graded := [one.name for one in units if not one.yes_no and not one.all_or_none]:
                raise ValueError(
                    f"{gated}, which needs answers that are right or wrong, and {', '.join(graded)} grades them; "
                    f"name another metric in {suite.name}.score, or set gate_on: mean"
                )
        return self

    @model_validator(mode="after")
    def _joined(self) -> Self:
        for suite in self.suites:
            has_threshold = any(score.threshold is not None for score in headlines(suite))
            if suite.stop and suite.stop.when == "decided" and not has_threshold:
                raise ValueError(
                    f"{suite.name}.stop asks until the threshold is excluded, and {suite.name}.threshold is not "
                    "set; set it, or set stop.when: ranked"
                )
        weighing = [suite for suite in self.suites if weight_of(suite)]
        for first, second in combinations(weighing, 2):
            kinds = [self.score_of(suite) for suite in (first, second)]
            shared = not first.models or not second.models or {*first.models} & {*second.models}
            if shared and kinds[0] != kinds[1]:
                raise ValueError(
                    f"{first.name} is gated on {kinds[0]} and {second.name} on {kinds[1]}, which cannot be "
                    "averaged into an overall score. Set weight: 0 for one (it keeps its own threshold), gate both "
                    "the same way, or evaluate them separately"
                )
        return self

    @model_validator(mode="after")
    def _weights(self) -> Self:
        for index, suite in enumerate(self.suites):
            if suite.weight and not has_one_headline(suite):
                names = [score.headline or "the score" for score in headlines(suite)]
                deciding = [name for name in suite.metric_names if suite.threshold_of(name) is not None]
                joined = ", ".join(deciding if suite.score is None and deciding else suite.metric_names)
                raise ValueError(
                    f"suites.{index}.weight: found {suite.weight:g}, expected 0: several scores decide "
                    f"{suite.name} ({', '.join(names)}). Write one of these lines in it:\n"
                    f"  score: [{joined}]   # their mean\n"
                    "  weight: 0   # no part of the overall score"
                )
        return self

    def score_of(self, suite: Suite) -> str:
        """Return the kind of a suite's score: the mean, pass@k or pass^k."""
        sign = {"pass_at_k": "@", "pass_all_k": "^"}.get(suite.gate_on)
        return f"pass{sign}{suite.k or self.times(suite)}" if sign else "the mean"


def _twice(names: Iterable[str]) -> str:
    """Return the first duplicate name, '' if there is none."""
    counts = Counter(names)
    return min((name for name, n in counts.items() if n > 1), default="")
