"""OpenTelemetry, off unless `telemetry.endpoint` is set: a run's spans and counts, to any OTLP collector over HTTP.

Spans are made when the run has ended, from what its ledger holds: a run, its suites, their batches, the stages of
each. So tracing costs a run nothing, and a collector that is gone neither slows nor ends it. Names are the
configuration's; no prompt and no reply is ever sent.

Source: OpenTelemetry's semantic conventions for generative AI (`gen_ai.*`); what they have no word for is
`evaluation.*`.
"""

import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from data.batches import Cell, QueryResult
from data.errors import InputError
from data.extras import installing
from tasks.runtime.logs import event
from tasks.stage import Execution

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

PATIENCE_S = 3.0
"""How long the end of a run waits for a collector."""
OUTCOMES = ("cached", "answered", "failed", "submitted")
TOKENS = (("input", "tokens_in"), ("output", "tokens_out"))
QUERY = "query"
"""The stage that asks."""
_CHUNK = 500
_NANO = 1_000_000_000


def check(endpoint: str) -> None:
    """Check that what is asked for is installed.

    Raises:
        InputError: the extra `otel` is missing.
    """
    if endpoint:
        import importlib.util

        if importlib.util.find_spec("opentelemetry.exporter") is None:
            raise InputError(
                "telemetry.endpoint is set, and the extra for OpenTelemetry is not installed: "
                f"{installing('otel')}; or leave the key out."
            )


def _named(cell: Cell) -> dict[str, Any]:
    told = {
        "evaluation.suite": cell.suite,
        "evaluation.model": cell.model,
        "evaluation.batch": cell.batch,
        "evaluation.metric": cell.metric,
        "evaluation.judge": cell.judge,
    }
    return {key: value for key, value in told.items() if value not in {"", None}}


def _work(cell: Cell) -> Cell:
    """Return the cell of a stage whose calls may be its own or those of the queries inside of it."""
    return replace(cell, judge="")


def _queries(stages: Iterable[Execution]) -> frozenset[Cell]:
    """Return whose queries are stages of their own here; those inside of a stage on another machine are not."""
    return frozenset(_work(one.cell) for one in stages if one.stage == QUERY)


def _asked(one: Execution, queries: Collection[Cell]) -> tuple[QueryResult, ...]:
    """Return what is counted of a stage's calls, so that each is once: a judge's stand at its queries."""
    if one.stage != QUERY and _work(one.cell) in queries:
        return ()
    return tuple(each for each in one.asked if each.model)


def _path(cell: Cell) -> tuple[str, ...]:
    """Return where a stage hangs: on its batch, its suite, or the run."""
    if cell.suite and cell.model:
        return (cell.suite, f"{cell.model} {cell.batch or 0}")
    return (cell.suite,) if cell.suite else ()


def _told(stage: Execution, queries: Collection[Cell]) -> dict[str, Any]:
    """Return what a stage's span says."""
    told = {"evaluation.stage": stage.stage, "evaluation.cached": stage.cached, **_named(stage.cell)}
    if asked := _asked(stage, queries):
        told |= {f"evaluation.calls.{name}": sum(getattr(each, name) for each in asked) for name in OUTCOMES}
        told["evaluation.calls.asked"] = sum(each.total for each in asked)
        told |= {f"gen_ai.usage.{kind}_tokens": sum(getattr(each, name) for each in asked) for kind, name in TOKENS}
        told["gen_ai.request.model"] = ", ".join(dict.fromkeys(each.model for each in asked))
    return told


def _spans(
    run: str, exit_code: int | None, began: float, stages: Sequence[Execution], resource: "Resource"
) -> "list[ReadableSpan]":
    """Return all spans of a run that ends now: its own, those of suites and batches, those of stages in them.

    A suite or batch lasts from its first stage's start to its last one's end.
    """
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import set_span_in_context

    tracer = TracerProvider(resource=resource, shutdown_on_exit=False).get_tracer("basic-control")
    made: list[Any] = []

    def span(name: str, times: tuple[float, float], attributes: Mapping[str, Any], above: Any = None) -> Any:
        context = None if above is None else set_span_in_context(above)
        first, last = (int(time_s * _NANO) for time_s in times)
        one = tracer.start_span(name, context=context, start_time=first, attributes=dict(attributes))
        one.end(last)
        made.append(one)
        return one

    code = {} if exit_code is None else {"evaluation.exit_code": exit_code}
    opened: dict[tuple[str, ...], Any] = {
        (): span(f"run {run}", (began, time.time()), {"evaluation.run": run, **code})
    }
    queries = _queries(stages)
    for stage in stages:
        path = _path(stage.cell)
        for here in (path[: n + 1] for n in range(len(path))):
            if here not in opened:
                own = [one for one in stages if _path(one.cell)[: len(here)] == here]
                cell = stage.cell if len(here) > 1 else Cell(stage.cell.suite)
                cell = Cell(cell.suite, cell.model, cell.batch)
                times = min(one.ended - one.seconds for one in own), max(one.ended for one in own)
                name = f"batch {cell}" if len(here) > 1 else f"suite {cell.suite}"
                opened[here] = span(name, times, _named(cell), opened[here[:-1]])
        span(stage.stage, (stage.ended - stage.seconds, stage.ended), _told(stage, queries), opened[path])
    return made


def _counted(endpoint: str, resource: "Resource", stages: Sequence[Execution]) -> bool:
    """Send the counts of calls and tokens, by model and suite; tell whether the collector took them."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics", timeout=PATIENCE_S)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=float("inf"))
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("basic-control")
    calls = meter.create_counter("evaluation.calls", unit="{call}", description="calls, by what became of them")
    tokens = meter.create_counter("evaluation.tokens", unit="{token}", description="tokens of calls made now")
    queries = _queries(stages)
    for stage in stages:
        for asked in _asked(stage, queries):
            named = {**_named(stage.cell), "gen_ai.request.model": asked.model}
            for name in OUTCOMES:
                calls.add(getattr(asked, name), {**named, "evaluation.outcome": name})
            for kind, name in TOKENS:
                tokens.add(getattr(asked, name), {**named, "gen_ai.token.type": kind})
    taken = provider.force_flush(int(PATIENCE_S * 1000))
    provider.shutdown()
    return taken


def _send(endpoint: str, run: str, exit_code: int | None, began: float, stages: Sequence[Execution]) -> str:
    """Send all there is; return what went wrong, '' if nothing."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExportResult

    resource = Resource.create({"service.name": "basic-control", "evaluation.run": run})
    made = _spans(run, exit_code, began, stages, resource)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=PATIENCE_S)
    taken = all(
        exporter.export(made[start : start + _CHUNK]) is SpanExportResult.SUCCESS
        for start in range(0, len(made), _CHUNK)
    )
    return "" if taken and _counted(endpoint, resource, stages) else "the collector did not take all of it"


@dataclass(slots=True)
class ExitStatus:
    """How a run ended; None where it broke off."""

    exit_code: int | None = None


@contextmanager
def traced(endpoint: str, run: str, stages: Sequence[Execution]) -> Iterator[ExitStatus]:
    """Trace the run inside, whose stages are entered in `stages`: sent when it has ended, however it did.

    Nothing is sent to the endpoint ''.

    Raises:
        InputError: the extra `otel` is missing.
    """
    check(endpoint)
    began, how = time.time(), ExitStatus()
    try:
        yield how
    finally:
        _export(endpoint, run, stages, began=began, exit_code=how.exit_code)


def _export(endpoint: str, run: str, stages: Sequence[Execution], *, began: float, exit_code: int | None) -> None:
    """Send a run's spans and counts, waiting at most `PATIENCE_S`; what fails is an event, never an error."""
    if not endpoint:
        return
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it would tell of each attempt on stderr
    said: list[str] = []

    def work() -> None:
        try:
            said.append(_send(endpoint, run, exit_code, began, stages))
        except Exception as error:  # noqa: BLE001 - whatever a collector does, the run's results stand
            said.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=work, name="telemetry", daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    why = said[0] if said else f"no answer within {PATIENCE_S:g} s"
    if why:
        event("telemetry_failed", level=logging.WARNING, run=run, endpoint=endpoint, why=why)
