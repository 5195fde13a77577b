"""Expected answers in the forms of public data sets: read, or refused before anything is asked."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.plugins import loader, metric
from basic_control.flows.preflight import check_rows
from basic_control.metrics._choices import find_right_options, offer_of
from basic_control.tasks.plan import resolve
from basic_control.tasks.plan_remarks import check_expected, format_doubts, format_expected_remarks
from tests.conftest import Run
from tests.helpers.recorded import written
from tests.helpers.runs import latest

COLOURS = ["red", "blue", "green", "black"]
MANY = [f"city {number}" for number in range(13)]
Rows = Sequence[Mapping[str, Any]]


def row(answer: Any, response: str = "B", **more: Any) -> dict[str, Any]:
    return {"question": f"Which is it, {answer}, {response}?", "answer": answer, "response": response, **more}


def chosen(answer: Any, response: str = "B", options: Any = COLOURS) -> dict[str, Any]:
    return row(answer, response, options=options)


def suite(name: str, data: str, metrics: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    items = {"data": data, **changes.pop("items", {})}
    return {
        "name": name,
        "items": items,
        "prompt": "{{ question }}",
        "metrics": metrics,
        "threshold": 0.5,
        **changes,
    }


def beside(labels: str = "ABCD") -> dict[str, list[str]]:
    return {"text": COLOURS, "label": [*labels]}


FLAGGED = {"choices": COLOURS, "labels": [0, 1, 0, 0]}
ENTRIES = [{"key": key, "value": text} for key, text in zip("ABCD", COLOURS, strict=True)]
SHIPS = [{"text": "a ship", "tokens": ["a", "ship"]}, {"text": "boat", "tokens": ["boat"]}]
PARIS = {"value": "Paris", "aliases": ["City of Light"]}
FORMS: dict[str, tuple[dict[str, Any], Rows]] = {
    "index as text": ({"choice": {}}, [chosen("0", "A"), chosen("1"), chosen("3", "D")]),
    "index as float": ({"choice": {}}, [chosen(0.0, "A"), chosen(1.0), chosen("2.0", "C")]),
    "index from 1, as text": ({"choice": {}}, [chosen("1", "A", ["x", "y"]), chosen("2", "B", ["x", "y"])]),
    "index told": ({"choice": {"index": 0}}, [chosen(1), chosen(2, "C"), chosen("1")]),
    "letter and text": ({"choice": {}}, [chosen("B) blue"), chosen("B. blue"), chosen("(B) Blue")]),
    "letter in brackets": ({"choice": {}}, [chosen("(B)"), chosen("b"), chosen(["B"])]),
    "letter past the tenth": ({"choice": {}}, [chosen("K", "K", MANY), chosen("M", "M", MANY)]),
    "index past the tenth": ({"choice": {}}, [chosen(10, "K", MANY), chosen(0, "A", MANY)]),
    "ARC": (
        {"choice": {}},
        [chosen("B", "B", beside()), chosen("2", "blue", beside("1234"))],
    ),
    "CommonsenseQA": ({"choice": {}}, [chosen("D", "D", beside())]),
    "OpenBookQA, as JSON": ({"choice": {}}, [chosen("D", "black", json.dumps(beside()))]),
    "TruthfulQA": ({"choice": {}}, [chosen(FLAGGED, "B", FLAGGED)]),
    "MedQA, a mapping": ({"choice": {}}, [chosen("B", "B", dict(zip("ABCD", COLOURS, strict=True)))]),
    "MedQA, entries": ({"choice": {}}, [chosen("B", "blue", ENTRIES)]),
    "AQuA": ({"choice": {}}, [chosen("B", "B", ["A)21", "B)22", "C)23"]), chosen("B", "B", ["A) 21", "B) 22"])]),
    "lines": ({"choice": {}}, [chosen("B", "blue", "A) red\nB) blue\nC) green")]),
    "DREAM, the text": ({"choice": {}}, [chosen("blue"), chosen("Blue", "blue")]),
    "SQuAD": ({"exact_match": {}}, [row({"text": ["Paris", "Lutetia"], "answer_start": [3, 9]}, "Lutetia")]),
    "SQuAD's own file": ({"exact_match": {}}, [row([{"text": "Paris", "answer_start": 3}], "Paris")]),
    "NarrativeQA": (
        {"exact_match": {}},
        [row(SHIPS, "boat")],
    ),
    "TriviaQA": (
        {"exact_match": {}, "contains": {}},
        [row(PARIS, "Paris")],
    ),
    "aliases alone": ({"contains": {}}, [row({"aliases": ["Paris", "Lutetia"]}, "It is Lutetia.")]),
    "GSM8K": ({"number": {}}, [row("3+4=<<3+4=7>>7\n#### 7", "#### 7")]),
    "MATH": (
        {"number": {}},
        [row("We get $\\boxed{7}$.", "7"), row("\\frac{1}{2}", "0.5"), row("10,\\!000", "10000")],
    ),
    "numbers": (
        {"number": {}},
        [row(18.0, "18"), row("1,450,000", "1450000"), row("$5", "5"), row("4 apples", "4")],
    ),
}
"""By the data set, the metric and rows whose responses are all right."""

UNREAD: dict[str, tuple[dict[str, Any], Any, dict[str, Any]]] = {
    "a square root": ({"number": {}}, "11\\sqrt2", {}),
    "pi": ({"number": {}}, "2\\pi", {}),
    "a list": ({"number": {}}, "3,5,7", {}),
    "two roots": ({"number": {}}, "x=2 or x=-1", {}),
    "a term": ({"number": {}}, "x+1", {}),
    "a complex number": ({"number": {}}, "6 - 5i", {}),
    "two units": ({"number": {}}, "5 ft 7 in", {}),
    "an inequality": ({"number": {}}, "x \\ge 5", {}),
    "a boolean": ({"number": {}}, True, {}),
    "a name": ({"number": {}}, "Paris", {}),
    "a letter past the options": ({"choice": {}}, "E", {"options": COLOURS}),
    "a text of no option": ({"choice": {}}, "yellow", {"options": COLOURS}),
    "another option's text": ({"choice": {}}, "B) red", {"options": COLOURS}),
    "more options than letters": ({"choice": {}}, "B", {"options": [*map(str, range(27))]}),
    "an index past the options": ({"choice": {"index": 0}}, 4, {"options": COLOURS}),
    "an index of no known base": ({"choice": {}}, "1", {"options": COLOURS}),
    "an unknown mapping": ({"exact_match": {}}, {"spans": ["Paris"], "types": ["span"]}, {}),
    "an unanswerable question": ({"exact_match": {}}, {"text": [], "answer_start": []}, {}),
    "nothing": ({"exact_match": {}}, None, {}),
    "an empty text": ({"similarity": {}}, " ", {}),
    "an empty list": ({"contains": {}}, [], {}),
    "no value to compare": ({"json_match": {}}, "", {}),
    "a group and nothing": ({"regex": {"pattern": "(a)", "group": 1}}, "", {}),
    "no tests": ({"code_tests": {}}, "", {"tests": []}),
}


def settings(*suites: Mapping[str, Any]) -> Settings:
    return Settings.model_validate({"suites": [*suites]})


def test_forms_of_public_data_sets_are_read(run: Run, tmp_path: Path) -> None:
    """Every form is read, and its right replies score 1; one run has them all."""
    suites = []
    for number, (metrics, rows) in enumerate(FORMS.values()):
        data = written(tmp_path / f"form{number}.jsonl", rows)
        suites.append(suite(f"form{number}", data, metrics))
    done = run("--set", f"suites={json.dumps(suites)}", "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    scores = {part["suite"]: part["score"] for model in document["final"]["models"] for part in model["suites"]}
    assert {name: scores[f"form{number}"] for number, name in enumerate(FORMS)} == dict.fromkeys(FORMS, 1.0)


@pytest.mark.parametrize("name", UNREAD)
def test_what_cannot_be_read_stops_the_run(name: str, tmp_path: Path) -> None:
    """One such row among two is named with its value; nothing has been asked."""
    metrics, answer, more = UNREAD[name]
    readable = {"number": "7", "choice": "B", "code_tests": "7"}
    (metric,) = metrics
    tests = ["assert f() == 1"] if metric == "code_tests" else []
    rows = [row(readable.get(metric, "[1]"), options=COLOURS, tests=tests), row(answer, **more)]
    plan = resolve(settings(suite("own", written(tmp_path / "rows.jsonl", rows), metrics)))
    with pytest.raises(InputError) as refused:
        check_rows(plan)
    column = "tests" if metric == "code_tests" else "answer"
    assert str(refused.value).startswith(
        f"suite own: {metric} cannot read the expected answer, column {column}, of 1 of 2 rows: row 2: found "
    )


def test_the_message_names_the_users_column_and_three_rows(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "gold": gold} for n, gold in enumerate(["1", "a", "2\\pi", "b", "c"])]
    items = {"columns": {"answer": "gold"}}
    data = written(tmp_path / "rows.jsonl", rows)
    declared = suite("quiz", data, {"number": {}, "exact_match": {}}, items=items)
    models = [{"name": "m", "provider": "ollama"}]
    with pytest.raises(InputError) as refused:
        check_rows(resolve(Settings.model_validate({"models": models, "suites": [declared]})))
    assert str(refused.value) == (
        "suite quiz: number cannot read the expected answer, column gold, of 4 of 5 rows: row 2: found 'a', "
        "expected one number; row 3: found '2\\pi', expected one number; row 4: found 'b', expected one number; …. "
        f"Correct them in {data}, or set `skip_unreadable: true` in the suite, and the metric leaves such rows out."
    )


def test_only_drawn_rows_are_checked(tmp_path: Path) -> None:
    rows = [row("1"), row("2"), row("nothing")]
    items = {"sample": {"method": "first", "n": 2}}
    data = written(tmp_path / "rows.jsonl", rows)
    check_rows(resolve(settings(suite("own", data, {"number": {}}, items=items))))


def test_rows_are_left_out_of_the_metric_that_cannot_read_them(run: Run, tmp_path: Path) -> None:
    """Another metric keeps the row; a row that no metric reads is not asked, and the others stay as drawn."""
    rows = [row("7", "7"), row("Paris", "Paris"), row("", "x"), row("8", "9")]
    data = written(tmp_path / "rows.jsonl", rows)
    declared = suite("own", data, {"number": {}, "exact_match": {}}, skip_unreadable=True, score=["exact_match"])
    done = run("--set", f"suites={json.dumps([declared])}", "--set", "gate=off")
    assert done.returncode == 0, done.stderr
    assert "own: 2 rows left out of number, whose expected answer it cannot read" in done.stdout
    assert "own: 1 row left out of exact_match" in done.stdout
    assert "own: 1 row is not asked" in done.stdout
    (scores,) = (latest(tmp_path) / "tables").glob("scores.parquet")
    frame = pl.read_parquet(scores)
    states = {name: frame.filter(metric=name)["status"].to_list() for name in ("number", "exact_match")}
    assert states == {
        "number": ["scored", "not_applicable", "scored"],
        "exact_match": ["scored", "scored", "scored"],
    }


def test_nothing_left_is_an_error(tmp_path: Path) -> None:
    data = written(tmp_path / "rows.jsonl", [row("a"), row("b")])
    plan = resolve(settings(suite("own", data, {"number": {}}, skip_unreadable=True)))
    with pytest.raises(InputError, match="no metric can read the expected answer of any of 2 rows"):
        check_rows(plan)


CSV = {
    "true\nFalse\n": [True, False],
    '"[""a"", ""b""]"\n"[""c""]"\n': [["a", "b"], ["c"]],
    "\"['a', 'b']\"\n\"['c']\"\n": [["a", "b"], ["c"]],
    "true\nmaybe\n": ["true", "maybe"],
    '"[""a""]"\nb\n': ['["a"]', "b"],
    "1\n2.50\n": ["1", "2.50"],
    "a|b\nc\n": ["a|b", "c"],
}


@pytest.mark.parametrize("cells", CSV)
def test_a_csv_column_has_one_type(cells: str, tmp_path: Path) -> None:
    """A column holds booleans or lists if every filled cell does; `answers: text` turns it off."""
    data = tmp_path / "rows.csv"
    data.write_text("answer,question\n" + cells.replace("\n", ",q\n"), encoding="utf-8")
    declared = suite("own", str(data), {"exact_match": {}})
    (typed,) = settings(declared).suites
    (plain,) = settings({**declared, "items": {"data": str(data), "answers": "text"}}).suites
    unit = loader("table")
    assert [item.facts["answer"] for item in unit.load(typed.source, ())] == CSV[cells]
    assert all(isinstance(item.facts["answer"], str) for item in unit.load(plain.source, ()))


def test_answers_as_text_are_compared_as_text(tmp_path: Path) -> None:
    data = written(tmp_path / "rows.jsonl", [row(answer) for answer in (18.0, True, ["a", "b"])])
    (declared,) = settings(suite("own", data, {"exact_match": {}}, items={"answers": "text"})).suites
    answers = [item.facts["answer"] for item in loader("table").load(declared.source, ())]
    assert answers == ["18.0", "true", '["a", "b"]']


def numbered(answer: Any, *options: str) -> dict[str, Any]:
    return {"question": "how many?", "options": [*options], "answer": answer}


ROWS_OF_NUMBERS = {
    "all are indices, one the text of another option": (
        [numbered(2, "5", "14", "4", "2"), numbered(0, "7", "8"), numbered("1", "3", "1")],
        {},
        ["4", "7", "1"],
        0,
    ),
    "from 1, one the text of another option": (
        [numbered(2, "5", "14", "2"), numbered(3, "7", "8", "9"), numbered(1, "6", "4", "5")],
        {},
        ["14", "9", "6"],
        0,
    ),
    "all are texts": ([numbered(2, "5", "14", "2"), numbered(0, "7", "0")], {}, ["2", "0"], 0),
    "the user's index": ([numbered(2, "5", "14", "2"), numbered(1, "1", "0")], {"index": 0}, ["2", "0"], 0),
    "the user's index from 1": ([numbered(2, "5", "14", "2"), numbered(1, "0", "1")], {"index": 1}, ["14", "0"], 0),
    "an index, and a text that is none": (
        [numbered(0, "red", "blue"), numbered(20, "10", "20")],
        {},
        ["red", "20"],
        1,
    ),
    "labels of the rows": (
        [{**numbered("1"), "options": {"1": "a", "2": "b"}}, numbered(0, "c", "d"), numbered(1, "e", "f")],
        {},
        ["a", "c", "f"],
        0,
    ),
    "letters beside indices": ([numbered("B", "1", "2"), numbered(0, "3", "4")], {}, ["2", "3"], 0),
    "several right ones": ([numbered([0, 2], "2", "1", "5"), numbered([1], "4", "6")], {}, ["2 5", "6"], 0),
}


@pytest.mark.parametrize("case", ROWS_OF_NUMBERS)
def test_the_whole_numbers_of_a_column_have_one_meaning(case: str) -> None:
    """Each reply is the text of what is expected, and is right; a number that is both is an index if all can be."""
    samples, options, expected, n_doubtful = ROWS_OF_NUMBERS[case]
    unit = metric("choice")
    assert unit.completes
    assert unit.expects
    completed = unit.completes(samples, options_of(unit, options))
    for sample, texts in zip(samples, expected, strict=True):
        offer = offer_of(sample, completed)
        labels = find_right_options(sample, offer, completed).labels
        assert {offer.texts[label] for label in labels} == {*texts.split()}, sample
    assert sum(unit.expects(sample, completed).is_doubtful for sample in samples) == n_doubtful


def test_numbers_that_may_be_either_are_refused_until_the_index_is_set(tmp_path: Path) -> None:
    """Of 0 and 7 one is an index and one a text: what is 2, the third option or the fourth?"""
    rows = [numbered(0, "red", "blue"), numbered(7, "6", "7"), numbered(2, "5", "14", "4", "2")]
    data = written(tmp_path / "rows.jsonl", rows)
    models = [{"name": "m", "provider": "ollama"}]
    plan = resolve(Settings.model_validate({"models": models, "suites": [suite("own", data, {"choice": {}})]}))
    with pytest.raises(InputError, match=r"row 1: found 0, an index, from 0 or from 1\? Set `index: 0`"):
        check_expected(plan)
    declared = suite("own", data, {"choice": {"index": 0}})
    plan = resolve(Settings.model_validate({"models": models, "suites": [declared]}))
    check_expected(plan)
    (doubt,) = format_doubts(plan)
    assert "own: choice reads whole numbers of answer as an option's text in 1 row, as an index in others" in doubt


def test_readings_are_named_once_a_suite(tmp_path: Path) -> None:
    data = written(tmp_path / "rows.jsonl", [chosen("1"), chosen("0"), chosen("blue")])
    models = [{"name": "m", "provider": "ollama"}]
    plan = resolve(Settings.model_validate({"models": models, "suites": [suite("own", data, {"choice": {}})]}))
    assert [*format_expected_remarks(plan)] == [
        "own: choice reads answer as an index from 0 (2), an option's text (1)"
    ]
