"""Open the store and the reply cache of a configuration, once per process."""

import atexit
import hashlib
import uuid
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from basic_control.config.settings import StoreSettings
from basic_control.tasks.store.reply_cache import ReplyCache, find_url
from basic_control.tasks.store.submissions import Submissions
from basic_control.tasks.store.tables import Store


def find_cache_folder() -> Path:
    """Return this user's cache folder, for downloads and files that can be recreated."""
    return platformdirs.user_cache_path("basic-control", appauthor=False)


_opened = ExitStack()


@atexit.register
def close() -> None:
    """Close what is open: SQLite merges its log into the file, which speeds up the next process."""
    _open_cache_at.cache_clear()
    _open_submissions_at.cache_clear()
    _opened.close()


@cache
def _open_cache_at(url: str, root: str) -> ReplyCache:
    return _opened.enter_context(closing(ReplyCache(url, store=Store(root))))


def find_cache_url(store: StoreSettings) -> str:
    """Return the reply cache's URL: the configured one, or a file in the store's folder."""
    return store.cache or find_url(Store(store.root))


def open_cache(store: StoreSettings) -> ReplyCache:
    """Return the reply cache.

    Raises:
        InputError: it cannot be opened.
    """
    return _open_cache_at(find_cache_url(store), store.root)


@cache
def _open_submissions_at(url: str) -> Submissions:
    return _opened.enter_context(closing(Submissions(url)))


def open_submissions(store: StoreSettings) -> Submissions:
    """Return the batches pending at servers, stored beside the reply cache.

    Raises:
        InputError: they cannot be opened.
    """
    return _open_submissions_at(find_cache_url(store))


def open_store(store: StoreSettings) -> Store:
    """Return the table store."""
    return Store(store.root)


@cache
def _open_result_storage(root: str, *, clustered: bool) -> Any:
    from prefect.filesystems import RemoteFileSystem

    block = RemoteFileSystem(basepath=f"{root.rstrip('/')}/results")
    # Prefect requires storage with an id. It contains no credentials: each worker has its own.
    if clustered:
        block.save(f"basic-control-{hashlib.sha256(root.encode()).hexdigest()[:16]}", overwrite=True)
    else:
        block._block_document_id = uuid.uuid4()  # noqa: SLF001 - nobody else asks Prefect's server for it
    return block


def open_result_storage(store: StoreSettings, *, clustered: bool) -> Any | None:
    """Return where Prefect stores the results of finished stages: beside the tables of a remote store.

    None for a local store, configured by Prefect's own settings (`flows.environment`). `clustered`: workers get it
    from Prefect's server.
    """
    return None if open_store(store).local is not None else _open_result_storage(store.root, clustered=clustered)
