"""Runs: their folders, their manifests, and what of an earlier one is done again."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from artifacts import manifest as manifests
from artifacts.replies import Remembered
from artifacts.store import Damaged
from config.settings import STAGES, Again, Settings
from data.errors import InputError
from data.plugins import family
from data.records import Ref, Reply
from flows.asking import Identities
from flows.earlier import settings_of
from flows.rag import guest_of
from tasks.place import open_cache, open_store
from tasks.report.material import Tables
from tasks.stage import fingerprint

_log = logging.getLogger("artifacts.runs")

PARTS: Mapping[str, str] = {
    "generate": "generate",
    "load_cot": "generate",
    "load_citation": "generate",
    "load_rag": "generate",
    "pose": "query",
    "given": "query",
    "query": "query",
    "verify": "verify",
    "cite": "judge",
    "judge": "judge",
    "measure": "score",
    "weigh": "score",
    "score": "score",
    "aggregate": "aggregate",
    "conclude": "report",
    "report": "report",
}
"""Each task's place among the stages that a user names."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: where it lies, its tables, and the exit code (0 pass, 1 fail, 2 error)."""

    run: str
    folder: str
    reports: list[str]
    summary: Ref
    requests: dict[str, int]
    results: Mapping[str, Any]
    stages: list[dict[str, Any]]
    exit_code: int


def run_folder(settings: Settings, started: datetime) -> Path:
    """Make the folder of a new run, named by its start; a second run of the same second gets a suffix.

    Raises:
        InputError: it cannot be made.
    """
    name = started.strftime("%Y%m%d_%H%M%S")
    top = Path(settings.store.runs)
    for suffix in ("", *(f"_{n}" for n in range(2, 1000))):
        folder = top / (name + suffix)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(
                f"store.runs: cannot make {folder} ({error.strerror}). Choose another with --set store.runs=…."
            ) from error
        return folder
    raise InputError(f"store.runs: {top} holds a thousand runs of this second.")


def counts_of(tables: Tables) -> dict[str, int]:
    """Return what became of all requests of a run."""
    every = [*tables.asked, *tables.judged]
    return {
        "asked": sum(a.total for a in every),
        "cached": sum(a.cached for a in every),
        "answered": sum(a.answered for a in every),
        "failed": sum(a.failed for a in every),
        "tokens_in": sum(a.tokens_in for a in every),
        "tokens_out": sum(a.tokens_out for a in every),
    }


def _refs(refs: list[Ref]) -> list[dict[str, Any]]:
    return [{"table": r.table, "digest": r.digest, "rows": r.rows} for r in refs]


def describe(settings: Settings, tables: Tables, summary: Ref, identities: Identities) -> dict[str, Any]:
    """Return the manifest of a run."""
    return {
        "schema": manifests.SCHEMA,
        "configuration": settings.model_dump(mode="json"),
        "versions": manifests.versions(),
        "commit": manifests.commit(),
        "rules": fingerprint(),
        "units": {name: family(name).version for name in settings.basic_control.families},
        "identities": {name: dict(identity) for name, identity in identities.models.items()},
        "judge_identities": {name: dict(identity) for name, identity in identities.judges.items()},
        "tables": {
            "items": _refs(tables.items),
            "requests": _refs([a.requests for a in tables.asked]),
            "responses": _refs([a.responses for a in tables.asked]),
            "judge_requests": _refs([a.requests for a in tables.judged]),
            "judge_responses": _refs([a.responses for a in tables.judged]),
            "judgements": _refs(tables.judgements),
            "evidence": _refs(tables.evidence),
            "verdicts": _refs(tables.verdicts),
            "scores": _refs(tables.scores),
            "summary": _refs([summary]),
        },
        "requests": counts_of(tables),
        "query_span_s": round(sum(a.span_s for a in tables.asked), 4),
    }


@dataclass(frozen=True, slots=True)
class Opened:
    """A run that has begun: its folder and its start."""

    folder: Path
    started: datetime

    @property
    def facts(self) -> dict[str, str]:
        """What every document of the run says of it."""
        return {"run": self.folder.name, "started": self.started.isoformat()}


def _check(settings: Settings, again: Again) -> None:
    models = [model.name for model in settings.models]
    if again.model and again.model not in models and "rag" in settings.suites:
        models += filter(None, [guest_of(settings)])
    for option, one, there in (("suite", again.suite, settings.suites), ("model", again.model, models)):
        if one and one not in there:
            known = ", ".join(there)
            raise InputError(f"--{option} {one}: the run has none of that name, expected one of {known}.")


def open_run(settings: Settings, again: Again) -> Opened:
    """Begin a run, or go on with an unfinished one, and say so in its manifest.

    Raises:
        InputError: the folder cannot be made, there is no such run, or it has no such suite or model.
    """
    _check(settings, again)
    kept: dict[str, Any] = {}
    if again.resume:
        folder = Path(settings.store.runs) / again.resume
        earlier = settings_of(settings.store.runs, again.resume)[1]
        opened = Opened(folder, datetime.fromisoformat(earlier["started"]))
        # Until a finished run has ended once more, prune must still see what it needs.
        kept = {key: earlier[key] for key in ("tables",) if key in earlier}
    else:
        started = datetime.now(UTC).astimezone()
        opened = Opened(run_folder(settings, started), started)
    manifests.write(
        opened.folder,
        {
            "schema": manifests.SCHEMA,
            **opened.facts,
            "status": "running",
            "configuration": settings.model_dump(mode="json"),
            **kept,
        },
    )
    return opened


def anew(again: Again, models: Sequence[str] = ()) -> Callable[[str, str], bool]:
    """Return what says of a stage whether it is run anew: the named one, and all that depend on it.

    `models` are the names of all models of the run: one may be how another begins.
    """
    first = STAGES.index(again.rerun) if again.rerun else len(STAGES)

    def asked(stage: str, label: str) -> bool:
        if stage not in PARTS or STAGES.index(_stage_of(stage)) < first:
            return False
        if label == "all":
            return True
        suite, _, rest = label.partition(" ")
        of_suite = not again.suite or suite == again.suite
        # Items are drawn for all models at once: their label names none.
        return of_suite and (not again.model or not rest or _names(rest, again.model, models))

    return asked


def _names(rest: str, model: str, models: Sequence[str]) -> bool:
    """Say whether a label, after its suite, is of this model and of no other with a longer name."""
    if rest != model and not rest.startswith(f"{model} "):
        return False
    longer = [one for one in models if one.startswith(f"{model} ")]
    # A name that ends as a batch's number does may stand for either: rather run one too many.
    longer = [one for one in longer if not one.removeprefix(f"{model} ").isdecimal()]
    return not any(rest == one or rest.startswith(f"{one} ") for one in longer)


def _stage_of(task: str) -> Any:
    return PARTS[task]


def restore(settings: Settings, manifest: Mapping[str, Any]) -> int:
    """Put a run's answered calls back into the reply cache, from its tables; return how many there are.

    So `--only-failed` asks again what failed and nothing else, whatever has become of the cache.
    """
    tables = manifest.get("tables", {})
    store, cache = open_store(settings.store), open_cache(settings.store)
    number = 0
    for ref in (ref for name in ("responses", "judge_responses") for ref in tables.get(name, [])):
        try:
            frame = store.read(Ref(ref["table"], ref["digest"], ref["rows"], ""))
        except Damaged as error:
            _log.warning("%s; its replies come from the reply cache, as far as that holds them.", error)
            continue
        answered = [
            Remembered(
                row["request_id"],
                Reply(
                    row["text"],
                    row["reasoning"] or "",
                    row["finish_reason"] or "",
                    row["tokens_in"],
                    row["tokens_out"],
                ),
                row["latency_s"],
            )
            for row in frame.iter_rows(named=True)
            # What a data set held was never asked.
            if row["text"] is not None and row["error"] is None and row["latency_s"] is not None
        ]
        cache.remember(answered)
        number += len(answered)
    return number
