"""Runs: their folders, their manifests, and which parts of an earlier run to repeat."""

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from basic_control.config.settings import Rerun, StoreSettings
from basic_control.data.batches import Cell, Ref, Tables, compute_span_s
from basic_control.data.documents import METHODOLOGY, METHODOLOGY_VERSION
from basic_control.data.errors import InputError
from basic_control.data.loading import digests_of, makers_of, runs_programs, scorers_of
from basic_control.flows.earlier import settings_of
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import RunVerdict
from basic_control.tasks import sandbox
from basic_control.tasks.compare.provenance import digest_judge_prompts
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.judges.labels import LABELS, list_saves
from basic_control.tasks.models.budget import RunBudget
from basic_control.tasks.models.progress import is_deployed
from basic_control.tasks.models.requests import store_uncut
from basic_control.tasks.plan import Identities, Plan
from basic_control.tasks.query import share_failures
from basic_control.tasks.runtime.storage import open_cache, open_store
from basic_control.tasks.runtime.telemetry import ExitStatus, trace_run
from basic_control.tasks.stage import STAGES, Ledger, recording
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.criteria import fix_criteria, hash_file
from basic_control.tasks.store.owners import name_owner
from basic_control.tasks.store.reply_cache import list_answered_calls
from basic_control.tasks.store.runs import RESULTS, list_names
from basic_control.tasks.store.tables import Damaged

_log = logging.getLogger(__name__.removeprefix("basic_control."))  # not a child of the events' logger


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run: its folder, reports, requests, elapsed time and exit code."""

    run: str
    folder: str
    reports: list[str]
    requests: dict[str, int]
    results: Results
    verdict: RunVerdict
    stages: list[dict[str, Any]]
    wall_s: float
    exit_code: int


def run_folder(top: Path, started: datetime) -> Path:
    """Create a new run's folder, named by its start; a second run in the same second gets a suffix.

    Raises:
        InputError: it cannot be created.
    """
    name = started.strftime("%Y%m%d_%H%M%S")
    for number in range(1, 1000):
        suffix = f"_{number}" if number > 1 else ""
        folder = top / (name + suffix)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(
                f"store.runs: cannot create {folder} ({error.strerror}). Choose another with --set store.runs=…."
            ) from error
        return folder
    raise InputError(f"store.runs: {top} has a thousand runs of this second.")


def counts_of(tables: Tables) -> dict[str, int]:
    """Return the number of a run's requests by outcome."""
    queries = [*tables.queries, *tables.judged]
    counts = {"asked": sum(query.total for query in queries), "given": sum(query.supplied for query in queries)}
    for name in ("cached", "answered", "failed", "submitted", "tokens_in", "tokens_out"):
        counts[name] = sum(getattr(query, name) for query in queries)
    return counts


def layers_of(plan: Plan) -> dict[str, str]:
    """Return the layers that isolate model programs from this machine; empty if no family runs programs."""
    if not any(map(runs_programs, plan.declarations)):
        return {}
    tools = plan.means.sandbox
    try:
        return sandbox.describe_layers(tools.kotlin_compiler, tools.java)
    except InputError as error:  # everything came from the cache, and the sandbox is no longer available
        return {"wasm": f"off ({error})"}


def provenance(plan: Plan, identities: Identities) -> dict[str, Any]:
    """Return the part of a run's manifest that is needed to interpret its results."""
    makers = [unit for suite in plan.declarations for unit in makers_of(suite)]
    scorers = [unit for suite in plan.declarations for unit in scorers_of(suite)]
    return {
        METHODOLOGY: METHODOLOGY_VERSION,
        "configuration": plan.configuration,
        "units": {unit.name: unit.version for unit in makers},
        "verifiers": {unit.name: unit.version for unit in scorers},
        "sources": {unit.name: unit.source for unit in (*makers, *scorers)},
        "identities": dict(identities.models),
        "judge_prompts": digest_judge_prompts(plan.declarations),
        "files": {suite.name: [*digests_of(suite)] for suite in plan.declarations},
        "judge_identities": dict(identities.judges),
    }


def build_manifest(
    plan: Plan, sources: Mapping[str, Any], tables: Tables, summary: Ref, identities: Identities
) -> dict[str, Any]:
    """Return a run's manifest; `sources` is its `provenance`."""
    # In the order in which a run makes them.
    refs_by_table: dict[str, Sequence[Ref]] = {
        "items": tables.items,
        "requests": [query.requests for query in tables.queries],
        "responses": [query.responses for query in tables.queries],
        "judge_requests": [query.requests for query in tables.judged],
        "judge_responses": [query.responses for query in tables.judged],
        "judgements": tables.judgements,
        "evidence": tables.evidence,
        "verdicts": tables.verdicts,
        "scores": tables.scores,
        "twin_items": tables.twin_items,
        "twin_scores": tables.twin_scores,
        "summary": [summary],
    }
    return {
        "schema": manifests.SCHEMA,
        **sources,
        "versions": manifests.list_versions(),
        "sandbox": layers_of(plan),
        "commit": manifests.find_commit(),
        "missing": dict(identities.missing),
        "labels": list_saves(Path(plan.store.runs) / LABELS, plan.declarations),
        "tables": {name: _write_refs(refs) for name, refs in refs_by_table.items()},
        "requests": counts_of(tables),
        "query_span_s": round(compute_span_s(tables.queries), 4),
    }


def _write_refs(refs: Sequence[Ref]) -> list[dict[str, Any]]:
    return [*map(Ref.as_dict, refs)]


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A started run: its folder, its start, the ledger of its stages, when its clock was set, its criteria."""

    folder: Path
    started: datetime
    ledger: Ledger
    clock: float
    criteria: Mapping[str, Any] = field(default_factory=dict)

    @property
    def head(self) -> dict[str, str]:
        """The fields at the start of every document of the run."""
        return {"run": self.folder.name, "started": self.started.isoformat()}

    @contextmanager
    def record(self, plan: Plan) -> Iterator[ExitStatus]:
        """Record and trace the stages inside; at the end, forget which calls failed."""
        ledger = self.ledger
        failures = share_failures(plan.store, ledger.attempt)
        with recording(ledger), failures, trace_run(plan.means.collector, ledger.run, ledger.executions) as ended:
            yield ended

    def measure_use(self) -> dict[str, Any]:
        """Return the run's resource use: seconds, CPU seconds of all its processes, its stages."""
        cpu = os.times()
        return {
            "wall_s": round(time.monotonic() - self.clock, 3),
            "cpu_s": round(sum(cpu[:4]), 3),
            "stages": self.ledger.rows(),
        }

    def close(self, manifest: Mapping[str, Any], reports: Sequence[str | Path]) -> None:
        """Record in the manifest that the run has ended, and its reports."""
        names = [str(Path(path).relative_to(self.folder)) for path in reports]
        digests = {RESULTS: hash_file(self.folder / RESULTS)}
        ended = {"status": "completed", **self.measure_use(), "reports": names, "digests": digests}
        manifests.write(self.folder, {**manifest, **ended})


def open_run(
    plan: Plan, again: Rerun, clock: float | None = None, files: Mapping[str, Sequence[str]] | None = None
) -> OpenedRun:
    """Start a run or continue an unfinished one, and record it and its criteria before anything is asked.

    `clock` is its monotonic start time, `files` the digests of each suite's data.

    Raises:
        InputError: the folder cannot be created, or there is no such run.
    """
    entries: dict[str, Any] = {}
    if again.resume:
        folder = Path(plan.store.runs) / again.resume
        earlier = settings_of(plan.store.runs, again.resume)[1]
        started = datetime.fromisoformat(earlier["started"])
        # Until the finished run has ended again, prune must still see which tables it needs.
        entries = {key: earlier[key] for key in ("tables", "criteria") if key in earlier}
        fixed = datetime.now(UTC).astimezone()
    else:
        started = fixed = datetime.now(UTC).astimezone()
        folder = run_folder(Path(plan.store.runs), started)
    ledger = Ledger(refresh=refresh_rule(again), failed=again.failed, run=folder.name, deployed=is_deployed())
    if plan.pricing.budget:
        ledger.budget = RunBudget(plan.pricing.budget, plan.pricing.currency, clock)
    if again.replies:
        ledger.earlier_replies = HeldReplies(plan.store, settings_of(plan.store.runs, again.replies)[1])
    if again.truncated:  # the requests whose replies were not cut; all replies of that run are cached
        before = settings_of(plan.store.runs, again.of)[1]
        restore(plan.store, before)
        ledger.recorded = store_uncut(open_store(plan.store), before)
    previous = entries.get("criteria")
    entries["criteria"] = fix_criteria(folder, fixed.isoformat(), plan.configuration, files or {}, previous)
    if clock is None:
        clock = time.monotonic()
    opened = OpenedRun(folder, started, ledger, clock, entries["criteria"])
    begun = {"schema": manifests.SCHEMA, **opened.head, "status": "running", "owner": name_owner()}
    manifests.write(folder, {**begun, "configuration": plan.configuration, "rerun": again.model_dump(), **entries})
    return opened


def newly_apart(plan: Plan) -> list[str]:
    """Return the suites whose metrics formerly made a mean, if no recent run has decided each by itself."""
    suites = dict.fromkeys(
        suite.name for suite in plan.declarations if suite.score is None and len(suite.metric_names) > 1
    )
    if not suites:
        return []
    for path in sorted(Path(plan.store.runs).glob(f"*/{manifests.NAME}"), reverse=True)[: manifests.LATEST]:
        with suppress(InputError):
            manifest = manifests.read(path.parent)
            # Runs before this version of the method made means of them.
            if METHODOLOGY in manifest:
                for name in list_names(manifest["configuration"].get("suites")):
                    suites.pop(name, None)
    return [*suites]


def refresh_rule(again: Rerun) -> Callable[[str, Cell], bool]:
    """Return a predicate that selects the stages to rerun: those of the named part and all that depend on them."""
    parts, due = set[str](), set[str]()
    for _ in STAGES:
        # Each round adds the stages that take what the stages of the round before make.
        for stage in STAGES.values():
            if stage.part == again.rerun or stage.takes in parts:
                due.add(stage.name)
        parts |= {STAGES[name].part for name in due}

    def is_due(stage: str, cell: Cell) -> bool:
        # Items are drawn for all models at once and a run is summed up as a whole: such cells name no model.
        is_of_suite = not again.suite or not cell.suite or cell.suite == again.suite
        is_of_model = not again.model or not cell.model or cell.model == again.model
        return stage in due and is_of_suite and is_of_model

    return is_due


def restore(settings: StoreSettings, manifest: Mapping[str, Any]) -> int:
    """Put a run's answered calls back into the reply cache from its tables; return their number.

    So `--only-failed` asks only the failed calls again, whatever state the cache is in.
    """
    tables = manifest.get("tables", {})
    refs = [*tables.get("responses", ()), *tables.get("judge_responses", ())]
    store, cache = open_store(settings), open_cache(settings)
    number = 0
    for ref in refs:
        try:
            calls = list_answered_calls(store.read(Ref.read(ref)))
        except Damaged as error:
            _log.warning("%s; its replies are taken from the reply cache, if they are there.", error)
            continue
        cache.remember(calls)
        number += len(calls)
    return number
