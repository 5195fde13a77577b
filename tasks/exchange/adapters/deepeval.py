"""Test runs of DeepEval: `test_run_*.json`, `.deepeval/.latest_run_full.json`, `.latest_test_run.json`.

Source: deepeval 4, its `TestRun` model.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from basic_control.data.errors import plural
from basic_control.tasks.exchange.records import (
    Found,
    Material,
    Recorded,
    Stated,
    build_score,
    collect_facts,
    list_objects,
    read_mapping,
    read_number,
    text_of,
)
from basic_control.tasks.exchange.source import Source

TOOL = "DeepEval"


def _run(source: Source) -> Mapping[str, Any]:
    return read_mapping(source.head.get("testRunData")) or source.head


def fits(source: Source) -> bool:
    """Return whether a file is a test run."""
    cases = _run(source).get("testCases")
    return isinstance(cases, list) and (
        not cases or not read_mapping(cases[0]).keys().isdisjoint({"actualOutput", "input"})
    )


def _scores(case: Mapping[str, Any], *, alone: bool) -> dict[str, Stated]:
    found = {}
    for told in list_objects(case.get("metricsData")):
        why = told.get("error") or told.get("reason")
        value = None if told.get("error") or told.get("skipped") else told.get("score")
        judge = text_of(told.get("evaluationModel"))
        found[text_of(told.get("name"))] = build_score(value, judge=judge, reason=why)
    failed = next((one.reason for one in found.values() if one.status != "scored"), None)
    judged = next((one.judge for one in found.values() if one.judge), "")
    whole = build_score(None if failed is not None else case.get("success"), judge=judged, reason=failed)
    return found if alone else {"success": whole, **found}


def _lower(told: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a metric, such as Bias, passes at or below its threshold; strict ones have the threshold 0."""
    apart = []
    for one in told:
        score, limit = read_number(one.get("score")), read_number(one.get("threshold"))
        if score is not None and limit is not None and not one.get("error") and (score != limit or not limit):
            apart.append(one.get("success") is not (score > limit))
    return bool(apart) and all(apart)


def read(source: Source) -> Iterator[Found]:
    """Read a test run; conversations are skipped with a remark."""
    run = _run(source)
    options = read_mapping(run.get("hyperparameters"))
    model = text_of(options.get("model")) or text_of(run.get("identifier")) or "model"
    cases = list_objects(run["testCases"])
    names = [text_of(case.get("name")) for case in cases]
    # Unless named by the user, cases are named by position.
    measured: dict[str, list[Mapping[str, Any]]] = {}
    for told in (one for case in cases for one in list_objects(case.get("metricsData"))):
        measured.setdefault(text_of(told.get("name")), []).append(told)
    declared = len({*names}) == len(names) and not all(name.startswith(("test_case_", "test_")) for name in names)
    for case, name in zip(cases, names, strict=True):
        yield Recorded(
            name if declared else "",
            text_of(case.get("input")),
            text_of(case.get("expectedOutput")),
            text_of(case.get("actualOutput")),
            _scores(case, alone=len(measured) == 1),
            model,
            text_of(run.get("testFile")),
            material=Material(contexts=tuple(map(text_of, case.get("context") or ()))),
        )
    if talks := len(run.get("conversationalTestCases") or ()):
        yield f"{plural(talks, 'test case')} left out: multi-turn conversations."
    yield frozenset(name for name, own in measured.items() if _lower(own))
    prompts = ", ".join(text_of(one.get("alias")) for one in list_objects(run.get("prompts")))
    yield collect_facts(tool=TOOL, prompt=prompts, **{str(name): value for name, value in options.items()})
