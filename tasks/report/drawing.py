"""A process of its own that draws charts: Vega's engine keeps 70 MB that the run's process would never get back.

Run as a file: it reads a Vega-Lite specification a line and answers each with one, `{"svg": …}` or `{"error": …}`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

VEGA_LITE = "v6.4"


class DrawingProcess:
    """Draws in another process, which starts with the first chart."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def draw(self, spec: Mapping[str, Any]) -> str:
        """Return a chart as SVG.

        Raises:
            ValueError: Vega cannot draw it.
        """
        if self._process is None:
            # -P: this file's own folder has a module `html`, which is not Python's.
            command = [sys.executable, "-P", __file__]
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        assert self._process.stdin  # noqa: S101 - both are pipes
        assert self._process.stdout  # noqa: S101 - both are pipes
        try:
            self._process.stdin.write(json.dumps(spec) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            self.close()
            raise ValueError(f"the process that draws charts ended ({error})") from error
        if "error" in answer:
            raise ValueError(str(answer["error"]))
        return str(answer["svg"])

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()


_painter: ContextVar[DrawingProcess | None] = ContextVar("painter", default=None)


@contextmanager
def painting() -> Iterator[DrawingProcess]:
    """Give the painter that is at work, or one that ends with the block."""
    if (at_work := _painter.get()) is not None:
        yield at_work
        return
    painter = DrawingProcess()
    token = _painter.set(painter)
    try:
        yield painter
    finally:
        _painter.reset(token)
        painter.close()


def main() -> None:
    """Draw until the input ends."""
    import vl_convert

    for line in sys.stdin:
        try:
            answer = {"svg": vl_convert.vegalite_to_svg(json.loads(line), vl_version=VEGA_LITE)}
        except ValueError as error:
            answer = {"error": str(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
