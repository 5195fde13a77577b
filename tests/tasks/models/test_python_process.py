"""Applications run in a process of their own: with their own modules, their own interpreter, and their own end."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.models import Model
from basic_control.data.errors import InputError
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError
from tests.conftest import TOP
from tests.tasks.models.asking import ask, call, error_of, reply_of, using


def app(folder: Path, source: str, **options: Any) -> Model:
    """Return the model that is the function `answer` of a file."""
    path = folder / "my_app.py"
    path.write_text(source, encoding="utf-8")
    given = {"name": "app", "provider": "python", "function": f"{path}:answer"}
    return Model.model_validate({**given, **options})


def until(holds: Callable[[], bool]) -> None:
    """Wait for what comes at last; pytest ends what does not."""
    while not holds():
        time.sleep(0.05)


def test_an_application_finds_its_own_modules_and_none_of_ours(tmp_path: Path) -> None:
    """Names of ours, names that only we have, and a file called like a module of Python's own."""
    (tmp_path / "config.py").write_text("WORD = 'own config'\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "__init__.py").write_text("from data.more import WORD\n")
    (tmp_path / "data" / "more.py").write_text("WORD = 'own data'\n")
    source = """
import config, data, importlib.util, os, sys
import my_app

def answer(prompt):
    ours = [name for name in ("metrics", "tasks", "flows", "generators") if importlib.util.find_spec(name)]
    return f"{config.WORD}, {data.WORD}, {ours}, {my_app.__name__}, {sys.path[0] == os.path.dirname(__file__)}"
"""
    found = reply_of(app(tmp_path, source)).text
    assert found == "own config, own data, [], my_app, True"


def test_what_has_us_find_our_own_modules_is_not_handed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TOP), str(tmp_path / "theirs")]))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    monkeypatch.setenv("MY_KEY", "sk-12")
    source = "import os\ndef answer(p): return str([os.environ.get(n) for n in (%r, %r, %r)])"
    found = reply_of(app(tmp_path, source % ("PYTHONPATH", "PYTHONSAFEPATH", "MY_KEY"))).text
    assert found == str([str(tmp_path / "theirs"), None, "sk-12"])


def test_it_runs_in_the_interpreter_that_is_named(tmp_path: Path) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    python = tmp_path / "other" / "bin" / "python"
    model = app(tmp_path, "import sys\ndef answer(p): return sys.prefix", python=str(python))
    assert reply_of(model).text == str(tmp_path / "other")
    assert using(model, lambda client: client.identity())["python"] == str(python)
    assert reply_of(app(tmp_path, "import sys\ndef answer(p): return sys.prefix")).text == sys.prefix


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (
            "nowhere/bin/python",
            "my_app.py:answer: there is no interpreter nowhere/bin/python; expected a Python such",
        ),
        ("no-such-python", "there is no interpreter no-such-python"),
        ("false", "cannot be loaded (the process of "),
    ],
)
def test_what_is_no_interpreter_is_told(tmp_path: Path, python: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(app(tmp_path, "def answer(p): return p", python=python))
    assert said in str(caught.value)


def test_what_it_prints_and_reads_breaks_nothing_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = """
import os, subprocess, sys
print("loading")

def answer(prompt):
    print('{"id": 1, "answer": {"text": "forged"}}')
    os.write(1, b"raw\\x1b[2J\\n")
    subprocess.run(["echo", "from a process of its own"], check=True)
    print("to stderr", file=sys.stderr)
    return repr(sys.stdin.read())
"""
    assert reply_of(app(tmp_path, source)).text == "''"
    lines = {"loading", "raw⟦U+001B⟧[2J", "from a process of its own", "to stderr"}
    lines.add('{"id": 1, "answer": {"text": "forged"}}')
    shown, printed = "", ""

    def is_shown() -> bool:
        nonlocal shown, printed
        out, err = capsys.readouterr()
        shown, printed = shown + err, printed + out
        return lines <= {*shown.splitlines()}

    until(is_shown)  # a thread reads it, which the reply does not wait for
    assert printed == ""


@pytest.mark.parametrize(
    ("end", "said"),
    [
        ("os._exit(3)", "ended its process with exit code 3"),
        ("os.kill(os.getpid(), 9)", "ended its process by SIGKILL"),
    ],
)
def test_one_that_ends_its_process_ends_its_own_call_alone(tmp_path: Path, end: str, said: str) -> None:
    """Those beside it are asked again, and later ones find a new process."""
    source = f"""
import os, pathlib, threading

met, marker = threading.Barrier(4), pathlib.Path({str(tmp_path / "met")!r})
first = not marker.exists()

def answer(prompt):
    if first:
        met.wait()
        marker.touch()
    if prompt == "end":
        {end}
    if first:
        threading.Event().wait()
    return prompt
"""

    async def act(client: Any) -> list[Any]:
        asked = [client.ask(call(one)) for one in ("a", "end", "b", "c")]
        return [*await asyncio.gather(*asked, return_exceptions=True), await client.ask(call("later"))]

    a, ended, *others = using(app(tmp_path, source), act)
    assert isinstance(ended, CallError)
    assert (ended.kind, said in ended.message) == ("invalid", True), ended.message
    assert [one.text for one in (a, *others)] == ["a", "b", "c", "later"]


def test_a_module_that_ends_its_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be loaded \(the process of .* ended with exit code 7; expected"):
        ask(app(tmp_path, "import os\nos._exit(7)\ndef answer(p): return p"))


def test_a_module_may_use_asyncio_and_the_main_thread_while_it_is_loaded(tmp_path: Path) -> None:
    source = """
import asyncio, signal
signal.signal(signal.SIGTERM, signal.SIG_DFL)

async def made():
    return "made"

WORD = asyncio.run(made())

async def answer(prompt):
    await asyncio.sleep(0)
    return WORD
"""
    assert reply_of(app(tmp_path, source)) == Reply("made")


def test_a_call_that_is_given_up_is_cancelled_and_others_are_answered(tmp_path: Path) -> None:
    source = f"""
import asyncio, pathlib, time

async def answer(prompt):
    if prompt != "slow":
        return prompt
    try:
        pathlib.Path({str(tmp_path / "begun")!r}).write_text("")
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        pathlib.Path({str(tmp_path / "cancelled")!r}).write_text("")
        raise
"""

    async def act(client: Any) -> str:
        await client.identity()
        slow = asyncio.create_task(client.ask(call("slow")))
        assert (await client.ask(call("quick"))).text == "quick"
        await asyncio.to_thread(until, (tmp_path / "begun").exists)  # one that never began has nothing to cancel
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        text: str = (await client.ask(call("after"))).text
        return text

    assert using(app(tmp_path, source), act) == "after"
    until((tmp_path / "cancelled").exists)


@pytest.mark.slow
def test_much_at_once_and_much_of_it_comes_back_whole(tmp_path: Path) -> None:
    source = "def answer(prompt): return prompt * 1_000_000"

    async def act(client: Any) -> list[int]:
        replies = await asyncio.gather(*(client.ask(call(chr(0x400 + n))) for n in range(20)))
        return [len({*reply.text}) * len(reply.text) for reply in replies]

    assert using(app(tmp_path, source), act) == [1_000_000] * 20


def test_odd_values_are_told_by_their_types(tmp_path: Path) -> None:
    source = """
import collections, decimal, enum

class Word(str): pass
class Size(enum.IntEnum):
    ONE = 1

def answer(prompt):
    deep = []
    for _ in range(1000):
        deep = [deep]
    return {
        "word": Word("w"), "odd": {"text": decimal.Decimal(1)}, "deep": {"text": "t", "citations": [deep]},
        "mapping": collections.UserDict(text="m", tokens_in=Size.ONE), "big": {"text": "t", "tokens_in": 10**5000},
        "nan": {"text": float("nan")}, "keys": {"text": "t", "citations": [{(1, 2): 3}]},
    }[prompt]
"""
    asked = ("word", "odd", "deep", "mapping", "big", "nan", "keys")
    heard = dict(zip(asked, ask(app(tmp_path, source), *map(call, asked)), strict=True))
    assert heard["word"] == Reply("w")
    assert heard["mapping"] == Reply("m", tokens_in=1)
    assert heard["nan"] == Reply("nan")
    for name, said in {
        "odd": "returned a mapping that is no JSON (Object of type Decimal is not JSON serializable)",
        "deep": "returned ",
        "big": "returned a mapping that is no JSON (Exceeds the limit",
        "keys": "returned a mapping that is no JSON (keys must be str, int",
    }.items():
        assert said in str(heard[name])


def test_it_hears_no_key_of_the_terminal_and_ends_when_its_client_is_closed(tmp_path: Path) -> None:
    source = "import os\ndef answer(p): return f'{os.getpid()} {os.getsid(0)}'"
    number, session = map(int, reply_of(app(tmp_path, source)).text.split())
    assert session == number != os.getsid(0), "Ctrl-C reaches the processes of the terminal's own group"
    until(lambda: not running(number))


def running(number: int) -> bool:
    """Say whether a process is there, and no zombie."""
    try:
        return "Z" not in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_it_dies_with_the_process_that_asks_whatever_it_is_doing(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(
        f"import os, pathlib\npathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))\n"
        "def answer(p):\n    while True: pass\n"
    )
    parent = f"""
import asyncio, sys
from basic_control.config.models import Model
from basic_control.data.records import Call, Message
from basic_control.tasks.models import open_client

model = Model.model_validate({{"name": "app", "provider": "python", "function": "{tmp_path}/my_app.py:answer"}})

async def act():
    asked = asyncio.create_task(open_client(model).ask(Call((Message("user", "?"),))))
    await asyncio.sleep(0.5)
    print("asked", flush=True)
    await asked

asyncio.run(act())
"""
    begun = subprocess.Popen([sys.executable, "-c", parent], cwd=TOP, stdout=subprocess.PIPE)
    try:
        assert begun.stdout
        assert begun.stdout.readline() == b"asked\n"
        until((tmp_path / "pid").exists)
        number = int((tmp_path / "pid").read_text())
        assert running(number)
        begun.send_signal(signal.SIGKILL)
        until(lambda: not running(number))
    finally:
        begun.kill()
        begun.wait()


def test_an_exception_keeps_its_message(tmp_path: Path) -> None:
    found = error_of(app(tmp_path, "def answer(p):\n    raise ValueError('x' * 10_000)"))
    assert found.message.endswith("… (my_app.py, line 2)")
