"""Systems under test: which models a suite asks, by which prompt, under which name; and who judges it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from config.settings import Judge, Model, Settings
from data.errors import InputError
from data.loading import compared, judged_by, needs_of, responses_of
from data.plugins import metric
from data.suites import Suite, System

if TYPE_CHECKING:
    from tasks.judge import Panel


@dataclass(frozen=True, slots=True)
class Identities:
    """What identifies each model and each judge beyond its name; `missing` models cannot be asked: why, by name."""

    models: Mapping[str, Mapping[str, str]]
    judges: Mapping[str, Mapping[str, str]]
    missing: Mapping[str, str] = field(default_factory=dict)


def systems_of(settings: Settings, suite: Suite) -> Iterator[tuple[System, Model]]:
    """Yield every system of a suite, with the model as the suite asks it."""
    changes: dict[str, Any] = {"system": suite.system, "temperature": suite.temperature}
    changes = {name: value for name, value in changes.items() if value is not None}
    for model in settings.models:
        if suite.models and model.name not in suite.models:
            continue
        for short in suite.asked_by:
            name = f"{model.name} [{short}]" if short else model.name
            yield System(name, model.name, short), model.model_copy(update=changes)


def prompt_of(suite: Suite, system: System) -> str | None:
    """Return the prompt that stands in for the items' own; None for the first, with which they are stored."""
    prompt = suite.asked_by[system.prompt]
    return None if prompt == suite.first_prompt else prompt


def competitors(settings: Settings, suite: Suite) -> list[str]:
    """Return whose replies a suite scores: its systems, or who gave the responses that the data holds."""
    whose = responses_of(suite)
    return [whose] if whose else [system.name for system, _ in systems_of(settings, suite)]


def rival_of(settings: Settings, suite: Suite, name: str, of: str) -> str:
    """Return the system with whose replies a metric compares those of another; '' where that is a column.

    A model's name stands for its system with the same prompt.
    """
    systems = {system.name: system for system, _ in systems_of(settings, suite)}
    for wanted in compared(suite, name) if of in systems else ():
        if wanted in systems:
            return wanted
        alike = (one.name for one in systems.values() if (one.model, one.prompt) == (wanted, systems[of].prompt))
        return next(alike, "")
    return ""


def accompanied(settings: Settings, suite: Suite, systems: Iterable[str]) -> list[str]:
    """Return systems, and those with whose replies a metric compares theirs."""
    listed = list(systems)
    rivals = [rival_of(settings, suite, name, of) for of in listed for name in suite.used]
    return list(dict.fromkeys([*listed, *filter(None, rivals)]))


def needed(settings: Settings, suite: Suite) -> tuple[str, ...]:
    """Return the facts that a suite's items must have: those that its metrics need and no system brings itself.

    Raises:
        InputError: a metric compares with a model that the suite does not ask.
    """
    needs = needs_of(suite)
    if responses_of(suite):
        return needs
    systems = list(systems_of(settings, suite))
    brought = [set(model.unit.brings(model)) if model.unit.brings else set[str]() for _, model in systems]
    met = set.intersection(*brought) if brought else set[str]()
    for name in suite.used:
        for wanted in compared(suite, name):
            if wanted in {model.name for model in settings.models} - {model.name for _, model in systems}:
                raise InputError(
                    f"suite {suite.name}: {name} compares with the model {wanted!r}, which the suite does not ask. "
                    "Add it to the suite's models."
                )
            if any(rival_of(settings, suite, name, system.name) for system, _ in systems):
                met.add(wanted)
    return tuple(need for need in needs if need not in met)


def took_part(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Return the suites of each system, and of each whose responses the data holds; models first, as configured.

    Responses that are named as a model of the run are that model's: their suite joins its own.

    Raises:
        InputError: a system's suites all have weight 0, a suite has nobody to ask, or data cannot be read.
    """
    found: dict[str, list[str]] = {}
    given: set[str] = set()
    for suite in settings.suites:
        whose = responses_of(suite)
        names = competitors(settings, suite)
        if not names:
            raise InputError(
                f"suite {suite.name}: found no model, expected at least one under `models`, or a response in every "
                "row of its data."
            )
        if whose and suite.gate_on != "mean":
            raise InputError(
                f"suite {suite.name}: found gate_on: {suite.gate_on} and responses that stand in the data, one a "
                "question; expected a model that is asked several times. Set gate_on: mean."
            )
        given |= {whose} if whose else set()
        for name in names:
            found.setdefault(name, []).append(suite.name)
    weights = {suite.name: suite.weight for suite in settings.suites}
    for name, suites in found.items():
        # The only suite of given responses is their whole score, whatever it weighs beside others.
        if not any(weights[suite] for suite in suites) and not (name in given and len(suites) == 1):
            raise InputError(
                f"weights: those of {', '.join(suites)} are 0, and no other suite of {name} is evaluated; "
                "give one of them a weight."
            )
    order = {model.name: n for n, model in enumerate(settings.models)}
    listed = sorted(found, key=lambda name: order.get(name, len(order)))
    return {name: tuple(found[name]) for name in listed}


def asked_models(settings: Settings) -> tuple[Model, ...]:
    """Return the models that some suite asks."""
    asking = [suite for suite in settings.suites if not responses_of(suite)]
    names = {model.name for suite in asking for _, model in systems_of(settings, suite)}
    return tuple(model for model in settings.models if model.name in names)


def judges_of(settings: Settings, suite: Suite, name: str) -> tuple[Judge, ...]:
    """Return the judges of a suite's metric.

    Raises:
        InputError: the configuration has none.
    """
    names = suite.use(name).judges or suite.judges
    chosen = tuple(judge for judge in settings.judges if not names or judge.name in names)
    if not chosen:
        raise InputError(
            f"suite {suite.name}: found no judge, expected at least one under `judges` (the same keys as a model "
            f"has). Add one, or leave {suite.name} out of `suites`."
        )
    return chosen


def own_models(settings: Settings) -> dict[str, set[str]]:
    """Return the systems under test that are a judge's own model, by the judge's name; other judges left out."""
    found: dict[str, set[str]] = {}
    for suite in settings.suites:
        for system, model in systems_of(settings, suite):
            for judge in settings.judges:
                if (judge.provider, judge.served) == (model.provider, model.served):
                    found.setdefault(judge.name, set()).add(system.name)
    return found


def asked_judges(settings: Settings) -> tuple[Judge, ...]:
    """Return the judges that some metric of some suite asks."""
    asked = [judges_of(settings, suite, name) for suite in settings.suites for name in judged_by(suite)]
    names = {judge.name for judges in asked for judge in judges}
    return tuple(judge for judge in settings.judges if judge.name in names)


def panel_of(
    settings: Settings,
    suite: Suite,
    name: str,
    identities: Mapping[str, Mapping[str, str]],
    judges: tuple[Judge, ...] = (),
) -> "Panel":
    """Return the judges of a suite's metric (all unless given), ready to be asked."""
    from tasks.judge import Panel  # brings Prefect, which nobody needs who only checks a configuration

    own = suite.use(name).temperature
    temperature = metric(name).temperature if own is None else own
    judges = judges or judges_of(settings, suite, name)
    return Panel(judges, {judge.name: identities[judge.name] for judge in judges}, temperature)
