"""Answer a command-line run's Prefect requests in its own process when no Prefect server is configured.

Flows, tasks, task retries and caching run in Prefect's client. The few requests it makes to a server are answered
from memory with Prefect's own rules and types, on loopback, with a password known only to this process and no other
origin allowed; an unknown route answers 501 with its name. Nothing outlasts the run. Where a real server is needed
(flow retries, cluster workers), Prefect's own temporary server is started.
"""

import contextlib
import os
import secrets
import signal
import socket
import tempfile
import threading
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from uuid import UUID, uuid4

import uvicorn
from prefect import context
from prefect.client.schemas import actions
from prefect.client.schemas.objects import Flow, FlowRun, ServerDefaultResultStorage, State, StateType, TaskRun
from prefect.client.schemas.responses import (
    OrchestrationResult,
    SetStateStatus,
    StateAbortDetails,
    StateAcceptDetails,
    StateRejectDetails,
)
from prefect.events.clients import NullEventsClient
from prefect.events.worker import EventsWorker
from prefect.settings import Settings, get_current_settings
from pydantic import BaseModel, SecretStr, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from basic_control.data.errors import InputError
from basic_control.flows.routes import route_clients
from basic_control.tasks.models.proxies import build_prefect_environment

UNFORCED = {StateType.PENDING, StateType.CANCELLING, StateType.RUNNING, StateType.CANCELLED}
"""The states that can become Pending only by force."""
ELSEWHERE = {StateType.SCHEDULED, StateType.PAUSED}
"""States that need a server to end them."""


def application(password: str) -> ASGIApp:
    """Return the API, open to requests with the `user:password`."""
    unknown = Route("/{path:path}", _unknown, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
    inside = Starlette(
        routes=[Mount("/api", routes=[*Api().routes(), unknown])],
        exception_handlers={HTTPException: _format_refusal, ValidationError: _format_refusal},
    )
    # Other processes of this machine can reach the port as well.
    expected = b"Basic " + b64encode(password.encode())

    async def authorise(scope: Scope, receive: Receive, send: Send) -> None:
        credentials = dict(scope["headers"]).get(b"authorization", b"")
        answer: ASGIApp = inside
        if not secrets.compare_digest(credentials, expected):
            answer = JSONResponse({"exception_message": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
        await answer(scope, receive, send)

    return authorise


def _build_unsupported(what: str) -> HTTPException:
    return HTTPException(
        HTTPStatus.NOT_IMPLEMENTED,
        f"Prefect asked for {what}, which needs a Prefect server. Start one (basic-control serve), and set "
        "PREFECT_API_URL to its address.",
    )


async def _unknown(request: Request) -> Response:
    raise _build_unsupported(f"{request.method} {request.url.path}")


def _format_refusal(_request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"detail": error.detail}, error.status_code)
    return JSONResponse({"detail": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)


def _json(model: BaseModel, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return Response(model.model_dump_json(), status, media_type="application/json")


def _fields(model: BaseModel, *without: str) -> dict[str, Any]:
    return model.model_dump(exclude={*without}, exclude_unset=True)


def _add_identity(**fields: Any) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {"id": uuid4(), "created": now, "updated": now, **fields}


def _state(requested: actions.StateCreate | None) -> State:
    fields: dict[str, Any] = _fields(requested) if requested else {"type": StateType.PENDING}
    details = {"deferred": False} | fields.get("state_details", {})  # the client's type leaves these unset
    return State.model_validate(fields | {"id": uuid4(), "timestamp": datetime.now(UTC), "state_details": details})


class Api:
    """The flows and runs of one process; each method answers one route."""

    def __init__(self) -> None:
        self._flows: dict[str, Flow] = {}
        self._flow_runs: dict[UUID, FlowRun] = {}

    def routes(self) -> list[Route]:
        """Return all routes."""
        answers: Iterable[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = (
            ("GET", "/admin/storage", self.read_storage),
            ("POST", "/flows/", self.create_flow),
            ("POST", "/flow_runs/", self.create_flow_run),
            ("POST", "/flow_runs/filter", self.find_flow_runs),
            ("GET", "/flow_runs/{id:uuid}", self.read_flow_run),
            ("PATCH", "/flow_runs/{id:uuid}", self.update_flow_run),
            ("POST", "/flow_runs/{id:uuid}/set_state", self.set_flow_run_state),
            ("POST", "/task_runs/", self.create_task_run),
        )
        return [Route(path, answer, methods=[method]) for method, path, answer in answers]

    async def read_storage(self, _request: Request) -> Response:
        """Answer that results are stored where the run's settings say."""
        return _json(ServerDefaultResultStorage())

    async def create_flow(self, request: Request) -> Response:
        """Return the flow with the given name, creating it if needed."""
        request_body = actions.FlowCreate.model_validate_json(await request.body())
        known_flow = self._flows.get(request_body.name)
        if known_flow:
            return _json(known_flow)
        flow = self._flows[request_body.name] = Flow(**_add_identity(**request_body.model_dump()))
        return _json(flow, HTTPStatus.CREATED)

    async def create_flow_run(self, request: Request) -> Response:
        """Return a new run of a flow."""
        request_body = actions.FlowRunCreate.model_validate_json(await request.body())
        if request_body.empirical_policy.retries or request_body.deployment_id:
            what = "retries of a flow" if request_body.empirical_policy.retries else "a deployment's run"
            raise _build_unsupported(what)
        labels = {"prefect.flow.id": str(request_body.flow_id)} | request_body.labels
        run = FlowRun.model_validate(
            {"job_variables": {}} | _fields(request_body, "state") | _add_identity(labels=labels)
        )
        self._flow_runs[run.id] = run
        _enter(run, _state(request_body.state))
        return _json(run, HTTPStatus.CREATED)

    def _run(self, identifier: UUID | None) -> FlowRun:
        if identifier not in self._flow_runs:
            raise HTTPException(HTTPStatus.NOT_FOUND, "Flow run not found")
        return self._flow_runs[identifier]

    async def read_flow_run(self, request: Request) -> Response:
        """Return a flow run."""
        return _json(self._run(request.path_params["id"]))

    async def find_flow_runs(self, request: Request) -> Response:
        """Return the runs started by a run's stand-in task."""
        criteria = {name: value for name, value in (await request.json()).items() if value}
        criteria.pop("sort", None)  # a stand-in starts only one run
        criteria.pop("limit", None)
        match criteria:
            # Any other criterion would select runs by what is not kept here.
            case {"flow_runs": {"parent_task_run_id": {"any_": list(parents)}}, **remainder} if not remainder:
                runs = [run for run in self._flow_runs.values() if str(run.parent_task_run_id) in parents]
                return JSONResponse([run.model_dump(mode="json") for run in runs])
        raise _build_unsupported(f"POST {request.url.path} with {', '.join(criteria)}")

    async def update_flow_run(self, request: Request) -> Response:
        """Update the given fields of a run."""
        run = self._run(request.path_params["id"])
        changes = actions.FlowRunUpdate.model_validate_json(await request.body())
        for name in changes.model_fields_set:
            setattr(run, name, getattr(changes, name))
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def set_flow_run_state(self, request: Request) -> Response:
        """Move a run to a state, or answer why it is refused."""
        run = self._run(request.path_params["id"])
        body = await request.json()
        requested = _state(actions.StateCreate.model_validate(body["state"]))
        if requested.type in ELSEWHERE:
            raise _build_unsupported(f"the state {requested.name} of a flow run")
        refusal = None if body.get("force") else _find_refusal(run, requested)
        if refusal:
            return _json(refusal)
        _enter(run, requested)
        accepted = OrchestrationResult[Any](
            state=requested, status=SetStateStatus.ACCEPT, details=StateAcceptDetails()
        )
        return _json(accepted, HTTPStatus.CREATED)

    async def create_task_run(self, request: Request) -> Response:
        """Create the run of a task that stands for a subflow; the client keeps all other task runs itself."""
        request_body = actions.TaskRunCreate.model_validate_json(await request.body())
        flow_run = self._run(request_body.flow_run_id)
        labels = flow_run.labels | {"prefect.flow-run.id": str(flow_run.id)} | request_body.labels
        run = TaskRun.model_validate(_add_identity() | _fields(request_body, "state") | {"labels": labels})
        state = _state(request_body.state)
        state.state_details.flow_run_id = flow_run.id
        _enter(run, state)
        return _json(run, HTTPStatus.CREATED)


def _enter(run: FlowRun | TaskRun, state: State) -> None:
    """Set a run's state and update the fields that depend on it."""
    details = state.state_details
    if isinstance(run, FlowRun):
        details.flow_run_id, details.task_run_id = run.id, run.parent_task_run_id or details.task_run_id
    else:
        details.task_run_id = run.id
    # As Prefect's server counts: the time in each Running state, from the first one to the last one's end.
    before = run.state
    at: Any = state.timestamp
    if before and before.is_running():
        run.total_run_time += at - before.timestamp
    if state.is_running():
        run.run_count += 1
    if state.is_running() or state.is_final():
        run.start_time = run.start_time or at
    run.end_time = (run.end_time or at) if state.is_final() else None
    run.expected_start_time = run.expected_start_time or at
    run.state, run.state_id, run.state_type, run.state_name = state, state.id, state.type, state.name


def _find_refusal(run: FlowRun, requested: State) -> OrchestrationResult[Any] | None:
    """Return why Prefect's rules forbid a run to enter a state; None if it may."""
    state = run.state
    if state is None:
        return None
    result = OrchestrationResult[Any]
    transition = requested.state_details.transition_id
    if transition and transition == state.state_details.transition_id:
        reason = "This run has already made this state transition."
        return result(state=state, status=SetStateStatus.REJECT, details=StateRejectDetails(reason=reason))
    if state.is_final() and requested.type in {StateType.CANCELLING, StateType.CRASHED}:
        reason = f"Run is already in terminal state {state.type.value}."
    elif state.type in UNFORCED and requested.is_pending():
        reason = f"This run is in a {state.type.name} state and cannot transition to a PENDING state."
    else:
        return None
    return result(state=state, status=SetStateStatus.ABORT, details=StateAbortDetails(reason=reason))


START_S = 300
"""On a crowded machine Prefect's own server may take minutes to answer; its exit is noticed at once."""


Opened = Callable[[], contextlib.AbstractContextManager[None]]


def server_for(runner: str) -> Opened | None:
    """Return a context manager that provides a server for a run on `runner`; None if the settings name one."""
    route_clients()
    settings = get_current_settings()
    if settings.api.url:
        return None
    return serve_in_process if runner == "local" and not settings.flows.default_retries else start_temporary_server


@contextlib.contextmanager
def serve_in_process() -> Iterator[None]:
    """Answer Prefect's client in this process during the block, also if it has already read its settings."""
    password = f"run:{secrets.token_urlsafe(32)}"
    door = _door()
    url = f"http://127.0.0.1:{door.getsockname()[1]}/api"
    config = uvicorn.Config(
        application(password), log_config=None, access_log=False, lifespan="off", ws="none", http="h11"
    )
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, args=([door],), name="prefect", daemon=True).start()
    EventsWorker.set_client_override(NullEventsClient)
    try:
        with _apply_variables(
            {"PREFECT_API_URL": url, "PREFECT_API_AUTH_STRING": password}, _build_settings(url, password)
        ):
            yield
    finally:
        EventsWorker.set_client_override(None)
        # It closes its socket. We need not wait for that: it checks for the exit only every tenth of a second.
        server.should_exit = server.force_exit = True


@contextlib.contextmanager
def start_temporary_server() -> Iterator[None]:
    """Run Prefect's own temporary server during the block.

    Raises:
        InputError: it does not start.
    """
    from prefect.server.api.server import SubprocessASGIServer  # slow to import (seconds)

    password = f"run:{secrets.token_urlsafe(32)}"
    with tempfile.TemporaryDirectory() as folder, _apply_variables({
        "PREFECT_SERVER_UI_ENABLED": "false",  # its pages are not installed (`tasks.models.progress.has_pages`)
        "PREFECT_API_AUTH_STRING": password,
        "PREFECT_SERVER_API_AUTH_STRING": password,
        "PREFECT_SERVER_CORS_ALLOWED_ORIGINS": "http://127.0.0.1",
        # A run's client registers the blocks it needs; offering all would import every integration.
        "PREFECT_SERVER_REGISTER_BLOCKS_ON_START": "false",
        "PREFECT_SERVER_MEMOIZE_BLOCK_AUTO_REGISTRATION": "false",
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": f"sqlite+aiosqlite:///{folder}/prefect.db",
    }):  # fmt: skip
        server = SubprocessASGIServer()
        # Ctrl-C is for the run, which still reports to the server while stopping; the child inherits the mask.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            # Its process, and what waits for it here, read the proxies themselves.
            environment = build_prefect_environment(os.environ)
            with _apply_variables(
                {name: text for name, text in environment.items() if os.environ.get(name) != text}
            ):
                server.start(timeout=START_S)
        except RuntimeError as error:
            server.stop()
            raise InputError(
                f"Prefect's temporary server did not start: {error} Set PREFECT_API_URL to use a running one."
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            with _apply_variables({"PREFECT_API_URL": server.api_url}):
                yield
        finally:
            server.stop()


def _door() -> socket.socket:
    """Return a socket listening on loopback whose connections have TCP_NODELAY set.

    Otherwise the second packet of a response waits 40 ms for an ACK; asyncio only sets it on sockets it creates.
    """
    door = socket.create_server(("127.0.0.1", 0))
    door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return door


def _build_settings(url: str, password: str) -> Settings:
    """Return Prefect's settings for a client that is answered at `url`, in this process."""
    settings = get_current_settings()
    logging, server = settings.logging, settings.server
    return settings.model_copy(
        update={
            "api": settings.api.model_copy(update={"url": url, "auth_string": SecretStr(password)}),
            # No browser connects here, and the client's version is always ours.
            "client": settings.client.model_copy(
                update={"csrf_support_enabled": False, "server_version_check_enabled": False}
            ),
            "logging": logging.model_copy(update={"to_api": logging.to_api.model_copy(update={"enabled": False})}),
            # There are no pages (`tasks.models.progress.has_pages`).
            "server": server.model_copy(update={"ui": server.ui.model_copy(update={"enabled": False})}),
        }
    )


@contextlib.contextmanager
def _apply_variables(variables: Mapping[str, str], settings: Settings | None = None) -> Iterator[None]:
    """Set environment variables during the block, and Prefect's settings, which it has already read, to match.

    With `settings` these apply, and nothing is read again: that would take 20 ms, of a short run's 500.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ |= variables
    settings_before = context.get_settings_context()
    if settings:
        context.GLOBAL_SETTINGS_CONTEXT = settings_before.model_copy(update={"settings": settings})
    else:
        context.refresh_global_settings_context()
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        context.GLOBAL_SETTINGS_CONTEXT = settings_before
