"""The exam of judges: a suite, run like any other, and the passports that are read out of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from config.settings import Settings
from data.batches import Ref
from data.errors import InputError
from data.tables import ITEMS, SCORES

if TYPE_CHECKING:  # Prefect is imported once the environment is set, when the run begins
    from flows.runs import Outcome
    from metrics.passports import Passport

SUITE = "judges_exam"


def examination(settings: Settings, judges: Sequence[str]) -> Settings:
    """Return the configuration of an exam of some judges of another configuration; all unless named.

    Raises:
        InputError: it has none of that name, or none at all.
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
        }
    )


def record(outcome: "Outcome", settings: Settings) -> "list[Passport]":
    """Keep the passports that an exam's run earned its judges, and return them."""
    from artifacts import manifest as manifests
    from tasks.passports import sat
    from tasks.runtime.storage import open_store

    manifest = manifests.read(Path(outcome.folder))
    store = open_store(settings.store)
    return sat(
        settings,
        manifest["judge_identities"],
        store.read_all(_refs(manifest, "scores"), SCORES),
        store.read_all(_refs(manifest, "items"), ITEMS),
        store,
        about={"run": outcome.run, "started": manifest["started"]},
    )


def _refs(manifest: Mapping[str, Any], name: str) -> list[Ref]:
    return [Ref(one["table"], one["digest"], one["rows"], "") for one in manifest["tables"][name]]


if __name__ == "__main__":
    from flows.cli.application import alias

    raise SystemExit(alias("flows.judges_exam", ("exam",))())
