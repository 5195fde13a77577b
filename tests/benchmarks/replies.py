"""What the reply cache costs: replies remembered, claims and look-ups a second, on SQLite and Postgres.

`python -m tests.benchmarks.replies [--replies N] [--text CHARACTERS] [--url URL]`
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from basic_control.data.records import Reply
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache, name_owner
from tests.servers.postgres import Postgres


def timed(label: str, count: int, work: Callable[[], object]) -> None:
    """Run a piece of work and print how many rows it did in a second."""
    started = time.perf_counter()
    work()
    took = time.perf_counter() - started
    print(f"  {label:<34}{count / took:>12,.0f} /s   {took / count * 1e6:>9.1f} µs each")


def split(values: Sequence[str], size: int) -> Iterator[list[str]]:
    """Yield values in lists of at most `size`."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])


def measure(url: str, replies: int, text: int) -> None:
    """Print what one cache does."""
    print(f"{url.partition(':')[0]}, {replies:,} replies of {text} characters")
    cache = ReplyCache(url)
    ids = [f"{n:064x}" for n in range(replies)]
    entries = [Remembered(i, Reply(f"{i} " + "x" * text, "", "stop", 10, 20), 0.5, "m") for i in ids]

    def remember(size: int, part: list[Remembered]) -> None:
        for start in range(0, len(part), size):
            cache.remember(part[start : start + size])

    few = min(replies // 10, 1000)
    timed("remember, 1 at a time", few, lambda: remember(1, entries[:few]))
    timed("remember, 8 at a time", few, lambda: remember(8, entries[few : 2 * few]))
    timed("remember, 64 at a time", 2 * few, lambda: remember(64, entries[2 * few : 4 * few]))
    timed("remember, 1000 at a time", replies - 4 * few, lambda: remember(1000, entries[4 * few :]))
    holder = name_owner() + ":1"
    free = [f"{n:064x}" for n in range(replies, 2 * replies)]

    def claim(size: int, part: list[str]) -> None:
        for window in split(part, size):
            assert len(cache.claim(window, holder=holder, lease_s=60)) == len(window)

    timed("claim, 32 at a time", 2 * few, lambda: claim(32, free[: 2 * few]))
    timed("claim, 256 at a time", replies - 2 * few, lambda: claim(256, free[2 * few :]))
    other = name_owner() + ":2"

    def refused() -> None:
        for window in split(free[:few], 256):
            assert not cache.claim(window, holder=other, lease_s=60)

    timed("claim refused, 256 at a time", few, refused)
    timed("renew all", replies, lambda: cache.renew(holder=holder, lease_s=60))

    def release() -> None:
        for window in split(free, 256):
            cache.release(window, holder=holder)

    timed("release, 256 at a time", replies, release)
    timed("look up, 32 at a time", 2 * few, lambda: [cache.lookup(w) for w in split(ids[: 2 * few], 32)])
    timed("look up, all known", replies, lambda: cache.lookup(ids))
    timed("look up, none known", replies, lambda: cache.lookup(free))
    cache.close()


def main() -> None:
    """Measure SQLite, and Postgres where there is one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replies", type=int, default=20_000)
    parser.add_argument("--text", type=int, default=1000)
    parser.add_argument("--url")
    given = parser.parse_args()
    with ExitStack() as stack:
        urls = [given.url] if given.url else []
        if not urls:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            urls.append(f"sqlite:///{folder}/replies.sqlite")
            if Postgres.available():
                urls.append(stack.enter_context(Postgres(durable=True)).url)
        for url in urls:
            measure(url, given.replies, given.text)


if __name__ == "__main__":
    main()
