"""The judges' exam: an ordinary suite, for the judges of a configuration, or for those that lack a passport."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from basic_control.config.settings import Judge, Settings, StoreSettings
from basic_control.data.errors import InputError
from basic_control.data.suites import Suite
from basic_control.prompts import languages

SUITE = "judges_exam"
SHORT: Mapping[str, Any] = {"levels": ("easy",), "twice": False}
"""Of the short exam: a judge that fails here fails elsewhere too."""
Step = tuple[str, str]
"""A judged step by its exam's name, and a language."""


def settings_of_exam(settings: Settings, judges: Sequence[str]) -> Settings:
    """Return the configuration of an exam for the given judges of another configuration; all if none are named.

    Raises:
        InputError: it has no judge of that name, or no judges at all.
    """
    judge_of = {judge.name: judge for judge in settings.judges}
    unknown = [name for name in judges if name not in judge_of]
    if unknown:
        names = ", ".join(judge_of) or "none"
        raise InputError(
            f"--judge {unknown[0]}: the configuration has no judge of that name, expected one of {names}."
        )
    if not judge_of:
        raise InputError("exam: found no judge, expected at least one under `judges` of the configuration.")
    examinees: dict[str, Judge] = {}
    for name in judges or judge_of:
        # A cascade has the passports of its judges.
        for member in judge_of[name].members or (name,):
            examinees[member] = judge_of[member]
    examined = tuple(examinees.values())
    return settings.model_copy(
        update={
            "models": (),
            "judges": examined,
            "suites": (_leave_out_undecided(settings.suite(SUITE), examined),),
            "gate": "off",
            "baseline": "",
            "fail_on": "threshold",
        }
    )


def _leave_out_undecided(suite: Suite, judges: Sequence[Judge]) -> Suite:
    """Return the exam without the steps that none of the judges can answer: all decide by rules."""
    if not all(judge.unit.decide for judge in judges):
        return suite
    decided = {*chain.from_iterable(judge.unit.rules for judge in judges)}
    steps = [step for step in suite.items["steps"] if step in decided]
    return suite.model_copy(update={"items": {**suite.items, "steps": steps}})


def plan_short_exams(
    judges: Sequence[Judge], lacking: Mapping[str, Collection[Step]], *, store: StoreSettings, batch_size: int
) -> Iterator[Settings]:
    """Yield the short exams of a suite's judges: one per judge and language, of the steps it lacks.

    `lacking` maps each judge to the steps and languages without a passport. Only judges whose `exam` sets a number
    of questions per truth take it.
    """
    for judge in judges:
        steps_in: dict[str, list[str]] = {}
        for step, language in sorted(lacking.get(judge.name, ())):
            steps_in.setdefault(language, []).append(step)
        for language, steps in steps_in.items():
            # Of a language that has no prompts, the exam has no questions either.
            if judge.exam and language in languages("judging/system"):
                items = {**SHORT, "steps": steps, "languages": [language], "n_items": judge.exam}
                section: dict[str, Any] = {SUITE: {"items": items}}
                settings = Settings(judges=(judge,), suites=(SUITE,), store=store, **section)
                yield settings.model_copy(update={"batch_size": batch_size})
