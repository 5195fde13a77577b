"""The process of a run that was started from Python: a request on its stdin, its outcome on its stdout."""

import io
import json
import os
import re
import signal
import sys
import threading
from contextlib import redirect_stdout
from typing import IO, Any

from basic_control.interrupts import leave_at_once
from basic_control.runs_apart import IN_RUN

# As in "--set store.root=…": Python has these as arguments.
_ASSIGNMENT = re.compile(r"--set (?=[\w.]+=)")


def main() -> None:
    """Carry out the request and hand back its outcome; stop when the process that asks has ended."""
    leave_at_once()
    IN_RUN.set()
    asking, answering = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # Whatever is printed goes to stderr, and nothing else reads the request's pipe.
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    request = json.loads(asking.readline())
    threading.Thread(target=_end_with, args=(asking,), name="caller", daemon=True).start()
    outcome = carry_out(request)
    answering.write(json.dumps(outcome).encode())
    answering.close()


def _end_with(asking: IO[bytes]) -> None:
    """Stop the run when its caller is gone, and end it at once if it does not stop."""
    asking.read()
    os.kill(os.getpid(), signal.SIGINT)


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Run what a request asks for; return the exit code, the screen and the run's folder, or why there is none."""
    from basic_control.data.commands import call_from_python
    from basic_control.data.exits import Exit
    from basic_control.flows.cli.application import failure

    try:
        with call_from_python():
            return _run(request)
    except KeyboardInterrupt as interrupt:
        go_on = str(interrupt) or "run it again to continue."
        return {"stopped": f"Stopped. Everything answered so far is kept; {go_on}", "exit_code": Exit.STOPPED}
    except Exception as error:  # noqa: BLE001 - told to the caller, as the command line tells it
        return {"error": _ASSIGNMENT.sub("", failure(error)), "exit_code": Exit.ERROR}


def _run(request: dict[str, Any]) -> dict[str, Any]:
    from basic_control.data.files import cache_parsed
    from basic_control.flows.cli.error_files import ATTRIBUTES, add_files, write_errors
    from basic_control.flows.cli.evaluating import evaluate, show_outcome
    from basic_control.flows.cli.options import read_request
    from basic_control.interrupts import interrupt_again
    from basic_control.tasks.runtime.logs import begin

    begin("")
    interrupt_again()
    files = {option: str(request["options"].get(option) or "") for option in ATTRIBUTES}
    with cache_parsed(), write_errors(files):
        settings, again = read_request(request)
        add_files(files, settings.report)
        outcome, plan = evaluate(settings, again, only_failed=False)
        with redirect_stdout(io.StringIO()) as screen:
            show_outcome(outcome, plan)
    text = screen.getvalue()
    sys.stderr.write(text.partition("\n")[0] + "\n" if request["is_brief"] else text)
    return {"exit_code": int(outcome.exit_code), "screen": text, "folder": os.path.abspath(outcome.folder)}  # noqa: PTH100 - links stay as they were named
