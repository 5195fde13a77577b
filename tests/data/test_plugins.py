"""Units of other distributions: each kind is found by its entry points, and used by its name like any other."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from basic_control.config import declared
from basic_control.config.reading import read
from basic_control.data import plugins
from basic_control.data.decorators import metric
from basic_control.data.errors import InputError
from basic_control.data.records import Loader, Provider

GROUPS = {
    "generators": "coins",
    "metrics": "brevity",
    "loaders": "lines",
    "providers": "shouting",
    "suites": "letters",
}
MODULE = """\
from basic_control.data.records import Family, Item, Loader, Metric, Provider, Score, Verdict
import pydantic

coins = Family("coins", 1, {"easy": {}}, lambda rng: Item("?", "1"), lambda item, reply: Verdict(True, "right"))
class Words(pydantic.BaseModel):
    words: int = 50
brevity = Metric("brevity", 1, bounds=(0.0, 1.0), score=lambda sample, found, options: Score(1.0), options=Words)
lines = Loader("lines", 1, lambda options, required: [Item("a", "A")], {})
shouting = Provider("shouting", 1, open=print)
letters = "items: {loader: lines}\\nprompt: '{{ question }}'\\nmetrics: {brevity: {words: 3}}\\n"
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install a distribution with an entry point of each kind, as far as Python's search for them sees."""

    def forget() -> None:
        plugins.forget()
        declared._read_declarations.cache_clear()

    folder = tmp_path / "letters_of_others-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: letters-of-others\nVersion: 1\n", encoding="utf-8")
    points = [f"[basic_control.{kind}]\n{name} = letters_of_others:{name}\n" for kind, name in GROUPS.items()]
    (folder / "entry_points.txt").write_text("".join(points), encoding="utf-8")
    (tmp_path / "letters_of_others.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def test_a_unit_of_each_kind_is_found_by_its_entry_point_and_used_by_name(site: Path) -> None:
    assert (site / "letters_of_others.py").is_file()
    settings = read(None, ["models=[{name: a, provider: shouting}]", "suites=[letters]"])
    (suite,) = settings.suites
    assert (suite.name, suite.loader, suite.metrics["brevity"]["words"]) == ("letters", "lines", 3)
    assert settings.models[0].unit.name == "shouting"
    assert plugins.family("coins").name == "coins"


@pytest.mark.parametrize(
    ("group", "looked_for"),
    [
        ("generators", plugins.families),
        ("metrics", plugins.metrics),
        ("loaders", partial(plugins.discover, Loader)),
        ("providers", partial(plugins.discover, Provider)),
        ("suites", declared.load_declarations),
    ],
)
def test_an_entry_point_that_cannot_be_loaded_is_named(
    site: Path, group: str, looked_for: Callable[[], object]
) -> None:
    points = site / "letters_of_others-1.dist-info" / "entry_points.txt"
    points.write_text(f"[basic_control.{group}]\nbad = letters_of_others:gone\n", encoding="utf-8")
    with pytest.raises(InputError, match="entry point bad = letters_of_others:gone: cannot be loaded"):
        looked_for()


@pytest.mark.parametrize(
    ("unit", "asked"),
    [
        (
            'Family("arithmetic", 1, {"easy": {}}, lambda rng: Item("?", "1"), lambda item, reply: None)',
            plugins.family,
        ),
        ('Metric("contains", 1, bounds=(0.0, 1.0), score=print)', plugins.metric),
        ('Loader("table", 1, print, {})', plugins.loader),
        ('Provider("openai", 1, open=print)', partial(plugins.find_unit, Provider)),
    ],
)
def test_a_plugin_that_takes_a_shipped_name_is_told_and_none_of_the_two_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str, asked: Callable[[str], object]
) -> None:
    monkeypatch.setenv(plugins.VARIABLE, "")
    name = unit.split('"')[1]
    assert asked(name)
    mine = tmp_path / "mine.py"
    mine.write_text(f"from data.records import *\nUNIT = {unit}\n", encoding="utf-8")
    plugins.use([mine])
    try:
        with pytest.raises(InputError, match=rf"two units are named '{name}': .*{name}\.py and {mine}"):
            asked(name)
    finally:
        monkeypatch.undo()
        plugins.forget()


SUITE = """\
items: {data: rows.jsonl}
prompt: '{{ question }}'
metrics:
  contains: {%s}
"""


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"broken.py": "one = 1\n\ntwo = three\n"}, ["broken.py, line 3: cannot be loaded", "NameError"]),
        ({"b.yaml": f"name: own\n{SUITE % ''}"}, ["two suites", "own.yaml", "b.yaml"]),
        ({"cot.yaml": SUITE % ""}, ["two suites are named 'cot'", "suites/cot.yaml"]),
        ({"own.yaml": SUITE % "mod: any"}, ["own.yaml, line 4: unknown key 'metrics.contains.mod'"]),
        ({"own.yaml": f"{SUITE % ''}prompts: [a]\n"}, ["own.yaml: found both prompt and prompts"]),
    ],
)  # fmt: skip
def test_a_plug_in_that_is_wrong_is_told_with_its_file(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], words: list[str]
) -> None:
    """Nothing of a plug-in is silently left out: neither a broken file, nor a suite whose name is taken."""
    assert site.is_dir()
    monkeypatch.setenv(plugins.VARIABLE, "")
    folder = tmp_path / "plugins"
    folder.mkdir()
    for name, text in {"own.yaml": SUITE % "", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read(None, ["models=[{name: a, provider: shouting}]", f"plugins=[{folder}]", "suites=[own]"])
    for word in words:
        assert word in str(refused.value)


def test_a_name_in_place_of_a_function_is_told_how_names_are_given() -> None:
    make: Any = metric
    with pytest.raises(TypeError, match=r"found 'tone'; expected a function, or facts by their names"):
        make("tone")
