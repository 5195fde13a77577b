"""What becomes of promptfoo's tests: one suite, rows with their checks, files kept, losses named, mistakes told."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.conversions import Account, Conversion
from basic_control.tasks.exchange.moving.csv_tests import read_cell, read_row
from basic_control.tasks.exchange.moving.output import convert_file, write_conversion

BASE = {"prompts": ["file://prompts/route.txt"], "providers": ["openai:gpt-6-luna"]}
ROUTE = "Route this ticket.\n\n{{ticket}}\n"
HEADER = "ticket,__description,__expected,__expected2\n"
ROWS = (
    "Charged twice.,charge,billing,javascript: output.length < 9\n"
    "It blinks.,blink,icontains: network,latency(2000)\n"
)


def write(folder: Path, raw: dict[str, Any], table: str = HEADER + ROWS, prompt: str = ROUTE) -> Path:
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / "route.txt").write_text(prompt, encoding="utf-8")
    (folder / "tickets.csv").write_text(table, encoding="utf-8")
    path = folder / "promptfooconfig.yaml"
    path.write_text(yaml.safe_dump(BASE | raw, sort_keys=False), encoding="utf-8")
    return path


def convert(folder: Path, raw: dict[str, Any], **texts: str) -> Conversion:
    return convert_file(write(folder, raw, **texts))


def contains(text: str, **keys: Any) -> dict[str, Any]:
    return {"type": "contains", "value": text, **keys}


def test_a_table_becomes_one_suite_with_ids_the_prompts_file_and_what_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, {"tests": "file://tickets.csv"})
    assert main(["init", "moved", "--from", str(path)]) == 0
    text = Path("moved/eval.yaml").read_text(encoding="utf-8")
    (suite,) = yaml.safe_load(text)["suites"]
    assert suite == {
        "name": "tests",
        "items": {"data": "moved/tests.jsonl", "columns": {"id": "id"}},
        "prompt": "moved/prompts/route.txt",
        "metrics": {"checks": {}},
        "threshold": 1.0,
    }
    assert Path("moved/prompts/route.txt").read_text(encoding="utf-8") == ROUTE
    # Each row says what its test lost, and the head of the configuration which tests lost what.
    rows = [*map(json.loads, Path("moved/tests.jsonl").read_text(encoding="utf-8").splitlines())]
    assert [(row["id"], row["description"], row["left_out"]) for row in rows] == [
        ("charge", "charge", ["javascript"]),
        ("blink", "blink", ["latency"]),
    ]
    assert rows[0]["checks"] == [{"metric": "exact_match", "answer": "billing", "raw": True}]
    head = [line for line in text.splitlines() if line.startswith("# Left out")]
    assert head == [
        "# Left out: javascript, of 1 of 2 tests: charge",
        "# Left out: latency, of 1 of 2 tests: blink",
    ]
    screen = " ".join(capsys.readouterr().out.split())
    assert "From promptfoo: 2 of 4 assertions taken over (50%); 2 of 2 tests lost some" in screen


def test_another_rows_change_renames_no_row(tmp_path: Path) -> None:
    before = convert(tmp_path, {"tests": "file://tickets.csv"}).rows["tests"]
    changed = ROWS.replace("billing", "is-json").replace("Charged twice.", "Send JSON.")
    after = convert(tmp_path, {"tests": "file://tickets.csv"}, table=HEADER + changed).rows["tests"]
    assert before[1] == after[1]
    assert [row["id"] for row in before] == [row["id"] for row in after]


def test_tests_of_one_description_are_told_apart_and_those_without_are_called_by_their_variables(
    tmp_path: Path,
) -> None:
    tests = [{"description": "a", "vars": {"ticket": "x"}}, {"description": "a", "vars": {"ticket": "y"}}]
    conversion = convert(tmp_path, {"tests": [*tests, {"vars": {"ticket": "z"}}]})
    assert [row["id"] for row in conversion.rows["tests"]] == ["a", "a (2)", "z"]


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("billing", {"type": "equals", "value": "billing"}),
        ("Note: see below", {"type": "equals", "value": "Note: see below"}),
        ("equals: 4", {"type": "equals", "value": "4"}),
        ("latency(2000)", {"type": "latency", "threshold": 2000.0}),
        ("cost(0.01)", {"type": "cost", "threshold": 0.01}),
        ("similar(0.6): a b", {"type": "similar", "value": "a b", "threshold": 0.6}),
        ("similar: a b", {"type": "similar", "value": "a b", "threshold": 0.8}),
        ("contains-any: a, b", {"type": "contains-any", "value": "a, b"}),
        ("not-icontains: sorry", {"type": "not-icontains", "value": "sorry"}),
        ("is-json", {"type": "is-json"}),
        ('is-json: {"type": "object"}', {"type": "is-json", "value": '{"type": "object"}'}),
        ("grade: Is polite", {"type": "llm-rubric", "value": "Is polite"}),
        ("llm-rubric: Is polite: very", {"type": "llm-rubric", "value": "Is polite: very"}),
        ("javascript: output.length", {"type": "javascript", "value": "output.length"}),
        ("fn: output.length", {"type": "javascript", "value": "output.length"}),
        ("eval: output", {"type": "javascript", "value": "output"}),
        ("python: len(output)", {"type": "python", "value": "len(output)"}),
        ("file://check.py:judge", {"type": "python", "value": "file://check.py:judge"}),
        ("file://check.js", {"type": "javascript", "value": "file://check.js"}),
        ("factuality: Paris", {"type": "factuality", "value": "Paris"}),
        ("rouge-n(0.5): a", {"type": "rouge-n", "value": "a", "threshold": 0.5}),
        ("regex:^a:b$", {"type": "regex", "value": "^a:b$"}),
    ],
)
def test_a_cell_is_read_as_promptfoo_reads_it(cell: str, assertion: dict[str, Any]) -> None:
    assert read_cell(cell) == assertion


def test_columns_of_promptfoos_own_become_what_they_mean() -> None:
    account = Account()
    row = {
        "ticket": "It blinks.",
        "__expected1": "contains: a",
        "__expected2": "similar: b",
        "__expected3": " ",
        "__config:__expected2:threshold": "0.5",
        "__threshold": "0.75",
        "__metric": "routing",
        "__description": "blink",
        "__prefix": "Please. ",
        "__metadata:area": "net",
        "__metadata:tags[]": "a,b",
        "__providerOutput": "network",
    }
    # An empty __expected3 is none.
    assert read_row(row, "tests.csv", account) == {
        "vars": {"ticket": "It blinks."},
        "options": {"prefix": "Please. "},
        "metadata": {"area": "net", "tags": "a,b"},
        "threshold": 0.75,
        "description": "blink",
        "assert": [
            {"type": "contains", "value": "a", "metric": "routing"},
            {"type": "similar", "value": "b", "threshold": 0.5, "metric": "routing"},
        ],
    }
    assert [note.subject for note, _ in account.list_notes()] == ["column __providerOutput"]


def test_text_around_a_prompt_and_metadata_are_columns(tmp_path: Path) -> None:
    table = "ticket,__prefix,__metadata:area,__expected\nIt blinks.,Dear {{ticket}} ,net,x\nOld.,,bill,y\n"
    conversion = convert(tmp_path, {"tests": "file://tickets.csv"}, table=table)
    # The prefix names a variable of the test, as a prompt may.
    first, second = conversion.rows["tests"]
    assert (first["area"], first["prefix"], second["prefix"]) == ("net", "Dear It blinks. ", "")
    assert conversion.texts["prompts/route.txt"].startswith("{{ prefix }}Route this ticket.")


MISTAKES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "a missing table": ({"tests": "file://ticket.csv"}, {}, "file://ticket.csv: there is no such file"),
    "with a near name": ({"tests": "file://ticket.csv"}, {}, "Did you mean 'tickets.csv'?"),
    "a missing prompt": (
        {"prompts": ["file://prompts/rout.txt"], "tests": [{}]},
        {},
        "no such file. Did you mean 'prompts/route.txt'?",
    ),
    "a folder": ({"prompts": ["file://promts/route.txt"], "tests": [{}]}, {}, "Did you mean 'prompts/route.txt'?"),
    "a missing variable": ({"tests": [{"vars": {"ticket": "file://t.txt"}}]}, {}, "file://t.txt: there is no such"),
    "a broken table": ({"tests": "file://tickets.csv"}, {"table": "ticket\na,b\n"}, "more cells than the header"),
    "a key of a test": (
        {"tests": [{"vars": {"ticket": "a"}, "asert": []}]},
        {},
        "unknown key 'asert'. Did you mean",
    ),
    "a key of the whole": ({"tests": [{"vars": {"ticket": "a"}}], "defaultTests": {}}, {}, "mean 'defaultTest'?"),
    "a key of the default": (
        {"defaultTest": {"asserts": []}, "tests": [{}]},
        {},
        "defaultTest: unknown key 'asserts'",
    ),
    "one underscore": ({"tests": "file://tickets.csv"}, {"table": "ticket,_expected\na,b\n"}, "mean '__expected'?"),
    "another column": (
        {"tests": "file://tickets.csv"},
        {"table": "tiket,__expected\na,b\n"},
        "Did you mean 'tiket'?",
    ),
    "a key of an assertion": (
        {"tests": [{"vars": {"ticket": "a"}, "assert": [{"type": "similar", "value": "b", "thresold": 0.7}]}]},
        {},
        "assertion similar: unknown key 'thresold'. Did you mean 'threshold'?",
    ),
    "a key of a set's assertion": (
        {"defaultTest": {"assert": {"type": "assert-set", "assert": [contains("b", valeu=1)]}}, "tests": [{}]},
        {},
        "assertion contains: unknown key 'valeu'. Did you mean 'value'?",
    ),
    "a type": (
        {"tests": [{"vars": {"ticket": "a"}, "assert": [{"type": "icontain", "value": "b"}]}]},
        {},
        "unknown type 'icontain' of an assertion. Did you mean 'icontains'?",
    ),
    "an inverse type": (
        {"tests": [{"description": "d", "vars": {"ticket": "a"}, "assert": [{"type": "notcontains"}]}]},
        {},
        "test 'd': unknown type 'notcontains' of an assertion. Did you mean 'not-contains'?",
    ),
    "a column of expected": (
        {"tests": "file://tickets.csv"},
        {"table": "ticket,__expcted2\na,b\n"},
        "column '__expcted2'; did you mean '__expected2'?",
    ),
    "a column of metadata": (
        {"tests": "file://tickets.csv"},
        {"table": "ticket,__metdata:area\na,\n"},
        "did you mean '__metadata:area'?",
    ),
    "a variable of some": (
        {"tests": ["file://tickets.csv", {"description": "own", "vars": {"ticket": "a"}}]},
        {"table": "query,__description\na,one\nb,two\n"},
        "each prompt prints 'ticket', which 2 of 3 tests lack: one, two; they have description, query",
    ),
    "no variables": ({"tests": [{"assert": []}]}, {}, "prints 'ticket', which no test has; they have no variables"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message_before_anything_is_written(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    raw, texts, message = MISTAKES[name]
    path = write(tmp_path, raw, **texts)
    assert main(["init", str(tmp_path / "moved"), "--from", str(path)]) == 2
    text = " ".join(capsys.readouterr().err.split())
    assert message in text
    assert "promptfooconfig.yaml" in text or "tickets.csv, row 1" in text
    assert not (tmp_path / "moved").exists()


def test_what_a_prompt_only_tests_may_be_missing(tmp_path: Path) -> None:
    conversion = convert(
        tmp_path, {"tests": [{"vars": {"ticket": "a"}}]}, prompt="{% if tone %}Be brief. {% endif %}{{ticket}}"
    )
    assert conversion.rows["tests"] == [{"ticket": "a", "tone": ""}]


@pytest.mark.parametrize(
    "raw",
    [
        {"defaultTest": {"vars": {"ticket": "usual"}}},
        {"prompts": ["About {{ticket | default('nothing')}}?"]},
        {"prompts": ["Route {{ticket}}", "Route {{query}}"]},
    ],
)
def test_what_has_a_default_or_is_not_in_every_prompt_may_be_missing_in_some_tests(
    tmp_path: Path, raw: dict[str, Any]
) -> None:
    tests = [{"vars": {"ticket": "a", "query": "q"}}, {"vars": {"query": "b"}}]
    conversion = convert(tmp_path, {"tests": tests, **raw})
    assert [row["query"] for row in conversion.rows["tests"]] == ["q", "b"]


@pytest.mark.parametrize("kind", ["max-score", "agent-rubric", "trajectory:tool-used", "my-own-kind"])
def test_a_type_that_is_near_no_other_is_left_out(tmp_path: Path, kind: str) -> None:
    conversion = convert(tmp_path, {"tests": [{"vars": {"ticket": "a"}, "assert": [{"type": kind}]}]})
    assert conversion.account.losses == {kind: ["test 1"]}


# By hand: a test passes where the weighted mean reaches its threshold; a criterion weighs r, both checks 1 each.
@pytest.mark.parametrize(
    ("threshold", "weight", "cell", "headline"),
    [
        (1.0, 1, None, "all"),  # all are needed
        (0.6, 2, 0.2, "all"),  # 2 + 2 c ≥ 2.4
        (0.75, 4, 0.25, "all"),  # 4 + 2 c ≥ 4.5
        (0.5, 4, 0.0, "all"),  # the criterion alone is enough, and needed
        (0.5, 1, None, "mean"),  # 2 of 3, whichever they are
    ],
)
def test_a_criterion_that_is_needed_leaves_the_checks_what_is_still_missing(
    tmp_path: Path, threshold: float, weight: int, cell: float | None, headline: str
) -> None:
    checks = [contains("a"), contains("b"), {"type": "llm-rubric", "value": "Is polite.", "weight": weight}]
    test = {"vars": {"ticket": "x"}, "threshold": threshold, "assert": checks}
    conversion = convert(tmp_path, {"tests": [test]})
    (suite,) = conversion.suites
    (row,) = conversion.rows["tests"]
    if headline == "mean":
        assert (suite["score"], suite["threshold"]) == ({"checks": 2, "rubric": weight}, threshold)
    else:
        assert (suite["score"], suite["threshold"]) == ("all", 1.0)
    if cell is None:
        assert len(row["checks"]) == 2
    else:
        assert row["checks"]["threshold"] == pytest.approx(cell)


def test_a_judge_sees_no_text_that_a_check_looks_for_and_one_criterion_of_all_stands_in_the_suite(
    tmp_path: Path,
) -> None:
    rubric = {"type": "llm-rubric", "value": "Is polite."}
    tests = [
        {
            "vars": {"ticket": "a", "reference": "R"},
            "assert": [{"type": "not-icontains", "value": "sorry"}, rubric],
        },
        {"vars": {"ticket": "b"}, "assert": [{"type": "icontains", "value": "net"}, rubric]},
    ]
    conversion = convert(tmp_path, {"tests": tests})
    (suite,) = conversion.suites
    assert suite["metrics"]["rubric"] == {"criteria": "Is polite.", "scale": [0, 1], "threshold": 1.0}
    # A column of these names would be shown to the judge as what is right.
    assert not {"answer", "reference", "criteria"} & {*conversion.rows["tests"][0]}


def test_tests_of_another_judge_prompt_or_model_make_another_suite(tmp_path: Path) -> None:
    raw = {
        "prompts": [
            {"id": "file://prompts/route.txt", "label": "route"},
            {"raw": "Team for {{ticket}}?", "label": "b"},
        ],
        "providers": [{"id": "openai:a", "label": "first", "prompts": ["route"]}, "openai:b", "ollama:c"],
        "tests": [
            {"vars": {"ticket": "1"}, "assert": [{"type": "llm-rubric", "value": "x", "provider": "openai:j"}]},
            {"vars": {"ticket": "2"}, "assert": [{"type": "llm-rubric", "value": "y", "provider": "openai:k"}]},
            {"vars": {"ticket": "3"}, "providers": ["ollama"], "prompts": ["b"]},
        ],
    }
    conversion = convert(tmp_path, raw)
    # `openai:a` has one prompt alone; the third test is for one prompt and one provider.
    suites = [
        (suite.get("models"), [*suite.get("prompts", ["one"])], suite["metrics"].get("rubric", {}).get("judges"))
        for suite in conversion.suites
    ]
    assert suites == [
        (["first"], ["one"], ["j"]),
        (["b", "c"], ["route", "b"], ["j"]),
        (["first"], ["one"], ["k"]),
        (["b", "c"], ["route", "b"], ["k"]),
        (["c"], ["one"], None),
    ]


def test_prompts_of_one_file_become_files_and_in_a_folder_with_a_space_texts(tmp_path: Path) -> None:
    path = write(tmp_path, {"tests": "file://tickets.csv"}, prompt="One {{ticket}}\n---\nTwo {{ticket}}\n")
    assert main(["init", str(tmp_path / "moved"), "--from", str(path)]) == 0
    (suite,) = yaml.safe_load((tmp_path / "moved" / "eval.yaml").read_text("utf-8"))["suites"]
    assert [Path(file).read_text("utf-8") for file in suite["prompts"].values()] == [
        "One {{ticket}}\n",
        "Two {{ticket}}\n",
    ]
    assert main(["init", str(tmp_path / "moved here"), "--from", str(path)]) == 0
    (suite,) = yaml.safe_load((tmp_path / "moved here" / "eval.yaml").read_text("utf-8"))["suites"]
    assert [*suite["prompts"].values()] == ["One {{ticket}}\n", "Two {{ticket}}\n"]


# By hand, as promptfoo compares: what the transform makes of the reply with the value.
@pytest.mark.parametrize(
    ("transform", "assertion", "check"),
    [
        ("output.trim()", {"type": "equals", "value": "a"}, {"metric": "exact_match", "answer": "a", "raw": True}),
        ("output.toLowerCase()", {"type": "equals", "value": "a"}, {"metric": "exact_match", "answer": "a"}),
        (
            "output.trim().toLowerCase();",
            {"type": "not-contains", "value": "a"},
            {"metric": "contains", "texts": ["a"], "words": False, "mode": "none"},
        ),
        ("output.toLowerCase()", {"type": "equals", "value": "A"}, None),  # never equal
        ("output.toLowerCase()", {"type": "regex", "value": "a"}, None),
        ("output.split(' ')[0]", {"type": "equals", "value": "a"}, None),
        # The check's own transform is of what the test's has made.
        ("output.split(' ')[0]", {"type": "equals", "value": "a", "transform": "output.trim()"}, None),
    ],
)
def test_a_transform_of_all_tests_is_carried_or_named_on_each_check(
    tmp_path: Path, transform: str, assertion: dict[str, Any], check: dict[str, Any] | None
) -> None:
    raw = {"defaultTest": {"options": {"transform": transform}}}
    conversion = convert(tmp_path, {**raw, "tests": [{"vars": {"ticket": "a"}, "assert": [assertion]}]})
    (row,) = conversion.rows["tests"]
    if check:
        assert row["checks"] == [check]
        assert conversion.account.count("left out") == 0
    else:
        reasons = {note.subject: note.reason for note, _ in conversion.account.list_notes()}
        assert "its transform " in reasons[assertion["type"]]
        assert conversion.account.losses == {assertion["type"]: ["test 1"]}


INVERSES = [
    ({"type": "not-is-json"}, {"metric": "json_match", "compare": "none", "alone": True, "not": True}),
    ({"type": "not-contains", "value": "a"}, {"metric": "contains", "texts": ["a"], "raw": True, "mode": "none"}),
    (
        {"type": "not-contains-all", "value": ["a", "b"]},
        {"metric": "contains", "texts": ["a", "b"], "mode": "all", "raw": True, "not": True},
    ),
    ({"type": "is-refusal"}, {"metric": "refusal", "expected": "refuse"}),
    ({"type": "word-count", "value": {"max": 3}}, {"metric": "regex", "pattern": r"\A\S+(?:\s+\S+){0,2}\Z"}),
    (
        {"type": "contains", "value": "a", "metric": "Tone"},
        {"metric": "contains", "texts": ["a"], "raw": True, "name": "Tone"},
    ),
]


@pytest.mark.parametrize(("assertion", "check"), INVERSES)
def test_an_assertion_is_a_check(tmp_path: Path, assertion: dict[str, Any], check: dict[str, Any]) -> None:
    conversion = convert(tmp_path, {"tests": [{"vars": {"ticket": "a"}, "assert": [assertion]}]})
    assert conversion.rows["tests"][0]["checks"] == [check]


def test_a_file_and_a_part_of_another_of_one_name_are_told_apart(tmp_path: Path) -> None:
    raw = {
        "prompts": ["file://prompts/route.txt", "file://prompts/route-2.txt"],
        "tests": [{"vars": {"ticket": "a"}}],
    }
    write(tmp_path, raw, prompt="One {{ticket}}\n---\nTwo {{ticket}}\n")
    (tmp_path / "prompts" / "route-2.txt").write_text("Three {{ticket}}", encoding="utf-8")
    conversion = convert_file(tmp_path / "promptfooconfig.yaml")
    texts = [conversion.texts.get(prompt, prompt).strip() for prompt in conversion.suites[0]["prompts"].values()]
    assert texts == ["One {{ticket}}", "Two {{ticket}}", "Three {{ticket}}"]


HOSTILE = [
    {"metadata": 5, "description": 5},
    {"options": [], "assert": {"type": ["x"]}},
    {"assert": [{"type": "contains", "value": "a", "metric": {"a": 1}, "weight": "x"}]},
    {"prompts": {"a": 1}, "providers": [[]]},
    {"threshold": True, "options": {"prefix": "{{ x.y }}", "suffix": 5}},
    {"description": "a\n# models: []", "assert": [{"type": "x\nsuites: []", "value": 1}]},
]


@pytest.mark.parametrize("test", HOSTILE)
def test_whatever_a_test_holds_it_is_converted_or_one_message(tmp_path: Path, test: dict[str, Any]) -> None:
    path = write(tmp_path, {"tests": [{"vars": {"ticket": "a"}, **test}]})
    try:
        write_conversion(convert_file(path), tmp_path / "moved")
    except InputError:
        return
    document = yaml.safe_load((tmp_path / "moved" / "eval.yaml").read_text(encoding="utf-8"))
    # Nothing in a comment becomes a line of its own.
    assert {*document} == {"models", "suites", "gate"}
    assert len(document["suites"]) == 1


def test_a_setting_that_is_no_number_is_told_as_one_and_a_key_is_never_copied(tmp_path: Path) -> None:
    settings = {"temperature": "low", "max_tokens": True, "seed": 3, "apiKeyEnvar": "sk-1", "organization": "acme"}
    tests = [{"vars": {"ticket": "It blinks."}}]
    conversion = convert(tmp_path, {"providers": [{"id": "openai:m", "config": settings}], "tests": tests})
    reasons = {note.subject: note.reason for note in conversion.account.notes}
    assert conversion.models == [{"name": "m", "provider": "openai", "seed": 3}]
    assert reasons["openai:m: temperature"] == reasons["openai:m: max_tokens"] == "expected a number"
    assert reasons["openai:m: apiKeyEnvar"].startswith("a key is never copied")
    assert reasons["openai:m: organization"] == "no equal"
