"""SPEC 18, composed from its words: what becomes of a row of each form, and the goldens of SPEC 10 over files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from basic_control.flows.cli.application import main
from basic_control.tasks.compare.sides import read_sides
from basic_control.tasks.exchange.log_files import read

Row = Mapping[str, Any]


def states(path: Path) -> list[tuple[str, str, float | None]]:
    """Return of each row of a file its question, and the state and value of its main score."""
    (side,) = read_sides([str(path)], runs=path.parent / "runs")
    prompts = dict(side.items.select("item_id", "prompt").iter_rows())
    own = side.scores.filter(metric=next(iter(side.metrics_by_suite.values()))[0])
    return sorted((prompts[row["item_id"]], row["status"], row["value"]) for row in own.iter_rows(named=True))


def as_json(path: Path, whole: Any) -> Path:
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def as_lines(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_promptfoo_a_call_that_failed_is_no_wrong_answer(tmp_path: Path) -> None:
    def row(question: str, *, success: bool, reason: int, **more: Any) -> Row:
        asked = {"vars": {"q": question}, "provider": {"id": "p"}, "prompt": {"raw": question, "label": "l"}}
        return {
            **asked,
            "success": success,
            "score": float(success),
            "failureReason": reason,
            "promptIdx": 0,
            **more,
        }

    rows = [
        row("right", success=True, reason=0, response={"output": "yes"}),
        row("wrong", success=False, reason=1, response={"output": "no"}, error="Expected yes"),
        row("failed", success=False, reason=2, error="429 Too Many Requests"),
        row("cut", success=False, reason=1, response={"output": "y", "finishReason": "length"}),
        row("cut and right", success=True, reason=0, response={"output": "yes", "finishReason": "length"}),
    ]
    path = as_json(tmp_path / "r.json", {"results": {"version": 3, "results": rows}})
    assert states(path) == [
        ("cut", "truncated", 0.0), ("cut and right", "scored", 1.0), ("failed", "model_error", None),
        ("right", "scored", 1.0), ("wrong", "scored", 0.0),
    ]  # fmt: skip


def test_inspect_marks_errors_and_token_limits(tmp_path: Path) -> None:
    def sample(name: str, mark: Any, stop: str = "stop", **more: Any) -> Row:
        choices = [{"message": {"role": "assistant", "content": "x"}, "stop_reason": stop}]
        output = {"model": "m", "choices": choices, "completion": "x"}
        asked = {"id": name, "epoch": 1, "input": [{"role": "user", "content": name}], "target": ["a", "b"]}
        return {**asked, "output": output, "scores": {"s": {"value": mark}}, **more}

    samples = [
        sample("correct", "C"), sample("incorrect", "I"), sample("partial", "P"), sample("nothing", "N"),
        sample("a share", 0.25), sample("cut", "I", "max_tokens"), sample("cut but right", "C", "model_length"),
        sample("failed", "I", error={"message": "boom"}, scores=None), sample("unread", None),
    ]  # fmt: skip
    head = {"task": "t", "model": "m", "config": {"epochs": 1}}
    path = as_json(tmp_path / "i.json", {"version": 2, "status": "success", "eval": head, "samples": samples})
    assert states(path) == sorted([
        ("correct", "scored", 1.0), ("incorrect", "scored", 0.0), ("partial", "scored", 0.5),
        ("nothing", "scored", 0.0), ("a share", "scored", 0.25), ("cut", "truncated", 0.0),
        ("cut but right", "scored", 1.0), ("failed", "model_error", None), ("unread", "judge_failed", None),
    ])  # fmt: skip


def test_deepeval_a_judge_that_failed_is_no_zero(tmp_path: Path) -> None:
    def case(name: str, metric: Row) -> Row:
        return {"name": name, "input": name, "actualOutput": "x", "success": False, "metricsData": [metric]}

    judged = {"name": "G", "evaluationModel": "gpt-4o"}
    cases = [case("good", {**judged, "score": 0.9}), case("broken", {**judged, "score": None, "error": "no JSON"})]
    path = as_json(tmp_path / "test_run_1.json", {"testCases": cases})
    assert states(path) == [("broken", "judge_failed", None), ("good", "scored", 0.9)]
    assert {one.judge for row in read(path).rows for one in row.scores.values()} == {"gpt-4o"}


def test_ragas_nan_is_a_judge_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(
        "user_input,response,reference,faithfulness\nfirst,a,b,0.5\nsecond,a,b,\nthird,a,b,nan\n", encoding="utf-8"
    )
    assert states(path) == [("first", "scored", 0.5), ("second", "judge_failed", None),
                            ("third", "judge_failed", None)]  # fmt: skip


def test_hosted_openai_evals_a_failed_sample(tmp_path: Path) -> None:
    def item(name: str, status: str, error: Any = None) -> Row:
        sample = {"model": "m", "error": error, "output": [{"role": "assistant", "content": "x"}]}
        results = [{"name": "g", "passed": status == "pass", "score": float(status == "pass")}]
        return {"object": "eval.run.output_item", "datasource_item": {"question": name}, "status": status,
                "results": results, "sample": sample}  # fmt: skip

    empty = {"code": "", "message": ""}  # how the service writes that there was none
    failed = item("three", "error", {"code": "rate_limit", "message": "slow down"})
    page = {"object": "list", "data": [item("one", "pass", empty), item("two", "fail"), failed]}
    path = as_json(tmp_path / "items.json", page)
    assert states(path) == [("one", "scored", 1.0), ("three", "model_error", None), ("two", "scored", 0.0)]


def test_lm_evaluation_harness_by_likelihood_has_scores_and_no_reply(tmp_path: Path) -> None:
    rows = [
        {"doc_id": k, "doc": {"question": f"{k}?"}, "target": 1, "arguments": {}, "resps": [[[-1.5, False]]],
         "filtered_resps": [[-1.5, False]], "filter": "none", "metrics": ["acc", "acc_norm"], "acc": k % 2,
         "acc_norm": 1.0}
        for k in range(4)
    ]  # fmt: skip
    path = as_lines(tmp_path / "samples_hella.jsonl", rows)
    assert states(path) == [(f"{k}?", "scored", float(k % 2)) for k in range(4)]
    assert {row.response for row in read(path).rows} == {None}
    assert read(path).metrics == ("acc", "acc_norm")


def test_the_same_question_in_other_spacing_and_normal_form_is_one(tmp_path: Path) -> None:
    """SPEC 15: NFC, white space collapsed."""
    old = as_lines(tmp_path / "a.jsonl", [{"question": f"café  {k}?", "score": 1} for k in range(9)])
    new = as_lines(tmp_path / "b.jsonl", [{"question": f"cafe\u0301\n{k}? ", "score": 1} for k in range(9)])
    out = tmp_path / "o.json"
    assert main(["compare", str(old), str(new), "--json", str(out)]) == 0
    assert json.loads(out.read_text(encoding="utf-8"))["pairs"][0]["n"] == 9


@pytest.mark.parametrize(
    ("counts", "code", "word"),
    [((40, 0), 1, "regressed"), ((6, 0), 1, "regressed"), ((5, 1), 3, "undecided"),
     ((3, 3), 3, "undecided"), ((0, 0), 0, "held")],
)  # fmt: skip
def test_the_goldens_of_a_regression_at_margin_0(
    counts: tuple[int, int], code: int, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n, half, (lost, won) = 300, 150, counts
    old = as_lines(tmp_path / "old.jsonl", [{"id": f"q{k}", "score": int(k < half)} for k in range(n)])
    rows = [{"id": f"q{k}", "score": int(lost <= k < half or half <= k < half + won)} for k in range(n)]
    new = as_lines(tmp_path / "new.jsonl", rows)
    assert main(["gate", str(new), "--baseline", str(old), "--max-drop", "0"]) == code
    assert word in capsys.readouterr().out


@pytest.mark.parametrize(("threshold", "code"), [("0.9", 3), ("0.95", 1), ("0.8", 0)])
def test_the_golden_of_a_cut_reply(threshold: str, code: int, tmp_path: Path) -> None:
    """10 right of 12, 1 cut and wrong, 1 wrong: 0.8333, at most 0.9167."""
    rows = [
        {"id": f"q{k}", "score": int(k < 10), "finish_reason": "length" if k == 10 else "stop"} for k in range(12)
    ]
    path = as_lines(tmp_path / "one.jsonl", rows)
    assert main(["gate", str(path), "--threshold", threshold]) == code
