"""The workflow files of docs/baselines.md: their shell steps, run as they stand, in a folder like a checkout's."""

import json
import re
import shlex
import shutil
import subprocess
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from basic_control.config.reading import read
from basic_control.flows.cli.application import main
from tests.conftest import TOP
from tests.helpers import inside
from tests.helpers.runs import at
from tests.helpers.wheels import PACKAGES, build_wheel, lend_packages
from tests.servers.running import serve_openai

PAGE = (TOP / "docs" / "baselines.md").read_text(encoding="utf-8")


def blocks() -> list[Any]:
    """Return the configuration of the page, and its workflow files."""
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]


def test_the_pages_suite_is_gated_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tickets.jsonl").write_text('{"question": "Q", "answer": "A"}\n', encoding="utf-8")
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump({"models": [{"name": "m"}], **blocks()[0]}), encoding="utf-8")
    (suite,) = read(path).suites
    assert (suite.gate_on, suite.k, suite.repeats) == ("pass_all_k", 3, 5)


def shell(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as a build does: in a shell that ends at the first failure."""
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a wheel of this tree, and the commands of an environment that has all but that."""
    folder = tmp_path_factory.mktemp("build")
    tools = folder / "venv" / "bin"
    venv.create(folder / "venv", with_pip=not lent_pip())
    (site,) = (folder / "venv" / "lib").glob("python3*/site-packages")
    lend_packages(site, folder / "locked")
    for path in lent_pip():
        (site / path.name).symlink_to(path)
        (tools / "pip").write_text('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n', encoding="utf-8")
        (tools / "pip").chmod(0o755)
    return build_wheel(folder), tools


def lent_pip() -> list[Path]:
    """Return the files of this environment's pip, where it has one: to install another takes seconds."""
    return [*PACKAGES.glob("pip"), *PACKAGES.glob("pip-*.dist-info")]


def test_every_action_and_image_is_pinned_and_the_key_stands_in_one_step() -> None:
    _, github, gitlab = blocks()
    assert github["permissions"] == {"contents": "read"}
    steps = [step for job in github["jobs"].values() for step in job["steps"]]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in steps if "uses" in step)
    assert [step["name"] for step in steps if "secrets." in json.dumps(step)] == ["Evaluate"]
    comment = github["jobs"]["comment"]
    assert comment["permissions"] == {"pull-requests": "write"}
    assert not any("checkout" in step.get("uses", "") for step in comment["steps"])
    images = [
        gitlab["evaluate"]["image"],
        *re.findall(r"^ARG PYTHON=(\S+)", (TOP / "Dockerfile").read_text(), re.MULTILINE),
    ]
    images += [
        one["image"]
        for one in yaml.safe_load((TOP / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
        if one.get("image", "basic-control") != "basic-control"
    ]
    assert len(images) == 3
    assert all(re.search(r"@sha256:[0-9a-f]{64}$", image) for image in images)


def test_nothing_tells_a_user_to_install_a_name_that_is_not_ours() -> None:
    """No distribution of that name is published: what pip finds under it one day is somebody else's."""
    named = re.compile(r"pip(?:x)? install (?!--no-index)[^\n`]*\bbasic-control\b")
    files = [TOP / "README.md", TOP / "SECURITY.md", *TOP.glob("docs/**/*.md"), *TOP.glob("prompts/*/*.yaml")]
    files += [
        path for room in ("flows", "tasks", "data", "config", "metrics") for path in TOP.glob(f"{room}/**/*.py")
    ]
    assert [path.name for path in files if named.search(path.read_text(encoding="utf-8"))] == ["tutorial.md"]


@pytest.mark.slow
def test_the_shell_steps_of_both_workflows_run_and_keep_the_replies(
    environment: dict[str, str], tmp_path: Path, monkeypatch: Any, clean: tuple[Path, Path]
) -> None:
    _, github, gitlab = blocks()
    steps = {step["name"]: step["run"] for step in github["jobs"]["evaluate"]["steps"] if "name" in step}
    wheel, tools = clean
    folder = tmp_path / "checkout"
    (folder / "wheels").mkdir(parents=True)
    shutil.copy(wheel, folder / "wheels")
    given = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    given |= {"PATH": f"{tools}:{environment['PATH']}", "PIP_NO_INDEX": "1"}
    given["PIP_NO_COMPILE"] = "1"  # what runs compiles what it imports, and that is a part
    given |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "shown.md")}
    # The same commands in both, so each is run once.
    assert [steps["Install"]] == gitlab["evaluate"]["before_script"]
    assert shlex.split(steps["Evaluate"].replace("\\\n", "")) == shlex.split(*gitlab["evaluate"]["script"])
    done = shell(steps["Install"], folder, given)
    assert done.returncode == 0, done.stderr
    rows = [{"question": f"Country {n}", "answer": "Oslo"} for n in range(20)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai(lambda _: "Oslo") as server:
        models = yaml.safe_load(at(server, name="a").removeprefix("models="))
        suite = {"name": "capitals", "items": {"data": "rows.jsonl"}, "metrics": {"exact_match": {}}}
        suite["prompt"] = "The capital of {{ question }}"
        config = {"models": models, "suites": [suite]}
        (folder / "eval.yaml").write_text(json.dumps(config), encoding="utf-8")
        code, _, said = inside.call(["run", "--config", "eval.yaml"], given, folder)
        assert code == 0, said
        monkeypatch.chdir(folder)
        (run,) = (folder / "artifacts" / "runs").iterdir()
        assert main(["baseline", "set", "main", run.name]) == 0
        done = shell(steps["Evaluate"], folder, given)
        assert done.returncode == 0, done.stderr
        assert ET.parse(folder / "junit.xml").getroot().get("failures") == "0"  # noqa: S314 - our own file
        held = json.loads((folder / "results.json").read_text(encoding="utf-8"))["baseline"]
        assert held["headlines"][0]["decision"]["outcome"] == "held"
        assert len(server.requests) == 20, "the replies of the first run are in the store that the build keeps"
    assert shell(steps["Show"], folder, given).returncode == 0
    assert "## Basic Control" in (tmp_path / "shown.md").read_text(encoding="utf-8")
