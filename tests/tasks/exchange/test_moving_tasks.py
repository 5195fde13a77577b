"""Tasks of lm-evaluation-harness as ours: five of different kinds, verdicts as the harness's, and hostile ones."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.prompts import fill
from basic_control.tasks.compare.comparison import compare_sides
from basic_control.tasks.compare.sides import read_sides
from basic_control.tasks.exchange.moving.conversions import Conversion
from basic_control.tasks.exchange.moving.output import convert_file
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai

ROWS = [{"q": "How many legs has a cat?", "a": "4"}, {"q": "And a bird?", "a": "2"}]
TASK: dict[str, Any] = {
    "task": "legs",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "Question: {{q}}\nAnswer:",
    "doc_to_target": "{{a}}",
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}


def regex(pattern: str, **more: Any) -> list[dict[str, Any]]:
    return [{"function": "regex", "regex_pattern": pattern, **more}, {"function": "take_first"}]


def convert(folder: Path, raw: dict[str, Any]) -> Conversion:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    (folder / "shots.jsonl").write_text('{"q": "A snail?", "a": "0"}\n', encoding="utf-8")
    (folder / "rows.csv").write_text("q,a\nA worm?,0\n", encoding="utf-8")
    (folder / "base.yaml").write_text(yaml.safe_dump({"doc_to_target": "a"}), encoding="utf-8")
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return convert_file(path)


def fill_first(conversion: Conversion) -> str:
    """Return the text that asks the first row of a conversion's first suite."""
    suite = conversion.suites[0]
    return fill(suite["prompt"], "en", conversion.rows[suite["name"]][0])


WITH_SHOTS = {"train": "shots.jsonl", "test": "rows.jsonl"}
BOTH = [
    {"name": "strict", "filter": regex(r"#### (\d+)")},
    {"name": "loose", "filter": regex(r"\d+", group_select=-1)},
]
WITHOUT_TARGET = {key: value for key, value in TASK.items() if key != "doc_to_target"}
TASKS: dict[str, tuple[dict[str, Any], list[str], str]] = {
    "plain": (TASK, ["exact_match"], "Question: How many legs has a cat?\nAnswer:"),
    "two filters": (TASK | {"filter_list": BOTH}, ["regex", "regex"], "Question: How many"),
    "examples": (
        TASK | {"num_fewshot": 1, "fewshot_split": "train", "dataset_kwargs": {"data_files": WITH_SHOTS}},
        ["exact_match"],
        "Question: A snail?\nAnswer: 0\n\nQuestion: How many",
    ),
    "columns of a table": (
        TASK | {"dataset_path": "csv", "dataset_kwargs": {"data_files": "rows.csv"}, "doc_to_text": "q"},
        ["exact_match"],
        "A worm?",
    ),
    "an included task": (
        WITHOUT_TARGET | {"include": "base.yaml", "description": "Count.\n\n"},
        ["exact_match"],
        "Count.\n\nQuestion: How many",
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_five_tasks_convert(tmp_path: Path, name: str) -> None:
    raw, metrics, question = TASKS[name]
    conversion = convert(tmp_path, raw)
    assert [next(iter(suite["metrics"])) for suite in conversion.suites] == metrics
    first = next(iter(conversion.rows.values()))[0]
    assert "snail" not in first["question"]
    assert fill_first(conversion).startswith(question)
    assert first["answer"] in {"4", "0"}
    assert main(["init", str(tmp_path / "new"), "--from", str(tmp_path / "task.yaml")]) == 0


REPLIES = {"cat": "It has 4. #### 4 or #### 5", "bird": "12, so 2"}


def test_verdicts_are_those_of_the_harness(run: Run, tmp_path: Path) -> None:
    """The first number after #### is 4, and there is none; the last numbers are 5 and 2."""
    convert(tmp_path, TASK | {"filter_list": BOTH})
    assert main(["init", str(tmp_path / "new"), "--from", str(tmp_path / "task.yaml")]) == 0

    def answer(body: dict[str, Any]) -> str:
        text = str(body["messages"][-1]["content"])
        return next(reply for word, reply in REPLIES.items() if word in text)

    with serve_openai(answer) as server:
        models = [{"name": "tiny", "provider": "openai", "base_url": server.base_url}]
        words = ["--set", f"models={json.dumps(models)}", "--set", "report.html=false"]
        done = run("--config", str(tmp_path / "new" / "eval.yaml"), *words)
        assert len(server.requests) == len(ROWS)
    assert done.returncode == 0, done.stderr
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (model,) = document["final"]["models"]
    assert {suite["suite"]: suite["score"] for suite in model["suites"]} == {"legs-strict": 0.5, "legs-loose": 0.5}
    # Read in two ways, a reply counts once: nothing joins the two.
    assert [suite["weight"] for suite in model["suites"]] == [1.0, 0.0]


SENT = ["{}", "Question: A snail?\nAnswer: 0\n\n{}", "Count.\n\nQuestion: A snail?\nAnswer: 0\n\n{}"]


def _write_samples(path: Path, sent: str, *, is_chat: bool) -> None:
    """Write the harness's samples of the task, the first of them right, with what was sent for each."""
    lines = []
    for number, row in enumerate(ROWS):
        text = sent.format(f"Question: {row['q']}\nAnswer:")
        if is_chat:
            text = json.dumps([{"role": "user", "content": text}])
        sample = {"doc_id": number, "doc": {"question": row["q"]}, "target": row["a"], "resps": [["#### 4"]]}
        arguments = {"gen_args_0": {"arg_0": text, "arg_1": {}}}
        score = {"filter": "strict", "metrics": ["exact_match"], "exact_match": 1 - number}
        lines.append(json.dumps({**sample, "arguments": arguments, **score}) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def test_the_harness_samples_are_no_configuration_and_the_message_says_what_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "samples_legs.jsonl"
    _write_samples(file, SENT[0], is_chat=False)
    assert main(["init", str(tmp_path / "new"), "--from", str(file)]) == 2
    error = capsys.readouterr().err
    assert "found a JSON value on each line" in error
    assert f"gate {file}`" in error
    assert f"exchange read {file} --to FOLDER`" in error
    assert "not valid" not in error


def test_the_harness_samples_of_a_task_are_paired_with_our_run_of_it(run: Run, tmp_path: Path) -> None:
    """By what was sent, with or without examples before it, and by the document where our run asks its question."""
    convert(tmp_path, TASK | {"filter_list": BOTH})
    assert main(["init", str(tmp_path / "new"), "--from", str(tmp_path / "task.yaml")]) == 0
    with serve_openai(lambda _: "#### 4") as server:
        models = [{"name": "tiny", "provider": "openai", "base_url": server.base_url}]
        words = ["--set", f"models={json.dumps(models)}", "--set", "report.html=false"]
        assert run("--config", str(tmp_path / "new" / "eval.yaml"), *words).returncode == 0
    file, folder = tmp_path / "samples_legs_2026-11-20T10-11-12.345678.jsonl", latest(tmp_path)
    for sent in SENT:
        _write_samples(file, sent, is_chat=sent == SENT[-1])
        theirs, ours = read_sides([str(file), folder.name], runs=folder.parent)
        asked = ours.items.filter(suite="legs-strict")
        assert theirs.items.join(asked, on=["suite", "text_digest"], how="semi").height == len(ROWS)
    _write_samples(file, "Another task: {}", is_chat=False)
    with pytest.raises(InputError) as refusal:
        compare_sides(read_sides([str(file), folder.name], runs=folder.parent))
    # One question of each side says why they do not match.
    assert "'How many legs has a cat?'" in str(refusal.value)
    assert "'Question: How many legs has a cat? Answer:'" in str(refusal.value).replace("\\n", " ").replace(
        "\n", " "
    )


@pytest.mark.parametrize(
    ("patterns", "ignored"),
    [([",", r"\$"], [",", r"\$"]), (r"\.$", [r"\.$"]), (["("], None), ([5], None), (None, None)],
)
def test_patterns_to_ignore_are_taken_over_if_they_are_patterns(
    tmp_path: Path, patterns: Any, ignored: list[str] | None
) -> None:
    metric = {"metric": "exact_match", "ignore_case": True, "regexes_to_ignore": patterns}
    conversion = convert(tmp_path, TASK | {"metric_list": [metric], "filter_list": BOTH})
    for suite in conversion.suites:
        (options,) = suite["metrics"].values()
        assert options.get("ignore") == ignored
        assert options["case_sensitive"] is False


HOSTILE = {
    "likelihoods": {"output_type": "multiple_choice"},
    "fetched data": {"dataset_path": "gsm8k"},
    "a file outside": {"dataset_kwargs": {"data_files": {"test": "../rows.jsonl"}}},
    "a program's text": {"doc_to_text": "!function utils.text"},
    "a column that is not there": {"doc_to_text": "{{ other }}"},
    "an escape": {"doc_to_text": "{{ q.__class__.__mro__ }}"},
    "an endless loop": {"doc_to_text": "{% for n in range(10**9) %}{{ n }}{% endfor %}"},
    "no template": {"doc_to_target": "{{ a"},
    "a missing split": {"test_split": ["x"]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_converted_is_one_message(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"task\.yaml"):
        convert(tmp_path, TASK | HOSTILE[name])


def test_tags_of_programs_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "task.yaml"
    path.write_text("task: a\noutput_type: generate_until\ndoc_to_text: !function utils.make\n", encoding="utf-8")
    with pytest.raises(InputError, match="not fetched"):
        convert_file(path)


def test_run_answers_with_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convert(tmp_path, TASK)
    assert main(["run", str(tmp_path / "task.yaml")]) == 2
    assert "lm-evaluation-harness" in capsys.readouterr().err


def test_a_list_of_targets_is_any_of_them_and_a_prefix_ends_the_question(tmp_path: Path) -> None:
    """As the harness reads `['4', 'four']`, and puts the prefix after the delimiter, before an example's target."""
    samples = [{"q": "A snail?", "a": "0"}]
    raw = TASK | {
        "doc_to_target": "{{[a, 'four']}}",
        "gen_prefix": "So:",
        "num_fewshot": 1,
        "fewshot_config": {"samples": samples},
    }
    conversion = convert(tmp_path, raw)
    (rows,) = conversion.rows.values()
    assert rows[0]["answer"] == ["4", "four"]
    assert rows[0]["question"].endswith("Question: How many legs has a cat?\nAnswer: So:")
    assert fill_first(conversion).startswith("Question: A snail?\nAnswer: So: 0\n\nQuestion: How many")


def test_a_templates_last_line_break_is_kept(tmp_path: Path) -> None:
    conversion = convert(tmp_path, TASK | {"doc_to_text": "Question: {{q}}\n", "target_delimiter": ""})
    (rows,) = conversion.rows.values()
    assert rows[0]["question"] == "Question: How many legs has a cat?\n"


def test_a_target_that_is_a_number_is_its_text(tmp_path: Path) -> None:
    conversion = convert(tmp_path, TASK | {"doc_to_target": 0})
    (rows,) = conversion.rows.values()
    assert {row["answer"] for row in rows} == {"0"}
