"""Completion, typed into a real bash: what TAB writes there."""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from basic_control.flows.cli.application import COMMANDS, GROUPS, HIDDEN, main
from tests.conftest import TOP

PROMPT = b"ready> "
TAB = "\t"


class Bash:
    """An interactive bash on a terminal of its own, with the script that `completion bash` printed."""

    def __init__(self, folder: Path, script: Path) -> None:
        self._terminal, theirs = os.openpty()
        self._seen = b""
        environment = {
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": str(TOP),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PS1": PROMPT.decode(),
            "TERM": "dumb",
            "INPUTRC": os.devnull,
            "HOME": str(folder),
        }
        command = ["bash", "--norc", "--noprofile", "-i"]
        self._shell = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment, start_new_session=True
        )
        os.close(theirs)
        self._wait(PROMPT)
        self.enter(f"bind 'set bell-style none' 'set enable-bracketed-paste off'; source {script}")

    def enter(self, line: str) -> None:
        """Enter a line and wait for the next prompt."""
        self._seen = b""
        os.write(self._terminal, f"{line}\n".encode())
        self._wait(b"\n" + PROMPT)

    def complete(self, typed: str, written: str) -> str:
        """Type a line that TAB ends, wait until what is `written` stands there, and return the line."""
        self._seen = b""
        os.write(self._terminal, f"{typed}{TAB}".encode())
        self._wait(written.encode())
        line = self._seen.decode().replace("\a", "")
        self.enter("\x15")  # takes the line back
        return line

    def close(self) -> None:
        """End the shell."""
        self._shell.kill()
        self._shell.wait()
        os.close(self._terminal)

    def _wait(self, what: bytes) -> None:
        until = time.monotonic() + 120
        while what not in self._seen.replace(b"\r", b""):
            ready, _, _ = select.select([self._terminal], [], [], until - time.monotonic())
            assert ready, f"{what!r} never came; seen: {self._seen!r}"
            self._seen += os.read(self._terminal, 65536)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file that holds what `completion bash` prints, in a folder with a run and our command."""
    folder = tmp_path_factory.mktemp("completed")
    run = folder / "artifacts" / "runs" / "20261122_101112_full"
    run.mkdir(parents=True)
    (run / "manifest.json").write_text("{}")
    (run.parent / "no_run").mkdir()
    (folder / "bin").mkdir()
    command = folder / "bin" / "basic-control"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m basic_control "$@"\n')
    command.chmod(0o755)
    printed = subprocess.run(
        [command, "completion", "bash"], env={"PYTHONPATH": str(TOP)}, capture_output=True, check=True
    )
    file = folder / "completion.bash"
    file.write_bytes(printed.stdout)
    return file


@pytest.fixture
def bash(script: Path) -> Iterator[Bash]:
    shell = Bash(script.parent, script)
    yield shell
    shell.close()


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash is here")
def test_tab_completes_commands_options_runs_suites_and_keys_in_bash(bash: Bash) -> None:
    assert bash.complete("basic-control basel", "baseline ").endswith("baseline ")
    assert bash.complete("basic-control run --until", "--until-decided ")
    assert bash.complete("basic-control run --rerun agg", "aggregate ")
    assert bash.complete("basic-control runs note 2026", "20261122_101112_full ")
    assert bash.complete("basic-control run cit", "citation ")
    assert bash.complete("basic-control run --set models.0.temp", "models.0.temperature=").endswith("=")


@pytest.mark.parametrize("shell", ["zsh", "fish", "bash"])
def test_each_shells_script_has_every_command_and_is_sound_to_the_shell(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    shown = [name for name in COMMANDS if name not in GROUPS[HIDDEN]]
    assert not [name for name in shown if not re.search(rf"\b{name}\b", printed)]
    file = tmp_path / f"completion.{shell}"
    file.write_text(printed)
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", file], check=False, capture_output=True).stderr == b""


def test_another_shell_is_one_clear_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert '"bash", "zsh", "fish"' in capsys.readouterr().err.replace("'", '"')
