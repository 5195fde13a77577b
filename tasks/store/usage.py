"""What the reply cache knows of a model: how long its replies are, and how long they took."""

from dataclasses import dataclass

import sqlalchemy as sa

from tasks.store.databases import explained, file_of, parse

MOST = 10_000
"""Replies that a mean is taken over: enough for any estimate, and found without reading a large cache whole."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The means over `n` remembered replies: tokens written, and seconds of a call; None where none are known."""

    n: int = 0
    tokens_out: float | None = None
    latency_s: float | None = None


def exists(url: str) -> bool:
    """Say whether there is a cache to look into: a look must not make one."""
    file = file_of(url)
    return file is None or (file.is_file() and file.stat().st_size > 0)


def usage(url: str, model: str) -> Usage:
    """Return what is known of a model by its name in the configuration; nothing is written.

    Raises:
        InputError: the cache cannot be read.
    """
    if not exists(url):
        return Usage()
    some = "SELECT tokens_out, latency_s FROM replies WHERE model = :model LIMIT :most"
    query = sa.text(f"SELECT count(*), avg(tokens_out), avg(latency_s) FROM ({some}) AS known")  # noqa: S608 - our own words
    try:
        engine = sa.create_engine(parse(url))
        try:
            with engine.connect() as connection:
                n, tokens_out, latency_s = connection.execute(query, {"model": model, "most": MOST}).one()
        finally:
            engine.dispose()
    except sa.exc.SQLAlchemyError as error:
        raise explained(url, error) from error
    return Usage(int(n), None if tokens_out is None else float(tokens_out), None if n == 0 else float(latency_s))
