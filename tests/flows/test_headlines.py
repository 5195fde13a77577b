"""Each metric decides for itself: runs of recorded replies, from the command line."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers.running import serve_openai
from tests.servers.script import Answer, Fault


def tickets(teams: Sequence[str]) -> list[dict[str, str]]:
    """Return tickets for Billing that went to these teams."""
    return [{"question": f"Ticket {n}", "answer": "Billing", "response": team} for n, team in enumerate(teams)]


ROWS = tickets(["Billing"] * 15 + ["Sales"] * 5)
"""Of 20 tickets, 15 go to the right team."""
RUBRIC = {"criteria": "It names one team and nothing else.", "scale": [0, 1]}
ANYTHING = {"regex": {"pattern": "."}}
"""A metric that every reply satisfies."""
OUTCOMES = {0: "Pass", 1: "Fail"}


def rate(_body: dict[str, Any]) -> Answer:
    """Rate a reply with full marks."""
    return Answer(json.dumps({"reason": "one team", "rating": 1}))


def rate_right_ones(body: dict[str, Any]) -> Answer | Fault:
    """Fail on the tickets that went to the wrong team."""
    return Fault("status", 400) if "Sales" in str(body["messages"]) else rate(body)


def write_configuration(
    folder: Path, *suites: dict[str, Any], rows: Sequence[dict[str, str]] = ROWS, **keys: Any
) -> str:
    """Write a configuration of suites of these tickets; return its path."""
    data = folder / "tickets.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shared = {"items": {"data": str(data)}, "responses_of": "router"}
    path = folder / "run.yaml"
    whole = {
        "gate": "point",
        "report": {"html": False},
        "suites": [{**shared, **suite} for suite in suites],
        **keys,
    }
    path.write_text(json.dumps(whole), encoding="utf-8")
    return str(path)


def entry(folder: Path) -> dict[str, Any]:
    """Return the model's entry in the results of the last run."""
    results = json.loads((latest(folder) / "results.json").read_text(encoding="utf-8"))
    model: dict[str, Any] = results["final"]["models"][0]
    return model


def outcomes(model: dict[str, Any]) -> dict[str, tuple[float | None, str]]:
    """Return the score and outcome of each headline."""
    by_metric: dict[str, tuple[float | None, str]] = {}
    for headline in model["suites"]:
        score = headline["score"]
        by_metric[headline["metric"]] = (score and round(score, 4), headline["outcome"])
    return by_metric


@pytest.mark.parametrize(
    ("score", "threshold", "judge", "expected", "sentence"),
    [
        (
            None,
            None,
            rate,
            {"exact_match": (0.75, "fail"), "rubric": (1.0, "pass")},
            "Fail: router fails: exact_match 75",
        ),
        (["exact_match", "rubric"], None, rate, {"": (0.875, "pass")}, "router passes: alpha 88 (threshold 80)"),
        ("all", 1, rate, {"all": (0.75, "fail"), "rubric": (1.0, "pass")}, "Fail: router fails: all at once 75"),
        ("all", 1, rate_right_ones, {"all": (0.75, "fail"), "rubric": (1.0, "error")}, "Error: router: rubric"),
    ],
    ids=["each by itself", "mean", "all", "all where a judge failed on the wrong ones"],
)
def test_a_metric_that_fails_is_not_averaged_away(
    score: Any, threshold: float | None, judge: Any, expected: Any, sentence: str, *, run: Run, tmp_path: Path
) -> None:
    rubric = RUBRIC if threshold is None else {**RUBRIC, "threshold": threshold}
    suite = {"name": "alpha", "metrics": {"exact_match": {}, "rubric": rubric}, "threshold": 0.8, "score": score}
    with serve_openai(judge) as server:
        judged = {"name": "j", "provider": "openai", "base_url": server.base_url, "exam": 0}
        ended = run("--config", write_configuration(tmp_path, suite, judges=[judged]))
    model = entry(tmp_path)
    assert outcomes(model) == expected
    code = max({"pass": 0, "fail": 1, "error": 2}[outcome] for _, outcome in expected.values())
    assert ended.returncode == code, ended.stderr
    assert sentence in ended.stdout.splitlines()[0]
    assert model["verdict"] == {0: "pass", 1: "fail", 2: "error"}[code]


WEIGHTS = {"exact_match": 0.3, "regex": 0.7}
SCORES: dict[str, tuple[Any, str, float]] = {
    "no score": (None, "", 0.0),
    "weights": (WEIGHTS, "", 0.925),
    "list": (["exact_match", "regex"], "", 0.875),
    "all": ("all", "all", 0.75),
}
"""What joins the metrics, the headline that it makes, and its value."""


# Every pair is quick in tests/oracle, without a flow.
QUICK = [("own", "no score"), ("suite", "weights"), ("none", "list"), ("suite", "all")]
PAIRS = [
    pytest.param(limit, joined, marks=[] if (limit, joined) in QUICK else [pytest.mark.slow])
    for limit in ("own", "suite", "none")
    for joined in SCORES
]


@pytest.mark.parametrize(("limit", "joined"), PAIRS)
def test_a_threshold_is_for_what_it_stands_at(limit: str, joined: str, run: Run, tmp_path: Path) -> None:
    """Exact match 75 %, own threshold 70 %; the other metric 100 %; the suite's threshold 80 %."""
    score, name, value = SCORES[joined]
    exact_match = {"threshold": 0.7} if limit == "own" else {}
    suite = {"name": "alpha", "metrics": {"exact_match": exact_match, **ANYTHING}, "score": score}
    suite |= {"threshold": 0.8} if limit == "suite" else {}
    expected: dict[str, tuple[float, str]] = {"all": (0.75, "none")}
    if score is None:
        by_limit = {"own": ("pass", "none"), "suite": ("fail", "pass"), "none": ("none", "none")}
        expected |= {"exact_match": (0.75, by_limit[limit][0]), "regex": (1.0, by_limit[limit][1])}
    else:
        by_value = {False: "fail", True: "pass"}
        expected[name] = (value, by_value[value >= 0.8] if limit == "suite" else "none")
    if score is not None and limit == "own":
        expected["exact_match"] = (0.75, "pass")
    ended = run("--config", write_configuration(tmp_path, suite))
    assert outcomes(entry(tmp_path)) == expected
    fails = any(outcome == "fail" for _, outcome in expected.values())
    assert ended.returncode == int(fails), ended.stderr
    assert "all" in ended.stdout.splitlines()[1], "the share of rows on which both hold stands beside them"


def test_a_suite_of_several_headlines_is_in_no_overall_score(run: Run, tmp_path: Path) -> None:
    """75 % by exact match fails alpha, so the run fails, though the overall score of the other two passes."""
    several = {"name": "alpha", "metrics": {"exact_match": {}, **ANYTHING}, "threshold": 0.8}
    single = {"metrics": ANYTHING, "threshold": 0.8}
    # One headline beside a measured metric, which has weight 0 by its owner's choice.
    measured = {"name": "delta", "metrics": {"exact_match": {"threshold": None}, **ANYTHING}, "threshold": 0.8}
    suites = ({"name": "beta", **single}, several, {"name": "gamma", **single}, {**measured, "weight": 0})
    path = write_configuration(tmp_path, *suites)
    ended = run("--config", path)
    model = entry(tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert (model["score"], model["outcome"], model["verdict"]) == (1.0, "pass", "fail")
    assert {headline["suite"]: headline["weight"] for headline in model["suites"]} == {
        "alpha": 0.0,
        "beta": 0.5,
        "gamma": 0.5,
        "delta": 0.0,
    }
    first = ended.stdout.splitlines()[0]
    assert first.startswith("Fail: router fails: alpha, exact_match 75 (threshold 80)")
    assert "; alpha: no part of the overall score" in first
    assert "alpha: no part of the overall score" in ended.stderr


@pytest.mark.parametrize("limits", [{"threshold": 0.8}, {}], ids=["with thresholds", "measured"])
def test_a_weight_of_a_suite_without_one_score_is_refused_with_two_lines_to_write(
    limits: dict[str, float], run: Run, tmp_path: Path
) -> None:
    suite = {"name": "alpha", "metrics": {"exact_match": {}, **ANYTHING}, "weight": 0.3, **limits}
    refused = run("--config", write_configuration(tmp_path, suite))
    assert refused.returncode == 2
    assert "score: [exact_match, regex]" in refused.stderr
    assert "weight: 0" in refused.stderr
    for line in ({"score": ["exact_match", "regex"]}, {"weight": 0}):
        mended = run("--config", write_configuration(tmp_path, {**suite, **line}))
        assert mended.returncode in {0, 1}, mended.stderr


def test_without_a_gate_a_run_says_what_it_would_have_come_to(run: Run, tmp_path: Path) -> None:
    suite = {"name": "alpha", "metrics": {"exact_match": {}}, "threshold": 0.8}
    failed = run("--config", write_configuration(tmp_path, suite, gate="off"))
    assert failed.returncode == 0, failed.stderr
    assert failed.stdout.startswith(
        "Fail: router fails: alpha 75 (threshold 80); report only; with a gate this would exit 1 ("
    )
    report = next((latest(tmp_path) / "reports").glob("*.md")).read_text(encoding="utf-8")
    results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert "**Version of the methodology:** 3" in report
    assert results["methodology_version"] == 3
    passed = run("--config", write_configuration(tmp_path, {**suite, "threshold": 0.7}, gate="off"))
    assert (passed.returncode, "with a gate" in passed.stdout) == (0, False)
    failing = {"name": "beta", "metrics": {"rubric": RUBRIC}, "threshold": 0.8}
    with serve_openai(lambda _: Fault("status", 400)) as server:
        judged = {"name": "j", "provider": "openai", "base_url": server.base_url, "exam": 0}
        broken = run("--config", write_configuration(tmp_path, failing, judges=[judged], gate="off"))
    assert broken.returncode == 2, "an error ends a run all the same"


def test_a_score_of_all_needs_to_know_when_a_graded_metric_holds(run: Run, tmp_path: Path) -> None:
    suite = {"name": "alpha", "metrics": {"exact_match": {}, "similarity": {}}, "score": "all", "threshold": 0.8}
    refused = run("--config", write_configuration(tmp_path, suite))
    assert refused.returncode == 2
    assert "similarity" in refused.stderr
    assert "threshold" in refused.stderr
    mended = {**suite, "metrics": {"exact_match": {}, "similarity": {"threshold": 0.9}}}
    ended = run("--config", write_configuration(tmp_path, mended))
    assert ended.returncode == 1, ended.stderr
    assert outcomes(entry(tmp_path))["all"] == (0.75, "fail")


def test_what_is_only_measured_may_be_incomplete_and_nothing_at_all_is_an_error(run: Run, tmp_path: Path) -> None:
    """A judge that fails on a quarter of the replies leaves a measured rubric at 75 % of its rows."""
    for limit, code in ((None, 1), (0.8, 2)):
        rubric = {**RUBRIC, "threshold": limit}
        suite = {"name": "alpha", "metrics": {"exact_match": {}, "rubric": rubric}, "threshold": 0.8}
        with serve_openai(rate_right_ones) as server:
            judged = {"name": "j", "provider": "openai", "base_url": server.base_url, "exam": 0}
            ended = run("--config", write_configuration(tmp_path, suite, judges=[judged]))
        assert ended.returncode == code, ended.stdout
    # Without any score, a suite has nothing that could be measured.
    measured = {"name": "alpha", "metrics": {"rubric": RUBRIC}}
    with serve_openai(lambda _: Fault("status", 400)) as server:
        judged = {"name": "j", "provider": "openai", "base_url": server.base_url, "exam": 0}
        ended = run("--config", write_configuration(tmp_path, measured, judges=[judged]))
    assert ended.returncode == 2, ended.stdout


def test_that_metrics_no_longer_make_a_mean_is_said_once(run: Run, tmp_path: Path) -> None:
    suite = {"name": "alpha", "metrics": {"exact_match": {}, **ANYTHING}, "threshold": 0.8}
    sentence = "alpha: each metric decides by itself; for their mean write `score: [exact_match, regex]`"
    path = write_configuration(tmp_path, suite)
    assert sentence in " ".join(run("--config", path).stdout.split())
    assert "is the mean as before" not in run("--config", path).stdout
    single = write_configuration(tmp_path, {**suite, "name": "beta", "score": ["exact_match"]})
    assert "is the mean as before" not in run("--config", single).stdout


ALL_RIGHT = tickets(["Billing"] * 20)
HALF_RIGHT = tickets(["Sales", "Billing"] * 10)


def as_of_before(path: Path) -> Path:
    """Rewrite a baseline as an earlier version pinned it: of the mean of its metrics."""
    pinned = json.loads(path.read_text(encoding="utf-8"))
    for rules in pinned["facts"]["suites"].values():
        del rules["headlines"]
        rules["score"].remove("all")
        # Earlier versions had one score, and a weight by default.
        for name in ("score", "threshold of exact_match", "threshold of regex"):
            del rules["rules"][name]
        rules["rules"]["weight"] = 0.2
    pinned["scores"] = [scores for scores in pinned["scores"] if scores["metric"] != "all"]
    old = path.with_name("old.json")
    old.write_text(json.dumps(pinned, indent=1), encoding="utf-8")
    return old


def _check_gate_of_missed_threshold(run: Run, tmp_path: Path, suite: dict[str, Any], baseline: str) -> None:
    """Gate a run that missed its threshold against a baseline: both are printed, the worst first, and as JSON."""
    path = write_configuration(tmp_path, {**suite, "threshold": 0.8}, rows=HALF_RIGHT)
    assert run("--config", path).returncode == 1
    document = tmp_path / "gate.json"
    words = [latest(tmp_path).name, "--baseline", baseline, "--allow-different"]
    gated = run(*words, "--json", str(document), command="gate")
    assert gated.returncode == 1, gated.stderr
    lines = gated.stdout.splitlines()
    (missed,) = [number for number, line in enumerate(lines) if "threshold 80%: fail" in line]
    assert lines[missed].endswith("(the run's own threshold; here only `--threshold` decides by one)")
    (worst,) = [number for number, line in enumerate(lines) if "exact_match, router: regressed" in line]
    (better,) = [number for number, line in enumerate(lines) if "regex, router: undecided" in line]
    assert worst < better < missed, "of equal outcomes what decides comes first"
    written = json.loads(document.read_text(encoding="utf-8"))
    assert (written["exit_code"], written["headlines"]) == (1, [])
    outcomes = {
        change["pair"]["metric"]: change["decision"]["outcome"] for change in written["baseline"]["headlines"]
    }
    assert outcomes == {"exact_match": "regressed", "regex": "undecided"}
    # With both, what decides by the threshold has its outcome in the file too; what fails stands before what held.
    earlier = latest(tmp_path).name
    assert run("--config", path).returncode == 1
    words = [latest(tmp_path).name, "--baseline", earlier, "--threshold", "0.9"]
    both = run(*words, "--json", str(document), command="gate")
    assert both.returncode == 1, both.stderr
    assert both.stdout.index("threshold 90%: fail") < both.stdout.index("held")
    written = json.loads(document.read_text(encoding="utf-8"))
    decided = {headline["metric"]: headline["outcome"] for headline in written["headlines"]}
    assert decided == {"exact_match": "fail", "regex": "pass"}
    assert run("nowhere", "--threshold", "0.9", "--json", str(document), command="gate").returncode == 2
    assert "nowhere" in json.loads(document.read_text(encoding="utf-8"))["error"]


def test_a_suite_is_regressed_if_one_of_its_headlines_is(run: Run, tmp_path: Path) -> None:
    """Exact match falls by half, the other metric does not move: regressed, also against a baseline of the mean."""
    suite = {"name": "alpha", "metrics": {"exact_match": {}, **ANYTHING}, "threshold": 0.4}
    first = run("--config", write_configuration(tmp_path, suite, rows=ALL_RIGHT))
    assert first.returncode == 0, first.stderr
    baseline = tmp_path / "main.json"
    pinned = run("set", str(baseline), latest(tmp_path).name, command="baseline")
    assert pinned.returncode == 0, pinned.stderr
    path = write_configuration(tmp_path, suite, rows=HALF_RIGHT)
    # The same is found against a baseline of either form.
    for name in (baseline, as_of_before(baseline)):
        ended = run("--config", path, "--baseline", str(name), "--fail-on", "regression")
        assert ended.returncode == 1, ended.stderr
        results = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["baseline"]
        compared = {change["pair"]["metric"]: change["decision"]["outcome"] for change in results["headlines"]}
        assert compared == {"exact_match": "regressed", "regex": "undecided"}, "20 equal pairs do not show 2 points"
        assert "(alpha, exact_match, router: −50.0)" in ended.stdout.splitlines()[0]
        is_of_mean = "the mean of exact_match, regex" in json.dumps(results["differences"])
        assert is_of_mean == (name != baseline)
        gated = run(latest(tmp_path).name, "--baseline", str(name), command="gate")
        assert gated.returncode == 1, gated.stderr
        assert "alpha, exact_match, router: regressed: −50.0 points" in gated.stdout
    _check_gate_of_missed_threshold(run, tmp_path, suite, str(baseline))
    # Another score is another rule, but for what had no other.
    joined = write_configuration(tmp_path, {**suite, "score": ["exact_match", "regex"]}, rows=HALF_RIGHT)
    refused = run("--config", joined, "--baseline", str(baseline))
    assert (refused.returncode, "score of suite alpha" in refused.stderr) == (2, True)
    against_mean = run("--config", joined, "--baseline", str(as_of_before(baseline)), "--fail-on", "regression")
    assert against_mean.returncode == 1, against_mean.stderr
    assert "(alpha, router: −25.0)" in against_mean.stdout.splitlines()[0]
    by_row = write_configuration(tmp_path, {**suite, "score": "all"}, rows=HALF_RIGHT)
    against_parts = run("--config", by_row, "--baseline", str(as_of_before(baseline)), "--fail-on", "regression")
    assert against_parts.returncode == 1, against_parts.stderr
    assert "(alpha, exact_match, router: −50.0)" in against_parts.stdout.splitlines()[0]


def test_a_headline_is_asked_until_each_is_decided_and_has_its_own_sequence(run: Run, tmp_path: Path) -> None:
    """One of 12 of 400 tickets goes to the wrong team: 91.7 % against 80 %, and 100 % against 50 %."""
    rows = tickets((["Sales"] + ["Billing"] * 11) * 33 + ["Billing"] * 4)
    metrics = {"exact_match": {}, "regex": {"pattern": ".", "threshold": 0.5}}
    suite = {"name": "alpha", "metrics": metrics, "threshold": 0.8, "stop": {"first": 20, "most": 400}}
    ended = run("--config", write_configuration(tmp_path, suite, rows=rows))
    assert ended.returncode == 0, ended.stderr
    sequences = {headline["metric"]: headline["stopping"] for headline in entry(tmp_path)["suites"]}
    assert sequences["all"] is None
    assert {name: sequences[name]["metric"] for name in ("exact_match", "regex")} == {
        name: name for name in metrics
    }
    assert {sequences[name]["threshold"] for name in metrics} == {0.8, 0.5}
    assert all(sequences[name]["alpha"] == 0.025 for name in metrics), "half of 0.05 for each of two headlines"
    n_asked = {sequences[name]["asked"] for name in metrics}
    assert sequences["regex"]["decided"] < sequences["exact_match"]["decided"] == max(n_asked) < 400


CHECKED = {"exact_match": {}, "regex": {"pattern": "^[A-Z]"}, "contains": {"texts": ["Sales"]}}
"""Of the tickets 15, 20 and 5 hold, in this order."""


@pytest.mark.parametrize("score", ["all", [*CHECKED]])
def test_the_metrics_that_a_score_joins_stand_beside_it(run: Run, tmp_path: Path, score: Any) -> None:
    suite = {"name": "tickets", "metrics": CHECKED, "score": score, "threshold": 0.9}
    done = run(write_configuration(tmp_path, suite))
    name = {"all": "tickets, all at once"}.get(str(score), "tickets, score")
    assert f"{name}: contains 25, exact_match 75 and regex 100" in done.stdout
    assert "Ticket 15 → Sales (expected Billing) ✗ exact_match\n" in done.stdout


def test_of_several_models_a_failing_row_says_whose_it_is(run: Run, tmp_path: Path) -> None:
    rows = [{"question": f"Ticket {n}", "answer": "Billing"} for n in range(4)]
    suite = {"name": "tickets", "prompt": "{{ question }}", "metrics": ["exact_match"], "threshold": 0.5}
    path = write_configuration(tmp_path, suite, rows=rows)
    document = json.loads(Path(path).read_text(encoding="utf-8"))
    del document["suites"][0]["responses_of"]

    def answer(body: dict[str, Any]) -> str:
        is_right = body["model"] == "steady" and "3" not in str(body["messages"])
        return "Billing" if is_right else "Sales"

    with serve_openai(answer) as server:
        entries = [
            {"name": name, "provider": "openai", "base_url": server.base_url} for name in ("steady", "hasty")
        ]
        Path(path).write_text(json.dumps({**document, "models": entries}), encoding="utf-8")
        done = run(path)
    lines = [line for line in done.stdout.splitlines() if "✗ hasty" in line or "✗ steady" in line]
    # The model that failed comes first, also where the other's reply is as bad.
    assert lines == [f"Ticket {n} → Sales (expected Billing) ✗ hasty" for n in range(3)]


def test_a_row_is_not_said_to_fail_a_metric_whose_threshold_it_reaches(run: Run, tmp_path: Path) -> None:
    rows = tickets(["Billing"] * 2 + ["Billings"] * 2)
    metrics = {"exact_match": {"threshold": 0.9}, "similarity": {"threshold": 0.7}}
    done = run(write_configuration(tmp_path, {"name": "tickets", "metrics": metrics}, rows=rows))
    assert done.stdout.count("→ Billings (expected Billing) ✗ exact_match\n") == 2, done.stdout
