"""The judges' exam: an ordinary suite, and the passports derived from its results."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.settings import Settings
from data.errors import InputError
from data.exam import family_of
from data.plugins import family

if TYPE_CHECKING:  # Prefect is imported when the run begins, after the environment is set
    from flows.runs import RunResult
    from metrics.analysis.passports import Passport
    from tasks.plan import Plan, SuitePlan

SUITE = Path(__file__).stem
LEVELS = ("easy",)
"""Of the short form: a judge that fails here fails elsewhere too."""
Step = tuple[str, str]
"""A judged step by its exam's name, and a language."""


def examination(settings: Settings, judges: Sequence[str]) -> Settings:
    """Return the configuration of an exam for the given judges of another configuration; all if none are named.

    Raises:
        InputError: it has no judge of that name, or no judges at all.
    """
    known = {judge.name: judge for judge in settings.judges}
    if missing := [name for name in judges if name not in known]:
        there = ", ".join(known) or "none"
        raise InputError(
            f"--judge {missing[0]}: the configuration has no judge of that name, expected one of {there}."
        )
    if not known:
        raise InputError("exam: found no judge, expected at least one under `judges` of the configuration.")
    chosen = tuple(known[name] for name in judges) if judges else settings.judges
    suite = settings.suite(SUITE)
    named = chosen[0].served if len(chosen) == 1 else "the grader"
    metrics = {name: {**given, "judge": named} for name, given in suite.metrics.items()}
    return settings.model_copy(
        update={
            "models": (),
            "judges": chosen,
            "suites": (suite.model_copy(update={"metrics": metrics}),),
            "gate": "off",
            "baseline": "",
            "fail_on": "threshold",
        }
    )


def record(outcome: "RunResult", plan: "Plan") -> "list[Passport]":
    """Store the passports that the judges earned in an exam run, and return them."""
    from tasks.judges.passports import keep_passports
    from tasks.runtime.storage import open_store
    from tasks.store.runs import load, opened

    run = opened(Path(outcome.folder))
    return keep_passports(
        plan.judges,
        run.manifest["judge_identities"],
        load(run, "scores"),
        load(run, "items"),
        open_store(plan.store),
        about={"run": run.name, "started": run.manifest["started"]},
    )


def short_forms(plan: "SuitePlan", lacking: Mapping[str, Collection[Step]]) -> Iterator[Settings]:
    """Yield the short exams for a suite's judges: one per judge and language, of the steps it lacks.

    `lacking` maps each judge to the steps and languages without a passport. Only judges whose `exam` sets a number
    of questions per truth take it; the questions are easy.
    """
    for judge in plan.judges:
        asked = lacking.get(judge.name, ()) if judge.exam else ()
        for language in sorted({language for _, language in asked}):
            steps = sorted(step for step, spoken in asked if spoken == language)
            named = ((step, family_of(step)) for step in steps)
            names = {step: name for step, name in named if language in family(name).languages}
            if not names:
                continue
            options = {
                "families": [*names.values()],
                "levels": LEVELS,
                "languages": [language],
                "n_items": judge.exam,
            }
            given: dict[str, Any] = {SUITE: options}
            made = Settings(judges=(judge,), suites=(SUITE,), store=plan.store, **given)
            own = made.suite(SUITE)
            metrics = {f"exam_{step}": {**own.metrics[f"exam_{step}"], "judge": judge.served} for step in names}
            changes = {"suites": (own.model_copy(update={"metrics": metrics}),), "batch_size": plan.batch_size}
            yield made.model_copy(update=changes)
