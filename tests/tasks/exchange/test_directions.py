"""Scores of which less is better, as a file says or its tool defines: their gain is a loss."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from basic_control.flows.cli.application import main
from basic_control.tasks.compare.sides import read_sides, select_deciding_scores
from tests.tasks.exchange.forms import FORMS, Line

Change = Callable[[Any], Any]


def compared(folder: Path, *words: str) -> dict[str, Any]:
    out = folder / "compared.json"
    assert main(["compare", *words, "--json", str(out)]) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def lines(lost: int = 0) -> list[Line]:
    """Return questions of which none has the fault that is scored, but the first `lost`."""
    return [Line(f"q{n}", f"What is {n} plus one?", right=n < lost) for n in range(100)]


def _renamed(metric: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(path.read_text(encoding="utf-8").replace("exact_match", metric), encoding="utf-8")

    return change


def _lm_eval(path: Path) -> None:
    task = path.stem.removeprefix("samples_")
    told = {"results": {task: {}}, "higher_is_better": {task: {"exact_match": False}}}
    (path.parent / "results.json").write_text(json.dumps(told), encoding="utf-8")


def _deepeval(limit: float) -> Callable[[Path], None]:
    """Bias passes at or below its threshold, which is 0 where it is strict."""

    def change(path: Path) -> None:
        whole = json.loads(path.read_text(encoding="utf-8"))
        for case in whole["testCases"]:
            (told,) = case["metricsData"]
            case["success"] = not told["success"]
            told |= {"name": "Bias", "threshold": limit, "success": case["success"]}
        path.write_text(json.dumps(whole), encoding="utf-8")

    return change


def _record(path: Path) -> None:
    told = {"evaluation_name": "sums", "metric_config": {"lower_is_better": True}}
    whole = {"evaluation_results": [told], "detailed_evaluation_results": {"file_path": path.name}}
    path.with_suffix(".json").write_text(json.dumps(whole), encoding="utf-8")


SAID: dict[str, tuple[str, Callable[[Path], None]]] = {
    "higher_is_better": ("lm_eval", _lm_eval),
    "threshold": ("deepeval", _deepeval(0.5)),
    "strict": ("deepeval", _deepeval(0)),
    "lower_is_better": ("every_eval_ever", _record),
    "noise_sensitivity": ("ragas", _renamed("noise_sensitivity(mode=relevant)")),
}


@pytest.mark.parametrize("said", SAID)
def test_a_gain_of_what_should_be_less_is_a_loss(said: str, tmp_path: Path) -> None:
    form, change = SAID[said]
    files = []
    for name, lost in (("old", 0), ("new", 30)):
        (tmp_path / name).mkdir()
        change(path := FORMS[form](tmp_path / name, "sums", lines(lost)))
        files.append(str(path.with_suffix(".json") if said == "lower_is_better" else path))
    (pair,) = compared(tmp_path, *files)["pairs"]
    assert (pair["mean_b"], pair["mean_a"], pair["conclusion"]) == (1, pytest.approx(0.7), "worse")
    assert main(["gate", files[1], "--baseline", files[0]]) == 1


def test_the_results_of_a_sample_logs_own_date_tell_of_it(tmp_path: Path) -> None:
    """A folder of one model has a results file for each date: here of other examples in the prompt."""
    files = []
    for date, shots in (("2026-01-01T10-00-00.1", 0), ("2026-02-01T10-00-00.1", 5)):
        files.append(str(FORMS["lm_eval"](tmp_path, f"sums_{date}", lines(30))))
        told = {"results": {"sums": {}}, "configs": {"sums": {"num_fewshot": shots}}, "model_name": "m"}
        (tmp_path / f"results_{date}.json").write_text(json.dumps(told), encoding="utf-8")
    assert compared(tmp_path, *files)["differing"] == [{"key": "few shot examples", "values": ["0", "5"]}]


def test_a_test_run_is_decided_by_the_success_of_all_its_cases(tmp_path: Path) -> None:
    """Half of the cases have a second metric; the others get worse."""
    files = []
    for name, lost in (("old", 0), ("new", 50)):
        right = [replace(one, right=not one.right) for one in lines(lost)]
        path = FORMS["deepeval"](tmp_path, name, right)
        whole = json.loads(path.read_text(encoding="utf-8"))
        for case in whole["testCases"][50:]:
            case["metricsData"].append({"name": "Other", "threshold": 0.5, "success": True, "score": 1.0})
        whole["testCases"].reverse()
        path.write_text(json.dumps(whole), encoding="utf-8")
        files.append(str(path))
    assert main(["gate", files[1], "--baseline", files[0]]) == 1


def test_less_is_better_of_the_evaluation_that_says_so_alone(tmp_path: Path) -> None:
    path = FORMS["every_eval_ever"](tmp_path, "x_samples", lines(90))
    rows = [json.loads(one) for one in path.read_text(encoding="utf-8").splitlines()]
    rows += [row | {"evaluation_name": "toxicity"} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    directions = (("sums", False), ("toxicity", True))
    told = [{"evaluation_name": name, "metric_config": {"lower_is_better": low}} for name, low in directions]
    whole = {"evaluation_results": told, "detailed_evaluation_results": {"file_path": path.name}}
    (tmp_path / "x.json").write_text(json.dumps(whole), encoding="utf-8")
    (side,) = read_sides([str(tmp_path / "x.json")], runs=tmp_path / "runs")
    means = {}
    for suite, metrics in side.metrics_by_suite.items():
        means[suite] = select_deciding_scores(side, {suite: metrics[0]}.items())["value"].mean()
    assert means == {"sums": pytest.approx(0.9), "toxicity": pytest.approx(0.1)}


def test_a_direction_holds_for_the_other_file_of_the_tool(tmp_path: Path) -> None:
    files = []
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        files.append(FORMS["lm_eval"](tmp_path / name, "sums", lines(30)))
    _lm_eval(files[0])  # results beside the first alone
    (pair,) = compared(tmp_path, *map(str, files))["pairs"]
    assert (pair["difference"], pair["conclusion"]) == (0, "no difference")
