"""Say which system calls a program is refused: `python -m tasks.sandbox.refused GIVEN COMMAND …`.

It runs as `launch` runs it, with its standard input, and what it is refused is printed as a JSON list of names:
each call comes to this process first, which notes and refuses it. For our own programs, where one does not start.
"""

import errno
import fcntl
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Iterator

from tasks.sandbox import confinement, launch, syscalls

_LIMIT_S = 60.0
_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101  # of seccomp's descriptor
_ASKED, _NUMBER = struct.Struct("=QIIiIQ6Q"), 3
_ANSWERED = struct.Struct("=QqiI")


def main() -> None:
    """Run the program in a child, and answer for its filter."""
    given, command = json.loads(sys.argv[1]), sys.argv[2:]
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        nothing = os.open(os.devnull, os.O_WRONLY)
        launch.confine(given, command[0])
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        listener = confinement.seccomp_asked(given["calls"])
        socket.send_fds(theirs, [b"."], [listener])
        os.close(listener)
        os.execv(command[0], command)  # noqa: S606 - without a shell, as it should be
    theirs.close()
    _, (listener, *_), *_ = socket.recv_fds(ours, 1, 1)
    names = {number: name for name, number in syscalls.here().items()}
    found = dict.fromkeys(names.get(number, f"number {number}") for number in _refuse(listener))
    os.kill(child, signal.SIGKILL)
    json.dump(list(found), sys.stdout)


def _refuse(listener: int) -> Iterator[int]:
    """Refuse every call that is asked for, and yield its number, until nobody is left who could ask."""
    due = time.monotonic() + _LIMIT_S
    while time.monotonic() < due:
        ready = select.poll()
        ready.register(listener, select.POLLIN)
        events = [event for _, event in ready.poll(1000)]
        if any(event & select.POLLHUP for event in events):
            return
        if not events:
            continue
        try:
            asked = _ASKED.unpack(fcntl.ioctl(listener, _RECEIVE, bytes(_ASKED.size)))
            fcntl.ioctl(listener, _ANSWER, _ANSWERED.pack(asked[0], 0, -errno.EPERM, 0))
        except OSError:  # the thread that asked is gone
            continue
        yield asked[_NUMBER]


if __name__ == "__main__":
    main()
