"""Hold what the product says of a run against the rules: results.json, Markdown, JUnit and CSV."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import isclose, sqrt
from typing import Any

from tests.oracle.draws import Run
from tests.oracle.product import Output
from tests.oracle.rules import (
    ENDS,
    JOINS,
    Headline,
    Intervals,
    Score,
    Z,
    decide,
    deciding,
    exit_code,
    headlines,
    mean,
    outcomes_of,
    overall,
    overall_threshold,
    weights,
    worst,
)

Document = Mapping[str, Any]
INTERVALS = {"value": "interval", "lower": "lower_interval", "upper": "upper_interval"}

NAMED = {"model_error": "failed calls", "judge_failed": "without a score", "truncated": "truncated replies"}
"""What an undecided gate says that it hangs on."""


def same(reported: float | None, expected: Fraction | float | None, what: str) -> None:
    """Check a number."""
    if expected is None:
        assert reported is None, f"{what}: {reported}, and the rules have none"
    else:
        assert reported is not None, f"{what}: none, and the rules have {float(expected)}"
        assert isclose(reported, expected, abs_tol=1e-9), (
            f"{what}: {reported}, and the rules have {float(expected)}"
        )


def equal(reported: object, expected: object, what: str) -> None:
    """Check anything else."""
    assert reported == expected, f"{what}: {reported!r}, and the rules have {expected!r}"


def interval(reported: Document, score: Score, n_answers: int, what: str) -> None:
    """Check a suite's interval: Wilson's where the rules name it, else its place, width and number of questions."""
    if score.mean is None:
        equal(reported["low"], None, what)
        return
    assert reported["low"] <= score.mean + 1e-9, f"{what}: {reported}"
    assert reported["high"] >= score.mean - 1e-9, f"{what}: {reported}"
    if not score.units:  # a mean of several metrics, whose width the rules do not say
        return
    equal(reported["units"], score.n_units, f"{what}: units")
    equal(reported["fixed_templates"], 0 < len(score.clusters) < 5, f"{what}: fixed templates")
    if score.wilson:
        for name, end in zip(("low", "high"), score.wilson, strict=True):
            same(reported[name], end, f"{what}: {name}")
        return
    low, high, n = reported["low"], reported["high"], len(score.units)
    assert 0 <= low <= float(score.mean) + 1e-9 <= high + 2e-9 <= 1 + 3e-9, f"{what}: {low} to {high}"
    least = score.half(score.clusters if len(score.clusters) >= 5 else ())
    if n >= 10 and least > 0.05 and 0.2 <= score.mean <= 0.8:  # the rules do not say how far it shrinks
        half, most = (high - low) / 2, 2.2 * max(least, score.half(()))  # nor that clusters ever narrow it
        if score.is_binary:  # questions' means may be alike by chance, and tell no more than all answers
            most = max(most, 1.3 * Z * sqrt(score.mean * (1 - score.mean) / n_answers))
        assert 0.6 * least < half < most, f"{what}: half a width of {half}, expected {least} to {most}"


def intervals_of(part: Document) -> Intervals:
    """Return the reported intervals by their end: the score's own where nothing is missing at that end."""

    def at(end: str) -> tuple[float, float]:
        found = part["interval" if end == "value" or part[end] is None else INTERVALS[end]]
        return found["low"], found["high"]

    return at


def score_of(reported: Document, expected: Headline, share: Fraction) -> None:
    """Check a model by one score of a suite, but for its outcome."""
    what = f"{expected.suite.name}, {expected.name or 'the mean'}"
    same(reported["weight"], share, f"{what}: weight")
    n_asked, n_scored = len(expected.rows), expected.n_scored
    if expected.suite.options.get("gate_on", "mean") != "mean":
        n_asked = n_scored = len(expected.parts[0][1].questions)
    equal(reported["n_asked"], n_asked, f"{what}: asked")
    equal(reported["n_scored"], n_scored, f"{what}: scored")
    equal(reported["n_failed"], expected.count("model_error"), f"{what}: failed")
    equal(reported["n_unread"], expected.count("judge_failed"), f"{what}: unread")
    equal(reported["n_truncated"], expected.count("truncated"), f"{what}: truncated")
    for end in ENDS:
        score = expected.score(end)
        key = "score" if end == "value" else end
        if end == "value" or reported[end] is not None:
            same(reported[key], score.mean, f"{what}: {end}")
            interval(reported[INTERVALS[end]], score, expected.n_scored, f"{what}: interval of {end}")
        elif expected.score().mean is not None:
            same(reported["score"], score.mean, f"{what}: {end}, said to be the score")


def suite(
    entries: list[Document], expected: Mapping[str, Headline], shares: Mapping[str, Fraction], run: Run
) -> list[str]:
    """Check a model in a suite; return the outcomes of its scores by the rules."""
    reported = {entry["metric"]: entry for entry in entries}
    name = next(iter(expected.values())).suite.name
    equal({*reported}, {*expected}, f"{name}: scores")
    only = deciding(expected)
    outcomes = outcomes_of(expected, run.gate, {one: intervals_of(entry) for one, entry in reported.items()})
    for metric, headline in expected.items():
        entry = reported[metric]
        score_of(entry, headline, shares[name] if headline is only else Fraction(0))
        equal(entry["only"], len(expected) == 1, f"{name}: only")
        equal(entry["outcome"], outcomes[metric], f"{name}, {metric}: outcome")
        if outcomes[metric] == "undecided" and run.gate != "interval":
            for status, words in NAMED.items():
                named = words in entry["reason"]
                equal(named, headline.count(status) > 0, f"{name}: {words} in {entry['reason']!r}")
    return [*outcomes.values()]


def model(reported: Document, own: list[dict[str, Headline]], run: Run) -> str:
    """Check a model; return its verdict by the rules."""
    shares = weights(run.suites)
    outcomes: list[str] = []
    for drawn, expected in zip(run.suites, own, strict=True):
        entries = [entry for entry in reported["suites"] if entry["suite"] == drawn.name]
        outcomes += suite(entries, expected, shares, run)
    scores = overall(own)
    threshold = overall_threshold(run, own)
    same(reported["score"], scores["value"], "overall")
    if scores["value"] is not None:
        for end in ("lower", "upper"):
            found = reported[end] if reported[end] is not None else reported["score"]
            same(found, scores[end], f"overall: {end}")
    same(reported["threshold"], threshold, "overall: threshold")
    if threshold is not None and "error" not in outcomes:
        outcome = decide(scores, threshold, run.gate, intervals_of(reported))
        equal(reported["outcome"], outcome, "overall: outcome")
        outcomes.append(outcome)
    verdict = worst(outcomes)
    equal(reported["verdict"], verdict, "verdict of the model")
    return verdict


def files(output: Output, expected: Mapping[str, list[dict[str, Headline]]]) -> None:
    """Check that Markdown, JUnit and CSV say what results.json says."""
    by_model = {entry["model"]: entry for entry in output.results["final"]["models"]}
    rows = output.tables["scores"]
    states = Counter((row["suite"], row["metric"], row["model"], row["status"]) for row in rows)
    values = Counter(
        (row["suite"], row["metric"], row["model"], round(float(row["value"]), 9)) for row in rows if row["value"]
    )
    for name, own in expected.items():
        parts = {
            (part.suite.name, part.metric): part
            for by_name in own
            for one in by_name.values()
            for _, part in one.parts
        }
        for key, part in parts.items():
            where = (*key, name)
            statuses = Counter(answer.status for answer in part.answers)
            equal({s: states[*where, s] for s in statuses}, dict(statuses), f"scores.csv: states of {where}")
            numbers = Counter(round(float(a.value), 9) for a in part.answers if a.value is not None)
            equal({v: values[*where, v] for v in numbers}, dict(numbers), f"scores.csv: values of {where}")
        for entry in by_model[name]["suites"]:
            line(output, name, name_of(entry), entry)
    for case in output.cases:
        if case.get("classname") in by_model:
            outcome(case, by_model, output)


def name_of(entry: Document) -> str:
    """Return what people see of a score: its suite, and its metric if it is not the only one."""
    is_named = not entry["only"] or entry["metric"] == "all"
    return f"{entry['suite']}, {entry['metric'] or 'score'}" if is_named else str(entry["suite"])


def line(output: Output, name: str, suite_name: str, part: Document) -> None:
    """Check a suite's line in Markdown and verdict.csv: its score and outcome."""
    rows = [row for row in output.tables["verdict"] if (row["Model"], row["Suite"]) == (name, suite_name)]
    equal(len(rows), 1, f"verdict.csv: lines of {name} in {suite_name}")
    shown = rows[0]
    escaped = suite_name.replace("_", "\\_")
    cells = next(text for text in output.markdown.splitlines() if text.startswith(f"| {name} | {escaped} |"))
    if part["score"] is not None:
        number = re.match(
            r"(?:pass[@^]\d+ )?([\d.]+)%", shown["Score"]
        )  # 66.7% (from 60% …), pass@2 80% (mean 75%)
        assert number, f"verdict.csv: {shown['Score']!r}"
        assert abs(float(number[1]) / 100 - part["score"]) <= 0.00051, (
            f"verdict.csv: {number[0]} for {part['score']}"
        )
        if part["threshold"] is not None and part["threshold"] == round(part["threshold"], 3):
            above = float(number[1]) / 100 >= part["threshold"] - 1e-9
            equal(above, part["score"] >= part["threshold"] - 1e-12, f"shown {number[0]} at {part['threshold']}")
        assert shown["Score"] in cells, f"Markdown: {cells!r} has no {shown['Score']!r}"
    words = {"pass": "Pass", "fail": "Fail", "undecided": "Undecided", "error": "Error"}
    if part["outcome"] in words:
        equal(shown["Outcome"], words[part["outcome"]], f"verdict.csv: outcome of {name} in {suite_name}")
        assert f"**{shown['Outcome']}**" in cells, f"Markdown: {cells!r}"


def outcome(case: Any, by_model: Mapping[str, Document], output: Output) -> None:
    """Check that a case of JUnit fails exactly where the exit code counts it."""
    entry = by_model[case.get("classname")]
    parts = {name_of(part): part["outcome"] for part in entry["suites"]} | {"overall": entry["outcome"]}
    ended = parts[case.get("name")]
    final = output.results["final"]
    counts = ended == "error" or (final["gate"] != "off" and ended in {"fail", "undecided"})
    counts = counts and not (ended == "undecided" and final["undecided"] == "pass")
    equal(case.find("failure") is not None or case.find("error") is not None, counts, f"JUnit: {case.get('name')}")


def slices(reported: Sequence[Document], expected: Mapping[str, list[dict[str, Headline]]]) -> None:
    """Check the slices of suites that name a column: each value's questions and the others; the worst first."""
    scores = {
        (name, next(iter(by_name.values())).suite.name): by_name
        for name, own in expected.items()
        for by_name in own
    }
    sliced = {(entry["model"], entry["suite"]) for entry in reported}
    for key, by_name in scores.items():
        suite = next(iter(by_name.values())).suite
        has_values = any(one.values() for one in by_name.values())
        assert key in sliced or "slices" not in suite.options or not has_values, f"slices: none of {key}"
    for entry in reported:
        by_name = scores[entry["model"], entry["suite"]]
        # Of a mean of several metrics each part may be shown.
        parts_of = {part.metric: part for one in by_name.values() for _, part in one.parts}
        shown = {**parts_of, **by_name}[entry["metric"]]
        topic_of = {question.text: question.columns["topic"] for question in shown.suite.questions}
        values = shown.values("value", JOINS[shown.suite.options.get("gate_on", "mean")])
        parts: dict[bool, list[Fraction]] = {True: [], False: []}
        for text, value in values.items():
            parts[topic_of[text] == entry["text"]].append(value)
        what = f"slice {entry['text']} of {entry['suite']}, {entry['metric']}"
        equal(entry["n"], len(parts[True]), f"{what}: questions")
        same(entry["score"]["mean"], mean(parts[True]), what)
        same(entry["elsewhere"], mean(parts[False]) if parts[False] else None, f"{what}: elsewhere")
    for before, after in pairwise(reported):
        if all(before[key] == after[key] for key in ("suite", "metric", "model")):
            assert before["score"]["mean"] <= after["score"]["mean"] + 1e-9, f"slices: {before}, then {after}"


def check(output: Output, run: Run, changes: Sequence[str] = ()) -> None:
    """Check everything; `changes` are the outcomes against a baseline."""
    expected = {name: [headlines(one, name, run.repeats) for one in run.suites] for name in run.models}
    entries = output.results["final"]["models"]
    equal([entry["model"] for entry in entries], list(run.models), "models")
    verdicts = [model(entry, expected[entry["model"]], run) for entry in entries]
    codes = {exit_code([*verdicts, *changes], run)}
    if run.gate == "off":
        # Section 8 says that nothing but an error ends such a run with another code than 0; the documents also say
        # that `fail_on: regression` fails a run whatever its gate.
        errors = [verdict for verdict in verdicts if verdict == "error"]
        codes.add(exit_code([*changes, *errors], replace(run, gate="point")))
    assert output.exit_code in codes, f"exit code: {output.exit_code}, and the rules have {codes}"
    equal(output.results["final"]["exit_code"], output.exit_code, "exit code in results.json")
    files(output, expected)
    slices(output.results["slices"], expected)
