"""A run that is suspended while another uses the store asks nothing again, and fails nothing that is answered."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.models import leases, running
from basic_control.tasks.query import ask
from tests.conftest import TOP
from tests.helpers.requests import NUMBERS, model_at, prompts_seen, requests_of
from tests.servers.running import serve_openai

LEASE_S = 0.4
RUN = """
import sys
from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.tasks.models import leases, running
from basic_control.tasks.query import ask
from tests.helpers.requests import NUMBERS, requests_of
url, root, lease_s, deadline_s = sys.argv[1:]
leases.LEASE_S = running.LEASE_S = float(lease_s)
entry = {"name": "m", "provider": "openai", "base_url": url, "max_concurrency": 4, "deadline_s": float(deadline_s)}
model = Model.model_validate(entry)
responses, tally = ask(requests_of(model, NUMBERS), model, StoreSettings(root=root), Cell("x"))
print(tally.answered, tally.cached, tally.failed)
"""


@pytest.mark.slow
@pytest.mark.parametrize("deadline_s", [60.0, 0.3])
def test_a_suspended_run_looks_up_what_its_claims_were_for(
    deadline_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a short deadline its calls in flight have timed out when it goes on."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0000")
    monkeypatch.setattr(leases, "LEASE_S", LEASE_S)
    monkeypatch.setattr(running, "LEASE_S", LEASE_S)
    count, is_busy = [0], threading.Event()

    def reply(_: dict[str, Any]) -> str:
        count[0] += 1
        if count[0] == 12:  # in the midst of it
            is_busy.set()
        return "yes"

    with serve_openai(reply, latency_s=0.1) as server:
        command = [sys.executable, "-c", RUN, server.base_url, str(tmp_path), str(LEASE_S), str(deadline_s)]
        environment = {**os.environ, "PYTHONPATH": str(TOP)}
        with subprocess.Popen(command, cwd=TOP, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert is_busy.wait(30)
            process.send_signal(signal.SIGSTOP)
            model = model_at(server, max_concurrency=4)
            responses, _ = ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"))
            assert responses["error"].null_count() == len(NUMBERS)
            process.send_signal(signal.SIGCONT)
            output, _ = process.communicate(timeout=30)
        asked = prompts_seen(server)
    answered, cached, failed = map(int, output.split())
    assert failed == 0
    assert answered + cached == len(NUMBERS)
    assert sum(asked.values()) <= len(NUMBERS) + 4, "at most what was in flight when it was suspended"
    assert Counter(asked.values())[3] == 0
