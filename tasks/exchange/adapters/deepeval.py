"""Test runs of DeepEval: `test_run_*.json`, `.deepeval/.latest_run_full.json`, `.latest_test_run.json`.

Source: deepeval 4, its `TestRun` model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from basic_control.data.errors import plural
from basic_control.tasks.exchange.logs import (
    Found,
    Material,
    Recorded,
    Stated,
    build_score,
    collect_facts,
    join_parts,
    list_objects,
    read_mapping,
    read_stated_value,
)
from basic_control.tasks.exchange.source import Source

TOOL = "DeepEval"


def _find_run(source: Source) -> Mapping[str, Any]:
    return read_mapping(source.head.get("testRunData")) or source.head


def fits(source: Source) -> bool:
    """Return whether a file is a test run."""
    cases = _find_run(source).get("testCases")
    return isinstance(cases, list) and (
        not cases or not read_mapping(cases[0]).keys().isdisjoint({"actualOutput", "input"})
    )


def _read_score(result: Mapping[str, Any]) -> Stated:
    """Return a metric's score; what failed or was skipped has none, whatever stands there."""
    error = result.get("error")
    value = result.get("score")
    if error or result.get("skipped"):
        value = None
    return build_score(value, judge=join_parts(result.get("evaluationModel")), reason=error or result.get("reason"))


def _read_scores(case: Mapping[str, Any], *, alone: bool) -> dict[str, Stated]:
    """Return a case's scores by metric, and, unless its metric is `alone`, its success by all of them."""
    scores = dict[str, Stated]()
    for result in list_objects(case.get("metricsData")):
        scores[join_parts(result.get("name"))] = _read_score(result)
    if alone:
        return scores
    judges = [score.judge for score in scores.values() if score.judge]
    failures = [score.reason for score in scores.values() if score.status != "scored"]
    value, reason = case.get("success"), next(iter(failures), None)
    # DeepEval marks a case as not successful if one of its metrics failed; whether it is, is unknown.
    if failures:
        value = None
    return {"success": build_score(value, judge=next(iter(judges), ""), reason=reason), **scores}


def _is_lower_better(results: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a metric, such as Bias, passes at or below its threshold; strict ones have the threshold 0."""
    passes_below = []
    for result in results:
        score, limit = read_stated_value(result.get("score")), read_stated_value(result.get("threshold"))
        if score is not None and limit is not None and not result.get("error") and (score != limit or not limit):
            passes_below.append(result.get("success") is not (score > limit))
    return bool(passes_below) and all(passes_below)


def read(source: Source) -> Iterator[Found]:
    """Read a test run; conversations are skipped with a remark."""
    run = _find_run(source)
    options = read_mapping(run.get("hyperparameters"))
    model = join_parts(options.get("model")) or join_parts(run.get("identifier")) or "model"
    cases = list_objects(run["testCases"])
    names = [join_parts(case.get("name")) for case in cases]
    results_of: dict[str, list[Mapping[str, Any]]] = {}
    for case in cases:
        for result in list_objects(case.get("metricsData")):
            results_of.setdefault(join_parts(result.get("name")), []).append(result)
    # Unless named by the user, cases are named by position.
    if len({*names}) < len(names) or all(name.startswith(("test_case_", "test_")) for name in names):
        names = [""] * len(cases)
    for case, name in zip(cases, names, strict=True):
        yield Recorded(
            name,
            join_parts(case.get("input")),
            join_parts(case.get("expectedOutput")),
            join_parts(case.get("actualOutput")),
            _read_scores(case, alone=len(results_of) == 1),
            model,
            join_parts(run.get("testFile")),
            material=Material(contexts=tuple(map(join_parts, case.get("context") or ()))),
        )
    conversation_count = len(run.get("conversationalTestCases") or ())
    if conversation_count:
        yield f"{plural(conversation_count, 'test case')} left out: multi-turn conversations."
    yield frozenset(name for name, results in results_of.items() if _is_lower_better(results))
    prompts = [join_parts(prompt.get("alias")) for prompt in list_objects(run.get("prompts"))]
    facts: dict[str, Any] = {"tool": TOOL, "prompt": ", ".join(prompts)}
    for name, value in options.items():
        # A user may call a hyperparameter as the file's own facts are called.
        label = name if name not in facts else f"hyperparameter {name}"
        facts[label] = value
    yield collect_facts(**facts)
