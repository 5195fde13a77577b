"""Every command of the pages: parsed by the application itself, and run in this process where it asks no model."""

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.config.reading import read
from basic_control.data import plugins
from basic_control.flows.cli import application
from basic_control.flows.cli.options import RunOptions, parse_words, read_settings
from tests.conftest import TOP
from tests.helpers import inside
from tests.helpers.pages import blocks_of, pages, write_files

OTHERS = {
    "cd": "the shell's own",
    "export": "the shell's own",
    "seq": "counts for xargs; what xargs starts is parsed",
    "docker": "needs a daemon; what it runs is parsed, and tests/basic_control/test_image.py takes its steps",
    "jq": "a tool of the reader's; it reads the lines that tests/flows/test_progress.py checks",
    "pip": "would install from a package index; tests/basic_control/test_wheel.py installs the wheel",
    "npm": "would download the compiler that .ci/run installs in the same way",
    "prefect": "Prefect's own; tests/basic_control/test_wheel.py starts them",
}
"""Commands of others that pages show, and why they are not run here."""
TRIED = {"audit", "compare", "label", "baseline", "runs", "store", "schema"}
"""Ours that ask no model and start no server: run in the folder of a finished evaluation."""
MODEL = {"provider": "python", "function": "app.py:answer"}
APP = '''
import json, re

CAPITALS = {"France": "Paris", "Norway": "Oslo", "Japan": "Tokyo", "Kenya": "Nairobi"}


def answer(prompt):
    """Say what the scores below were worked out from: as a model, and as a judge."""
    if "rating" in prompt:
        return json.dumps({"reason": "kind enough", "rating": 4})
    if word := re.search("are in '(.+)'", prompt):
        return str(sum(letter in "aeiou" for letter in word[1]))
    country = next(name for name in CAPITALS if name in prompt)
    if "nothing else" in prompt:
        return CAPITALS[country] if country in {"France", "Norway"} else "Rome"
    if "known for" in prompt:
        return "For its kitchen." if country == "France" else "For one thing and another, " * 4
    if "teach geography" in prompt or country == "France":
        return f"It is {CAPITALS[country]}."
    return "I do not know."
'''
OPERATORS = re.compile(r"[|;&<>()]+")
ASSIGNED = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True, slots=True)
class Line:
    """One command of a page, in words."""

    page: str
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


def commands(page: str, script: str) -> Iterator[Line]:
    """Yield the commands of a script: each part of a pipe and of a list, without where its output goes."""
    for line in script.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        aside = False
        for word in [*lexer, ";"]:
            if not OPERATORS.fullmatch(word):
                if not aside:
                    words.append(word)
                aside = False
            elif ">" in word or "<" in word:
                aside = True
                if words and words[-1] == "2":
                    words.pop()
            else:
                while words and ASSIGNED.match(words[0]):
                    words.pop(0)
                if words and words[0] == "xargs":
                    words = words[words.index("basic-control") :]
                if words:
                    yield Line(page, tuple(words))
                words = []


INLINE = re.compile(r"`(basic-control [^`]+)`")
"""A command in a table or in prose."""
WITHIN = ("docs/coming-from.md", "docs/troubleshooting.md")
"""Pages whose commands stand in tables."""


def scripts(page: str) -> Iterator[str]:
    """Yield what a page has a reader type."""
    yield from (one.text for one in blocks_of(page) if one.language == "sh")
    if page in WITHIN:
        yield from INLINE.findall((TOP / page).read_text(encoding="utf-8"))


LINES = list(dict.fromkeys(line for page in pages() for script in scripts(page) for line in commands(page, script)))


def meant(words: tuple[str, ...]) -> list[str] | None:
    """Return the words behind `basic-control` that a command stands for; None where it is none of ours."""
    if words[0] == "basic-control":
        return list(words[1:])
    if words[0] == "docker" and "run" in words:
        image = next(number for number, word in enumerate(words) if word in {"basic-control", "worker"})
        return list(words[image + 1 :])
    if words[:2] != ("python", "-m"):
        return None
    module, rest = words[2], words[3:]
    room, _, name = module.partition(".")
    if room == "flows":
        assert importlib.util.find_spec(module), module
        return ["run", *rest] if name == "full_eval" else ["run", name, *rest]
    return [*rest] if module == "basic_control" else None


OURS = [line for line in LINES if meant(line.words) is not None]


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Follow the tutorial in a folder, all suites in one run, and pin its baseline; return the run's name too."""
    folder = tmp_path_factory.mktemp("reader")
    write_files(folder, "docs/servers.md")
    write_files(folder, "docs/seeds.md")
    write_files(folder, "docs/tutorial.md")
    (folder / "app.py").write_text(APP, encoding="utf-8")
    for name in ("old.json", "new.json"):  # docs/foreign.md
        shutil.copy(TOP / "tests" / "fixtures" / "exchange" / "promptfoo.json", folder / name)
    whole: dict[str, Any] = {"gate": "off", "plugins": [], "suites": []}
    for one in blocks_of("docs/tutorial.md"):
        if one.language == "yaml":
            raw = yaml.safe_load(one.text)
            raw |= {"models": [{**MODEL, "name": "m"}], "judges": [{**MODEL, "name": "gpt-6.1-terra"}]}
            whole |= {"models": raw["models"], "judges": raw["judges"]}
            for key in ("plugins", "suites"):
                whole[key] += raw.get(key, [])
            (folder / one.file).write_text(yaml.safe_dump(raw), encoding="utf-8")
    for name in ("eval", "campaign", "run", "gsm8k/run"):
        (folder / f"{name}.yaml").parent.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(whole), encoding="utf-8")
    code, _, said = inside.call(["run", "--config", "eval.yaml"], os.environ, folder)
    assert code == 0, said
    runs = folder / "artifacts" / "runs"
    (run,) = (path.parent.name for path in runs.glob("*/manifest.json"))
    shutil.copytree(runs / run, runs / "20261121_020000")
    broken_off = runs / "29991231_235959"  # what `--resume` goes on with
    broken_off.mkdir()
    manifest = json.loads((runs / run / "manifest.json").read_text(encoding="utf-8"))
    begun = {**{key: manifest[key] for key in ("schema", "started", "configuration")}, "status": "running"}
    (broken_off / "manifest.json").write_text(json.dumps(begun), encoding="utf-8")
    with contextlib.chdir(folder):
        assert application.main(["baseline", "set", "main", run]) == 0
    return folder, run


def test_the_tutorials_suites_come_to_the_scores_worked_out_by_hand(evaluated: tuple[Path, str]) -> None:
    folder, run = evaluated
    document = json.loads((folder / "artifacts" / "runs" / run / "results.json").read_text(encoding="utf-8"))
    found = {
        model["model"]: {suite["suite"]: suite["parts"] for suite in model["suites"]}
        for model in document["final"]["models"]
    }
    assert found == {
        "m": {
            "capitals": {"exact_match": 0.5},
            "short_answers": {"brief": 0.25},
            "words": {"vowels": 1.0},
            "tone": {"rubric": 0.75},
        },
        "m [plain]": {"geography": {"contains": 0.25}},
        "m [expert]": {"geography": {"contains": 1.0}},
    }


def bound(words: list[str]) -> dict[str, Any]:
    """Parse a line as `main` does and return what its command would be given."""
    command = words[0] if words and not words[0].startswith("-") else application.DEFAULT
    line = words if words and words[0] == command else [command, *words]
    app = application.assemble(commands=[command])
    _, found, _ = app.parse_args(line, exit_on_error=False, print_error=False)
    return dict(found.arguments)


@pytest.mark.parametrize("line", OURS, ids=str)
def test_a_command_is_one_and_runs_where_it_asks_nobody(
    line: Line, evaluated: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its options are there, its values are good, `--set` changes what exists, and what reads runs ends with 0."""
    before, run = evaluated
    shutil.copytree(before, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv(plugins.VARIABLE, "")
    named = {"RUN": run, "RUN_A": run, "RUN_B": "20261121_020000", "{}": "7"}
    words = [named.get(word, word.replace("{}", "7")) for word in meant(line.words) or ()]
    if {"-h", "--help"} & {*words}:
        return
    found = bound(words)
    given = found.get("options")
    if isinstance(given, RunOptions):
        suite, given = parse_words(found.get("words") or [*filter(None, [found.get("file")])], given)
        assert read_settings("judges_exam" if words[0] == "exam" else suite, given)
    if words and words[0] in TRIED and "--labels" not in words and line.page not in WITHIN:
        assert application.main(words) == 0


@pytest.mark.parametrize("line", [line for line in LINES if line not in OURS], ids=str)
def test_a_command_of_others_is_known_and_makes_targets_are_there(line: Line) -> None:
    first = line.words[0]
    if first == "make":
        makefile = (TOP / "Makefile").read_text(encoding="utf-8")
        targets = [word for word in line.words[1:] if not ASSIGNED.match(word)]
        assert all(re.search(rf"^(?:\w+ )*{target}(?: \w+)*:", makefile, re.MULTILINE) for target in targets)
        return
    if line.words[:2] == ("python", "-m"):
        assert importlib.util.find_spec(line.words[2]), line
        return
    assert first in OTHERS, "run it by a rule of this file, or say here why that cannot be"


def test_what_is_not_run_is_little_and_still_shown() -> None:
    assert {line.words[0] for line in LINES} >= set(OTHERS)
    assert len(LINES) > 60
    assert sum(line.words[0] in OTHERS for line in LINES) < len(LINES) / 3


def test_every_module_that_a_page_names_as_a_command_is_there() -> None:
    """Also in prose: the benchmarks behind the figures, above all."""
    named = {
        name
        for page in pages()
        for name in re.findall(r"`python -m ([a-z_.]+)", (TOP / page).read_text(encoding="utf-8"))
    }
    table = (
        (TOP / "docs" / "benchmarks.md")
        .read_text(encoding="utf-8")
        .partition("| `python -m")[2]
        .partition("\n\n")[0]
    )
    named |= {f"tests.benchmarks.{name}" for name in re.findall(r"^\| `([a-z]+)", table, re.MULTILINE)}
    assert len(named) > 15
    assert [name for name in sorted(named) if not importlib.util.find_spec(name.rstrip("."))] == []


def test_shipped_configurations_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    for path in sorted((TOP / "config").glob("*.yaml")):
        assert read(path).suites
