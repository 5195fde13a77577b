"""OpenTelemetry, off unless `telemetry.endpoint` is set: a run's spans and counts, to any OTLP collector over HTTP.

Spans are made when the run has ended, from its ledger: a run, its suites, their batches, the stages of each. So
tracing costs a run nothing, and an unreachable collector neither slows nor ends it. Names are the configuration's;
no prompt and no reply is ever sent.

Source: OpenTelemetry's semantic conventions for generative AI (`gen_ai.*`); what they have no word for is
`evaluation.*`.
"""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from basic_control.data.batches import Cell, Execution, QueryResult
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.tasks.runtime.logs import log_event

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

PATIENCE_S = 3.0
"""How long the end of a run waits for a collector."""
OUTCOMES = ("cached", "answered", "failed", "submitted")
TOKENS = {"input": "tokens_in", "output": "tokens_out"}
_SUMS = {
    "evaluation.calls.cached": "cached",
    "evaluation.calls.answered": "answered",
    "evaluation.calls.failed": "failed",
    "evaluation.calls.submitted": "submitted",
    "evaluation.calls.asked": "total",
    "gen_ai.usage.input_tokens": "tokens_in",
    "gen_ai.usage.output_tokens": "tokens_out",
}
"""What is summed up over a stage's queries, as attributes of its span."""
QUERY = "query"
"""The stage that calls models."""
_CHUNK = 500
_NANO = 1_000_000_000


def _list_attributes(cell: Cell) -> dict[str, Any]:
    """Return what a stage belongs to, as attributes of its span."""
    attributes = {}
    for name in ("suite", "model", "batch", "metric", "judge"):
        value = getattr(cell, name)
        if value not in {"", None}:
            attributes[f"evaluation.{name}"] = value
    return attributes


def _assign_queries(stages: Sequence[Execution]) -> list[tuple[Execution, list[QueryResult]]]:
    """Return the queries counted for each stage, each call once: a judge's count at its queries.

    Queries inside a stage on another machine are no stages here: that stage reports them.
    """
    # A judge's queries belong to the same work as the stage that judges.
    works_with_queries = {replace(stage.cell, judge="") for stage in stages if stage.stage == QUERY}
    assigned = []
    for stage in stages:
        is_counted = stage.stage == QUERY or replace(stage.cell, judge="") not in works_with_queries
        assigned.append((stage, [query for query in stage.queries if is_counted and query.model]))
    return assigned


def _list_parents(cell: Cell) -> list[Cell]:
    """Return the suite, and then the batch, that a stage belongs to; nothing for a stage of the whole run."""
    if not cell.suite:
        return []
    batches = [Cell(cell.suite, cell.model, cell.batch)] if cell.model else []
    return [Cell(cell.suite), *batches]


def _describe_stage(stage: Execution, queries: Sequence[QueryResult]) -> dict[str, Any]:
    """Return the attributes of a stage's span, with the counts of its calls and their tokens."""
    attributes = {
        "evaluation.stage": stage.stage,
        "evaluation.cached": stage.cached,
        **_list_attributes(stage.cell),
    }
    if queries:
        for name, field in _SUMS.items():
            attributes[name] = sum(getattr(query, field) for query in queries)
        attributes["gen_ai.request.model"] = ", ".join(dict.fromkeys(query.model for query in queries))
    return attributes


def _make_spans(
    run: str, exit_code: int | None, began: float, stages: Sequence[Execution], resource: "Resource"
) -> "list[ReadableSpan]":
    """Return all spans of a run that ends now; a suite's or batch's encloses those of its stages."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import set_span_in_context

    tracer = TracerProvider(resource=resource, shutdown_on_exit=False).get_tracer("basic-control")
    spans: list[Any] = []

    def add_span(name: str, times: tuple[float, float], attributes: dict[str, Any], parent: Any = None) -> Any:
        context = None if parent is None else set_span_in_context(parent)
        span = tracer.start_span(name, context=context, start_time=int(times[0] * _NANO), attributes=attributes)
        span.end(int(times[1] * _NANO))
        spans.append(span)
        return span

    attributes: dict[str, Any] = {"evaluation.run": run}
    if exit_code is not None:
        attributes["evaluation.exit_code"] = exit_code
    run_span = add_span(f"run {run}", (began, time.time()), attributes)
    span_by_cell: dict[Cell, Any] = {}
    for stage, queries in _assign_queries(stages):
        parent = run_span
        # The suite's and the batch's spans are made when the first of their stages comes.
        for cell in _list_parents(stage.cell):
            if cell not in span_by_cell:
                name = f"{'batch' if cell.model else 'suite'} {cell}"
                span_by_cell[cell] = add_span(name, _find_times(cell, stages), _list_attributes(cell), parent)
            parent = span_by_cell[cell]
        times = (stage.ended - stage.seconds, stage.ended)
        add_span(stage.stage, times, _describe_stage(stage, queries), parent)
    return spans


def _find_times(cell: Cell, stages: Sequence[Execution]) -> tuple[float, float]:
    """Return when the first stage of a suite or batch began, and its last one ended (seconds since 1970)."""
    parts = [stage for stage in stages if cell in _list_parents(stage.cell)]
    return min(part.ended - part.seconds for part in parts), max(part.ended for part in parts)


def _send_counts(endpoint: str, resource: "Resource", stages: Sequence[Execution]) -> bool:
    """Send the counts of calls and tokens, by model and suite; return whether the collector accepted them."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics", timeout=PATIENCE_S)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=float("inf"))
    provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    meter = provider.get_meter("basic-control")
    calls = meter.create_counter("evaluation.calls", unit="{call}", description="calls, by outcome")
    tokens = meter.create_counter("evaluation.tokens", unit="{token}", description="tokens of this run's calls")
    for stage, queries in _assign_queries(stages):
        for query in queries:
            attributes = {**_list_attributes(stage.cell), "gen_ai.request.model": query.model}
            for name in OUTCOMES:
                calls.add(getattr(query, name), {**attributes, "evaluation.outcome": name})
            for kind, name in TOKENS.items():
                tokens.add(getattr(query, name), {**attributes, "gen_ai.token.type": kind})
    is_accepted = provider.force_flush(int(PATIENCE_S * 1000))
    provider.shutdown()
    return is_accepted


def _send_telemetry(
    endpoint: str, run: str, exit_code: int | None, began: float, stages: Sequence[Execution]
) -> str:
    """Send everything; return an error message, '' if none."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExportResult

    resource = Resource.create({"service.name": "basic-control", "evaluation.run": run})
    spans = _make_spans(run, exit_code, began, stages, resource)
    exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces", timeout=PATIENCE_S)
    is_accepted = all(
        exporter.export(spans[start : start + _CHUNK]) is SpanExportResult.SUCCESS
        for start in range(0, len(spans), _CHUNK)
    )
    if is_accepted and _send_counts(endpoint, resource, stages):
        return ""
    return "the collector rejected some of the data"


@dataclass(slots=True)
class ExitStatus:
    """A run's exit code; None if it was aborted."""

    exit_code: int | None = None


@contextmanager
def trace_run(endpoint: str, run: str, stages: Sequence[Execution]) -> Iterator[ExitStatus]:
    """Trace the run inside the block, whose stages are recorded in `stages`; sent when it ends in any way.

    Its end waits at most `PATIENCE_S`; failures are logged, never raised. Nothing is sent to the endpoint ''.

    Raises:
        InputError: the extra `otel` is missing.
    """
    if endpoint and find_spec("opentelemetry.exporter") is None:
        raise InputError(
            "telemetry.endpoint is set, but the extra `otel` is not installed. "
            f"Install it ({format_install('otel')}) or remove the key."
        )
    began, status, problems = time.time(), ExitStatus(), list[str]()

    def try_to_send() -> None:
        try:
            problems.append(_send_telemetry(endpoint, run, status.exit_code, began, stages))
        except Exception as error:  # noqa: BLE001 - whatever a collector does, the run's results stand
            problems.append(f"{type(error).__name__}: {error}")

    try:
        yield status
    finally:
        if endpoint:
            # It would log each attempt to stderr.
            logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
            thread = threading.Thread(target=try_to_send, name="telemetry", daemon=True)
            thread.start()
            thread.join(PATIENCE_S)
            why = problems[0] if problems else f"no response within {PATIENCE_S:g} s"
            if why:
                log_event("telemetry_failed", level=logging.WARNING, run=run, endpoint=endpoint, why=why)
