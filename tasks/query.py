"""Query: the only task that calls a model, for answers and judges alike."""

import asyncio
import atexit
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import polars as pl

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell, QueryResult, Ref, StoredIdentity
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.examples import Surroundings
from basic_control.data.reading.ends import split_at_end
from basic_control.data.records import Provider
from basic_control.data.tables import REQUESTS, RESPONSES
from basic_control.data.units import plugin_source
from basic_control.tasks.models import open_client
from basic_control.tasks.models.identities import recall_identity
from basic_control.tasks.models.progress import count_calls, show_progress
from basic_control.tasks.models.protocol import FATAL, NOT_ASKED, BrokenResponse, CallError, Client
from basic_control.tasks.models.requests import NOTHING_AROUND, build_requests, read_call, reuse_recorded
from basic_control.tasks.models.scheduler import BatchProgress, CallResult, ask_all, event_loop_thread
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.runtime.storage import open_cache, open_store, open_submissions
from basic_control.tasks.stage import current_ledger, stage
from basic_control.tasks.store.reply_cache import Remembered

IDENTITY_S = 60.0
"""Seconds that a server has to identify itself."""


class Unreachable(InputError):  # noqa: N818 - said of a server
    """Nothing answers at the address of a model's server."""


Watcher = Callable[[Cell, BatchProgress], None]
_watchers: list[Watcher] = []


def watch(watcher: Watcher) -> None:
    """Register a function to be called with (cell, tally) after every change of a batch, from the asking thread."""
    _watchers.append(watcher)


_clients: dict[str, Client] = {}


def client_of(model: Model) -> Client:
    """Return the process's client for a model; on the asking loop, which owns its connections."""
    # Per-call settings make no other client: one engine serves a model with two system prompts.
    key = model.model_dump_json(exclude={"system", "temperature", "seed", "max_tokens", "batch"})
    if key not in _clients:
        _clients[key] = open_client(model)
        gc.freeze()  # objects of a provider's import are permanent: exclude them from garbage collection
    return _clients[key]


@atexit.register
def close_clients() -> None:
    """Close every client's connections and processes."""
    open_ones = list(_clients.values())
    _clients.clear()
    for client in open_ones:
        with suppress(Exception):
            asyncio.run_coroutine_threadsafe(client.close(), event_loop_thread().loop).result(timeout=2.0)


def identify_model(model: Model) -> dict[str, str]:
    """Return what identifies a model beyond its name: what its client says, and a plug-in's provider itself.

    Raises:
        Unreachable: nothing answers at its server's address.
        InputError: its server does not have it, or is another one.
    """
    limit_s = min(model.deadline_s, IDENTITY_S)

    async def identity() -> Mapping[str, str]:
        try:
            async with asyncio.timeout(limit_s):
                return await client_of(model).identity()
        except TimeoutError as error:
            raise CallError("timeout", f"the server did not answer within {limit_s:g} s. Is it up?") from error

    source = plugin_source(Provider, model.provider)
    try:
        identified = dict(event_loop_thread().call(identity()))
    except CallError as error:
        is_silent = error.kind in {"connection", "timeout"} and not isinstance(error, BrokenResponse)
        error_type = Unreachable if is_silent else InputError
        raise error_type(f"model {model.name} ({model.provider}): {error.message}") from error
    # A plug-in's provider may answer otherwise when its code is another.
    if source:
        identified["unit"] = f"{model.unit.version} {source}"
    return identified


def find_identity(store: StoreSettings, model: Model) -> StoredIdentity:
    """Return what identifies a model: as its server says, or, where none answers, as it said last.

    Raises:
        InputError: its server does not have it; or it does not answer, and never did to a user of this store.
    """
    try:
        return StoredIdentity(identify_model(model), time.time())
    except Unreachable as error:
        recalled = recall_identity(store, model, str(error))
        if recalled is None:
            raise
        return recalled


def _build_response(answer: CallResult, request: Mapping[str, Any]) -> dict[str, Any]:
    end = answer.end
    row: dict[str, Any] = {"request_id": end.request_id, "cached": answer.cached}
    if not isinstance(end, Remembered):
        return {**row, "error": end.message, "error_kind": end.kind}
    reply = end.reply
    prompt = "\n".join(message.content for message in read_call(request).messages)
    text, stop_tokens = split_at_end(reply.text, prompt)
    return {
        **row,
        "text": text,
        "stop_tokens": stop_tokens or None,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "extra": format_canonical(reply.extra) if reply.extra else None,
        "latency_s": end.latency_s,
    }


@contextmanager
def share_failures(store: StoreSettings, run: str) -> Iterator[None]:
    """Forget at the end of a run which of its calls failed: no other run goes by them."""
    try:
        yield
    finally:
        with suppress(InputError):
            open_cache(store).forgive(run)


def ask(
    requests: pl.DataFrame,
    model: Model,
    store: StoreSettings,
    cell: Cell,
    *,
    digest: str = "",
    run: str = "",
    stored_only: bool = False,
) -> tuple[pl.DataFrame, BatchProgress]:
    """Process every distinct request; return the responses table in the requests' order.

    `digest`: the server's model digest, if any; a change during the batch is detected. `run`: the start of a run
    within which a failed call is not repeated (`tasks.stage.Ledger.attempt`). `stored_only`: nothing is asked,
    since the server did not answer when the run began.

    Raises:
        InputError: the reply cache cannot be read or written; or it lacks a reply, and none may be asked.
        Stopped: the run was stopped; everything answered so far is kept.
    """
    # Equal questions have one request, and one reply.
    distinct = requests.unique("request_id", maintain_order=True)
    calls = [(row["request_id"], row) for row in distinct.iter_rows(named=True)]
    ledger = current_ledger()
    with show_progress(str(cell), ledger.run, deployed=ledger.deployed) as show:

        def progress(tally: BatchProgress) -> None:
            show(tally)
            for watcher in _watchers:
                watcher(cell, tally)

        async def bring() -> tuple[dict[str, CallResult], BatchProgress]:
            submissions = None if model.batch == "off" else open_submissions(store)
            return await ask_all(
                calls,
                read=read_call,
                model=model,
                client=client_of(model),
                cache=open_cache(store),
                progress=progress,
                submissions=submissions,
                digest=digest,
                run=run,
                stored_only=stored_only,
                budget=None if model.unit.by_item else ledger.budget,
            )

        answers, tally = event_loop_thread().call(bring())
    log_event("query", run=ledger.run, stage="query", label=str(cell), **count_calls(tally))
    return RESPONSES.frame(_build_response(answers[request_id], request) for request_id, request in calls), tally


def recall(requests: pl.DataFrame, model: Model, store: StoreSettings) -> tuple[QueryResult | None, pl.DataFrame]:
    """Return the replies that the cache has to requests, as what was asked if there are any; nothing is asked now.

    Raises:
        InputError: the reply cache cannot be read.
    """
    distinct = requests.unique("request_id", maintain_order=True)
    replies = open_cache(store).lookup(distinct["request_id"].to_list())
    answered = distinct.filter(pl.col("request_id").is_in([*replies]))
    rows = []
    for request in answered.iter_rows(named=True):
        reply = CallResult(replies[request["request_id"]], cached=True)
        rows.append(_build_response(reply, request))
    responses = RESPONSES.frame(rows)
    if not rows:
        return None, responses
    opened = open_store(store)
    result = QueryResult(
        requests=opened.write(REQUESTS, answered),
        responses=opened.write(RESPONSES, responses),
        total=len(rows),
        cached=len(rows),
        tokens_in=sum(row["tokens_in"] or 0 for row in rows),
        tokens_out=sum(row["tokens_out"] or 0 for row in rows),
        model=model.name,
    )
    return result, responses


@stage(version=1, part="query", takes="generate")
def prepare(
    store: StoreSettings,
    items: Ref,
    *,
    model: Model,
    target: str,
    prompt: str | None,
    identity: Mapping[str, str],
    repeats: int,
    templates: tuple[str, ...] = (),
    recorded: Ref | None = None,
    around: Surroundings = NOTHING_AROUND,
    schema: Mapping[str, Any] | None = None,
) -> Ref:
    """Create a target's requests for a batch of items; `prompt` replaces the items' own.

    `templates` are the digests of the template that it names. `recorded` are requests whose replies another token
    limit would not change. `around`, `schema`: as for `build_requests`.
    """
    del templates  # part of the cache key only
    opened = open_store(store)
    built = build_requests(
        opened.read(items),
        model,
        identity,
        repeats,
        target=target,
        prompt=prompt,
        around=around,
        schema=schema,
    )
    # Prepared again with another token limit, what was answered within both keeps its request.
    if recorded:
        built = reuse_recorded(built, opened.read(recorded))
    return opened.write(REQUESTS, built)


@stage(version=1, part="query", takes="query", cached=False)
def query(
    store: StoreSettings,
    requests: Ref,
    *,
    model: Model,
    shown_as: Cell,
    needed: bool = True,
    digest: str = "",
    run: str = "",
    stored_only: bool = False,
) -> QueryResult:
    """Process a batch of requests, from the reply cache or the model.

    Not cached by Prefect, which would cache failures: the reply cache is its cache. `shown_as`: the work whose
    progress it is. `needed`: the run cannot go on without this model's replies; otherwise unasked requests end with
    its errors, and others go on. `digest`, `run`, `stored_only`: as for `ask`.

    Raises:
        InputError: as `ask`; or it is needed, no call was answered, and none would be (a wrong key, a model that
            the server does not have, an exhausted account).
    """
    opened = open_store(store)
    responses, tally = ask(
        opened.read(requests), model, store, shown_as, digest=digest, run=run, stored_only=stored_only
    )
    # A wrong key, model or account: no call of the batch was answered, and none ever would be.
    refused = responses.filter(pl.col("error_kind").is_in(list(FATAL)))
    is_refused = refused.height and responses["error_kind"].fill_null("").is_in([*FATAL, NOT_ASKED]).all()
    if needed and is_refused:
        raise InputError(f"model {model.name} ({model.provider}): {refused['error'][0]}")
    n_cached, n_answered, n_supplied = tally.cached, tally.answered, 0
    if model.unit.by_item:  # like a row's own response: no call was made, and it took no time
        responses = responses.with_columns(cached=pl.lit(value=True), latency_s=pl.lit(None, pl.Float64))
        n_cached, n_answered, n_supplied = 0, 0, tally.cached + tally.answered
    return QueryResult(
        requests=requests,
        responses=opened.write(RESPONSES, responses),
        total=tally.total - n_supplied,
        cached=n_cached,
        answered=n_answered,
        supplied=n_supplied,
        failed=tally.failed,
        submitted=tally.submitted,
        tokens_in=tally.tokens_in,
        tokens_out=tally.tokens_out,
        span_s=max(0.0, tally.last_s - tally.first_s),
        began_s=time.time() - (time.monotonic() - tally.first_s) if tally.first_s else 0.0,
        model=model.name,
    )
