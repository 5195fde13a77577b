"""Contexts for TLS that are made once in a process, however many clients read the same certificates."""

import functools
import ssl
from collections.abc import Callable
from typing import Any


def once(create: Callable[..., ssl.SSLContext]) -> Callable[..., ssl.SSLContext]:
    """Return `create`, which then gives all who name a file of certificates and nothing else the same context."""
    made = functools.cache(lambda cafile: create(cafile=cafile))

    @functools.wraps(create)
    def found(*arguments: Any, **options: Any) -> ssl.SSLContext:
        if not arguments and [*options] == ["cafile"] and options["cafile"]:
            return made(options["cafile"])
        return create(*arguments, **options)

    return found
