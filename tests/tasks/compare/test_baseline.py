"""A run against a pinned baseline: nothing that is missing, loosened or relabelled passes unseen."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import Settings
from basic_control.data.errors import InputError
from basic_control.data.exits import Exit
from basic_control.flows.runs import provenance
from basic_control.metrics.analysis.baseline import BaselineComparison
from basic_control.metrics.analysis.policy import Policy
from basic_control.metrics.analysis.provenance import differences
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.analysis.verdict import verdict_of
from basic_control.tasks.compare.baseline import check_baseline, compare_planned, pin
from basic_control.tasks.compare.provenance import read_provenance
from basic_control.tasks.plan import BaselineRule, Identities, resolve
from basic_control.tasks.report.regressions import lines
from basic_control.tasks.store.baselines import read_baseline, write_baseline
from basic_control.tasks.store.runs import find_run, load_items, load_replies, load_table
from tests.conftest import TOP
from tests.helpers.recorded import recorded_run, suite, written

ROWS = [{"question": f"Question {n}?", "answer": f"Answer {n}", "response": f"Answer {n}"} for n in range(100)]
HALF_WRONG = [{**row, "response": "nothing"} if n % 2 else row for n, row in enumerate(ROWS)]

Declared = Mapping[str, Any]


def declared(folder: Path, rows: Sequence[Declared], name: str = "own", **changes: Any) -> dict[str, Any]:
    """Write rows into a file of their own, and declare the suite of them."""
    place = folder / f"{len([*folder.glob('*.jsonl')])}.jsonl"
    return suite(written(place, rows), name, **changes)


def pinned(folder: Path, *suites: Declared) -> Path:
    recorded_run(folder, "pinned", suites)
    return write_baseline(pin("main", find_run("pinned", folder / "runs")), folder / "main.json")


def compared(folder: Path, *suites: Declared, allow: bool = False) -> tuple[BaselineComparison, list[str], Exit]:
    """Run suites against the pinned baseline: what it came to, what a terminal says, and the exit code."""
    recorded_run(folder, "later", suites)
    run = find_run("later", folder / "runs")
    settings = Settings.model_validate(
        {**run.configuration, "baseline": str(folder / "main.json"), "allow_different": allow}
    )
    plan = resolve(settings)
    check_baseline(plan.baseline, run.manifest)
    found = compare_planned(plan, run.manifest, load_table(run, "scores"), load_items(run), load_replies(run))
    assert found
    results = Results({}, (), baseline=found)
    said = [*lines(found)]
    return found, said, verdict_of(results, Policy("off", regressions=True)).exit_code


def test_replies_that_became_wrong_are_100_pairs_and_50_points_fewer_and_regressed(tmp_path: Path) -> None:
    """The golden of SPEC 15."""
    pinned(tmp_path, declared(tmp_path, ROWS))
    found, said, code = compared(tmp_path, declared(tmp_path, HALF_WRONG))
    (part,) = found.headlines
    assert (part.pair.n, part.pair.difference, part.decision.outcome, part.pair.only_b, part.pair.only_a) == (
        100,
        -0.5,
        "regressed",
        50,
        0,
    )
    assert code == Exit.FAILED
    assert any("−50.0 points" in line and "regressed" in line and line.endswith("100 questions") for line in said)


def test_the_same_replies_hold(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS))
    found, said, code = compared(tmp_path, declared(tmp_path, ROWS[::-1], prompt="Once more: {{ question }}"))
    (part,) = found.headlines
    assert (part.pair.n, part.decision.outcome, part.moved.n_common, code) == (100, "held", 100, Exit.PASSED)
    assert any("prompt of suite own" in line for line in said), "the prompt is under test, and named"


def test_a_corrected_label_keeps_its_row_and_is_named_with_both_answers(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, [{**ROWS[0], "answer": "a mistake"}, *ROWS[1:]]))
    found, said, _ = compared(tmp_path, declared(tmp_path, ROWS))
    (part,) = found.headlines
    assert (part.pair.n, part.pair.only_a, part.moved.relabelled.n) == (100, 1, 1)
    assert any("a different answer is expected in 1 of 100 questions" in line for line in said)
    assert any("Question 0? (a mistake, now Answer 0)" in line for line in said)


def test_a_third_of_the_rows_gone_holds_nothing(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS))
    found, said, code = compared(tmp_path, declared(tmp_path, ROWS[:67]))
    assert [part.decision.outcome for part in found.headlines] == ["undecided"]
    assert code == Exit.UNDECIDED
    assert any("67 of the baseline's 100 questions were asked" in line for line in said)
    assert any("no longer asked: 33 of 100 questions" in line for line in said)


def test_what_held_over_a_part_of_the_questions_does_not_say_that_nothing_could(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS))
    _, said, code = compared(tmp_path, declared(tmp_path, ROWS[:67]), allow=True)
    (line,) = (line for line in said if "67 questions" in line)
    told = (
        "held: no difference on 67 questions; 67 of the baseline's 100 questions were asked; "
        "below 95 % a suite counts as held only with"
    )
    assert f": {told} --allow-different" in line
    assert code == Exit.PASSED


def test_a_suite_that_is_gone_has_regressed_unless_that_is_allowed(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS), declared(tmp_path, ROWS, "other"))
    _, said, code = compared(tmp_path, declared(tmp_path, ROWS))
    assert "  regressed: suite other is missing" in said
    assert code == Exit.FAILED


def test_what_is_missing_and_allowed_is_named_instead(tmp_path: Path) -> None:
    both: dict[str, Any] = {"exact_match": {}, "contains": {}}
    pinned(tmp_path, declared(tmp_path, ROWS, metrics=both), declared(tmp_path, ROWS, "other"))
    _, said, code = compared(tmp_path, declared(tmp_path, ROWS), allow=True)
    assert "  Compared anyway: suite other is missing" in said
    assert "  Compared anyway: metric contains of suite own is missing" in said
    assert code == Exit.PASSED


def test_a_metric_that_is_gone_has_regressed(tmp_path: Path) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS, metrics={"exact_match": {}, "contains": {}}))
    _, said, code = compared(tmp_path, declared(tmp_path, ROWS))
    assert "  regressed: metric contains of suite own is missing" in said
    assert code == Exit.FAILED


def metric(name: str, **options: Any) -> dict[str, Any]:
    return {"metrics": {name: options}}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (metric("contains", mode="all"), metric("contains", mode="any"), "contains.mode of suite own: any, in"),
        (metric("number", tolerance=0), metric("number", tolerance=5), "number.tolerance of suite own: 5"),
        ({"threshold": 0.9}, {"threshold": 0.5}, "threshold of suite own: 0.5, in the baseline 0.9"),
    ],
)  # fmt: skip
def test_loosened_rules_are_refused_unless_allowed_and_then_named(
    tmp_path: Path, before: Declared, after: Declared, message: str
) -> None:
    pinned(tmp_path, declared(tmp_path, ROWS, **before))
    with pytest.raises(InputError, match="--allow-different") as refused:
        compared(tmp_path, declared(tmp_path, ROWS, **after))
    assert message in str(refused.value)
    (tmp_path / "runs" / "later").rename(tmp_path / "runs" / "refused")
    _, said, _ = compared(tmp_path, declared(tmp_path, ROWS, **after), allow=True)
    assert any(line.startswith(f"  Compared anyway: {message}") for line in said)


QUESTIONS = str(TOP / "config" / "init" / "questions.csv")


def judged(criteria: str, **changes: Any) -> dict[str, Any]:
    model = {"provider": "openai", "base_url": "http://127.0.0.1:9"}
    return {
        "suites": [
            suite(str(TOP / "config" / "init" / "questions.csv"), metrics={"rubric": {"criteria": criteria}})
        ],
        "models": [{"name": "tiny", **model}],
        "judges": [{"name": "gpt", **model, **changes}],
    }


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (judged("Correct."), "rubric.criteria of suite own: Correct., in the baseline Polite and correct."),
        (judged("Polite and correct.", temperature=0.7), "judges.rubric.gpt of suite own"),
        (judged("Polite and correct.", system="Be kind."), "judges.rubric.gpt of suite own"),
    ],
)
def test_other_criteria_and_judges_are_refused_before_anything_is_asked(
    tmp_path: Path, now: Declared, message: str
) -> None:
    """From the configuration alone, as a run begins."""

    def manifest(given: Declared) -> dict[str, Any]:
        return provenance(resolve(Settings.model_validate(given)), Identities({}, {"gpt": {"model": "gpt-4o"}}))

    known = pinned(tmp_path, declared(tmp_path, ROWS))
    raw = json.loads(known.read_text("utf-8"))
    before = read_provenance(manifest(judged("Polite and correct.")))
    raw["facts"]["suites"] = {"own": {"score": ["rubric"], "rules": before.suites["own"].rules}}
    known.write_text(json.dumps(raw), encoding="utf-8")
    check_baseline(BaselineRule(str(known)), manifest(judged("Polite and correct.")))
    with pytest.raises(InputError, match="--allow-different") as refused:
        check_baseline(BaselineRule(str(known)), manifest(now))
    assert message in str(refused.value)


def test_a_judges_prompt_that_has_changed_is_refused() -> None:
    before = read_provenance(
        provenance(resolve(Settings.model_validate(judged("Polite."))), Identities({}, {"gpt": {}}))
    )
    prompts = [path for path in before.suites["own"].rules if path.startswith("judge_prompts.rubric.rubric/rate")]
    assert prompts
    rules = {**before.suites["own"].rules, prompts[0]: "another"}
    after = replace(before, suites={"own": replace(before.suites["own"], rules=rules)})
    assert [one.kind for one in differences(before, after)] == ["decides"]


def test_a_file_of_an_earlier_version_says_how_to_set_it_again(tmp_path: Path) -> None:
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"schema": 1, "name": "old", "run": "20260101_000000"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"baseline set .*old.json 20260101_000000"):
        read_baseline(str(path))


def test_a_baseline_is_read_as_it_was_written_and_holds_no_text(tmp_path: Path) -> None:
    path = pinned(tmp_path, declared(tmp_path, ROWS))
    text = path.read_text("utf-8")
    assert not [word for word in ("Question 1", "Answer 1") if word in text]
    assert read_baseline(str(path)).side.replies["reply"].n_unique() == 100, "digests of them"
    again = write_baseline(read_baseline(str(path)), tmp_path / "again.json")
    assert again.read_text("utf-8") == text
    damaged = json.loads(text)
    damaged["scores"][0]["value"] = "x"
    path.write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(InputError, match=r"is damaged \(.*Set it again"):
        read_baseline(str(path))


def older(path: Path, value: float) -> None:
    """Have a baseline be of an earlier version of its metric, which found another value in every reply."""
    raw = json.loads(path.read_text("utf-8"))
    raw["facts"]["units"]["exact_match"]["version"] = 0
    for one in raw["scores"]:
        one["value"] = [value] * len(one["value"])
    path.write_text(json.dumps(raw), encoding="utf-8")


def test_after_an_upgrade_the_baselines_replies_are_scored_again(tmp_path: Path) -> None:
    """What the earlier version got wrong is no gain of today's replies, which are the same."""
    older(pinned(tmp_path, declared(tmp_path, HALF_WRONG)), 0.0)
    found, said, code = compared(tmp_path, declared(tmp_path, HALF_WRONG))
    (part,) = found.headlines
    assert (part.pair.n, part.pair.mean_a, part.pair.mean_b, part.decision.outcome, part.decision.improved) == (
        100,
        0.5,
        0.5,
        "held",
        False,
    )
    assert any("version of exact_match" in line and "were scored again, without a call" in line for line in said)
    assert code == Exit.PASSED


def test_after_an_upgrade_scores_whose_replies_are_gone_stand_and_that_is_named(tmp_path: Path) -> None:
    path = pinned(tmp_path, declared(tmp_path, HALF_WRONG))
    older(path, 0.0)
    raw = json.loads(path.read_text("utf-8"))
    for one in raw["tables"]["responses"]:
        one["digest"] = "0" * 64
    path.write_text(json.dumps(raw), encoding="utf-8")
    found, said, _ = compared(tmp_path, declared(tmp_path, HALF_WRONG))
    (part,) = found.headlines
    assert (part.pair.mean_b, part.decision.outcome) == (0.0, "held")
    (line,) = (line for line in said if "version of exact_match" in line)
    assert "scored again" not in line
