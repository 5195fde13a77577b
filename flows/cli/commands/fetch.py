"""`fetch`: public data sets."""

import sys
from typing import Annotated

from cyclopts import Parameter

from data.errors import InputError
from data.sources import GROUPS, SOURCES
from flows.cli.console import show

MIRROR = SOURCES["gsm8k"].url.split("/")[2]


def fetch(
    *names: Annotated[str, Parameter(metavar="NAME", help=f"data sets: {', '.join((*SOURCES, *GROUPS))}")],
    base: Annotated[str, Parameter(metavar="URL", help=f"ask this mirror instead of {MIRROR}")] = "",
) -> None:
    """Download public data sets, checked by their hashes, to the data folder (or $BASIC_CONTROL_DATA)."""
    from data.fetch import fetch as download

    if not names:
        raise InputError(f"found no data set's name, expected one or more of {', '.join((*SOURCES, *GROUPS))}.")
    for name in names:
        for path in download(name, base=base, progress=_show):
            show(str(path))


def _show(name: str, done: int, size: int) -> None:
    sys.stderr.write(f"\r{name}: {done:,} of {size:,} bytes" + ("\n" if done >= size else ""))
    sys.stderr.flush()
