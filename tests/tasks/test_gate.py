"""Who is judged in which suites, and under which file names; what cannot be weighed is refused before asking."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Model, Settings
from basic_control.data.errors import InputError
from basic_control.metrics.analysis.explainability import ExplainabilityResult
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.analysis.results import Participants, Results, SuiteFindings, model_results
from basic_control.metrics.analysis.scores import score_headline
from basic_control.metrics.analysis.summary import summarise
from basic_control.metrics.analysis.verdict import RunVerdict, verdict_of
from basic_control.metrics.stats.labelled import prediction_powered
from basic_control.tasks.findings import circumstances
from basic_control.tasks.plan import resolve
from basic_control.tasks.report import raw
from basic_control.tasks.report.raw import write_explained
from tests.helpers.verdicts import entry
from tests.tasks.report.runs import build

ANSWER = {"question": "Who?", "response": "Anna.", "reference": "Anna.", "retrieved_contexts": ["It was Anna."]}


@pytest.fixture
def answers(tmp_path: Path) -> str:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps(ANSWER), encoding="utf-8")
    return str(path)


def settings(*models: str, given: tuple[str, str] | None = None, **changes: Any) -> Settings:
    """Return a configuration of two suites; `given`: a file of responses, and whose they are."""
    listed = [Model(name=name, provider="ollama") for name in models]
    rag: dict[str, Any] = {"rag": {"data": given[0], "response_model": given[1]}} if given else {}
    judges = [{"name": "j", "provider": "ollama"}]
    base: dict[str, Any] = {"models": listed, "judges": judges, "suites": ("basic_control", "rag")}
    return Settings(**(base | rag | changes))


def summed(*models: str) -> pl.DataFrame:
    """Return a summary in which all models are right in basic_control, and `b` half so in rag."""
    rows = [(f"{suite}{n}", suite) for suite in ("basic_control", "rag") for n in range(10)]
    items = pl.DataFrame(
        [{"item_id": i, "suite": s, "family": "f", "level": "", "language": "", "template": ""} for i, s in rows]
    )
    scores = pl.DataFrame(
        [
            {"item_id": i, "model": m, "repeat": 0, "metric": metric, "version": 1, "value": value,
             "status": "scored", "reason": "", "details": "{}"}
            for i, s in rows
            for m in models
            for metric, value in (("correct", 1.0), ("factual_correctness", 0.5), ("response_groundedness", 0.5))
            if (metric == "correct") == (s == "basic_control") and (s == "basic_control" or m in {"b", "component"})
        ]
    )  # fmt: skip
    return summarise(scores, items)


def final_of(settings: Settings, summary: pl.DataFrame, missing: dict[str, str] | None = None) -> RunVerdict:
    """Decide on a summary, as the stages do."""
    plan = resolve(settings)
    findings = []
    for suite in plan.suites:
        facts = circumstances(suite, missing=missing)
        models = [model for model, suites in plan.members.items() if suite.name in suites]
        headlines = tuple(score_headline(suite.suite, model, summary, facts) for model in models)
        findings.append(SuiteFindings(headlines, facts))
    found = model_results(findings, Participants(plan.declarations, plan.members))
    return verdict_of(Results({}, found), plan.policy)


def test_responses_of_a_model_of_the_run_join_its_own_score(answers: str) -> None:
    final = final_of(settings("a", "b", given=(answers, "b")), summed("a", "b"))
    a, b = map(entry, final.models)
    assert [(s.suite, s.weight) for s in a.suites] == [("basic_control", 1.0)]
    assert a.score == pytest.approx(1.0)
    assert [s.suite for s in b.suites] == ["basic_control", "rag"]
    assert b.score == pytest.approx((0.4 * 1 + 0.2 * 0.5) / 0.6)


def test_a_model_that_is_missing_is_an_error_and_the_others_stand() -> None:
    final = final_of(settings("a", "b", suites=("basic_control",)), summed("a"), {"b": "no server there"})
    a, b = map(entry, final.models)
    assert (a.verdict, b.verdict, final.exit_code) == ("pass", "error", 2)
    assert b.reason == b.suites[0].reason == "the model could not be asked: no server there"


def test_given_responses_stand_beside_the_models_whatever_their_suite_weighs(answers: str) -> None:
    given = settings("a", given=(answers, "component"), weights={"rag": 0})
    a, component = map(entry, final_of(given, summed("a", "component")).models)
    assert (a.model, component.model) == ("a", "component")
    assert component.score == pytest.approx(0.5)


@pytest.mark.parametrize("changes", [{"strata": "family"}, {}])
def test_labels_decide_a_mean_alone(tmp_path: Path, changes: dict[str, Any]) -> None:
    """They estimate the mean of the replies: no TOTAL."""
    data = tmp_path / "sums.jsonl"
    data.write_text(json.dumps({"question": "1 + 1?"}), encoding="utf-8")
    metrics = {"rubric": {"criteria": "Right."}}
    suite = {"name": "n", "items": {"data": str(data)}, "prompt": "{{ question }}", "metrics": metrics, **changes}
    plan = resolve(settings("a", suites=[suite], judges_must_have="labels"))
    labels = {("n", "a", "rubric"): prediction_powered([1.0] * 40, range(40), [0.0, 1.0] * 20)}
    status = JudgeStatus("n", "rubric", "rubric", "j", "en")
    facts = circumstances(plan.suites[0], plan.judges_must_have, judge_statuses=[status], labels=labels)
    assert ([*facts.labels], [*facts.withheld]) == (([], [("n", "rubric", "a")]) if changes else ([*labels], []))


def test_suites_of_weight_0_are_refused() -> None:
    with pytest.raises(InputError, match="weights: basic_control, rag have weight 0"):
        resolve(settings("a", weights={"basic_control": 0, "rag": 0}))
    assert resolve(settings("a", weights={"rag": 0})).members == {"a": ("basic_control", "rag")}


def test_models_that_would_be_one_file_are_told_apart() -> None:
    names = raw.slugs(["a/b", "a:b", "A_B", "x" * 300, "x" * 299 + "y", "ы" * 200])
    assert names[0] == "a_b"
    assert len({name.casefold() for name in names}) == 6
    assert all(len(name.encode()) <= 140 for name in names)


def test_each_of_several_models_has_its_own_file_of_results(tmp_path: Path) -> None:
    listed = [
        ExplainabilityResult({"cot": {"model": name}, "citation": {"response_model": name}})
        for name in ("a/b", "a:b")
    ]
    write_explained(Results({"started": "2026-11-05T14:02:33"}, (), explainability=listed), tmp_path)
    found = sorted(tmp_path.iterdir())
    assert found[0].name == "FINAL_RESULTS_20261105_a_b.json"
    assert {json.loads(path.read_text())["cot"]["model"] for path in found} == {"a/b", "a:b"}


def test_raw_results_of_every_model_are_kept(tmp_path: Path) -> None:
    names = {"acme/large:70b": "acme/model", "acme/small:8b": "acme:model", "other-model": "n" * 300}
    data = build(1, suites=["basic_control"])
    renamed = pl.col("model").replace(names)
    data = replace(
        data,
        replies=data.replies.with_columns(renamed),
        verdicts=data.verdicts.with_columns(renamed),
    )
    written = raw.write(data, tmp_path)
    assert [json.loads(path.read_text())[0]["model_name"] for path in written] == list(names.values())
