"""Plug-ins as decorated functions, read from files beside those that have a `UNIT`, and used by a run."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import basic_control as bc
from basic_control.data import plugins
from basic_control.data.records import Family, Loader, Metric, Provider

UNITS = '''
"""A unit of each kind."""

import basic_control as bc


@bc.metric
def loud(response: str) -> bool:
    return response.isupper()


@bc.metric(name="near", version=3, needs=["answer"])
def nearness(response, answer, limit: float = 0.5):
    """Score the common beginning."""
    if answer == "unknown":
        return None
    same = sum(1 for a, b in zip(response, answer) if a == b) / len(answer)
    return bc.Score(same if same >= limit else 0.0, reason=f"{same:.0%}")


@bc.family(levels={"easy": {"length": 3}, "hard": {"length": 9}})
def letters(rng, *, length, alphabet="abc"):
    word = "".join(rng.choices(alphabet, k=length))
    return f"Say {word}.", word


@bc.loader(files=["path"])
def lines(path: str = "words.txt"):
    for line in open(path, encoding="utf-8"):
        yield {"question": line.strip(), "answer": line.strip().upper()}


@bc.provider
async def shouting(prompt, item, suffix="!"):
    return {"text": prompt.upper() + suffix, "contexts": [item["item_id"]]}


@bc.provider(name="calm", version=2)
def quiet(prompt, model):
    if "cat" in prompt:
        raise ValueError("no cats")
    return f"{model}: {prompt}"
'''
FORMER = """
from basic_control.data.records import Metric, Score

UNIT = Metric("old_form", 1, (0.0, 1.0), lambda sample, found, options: Score(1.0))
"""
FORMER_UNITS = """
from data.records import Family, Item, Loader, Provider, Verdict

UNITS = [
    Family("old_family", 1, {"easy": {}}, lambda rng: Item("?", "7"), lambda item, reply: Verdict(True, "")),
    Loader("old_loader", 1, lambda options, required: [Item("?", options["answer"])], options={"answer": "7"}),
    Provider(name="old_provider", version=1, open=lambda model: f"client of {model}"),
]
"""
FULL = """
import basic_control as bc
from basic_control.data.options import Frozen


class Options(Frozen):
    limit: float = 0.5


@bc.metric(options=Options, needs=lambda options: ("answer",) if options["limit"] else (), yes_no=True)
def full_metric(sample, _replies, options):
    return bc.Score(float(len(sample["response"]) > options["limit"]))


@bc.loader(options={"answer": "7"}, files=lambda options: [options["answer"]])
def full_loader(options, required):
    yield bc.Item("?", options["answer"], facts={"required": required})


@bc.provider(options=Options, by_item=True)
def full_provider(model):
    return f"client of {model}"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Stand in a folder with plug-ins of both forms; forget them at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(plugins.VARIABLE, "")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "units.py").write_text(UNITS, encoding="utf-8")
    (tmp_path / "mine" / "former.py").write_text(FORMER, encoding="utf-8")
    (tmp_path / "mine" / "former_units.py").write_text(FORMER_UNITS, encoding="utf-8")
    (tmp_path / "mine" / "full.py").write_text(FULL, encoding="utf-8")
    (tmp_path / "words.txt").write_text("ape\nbee\ncat\n", encoding="utf-8")
    plugins.forget()
    plugins.use(["mine"])
    yield tmp_path
    plugins.forget()


def test_a_decorated_function_is_a_unit_of_its_name(folder: Path) -> None:
    assert folder.is_dir()
    assert {"loud", "near", "old_form"} <= {*plugins.discover(Metric)}
    assert "letters" in plugins.discover(Family)
    assert "lines" in plugins.discover(Loader)
    assert {"shouting", "calm"} <= {*plugins.discover(Provider)}
    loud, near = plugins.metric("loud"), plugins.metric("near")
    assert (loud.version, loud.yes_no, loud.needs, loud.options) == (1, True, (), {})
    assert (near.version, near.yes_no, near.needs, near.options) == (3, False, ("answer",), {"limit": 0.5})


def test_a_unit_of_each_kind_is_read_from_unit_and_units(folder: Path) -> None:
    assert folder.is_dir()
    assert plugins.metric("old_form").score({"response": "x"}, {}, {}) == bc.Score(1.0)
    family = plugins.family("old_family")
    assert family.verify(family.generate(Random(1)), "It is 7.").correct is True
    (item,) = plugins.loader("old_loader").load({"answer": "8"}, ())
    assert item.answer == "8"
    assert plugins.find_unit(Provider, "old_provider").open("m") == "client of m"


def test_a_function_with_a_units_own_parameters_is_called_as_it_is(folder: Path) -> None:
    assert folder.is_dir()
    unit = plugins.metric("full_metric")
    assert unit.score({"response": ""}, {}, {"limit": 0.5}) == bc.Score(0.0)
    assert callable(unit.needs)
    assert unit.needs({"limit": 1.0}) == ("answer",)
    assert (unit.yes_no, unit.bounds, unit.version) == (True, (0.0, 1.0), 1)
    loader = plugins.loader("full_loader")
    (item,) = loader.load({"answer": "8"}, ("question",))
    assert (item.answer, item.facts["required"], loader.files({"answer": "a.csv"})) == (
        "8",
        ("question",),
        ["a.csv"],
    )
    provider = plugins.find_unit(Provider, "full_provider")
    assert (provider.open("m"), provider.by_item, provider.sees, provider.brings) == (
        "client of m",
        True,
        None,
        None,
    )


def test_a_metric_takes_columns_by_name_and_returns_what_is_handy(folder: Path) -> None:
    assert folder.is_dir()
    loud, near = plugins.metric("loud"), plugins.metric("near")
    assert loud.score({"response": "YES"}, {}, {}) == bc.Score(1.0)
    assert loud.score({"response": "Yes"}, {}, {}) == bc.Score(0.0)
    assert loud.score({"response": " \n"}, {}, {}).status == "no_answer"
    half = {"response": "abxx", "answer": "abcd"}
    assert near.score(half, {}, {"limit": 0.5}).value == 0.5
    assert near.score(half, {}, {"limit": 0.6}).value == 0.0
    assert near.score({**half, "answer": "unknown"}, {}, {"limit": 0.5}).status == "not_applicable"


def test_a_family_draws_pairs_and_reads_the_last_line(folder: Path) -> None:
    assert folder.is_dir()
    letters = plugins.family("letters")
    item = letters.generate(Random(7), **letters.levels["hard"])
    assert (len(item.answer), item.prompt) == (9, f"Say {item.answer}.")
    assert letters.options == {"alphabet": "abc"}
    replies = {
        letters.reference(item): True,
        f"It is this:\n{item.answer.upper()}": True,
        f"**Answer: {item.answer}**": True,
        f"{item.answer}\nOr xyz": False,
        f"not {item.answer}": False,
        " ": None,
    }
    for reply, expected in replies.items():
        assert letters.verify(item, reply).correct is expected, reply


def test_every_family_form_of_today_is_kept(folder: Path) -> None:
    assert folder.is_dir()

    @bc.family(name="whole", verify=lambda item, reply: bc.Verdict(item.answer in reply, "said"), version=4)
    def draw(rng: Random, language: str = "en") -> bc.Item:
        return bc.Item(prompt=language, answer=str(rng.random()))

    assert (draw.name, draw.version, draw.options) == ("whole", 4, {})
    assert draw.verify(bc.Item("", "a"), "cat").correct is True


@pytest.mark.slow
def test_a_run_uses_units_of_every_kind(folder: Path) -> None:
    suites = [
        {"name": "words", "items": {"loader": "lines"}, "prompt": "{{ question }}"},
        {"name": "drawn", "items": {"loader": "families", "families": ["letters"], "n_items": 2, "seed": 7}},
    ]
    metrics = ({"near": {"limit": 0.1}, "loud": {}, "old_form": {}}, ["correct"])
    configuration = {
        "plugins": ["mine"],
        "models": [
            {"name": "s", "provider": "shouting", "suffix": "?"},
            {"name": "c", "provider": "calm", "model": "m"},
        ],
        "suites": [{**suite, "metrics": metric} for suite, metric in zip(suites, metrics, strict=True)],
    }
    (folder / "eval.yaml").write_text(json.dumps(configuration), encoding="utf-8")
    run = bc.run("eval.yaml", suite="words")
    replies = {(row["model"], row["question"]): row for row in run.samples.to_dicts()}
    assert {key: row["response"] for key, row in replies.items()} == {
        ("s", "ape"): "APE?", ("s", "bee"): "BEE?", ("s", "cat"): "CAT?",
        ("c", "ape"): "m: ape", ("c", "bee"): "m: bee", ("c", "cat"): None,
    }  # fmt: skip
    assert "quiet raised ValueError: no cats (units.py, line" in replies["c", "cat"]["error"]
    assert (replies["s", "ape"]["near"], replies["s", "ape"]["loud"]) == (1.0, 1.0)
    drawn = bc.run(configuration, suite="drawn", gate="off")
    assert drawn.samples["correct"].to_list() == [0.0] * drawn.samples.height


@pytest.mark.slow
def test_a_metric_of_a_file_is_given_as_it_is(folder: Path) -> None:
    (folder / "program.py").write_text(
        "from mine.units import loud\nimport basic_control as bc\n\nROWS = [{'question': 'a', 'answer': 'A'}]\n"
        "if __name__ == '__main__':\n"
        "    run = bc.evaluate(ROWS, str.upper, metrics=[loud, 'near'], suite={'score': ['loud']})\n"
        "    print(run.samples.select('loud').to_dicts())\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == "[{'loud': 1.0}]\n", done.stderr
