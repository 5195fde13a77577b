"""What a run asks of Prefect where no server is named: answered as a real server of the same version answers it.

The requests of whole runs are recorded on their way to our answers, and put to a real server afterwards.
"""

import base64
import http.client
import json
import os
import re
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from prefect import flow, task
from prefect.cache_policies import INPUTS
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import (
    Flow,
    FlowRun,
    ServerDefaultResultStorage,
    State,
    TaskRun,
)
from prefect.client.schemas.responses import OrchestrationResult, SetStateStatus
from prefect.context import refresh_global_settings_context
from prefect.settings import PREFECT_API_URL, PREFECT_LOCAL_STORAGE_PATH, temporary_settings
from prefect.states import Cancelling, Completed, Crashed, Pending, Running
from pydantic import BaseModel

from basic_control.config.reading import read
from basic_control.flows.environment import describe_unreachable
from basic_control.flows.ephemeral import Api, _door, serve_in_process, server_for, start_temporary_server
from basic_control.flows.full_eval import full_eval
from tests.conftest import Run
from tests.helpers.hostile_texts import ACTS, HOSTILE, LOADED, OBEYED, acting
from tests.helpers.runs import latest
from tests.servers import Fault, serve_ollama
from tests.servers.running import serve, serve_openai

IDENTIFIER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)")
SLUG = re.compile(r"\w+-\w+")
"""A name that is made up where none was given."""
READ: dict[str, type[BaseModel]] = {
    r"GET /admin/storage": ServerDefaultResultStorage,
    r"\w+ /flows/[^/]*": Flow,
    r"(POST|GET) /flow_runs/[^/]*": FlowRun,
    r"POST /flow_runs/[^/]+/set_state": OrchestrationResult[Any],
    r"(POST|GET) /task_runs/[^/]*": TaskRun,
}
"""As what the client reads an answer, by the request; what is not here has no content."""
UNREAD = {"estimated_run_time", "estimated_start_time_delta", "total_run_time", "updated"}
"""What no client reads of an answer, or what counts the time that passed."""


@dataclass
class Exchange:
    """A request, and what was answered."""

    method: str
    path: str
    body: str
    status: int
    answer: Any

    @property
    def route(self) -> str:
        """The request, without what it is about."""
        return f"{self.method} {IDENTIFIER.sub('…', self.path)}"

    def read(self) -> Any:
        """Return all that the client reads of the answer, as JSON."""
        if self.answer is None or self.status >= 400:
            return None
        kind = next(kind for route, kind in READ.items() if re.fullmatch(route, f"{self.method} {self.path}"))
        if isinstance(self.answer, list):
            return [kind.model_validate(one).model_dump(mode="json") for one in self.answer]
        return kind.model_validate(self.answer).model_dump(mode="json")


@contextmanager
def recorded() -> Iterator[list[Exchange]]:
    """Have runs ask by a way on which every request and its answer are kept."""
    asked: list[Exchange] = []
    with serve_in_process():
        target, password = os.environ["PREFECT_API_URL"], os.environ["PREFECT_API_AUTH_STRING"].split(":")

        async def forward(request: web.Request) -> web.Response:
            path, body = request.path_qs.removeprefix("/api"), await request.text()
            async with httpx.AsyncClient(auth=(password[0], password[1]), timeout=60) as client:
                said = await client.request(request.method, target + path, content=body)
            answer = said.json() if said.content else None
            asked.append(Exchange(request.method, path, body, said.status_code, answer))
            return web.Response(body=said.content, status=said.status_code, content_type="application/json")

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", forward)
        with serve(app) as url, temporary_settings({PREFECT_API_URL: f"{url}/api"}):
            yield asked


@dataclass
class Told:
    """Where a run's client finds a server, and by which password: what the environment says meanwhile."""

    url: str
    password: str

    @classmethod
    def now(cls) -> "Told":
        return cls(os.environ["PREFECT_API_URL"], os.environ["PREFECT_API_AUTH_STRING"])

    @property
    def variables(self) -> dict[str, str]:
        return {"PREFECT_API_URL": self.url, "PREFECT_API_AUTH_STRING": self.password}

    def client(self) -> httpx.Client:
        name, _, word = self.password.partition(":")
        return httpx.Client(base_url=self.url, auth=(name, word), timeout=60)


@pytest.fixture(scope="module")
def real() -> Iterator[Told]:
    """Start Prefect's own server as a run does that needs it; tests meet the environment that was there before."""
    before = {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")}
    with start_temporary_server(), pytest.MonkeyPatch.context() as patch:
        told = Told.now()
        for name in [name for name in os.environ if name.startswith("PREFECT_")]:
            if name not in before:
                patch.delenv(name)
            elif os.environ[name] != before[name]:
                patch.setenv(name, before[name])
        refresh_global_settings_context()
        yield told
    assert {name: value for name, value in os.environ.items() if name.startswith("PREFECT_")} == before


def compare(asked: list[Exchange], real: Told) -> None:
    """Put what was asked to a real server, and compare the answers in all that the client reads."""
    theirs: dict[str, str] = {}
    different: dict[str, None] = {}
    with real.client() as client:
        for one in asked:
            path, body = (IDENTIFIER.sub(lambda id_: theirs.get(id_[0], id_[0]), x) for x in (one.path, one.body))
            # Its database is busy: Prefect's own client asks again, too.
            while (
                said := client.request(one.method, path, content=body)
            ).status_code == httpx.codes.SERVICE_UNAVAILABLE:
                time.sleep(0.2)
            other = Exchange(one.method, path, body, said.status_code, said.json() if said.content else None)
            assert one.status // 100 == other.status // 100, f"{one.route}: {one.answer} in place of {said.text}"
            found = differences(one.read(), other.read(), "", theirs)
            different |= dict.fromkeys(f"{one.route}: {said}" for said in found)
    assert not different, "\n".join(different)


def differences(ours: Any, real: Any, where: str, theirs: dict[str, str]) -> Iterator[str]:
    """Yield where two answers differ; identifiers are paired as they come, and any time is as good as another."""
    if isinstance(ours, dict) and isinstance(real, dict):
        for name in {*ours, *real} - UNREAD:
            yield from differences(ours.get(name), real.get(name), f"{where}.{name}", theirs)
    elif isinstance(ours, list) and isinstance(real, list) and len(ours) == len(real):
        for one, other in zip(ours, real, strict=True):
            yield from differences(one, other, where, theirs)
    elif alike(IDENTIFIER, ours, real):
        if theirs.setdefault(ours, real) != real:
            yield f"{where}: another one than before"
    elif ours != real and not alike(TIME, ours, real) and not (where.endswith(".name") and alike(SLUG, ours, real)):
        yield f"{where}: {ours!r} in place of {real!r}"


def alike(form: re.Pattern[str], *values: Any) -> bool:
    """Say whether all values are texts of one form."""
    return all(isinstance(value, str) and form.fullmatch(value) for value in values)


def evaluation(folder: Path) -> None:
    """Run an evaluation of ours twice: at first nothing is cached."""
    with serve_openai("ANSWER: 12") as server:
        model = {"name": "tiny", "provider": "openai", "base_url": server.base_url}
        sets = {
            "models": json.dumps([model]),
            "suites": "[basic_control]",
            "basic_control.families": "[simple_logic]",
            "basic_control.n_items": "2",
            "report.html": "false",
            "store.root": str(folder / "store"),
            "store.runs": str(folder / "runs"),
        }
        settings = read(None, [f"{key}={value}" for key, value in sets.items()])
        for _ in range(2):
            full_eval.with_options(validate_parameters=False)(settings)


def nested(_folder: Path) -> None:
    """Run flows in a flow, one of them twice, tasks beside each other, and one that is tried again."""
    tries: list[int] = []

    @task(retries=1, retry_delay_seconds=0)
    def failing_once(number: int) -> int:
        tries.append(number)
        if len(tries) == 1:
            raise ValueError(number)
        return number

    @flow(name=f"inner {uuid.uuid4()}", flow_run_name="inner {number}")
    def inner(number: int) -> int:
        return failing_once.submit(number).result()

    @flow(name=f"outer {uuid.uuid4()}")
    def outer() -> int:
        return inner(1) + inner(2)

    assert outer() == 3
    assert tries == [1, 1, 2]


def cached(folder: Path) -> None:
    """Run a task whose result is kept twice, beside a flow whose own result is kept."""
    calls: list[int] = []

    @task(cache_policy=INPUTS, persist_result=True)
    def kept(number: int) -> int:
        calls.append(number)
        return number

    @flow(name=f"cached {uuid.uuid4()}", persist_result=True)
    def outer() -> int:
        return kept(1)

    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: folder / "results"}):
        assert [outer(), outer()] == [1, 1]
    assert calls == [1]


def failing(_folder: Path) -> None:
    """Run a flow that fails within one that goes on, and one whose failure ends all."""

    @flow(name=f"failing {uuid.uuid4()}")
    def inner() -> None:
        raise ValueError("broken")

    @flow(name=f"around {uuid.uuid4()}")
    def outer() -> None:
        assert inner(return_state=True).is_failed()  # pyrefly: ignore[no-matching-overload] # of a flow that returns None
        inner()

    with pytest.raises(ValueError, match="broken"):
        outer()


def interrupted(_folder: Path) -> None:
    """Stop a flow within another one by Ctrl-C, in a task."""

    @task
    def stopped() -> None:
        raise KeyboardInterrupt

    @flow(name=f"stopped {uuid.uuid4()}")
    def inner() -> None:
        stopped()

    @flow(name=f"around {uuid.uuid4()}")
    def outer() -> None:
        inner()

    with pytest.raises(KeyboardInterrupt):
        outer()


def refused(_folder: Path) -> None:
    """Have a run that has ended, or begun, enter states that it does not enter any more."""

    @flow(name=f"refused {uuid.uuid4()}")
    def one() -> None:
        pass

    with get_client(sync_client=True) as client:
        run = client.create_flow_run(one)
        proposed: list[State[Any]] = [Running(), Pending(), Completed(), Crashed(), Cancelling()]
        statuses = [str(client.set_flow_run_state(run.id, state).status.value) for state in proposed]
        assert statuses == ["ACCEPT", "ABORT", "ACCEPT", "ABORT", "ABORT"]
        assert client.set_flow_run_state(run.id, Crashed(), force=True).status == SetStateStatus.ACCEPT
        assert client.read_flow_run(run.id).state_name == "Crashed"
        again = {"state": {"type": "RUNNING", "state_details": {"transition_id": str(uuid.uuid4())}}}
        url = f"{PREFECT_API_URL.value()}/flow_runs/{run.id}/set_state"
        assert [httpx.post(url, json=again).json()["status"] for _ in range(2)] == ["ACCEPT", "REJECT"]


RUNS = [evaluation, nested, cached, failing, interrupted, refused]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Exchange]]:
    """Return what each of the runs asked."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-test-0000")
        for run in RUNS:
            with recorded() as asked:
                run(tmp_path_factory.mktemp(run.__name__))
            found[run.__name__] = asked
    return found


@pytest.mark.slow
@pytest.mark.parametrize("run", [run.__name__ for run in RUNS])
def test_whole_runs_are_answered_as_a_real_server_does(
    run: str, asked: dict[str, list[Exchange]], real: Told
) -> None:
    unknown = sorted({one.route for one in asked[run] if one.status not in {200, 201, 204, 404}})
    assert not unknown, f"what this version of Prefect asks as well: {unknown}"
    assert len(asked[run]) >= 5
    compare(asked[run], real)


@pytest.mark.slow
def test_no_route_is_answered_that_no_run_asks_for(asked: dict[str, list[Exchange]]) -> None:
    unused = [
        f"{method} {route.path}"
        for route in Api().routes()
        for method in (route.methods or set()) - {"HEAD"}
        if not any(
            one.method == method and route.path_regex.fullmatch(one.path.partition("?")[0])
            for exchanges in asked.values()
            for one in exchanges
        )
    ]
    assert not unused


@flow(name="tried again", retries=1)
def tried_again() -> None:
    """Fail."""


def test_what_needs_a_server_ends_the_run_with_one_message_that_names_it() -> None:
    with serve_in_process():
        with pytest.raises(httpx.HTTPStatusError) as told:
            tried_again()
        assert "Prefect asked for retries of a flow, which needs a Prefect server." in describe_unreachable(
            told.value
        )
        with get_client(sync_client=True) as client:
            with pytest.raises(httpx.HTTPStatusError) as told:
                client.request("POST", "/variables/", json={})
            assert "Prefect asked for POST /api/variables/, which needs" in describe_unreachable(told.value)
            with pytest.raises(httpx.HTTPStatusError) as told:
                client.read_flow_runs(flow_run_filter=FlowRunFilter(name={"like_": "x"}))
            assert "POST /api/flow_runs/filter with flow_runs" in describe_unreachable(told.value)


def test_answers_do_not_wait_for_word_of_their_first_piece() -> None:
    """Forty milliseconds for each of a run's requests, since what listens is no socket of asyncio's own."""
    with _door() as door, socket.create_connection(door.getsockname()):
        connection, _ = door.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def lets_in_its_run_alone(told: Told) -> None:
    """Hold a run's server to letting in nobody without the password, and no other page."""

    def send(method: str, path: str, **headers: str) -> tuple[int, dict[str, str]]:
        """Send a request, as anybody on the machine can."""
        host = told.url.removeprefix("http://").removesuffix("/api")
        connection = http.client.HTTPConnection(host, timeout=60)
        body = "{}" if method == "POST" else None
        connection.request(method, f"/api{path}", body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        answer.read()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}

    assert len(told.password) > 40
    ours = "Basic " + base64.b64encode(told.password.encode()).decode()
    assert send("POST", "/flow_runs/filter")[0] == 401
    assert send("POST", "/flow_runs/filter", Authorization="Basic cnVuOnJ1bg==")[0] == 401
    page = {"Origin": "http://evil.example", "Access_Control_Request_Method": "POST"}
    for method in ("OPTIONS", "POST"):
        _, headers = send(method, "/flow_runs/filter", Authorization=ours, **page)
        assert "access-control-allow-origin" not in headers
    assert send("GET", "/admin/storage", Authorization=ours)[0] == 200


@pytest.mark.slow
def test_a_runs_server_lets_in_its_run_alone_and_no_page_of_another_origin(real: Told) -> None:
    with serve_in_process():
        lets_in_its_run_alone(Told.now())
    assert "PREFECT_API_AUTH_STRING" not in os.environ
    assert "PREFECT_API_URL" not in os.environ
    lets_in_its_run_alone(real)


@pytest.mark.slow
def test_a_run_with_hostile_names_and_servers_ends_as_any_other(run: Run, tmp_path: Path, real: Told) -> None:
    """What they hold reaches neither the terminal nor the server's pages in a way that either would act on."""
    refused = Fault("status", 400, f"no {OBEYED} {LOADED}")
    gone = Fault("status", 500, raw=json.dumps({"error": f"out of {OBEYED}"}))
    with (
        serve_openai("ANSWER: 12", faults=lambda number, _: refused if number % 2 else None) as server,
        serve_ollama("x", faults=lambda *_: gone, version=f"1{OBEYED}") as other,
    ):
        models = [
            {"name": HOSTILE, "provider": "openai", "base_url": server.base_url, "deadline_s": 20},
            {"name": f"o{HOSTILE}", "provider": "ollama", "base_url": other.base_url, "deadline_s": 1},
        ]
        sets = [
            f"models={json.dumps(models)}",
            "suites=[basic_control]",
            "basic_control.families=[simple_logic]",
            "basic_control.n_items=4",
        ]
        done = run(*(word for one in sets for word in ("--set", one)), extra=real.variables)
    for said in (done.stdout, done.stderr):
        assert not ACTS.search(said), said
        assert "defect" not in said
    assert "⟦U+001B⟧" in done.stdout
    name = latest(tmp_path).name
    with real.client() as client:
        artifacts = client.post("/artifacts/filter", json={"limit": 200}).json()
    ours = [one for one in artifacts if one["description"] == name]
    assert {one["key"] for one in ours} == {"report", "summary"}
    for one in ours:
        cells = json.loads(one["data"]) if one["type"] == "table" else [{"": one["data"]}]
        texts = [one["description"], *(text for row in cells for text in row.values())]
        assert any("evil.example" in text for text in texts)
        assert not [found for text in texts for found in acting(text)]


@pytest.mark.parametrize(
    ("runner", "variables", "expected"),
    [
        ("local", {}, serve_in_process),
        ("local", {"PREFECT_FLOWS_DEFAULT_RETRIES": "1"}, start_temporary_server),
        ("dask", {}, start_temporary_server),
        ("dask", {"PREFECT_API_URL": "http://127.0.0.1:9/api"}, None),
        ("local", {"PREFECT_API_URL": "http://127.0.0.1:9/api"}, None),
    ],
)
def test_a_server_is_started_only_where_none_is_named_and_the_run_needs_one(
    runner: str, variables: dict[str, str], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    refresh_global_settings_context()
    try:
        assert server_for(runner) is expected
    finally:
        monkeypatch.undo()
        refresh_global_settings_context()
