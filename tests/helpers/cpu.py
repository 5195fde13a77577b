"""A pytest plug-in that says what CPU time the tests take, their processes included, however busy the machine.

make test ARGS="-p tests.helpers.cpu"
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
SHOWN = 40


def list_children(process: int) -> list[int]:
    """Return the ids of a process's children."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:
        return []  # it has ended meanwhile


def count_seconds(process: int) -> float:
    """Return the CPU seconds of a process, of its children that have ended, and of those that run."""
    try:
        # After the name in brackets: the state is field 3, utime, stime, cutime and cstime are 14 to 17.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(count_seconds, list_children(process)))


class CpuTimes:
    """What each test took: a process that outlives its parent is not counted, one waited for late is another's."""

    def __init__(self) -> None:
        self.tests: dict[str, float] = {}
        self.before = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        self.before = count_seconds(os.getpid())
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties = [("cpu", count_seconds(os.getpid()) - self.before)]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.tests[report.nodeid] = float(str(dict(report.user_properties)["cpu"]))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"CPU: {count_seconds(os.getpid()):.0f} s")
        for nodeid, seconds in sorted(self.tests.items(), key=lambda item: -item[1])[:SHOWN]:
            terminalreporter.write_line(f"{seconds:7.2f} s  {nodeid}")
        target = os.environ.get("BASIC_CONTROL_CPU_TIMES")
        if target:
            rows = [f"{seconds:.3f}\t{nodeid}\n" for nodeid, seconds in self.tests.items()]
            Path(target).write_text("".join(rows), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CpuTimes())
