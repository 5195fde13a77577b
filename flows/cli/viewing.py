"""The pages of `view`: a folder of runs, served to this machine's browser only.

Runs and files are looked up among the existing ones: no part of an address becomes a path. Other sites are blocked
by checking Host, Origin and Sec-Fetch-Site, scripts by content-security policies.
"""

import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from urllib.parse import urlencode

# Both come with Prefect, which serves its own pages with them.
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from basic_control.data.errors import InputError
from basic_control.prompts.phrases import ENGLISH, languages
from basic_control.tasks.report import runs as pages
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.store.history import HistoryEntry, read_history
from basic_control.tasks.store.runs import find_run, list_folders

HOST = "127.0.0.1"
PAGE = "report_*.html"

_HEADERS = {
    # Pages have narrower policies; this one applies to all of them, even to a report that was changed.
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline' 'self'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # otherwise a form would not send its origin
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class HostGuard:
    """Lets in a local browser's requests to our own address, to read.

    Any site may point its own name here, or send a browser here.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                policy = sent.get("Content-Security-Policy", "")
                sent.update(_HEADERS)
                sent["Content-Security-Policy"] = policy + _HEADERS["Content-Security-Policy"]
            await send(message)

        headers = Headers(scope=scope)
        refused = self._find_refusal(scope["method"], headers)
        await (refused or self.app)(scope, receive, send_with_headers)

    def _find_refusal(self, method: str, headers: Headers) -> Response | None:
        if method not in {"GET", "HEAD"}:
            return PlainTextResponse("Only GET and HEAD are allowed here.", 405, {"Allow": "GET, HEAD"})
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return PlainTextResponse("Unknown host: open the address that was printed.", 421)
        strange = headers.get("origin") not in {None, *(f"http://{host}" for host in self.hosts)}
        if strange or headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return PlainTextResponse("Refused: the request came from another site. Type the address yourself.", 403)
        return None


class Pages:
    """Answers for a folder of runs, in one language; by default that of each page's runs, or the newest run's.

    `files` of other tools, by name, are listed before the runs and can be compared with them and each other.
    """

    def __init__(self, runs: Path, language: str = "", files: Mapping[str, Path] | None = None) -> None:
        self.runs = runs
        self.language = language
        self.files = dict(files or {})
        self._lock = Lock()

    def index(self, request: Request) -> Response:
        """Show the requested runs, the newest first."""
        foreign_entries = [HistoryEntry(name, status="completed") for name in self.files]
        listed_entries = [*foreign_entries, *entries(self.runs)]
        with use_language(self._language_of(listed_entries)):
            latest = partial(find_latest_report, self.runs)
            return HTMLResponse(pages.index(listed_entries, request.query_params, latest))

    def compare(self, request: Request) -> Response:
        """Show two runs side by side."""
        names = [request.query_params.get(side, "") for side in ("before", "after")]
        folders_by_name = {**list_folders(self.runs), **self.files}
        if not all(name in folders_by_name for name in names):
            raise InputError("expected two of the listed runs or files.")
        from basic_control.tasks.compare.comparison import compare_runs
        from basic_control.tasks.report import comparison

        paths = [str(folders_by_name[name]) for name in names]
        with self._lock:  # one at a time: two large ones together would need the memory of both
            # Scoring again would run a configuration's plug-ins, which a click must not.
            comparison_result = compare_runs(paths, runs=self.runs, language=self.language, rescore=False)
            return HTMLResponse(comparison.html(comparison_result))

    def report(self, request: Request) -> Response:
        """Send a file of a run's report."""
        folder = list_folders(self.runs).get(request.path_params["run"])
        files = reports(self.runs, folder) if folder else {}
        file = files.get(request.path_params["file"])
        if file is None:
            return self._render_message(404, "no_report")
        # Whoever sent the run wrote its page: it gets an origin of its own, and cannot read other runs.
        sandbox = {"Content-Security-Policy": "sandbox allow-scripts allow-downloads; "}
        return FileResponse(file, headers=sandbox, media_type="text/html; charset=utf-8")

    def _language_of(self, shown_entries: Sequence[HistoryEntry]) -> str:
        """Return the language to use: that of a plug-in may be gone, or not be loaded here."""
        newest = shown_entries[0].language if shown_entries else ""
        if newest not in languages():
            newest = ENGLISH
        return self.language or newest

    def _render_message(self, status: int, name: str, **values: str) -> Response:
        """Return a page with a message, by the name of its phrase."""
        with use_language(self._language_of(entries(self.runs))):
            return HTMLResponse(pages.message(say(f"view.{name}", **values)), status)

    def application(self) -> Starlette:
        """Return the application, without the guard."""

        def answer_refused(_: Request, error: Exception) -> Response:
            with use_language(self._language_of(entries(self.runs))):
                return HTMLResponse(pages.message(str(error)), 400)

        def answer_missing(_: Request, __: Exception) -> Response:
            return self._render_message(404, "no_page")

        def answer_broken(_: Request, error: Exception) -> Response:
            return self._render_message(500, "damaged", what=f"{type(error).__name__}: {error}")

        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/compare", self.compare),
                Route("/runs/{run}/{file:path}", self.report),
            ],
            exception_handlers={InputError: answer_refused, 404: answer_missing, Exception: answer_broken},
        )


def entries(runs: Path) -> list[HistoryEntry]:
    """Return all runs, the newest first; those without a manifest, which never began or lost it, come last."""
    recorded_entries = read_history(runs)
    names = {entry.name for entry in recorded_entries}
    bare_folders = sorted({*list_folders(runs)} - names, reverse=True)
    return [*recorded_entries, *map(HistoryEntry, bare_folders)]


def reports(runs: Path, folder: Path) -> Mapping[str, Path]:
    """Return a run's HTML reports by name, excluding files that resolve outside `runs`."""
    home = runs.resolve()
    paths = [*(folder / "reports").glob(PAGE)]
    return {path.name: path for path in paths if path.resolve().is_relative_to(home)}


def find_latest_report(runs: Path, run: str) -> Path | None:
    """Return the latest of a run's HTML reports; None if it has none."""
    files = reports(runs, runs / run)
    if not files:
        return None
    return files[max(files)]


def find_foreign_files(words: Sequence[str]) -> dict[str, Path]:
    """Return the files of other tools among the named ones, by short distinct names.

    Raises:
        InputError: several are named, and one of them is not a file.
    """
    paths = [Path(name) for name in words]
    missing = [str(path) for path in paths if not path.is_file()]
    if missing and len(paths) > 1:
        raise InputError(f"view: {missing[0]} is not a file. Expected one run, or files of other tools.")
    if missing:
        return {}
    counts = Counter(path.name for path in paths)
    files: dict[str, Path] = {}
    for path in paths:
        name = str(path)
        if counts[path.name] == 1:
            name = path.name
        files[name] = path
    return files


def comparison_address(before: str, after: str) -> str:
    """Return the address of the comparison of two listed runs or files."""
    return f"/compare?{urlencode({'before': before, 'after': after})}"


def report_path(runs: Path, run: str) -> tuple[Path, str]:
    """Return the folder of runs and the address of a run's report in it; `run` may be the path of a folder.

    Raises:
        InputError: there is no such run, or it has no report.
    """
    folder = find_run(run, runs).folder
    address = pages.address_of(folder.name, find_latest_report(folder.parent, folder.name))
    if not address:
        raise InputError(f"run {run}: found no HTML report in {folder / 'reports'}. Run with report.html: true.")
    return folder.parent, address


def bind(port: int) -> socket.socket:
    """Return a socket listening on this machine's loopback address; port 0 picks a free one.

    Raises:
        InputError: the port is in use or not permitted.
    """
    try:
        listener = socket.create_server((HOST, port))
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror}. Expected a free port (0 chooses one).") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio only sets it on sockets it creates
    return listener


def server(runs: Path, port: int, language: str = "", files: Mapping[str, Path] | None = None) -> uvicorn.Server:
    """Return a server for runs and files of other tools; `run(sockets=[...])` serves until `should_exit`."""
    guarded = HostGuard(Pages(runs, language, files).application(), port)
    config = uvicorn.Config(
        guarded, log_level="critical", access_log=False, lifespan="off", server_header=False, ws="none",
        timeout_graceful_shutdown=1,
    )  # fmt: skip
    return uvicorn.Server(config)
