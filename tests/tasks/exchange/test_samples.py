"""What the tools themselves wrote (tests/fixtures/exchange) is read as they meant it."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.tasks.exchange.finished import Evaluation, write_evaluations
from basic_control.tasks.exchange.log_files import read
from basic_control.tasks.exchange.logs import Log
from tests.tasks.exchange.forms import FORMS, Line

SAMPLES = Path(__file__).parents[2] / "fixtures" / "exchange"
WRONG = {"What is 5 + 6?", "What is 7 + 8?"}
"""What the scripted server gets wrong."""


def right(log: Log, metric: str) -> dict[str, float | None]:
    return {row.question: row.scores[metric].value for row in log.rows}


@pytest.mark.parametrize(
    ("file", "tool", "metric", "target", "n"),
    [
        ("inspect.eval", "Inspect", "match", "openai/m", 6),
        ("inspect.json", "Inspect", "match", "openai/m", 3),
        ("lm_eval/samples_sums_2026-11-23T15-03-31.314082.jsonl", "lm-evaluation-harness", "exact_match", "m", 6),
        ("lm_eval", "lm-evaluation-harness", "exact_match", "m", 6),
        ("promptfoo.json", "promptfoo", "pass", "openai:chat:m: ", 6),
        ("promptfoo.csv", "promptfoo", "pass", "openai:chat:m: ", 6),
        ("openai_evals.json", "OpenAI Evals (hosted)", "pass", "m", 6),
        ("every_eval_ever.jsonl", "Every Eval Ever", "sums", "m", 6),
    ],
)
def test_a_sample_is_told_apart_and_read(file: str, tool: str, metric: str, target: str, n: int) -> None:
    log = read(SAMPLES / file)
    assert (log.tool, log.metrics[0], len(log.rows)) == (tool, metric, n)
    assert all(row.target.startswith(target) for row in log.rows)
    found = right(log, metric)
    assert found == {question: float(question not in WRONG) for question in found}
    assert found.keys() >= WRONG
    three = next(row for row in log.rows if row.question == "What is 3 + 4?")
    assert (three.answer if isinstance(three.answer, str) else three.answer[0]) == "7"
    assert (three.response or "").strip() == "7"


@pytest.mark.parametrize(
    ("file", "metric"),
    [
        ("deepeval.json", "Exact Match"),
        ("ragas/evaluated.csv", "exact_match"),
        ("ragas/experiment.jsonl", "passed"),
    ],
)
def test_a_sample_of_given_replies(file: str, metric: str) -> None:
    """Only 5 + 6 was given a wrong reply."""
    log = read(SAMPLES / file)
    assert right(log, metric) == {f"What is {a} + {a + 1}?": float(a != 5) for a in (3, 4, 5, 6, 7, 8)}
    assert {row.answer for row in log.rows} == {"7", "9", "11", "13", "15", "17"}


def test_inspect_says_which_replies_were_cut_and_how_often_it_asked() -> None:
    rows = read(SAMPLES / "inspect.eval").rows
    assert {(row.question, row.finish_reason) for row in rows} >= {("What is 7 + 8?", "length")}
    assert sorted({(row.id, row.repeat) for row in rows}) == [
        (name, turn) for name in ("sum-3", "sum-5", "sum-7") for turn in (0, 1)
    ]
    assert read(SAMPLES / "inspect.eval").facts["temperature"] == "0.5"


def test_aggregates_have_no_rows_to_pair() -> None:
    with pytest.raises(InputError, match=r"found aggregates alone.*--log_samples"):
        read(SAMPLES / "lm_eval" / "results_2026-11-23T15-03-31.314082.json")


def test_what_the_csv_of_promptfoo_lacks_is_said() -> None:
    (remark,) = read(SAMPLES / "promptfoo.csv").remarks
    assert "has no ids" in remark
    assert "-o results.json" in remark


def test_hyperparameters_called_as_a_fact_of_the_file_stand_beside_it(tmp_path: Path) -> None:
    path = FORMS["deepeval"](tmp_path, "x", [Line("q1", "What is 3 + 4?", right=True)])
    document = json.loads(path.read_text(encoding="utf-8"))
    options = {"model": "m", "prompt": "Be short.", "tool": "search", "prompt template": "v2"}
    document |= {"hyperparameters": options, "prompts": [{"alias": "sums"}]}
    path.write_text(json.dumps(document), encoding="utf-8")
    facts = read(path).facts
    assert (facts["tool"], facts["prompt"]) == ("DeepEval", "sums")
    assert (facts["hyperparameter tool"], facts["hyperparameter prompt"]) == ("search", "Be short.")


def keys(value: object, place: str = "") -> set[str]:
    """Return the paths of a document's keys, lists by their entries."""
    if isinstance(value, dict):
        return {path for key, one in value.items() for path in ({f"{place}.{key}"} | keys(one, f"{place}.{key}"))}
    return {path for one in value for path in keys(one, f"{place}[]")} if isinstance(value, list) else set()


@pytest.mark.parametrize(("form", "file"), [("inspect_json", "inspect.json"), ("promptfoo", "promptfoo.json"),
                                            ("deepeval", "deepeval.json")])  # fmt: skip
def test_what_our_tests_write_has_the_keys_of_the_tool(tmp_path: Path, form: str, file: str) -> None:
    """Planted files are no invention: every key of theirs stands in the tool's own output."""
    lines = [Line("q1", "What is 3 + 4?", right=True), Line("q2", "What is 4 + 5?", right=False)]
    ours = keys(json.loads(FORMS[form](tmp_path, "x", lines).read_text(encoding="utf-8")))
    theirs = keys(json.loads((SAMPLES / file).read_text(encoding="utf-8")))
    declared = {".results.results[].testCase.metadata.id"}
    assert ours - theirs <= declared


MEANS = {"exact_match": 1.0}


def reply(item_id: str, finish_reason: str, **changes: Any) -> dict[str, Any]:
    """Return a row of a run's calls with its item and its score."""
    score = {"metric": "exact_match", "value": 1.0, "status": "scored", "reason": ""}
    row = {"item_id": item_id, "repeat": 0, "prompt": f"{item_id}?", "answer": "1", "facts": None, "payload": None}
    row |= {"text": "1", "error": None, "error_kind": None, "finish_reason": finish_reason, "extra": None}
    return row | {"tokens_in": 1, "tokens_out": 1, "scores": [score]} | changes


def test_inspect_reads_in_our_log_why_replies_ended_and_which_calls_failed(tmp_path: Path) -> None:
    from inspect_ai.log import read_eval_log

    ends = {"stop": "stop", "length": "max_tokens", "max_output_tokens": "max_tokens", "": "unknown"}
    ends["content_filter"] = "content_filter"
    rows = [reply(end, end) for end in ends]
    rows.append(reply("lost", "", text=None, error="timeout", error_kind="timeout", tokens_in=None, scores=None))
    own = Evaluation("own", "m", ("exact_match",), MEANS, tuple(rows))
    (path,) = write_evaluations([own], tmp_path, "r", "2026-01-01T00:00:00+00:00")
    log = read_eval_log(str(path))
    samples = {one.id: one for one in log.samples or ()}
    assert {end: samples[end].output.choices[0].stop_reason for end in ends} == ends
    assert log.results is not None
    # What a filter stopped is no answer either.
    assert (log.results.total_samples, log.results.completed_samples) == (6, 4)
    assert (error := samples["lost"].error) is not None
    assert error.message == "timeout"
    errors = [row.error for row in read(path).rows if row.error]
    assert sorted(error.partition(" ")[0] for error in errors) == ["a", "timeout"]


def test_models_whose_names_differ_in_punctuation_only_have_a_log_each(tmp_path: Path) -> None:
    both = [
        Evaluation("own", name, ("exact_match",), MEANS, (reply("q", "stop"),))
        for name in ("llama3:8b", "llama3-8b")
    ]
    paths = [*write_evaluations(both, tmp_path, "r", "2026-01-01T00:00:00+00:00")]
    assert len({*paths}) == 2
    assert {read(path).rows[0].target for path in paths} == {"llama3:8b", "llama3-8b"}
