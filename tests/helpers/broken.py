"""A run of which one stage fails, a fault that any may meet: `python -m tests.helpers.broken STAGE …`."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    from flows.environment import prepare

    prepare(Path("unused: the tests' environment names the folder"))
    import tasks.stage

    start = tasks.stage.Stage.__init__

    def broken(self: Any, function: Callable[..., Any], **options: Any) -> None:
        if function.__name__ == sys.argv[1]:

            @functools.wraps(function)
            def fail(*_args: Any, **_named: Any) -> None:
                raise OSError("made to fail")

            start(self, fail, **options)
        else:
            start(self, function, **options)

    tasks.stage.Stage.__init__ = broken  # type: ignore[method-assign]  # the fault
    from flows.cli.application import main

    sys.exit(main(["run", *sys.argv[2:]]))
