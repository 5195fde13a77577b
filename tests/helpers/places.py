"""A store with runs, tables and replies, as the store's commands find it."""

import os
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from basic_control.data.batches import Ref
from basic_control.data.records import Reply
from basic_control.data.tables import RESPONSES, VERDICTS
from basic_control.flows.cli.application import main
from basic_control.tasks.store import manifest
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache
from basic_control.tasks.store.tables import Store

DAY = 86_400.0


class Place:
    """A store with runs of several ages, written as a run writes them."""

    def __init__(self, top: Path) -> None:
        self.root, self.runs = top / "store", top / "runs"
        self.store = Store(str(self.root))
        self.root.mkdir()
        self.runs.mkdir()

    def care(self, verb: str, *arguments: str) -> int:
        return main(
            ["store", verb, "--set", f"store.root={self.root}", "--set", f"store.runs={self.runs}", *arguments]
        )

    def table(self, name: str, *, days: float = 10.0) -> Ref:
        """Write a table of its own, last used some days ago."""
        row = {"item_id": name, "model": "m", "repeat": 0, "correct": True, "status": "scored", "reason": "right"}
        ref = self.store.write(VERDICTS, VERDICTS.frame([{**row, "details": "{}"}]))
        self.age(ref, days)
        return ref

    def answers(self, *ids: str, days: float = 10.0) -> Ref:
        row = {"text": "four", "reasoning": "", "finish_reason": "stop", "latency_s": 0.5, "cached": False}
        ref = self.store.write(RESPONSES, RESPONSES.frame([{"request_id": i, **row} for i in ids]))
        self.age(ref, days)
        return ref

    def age(self, ref: Ref, days: float) -> None:
        then = time.time() - days * DAY
        os.utime(self.path(ref), (then, then))

    def path(self, ref: Ref) -> Path:
        return Path(self.store.address(ref.digest))

    def run(self, *refs: Ref, days: float = 10.0, status: str = "finished", **more: Any) -> str:
        """Write a run that began some days ago and needs these tables."""
        began = datetime.now(UTC).astimezone() - timedelta(days=days)
        folder = self.runs / began.strftime("%Y%m%d_%H%M%S")
        folder.mkdir(parents=True)
        tables: dict[str, Any] = {}
        for ref in refs:
            tables.setdefault(ref.table, []).append({"table": ref.table, "digest": ref.digest, "rows": ref.rows})
        configuration = {"models": [{"name": "acme/tiny"}], "suites": ["basic_control"]}
        facts = {"schema": manifest.SCHEMA, "started": began.isoformat(), "configuration": configuration}
        ending = {"tables": tables} if status == "finished" else {}
        manifest.write(folder, {**facts, "status": status, **ending, **more})
        then = began.timestamp()
        for path in (folder / "manifest.json", folder):
            os.utime(path, (then, then))
        return folder.name

    def cache(self) -> ReplyCache:
        return ReplyCache(f"sqlite:///{self.root}/replies.sqlite", store=self.store)

    def remember(self, *ids: str, days: float = 10.0) -> None:
        cache = self.cache()
        cache.remember([Remembered(i, Reply("four", finish_reason="stop"), 0.5) for i in ids])
        cache.close()
        with closing(sqlite3.connect(self.root / "replies.sqlite")) as file, file:
            marks = ", ".join("?" * len(ids))
            file.execute(
                f"UPDATE replies SET answered_at = ? WHERE request_id IN ({marks})",  # noqa: S608 - marks only
                (time.time() - days * DAY, *ids),
            )

    def there(self) -> set[str]:
        return {entry.digest for entry in self.store.entries()}
