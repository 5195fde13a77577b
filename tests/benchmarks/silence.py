"""Kill a deployed run and see when its deployment's slot is free: `python -m tests.benchmarks.silence`.

Two deaths: of the run's process alone, which its worker sees, and of the run and its worker, as when a machine is
lost, which only the missing heartbeats tell. Each time a second run waits for the slot. Takes five minutes.
"""

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from tests.helpers.deployed import Place, deploy, group, standing
from tests.servers.running import serve_openai


def runs(place: Place) -> list[dict[str, Any]]:
    """Return the evaluation's runs, in the order in which they were asked for."""
    found = place.find("flow_runs", flows={"name": {"any_": ["full_eval"]}})
    return sorted(found, key=lambda run: str(run["created"]))


def state(place: Place, run: str) -> str:
    """Return the name of a run's state."""
    return str(place.send("GET", f"/flow_runs/{run}")["state_name"])


def ask(place: Place, deployment: str) -> str:
    """Ask for a run now; return its id."""
    return str(place.send("POST", f"/deployments/{deployment}/create_flow_run", {})["id"])


def family(pid: int) -> list[psutil.Process]:
    """Return the processes below one, the deepest last."""
    return psutil.Process(pid).children(recursive=True)


def kill(processes: list[psutil.Process]) -> None:
    """End processes as a power cut does."""
    for process in processes:
        process.send_signal(signal.SIGKILL)


def main() -> None:
    """Print the seconds from each death to the state Crashed, and to the start of the run that waited."""
    with (
        tempfile.TemporaryDirectory() as folder,
        standing(Path(folder) / "tree") as place,
        serve_openai("ANSWER: 12", latency_s=3600) as server,
    ):
        deploy(place, server)
        (smoke,) = (one["id"] for one in place.find("deployments") if one["name"] == "smoke")
        place.send("PATCH", f"/deployments/{smoke}", {"paused": True})
        for run in runs(place):
            place.send("DELETE", f"/flow_runs/{run['id']}")
        for lost in ("the run's process", "the run's process and its worker"):
            measure(place, smoke, lost)


def measure(place: Place, smoke: str, lost: str) -> None:
    """Kill once, and print how long everything took."""
    log = place.tree / "worker.log"
    options: dict[str, Any] = {"cwd": place.tree, "env": place.environment}
    with group(place.command("worker"), log, **options) as worker:
        first = ask(place, smoke)
        place.wait(lambda: state(place, first) == "Running", "the first run did not start")
        # Its first heartbeat is sent at its start, the first query a moment later.
        place.wait(lambda: [a for a in place.find("artifacts") if a["type"] == "progress"], "no query was begun")
        second = ask(place, smoke)
        place.wait(lambda: state(place, second) == "AwaitingConcurrencySlot", "the second run did not wait")
        kill(family(worker.pid))
        if "worker" in lost:
            os.kill(worker.pid, signal.SIGKILL)
        died = time.monotonic()
        with group(place.command("worker"), place.tree / "worker2.log", **options):
            place.wait(lambda: state(place, first) == "Crashed", f"not Crashed: {state(place, first)}", 300)
            crashed = time.monotonic() - died
            place.wait(lambda: state(place, second) == "Running", "the slot was not freed", 300)
            print(
                f"{lost} killed: Crashed after {crashed:.0f} s, the next runs after {time.monotonic() - died:.0f} s"
            )
            kill(family(worker.pid) if worker.poll() is None else [])
    for run in runs(place):
        place.send("DELETE", f"/flow_runs/{run['id']}")


if __name__ == "__main__":
    main()
