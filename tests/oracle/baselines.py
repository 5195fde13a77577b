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
from basic_control.tasks.store.runs import find, load_items, load_replies
from tests.oracle.draws import LETTERS, Question, Reply, Suite, headline_names, runs
from tests.oracle.held_against import check, equal, same
from tests.oracle.pairs import Sequel, lines_of, outcomes
from tests.oracle.product import Output, configuration, decide_run, manifest_of, measure_run
from tests.oracle.rules import mean

NAME = "20261104_140233"


RIGHT, WRONG, LIKE = Reply("right"), Reply("zz"), Reply(LETTERS[:4])
CHANGES = (
    (WRONG,), (WRONG,), (WRONG, LIKE), (RIGHT,), (RIGHT, RIGHT, WRONG), (RIGHT, WRONG),
    (WRONG, WRONG, WRONG, Reply(failed=True), Reply("zz", cut=True)),
)  # fmt: skip
"""What a later reply may be where it differs."""


def _later_replies(
    draw: st.DrawFn, suite: Suite, models: Mapping[str, str], repeats: int
) -> dict[tuple[str, str, int], Reply]:
    """Draw what models, by their former names, reply later to each question in each repeat."""
    odds = draw(st.sampled_from((0, 1, 4, 10, 20)))
    changes = st.sampled_from(draw(st.sampled_from(CHANGES)))
    row_of = {question.text: row for row, question in reversed([*enumerate(suite.questions)])}
    drawn: dict[tuple[str, str, int], Reply] = {}
    for model, repeat, (text, row) in product(models, range(repeats), row_of.items()):
        reply = suite.replies[model, row, repeat]
        if draw(st.integers(0, 19)) < odds:
            change = draw(changes)
            reply = Reply(suite.questions[row].answer) if change is RIGHT else change
        if suite.options.get("gate_on") and reply.failed:
            reply = WRONG
        # The rules do not say which causes that a call may fail of in both runs are one.
        drawn[model, text, repeat] = replace(reply, cause="connection")
    return drawn


def _later_suite(draw: st.DrawFn, suite: Suite, models: Mapping[str, str], repeats: int) -> Suite:
    """Draw a suite as it is asked later: some questions are gone or new, some replies differ."""
    texts = [*dict.fromkeys(question.text for question in suite.questions)]
    n_gone = min(draw(st.sampled_from((0, 0, 0, 0, 1, 2))), len(texts) - 1)
    questions = [question for question in suite.questions if question.text not in texts[:n_gone]]
    questions = questions[::-1] if draw(st.booleans()) else questions
    drawn = _later_replies(draw, suite, models, repeats)
    if draw(st.integers(0, 5)) == 0:
        new = Question(f"{suite.name} new", LETTERS[:4], dict.fromkeys(suite.questions[0].columns, "new"))
        questions.append(new)
        drawn |= {(model, new.text, repeat): WRONG for model in models for repeat in range(repeats)}
    replies = {
        (later, row, repeat): drawn[earlier, question.text, repeat]
        for earlier, later in models.items()
        for row, question in enumerate(questions)
        for repeat in range(repeats)
    }
    return replace(suite, questions=tuple(questions), replies=replies)


@st.composite
def sequels(draw: st.DrawFn) -> Sequel:
    """Draw a run and a later one, in which a model, a suite or a threshold may be another, or be gone."""
    before = draw(runs(most=draw(st.sampled_from((10, 24, 36)))))
    models = {name: name for name in before.models}
    if draw(st.integers(0, 5)) == 0:
        models = {"m0": "m0"} if len(models) > 1 else {"m0": "later"}
    suites = [_later_suite(draw, suite, models, before.repeats) for suite in before.suites]
    if draw(st.integers(0, 7)) == 0 and any(suite.weight != 0 for suite in suites[1:]):
        suites = suites[1:]
    changed = draw(st.sampled_from(("",) * 9 + ("threshold",)))
    if changed:
        suite = replace(suites[0], threshold=0.7 if suites[0].threshold != 0.7 else 0.6)
        weight = suite.weight if len(headline_names(suite)) == 1 else 0.0
        suites[0] = replace(suite, weight=weight)
    after = replace(before, models=tuple(models.values()), suites=tuple(suites))
    max_drop = draw(st.sampled_from((0.0, 0.0, 0.02, 0.02, 0.1, 0.3)))
    return Sequel(before, after, max_drop, changed, bool(changed) and draw(st.booleans()))


def drive_sequel(sequel: Sequel, folder: Path) -> Output | None:
    """Pin the earlier run, and compare the later one with it; None if it is refused."""
    store = {"root": str(folder / "store"), "runs": str(folder / "runs")}
    before = measure_run(sequel.before, {**configuration(sequel.before, folder / "before"), "store": store})
    manifests.write(folder / "runs" / NAME, manifest_of(before, NAME))
    path = write_baseline(pin("main", find(NAME, folder / "runs")), folder / "main.json")
    keys = {
        "baseline": str(path), "max_drop": sequel.max_drop, "fail_on": "regression",
        "allow_different": sequel.is_allowed,
    }  # fmt: skip
    declared = {**configuration(sequel.after, folder / "after", **keys), "store": store}
    after = measure_run(sequel.after, declared)
    manifest = manifest_of(after, "20261105_140233")
    manifests.write(folder / "runs" / "20261105_140233", manifest)
    try:
        check_baseline(after.plan.baseline, manifest, sequel.after.models)
    except InputError:
        return None
    run = find("20261105_140233", folder / "runs")
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
    reported = {
        (entry["pair"]["model_a"], entry["pair"]["suite"], entry["pair"]["metric"]): entry
        for entry in output.results["baseline"]["headlines"]
    }
    equal({*reported}, {line.key for line in lines}, "lines of the comparison")
    equal(bool(output.results["baseline"]["missing"]), bool(missing), f"missing: {missing}")
    allowed = outcomes(lines, sequel.max_drop, is_allowed=sequel.is_allowed)
    ended = []
    for line in lines:
        expected, entry, what = allowed[line.key], reported[line.key], f"{line.key}"
        differences = line.differences("value")
        equal(entry["pair"]["n"], len(differences), f"{what}: pairs")
        same(entry["pair"]["difference"], mean([*differences.values()]) if differences else None, what)
        for key, end in (("low", "worst"), ("high", "best")):
            if entry["pair"][key] is not None:
                same(entry["pair"][key], mean([*line.differences(end).values()]), f"{what}: {end}")
        test = line.test("value", Fraction(str(sequel.max_drop)))
        if test.is_exact and not line.is_equal("value"):
            same(entry["decision"]["p_regressed"], test.p_below, f"{what}: p below the margin")
            same(entry["decision"]["p_held"], test.p_above, f"{what}: p above the margin")
        outcome = entry["decision"]["outcome"]
        assert outcome in expected, f"{what}: {outcome}, and the rules have {expected}: {entry}"
        ended.append(outcome)
    verdicts = ["regressed"] * bool(missing and not sequel.is_allowed) + ended
    check(output, sequel.after, [{"regressed": "fail", "held": "pass"}.get(one, one) for one in verdicts])
