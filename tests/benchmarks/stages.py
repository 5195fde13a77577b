"""What each stage costs for a row: CPU, wall time and bytes, without Prefect and with a model that answers at once.

`python -m tests.benchmarks.stages [--items N] [--folder DIR]`

The figures of docs/benchmarks.md. Each stage runs in this process, one batch after another, as a worker runs it.
"""

import argparse
import importlib
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from basic_control.config.settings import Model, Sandbox, Settings, StoreSettings
from basic_control.data.batches import Batch, Cell, QueryResult, Ref
from basic_control.data.loading import makers_of, verifiers_of
from basic_control.data.records import Metric
from basic_control.data.units import identity_of
from basic_control.tasks.aggregate import aggregate
from basic_control.tasks.generate import ItemSource, generate
from basic_control.tasks.query import prepare, query
from basic_control.tasks.runtime.storage import find_cache_url, open_store
from basic_control.tasks.score import score
from basic_control.tasks.store import reply_cache as repair
from basic_control.tasks.store.pruning import take
from basic_control.tasks.store.reply_cache import ReplyCache
from basic_control.tasks.verify import verify
from tests.servers.postgres import Postgres
from tests.servers.running import serve_openai

T = TypeVar("T")
WORDS = ("first", "add", "the", "tens", "then", "carry", "what", "remains", "over", "to", "next", "column")
TEXT = 800
FAMILIES = ("simple_logic", "instructions", "data_extraction", "summarization", "arithmetic")
BATCH = 2000


def reply(body: Mapping[str, Any]) -> str:
    """Answer each prompt with some `TEXT` characters of its own."""
    draw = Random(str(body["messages"]))
    return " ".join(draw.choice(WORDS) + str(draw.randrange(100)) for _ in range(TEXT // 7)) + "\nANSWER: 4"


def timed(label: str, rows: int, work: Callable[[], T]) -> T:
    """Do a piece of work and print what it cost for a row, in CPU of this process and in wall time."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"  {label:<36}{cpu / rows * 1e6:>9.0f} µs CPU {wall / rows * 1e6:>9.0f} µs wall {rows:>9,} rows",
        flush=True,
    )
    return result


def size_of(opened: StoreSettings, refs: list[Ref]) -> int:
    """Return the bytes of tables."""
    store = open_store(opened)
    return sum(len(store.bytes(ref.digest)) for ref in refs)


def ask(store: StoreSettings, requests: list[Ref], model: Model) -> list[QueryResult]:
    """Ask every batch."""
    return [query.function(store, ref, model=model, shown_as=Cell("basic_control", "m")) for ref in requests]


def street(store: StoreSettings, items: int, base_url: str) -> None:
    """Print what each stage costs."""
    model = Model.model_validate(
        {"name": "m", "provider": "openai", "base_url": base_url, "max_concurrency": 64, "extra": {"n": 1}}
    )
    suite = Settings.model_validate(
        {
            "models": [model],
            "suites": ["basic_control"],
            "basic_control": {"families": FAMILIES, "n_items": items // len(FAMILIES)},
        }
    ).suites[0]
    source = ItemSource(
        suite=suite.name,
        units=makers_of(suite),
        options=suite.source,
        required=(),
        prompts=("",),
        batch_size=BATCH,
    )
    drawn = timed("generate", items, lambda: generate.function(store, source))
    rows = sum(ref.rows for ref in drawn)
    identity = {"provider": "openai"}
    posed = timed(
        "prepare",
        rows,
        lambda: [
            prepare.function(store, ref, model=model, target="m", prompt=None, identity=identity, repeats=1)
            for ref in drawn
        ],
    )
    asked = timed("query, all new", rows, lambda: ask(store, posed, model))
    again = timed("query, all remembered", rows, lambda: ask(store, posed, model))
    assert sum(one.cached for one in again) == rows
    each = list(zip(drawn, asked, strict=True))
    verdicts = timed(
        "verify (no programs)",
        rows,
        lambda: [
            verify.function(
                store,
                Batch(Cell(), ref, one.requests, one.responses),
                families=verifiers_of(suite),
                tools=Sandbox(),
                runner="",
            )
            for ref, one in each
        ],
    )
    unit = identity_of(Metric, "correct")
    scores = timed("score", rows, lambda: [score.function(store, ref, metric=unit) for ref in verdicts])
    timed("aggregate", rows, lambda: aggregate.function(store, drawn, scores))
    sizes = {
        "items": size_of(store, drawn),
        "requests": size_of(store, posed),
        "responses": size_of(store, [one.responses for one in asked]),
        "verdicts": size_of(store, verdicts),
        "scores": size_of(store, scores),
    }
    told = ", ".join(f"{name} {size / rows:.0f}" for name, size in sizes.items())
    print(f"  bytes a row: {told}; replies of {TEXT} characters")


def care(opened: StoreSettings) -> None:
    """Print what it costs to open, verify and mend a SQLite reply cache, and to list and verify the tables."""
    store, url = open_store(opened), find_cache_url(opened)
    cache = ReplyCache(url)
    rows = cache.count()
    cache.close()
    file = Path(url.removeprefix("sqlite:///"))
    print(f"  reply cache: {file.stat().st_size / rows:.0f} bytes a reply")
    timed("open the reply cache, checked whole", rows, lambda: ReplyCache(url).close())
    content = file.read_bytes()
    file.write_bytes(bytes(100) + content[100:])
    timed("mend it after a wrecked header", rows, lambda: repair.replace(file, None))
    entries = list(store.entries())
    timed("list tables", len(entries), lambda: take(store, Path("nowhere")))
    timed("verify tables", len(entries), lambda: [store.bytes(entry.digest) for entry in entries])


def main() -> None:
    """Measure with SQLite and, where there is one, with Postgres."""
    # By its importable name, under which the server's own process finds it.
    answering = importlib.import_module("tests.benchmarks.stages").reply
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--folder")
    given = parser.parse_args()
    with ExitStack() as stack:
        folder = given.folder or stack.enter_context(tempfile.TemporaryDirectory())
        model = stack.enter_context(serve_openai(answering, apart=True))
        print("SQLite")
        sqlite = StoreSettings(root=f"{folder}/sqlite")
        street(sqlite, given.items, model.base_url)
        care(sqlite)
        if Postgres.available():
            server = stack.enter_context(Postgres(durable=True))
            print("Postgres (query only differs)")
            street(StoreSettings(root=f"{folder}/postgres", cache=server.url), given.items, model.base_url)
    print(f"peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
