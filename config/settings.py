"""The configuration: every key of a YAML file or `--set`, with its default and its meaning.

All models are frozen and refuse unknown keys. It never contains secrets, only the names of environment variables
that hold them (`api_key_env`).
"""

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, combinations
from typing import Annotated, Literal, Self, TypeVar

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
from basic_control.config.declared import DeclarationError, resolve_suites
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
Entry = TypeVar("Entry", Model, Judge)
SCORE_NAMES = {"overall", ALL}
"""Names that reports give to scores, which a suite's would be mistaken for."""


class Explainability(Frozen):
    """How cot and citation join in `FINAL_RESULTS_<date>.json`; the weights are renormalised."""

    weight_cot: Share = Field(0.5, description="weight of the chains of thought")
    weight_citation: Share = Field(0.5, description="weight of the citations")
    threshold: Share = Field(0.8, description="threshold of the joint score")

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
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
    def _check_language(cls, value: str) -> str:
        if value != "en":
            from basic_control.prompts.phrases import languages

            if value not in languages():
                expected = ", ".join(languages())
                raise ValueError(f"found no catalogue of phrases in {value!r}; expected one of {expected}")
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
        None,
        description="what a start of a run may spend: US dollars, {calls: 500} or {minutes: 20}; then it stops, "
        "undecided",
    )
    fresh: str = Field(
        "", description="a label, such as a release's: replies are asked anew once for each; --fresh sets the time"
    )

    @property
    def title(self) -> str:
        """The run's name, or its models and suites in a line, for lists of runs."""
        if self.report.name:
            return self.report.name
        models = ", ".join(model.name for model in self.models[:3])
        n_further = len(self.models) - 3
        if n_further > 0:
            models += f" and {n_further} more"
        return f"{models}: {', '.join(self.suite_names)}"

    @property
    def currency(self) -> str:
        """The currency of prices: the price table's, or US dollars without one."""
        return self.prices.currency if self.prices else "USD"

    @property
    def suite_names(self) -> tuple[str, ...]:
        """The suites' names."""
        return tuple(suite.name for suite in self.suites)

    def suite(self, name: str) -> Suite:
        """Return a suite by its name."""
        return next(suite for suite in self.suites if suite.name == name)

    def with_waiting(self) -> Self:
        """Return the same evaluation, changed to wait for everything it submits in batches."""
        models, judges = tuple(map(_wait_for_batches, self.models)), tuple(map(_wait_for_batches, self.judges))
        return self.model_copy(update={"models": models, "judges": judges})

    def until_decided(self) -> Self:
        """Return the same evaluation with every suite asked until it is decided, by its own rule or the default.

        A suite with twins, without a threshold, or gated on k answers is asked in full: the rule is about means.
        """

        def add_stop(suite: Suite) -> Suite:
            has_threshold = any(score.threshold is not None for score in headlines(suite))
            if suite.gate_on != "mean" or suite.twins or not has_threshold:
                return suite
            return suite.model_copy(update={"stop": suite.stop or Stop()})

        return self.model_copy(update={"suites": tuple(map(add_stop, self.suites))})

    def with_limit(self, maximum: int) -> Self:
        """Return the same evaluation with at most so many questions per suite; rows are sampled at random."""
        suites = tuple(_limit_questions(suite, maximum) for suite in self.suites)
        return self.model_copy(update={"suites": suites})

    def times(self, suite: Suite) -> int:
        """Return how often each question of a suite is asked."""
        return suite.repeats or self.repeats

    @model_validator(mode="before")
    @classmethod
    def _complete_raw(cls, raw: object) -> object:
        """Fill in prices, and replace the names, sections and overrides of suites by whole declarations."""
        if not isinstance(raw, Mapping):
            return raw
        try:
            return resolve_suites(fill_prices(raw)).raw
        except DeclarationError as error:
            raise ValueError(str(error)) from error

    @model_validator(mode="after")
    def _names(self) -> Self:
        for kind, entries in (("models", self.models), ("judges", self.judges)):
            repeated = _find_repeated(model.name for model in entries)
            if repeated:
                raise ValueError(f"{kind}: the name {repeated!r} is used twice; expected unique names")
        # An address and its parameters are stored with the run, and so is a key in them.
        stored = "which would be stored in every manifest"
        for location, model in self.entries():
            if holds_user(model.base_url):
                raise ValueError(
                    f"{location}.base_url: contains a user or a password, {stored}; remove it and name the "
                    "variable of a key in `api_key_env` (Ollama: or set OLLAMA_HOST)"
                )
            scheme = find_other_scheme(model.base_url)
            if scheme:
                raise ValueError(f"{location}.base_url: found the scheme {scheme}:, expected http:// or https://")
            parameter = find_secret_part(model.base_url)
            if parameter:
                raise ValueError(
                    f"{location}.base_url: contains a key (parameter {parameter!r}), {stored}; {ADVICE}"
                )
            parameter = find_secret_parameter(model.extra)
            if parameter:
                raise ValueError(f"{location}.extra: {parameter} contains a key, {stored}; {ADVICE}")
        # A suite's own parameters are sent and stored as its models' are.
        for suite in self.suites:
            parameter = find_secret_parameter(suite.extra)
            if parameter:
                raise ValueError(f"{suite.name}.extra: {parameter} contains a key, {stored}; {ADVICE}")
        return self

    @model_validator(mode="after")
    def _cascades(self) -> Self:
        # A small judge decides where it is sure, and a large one answers the others.
        judges = {judge.name: judge for judge in self.judges}
        for index, judge in enumerate(self.judges):
            for name in judge.members:
                if name not in judges or judges[name].members:
                    single = ", ".join(sorted(rival.name for rival in self.judges if not rival.members)) or "none"
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
        for index, model in enumerate(self.models):
            yield f"models.{index}", model
        for index, judge in enumerate(self.judges):
            yield f"judges.{index}", judge

    @model_validator(mode="after")
    def _texts(self) -> Self:
        """Refuse API keys in whatever text: all is copied to manifests, most to tables and reports."""
        variables = {entry.api_key_env for entry in (*self.models, *self.judges)} | USUAL
        keys = {os.environ.get(variable, "").strip() for variable in variables if variable}
        for location, text in walk_texts(self.model_dump(mode="json", exclude={"prices"})):
            if holds_key(text, keys):
                raise ValueError(
                    f"{location}: contains a key, which would be sent or stored in every manifest and report; "
                    "remove it and name its variable in `api_key_env`"
                )
        return self

    @model_validator(mode="after")
    def _suites(self) -> Self:
        repeated = _find_repeated(self.suite_names)
        if repeated:
            raise ValueError(f"suites: {repeated!r} is listed twice; list each once")
        models, judges = {model.name for model in self.models}, {judge.name for judge in self.judges}
        for index, suite in enumerate(self.suites):
            if suite.name in type(self).model_fields:
                raise ValueError(
                    f"suites.{index}.name: {suite.name!r} is a key of the configuration; rename the suite"
                )
            if suite.name.casefold() in SCORE_NAMES:
                raise ValueError(
                    f"suites.{index}.name: {suite.name!r} is the name of a score in reports; rename the suite"
                )
            location = f"suites.{index}"
            _check_named(f"{location}.models", suite.name, suite.models, models, kind="models")
            _check_named(f"{location}.judges", suite.name, suite.judges, judges, kind="judges")
            for metric_name in suite.metric_names:
                names = suite.use(metric_name).judges
                _check_named(f"{location}.metrics.{metric_name}.judges", suite.name, names, judges, kind="judges")
        return self

    @model_validator(mode="after")
    def _check_budget(self) -> Self:
        """Refuse a budget that cannot be kept: of money without a price, and of what waits in batches."""
        if self.budget is None:
            return self
        for location, entry in self.entries():
            if entry.batch != "off":
                raise ValueError(f"{location}.batch: found {entry.batch!r} and a budget; expected one of them")
            has_price = entry.cost(1, 1) is not None
            if self.budget.usd is not None and not has_price and costs_money(entry):
                raise ValueError(
                    f"{location}: found no price, and a budget in {self.currency}; set price_in and price_out (0 "
                    "if its calls cost nothing), or budget: {calls: …}"
                )
        return self

    @model_validator(mode="after")
    def _check_structured(self) -> Self:
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
    def _check_repeats(self) -> Self:
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
            # Of k answers, each is right or wrong: `all` says so of a row, and not every metric does.
            joined = [score for score in headlines(suite) if score.score != ALL]
            units = map(metric, chain.from_iterable(map(components, joined)))
            graded = [unit.name for unit in units if not unit.yes_no and not unit.all_or_none]
            if graded:
                raise ValueError(
                    f"{gated}, which needs answers that are right or wrong, and {', '.join(graded)} grades them; "
                    f"name another metric in {suite.name}.score, or set gate_on: mean"
                )
        return self

    @model_validator(mode="after")
    def _check_headlines(self) -> Self:
        for suite in self.suites:
            has_threshold = any(score.threshold is not None for score in headlines(suite))
            if suite.stop and suite.stop.when == "decided" and not has_threshold:
                raise ValueError(
                    f"{suite.name}.stop asks until the threshold is excluded, and {suite.name}.threshold is not "
                    "set; set it, or set stop.when: ranked"
                )
        # An overall score is a mean of means, or of shares of one kind.
        weighing = [suite for suite in self.suites if weight_of(suite)]
        for first, second in combinations(weighing, 2):
            first_kind, second_kind = self.score_of(first), self.score_of(second)
            has_shared = not first.models or not second.models or {*first.models} & {*second.models}
            if has_shared and first_kind != second_kind:
                raise ValueError(
                    f"{first.name} is gated on {first_kind} and {second.name} on {second_kind}, which cannot be "
                    "averaged into an overall score. Set weight: 0 for one (it keeps its own threshold), gate both "
                    "the same way, or evaluate them separately"
                )
        return self

    @model_validator(mode="after")
    def _weights(self) -> Self:
        for index, suite in enumerate(self.suites):
            # Which of several scores would count is the user's to say.
            if suite.weight and not has_one_headline(suite):
                names = [score.headline or "the score" for score in headlines(suite)]
                with_threshold = [name for name in suite.metric_names if suite.threshold_of(name) is not None]
                joined = ", ".join(suite.metric_names)
                if suite.score is None and with_threshold:
                    joined = ", ".join(with_threshold)
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
        if sign is None:
            return "the mean"
        return f"pass{sign}{suite.k or self.times(suite)}"


def _wait_for_batches(entry: Entry) -> Entry:
    """Return a model or a judge that waits for what it submits."""
    if entry.batch != "submit":
        return entry
    return entry.model_copy(update={"batch": "wait"})


def _limit_questions(suite: Suite, maximum: int) -> Suite:
    """Return a suite with at most so many questions, but one of each family, level and language."""
    unit, source, stop, n_strata = loader(suite.loader), suite.source, suite.stop, 1
    sample = source.get("sample")
    if unit.generated and unit.count and "n_items" in source:
        n_strata = unit.count(source) // source["n_items"]
        source = {**source, "n_items": min(source["n_items"], max(1, maximum // n_strata))}
    elif isinstance(sample, Mapping):
        method = "random" if sample["method"] == "all" else sample["method"]
        source = {**source, "sample": {**sample, "method": method, "n": maximum}}
    # A suite that is asked until it is decided offers so many, and looks at the latest after all of them.
    if stop:
        n = min(stop.most, max(maximum, n_strata))
        stop = stop.model_copy(update={"most": n, "first": min(stop.first, n)})
    return suite.model_copy(update={"items": {"loader": suite.loader, **source}, "stop": stop})


def _check_named(location: str, suite: str, names: Iterable[str], expected: Collection[str], *, kind: str) -> None:
    """Refuse a model or a judge that a suite names and the configuration does not have."""
    for name in names:
        if name not in expected:
            configured = ", ".join(sorted(expected)) or "none"
            raise ValueError(f"{location}: {suite} names {name!r}, which is not among {kind} ({configured})")


def _find_repeated(names: Iterable[str]) -> str:
    """Return the first duplicate name, '' if there is none."""
    counts = Counter(names)
    return min((name for name, n in counts.items() if n > 1), default="")
