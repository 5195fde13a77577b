"""A run's trace reaches a collector with the right parents; a collector that is gone changes nothing."""

import gzip
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource

from basic_control.data.batches import Cell, Execution, QueryResult, Ref
from basic_control.tasks.runtime import telemetry
from tests.conftest import Run, free_port
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai

ONE = ("--set", "suites=[basic_control]", "--set", "basic_control.families=[arithmetic]", "--set",
       "basic_control.n_items=3", "--set", "gate=off")  # fmt: skip


class Collector(ThreadingHTTPServer):
    """An OTLP collector: it takes traces and metrics as protobuf over HTTP, and keeps them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.spans: list[Span] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.by_model: Counter[tuple[str, str]] = Counter()
        self.raw = b""


class Taking(BaseHTTPRequestHandler):
    """What a collector does with a request."""

    server: Collector  # pyrefly: ignore

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.server.raw += body
        if self.path == "/v1/traces":
            taken = ExportTraceServiceRequest.FromString(body)
            for resource in taken.resource_spans:
                for scope in resource.scope_spans:
                    self.server.spans.extend(scope.spans)
            said = ExportTraceServiceResponse().SerializeToString()
        else:
            assert self.path == "/v1/metrics"
            for each in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope_metrics in each.scope_metrics:
                    for metric in scope_metrics.metrics:
                        for point in metric.sum.data_points:
                            told = {one.key: one.value.string_value for one in point.attributes}
                            kind = told.get("evaluation.outcome") or told["gen_ai.token.type"]
                            self.server.counts[metric.name, kind] += point.as_int
                            self.server.by_model[told["gen_ai.request.model"], kind] += point.as_int
            said = ExportMetricsServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.shutdown()
        collector.server_close()


def told(span: Span, key: str) -> object:
    held = next((one.value for one in span.attributes if one.key == key), None)
    return getattr(held, held.WhichOneof("value") or "") if held else None


def test_a_runs_spans_reach_a_collector_under_their_parents(run: Run, tmp_path: Path) -> None:
    with collecting() as collector, serve_openai("ANSWER: 7") as model:
        endpoint = f"http://127.0.0.1:{collector.server_port}"
        done = run("--set", at(model), *ONE, "--set", f"telemetry.endpoint={endpoint}")
        assert done.returncode == 0, done.stderr
    by_id = {span.span_id: span for span in collector.spans}
    above = {span.name: by_id[span.parent_span_id].name if span.parent_span_id else "" for span in collector.spans}
    name = latest(tmp_path).name
    assert above == {
        f"run {name}": "",
        "suite basic_control": f"run {name}",
        "batch basic_control acme/tiny:1b": "suite basic_control",
        "generate": "suite basic_control",
        **dict.fromkeys(("prepare", "query", "verify", "score"), "batch basic_control acme/tiny:1b"),
        **dict.fromkeys(("aggregate", "results", "gate", "report"), f"run {name}"),
    }
    assert len({span.trace_id for span in collector.spans}) == 1
    for span in collector.spans:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = by_id[span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    (query,) = [span for span in collector.spans if span.name == "query"]
    assert told(query, "gen_ai.request.model") == "acme/tiny:1b"
    assert told(query, "evaluation.calls.answered") == 3
    assert collector.counts["evaluation.calls", "answered"] == 3
    assert collector.counts["evaluation.tokens", "output"] == told(query, "gen_ai.usage.output_tokens")
    assert b"ANSWER" not in collector.raw, "no prompt and no reply is sent"


def test_each_call_is_counted_once_under_the_model_that_was_asked(run: Run, tmp_path: Path) -> None:
    """A judge's calls are its own, not those of the model that is judged, and no second time those of the stage."""

    def reply(body: dict[str, Any]) -> str:
        return json.dumps({"reason": "clear", "rating": 5}) if body["model"] == "the judge" else "ANSWER: 7"

    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps({"question": f"{n}?", "answer": "7"}) + "\n" for n in range(5)), "utf-8")
    with collecting() as collector, serve_openai(reply) as server:
        judge = {"name": "the judge", "provider": "openai", "base_url": server.base_url}
        suite = {
            "name": "own",
            "items": {"data": str(data)},
            "prompt": "{{ question }}",
            "metrics": {"exact_match": {}, "rubric": {"criteria": "Clear.", "scale": [1, 5]}},
        }
        sets = {"judges": [judge], "suites": [suite], "gate": "off"}
        words = [word for key, value in sets.items() for word in ("--set", f"{key}={json.dumps(value)}")]
        endpoint = f"telemetry.endpoint=http://127.0.0.1:{collector.server_port}"
        done = run("--set", at(server), *words, "--set", endpoint)
        assert done.returncode == 0, done.stderr
        seen = Counter(str(seen.body["model"]) for seen in server.requests)
    assert seen == {"acme/tiny:1b": 5, "the judge": 5}
    calls = {key: count for key, count in collector.by_model.items() if key[1] == "answered"}
    assert calls == {(model, "answered"): count for model, count in seen.items()}
    assert collector.by_model["the judge", "output"] == 5 * 7
    spans = Counter[object]()
    for span in collector.spans:
        if count := told(span, "evaluation.calls.answered"):
            assert isinstance(count, int)
            spans[told(span, "gen_ai.request.model")] += count
    assert spans == seen
    (asking,) = [span for span in collector.spans if told(span, "gen_ai.request.model") == "the judge"]
    assert told(asking, "evaluation.model") == "acme/tiny:1b", "whom it judges"


def stage_of(name: str, cell: Cell, *asked: QueryResult) -> Execution:
    return Execution(name, cell, cached=False, seconds=1.0, queries=asked)


def test_calls_of_workers_elsewhere_are_counted_at_the_stage_that_came_back() -> None:
    """Their queries are no stages here: a judge's stage on a cluster tells of them."""
    ref = Ref("responses", "0", 1, "0")
    calls = QueryResult(
        ref, ref, total=3, cached=1, answered=2, failed=0, tokens_in=1, tokens_out=1, span_s=1.0, model="j"
    )
    judging = stage_of("judge", Cell("own", "m", None, "rubric"), calls)
    inside = stage_of("query", Cell("own", "m", None, "rubric", "j"), calls)
    for stages in ([judging], [inside, judging]):
        spans = telemetry._make_spans("r", 0, 0.0, stages, Resource.get_empty())
        assert sum(int(str((span.attributes or {}).get("evaluation.calls.answered", 0))) for span in spans) == 2


def test_a_collector_that_is_gone_changes_nothing_but_is_told(run: Run, tmp_path: Path) -> None:
    with serve_openai("ANSWER: 7") as model:
        endpoint = f"http://127.0.0.1:{free_port()}"
        done = run("--set", at(model), *ONE, "--set", f"telemetry.endpoint={endpoint}", "--log", "json")
    assert done.returncode == 0, done.stderr
    assert '"event": "telemetry_failed"' in done.stderr
    assert "Traceback" not in done.stderr
    assert (latest(tmp_path) / "results.json").is_file()


@pytest.mark.parametrize(
    "endpoint", ["http://u:secret@127.0.0.1:1", "ftp://127.0.0.1", "http://127.0.0.1?api_key=abc"]
)
def test_an_endpoint_with_a_secret_or_of_another_kind_is_refused(run: Run, endpoint: str) -> None:
    done = run("--set", f"telemetry.endpoint={endpoint}", "--dry-run")
    assert done.returncode == 2
    assert "telemetry" in done.stderr
    assert "secret" not in done.stderr
