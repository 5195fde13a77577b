"""The container image, as far as it can be held to its word without an engine: its steps run, in a folder."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.commands import SCRIPT
from tests.conftest import TOP

NO_CAPABILITIES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
"""Before a command of root's: it may then write no more than the files' modes let it."""


@dataclass
class Stage:
    """A stage of a Dockerfile: its instructions in order, each with its argument."""

    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, name: str) -> list[str]:
        """Return the arguments of an instruction."""
        return [argument for instruction, argument in self.steps if instruction == name]

    @property
    def environment(self) -> dict[str, str]:
        """What its ENV lines set."""
        return dict(pair.split("=", 1) for line in self.all("ENV") for pair in line.split())


def stages() -> list[Stage]:
    """Read our Dockerfile: comments gone, continued lines joined; the first stage holds what is before any FROM."""
    text = re.sub(r"(?m)^#.*\n", "", (TOP / "Dockerfile").read_text(encoding="utf-8"))
    found = [Stage()]
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        instruction, _, argument = line.strip().partition(" ")
        if instruction == "FROM":
            found.append(Stage())
        if instruction:
            assert instruction.isupper(), line
            found[-1].steps.append((instruction, argument))
    return found


BEFORE, BUILDER, FINAL = stages()


def context(folder: Path) -> Path:
    """Copy what .dockerignore lets a builder have."""
    lines = (TOP / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in lines, "nothing but what is named"
    folder.mkdir()
    for name in (line[1:] for line in lines if line.startswith("!")):
        if (TOP / name).is_dir():
            shutil.copytree(
                TOP / name, folder / name, symlinks=True, ignore=lambda _, names: {"__pycache__"} & {*names}
            )
        else:
            shutil.copy(TOP / name, folder)
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Run the builder's steps on a fresh copy of the project; yield the tree that the final stage takes.

    In place of the image's Python there is this one. The packages come from uv's cache, and no bytecode is
    compiled: that much of the step is `make setup`'s.
    """
    folder = tmp_path_factory.mktemp("image")
    source, target = context(folder / "src"), folder / "basic-control"
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    known = {name: os.environ[name] for name in os.environ if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    environment = known | BUILDER.environment | {"VIRTUAL_ENV": str(target)}
    environment |= {"UV_NO_CACHE": "0", "UV_COMPILE_BYTECODE": "0"}
    environment["PATH"] = f"{folder / 'bin'}:{os.environ['PATH']}"
    for step in BUILDER.all("RUN"):
        shell = ["/bin/sh", "-c", step]
        done = subprocess.run(shell, cwd=source, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (step, done.stderr)
    shutil.rmtree(source)
    subprocess.run(["chmod", "-R", "a-w", target], check=True)
    yield target
    subprocess.run(["chmod", "-R", "u+w", target], check=True)


@pytest.mark.slow
def test_the_builder_makes_a_tree_of_the_lock_that_runs_where_nothing_may_be_written(
    tree: Path, tmp_path: Path
) -> None:
    """By a process without rights over others' files, as a user of the image; it writes to its own folder alone."""
    lock = (TOP / "requirements.lock").read_text(encoding="utf-8")
    locked = {tuple(pair) for pair in re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", lock)}
    (site,) = (tree / "lib").glob("python3*/site-packages")
    there = {
        (re.sub(r"[-_.]+", "-", name).lower(), version)
        for name, version in (path.name.removesuffix(".dist-info").split("-") for path in site.glob("*.dist-info"))
    }
    assert {name for name, _ in there} >= {"prefect", "polars", "psycopg", "s3fs", "xllamacpp", "opentelemetry-sdk"}
    assert not {"uv", "pip", "pytest", "ruff", "pyrefly", "ray", "llm"} & {name for name, _ in there}
    assert {name for name, _ in there - locked} - {"setuptools"} == {SCRIPT}, "3.11 puts its own into each venv"
    environment = {
        "PATH": f"{tree / 'bin'}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PREFECT_HOME": str(tmp_path / ".prefect"),
        "PYTHONDONTWRITEBYTECODE": FINAL.environment["PYTHONDONTWRITEBYTECODE"],
    }
    without = NO_CAPABILITIES if os.geteuid() == 0 else []

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        words = [*without, *command]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert run("touch", str(site / "x")).returncode != 0
    asked = run(*json.loads(FINAL.all("ENTRYPOINT")[0]), *json.loads(FINAL.all("CMD")[0]))
    assert asked.stdout.startswith(f"Usage: {SCRIPT} COMMAND")
    schema = run(SCRIPT, "schema")
    assert schema.returncode == 0, schema.stderr
    assert json.loads(schema.stdout)["properties"]["prices"], schema.stderr


def test_the_image_is_no_roots_writes_to_two_folders_and_names_no_host_of_packages() -> None:
    assert FINAL.all("USER") == ["10001"]
    assert FINAL.all("WORKDIR") == FINAL.all("VOLUME") == ["/data"]
    places = ("HOME", "PREFECT_HOME", "PREFECT_UI_STATIC_DIRECTORY")
    assert {FINAL.environment[name].split("/")[1] for name in places} == {"data", "tmp"}
    assert FINAL.all("COPY") == ["--from=builder /opt/basic-control /opt/basic-control"]
    images = [*BUILDER.all("FROM"), *FINAL.all("FROM")]
    assert [image.split()[0] for image in images] == ["${PYTHON}"] * 2
    assert BEFORE.all("ARG")[0].startswith("PYTHON=python:3.")
    for name in ("Dockerfile", ".dockerignore", "compose.yaml"):
        text = (TOP / name).read_text(encoding="utf-8")
        assert not re.search(r"index-url|pypi|trusted-host|find-links", text), name


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((TOP / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_compose_holds_no_secret_and_lets_only_this_machine_in() -> None:
    told = services()
    for name, service in told["services"].items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
        for key, value in service["environment"].items():
            if re.search(r"PASSWORD|AUTH|KEY|URL", key) and not str(value).startswith("http://"):
                assert re.search(r"\$\{\w+", value), f"{name}: {key} comes from the environment"
    text = (TOP / "compose.yaml").read_text(encoding="utf-8")
    for variable in ("BASIC_CONTROL_AUTH", "POSTGRES_PASSWORD"):
        assert f"${{{variable}:?" in text, "who has not set it is told so"


def test_compose_starts_each_service_when_what_it_needs_is_well() -> None:
    told = services()
    needs = {name: one.get("depends_on", {}) for name, one in told["services"].items()}
    assert needs == {
        "postgres": {},
        "server": {"postgres": {"condition": "service_healthy"}},
        "deploy": {"server": {"condition": "service_healthy"}},
        "worker": {"deploy": {"condition": "service_completed_successfully"}},
    }
    kept = {part.split(":")[0] for one in told["services"].values() for part in one["volumes"]}
    assert kept == {*told["volumes"]} == {"data", "postgres"}
    for name in ("server", "deploy", "worker"):
        one = told["services"][name]
        assert (one["read_only"], one["cap_drop"], one["cpus"]) == (True, ["ALL"], 2)
        assert one["tmpfs"] == ["/tmp"]  # noqa: S108 - a folder of the container's own
        assert one["volumes"] == ["data:/data"]
    assert told["services"]["worker"]["environment"]["BASIC_CONTROL_HEALTH"].endswith(":8080/health")
