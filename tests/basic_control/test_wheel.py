"""The wheel, installed beside the locked packages, in a folder where every name of ours is taken."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from basic_control import ROOMS
from tests.conftest import TOP, free_port
from tests.flows.scene import answer, outcome
from tests.helpers import inside
from tests.helpers.deployed import LEAN, SECRET, TINY, Place, group
from tests.helpers.runs import latest
from tests.helpers.wheels import PACKAGES, build_wheel, lend_packages
from tests.servers.running import Server, serve_openai

pytestmark = pytest.mark.slow

FAMILY = """
from basic_control.data.records import Family, Item, Verdict


def generate(rng, **options):
    word = "".join(rng.choice("aeiou") for _ in range(9))
    return Item(prompt=f"Say {word}.", answer=word, facts={"word": word})


def verify(item, reply):
    return Verdict(item.facts["word"] in reply, "said" if item.facts["word"] in reply else "not said")


UNIT = Family(name="saying", version=1, levels={"easy": {}}, generate=generate, verify=verify)
"""
METRIC = """
from basic_control.data.records import Metric, Score


def score(sample, found, options):
    return Score(float(sample["response"].isupper()))


UNIT = Metric(name="loud", version=1, bounds=(0.0, 1.0), score=score)
"""
SPAWN = """
if __name__ == "__main__":
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    from basic_control.tasks.store.manifest import find_commit
    from basic_control.data.records import Family, Metric
    from basic_control.data.units import digest_of, identity_of
    from basic_control.data.sentences import count_words
    from basic_control.tasks.stage import DECIDING

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        words = list(pool.map(count_words, ["one two", "three"]))
    told = [identity_of(Metric, "loud").name, identity_of(Family, "simple_logic").source]
    print(words, *told, find_commit(), digest_of(*DECIDING))
"""


@dataclass(frozen=True)
class Installed:
    """A wheel, and where it is installed."""

    wheel: Path
    python: Path
    site: Path
    listed: frozenset[str]
    files: frozenset[Path]

    def run(self, folder: Path, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment in a folder, with nothing of the checkout on its path."""
        words = [str(self.python.with_name(command[0])), *command[1:]]
        environment = self.environment(**extra)
        return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    def environment(self, **extra: str) -> dict[str, str]:
        """Return an environment that knows nothing of the checkout."""
        known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**known, "OPENAI_API_KEY": "sk-test", "COLUMNS": "160", **extra}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build the wheel and install it into an environment that has the locked packages and no other copy of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = build_wheel(folder)
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    # As pip does: bytecode is written once, not compiled by each process for itself.
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    install += ["--compile-bytecode", "--python", str(python), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    listed = frozenset(path.name for path in site.iterdir())
    lend_packages(site, folder / "locked")
    return Installed(wheel, python, site, listed, lying(site))


def lying(site: Path) -> frozenset[Path]:
    """Return what lies in an environment, but for what Python and ours write beside bytecode."""
    return frozenset(path for path in site.rglob("*") if path.parent.name != "__pycache__")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    return made_hostile(tmp_path / "mine")


def made_hostile(folder: Path) -> Path:
    """Make a folder with a module or a package of every name of ours, and two plug-ins."""
    folder.mkdir()
    for room in ROOMS:
        said = f"raise SystemExit('the user has a {room} of their own')\n"
        if room in {"data", "prompts"}:
            (folder / room).mkdir()
            (folder / room / "__init__.py").write_text(said, encoding="utf-8")
        else:
            (folder / f"{room}.py").write_text(said, encoding="utf-8")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "saying.py").write_text(FAMILY, encoding="utf-8")
    (folder / "plugins" / "loud.py").write_text(METRIC, encoding="utf-8")
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    """Return a model that says what it is asked, and judges as a judge."""
    with serve_openai(speak) as server:
        yield server


def speak(body: dict[str, Any]) -> str:
    return answer(body) if "response_format" in body else str(body["messages"][-1]["content"])


def test_site_packages_get_one_folder(installed: Installed) -> None:
    version = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert installed.listed == {"basic_control", f"basic_control-{version}.dist-info"}


def test_the_wheel_has_every_file_of_the_rooms_and_nothing_that_runs_left(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        found = {name.removeprefix("basic_control/") for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = set()
    for room in ROOMS:
        for path in (TOP / room).rglob("*"):
            inside = path.relative_to(TOP)
            if path.is_file() and "__pycache__" not in inside.parts:
                wanted.add(inside.as_posix())
    door = {path.name for path in (TOP / "basic_control").iterdir() if path.is_file()}
    assert found == wanted | door | {"prefect.yaml"}
    endings = {Path(name).suffix for name in found}
    assert {".py", ".yaml", ".j2", ".css", ".js", ".wit", ".jsonl", ".typed"} <= endings


def test_help_answers_in_a_hostile_folder(installed: Installed, hostile: Path) -> None:
    by_name = installed.run(hostile, "basic-control", "--help")
    by_module = installed.run(hostile, "python", "-m", "basic_control", "--help")
    assert by_name.returncode == by_module.returncode == 0
    assert by_name.stdout == by_module.stdout
    assert "compare" in by_name.stdout
    begun = installed.run(hostile, "basic-control", "init", "made")
    assert "Next: basic-control run made/eval.yaml\n" in begun.stdout, begun.stderr
    own = installed.run(hostile, "basic-control", "--config", "config/ollama.yaml", "--set", "colour=red")
    assert "using the one that ships" in own.stderr
    assert "unknown key 'colour'" in own.stderr


@dataclass(frozen=True)
class Served:
    """A hostile folder in which the installed package serves deployments."""

    folder: Path
    place: Place
    extra: dict[str, str]

    def starting(self, installed: Installed) -> dict[str, Any]:
        """Return how to start a process in the folder."""
        environment = installed.environment(**self.extra)
        environment.pop("PREFECT_LOCAL_STORAGE_PATH", None)
        return {"cwd": self.folder, "env": environment}


@pytest.fixture(scope="module")
def served(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start Prefect's server as the installed package does, in a hostile folder."""
    top = tmp_path_factory.mktemp("served")
    place = Place(top)
    port = str(place.port)
    extra = LEAN | {"PREFECT_HOME": str(top / "home"), "PREFECT_SERVER_API_AUTH_STRING": SECRET}
    extra |= {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_WORKER_QUERY_SECONDS": "1"}
    extra |= {"PREFECT_API_AUTH_STRING": SECRET}
    found = Served(made_hostile(top / "mine"), place, extra)
    serve = [str(installed.python.with_name("basic-control")), "serve", "--port", port]
    with group(serve, top / "server.log", **found.starting(installed)):
        place.wait(place.up, "Prefect's server did not answer")
        yield found


def test_a_scheduled_run_is_completed_with_its_artifacts_and_a_retry_asks_nothing(
    installed: Installed, served: Served
) -> None:
    """Password, database and runs lie in the folder, nothing among the packages; its configuration goes first."""
    place, hostile, port = served.place, served.folder, str(served.place.port)
    listed = f"http://127.0.0.1:{port}/v2/runs"
    assert f"Runs: {listed} (" in (place.tree / "server.log").read_text()
    assert httpx.get(listed, headers={"Accept": "text/html"}).is_success, "the page that it names"
    assert httpx.post(str(place.client.base_url.join("flows/filter")), json={}).status_code == 401
    worker = [str(installed.python.with_name("basic-control")), "worker", "--port", port]
    with (
        serve_openai("ANSWER: 12", latency_s=0.6) as server,
        group(worker, place.tree / "worker.log", **served.starting(installed)),
    ):
        (hostile / "config").mkdir()
        (hostile / "config" / "smoke.yaml").write_text(TINY.format(url=server.base_url), encoding="utf-8")
        deployed = installed.run(hostile, "basic-control", "deploy", "--port", port, **served.extra)
        assert deployed.returncode == 0, deployed.stdout + deployed.stderr
        assert SECRET.partition(":")[2] not in deployed.stdout + deployed.stderr
        smoke = check_deployments(place)
        # Beside the hourly one, for which nobody waits.
        often = [{"schedule": {"interval": 20}, "active": True}]
        place.send("POST", f"/deployments/{smoke}/schedules", often)
        place.wait(lambda: begun(place), "no scheduled run was begun")
        # Before its end, however long a busy machine takes for that: else the next one may be there as well.
        place.send("PATCH", f"/deployments/{smoke}", {"paused": True})
        ended = place.wait(lambda: completed(place, 1), "no scheduled run was completed")
        assert len(server.requests) == 4
        manifest = check_exhibits(place, hostile, ended)
        retry = {"state": {"type": "SCHEDULED", "name": "AwaitingRetry"}, "force": True}
        answer = place.send("POST", f"/flow_runs/{ended['id']}/set_state", retry)
        assert answer["status"] == "ACCEPT", "the button Retry of the interface sends the same"
        place.wait(lambda: completed(place, 2, ended["id"]), "the retried run was not completed")
        assert len(server.requests) == 4, "a retry asks nothing that was answered"
    again = max((hostile / "artifacts" / "runs").glob("*/manifest.json"))
    stages = json.loads(again.read_text(encoding="utf-8"))["stages"]
    assert {s["stage"] for s in stages if s["cached"]} >= {"generate", "prepare", "verify", "score", "aggregate"}
    assert "query" in {s["stage"] for s in stages if not s["cached"]}, "its cache is the reply cache"
    assert [s["stage"] for s in stages] == [s["stage"] for s in manifest["stages"]]
    assert (hostile / "artifacts" / "store" / "prefect.db").is_file()
    assert lying(installed.site) == installed.files


def begun(place: Place) -> bool:
    return any(run["state_type"] != "SCHEDULED" for run in place.find("flow_runs"))


def completed(place: Place, count: int, run: str = "") -> dict[str, Any] | None:
    """Return a run that was completed at its `count`th start."""
    filters = {"flow_runs": {"id": {"any_": [run]}}} if run else {"flows": {"name": {"any_": ["full_eval"]}}}
    runs = place.find("flow_runs", **filters)
    ended = [(r["state_name"], r["state"]["message"]) for r in runs if r["state_type"] in {"FAILED", "CRASHED"}]
    assert not ended, f"{ended}\n{place.logs()}"
    return next((r for r in runs if r["state_type"] == "COMPLETED" and r["run_count"] == count), None)


def check_deployments(place: Place) -> str:
    """Hold what Prefect's server was told to what was meant; return the smoke run's deployment."""
    found = {one["name"]: one for one in place.find("deployments")}
    nightly = found["nightly"]
    assert nightly["schedules"][0]["schedule"]["cron"] == "0 2 * * *"
    assert nightly["schedules"][0]["schedule"]["timezone"] == "Europe/Berlin"
    assert nightly["enforce_parameter_schema"] is True
    assert nightly["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert nightly["global_concurrency_limit"]["limit"] == 1
    assert "threshold" in nightly["parameter_openapi_schema"]["definitions"]["Suite"]["properties"], "a form"
    assert {one["name"] for one in place.find("automations")} == {"Crash silent runs"}
    bad = {"parameters": {"settings": {"models": [], "suites": ["nonsense"]}}}
    refused = place.client.post(f"/deployments/{nightly['id']}/create_flow_run", json=bad)
    assert refused.status_code in {409, 422}, refused.text
    return str(found["smoke"]["id"])


def check_exhibits(place: Place, folder: Path, ended: dict[str, Any]) -> dict[str, Any]:
    """Hold what the interface shows of the run to its folder; return its manifest."""
    assert ended["auto_scheduled"], "the schedule's run, not one of ours"
    assert set(ended["tags"]) >= {"basic-control", "smoke"}
    (path,) = (folder / "artifacts" / "runs").glob("*/manifest.json")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert manifest["requests"]["answered"] == 4
    assert list((folder / "artifacts" / "store" / "results").iterdir()), "stages are remembered by their store"
    shown = place.find("artifacts", artifacts={"flow_run_id": {"any_": [ended["id"]]}})
    of_run = {one["key"]: one for one in shown}
    assert set(of_run) == {"report", "summary", "folder"}
    markdown = next(path.parent / one for one in manifest["reports"] if one.endswith(".md"))
    assert of_run["report"]["data"] == markdown.read_text(encoding="utf-8")
    assert path.parent.as_uri() in of_run["folder"]["data"]
    (row,) = json.loads(of_run["summary"]["data"])
    assert [*row] == ["Model", "Arithmetic", "Logic", "average ≥ 80"], "the table of the run's screen"
    assert row["Model"] == "tiny"
    progress = [one for one in place.find("artifacts") if one["type"] == "progress"]
    assert [one["data"] for one in progress] == [100.0]
    assert "4 of 4" in progress[0]["description"]
    name = {"event": {"name": ["basic-control.run.concluded"]}}
    (told,) = place.wait(lambda: place.find("events", filter=name), "the end was not told as an event", 20)
    assert told["payload"]["requests"]["asked"] == 4
    return manifest


CRON = ["--config", "eval.yaml", "--cron", "5 4 * * 0"]


def test_a_folder_elsewhere_deploys_its_own_declarations_or_one_configuration(
    served: Served, tmp_path: Path
) -> None:
    """The folder's own `prefect.yaml` goes before that of the checkout, and a configuration before both."""
    place = served.place
    (tmp_path / "eval.yaml").write_text(
        "models: [{name: m, provider: openai, base_url: 'http://127.0.0.1:1/v1'}]\nsuites: [basic_control]\n"
    )
    text = (TOP / "prefect.yaml").read_text(encoding="utf-8")
    (tmp_path / "prefect.yaml").write_text(text.replace("name: nightly", "name: elsewhere"), encoding="utf-8")
    for words, said in (
        ([], f"what {tmp_path}/prefect.yaml declares"),
        (CRON, "Deploying eval.yaml at '5 4 * * 0'"),
    ):
        done = subprocess.run(
            [*place.command("deploy"), *words],
            cwd=tmp_path, env=place.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in done.stderr
    found = {one["name"]: one for one in place.find("deployments")}
    assert "elsewhere" in found
    assert found["eval"]["schedules"][0]["schedule"]["cron"] == "5 4 * * 0"
    assert found["eval"]["parameters"]["settings"]["models"][0]["name"] == "m"
    assert found["eval"]["entrypoint"] == "basic_control.deployed.full_eval", "found from any folder"
    (works,) = found["eval"]["pull_steps"]
    assert works["prefect.deployments.steps.set_working_directory"]["directory"] == str(tmp_path)
    assert found["eval"]["job_variables"]["env"]["PREFECT_LOCAL_STORAGE_PATH"].startswith(f"{tmp_path}/")
    for one in found.values():
        place.send("DELETE", f"/deployments/{one['id']}")


def test_the_images_health_check_tells_a_server_that_answers_from_none(served: Served) -> None:
    """The command of the Dockerfile's HEALTHCHECK; what it asks needs no password."""
    found = re.search(r"HEALTHCHECK[^\[]*CMD (\[.*\])", (TOP / "Dockerfile").read_text(encoding="utf-8"))
    assert found
    _, *words = json.loads(found[1])

    def well(port: int) -> bool:
        environment = {"BASIC_CONTROL_HEALTH": f"http://127.0.0.1:{port}/api/health"}
        return not subprocess.run(
            [sys.executable, *words], env=environment, capture_output=True, check=False
        ).returncode

    assert well(served.place.port)
    assert not well(1)


def test_other_processes_find_our_modules_and_rules_are_the_checkouts(installed: Installed, hostile: Path) -> None:
    from basic_control.data.records import Family
    from basic_control.data.units import digest_of, identity_of
    from basic_control.tasks.stage import DECIDING

    subprocess.run(["git", "init", "-q", str(hostile.parent)], check=True)
    (hostile / "spawning.py").write_text(SPAWN, encoding="utf-8")
    done = installed.run(hostile, "python", "-P", "spawning.py", BASIC_CONTROL_PLUGINS=str(hostile / "plugins"))
    source = identity_of(Family, "simple_logic").source
    assert done.stdout == f"[2, 1] loud {source} None {digest_of(*DECIDING)}\n", done.stderr


def evaluate(
    installed: Installed, server: Server, hostile: Path, prefect: dict[str, str] | None = None, **sets: str
) -> Path:
    """Run three families, of which a plug-in's is one, and a suite that is judged; return the run's folder."""
    words, there = evaluation(installed, server, hostile, **sets)
    done = installed.run(hostile, "basic-control", *words, **there, **(prefect or {}))
    assert done.returncode == 1, done.stderr
    assert len(server.requests) == CALLS
    return latest(hostile.parent)


def evaluation(
    installed: Installed, server: Server, hostile: Path, **sets: str
) -> tuple[list[str], dict[str, str]]:
    """Return the command of that run, and what its environment says."""
    rows = installed.wheel.with_name("answers.jsonl")
    row = {"question": "Who?", "response": "Anna.", "reference": "She did.", "retrieved_contexts": ["It was."]}
    rows.write_text(json.dumps(row) + "\n", encoding="utf-8")
    model = {"name": "echo", "provider": "openai", "base_url": server.base_url}
    sets |= {"models": json.dumps([model]), "judges": json.dumps([model | {"name": "judge"}]), "gate": "point"}
    sets |= {"suites": "[basic_control, rag]", "rag.data": str(rows), "basic_control.n_items": "3"}
    sets |= {"basic_control.families": "[saying, arithmetic, code_gen]", "report.html": "false"}
    sets |= {"store.root": str(hostile.parent / "store"), "store.runs": str(hostile.parent / "runs")}
    given = [word for name, value in sets.items() for word in ("--set", f"{name}={value}")]
    return ["run", *given], {"BASIC_CONTROL_PLUGINS": str(hostile / "plugins")}


CALLS = 9 + 5
"""Nine items; two splits, two checks and one rating."""


@pytest.fixture(scope="module")
def alone(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evaluate in a hostile folder by threads, and return where."""
    folder = tmp_path_factory.mktemp("alone")
    with serve_openai(speak) as server:
        evaluate(installed, server, made_hostile(folder / "mine"))
    return folder


def test_a_run_comes_to_its_verdict_in_a_hostile_folder(alone: Path) -> None:
    """The sandbox's workers are processes of their own."""
    run = latest(alone)
    cells = json.loads((run / "results.json").read_text(encoding="utf-8"))["cells"]
    means = {
        cell["family"]: cell["mean"] for cell in cells if cell["family"] and not cell["level"] + cell["language"]
    }
    assert means == {"saying": 1.0, "arithmetic": 0.0, "code_gen": 0.0, "answers": 0.5}
    assert json.loads((run / "manifest.json").read_text(encoding="utf-8"))["commit"] is None


@pytest.mark.parametrize("runner", ["dask", "ray"])
def test_a_cluster_finds_our_modules_and_comes_to_the_same_scores_as_threads(
    installed: Installed, alone: Path, hostile: Path, server: Server, *, runner: str, request: pytest.FixtureRequest
) -> None:
    """With a temporary Prefect server of the run's own, and with one that is there."""
    if not (PACKAGES / f"prefect_{runner}").exists():
        pytest.skip(f"the extra basic-control[{runner}] is not installed here")
    prefect = request.getfixturevalue("served").extra if runner == "ray" else None
    evaluate(installed, server, hostile, prefect, runner=runner, runner_workers="2")
    assert outcome(hostile.parent) == outcome(alone)
    # In this process, of the checkout: its rules are the installed ones', by the test of them above.
    words, there = evaluation(installed, server, hostile)
    code, _, said = inside.call(words, installed.environment(**there))
    assert (code, len(server.requests)) == (1, CALLS), f"nothing is asked twice: {said}"
    assert outcome(hostile.parent) == outcome(alone)
    manifest = json.loads((latest(hostile.parent) / "manifest.json").read_text(encoding="utf-8"))
    stages = manifest["stages"]
    fresh = {row["stage"] for row in stages if not row["cached"]}
    assert fresh == {"query", "judge", "results", "gate", "report"}, "threads take over what the cluster left"


def test_the_demo_shows_its_report_in_a_hostile_folder(installed: Installed, hostile: Path) -> None:
    """Its replies are package data, and no network is needed: whatever is asked of one goes to a closed port."""
    before = {*hostile.iterdir()}
    closed = f"http://127.0.0.1:{free_port()}"
    done = installed.run(
        hostile, "basic-control", "demo", HTTP_PROXY=closed, HTTPS_PROXY=closed, NO_PROXY="127.0.0.1"
    )
    assert done.returncode == 0, done.stderr
    assert {*hostile.iterdir()} - before == {hostile / "basic-control-demo"}
    (report,) = (hostile / "basic-control-demo" / "runs").glob("*/reports/*.html")
    assert f"Report: {report.relative_to(hostile)}\n" in done.stdout
    assert "Your own models, in the same form: basic-control run config/ollama.yaml\n" in done.stdout


def test_an_application_imports_its_own_config(installed: Installed, tmp_path: Path) -> None:
    """Of the example, which has one; ours is on no path of its process."""
    folder = tmp_path / "mine"
    shutil.copytree(TOP / "docs" / "examples" / "python-function", folder)
    done = installed.run(folder, "basic-control", "run", "--config", "run.yaml", "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    (run,) = (folder / "artifacts" / "runs").iterdir()
    (model,) = json.loads((run / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    assert model["suites"][0]["parts"] == {"exact_match": pytest.approx(2 / 3)}


def test_python_evaluates_where_every_name_of_ours_is_taken(installed: Installed, hostile: Path) -> None:
    """A function, a plug-in of today's form and a decorated one, in a folder whose modules must not be imported."""
    (hostile / "plugins" / "short.py").write_text(
        "import basic_control as bc\n\n\n@bc.metric\ndef short(response) -> bool:\n    return len(response) < 9\n",
        encoding="utf-8",
    )
    program = hostile / "program.py"
    program.write_text(
        "import sys\n"
        "import basic_control as bc\n"
        "rows = [{'question': 'a', 'answer': 'A'}, {'question': 'b', 'answer': 'C'}]\n"
        "metrics = ['exact_match', 'loud', 'short']\n"
        "suite = {'score': ['exact_match']}\n"
        "run = bc.evaluate(rows, str.upper, metrics=metrics, suite=suite, threshold=0.5, plugins=['plugins'])\n"
        "print(run.passed, run.samples.select('exact_match', 'loud', 'short').rows())\n"
        "print(bc.read(run.folder).verdict == run.verdict, {'data', 'config', 'flows'} & {*sys.modules})\n",
        encoding="utf-8",
    )
    done = installed.run(hostile, "python", "program.py")
    assert done.stdout == "True [(1.0, 1.0, 1.0), (0.0, 1.0, 1.0)]\nTrue set()\n", done.stderr
