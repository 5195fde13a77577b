"""Units' identities: what a unit imports or reads moves its source, however indirectly."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from basic_control.data import plugins, units
from basic_control.data.errors import InputError
from basic_control.data.records import Family, Loader, Metric
from basic_control.data.units import RULES, SANDBOX, TOP, UnitIdentity, identity_of, list_source_files, verifier_of


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a copy of our rules, which may be edited; identities are read from it."""
    for room in (*RULES, SANDBOX):
        shutil.copytree(TOP / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(units, "TOP", tmp_path)
    read_again()
    yield tmp_path
    monkeypatch.undo()
    read_again()


def read_again() -> None:
    """Read all sources as a process does that starts now."""
    units.digest_of.cache_clear()
    plugins.forget()


def added(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(f"{path.read_text('utf-8')}{text}", encoding="utf-8")


@pytest.mark.parametrize(
    "edited",
    [
        "metrics/contains.py", "metrics/_replies.py", "data/number_words.yaml", "prompts/ru/claims/split.j2",
        "generators/simple_logic/comparisons.py", "data/samples/word_problems.jsonl",
    ],
)  # fmt: skip
def test_an_edited_rule_moves_the_source_of_each_unit(tree: Path, edited: str) -> None:
    known: list[tuple[Any, str]] = [
        (Metric, "contains"),
        (Family, "simple_logic"),
        (Loader, "word_problems"),
        (Family, "code_gen"),
    ]
    before = [identity_of(kind, name).source for kind, name in known]
    added("\n# another rule\n")(tree / edited)
    read_again()
    after = [identity_of(kind, name).source for kind, name in known]
    assert all(old != new for old, new in zip(before, after, strict=True))


def test_an_edited_sandbox_moves_the_source_of_what_runs_programs(tree: Path) -> None:
    known: list[tuple[Any, str, bool]] = [
        (Metric, "contains", False), (Metric, "code_tests", True), (Family, "simple_logic", False),
        (Family, "code_gen", True),
    ]  # fmt: skip
    before = [identity_of(kind, name) for kind, name, _ in known]
    added("\n// another runner\n")(tree / SANDBOX / "harness.kt")
    read_again()
    after = [identity_of(kind, name) for kind, name, _ in known]
    assert [old != new for old, new in zip(before, after, strict=True)] == [runs for *_, runs in known]


def test_bytecode_and_what_an_editor_leaves_move_nothing(tree: Path) -> None:
    before = identity_of(Metric, "contains")
    for name in ("metrics/__pycache__/contains.cpython-311.pyc", "metrics/.contains.py.swp"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_bytes(b"0")
    read_again()
    assert identity_of(Metric, "contains") == before


def test_a_source_is_the_same_wherever_its_files_lie(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied = identity_of(Metric, "factual_correctness")
    assert (tree / "metrics").is_dir()
    monkeypatch.undo()
    read_again()
    assert identity_of(Metric, "factual_correctness") == copied


@pytest.mark.parametrize(
    "line",
    [
        "import helper",
        "import os, helper as h",
        "import helper.inner",
        "from helper import thing",
        "from helper import (  # of (ours)\n    one as two,\n    three,\n)",
        "from helper \\\n    import one, \\\n    two",
        "from\\\n helper import one",
        "if True: import helper",
        "pass; from helper import(one)",
        "def score():\n\timport helper",
        "try:\n    from helper import one\nexcept ImportError: pass",
        "from helper import *  # everything",
        "import importlib\nmodule = importlib.import_module('helper')",
        "module = __import__('helper')\nurl = 'http://127.0.0.1/a.b', '', '..', '/', 'a\\0b', '.' * 5000",
        'module = __import__(\n    "helper"\n)',
        "import wrapped",
        "from pack import helping",
        "from pack.helping import one",
        "import pack.helping",
    ],
)
def test_each_form_of_an_import_counts(tmp_path: Path, line: str) -> None:
    """`wrapped` and `pack` bring `helper` in at one more remove, by a relative import and inside a function."""
    files = {
        "unit.py": f"{line}\n",
        "helper.py": "one = 1\n",
        "wrapped.py": "def late():\n    from helper import one\n",
        "pack/__init__.py": '"""Only a docstring."""\n',
        "pack/helping.py": "from . import deeper\nfrom .deeper import *\n",
        "pack/deeper.py": "from ..helper import one\nimport helper\n",
    }
    plugins.forget()
    (tmp_path / "pack").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    compile(files["unit.py"], "unit.py", "exec")
    found = {
        path.relative_to(tmp_path).as_posix()
        for path in list_source_files(tmp_path / "unit.py", plugins.Plugin(tmp_path))
    }
    assert {"unit.py", "helper.py"} <= found


PLUGIN = """
from pathlib import Path
from typing import Any

from basic_control.data.records import Family, Item, Metric, Score, Verdict

HERE = Path(__file__).parent


def score(sample, found, options):
    from _words import loud

    polite = (HERE / "polite.txt").read_text() + Path(__file__).with_suffix(".toml").read_text()
    lists = [path.read_text() for path in (HERE / "lists").iterdir()]
    spoken = (HERE / f"{sample['language']}.md").read_text() + (HERE / "two words.yaml").read_text()
    learnt = (HERE / "learnt.csv").read_text() + (HERE / "artifacts" / "polite.txt").read_text()
    return Score(float(loud(sample["response"])))


UNITS = [
    Metric("tone", 3, bounds=(0.0, 1.0), score=score),
    Family("coins", 1, {"easy": {}}, lambda rng: Item("?", "1"), lambda *_: Verdict(True, ""), verifier_version=2),
]
"""


MOVING = ["tone.py", "_words.py", "polite.txt", "lists/a.txt", "tone.toml", "ru.md", "two words.yaml"]
STILL = [
    "_other.py", "elsewhere/b.txt", "unread.txt", "en/mild/rate.j2", "en/mild/part.j2", "learnt.csv",
    "lists/b.json", "artifacts/polite.txt", ".kept/polite.txt", "lists/run/manifest.json", "lists/run/report.md",
]  # fmt: skip


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Use a folder of plug-ins: a metric and a family in one file, with a helper and files that it reads."""
    folder = tmp_path / "plugins"
    texts = {"tone.py": PLUGIN, "_words.py": "loud = str.isupper\n", "_other.py": "", "polite.txt": "please"}
    texts |= dict.fromkeys(MOVING[3:] + STILL[1:], "") | {"en/mild/rate.j2": "{% include 'en/mild/part.j2' %}"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, "")
    plugins.use([folder])
    yield folder
    monkeypatch.undo()
    plugins.forget()


@pytest.mark.usefixtures("plugin")
def test_a_plug_ins_identity_is_its_name_version_and_source() -> None:
    tone, coins = identity_of(Metric, "tone"), identity_of(Family, "coins")
    assert (tone.name, tone.version, coins.version) == ("tone", 3, 1)
    assert verifier_of(plugins.family("coins")) == UnitIdentity("coins", 2, coins.source)
    assert tone.source == coins.source, "one file"
    assert len(tone.source) == 16


@pytest.mark.parametrize("name", MOVING)
def test_a_plug_ins_helpers_and_files_move_its_source(plugin: Path, name: str) -> None:
    before = identity_of(Metric, "tone")
    added("\n")(plugin / name)
    plugins.forget()
    assert identity_of(Metric, "tone") != before


@pytest.mark.parametrize("name", STILL)
def test_what_a_plug_in_does_not_name_does_not(plugin: Path, name: str) -> None:
    before = identity_of(Metric, "tone")
    added("\n")(plugin / name)
    (plugin / "new.py").write_text('"""A docstring."""\n', encoding="utf-8")
    plugins.forget()
    assert identity_of(Metric, "tone") == before


def test_two_files_of_one_name_that_are_swapped_move_the_source(plugin: Path) -> None:
    added("\nLISTS = 'en/tone/words.txt', 'ru/tone/words.txt'\n")(plugin / "tone.py")
    there = [plugin / language / "tone" / "words.txt" for language in ("en", "ru")]
    for path, text in zip(there, ("yes", "no"), strict=True):
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    plugins.forget()
    before = identity_of(Metric, "tone")
    for path, text in zip(there, ("no", "yes"), strict=True):
        path.write_text(text, encoding="utf-8")
    plugins.forget()
    assert identity_of(Metric, "tone") != before


BESIDE = """
from basic_control.data.records import Metric, Score
from {module} import WORTH

UNIT = Metric("{name}", 1, bounds=(0.0, 1.0), score=lambda sample, found, options: Score(WORTH))
"""


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder that Python searches, with two folders for plug-ins; the first has a helper."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    (tmp_path / "first" / "worth_of.py").write_text("WORTH = 1.0\n", encoding="utf-8")
    (tmp_path / "first" / "one.py").write_text(BESIDE.format(name="one", module="worth_of"), encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    for name in ("worth_of", "first", "first.worth_of"):
        sys.modules.pop(name, None)
    monkeypatch.undo()
    plugins.forget()


def test_a_helper_that_another_plug_ins_hides_is_refused(two: Path) -> None:
    """Python imports the first of a name, and the second plug-in would be scored by it."""
    (two / "second" / "worth_of.py").write_text("WORTH = 0.0\n", encoding="utf-8")
    (two / "second" / "other.py").write_text(BESIDE.format(name="other", module="worth_of"), encoding="utf-8")
    plugins.use([two / "first", two / "second"])
    assert identity_of(Metric, "one")
    with pytest.raises(InputError, match=r"`import worth_of` in .*second finds the module of .*first, not its own"):
        identity_of(Metric, "other")


@pytest.mark.parametrize(("place", "module"), [("second", "worth_of"), ("first", "first.worth_of")])
def test_a_helper_counts_by_whatever_name_it_is_imported(two: Path, place: str, module: str) -> None:
    """That of another plug-in, and that of the own folder by the folder's name, from where the run starts."""
    (two / place / "other.py").write_text(BESIDE.format(name="other", module=module), encoding="utf-8")
    plugins.use([two / "first", two / "second"])
    before = identity_of(Metric, "other")
    added("# edited\n")(two / "first" / "worth_of.py")
    plugins.forget()
    assert identity_of(Metric, "other") != before


def test_a_plug_ins_own_judge_prompt_moves_its_source(plugin: Path) -> None:
    added("\nPROMPT = 'mild/rate'\n")(plugin / "tone.py")
    plugins.forget()
    for name in ("rate.j2", "part.j2"):
        before = identity_of(Metric, "tone")
        added("!")(plugin / "en" / "mild" / name)
        plugins.forget()
        assert identity_of(Metric, "tone") != before


def test_a_distributions_unit_is_hashed_with_the_distributions_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of everything that stands beside it among the installed packages, only what its distribution lists counts."""
    record = ["brief/__init__.py", "brief/rules.py", "brief/words.txt", "brief_helper.py"]
    texts = {
        "brief/__init__.py": "from brief.rules import UNIT\n",
        "brief/rules.py": "from brief_helper import limit\nimport somebody\n"
        "from data.records import Metric, Score\nWORDS = 'words.txt'\n"
        "UNIT = Metric('brief', 1, bounds=(0.0, 1.0), score=lambda sample, found, options: Score(limit))\n",
        "brief/words.txt": "a",
        "brief_helper.py": "limit = 1.0\n",
        "somebody.py": "",
        "brief-1.dist-info/METADATA": "Name: brief\nVersion: 1\n",
        "brief-1.dist-info/RECORD": "".join(f"{name},,\n" for name in record),
        "brief-1.dist-info/entry_points.txt": "[basic_control.metrics]\nbrief = brief:UNIT\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        plugins.forget()
        before = identity_of(Metric, "brief")
        added("# not of this distribution\n")(tmp_path / "somebody.py")
        plugins.forget()
        assert identity_of(Metric, "brief") == before
        for name in record:
            added("\n# edited\n")(tmp_path / name)
            plugins.forget()
            now = identity_of(Metric, "brief")
            assert now != before, name
            before = now
    finally:
        monkeypatch.undo()
        plugins.forget()


def test_a_module_that_is_no_file_has_no_source_to_read(tmp_path: Path) -> None:
    """One of an archive: its version alone tells it."""
    module = tmp_path / "packed.zip" / "packed.py"
    assert list_source_files(module, plugins.Plugin(tmp_path / "packed.zip")) == [module]
    assert not units.digest_file(module)


def test_every_unit_has_an_identity() -> None:
    found = [identity_of(Family, name) for name in plugins.families()]
    found += [identity_of(Metric, name) for name in plugins.metrics()]
    found += [identity_of(Loader, name) for name in plugins.discover(Loader)]
    assert len({(one.name, one.source) for one in found}) > 25
    assert all(one.version >= 1 and len(one.source) == 16 for one in found)


def test_a_module_of_an_imported_ones_name_in_another_folder_moves_nothing(tmp_path: Path) -> None:
    """A project's root may be the folder: what counts is what Python imports, not what bears its name."""
    plugins.forget()
    (tmp_path / "app" / "deep").mkdir(parents=True)
    (tmp_path / "unit.py").write_text("import json\nfrom helpers import text\n", encoding="utf-8")
    for name in ("helpers.py", "text.py", "app/helpers.py", "app/deep/json.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    files = list_source_files(tmp_path / "unit.py", plugins.Plugin(tmp_path))
    assert files == [tmp_path / "helpers.py", tmp_path / "unit.py"]
