"""What the command line writes to: a stream that takes every character, and outlives its reader."""

import io
import os
import sys
from typing import Any, TextIO


class LastingStream(io.TextIOWrapper):
    """A stream whose reader, such as `head`, may go, and whose encoding need not have a character.

    The exit code stays the verdict's; a character that the encoding lacks becomes a question mark.
    """

    def write(self, text: str) -> int:
        """Write a text; nothing, if nobody reads any more."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._leave()
            return len(text)

    def flush(self) -> None:
        """Flush what was written; as `write`."""
        try:
            super().flush()
        except BrokenPipeError:
            self._leave()

    def _leave(self) -> None:
        """Write to nowhere from now on."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def settle_streams() -> None:
    """Make the process's own stdout and stderr lasting; those that something else has put there stay."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:  # it was closed before the process began
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for as long as the process is
            setattr(sys, name, stream)
        elif stream is getattr(sys, f"__{name}__") and type(stream) is io.TextIOWrapper:
            lasting: TextIO = LastingStream(
                stream.detach(),
                encoding=stream.encoding,
                errors="replace",
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            # The old one can no longer be written to, under either of its names.
            setattr(sys, name, lasting)
            setattr(sys, f"__{name}__", lasting)
