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
from basic_control.tasks.runtime.logs import event

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan

PATIENCE_S = 3.0
"""How long the end of a run waits for a collector."""
OUTCOMES = ("cached", "answered", "failed", "submitted")
TOKENS = (("input", "tokens_in"), ("output", "tokens_out"))
QUERY = "query"
"""The stage that calls models."""
_CHUNK = 500
_NANO = 1_000_000_000


def _named(cell: Cell) -> dict[str, Any]:
    told = {name: getattr(cell, name) for name in ("suite", "model", "batch", "metric", "judge")}
    return {f"evaluation.{name}": value for name, value in told.items() if value not in {"", None}}


def _calls(stages: Sequence[Execution]) -> list[tuple[Execution, list[QueryResult]]]:
    """Return the calls counted for each stage, each call once: a judge's count at its queries.

    Queries inside a stage on another machine are no stages here: that stage reports them.
    """
    works = [replace(one.cell, judge="") for one in stages]
    queries = {work for one, work in zip(stages, works, strict=True) if one.stage == QUERY}
    return [
        (one, [each for each in one.queries if each.model and (one.stage == QUERY or work not in queries)])
        for one, work in zip(stages, works, strict=True)
    ]


def _above(cell: Cell) -> list[Cell]:
    """Return the suite, and then the batch, that a stage belongs to; nothing for a stage of the whole run."""
    suite = [Cell(cell.suite)] if cell.suite else []
    return [*suite, Cell(cell.suite, cell.model, cell.batch)] if suite and cell.model else suite


def _told(stage: Execution, asked: Sequence[QueryResult]) -> dict[str, Any]:
    told = {"evaluation.stage": stage.stage, "evaluation.cached": stage.cached, **_named(stage.cell)}
    if asked:
        told |= {f"evaluation.calls.{name}": sum(getattr(each, name) for each in asked) for name in OUTCOMES}
        told["evaluation.calls.asked"] = sum(each.total for each in asked)
        told |= {f"gen_ai.usage.{kind}_tokens": sum(getattr(each, name) for each in asked) for kind, name in TOKENS}
        told["gen_ai.request.model"] = ", ".join(dict.fromkeys(each.model for each in asked))
    return told


def _spans(
    run: str, exit_code: int | None, began: float, stages: Sequence[Execution], resource: "Resource"
) -> "list[ReadableSpan]":
    """Return all spans of a run that ends now; a suite's or batch's encloses those of its stages."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import set_span_in_context

    tracer = TracerProvider(resource=resource, shutdown_on_exit=False).get_tracer("basic-control")
    made: list[Any] = []

    def span(name: str, times: tuple[float, float], attributes: dict[str, Any], above: Any = None) -> Any:
        context = None if above is None else set_span_in_context(above)
        one = tracer.start_span(name, context=context, start_time=int(times[0] * _NANO), attributes=attributes)
        one.end(int(times[1] * _NANO))
        made.append(one)
        return one

    code = {} if exit_code is None else {"evaluation.exit_code": exit_code}
    whole = span(f"run {run}", (began, time.time()), {"evaluation.run": run, **code})
    opened: dict[Cell, Any] = {}
    for stage, asked in _calls(stages):
        parent = whole
        for cell in _above(stage.cell):
            if cell not in opened:
                own = [one for one in stages if cell in _above(one.cell)]
                times = min(one.ended - one.seconds for one in own), max(one.ended for one in own)
                name = f"{'batch' if cell.model else 'suite'} {cell}"
                opened[cell] = span(name, times, _named(cell), parent)
            parent = opened[cell]
        span(stage.stage, (stage.ended - stage.seconds, stage.ended), _told(stage, asked), parent)
    return made


def _counted(endpoint: str, resource: "Resource", stages: Sequence[Execution]) -> bool:
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
    for stage, asked in _calls(stages):
        for each in asked:
            named = {**_named(stage.cell), "gen_ai.request.model": each.model}
            for name in OUTCOMES:
                calls.add(getattr(each, name), {**named, "evaluation.outcome": name})
            for kind, name in TOKENS:
                tokens.add(getattr(each, name), {**named, "gen_ai.token.type": kind})
    taken = provider.force_flush(int(PATIENCE_S * 1000))
    provider.shutdown()
    return taken


def _send(endpoint: str, run: str, exit_code: int | None, began: float, stages: Sequence[Execution]) -> str:
    """Send everything; return an error message, '' if none."""
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
    return "" if taken and _counted(endpoint, resource, stages) else "the collector rejected some of the data"


@dataclass(slots=True)
class ExitStatus:
    """A run's exit code; None if it was aborted."""

    exit_code: int | None = None


@contextmanager
def traced(endpoint: str, run: str, stages: Sequence[Execution]) -> Iterator[ExitStatus]:
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
    began, how, said = time.time(), ExitStatus(), list[str]()

    def work() -> None:
        try:
            said.append(_send(endpoint, run, how.exit_code, began, stages))
        except Exception as error:  # noqa: BLE001 - whatever a collector does, the run's results stand
            said.append(f"{type(error).__name__}: {error}")

    try:
        yield how
    finally:
        if endpoint:
            logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # it would log each attempt to stderr
            thread = threading.Thread(target=work, name="telemetry", daemon=True)
            thread.start()
            thread.join(PATIENCE_S)
            if why := said[0] if said else f"no response within {PATIENCE_S:g} s":
                event("telemetry_failed", level=logging.WARNING, run=run, endpoint=endpoint, why=why)
