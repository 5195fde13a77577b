"""Plan: what a run asks, of whom, and by which rules; resolved once from the settings, before any call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from basic_control.config.budget import Budget
from basic_control.config.prices import Prices
from basic_control.config.settings import Explainability, Judge, Model, Report, Sandbox, Settings, StoreSettings
from basic_control.data.batches import StoredIdentity
from basic_control.data.deciding import columns, has_one_headline, weight_of
from basic_control.data.errors import InputError
from basic_control.data.examples import QuestionForm, Surroundings, surround
from basic_control.data.expected import ExpectedAnswers, read_expected
from basic_control.data.loading import (
    list_compared,
    list_judged_metrics,
    list_shown,
    name_needing_metrics,
    needs_of,
    offer_items,
    responses_of,
    tools_of,
)
from basic_control.data.messages import MESSAGES, column_of_messages, has_system, read_messages
from basic_control.data.plugins import loader, metric
from basic_control.data.suites import Aggregate, Suite
from basic_control.data.tools import TOOLS
from basic_control.data.truncation import NAMES as LIMIT_NAMES
from basic_control.metrics.analysis.pairs import find_crossed
from basic_control.metrics.analysis.policy import Must, Policy
from basic_control.prompts import find_columns_of_all, find_columns_of_system, may_hold_conversation


@dataclass(frozen=True, slots=True)
class Identities:
    """What identifies each model and judge beyond its name; `missing` maps unavailable models to the reason."""

    models: Mapping[str, Mapping[str, str]]
    judges: Mapping[str, Mapping[str, str]]
    missing: Mapping[str, str] = field(default_factory=dict)
    # By role and name, those whose server does not answer: only their stored replies are used.
    absent: Mapping[tuple[str, str], StoredIdentity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges of a metric, and the sampling temperature that the metric asks for, if any.

    `members` are the judges of its cascades. Of the `absent` only stored replies are used.
    """

    judges: tuple[Judge, ...]
    identities: Mapping[str, Mapping[str, str]]
    temperature: float | None = None
    members: tuple[Judge, ...] = ()
    absent: frozenset[str] = frozenset()

    def find_member(self, name: str) -> Judge:
        """Return a cascade's judge by its name."""
        return next(judge for judge in self.members if judge.name == name)


@dataclass(frozen=True, slots=True)
class Target:
    """A target of a suite: a model, as the suite asks it, with one of its prompts.

    `name` is the one in reports. `template` replaces the items' own prompt; None is the suite's first, with which
    they are stored.
    """

    name: str
    model: Model
    prompt: str
    template: str | None


@dataclass(frozen=True, slots=True)
class MetricPlan:
    """How a suite uses a metric.

    `judges` is empty if it needs none, or the configuration has none; `members` are those of its cascades.
    `compared` is the column, or the target, with which it compares replies; '' if it compares nothing.
    """

    name: str
    options: Mapping[str, Any]
    judges: tuple[Judge, ...]
    temperature: float | None
    aggregate: Aggregate
    compared: str
    members: tuple[Judge, ...] = ()

    def build_panel(self, identities: Mapping[str, Mapping[str, str]]) -> Panel:
        """Return the judges with their identities."""
        identity_by_judge = {judge.name: identities[judge.name] for judge in self.panel_judges}
        return Panel(self.judges, identity_by_judge, self.temperature, self.members)

    @property
    def panel_judges(self) -> tuple[Judge, ...]:
        """The judges that are asked: in place of a cascade its members."""
        single = [judge for judge in self.judges if not judge.members]
        return tuple({judge.name: judge for judge in (*single, *self.members)}.values())


@dataclass(frozen=True, slots=True)
class SuitePlan:
    """What a suite asks and how it is scored; `suite` is its declaration.

    `targets` are asked unless the data has responses, which are reported under `responses_of`. `required` are the
    facts that items must have. `files` are those that no later suite of the run reads. `alpha` is the level of each
    of its confidence sequences, if it is asked until it is decided: all sequences of the run share one.
    `expected` says how the rows' expected answers are read, `around` is what goes with each question.
    """

    suite: Suite
    targets: tuple[Target, ...]
    responses_of: str
    required: tuple[str, ...]
    repeats: int
    metrics: tuple[MetricPlan, ...]
    files: tuple[Path, ...]
    batch_size: int
    store: StoreSettings
    sandbox: Sandbox
    expected: ExpectedAnswers
    around: Surroundings
    alpha: float = 0.0

    @property
    def name(self) -> str:
        """The suite's name."""
        return self.suite.name

    @property
    def exclusions(self) -> frozenset[int]:
        """The positions of drawn rows that are not asked."""
        return self.expected.left_out | self.around.excluded

    @property
    def live_targets(self) -> tuple[Target, ...]:
        """The targets that are asked: none if the data has responses."""
        if self.responses_of:
            return ()
        return self.targets

    @property
    def target_names(self) -> list[str]:
        """The names of the targets whose replies are scored."""
        if self.responses_of:
            return [self.responses_of]
        return [target.name for target in self.targets]

    @property
    def judge_metrics(self) -> tuple[MetricPlan, ...]:
        """The metrics that ask judges."""
        return tuple(map(self.find_metric, list_judged_metrics(self.suite)))

    @property
    def judges(self) -> tuple[Judge, ...]:
        """The judges of all metrics that are asked, without duplicates."""
        by_name: dict[str, Judge] = {}
        for metric_plan in self.judge_metrics:
            for judge in metric_plan.panel_judges:
                by_name[judge.name] = judge
        return tuple(by_name.values())

    def find_metric(self, name: str) -> MetricPlan:
        """Return a metric by its name."""
        return next(metric_plan for metric_plan in self.metrics if metric_plan.name == name)

    def find_opponent(self, metric_name: str, target_name: str) -> str:
        """Return the target that a metric compares another's replies with; '' if it compares with a column."""
        return find_opponent(self.targets, self.find_metric(metric_name).compared, target_name)

    def add_opponents(self, target_names: Iterable[str]) -> list[str]:
        """Return targets' names, and those of the targets that a metric compares them with."""
        names = [*target_names]
        opponents: list[str] = []
        for name in names:
            opponents.extend(self.find_opponent(metric_plan.name, name) for metric_plan in self.metrics)
        return list(dict.fromkeys([*names, *filter(None, opponents)]))


@dataclass(frozen=True, slots=True)
class BaselineRule:
    """The baseline to compare with, if any, the tolerated drop, and whether rules may differ."""

    name: str = ""
    max_drop: float = 0.0
    allow_different: bool = False


@dataclass(frozen=True, slots=True)
class Runner:
    """Where stages run: `local`, `dask` or `ray`; on a running cluster, or on one with `workers` workers."""

    name: str
    address: str
    workers: int


@dataclass(frozen=True, slots=True)
class RunMeans:
    """By what means a run works: where its stages, its models' programs and its spans go.

    `collector` is where spans are sent; `fresh` is the label under which models are asked anew.
    """

    runner: Runner
    sandbox: Sandbox
    collector: str
    fresh: str


@dataclass(frozen=True, slots=True)
class Pricing:
    """What calls cost: the table of prices, if any, their currency, and what the run may spend."""

    prices: Prices | None
    currency: str
    budget: Budget | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run asks; `members` are the suites of each scored target, models first, as configured.

    `models` and `judges` are those that some suite asks; `own_models` are targets that are a judge's own model, by
    the judge's name. `configuration` is the resolved configuration as manifests keep it.
    """

    suites: tuple[SuitePlan, ...]
    models: tuple[Model, ...]
    judges: tuple[Judge, ...]
    members: Mapping[str, tuple[str, ...]]
    own_models: Mapping[str, set[str]]
    policy: Policy
    explainability: Explainability
    judges_must_have: Must
    baseline: BaselineRule
    store: StoreSettings
    means: RunMeans
    pricing: Pricing
    report: Report
    configuration: Mapping[str, Any]

    @property
    def declarations(self) -> list[Suite]:
        """The declarations of the suites."""
        return [suite.suite for suite in self.suites]

    @property
    def model_names(self) -> list[str]:
        """The names of all configured models, including those that no suite asks."""
        return [entry["name"] for entry in self.configuration["models"]]

    @property
    def suite_names(self) -> list[str]:
        """The suites' names."""
        return [suite.name for suite in self.suites]

    def find_suite(self, name: str) -> SuitePlan:
        """Return a suite by its name."""
        return next(suite for suite in self.suites if suite.name == name)


def resolve(settings: Settings) -> Plan:
    """Resolve a configuration's defaults; reads its data.

    A judged metric of a configuration without judges has none, which `check_judges` refuses.

    Raises:
        InputError: a suite has nothing to ask, or compares with a model that it does not ask; two targets have one
            name; the suites of a target all have weight 0; or data cannot be read.
    """
    suites: list[SuitePlan] = []
    later: set[Path] = set()
    # From the last: each suite gets the files that no later one reads, which can be dropped after it.
    for suite in reversed(settings.suites):
        files = [*loader(suite.loader).files(suite.source)]
        suites.insert(0, _plan_suite(settings, suite, tuple(file for file in files if file not in later)))
        later.update(files)
    check_target_names(suites)
    suites = _share_alpha(suites)
    # Models and judges that no suite asks need be neither reached nor recorded.
    model_names: set[str] = set()
    judge_names: set[str] = set()
    for suite_plan in suites:
        for target in suite_plan.live_targets:
            model_names.add(target.model.name)
        judge_names.update(judge.name for judge in suite_plan.judges)
    return Plan(
        suites=tuple(suites),
        models=tuple(model for model in settings.models if model.name in model_names),
        judges=tuple(judge for judge in settings.judges if judge.name in judge_names),
        members=_group_suites(settings.models, suites),
        own_models=_find_own_models(settings.judges, suites),
        policy=_build_policy(settings),
        explainability=settings.explainability,
        judges_must_have=settings.judges_must_have,
        baseline=BaselineRule(settings.baseline, settings.max_drop, settings.allow_different),
        store=settings.store,
        means=RunMeans(
            runner=Runner(settings.runner, settings.runner_address, settings.runner_workers),
            sandbox=settings.sandbox,
            collector=settings.telemetry.endpoint.rstrip("/"),
            fresh=settings.fresh,
        ),
        pricing=Pricing(settings.prices, settings.currency, settings.budget),
        report=settings.report,
        configuration=settings.model_dump(mode="json"),
    )


def _build_policy(settings: Settings) -> Policy:
    """Return the rules by which scores pass or fail, with each headline's threshold."""
    thresholds: dict[tuple[str, str], float | None] = {}
    for suite in settings.suites:
        thresholds.update({(score.name, score.headline): score.threshold for score in columns(suite)})
    return Policy(
        gate=settings.gate,
        threshold=settings.threshold,
        thresholds=thresholds,
        undecided=settings.undecided,
        regressions=settings.fail_on == "regression",
    )


def check_target_names(suites: Iterable[SuitePlan]) -> None:
    """Reject different targets of one name, which would be reported as one.

    Raises:
        InputError: two files whose responses are named after them, or two pairs of a model and a prompt.
    """
    origins: dict[str, tuple[str, str]] = {}
    for suite in suites:
        for name, origin in _list_origins(suite):
            suite_before, origin_before = origins.setdefault(name, (suite.name, origin))
            if origin != origin_before:
                raise InputError(
                    f"suites {suite_before} and {suite.name}: found two targets named {name!r} ({origin_before}; "
                    f"{origin}), expected a name of its own for each. Rename the model or the prompt; of a file of "
                    "responses, write `responses_of: NAME` in its suite (the same NAME in both joins them)."
                )


def _list_origins(suite: SuitePlan) -> Iterator[tuple[str, str]]:
    """Yield the names that a suite's targets get by themselves, each with what it stands for."""
    if not suite.responses_of:
        for target in suite.live_targets:
            origin = f"the model {target.model.name!r}"
            if target.prompt:
                origin += f" with the prompt {target.prompt!r}"
            yield target.name, origin
    elif not suite.suite.responses_of:
        data = str(suite.suite.source.get("data", suite.name))
        # A file of data is its path, whatever folder the configuration names it from; other data has a name.
        if Path(data).exists():
            data = str(Path(data).resolve())
        yield suite.responses_of, f"the responses in {data}"


def plan_targets(models: Iterable[Model], suite: Suite) -> Iterator[Target]:
    """Yield a suite's targets: each of its models with each of its prompts."""
    # What the suite sets goes before what the model does.
    changes: dict[str, Any] = {}
    if suite.system is not None:
        changes["system"] = suite.system
    if suite.temperature is not None:
        changes["temperature"] = suite.temperature
    if suite.max_tokens is not None:
        changes["max_tokens"] = suite.max_tokens
    changed_models = {model.name: _change_model(model, changes) for model in models}
    for name, model_name, prompt_name in suite.targets(changed_models):
        prompt = suite.prompts_by_name[prompt_name]
        # The items are stored with the first prompt's text, which has a conversation's turns no more.
        is_stored = prompt == suite.item_prompt and not may_hold_conversation(prompt)
        yield Target(name, changed_models[model_name], prompt_name, None if is_stored else prompt)


def _change_model(model: Model, changes: Mapping[str, Any]) -> Model:
    """Return a model as a suite asks it; its own limit of tokens may have another name."""
    changed = model.model_copy(update=changes)
    if "max_tokens" not in changes or not set(LIMIT_NAMES) & set(model.extra):
        return changed
    extra = {name: value for name, value in model.extra.items() if name not in LIMIT_NAMES}
    return changed.model_copy(update={"extra": extra})


def list_crossed(plan: Plan) -> frozenset[frozenset[str]]:
    """Return the pairs of targets that share neither model nor prompt, among those with several prompts."""
    origins: dict[str, tuple[str, str]] = {}
    for suite in plan.suites:
        for target in suite.live_targets:
            if target.prompt:
                origins[target.name] = (target.model.name, target.prompt)
    return find_crossed(origins)


def find_opponent(targets: Iterable[Target], compared: str, target_name: str) -> str:
    """Return the target named by `compared` with which another is compared; '' if there is none.

    A model's name means its target with the same prompt.
    """
    by_name = {target.name: target for target in targets}
    if target_name not in by_name:
        return ""
    if compared in by_name:
        return compared
    prompt = by_name[target_name].prompt
    for candidate in by_name.values():
        if (candidate.model.name, candidate.prompt) == (compared, prompt):
            return candidate.name
    return ""


def _plan_suite(settings: Settings, suite: Suite, files: tuple[Path, ...]) -> SuitePlan:
    targets, responder = tuple(plan_targets(settings.models, suite)), responses_of(suite)
    required, around = (*needs_of(suite), *list_shown(suite)), Surroundings()
    if not responder:
        required = _list_required(settings.models, suite, targets)
    with name_needing_metrics(suite):
        expected = read_expected(suite, required)
    if not responder:
        around = _surround(suite, targets)
    return SuitePlan(
        suite=suite,
        targets=targets,
        responses_of=responder,
        required=required,
        repeats=settings.times(suite),
        metrics=tuple(_plan_metric(settings.judges, suite, name, expected) for name in suite.metric_names),
        expected=expected,
        around=around,
        files=files,
        batch_size=settings.batch_size,
        store=settings.store,
        sandbox=settings.sandbox,
    )


def _surround(suite: Suite, targets: Sequence[Target]) -> Surroundings:
    """Return what goes with a suite's questions, and how many rows bring a system message of their own."""
    around = surround(suite, read_question_form(suite, targets))
    prompts = [*filter(may_hold_conversation, suite.prompts_by_name.values())]
    if not prompts or not any(target.model.system for target in targets):
        return around
    column = column_of_messages(prompts[0]) or MESSAGES
    n_systems = 0
    for item in loader(suite.loader).load(offer_items(suite), ()):
        # What is no conversation is refused with its row, before anything is asked.
        with suppress(ValueError):
            n_systems += has_system(read_messages(item.facts.get(column)))
    return replace(around, n_systems=n_systems)


def read_question_form(suite: Suite, targets: Iterable[Target]) -> QuestionForm:
    """Return what of a suite's rows is part of the question."""
    prompts = [*suite.prompts_by_name.values()]
    try:
        question_columns = {*find_columns_of_all(prompts)}
        for target in targets:
            question_columns |= find_columns_of_system(target.model.system)
    except InputError:  # a prompt that is not valid is refused with its row, before anything is asked
        return QuestionForm(())
    messages_column = next(filter(None, map(column_of_messages, prompts)), "")
    tools = tools_of(suite, question_columns)
    if tools:
        question_columns.add(TOOLS)
    return QuestionForm(question_columns, messages_column, tools)


def _share_alpha(suites: Sequence[SuitePlan]) -> list[SuitePlan]:
    """Return the suites with the level of each of their confidence sequences: all of the run share one."""
    stopping = [suite for suite in suites if suite.suite.stop]
    if not stopping:
        return [*suites]
    # Few runs need these, and they import half of the statistics.
    from basic_control.metrics.analysis.stopping import sequences
    from basic_control.metrics.stats.sequential import divide_alpha

    n_sequences = sum(sequences(suite.suite, len(suite.target_names)) for suite in stopping)
    leveled = [*suites]
    for n, suite in enumerate(suites):
        stop = suite.suite.stop
        if stop:
            leveled[n] = replace(suite, alpha=divide_alpha(stop.alpha, n_sequences))
    return leveled


def _plan_metric(all_judges: Sequence[Judge], suite: Suite, name: str, expected: ExpectedAnswers) -> MetricPlan:
    use, unit = suite.use(name), metric(name)
    temperature = unit.temperature
    if use.temperature is not None:
        temperature = use.temperature
    judge_by_name = {judge.name: judge for judge in all_judges}
    judge_names = {*(use.judges or suite.judges)}
    if not judge_names:
        # A cascade's judges count by themselves only where they are named.
        judge_names = judge_by_name.keys() - chain.from_iterable(judge.members for judge in all_judges)
    judges: tuple[Judge, ...] = ()
    if unit.steps:  # a metric without steps asks nobody
        judges = tuple(judge for judge in judge_by_name.values() if judge.name in judge_names)
    members: list[Judge] = []
    for judge in judges:
        members.extend(judge_by_name[member] for member in judge.members)
    return MetricPlan(
        name=name,
        options=expected.options.get(name, suite.options(name)),
        judges=judges,
        temperature=temperature,
        aggregate=use.aggregate or suite.aggregate,
        compared="".join(list_compared(suite, name)),
        members=tuple(members),
    )


def _list_required(models: Iterable[Model], suite: Suite, targets: tuple[Target, ...]) -> tuple[str, ...]:
    """Return the facts that items must have: those that the metrics need and no target provides."""
    # Only what every target provides is there for each reply.
    provided: list[set[str]] = []
    asked_models: set[str] = set()
    for target in targets:
        asked_models.add(target.model.name)
        provided.append(set())
        if target.model.unit.brings:
            provided[-1].update(target.model.unit.brings(target.model))
    met: set[str] = set()
    if provided:
        met = set.intersection(*provided)
    idle_models = {model.name for model in models} - asked_models
    for name in suite.metric_names:
        for compared in list_compared(suite, name):
            if compared in idle_models:
                raise InputError(
                    f"suite {suite.name}: {name} compares with the model {compared!r}, which the suite does not "
                    "ask. Add it to the suite's models."
                )
            if any(find_opponent(targets, compared, target.name) for target in targets):
                met.add(compared)
    return tuple(need for need in needs_of(suite) if need not in met)


def _group_suites(models: Iterable[Model], suites: Iterable[SuitePlan]) -> dict[str, tuple[str, ...]]:
    """Return the suites of each scored target; reject suites without targets, and weights all 0."""
    suites_by_target: dict[str, list[SuitePlan]] = {}
    responders: set[str] = set()
    for suite in suites:
        # What contradicts itself is refused here, before anything is asked.
        if not suite.target_names:
            raise InputError(
                f"suite {suite.name}: found no model, expected at least one under `models`, or a response in every "
                "row of its data."
            )
        if suite.responses_of and suite.suite.twins:
            raise InputError(
                f"suite {suite.name}: found twins and recorded responses, expected a model to ask the twins. "
                "Remove `twins`."
            )
        if suite.responses_of and suite.suite.gate_on != "mean":
            raise InputError(
                f"suite {suite.name}: found gate_on: {suite.suite.gate_on} and recorded responses, "
                "one per question; expected a model that is asked several times. Set gate_on: mean."
            )
        if suite.responses_of:
            responders.add(suite.responses_of)
        for name in suite.target_names:
            suites_by_target.setdefault(name, []).append(suite)
    for name, target_suites in suites_by_target.items():
        # The only suite of given responses is their whole score, whatever its weight.
        joined = [suite for suite in target_suites if has_one_headline(suite.suite)]
        is_weighed = any(weight_of(suite.suite) for suite in joined) or len(joined) < len(target_suites)
        if not is_weighed and not (name in responders and len(target_suites) == 1):
            suite_names = ", ".join(suite.name for suite in target_suites)
            raise InputError(
                f"weights: {suite_names} have weight 0, and {name} has no other suite. Give one of them a weight."
            )
    # Models as configured, then the responders, which are not configured, as their suites come.
    order = {model.name: n for n, model in enumerate(models)}
    names_by_target: dict[str, tuple[str, ...]] = {}
    for name in sorted(suites_by_target, key=lambda name: order.get(name, len(order))):
        names_by_target[name] = tuple(suite.name for suite in suites_by_target[name])
    return names_by_target


def _find_own_models(judges: Sequence[Judge], suites: Iterable[SuitePlan]) -> dict[str, set[str]]:
    """Return the targets that each judge would judge as its own model, by its name; given replies are nobody's."""
    targets: list[Target] = []
    for suite in suites:
        targets.extend(suite.live_targets)
    own_models: dict[str, set[str]] = {}
    for target in targets:
        for judge in judges:
            if (judge.provider, judge.server_name) == (target.model.provider, target.model.server_name):
                own_models.setdefault(judge.name, set()).add(target.name)
    return own_models
