"""What a run shows on its way: lines, renewed in place on 80 columns, and what each suite came to."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.batches import Cell
from basic_control.flows.cli.progress import Display, Work
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.running import FRESH_S
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.runtime.logs import log_event
from tests.conftest import TOP, Run
from tests.helpers.runs import at
from tests.helpers.suites import headline
from tests.servers.running import serve_openai

FAMILIES = ("--set", "suites=[basic_control]", "--set", "basic_control.families=[simple_logic, arithmetic]")


def begin(suite: str, calls: int) -> None:
    log_event("suite_started", run="r", suite=suite, items=calls, calls=calls)
    log_event("stage_started", run="r", stage="query", label=f"{suite} m", suite=suite, metric="")


def end(suite: str, score: float | None) -> None:
    counts = {"outcome": "fail", "n_scored": 3, "n_asked": 4}
    ended = replace(headline(suite, score, Interval(0.1, 0.5), **counts), model="m\x1b[31m")
    log_event("suite_ended", run="r", suite=suite, models={}, subject=[ended])


def test_batches_are_added_up_to_one_work_whatever_their_number() -> None:
    work = Work("s, answers", expected=1000)
    tallies = [BatchProgress(total=10) for _ in range(100)]
    for tally in tallies:
        work.note(tally)
    tallies[0].answered, tallies[0].failed, tallies[0].first_s, tallies[0].last_s = 9, 1, 10.0, 13.0
    tallies[1].cached = 5
    first = work.count()
    assert (first.total, first.done, first.cached, first.failed, first.rate) == (1000, 15, 5, 1, 3.0)
    work.note(tallies[0])  # the asking thread may tell of the last call once more
    assert work.count() == first
    for tally in tallies[1:]:
        tally.cached = 10
        work.note(tally)
    last = work.count()
    assert (last.done, last.total) == (1000, 1000)
    assert not work.count().open


def test_more_calls_than_expected_are_no_more_than_all() -> None:
    work = Work("s, judges of m", expected=0)
    for _ in range(3):
        work.note(BatchProgress(total=4, answered=4))
        count = work.count()
        assert count.done == count.total


def test_the_time_left_follows_the_rate_so_far() -> None:
    work = Work("s, answers", expected=100)
    work.note(BatchProgress(total=100, answered=20, first_s=100.0, last_s=110.0))
    assert work.count().time_to_end_s == pytest.approx(40.0)


def test_lines_say_how_far_the_calls_are_and_what_a_suite_came_to_and_name_no_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Display(3600.0) as shown:
        begin("cot", 20)
        for batch in range(2):
            tally = BatchProgress(total=10, answered=4, failed=1, tokens_out=9, first_s=1.0, last_s=5.0)
            shown.note(Cell("cot", "m", batch), tally)
            log_event("stage_started", run="r", stage="measure", label="x", suite="cot", metric="cot")
        shown.draw()
        end("cot", 0.25)
    said = [line[9:] for line in capsys.readouterr().err.splitlines()]
    ends = re.compile(r", ends about \d\d:\d\d:\d\d")
    assert [ends.sub("", line) for line in said] == [
        "Chain of thought, answers: 10 of 20 (50%), 2.0 calls/s, 2 failed, 0:05 left",
        "Chain of thought, answers: 10 of 20 (50%), 2.0 calls/s, 2 failed, 0:05 left",
        "Chain of thought, m⟦U+001B⟧[31m: 25% (10–50), 3 of 4 scored – fail",
    ]


def test_a_russian_run_says_all_of_it_in_russian(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(3600.0, "ru") as shown:
        begin("cot", 20)
        shown.note(Cell("cot", "m", 0), BatchProgress(total=10, answered=5, failed=1, first_s=1.0, last_s=5.0))
        shown.note(Cell("cot", "m", 1), BatchProgress(total=10, cached=2, elsewhere=3))
        shown.draw()
        end("cot", 0.255)
    said = [re.sub(r"\d\d:\d\d:\d\d", "T", line[9:]) for line in capsys.readouterr().err.splitlines()]
    going = "ответы: 8 из 20 (40%), уже отвечено: 2, 1,2 вызовов/с, с ошибкой: 1, ожидается 3 (другой запуск)"
    assert said[-3] == f"Цепочка рассуждений, {going}, осталось 0:09, конец около T"
    assert said[-1].endswith(": 25,5% (10–50), оценено 3 из 4 – не пройдено")


def test_what_is_waited_for_is_said_with_who_asks_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two batches, one waits for another run's calls."""
    with Display(3600.0) as shown:
        begin("cot", 20)
        shown.note(Cell("cot", "m", 0), BatchProgress(total=10, answered=4))
        shown.note(Cell("cot", "m", 1), BatchProgress(total=10, elsewhere=3, holders=("process 7 on far",)))
        shown.draw()
    said = capsys.readouterr().err
    assert "Chain of thought, answers: 4 of 20 (20%), 0 failed, waiting for 3 (process 7 on far)\n" in said


def test_a_suite_that_asked_less_than_was_expected_is_done_when_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    """Of three questions two may be equal, which are one call."""
    with Display(3600.0) as shown:
        begin("cot", 3)
        shown.note(Cell("cot", "m", 0), BatchProgress(total=2, answered=2, first_s=1.0, last_s=2.0))
        end("cot", 0.25)
    assert "Chain of thought, answers: 2 of 2 (100%), 2.0 calls/s, 0 failed\n" in capsys.readouterr().err


def test_where_nothing_is_asked_a_line_says_for_how_long_the_stage_has_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Display(3600.0) as shown:
        log_event("stage_started", run="r", stage="verify", label="x", suite="basic_control", metric="")
        shown.draw()
    assert capsys.readouterr().err.splitlines()[-1].strip().endswith("Basic tasks: verify, for 0:00")


def test_a_run_that_is_over_is_told_nothing_more(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(3600.0):
        pass
    begin("cot", 20)
    assert not capsys.readouterr().err


def screen(output: bytes, columns: int) -> list[str]:
    """Return the lines that a terminal shows in the end: it knows returns, cursor up and erase line."""
    lines, row, column = [""], 0, 0
    text = output.decode("utf-8", "replace")
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|[^\x1b]", text):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part.startswith("\x1b"):
            if part.endswith("A"):
                row = max(0, row - int(part[2:-1] or 1))
            elif part.endswith("K"):
                lines[row] = "" if part[2:-1] == "2" else lines[row][:column]
        else:
            if column >= columns:  # the terminal wraps
                row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]


def on_terminal(command: list[str], columns: int, environment: dict[str, str]) -> tuple[int, bytes]:
    """Run a command on a terminal of so many columns; return its exit code and all that it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, cwd=TOP, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    pieces = []
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(ours)
    return process.wait(), b"".join(pieces)


SHOWN = """
from dataclasses import replace

from basic_control.data.batches import (Cell)
from basic_control.flows.cli.progress import progress
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.runtime.logs import log_event
from tests.helpers.suites import headline

with progress() as shown:
    for suite in ("a_suite_with_quite_a_long_name_of_its_own", "cot"):
        log_event("suite_started", run="r", suite=suite, items=4000, calls=4000)
        for batch in range(200):
            tally = BatchProgress(total=20, answered=19, failed=1, first_s=1.0, last_s=2.0 + batch)
            shown.note(Cell(suite, "m", batch), tally)
            shown.note(Cell(suite, "m", batch, "cot", "j"), BatchProgress(total=3, answered=1))
            with shown._drawing:
                shown.draw()
        ended = headline(suite, 0.25, Interval(0.1, 0.5), outcome="fail", n_scored=4000, n_asked=4000)
        log_event("suite_ended", run="r", suite=suite, models={}, subject=[replace(ended, model="m\\x1b[31m")])
"""


def test_a_terminal_of_80_columns_renews_a_line_for_each_work(tmp_path: Path) -> None:
    """A real terminal, two suites of many batches, a failure, a long name, and a name that is no text."""
    program = tmp_path / "shown.py"
    program.write_text(SHOWN, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TOP), "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    code, output = on_terminal([sys.executable, str(program)], 80, environment)
    shown = screen(output, 80)
    assert code == 0, shown
    results = [line for line in shown if "25%" in line]
    assert len(results) == 2, shown
    assert len(shown) <= 5, shown
    assert "\x1b[31m:" not in output.decode(), "a model's name is no colour"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode())
    assert "4000 of 4000" in plain
    assert "200 failed" in plain
    widest = max(len(line) for line in re.split(r"[\r\n]+", plain) if "answers" in line)
    assert widest <= 80


EVALUATING = """
import os
from dataclasses import replace

from basic_control.data.batches import Cell
from basic_control.flows.cli.progress import progress
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.models.scheduler import BatchProgress
from basic_control.tasks.runtime.logs import log_event
from tests.helpers.suites import headline

with progress() as shown:
    log_event("suite_started", run="r", suite="basic_control", items=60, calls=60)
    done = BatchProgress(total=60, answered=60, first_s=1.0, last_s=121.0)
    shown.note(Cell("basic_control", "smollm2-135m", 0), done)
    counts = {"outcome": "fail", "n_scored": 60, "n_asked": 60}
    ended = headline("basic_control", 0.05, Interval(0.0171, 0.137), **counts)
    log_event(
        "suite_ended", run="r", suite="basic_control", models={}, subject=[replace(ended, model="smollm2-135m")]
    )
    log_event("suite_started", run="r", suite="cot", items=15, calls=15)
    log_event("stage_started", run="r", stage="query", label="cot", suite="cot", metric="")
    shown.note(Cell("cot", "smollm2-135m", 0), BatchProgress(total=15, answered=5, first_s=1.0, last_s=11.0))
    with shown._drawing:  # not while the display's own thread draws
        shown.draw()
        os._exit(0)  # in the middle, as a screenshot is taken
"""


def test_the_documents_show_make_eval_on_80_columns_as_it_is(tmp_path: Path) -> None:
    """Real events, on a real terminal; how long each has taken is another each time."""
    program = tmp_path / "evaluating.py"
    program.write_text(EVALUATING, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(TOP), "TERM": "xterm-256color"}
    environment.pop("COLUMNS", None)
    code, output = on_terminal([sys.executable, str(program)], 80, environment)
    shown = screen(output, 80)
    assert code == 0, shown
    page = (TOP / "docs" / "observability.md").read_text(encoding="utf-8")
    (told,) = re.findall(r"```text\n(.+?)\n```", page, re.DOTALL)
    moment = re.compile(r"\d+:\d\d:\d\d|^ +\d:\d\d")
    assert [moment.sub("", line) for line in shown] == [moment.sub("", line) for line in told.splitlines()], shown
    assert max(map(len, shown)) <= 80


def environment_of(**more: str) -> dict[str, str]:
    kept = {**os.environ, "OPENAI_API_KEY": "sk-test", "TERM": "xterm-256color"}
    kept.pop("COLUMNS", None)
    return {**kept, **more}


def words(tmp_path: Path, server: Any, *more: str) -> list[str]:
    sets = [
        f"store.root={tmp_path}/store",
        f"store.runs={tmp_path}/runs",
        "batch_size=2",
        "basic_control.n_items=6",
    ]
    given = [word for each in (at(server, max_concurrency=2), *sets) for word in ("--set", each)]
    return [sys.executable, "-m", "flows.full_eval", *given, *FAMILIES, *more]


OFTEN = """
import runpy
from basic_control.flows.cli import progress
progress.EVERY_S = 0.1
runpy.run_module("flows.full_eval", run_name="__main__")
"""


def test_a_piped_run_tells_where_it_is_and_leaves_stdout_to_the_results(tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12", latency_s=0.1) as server:
        done = subprocess.run(
            [sys.executable, "-c", OFTEN, *words(tmp_path, server)[3:]], cwd=TOP, capture_output=True, text=True,
            check=False, env=environment_of(),
        )  # fmt: skip
    assert done.returncode in {0, 1}, done.stderr
    assert not re.search(r"(generate|query|verify|aggregate|results|gate|report)$", done.stderr, re.MULTILINE), (
        "a stage is named by how long it has taken"
    )
    assert re.search(
        r"Basic tasks, answers: \d+ of 12 \(\d+%\), [\d.]+ calls/s, 0 failed, \d:\d\d left", done.stderr
    )
    assert "Basic tasks, answers: 12 of 12 (100%)" in done.stderr
    assert re.search(r"Basic tasks, acme/tiny:1b: \d.*, 12 of 12 scored – fail", done.stderr)
    assert "answers: " not in done.stdout
    assert re.search(r"^acme/tiny:1b .*\d\.\d ✗$", done.stdout, re.MULTILINE), "the seed's table, with TOTAL"


@pytest.mark.slow
def test_a_run_on_a_terminal_of_80_columns_shows_one_line_for_many_batches(tmp_path: Path) -> None:
    with serve_openai("ANSWER: 12", latency_s=0.05) as server:
        code, output = on_terminal(words(tmp_path, server), 80, environment_of())
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode())
    assert code in {0, 1}, plain
    assert re.search(r"answers [━─]{8} \d+ of 12, ", plain)
    kept = [line for line in screen(output, 80) if "answers" in line]
    assert not kept, "a suite's line gives way to its result"
    assert any("12 of 12 scored" in line for line in screen(output, 80))


def test_json_lines_tell_of_each_stage_before_it_and_of_each_suite_after_it(run: Run) -> None:
    with serve_openai("ANSWER: 12") as server:
        done = run("--set", at(server), *FAMILIES, "--set", "basic_control.n_items=2", "--log", "json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    names = [(one["event"], one.get("stage", "")) for one in events]
    assert names.index(("stage_started", "verify")) < names.index(("stage", "verify"))
    (ended,) = [one for one in events if one["event"] == "suite_ended"]
    assert set(ended["models"]) == {"acme/tiny:1b"}
    assert ended["models"]["acme/tiny:1b"]["n_asked"] == 4


def test_where_a_suite_asks_nothing_no_line_counts_to_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(3600.0) as shown:
        begin("cot", 0)
        shown.note(Cell("cot", "m", 0), BatchProgress(total=0))
        shown.draw()
        end("cot", 0.25)
    said = capsys.readouterr().err
    assert "of 0" not in said
    assert "Chain of thought, " in said, "what it came to is said"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "now failing: HTTP 503: loading (2 tries)"),
        ("ru", "сейчас не удаётся: HTTP 503: loading (попыток: 2)"),
    ],
)
def test_the_line_names_the_commonest_failure_while_it_happens(
    language: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    display, tally = Display(10.0, language), BatchProgress(total=10)
    for message, kind in (
        ("HTTP 503: loading", "server"),
        ("HTTP 400: no", "invalid"),
        ("HTTP 503: loading", "server"),
    ):
        tally.trouble.note(CallError(kind, message))
    display.suite = "s"
    display.note(Cell("s"), tally)
    display.draw()
    assert text in capsys.readouterr().err
    tally.trouble.last_s -= FRESH_S + 1
    display.draw()
    assert "503" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "en",
            "no reply for 0:45, each call is tried for 5:00 (deadline_s), now failing: HTTP 503: down (1 tries)",
        ),
        (
            "ru",
            "ответов нет уже 0:45, каждый вызов повторяется до 5:00 (deadline_s), сейчас не удаётся: HTTP 503",
        ),
    ],
)
def test_a_server_that_died_has_no_pace_and_the_line_says_how_long_it_is_waited_for(
    language: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    now = time.monotonic()
    tally = BatchProgress(total=40, answered=12, first_s=now - 50, last_s=now - 45.5, deadline_s=300)
    tally.trouble.note(CallError("server", "HTTP 503: down"))
    display = Display(10.0, language)
    display.suite = "s"
    display.note(Cell("s"), tally)
    display.draw()
    line = capsys.readouterr().err
    assert text in line
    assert not any(word in line for word in ("left", "ends about", "calls/s", "осталось", "вызовов/с"))
    # A reply is a pace again.
    tally.last_s = time.monotonic()
    display.draw()
    line = capsys.readouterr().err
    assert "deadline_s" not in line
    assert "ends about" in line or "конец около" in line
