"""promptfoo's configurations as ours: ten of different kinds, verdicts as promptfoo's, and hostile files."""

import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.conversions import Conversion
from basic_control.tasks.exchange.moving.output import convert_file
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

TASK = {"prompts": ["Say {{word}} in {{tongue}}."], "providers": ["openai:gpt-4o-mini"]}


def convert(folder: Path, raw: dict[str, Any], **files: str) -> Conversion:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(text, encoding="utf-8")
    (folder / "promptfooconfig.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return convert_file(folder / "promptfooconfig.yaml")


def outcomes(conversion: Conversion) -> dict[str, str]:
    return {note.subject: note.outcome for note, _ in conversion.account.list_notes()}


def check(kind: str, value: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": kind, **({} if value is None else {"value": value}), **more}


TESTS: dict[str, tuple[dict[str, Any], dict[str, str], list[set[str]], list[int]]] = {
    "texts that differ by test": (
        {
            "tests": [
                {"vars": {"word": "sun", "tongue": "Italian"}, "assert": [check("contains", "sole")]},
                {"vars": {"word": "sea", "tongue": "Italian"}, "assert": [check("contains", "mare")]},
            ]
        },
        {},
        [{"checks"}],
        [2],
    ),
    "defaults for every test": (
        {
            "defaultTest": {"vars": {"tongue": "French"}, "assert": [check("not-contains", "sorry")]},
            "tests": [{"vars": {"word": "sun"}}, {"vars": {"word": "sea", "tongue": "Dutch"}}],
        },
        {},
        [{"checks"}],
        [2],
    ),
    "a table with assertions": (
        {"tests": "file://cases.csv"},
        {"cases__csv": 'word,tongue,__expected\nsun,it,sole\nsea,it,"icontains-any: mare, Mare"\n'},
        [{"checks"}],
        [2],
    ),
    "lists of values": (
        {"tests": [{"vars": {"word": ["sun", "sea"], "tongue": ["it", "fr"]}, "assert": [check("regex", "^.+$")]}]},
        {},
        [{"checks"}],
        [4],
    ),
    "tests in JSON and YAML": (
        {"tests": ["file://a.json", "b.yaml"]},
        {
            "a__json": json.dumps([{"vars": {"word": "sun", "tongue": "it"}, "assert": [check("equals", "sole")]}]),
            "b__yaml": "- {vars: {word: sea, tongue: it}, assert: [{type: equals, value: mare}]}\n",
        },
        [{"checks"}],
        [2],
    ),
    "JSON with a schema": (
        {"tests": [{"vars": {"word": "a", "tongue": "b"}, "assert": [check("is-json", "file://s.json")]}]},
        {"s__json": json.dumps({"type": "object", "required": ["word"]})},
        [{"checks"}],
        [1],
    ),
    "a judge": (
        {
            "defaultTest": {"options": {"provider": "openai:gpt-4o"}},
            "tests": [
                {"vars": {"word": "a", "tongue": "x"}, "assert": [check("llm-rubric", "is about {{word}}")]},
                {"vars": {"word": "b", "tongue": ""}, "assert": [check("llm-rubric", "is about {{word}}")]},
            ],
        },
        {},
        [{"rubric"}],
        [2],
    ),
    "programs beside texts": (
        {
            "tests": [
                {
                    "vars": {"word": "a", "tongue": "b"},
                    "assert": [check("javascript", "output.length < 9"), check("icontains-all", ["x", "y"])],
                }
            ]
        },
        {},
        [{"checks"}],
        [1],
    ),
    "weights and a threshold": (
        {
            "tests": [
                {
                    "vars": {"word": "a", "tongue": "b"},
                    "threshold": 0.5,
                    "assert": [check("equals", "x", weight=3), check("starts-with", "x")],
                }
            ]
        },
        {},
        [{"checks"}],
        [1],
    ),
    "templates and scenarios": (
        {
            "assertionTemplates": {"brief": check("regex", r"^\S+$")},
            "scenarios": [
                {
                    "config": [{"vars": {"tongue": "it"}}, {"vars": {"tongue": "fr"}}],
                    "tests": [
                        {"vars": {"word": "sun"}, "assert": [{"$ref": "#/assertionTemplates/brief"}]},
                        {"vars": {"word": "sea"}, "assert": [check("similar", "{{word}}", threshold=0.6)]},
                    ],
                }
            ],
        },
        {},
        [{"checks"}],
        [4],
    ),
}


@pytest.mark.parametrize("name", TESTS)
def test_ten_configurations_convert(tmp_path: Path, name: str) -> None:
    raw, files, metrics, rows = TESTS[name]
    conversion = convert(tmp_path, TASK | raw, **files)
    assert [set(suite["metrics"]) for suite in conversion.suites] == metrics
    assert [len(conversion.rows[suite["name"]]) for suite in conversion.suites] == rows
    assert conversion.models == [{"name": "gpt-4o-mini", "provider": "openai"}]
    # What is written is a configuration of ours, which a dry run reads with its rows.
    source = str(tmp_path / "promptfooconfig.yaml")
    assert main(["init", str(tmp_path / "new"), "--from", source]) == 0
    assert (tmp_path / "new" / "eval.yaml").is_file()


def test_what_has_no_equal_is_told(tmp_path: Path) -> None:
    raw, *_ = TESTS["programs beside texts"]
    providers = ["openai:chat:gpt-4o", "exec:run.sh", {"id": "anthropic:claude", "config": {"apiKey": "sk-1"}}]
    conversion = convert(tmp_path, TASK | raw | {"providers": providers, "evaluateOptions": {"repeat": 3}})
    told = outcomes(conversion)
    assert told["javascript"] == told["provider exec:run.sh"] == told["`evaluateOptions`"] == "left out"
    assert told["icontains-all"] == "changed"
    assert [model["name"] for model in conversion.models] == ["gpt-4o", "claude"]
    assert "sk-1" not in repr(conversion)


REPLIES = {"one": "Sole", "two": "the sole", "three": '{"word": 1}', "four": 'Here: {"word": 1}', "five": "a.b"}
CHECKS: list[tuple[str, list[dict[str, Any]], bool]] = [
    ("one", [check("equals", "Sole")], True),
    ("one", [check("equals", "sole")], False),
    ("two", [check("contains", "sol")], True),
    ("two", [check("contains", "Sol")], False),
    ("two", [check("icontains", "SOLE")], True),
    ("two", [check("contains-any", ["luna", "sole"])], True),
    ("two", [check("contains-all", ["luna", "sole"])], False),
    ("two", [check("not-contains", "luna")], True),
    ("two", [check("not-equals", "the sole")], False),
    ("two", [check("starts-with", "the")], True),
    ("two", [check("contains", "the"), check("contains", "Sole")], False),
    ("two", [check("contains", "the"), check("icontains", "Sole")], True),
    ("three", [check("is-json", {"type": "object", "required": ["word"]})], True),
    ("three", [check("is-json", {"type": "object", "required": ["name"]})], False),
    ("three", [check("equals", {"word": 1})], True),
    ("four", [check("is-json")], False),
    ("four", [check("contains-json")], True),
    ("five", [check("regex", r"a\.b")], True),
    ("five", [check("regex", "^b")], False),
    ("two", [check("regex", r"(?<sign>e)[\s\S]*\k<sign>")], True),
    ("five", [check("not-regex", "^b"), check("regex", "b$")], True),
]


def test_verdicts_are_those_of_promptfoo(run: Run, tmp_path: Path) -> None:
    # Of one question a run counts the mean: each test asks another one.
    tests = [
        {"vars": {"word": word, "tongue": f"x{number}"}, "assert": checks}
        for number, (word, checks, _) in enumerate(CHECKS)
    ]

    def answer(body: dict[str, Any]) -> str:
        word = str(body["messages"][-1]["content"]).split()[1]
        return REPLIES[word]

    with serve_openai(answer) as server:
        provider = {"id": "openai:chat:tiny", "config": {"apiBaseUrl": server.base_url}}
        convert(tmp_path, TASK | {"providers": [provider], "tests": tests})
        source = str(tmp_path / "promptfooconfig.yaml")
        assert main(["init", str(tmp_path / "new"), "--from", source]) == 0
        done = run("--config", str(tmp_path / "new" / "eval.yaml"), "--set", "report.html=false")
    assert done.returncode == 1, done.stderr
    rows = {path.stem: path.read_text("utf-8").splitlines() for path in (tmp_path / "new").glob("*.jsonl")}
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    n_passed = sum(suite["score"] * len(rows[suite["suite"]]) for suite in model["suites"])
    assert sum(map(len, rows.values())) == len(CHECKS)
    assert n_passed == sum(expected for *_, expected in CHECKS), model["suites"]


def test_checks_of_a_transformed_reply_are_left_out_unless_it_stays_as_it_is(tmp_path: Path) -> None:
    """A name within a call is not the reply: `equals` would fail whatever is right."""
    calls = {"vars": {"a": "1"}, "options": {"transform": "output[0].name"}, "assert": [check("equals", "weather")]}
    checks = [check("is-json"), check("contains", "x")]
    parsed = {"vars": {"a": "2"}, "options": {"transform": "JSON.parse(output)"}, "assert": checks}
    trimmed = {"vars": {"a": "3"}, "assert": [check("contains", "y", transform="output.trim()")]}
    tests = [calls, parsed, trimmed]
    conversion = convert(tmp_path, {"prompts": ["{{ a }}"], "providers": ["openai:m"], "tests": tests})
    (rows,) = conversion.rows.values()
    kept = [[entry.get("metric") for entry in row.get("checks", ())] for row in rows]
    assert kept == [[], ["json_match"], ["contains"]]
    left_out = {note.subject: note.reason for note in conversion.account.notes if note.outcome == "left out"}
    assert left_out["equals"] == "its transform `output[0].name` is a program, which is not run"
    assert left_out["contains"] == "its transform `JSON.parse(output)` is a program, which is not run"


def test_a_prompt_that_is_json_only_once_it_is_filled_in_says_so(tmp_path: Path) -> None:
    turns = '[{% for turn in _conversation %}{"role": "user", "content": "{{ turn.input }}"},{% endfor %}]'
    raw = {"prompts": ["file://prompt.json"], "providers": ["openai:m"], "tests": [{"vars": {"a": "1"}}]}
    with pytest.raises(InputError, match="JSON only once it is filled in; write its messages out"):
        convert(tmp_path, raw, **{"prompt.json": turns})


def test_a_judges_own_prompt_is_named_where_ours_stands_in(tmp_path: Path) -> None:
    assertion = check("llm-rubric", "factual", rubricPrompt="Score {{ output }} from 0 to 2.")
    tests = [{"vars": {"a": "1"}, "assert": [assertion]}]
    conversion = convert(tmp_path, {"prompts": ["{{ a }}"], "providers": ["openai:m"], "tests": tests})
    (reason,) = [note.reason for note in conversion.account.notes if note.subject == "llm-rubric"]
    assert "not its `rubricPrompt`" in reason


def test_names_with_a_meaning_of_ours_are_variables(tmp_path: Path) -> None:
    raw = {
        "prompts": ["Mark {{answer}} as {{response}}."],
        "providers": ["openai:a"],
        "tests": [{"vars": {"answer": "4", "response": "r"}, "assert": [check("equals", "{{answer}} r")]}],
    }
    conversion = convert(tmp_path, raw)
    (row,) = conversion.rows["tests"]
    checks = [{"metric": "exact_match", "answer": "4 r", "raw": True}]
    assert row == {"answer_var": "4", "response_var": "r", "checks": checks}
    assert conversion.suites[0]["prompt"].endswith("Mark {{answer}} as {{response}}.")


LETTERS = "abcdefghijklmnopqrstuvwxyz"
REPEATS = "".join(f"{after}: &{after} [*{letter}, *{letter}]\n" for letter, after in pairwise(LETTERS))
ALIASES = f"a: &a [x, x]\n{REPEATS}prompts: *z\ntests: []\n"
MANY = ", ".join(f"v{n}: {list(range(50))}" for n in range(9))
HOSTILE = {
    "no YAML": "prompts: [",
    "a list": "[1, 2]",
    "nothing": "",
    "deep": "prompts: " + "[" * 5000,
    "aliases": ALIASES,
    "a loop": "prompts: &p [*p]\ntests: []\n",
    "a tag": "prompts: !!python/object/apply:os.system [id]\ntests: []\n",
    "no prompt": "prompts: []\nproviders: [a]\n",
    "no test": "prompts: [a b]\nproviders: [a]\n",
    "a file outside": "prompts: ['file://../../etc/passwd.txt']\nproviders: [a]\n",
    "a program": "prompts: ['file://p.py:make']\nproviders: [a]\n",
    "fetched tests": "prompts: [a b]\nproviders: [a]\ntests: https://127.0.0.1:9/tests.csv\n",
    "endless combinations": f"prompts: [a b]\nproviders: [a]\ntests: [{{vars: {{{MANY}}}}}]\n",
    "no template": "prompts: ['a {{ b']\nproviders: [a]\ntests: [{}]\n",
    "the environment": "prompts: ['a {{ env.HOME }}']\nproviders: [a]\ntests: [{}]\n",
    "another tool": "a: 1\n",
    "kinds": "prompts: {a: 1}\nproviders: {b: [1]}\ntests: {vars: 3, assert: 4}\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_converted_is_one_message(tmp_path: Path, name: str) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(HOSTILE[name], encoding="utf-8")
    with pytest.raises(InputError) as raised:
        convert_file(path)
    assert str(path) in str(raised.value) or "tests" in str(raised.value)
    assert len(str(raised.value)) < 1000


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret words", encoding="utf-8")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "p.txt").symlink_to(tmp_path / "secret.txt")
    raw = {
        **TASK,
        "tests": [{"vars": {"word": "file://p.txt", "tongue": "x"}}, {"vars": {"word": "a", "tongue": "x"}}],
    }
    assert "secret" not in repr(convert(folder, raw))


def test_run_answers_with_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(yaml.safe_dump(TASK), encoding="utf-8")
    assert main(["run", str(path)]) == 2
    message = capsys.readouterr().err
    assert "promptfoo" in message
    assert f"init FOLDER --from {path}" in message


def holds(suite: dict[str, Any], row: dict[str, Any], reply: str) -> bool:
    """Say whether a row holds by a suite's metrics, all of which must."""
    values = []
    for name, options in suite["metrics"].items():
        unit = metric(name)
        sample = {**row, "response": reply}
        settled = options_of(unit, {key: value for key, value in options.items() if key != "threshold"})
        values.append(unit.score(sample, {}, settled).value == 1)
    return all(values)


# By hand, as promptfoo decides: a test passes where the weighted mean of its assertions reaches its threshold.
@pytest.mark.parametrize(
    ("threshold", "weights", "passing"),
    [
        (0.5, (1, 1), ["ab", "a", "b"]),
        (0.6, (1, 1), ["ab"]),
        (1, (1, 1), ["ab"]),
        (0.5, (3, 1), ["ab", "a"]),
        (0.25, (3, 1), ["ab", "a", "b"]),
        (0.66, (1, 1, 1), ["abc", "ab", "ac", "bc"]),
        (0.3, (1, 1, 1), ["abc", "ab", "ac", "bc", "a", "b", "c"]),
    ],
)
def test_a_tests_threshold_decides_on_each_row(
    tmp_path: Path, threshold: float, weights: tuple[int, ...], passing: list[str]
) -> None:
    letters = "abc"[: len(weights)]
    checks = [check("contains", letter, weight=weight) for letter, weight in zip(letters, weights, strict=True)]
    raw = {"tests": [{"vars": {"word": "w", "tongue": "t"}, "threshold": threshold, "assert": checks}]}
    conversion = convert(tmp_path, TASK | raw)
    (suite,) = conversion.suites
    assert suite["threshold"] == 1.0
    replies = ["", *("".join(part) for n in (1, 2, 3) for part in combinations(letters, n))]
    (row,) = conversion.rows[suite["name"]]
    assert [reply for reply in replies if holds(suite, row, reply)] == sorted(passing, key=replies.index)
    assert (conversion.account.n_taken, conversion.account.n_assertions) == (len(weights), len(weights))


def test_a_threshold_that_cannot_decide_on_each_row_says_so(tmp_path: Path) -> None:
    checks = [check("llm-rubric", "polite"), check("contains", "x")]
    raw = {"tests": [{"vars": {"word": "w", "tongue": "t"}, "threshold": 0.5, "assert": checks}]}
    conversion = convert(tmp_path, TASK | raw)
    assert conversion.suites[0]["threshold"] == 0.5
    (note,) = [note for note, _ in conversion.account.list_notes() if note.subject == "test's threshold"]
    assert (note.outcome, "not on each" in note.reason) == ("changed", True)
