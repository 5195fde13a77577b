"""Draw runs with a baseline, drive the product with them, and hold what it says against the rules."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import polars as pl
from hypothesis import strategies as st

from basic_control.data.errors import InputError
from basic_control.tasks.compare.baseline import check_baseline, compare_planned, pin
from basic_control.tasks.store import manifest as manifests
from basic_control.tasks.store.baselines import write_baseline
from basic_control.tasks.store.runs import find_run, load_items, load_replies
from tests.oracle.cases import LETTERS, Question, Reply, Sequel, Suite
from tests.oracle.draws import pick, runs
from tests.oracle.held_against import check, check_pair, check_tests, equal, hold
from tests.oracle.pairs import lines_of, outcomes
from tests.oracle.product import BEFORE, NOW, Output, configuration, decide_run, manifest_of, measure_run
from tests.oracle.rules import is_single

RIGHT, WRONG, LIKE = Reply("right"), Reply("zz"), Reply(LETTERS[:4])
CHANGES = (
    (WRONG,), (WRONG,), (WRONG, LIKE), (RIGHT,), (RIGHT, RIGHT, WRONG), (RIGHT, WRONG),
    (WRONG, WRONG, WRONG, Reply(failed=True), Reply("zz", cut=True)),
)  # fmt: skip
"""What a later reply may be where it differs."""
OUTCOMES = {"regressed": "fail", "held": "pass"}


def _later_suite(draw: st.DrawFn, suite: Suite, models: Mapping[str, str], repeats: int) -> Suite:
    """Draw a suite as it is asked later: some questions are gone or new, some replies differ."""
    row_of = {question.text: row for row, question in reversed([*enumerate(suite.questions)])}
    gone = [*reversed(row_of)][: min(pick(draw, 0, 0, 0, 0, 1, 2), len(row_of) - 1)]
    questions = [question for question in suite.questions if question.text not in gone]
    questions = questions[:: pick(draw, 1, -1)]
    odds, changes = pick(draw, 0, 1, 4, 10, 20), pick(draw, *CHANGES)
    drawn: dict[tuple[str, str, int], Reply] = {}
    for model, repeat, (text, row) in product(models, range(repeats), row_of.items()):
        reply = suite.replies[model, row, repeat]
        if draw(st.integers(0, 19)) < odds:
            reply = pick(draw, *changes)
            reply = Reply(suite.questions[row].answer) if reply is RIGHT else reply
        # The rules do not say which causes that a call may fail of in both runs are one.
        drawn[model, text, repeat] = replace(reply, cause="connection")
    if draw(st.integers(0, 5)) == 0:
        new = Question(f"{suite.name} new", LETTERS[:4], dict.fromkeys(suite.questions[0].columns, "new"))
        questions.append(new)
        drawn |= {(model, new.text, repeat): WRONG for model in models for repeat in range(repeats)}
    replies = {
        (later, row, repeat): drawn[earlier, question.text, repeat]
        for (earlier, later), (row, question), repeat in product(
            models.items(), enumerate(questions), range(repeats)
        )
    }
    return replace(suite, questions=tuple(questions), replies=replies)


@st.composite
def sequels(draw: st.DrawFn) -> Sequel:
    """Draw a run and a later one, in which a model, a suite or a threshold may be another, or be gone."""
    before = draw(runs(most=pick(draw, 10, 24, 36)))
    models = {name: name for name in before.models}
    if draw(st.integers(0, 5)) == 0:
        models = {"m0": "m0"} if len(models) > 1 else {"m0": "later"}
    suites = [_later_suite(draw, suite, models, before.repeats) for suite in before.suites]
    if draw(st.integers(0, 7)) == 0 and any(suite.weight != 0 for suite in suites[1:]):
        suites = suites[1:]
    changed = pick(draw, *[""] * 9, "threshold")
    if changed:
        suite = replace(suites[0], threshold=0.7 if suites[0].threshold != 0.7 else 0.6)
        suites[0] = replace(suite, weight=suite.weight if is_single(suite) else 0.0)
    after = replace(before, models=tuple(models.values()), suites=tuple(suites))
    max_drop = pick(draw, 0.0, 0.0, 0.02, 0.02, 0.1, 0.3)
    fails_on = pick(draw, "regression", "regression", "threshold")
    return Sequel(before, after, max_drop, fails_on, changed, bool(changed) and draw(st.booleans()))


def drive_sequel(sequel: Sequel, folder: Path) -> Output | None:
    """Pin the earlier run, and compare the later one with it; None if it is refused."""
    places = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    before = measure_run(sequel.before, configuration(sequel.before, folder / "before", store=places))
    manifests.write(folder / "runs" / BEFORE, manifest_of(before, BEFORE))
    path = write_baseline(pin("main", find_run(BEFORE, folder / "runs")), folder / "main.json")
    keys = {
        "baseline": str(path), "max_drop": sequel.max_drop, "fail_on": sequel.fails_on, "store": places,
        "allow_different": sequel.is_allowed,
    }  # fmt: skip
    after = measure_run(sequel.after, configuration(sequel.after, folder / "after", **keys))
    manifest = manifest_of(after, NOW)
    manifests.write(folder / "runs" / NOW, manifest)
    try:
        check_baseline(after.plan.baseline, manifest, sequel.after.models)
    except InputError:
        return None
    run = find_run(NOW, folder / "runs")
    scores = pl.concat([after.store.read(ref) for ref in after.tables.scores])
    compared = compare_planned(after.plan, manifest, scores, load_items(run), load_replies(run))
    return decide_run(after, folder, lambda results: replace(results, baseline=compared))


def check_sequel(output: Output | None, sequel: Sequel) -> None:
    """Check the comparison, the verdict and the exit code."""
    if sequel.changed and not sequel.is_allowed:
        equal(output, None, "a comparison by other rules")
        return
    assert output is not None, "refused"
    lines, missing = lines_of(sequel)
    comparison, margin = output.results["baseline"], Fraction(str(sequel.max_drop))
    entries = {
        tuple(entry["pair"][key] for key in ("model_a", "suite", "metric")): entry
        for entry in comparison["headlines"]
    }
    equal({*entries}, {line.key for line in lines}, "lines of the comparison")
    equal(bool(comparison["missing"]), bool(missing), f"missing: {missing}")
    allowed = outcomes(lines, sequel.max_drop, is_allowed=sequel.is_allowed)
    check_tests([entry["pair"] for entry in entries.values()])
    ended = ["regressed"] * bool(missing and not sequel.is_allowed)
    for line in lines:
        pair, decision = entries[line.key]["pair"], entries[line.key]["decision"]
        check_pair(pair, line)
        test = line.test("value", margin)
        if test.is_exact and not line.is_equal("value"):
            hold(f"{line.key}", decision, {"p_regressed": test.p_below, "p_held": test.p_above})
        ended.append(decision["outcome"])
        assert ended[-1] in allowed[line.key], (
            f"{line.key}: {ended[-1]}, and the rules have {allowed[line.key]}: {pair}"
        )
    changes = [OUTCOMES.get(outcome, outcome) for outcome in ended]
    check(output, sequel.after, changes if sequel.fails_on == "regression" else [])
