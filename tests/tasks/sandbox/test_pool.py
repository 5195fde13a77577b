"""The pool: workers are confined, replaced, and gone when they should be."""

import ast
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from basic_control.data.errors import InputError
from basic_control.data.records import Outcome, Program
from basic_control.tasks import sandbox
from basic_control.tasks.sandbox import WorkerPool, processes
from basic_control.tasks.sandbox.pool import LARGEST, Job, Worker

SQUARE = Program("python", "def f(x): return x * x", "f", ((2,), (3,)))
SLEEP = Program("python", "import time\ndef f(x): time.sleep(1000)", "f", ((2,),))
SQUARED = (Outcome("value", 4), Outcome("value", 9))
ROOT = Path(__file__).parents[3]


def test_outcomes_come_in_the_order_of_the_programs() -> None:
    programs = [Program("python", f"def f(x): return x + {k}", "f", ((1,),)) for k in range(40)]
    with WorkerPool(workers=2) as pool:
        found = pool.run(programs)
    assert [outcomes[0].value for outcomes in found] == [k + 1 for k in range(40)]


def test_programs_without_calls_or_of_other_languages_need_no_worker() -> None:
    nothing = Program("python", "while True: pass", "f", ())
    other = Program("cobol", "STOP RUN.", "f", ((1,),))
    assert sandbox.run([nothing, other]) == [(), (Outcome("unavailable", message="no runner for cobol"),)]


def test_the_public_entry_runs_and_says_its_layers() -> None:
    assert sandbox.run([SQUARE], cpu_s=1.0) == [SQUARED]
    layers = sandbox.describe_layers()
    assert set(layers) == {"wasm", "rlimits", "no_new_privs", "landlock", "seccomp", "kotlin"}
    assert layers["wasm"].startswith("CPython 3.14")
    assert all(layers.values())
    assert sandbox.summarize_layers().count("\n") == 0
    sandbox.close()


def test_a_worker_that_dies_is_replaced_and_its_program_tried_again(pool: WorkerPool) -> None:
    """Killed from outside, as when memory runs out elsewhere: the honest program does not pay for it."""
    pool.layers()
    before = pool.workers[0].process.pid
    began = sum(psutil.Process(before).cpu_times()[:2])
    slow = Program("python", "def f(x):\n    for _ in range(20_000_000): pass\n    return x", "f", ((2,),))

    def kill() -> None:
        while sum(psutil.Process(before).cpu_times()[:2]) < began + 0.1:
            pass
        os.kill(before, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert pool.run([slow], cpu_s=60.0) == [(Outcome("value", 2),)]
    killer.join()
    assert pool.workers[0].process.pid != before


def test_an_idle_worker_that_died_is_replaced(pool: WorkerPool) -> None:
    pool.layers()
    pool.workers[0].process.kill()
    pool.workers[0].process.wait()
    assert pool.run([SQUARE]) == [SQUARED]


def test_an_image_that_no_worker_starts_with_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spoiled").write_bytes(b"no native code")
    monkeypatch.setattr("basic_control.tasks.sandbox.pool.prepare", lambda: tmp_path / "spoiled")
    with WorkerPool(workers=2) as pool, pytest.raises(InputError, match="did not start") as raised:
        pool.run([SQUARE] * 4)
    assert f"delete {tmp_path / 'spoiled'}, which is then built again" in str(raised.value)


def test_a_worker_that_is_ready_before_it_is_needed_is_used(
    pool: WorkerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that replaces a worker which died: its hello waits until the next run."""
    pool.run([Program("python", SLEEP.source, "f", ((2,),))], cpu_s=0.1)
    (worker,) = pool.workers
    assert not worker.layers
    assert select.select([worker.reading], [], [], 600)[0]
    monkeypatch.setattr("basic_control.tasks.sandbox.pool.prepare", pytest.fail)
    assert pool.run([SQUARE]) == [SQUARED]
    assert pool.workers == [worker]


def test_an_interrupted_run_leaves_no_program_running(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C when the first program has replied: its worker is ended, and the next run starts clean."""
    pool.layers()
    before = pool.workers[0].process.pid

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Job, "hear", stop)
    with pytest.raises(KeyboardInterrupt):
        pool.run([SQUARE, SLEEP, SLEEP])
    monkeypatch.undo()
    assert not psutil.pid_exists(before)
    assert pool.run([SQUARE]) == [SQUARED]


def test_threads_share_a_pool(pool: WorkerPool) -> None:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(pool.run([SQUARE] * 5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[SQUARED] * 5] * 4


@pytest.mark.parametrize(
    "code",
    [
        r"""print('["end","timeout","",""]', flush=True)""",
        "pass",
        "print('[', end='', flush=True)",
        r"""sys.stdin.readline(); print('["end","memory","",""]\n[]', flush=True)""",
    ],
)
def test_a_worker_out_of_its_mind_holds_nobody_up(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads no job, never answers, or says more than it should: it is late or faulty, never waited for."""
    stub = [sys.executable, "-c", f"import sys, time; {code}; time.sleep(1000)"]
    monkeypatch.setattr(processes, "build_command", lambda *_: stub)
    worker = Worker("")
    job = Job(Program("python", "x" * 90_000, "f", (("y" * 90_000,),)), 0.5)
    with pytest.raises((TimeoutError, ValueError)):
        worker.talk(job.frame, 0.5, job.hear)
    processes.end(worker.process)


def test_closing_ends_the_workers() -> None:
    with WorkerPool(workers=2) as pool:
        pool.run([SQUARE] * 4)
        pids = [worker.process.pid for worker in pool.workers]
    assert pids
    assert not any(psutil.pid_exists(pid) for pid in pids)


CHILD = """
import sys
from basic_control.data.records import Program
from basic_control.tasks import sandbox
sandbox.run([Program("python", "def f(): return 1", "f", ((),))])
from basic_control.tasks.sandbox import _pools
print(*[w.process.pid for p in _pools for w in p.workers], flush=True)
{then}
"""


def _child(then: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", CHILD.format(then=then)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _gone(pids: list[int]) -> bool:
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(left, timeout=60)[1]


def test_the_end_of_the_process_ends_its_workers() -> None:
    child = _child("")
    pids = [int(pid) for pid in child.communicate(timeout=600)[0].split()]
    assert pids
    assert _gone(pids)


def test_workers_do_not_outlive_a_killed_parent() -> None:
    """Busy with a sleeper, and their parent gone without a word: they notice and end themselves."""
    then = (
        "import os, signal, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()\n"
        'sandbox.run([Program("python", "import time\\ntime.sleep(1000)", "f", ((),))], cpu_s=60.0)'
    )
    child = _child(then)
    pids = [int(pid) for pid in child.communicate(timeout=600)[0].split()]
    assert child.returncode == -signal.SIGKILL
    assert pids
    assert _gone(pids)


def test_a_forked_child_does_not_talk_to_its_parents_workers() -> None:
    then = (
        "import os\n"
        "pid = os.fork()\n"
        'got = sandbox.run([Program("python", "def f(): return 2", "f", ((),))] * 20)\n'
        "assert {o.value for (o,) in got} == {2}\n"
        "sandbox.close()\n"
        "pid and os.waitpid(pid, 0)[1] and os._exit(1)"
    )
    child = _child(then)
    child.communicate(timeout=600)
    assert child.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_holds_nothing_of_ours(pool: WorkerPool) -> None:
    """No environment, no descriptors but pipes and the engine's own, its own session, privileges given up."""
    pool.run([SQUARE])
    process = psutil.Process(pool.workers[0].process.pid)
    assert set(process.environ()) <= {"LD_LIBRARY_PATH"}
    assert process.cwd() == "/"
    assert {Path(held.path).name for held in process.open_files()} <= {"runner.cwasm"}  # its code, to read
    assert process.net_connections() == []
    assert os.getsid(process.pid) == process.pid
    assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
    assert process.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
    layers = pool.layers()
    status = dict(
        line.split(":\t") for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if ":\t" in line
    )
    assert (status["NoNewPrivs"] == "1") == (layers["no_new_privs"] == "on")
    assert (status["Seccomp"] == "2") == (layers["seccomp"] == "on")


def test_a_frame_that_is_nested_too_deep_does_not_raise_here(tmp_path: Path) -> None:
    """A worker out of its mind: it is replaced, and its program tried again, then told as what it is."""
    frame = tmp_path / "frame"
    frame.write_bytes(b"[" * 200_000 + b"\n")
    with WorkerPool(workers=1) as pool:
        pool.layers()
        (worker,) = pool.workers
        ours = worker.reading
        with frame.open("rb") as worker.reading, pytest.raises(ValueError, match="nested too deep"):
            worker.hear()
        worker.reading = ours
        assert pool.run([SQUARE]) == [SQUARED]


def test_a_frame_without_end_is_given_up(tmp_path: Path) -> None:
    frame = tmp_path / "frame"
    frame.write_bytes(b"x" * (LARGEST + 1))
    with WorkerPool(workers=1) as pool:
        pool.layers()
        (worker,) = pool.workers
        ours = worker.reading
        with frame.open("rb") as worker.reading, pytest.raises(ValueError, match="a frame of more than"):
            any(iter(worker.hear, None))
        worker.reading = ours
        assert pool.run([SQUARE]) == [SQUARED]


def test_arguments_that_are_not_plain_are_our_own_mistake(pool: WorkerPool) -> None:
    with pytest.raises(ValueError, match="of type object"):
        pool.run([Program("python", "def f(x): pass", "f", ((object(),),))])


def test_the_parent_has_no_means_to_run_what_comes_back() -> None:
    """No pickle, eval, exec, compile or marshal stands in the parent's side of the sandbox."""
    folder = ROOT / "tasks" / "sandbox"
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            names += [node.func.id] if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else []
            assert not {"pickle", "marshal", "shelve", "eval", "exec", "compile", "__import__"} & set(names), path
