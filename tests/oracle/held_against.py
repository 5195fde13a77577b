"""Hold what the product says of a run against the rules: results.json, Markdown, JUnit and CSV."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isclose, sqrt
from typing import Any

from tests.oracle import rules
from tests.oracle.cases import Run
from tests.oracle.pairs import ALPHA, Line, holm_steps
from tests.oracle.product import Output
from tests.oracle.rules import ENDS, ZERO, Headline, Interval, Intervals, Score, clusters_of, headline_names

Document = Mapping[str, Any]
Expected = Mapping[str, Sequence[Mapping[str, Headline]]]
"""The headlines of each suite, by model."""
INTERVALS = {"value": "interval", "lower": "lower_interval", "upper": "upper_interval"}
COUNTED = {"n_failed": "model_error", "n_unread": "judge_failed", "n_truncated": "truncated"}
NAMED = {"model_error": "failed calls", "judge_failed": "without a score", "truncated": "truncated replies"}
"""What an undecided gate says that it hangs on."""
WORDS = {"pass": "Pass", "fail": "Fail", "undecided": "Undecided", "error": "Error"}


def hold(what: str, reported: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
    """Hold what is reported against the rules, key by key: fractions and floats as numbers, all else as it is."""
    for key, value in expected.items():
        is_same = reported[key] == value
        if isinstance(value, Fraction | float) and isinstance(reported[key], int | float):
            is_same = isclose(reported[key], value, abs_tol=1e-9)
        shown = float(value) if isinstance(value, Fraction) else value
        assert is_same, f"{what}: {key}: {reported[key]!r}, and the rules have {shown!r}"


def equal(reported: object, expected: object, what: str) -> None:
    hold(what, {"it": reported}, {"it": expected})


def ends_of(interval: Document) -> Interval:
    return interval["low"], interval["high"]


def intervals_of(part: Document) -> Intervals:
    """Return the reported intervals by their end: the score's own where nothing is missing at that end."""
    return lambda end: ends_of(part["interval" if end == "value" or part[end] is None else INTERVALS[end]])


def interval(reported: Document, score: Score, n_answers: int, what: str) -> None:
    """Check a suite's interval: Wilson's where the rules name it, else its place, width and number of questions."""
    if score.mean is None:
        hold(what, reported, {"low": None})
        return
    low, high, n = *ends_of(reported), len(score.units)
    assert 0 <= low <= float(score.mean) + 1e-9 <= high + 2e-9 <= 1 + 3e-9, f"{what}: {low} to {high}"
    hold(what, reported, {"units": score.n_units, "fixed_templates": 0 < len(score.clusters) < 5})
    if score.wilson:
        hold(what, reported, dict(zip(("low", "high"), score.wilson, strict=True)))
        return
    least = score.half(score.clusters)
    if n >= 10 and least > 0.05 and 0.2 <= score.mean <= 0.8:  # the rules do not say how far it shrinks
        half, most = (high - low) / 2, 2.2 * max(least, score.half(()))  # nor that clusters ever narrow it
        if score.is_binary:  # questions' means may be alike by chance, and tell no more than all answers
            most = max(most, 1.3 * rules.Z * sqrt(score.mean * (1 - score.mean) / n_answers))
        assert 0.55 * least < half < most, f"{what}: half a width of {half}, expected {least} to {most}"


def check_score(reported: Document, expected: Headline, share: Fraction) -> None:
    """Check a model by one score of a suite, but for its outcome."""
    what, scores = (
        f"{expected.suite.name}, {expected.name or 'the mean'}",
        {end: expected.score(end) for end in ENDS},
    )
    n_asked = len(expected.rows) if expected.suite.gate_on == "mean" else len(expected.parts[0][1].questions)
    n_scored = expected.n_scored
    counts = {key: expected.count(status) for key, status in COUNTED.items()}
    numbers = {"weight": share, "n_asked": n_asked, "n_scored": n_scored, "score": scores["value"].mean}
    hold(what, reported, {**numbers, **counts})
    for end, score in scores.items():
        if end == "value" or reported[end] is not None:
            equal(reported["score" if end == "value" else end], score.mean, f"{what}: {end}")
            interval(reported[INTERVALS[end]], score, expected.n_scored, f"{what}: interval of {end}")
        elif scores["value"].mean is not None:
            equal(reported["score"], score.mean, f"{what}: {end}, said to be the score")


def check_suite(
    entries: Sequence[Document], expected: Mapping[str, Headline], share: Fraction, run: Run
) -> list[str]:
    """Check a model in a suite, of whose overall score it is this share; return its outcomes by the rules."""
    reported = {entry["metric"]: entry for entry in entries}
    equal({*reported}, {*expected}, "scores")
    outcomes = rules.outcomes_of(
        expected, run.gate, {name: intervals_of(entry) for name, entry in reported.items()}
    )
    for name, headline in expected.items():
        entry, what = reported[name], f"{headline.suite.name}, {name}"
        check_score(entry, headline, share if name in headline_names(headline.suite) else ZERO)
        hold(what, entry, {"only": len(expected) == 1, "outcome": outcomes[name]})
        if outcomes[name] == "undecided" and run.gate != "interval":
            for status, words in NAMED.items():
                equal(
                    words in entry["reason"], headline.count(status) > 0, f"{what}: {words} in {entry['reason']!r}"
                )
    return [*outcomes.values()]


def check_model(reported: Document, own: Sequence[Mapping[str, Headline]], run: Run) -> str:
    """Check a model; return its verdict by the rules."""
    shares, outcomes = rules.weights(run.suites), []
    for drawn, expected in zip(run.suites, own, strict=True):
        entries = [entry for entry in reported["suites"] if entry["suite"] == drawn.name]
        outcomes += check_suite(entries, expected, shares.get(drawn.name, ZERO), run)
    scores, threshold = rules.overall(own), rules.overall_threshold(run, own)
    hold("overall", reported, {"score": scores["value"], "threshold": threshold})
    if scores["value"] is not None:
        shown = {end: reported["score"] if reported[end] is None else reported[end] for end in ("lower", "upper")}
        hold("overall", shown, {end: scores[end] for end in shown})
    if threshold is not None and "error" not in outcomes:
        outcome = "error"  # nothing reaches a threshold without a score
        if scores["value"] is not None:
            outcome = rules.decide(scores, threshold, run.gate, intervals_of(reported))
        outcomes.append(outcome)
        hold("overall", reported, {"outcome": outcome})
    hold("the model", reported, {"verdict": rules.worst(outcomes)})
    return rules.worst(outcomes)


def check_files(output: Output, expected: Expected) -> None:
    """Check that Markdown, JUnit and CSV say what results.json says."""
    by_model = {entry["model"]: entry for entry in output.results["final"]["models"]}
    rows = output.tables["scores"]
    keys = [(row["suite"], row["metric"], row["model"]) for row in rows]
    states = Counter((key, row["status"]) for key, row in zip(keys, rows, strict=True))
    values = Counter(
        (key, round(float(row["value"]), 9)) for key, row in zip(keys, rows, strict=True) if row["value"]
    )
    for model, own in expected.items():
        parts = [part for by_name in own for headline in by_name.values() for _, part in headline.parts]
        for part in parts:
            key = part.suite.name, part.metric, model
            own_states = Counter((key, answer.status) for answer in part.rows)
            own_values = Counter(
                (key, round(float(answer.value), 9)) for answer in part.rows if answer.value is not None
            )
            hold("scores.csv", states, own_states)
            hold("scores.csv", values, own_values)
        for entry in by_model[model]["suites"]:
            check_line(output, model, name_of(entry), entry)
    for case in output.cases:
        if case.get("classname") in by_model:
            check_case(case, by_model[case.get("classname", "")], output.results["final"])


def name_of(entry: Document) -> str:
    """Return what people see of a score: its suite, and its metric if it is not the only one."""
    is_named = not entry["only"] or entry["metric"] == "all"
    return f"{entry['suite']}, {entry['metric'] or 'score'}" if is_named else str(entry["suite"])


def check_line(output: Output, model: str, name: str, part: Document) -> None:
    """Check a suite's line in Markdown and verdict.csv: its score and outcome."""
    (shown,) = (row for row in output.tables["verdict"] if (row["Model"], row["Suite"]) == (model, name))
    words = re.sub(", all$", ", all at once", name).replace("_", chr(92) + "_")
    beginning = f"| {model} | {words} |"
    cells = next(text for text in output.markdown.splitlines() if text.startswith(beginning))
    score, threshold = part["score"], part["threshold"]
    if score is not None:
        # 66.7% (from 60% …), pass@2 80% (mean 75%)
        number = re.match(r"(?:pass[@^]\d+ )?([\d.]+)%", shown["Score"])
        assert number, f"verdict.csv: {shown['Score']!r}"
        share = float(number[1]) / 100
        assert abs(share - score) <= 0.00051, f"verdict.csv: {number[0]} for {score}"
        if threshold is not None and threshold == round(threshold, 3):
            equal(share >= threshold - 1e-9, score >= threshold - 1e-12, f"shown {number[0]} at {threshold}")
        assert shown["Score"] in cells, f"Markdown: {cells!r} has no {shown['Score']!r}"
    if word := WORDS.get(part["outcome"]):
        hold(f"verdict.csv: {model} in {name}", shown, {"Outcome": word})
        assert f"**{word}**" in cells, f"Markdown: {cells!r}"


def check_case(case: Any, entry: Document, final: Document) -> None:
    """Check that a case of JUnit fails exactly where the exit code counts it."""
    parts = {name_of(part): part["outcome"] for part in entry["suites"]} | {"overall": entry["outcome"]}
    failing = {"error"} if final["gate"] == "off" else {"error", "fail", "undecided"}
    failing -= {"undecided"} if final["undecided"] == "pass" else set()
    is_failed = case.find("failure") is not None or case.find("error") is not None
    equal(is_failed, parts[case.get("name")] in failing, f"JUnit: {case.get('name')}")


def check_slices(reported: Sequence[Document], expected: Expected) -> None:
    """Check the slices of suites that name a column: each value's questions and the others; the worst first."""
    sliced = {(entry["model"], entry["suite"]) for entry in reported}
    for model, own in expected.items():
        for by_name in own:
            suite = rules.suite_of(by_name)
            # Of a declared score its own parts are shown.
            names = headline_names(suite) if suite.score is None else [*by_name][:1]
            is_scored = any(by_name[name].score().mean is not None for name in names)
            assert (model, suite.name) in sliced or "slices" not in suite.options or not is_scored, (
                f"slices: {suite.name}"
            )
            # Of a mean of several metrics each part may be shown.
            parts = {
                part.metric: Headline(suite, "", model, ((Fraction(1), part),), None)
                for _, part in parts_of(by_name)
            }
            entries = [entry for entry in reported if (entry["model"], entry["suite"]) == (model, suite.name)]
            for entry in entries:
                check_slice(entry, {**parts, **by_name}[entry["metric"]])
    for before, after in pairwise(reported):
        if all(before[key] == after[key] for key in ("suite", "metric", "model")):
            assert before["score"]["mean"] <= after["score"]["mean"] + 1e-9, f"slices: {before}, then {after}"


def parts_of(by_name: Mapping[str, Headline]) -> Iterable[Any]:
    return (part for headline in by_name.values() for part in headline.parts)


def check_slice(entry: Document, shown: Headline) -> None:
    topic_of = {question.text: question.columns["topic"] for question in shown.suite.questions}
    parts: dict[bool, list[Fraction]] = {True: [], False: []}
    for text, value in shown.values().items():
        parts[topic_of[text] == entry["text"]].append(value)
    expected = {"n": len(parts[True]), "mean": rules.mean_of(parts[True]), "elsewhere": rules.mean_of(parts[False])}
    hold(
        f"slice {entry['text']} of {entry['suite']}, {entry['metric']}",
        {**entry, **entry["score"]} | {"n": entry["n"]},
        expected,
    )


def check_pair(pair: Document, line: Line) -> None:
    """Check what is said of a difference, of two models or of a run and its baseline."""
    means = {key: line.mean(end) for key, end in (("low", "worst"), ("high", "best")) if pair[key] is not None}
    hold(f"{line.key}", pair, {"n": len(line.paired["value"]), "difference": line.mean("value"), **means})
    clusters = clusters_of(line.after.suite, line.paired["value"])
    if pair["interval"]["low"] is not None:
        n_units = len(line.units("value")) if len(clusters) >= 5 else len(line.paired["value"])
        hold(f"{line.key}", pair["interval"], {"units": n_units, "fixed_templates": 0 < len(clusters) < 5})
    test = line.test("value", ZERO)
    if test.is_exact and line.paired["value"]:
        hold(f"{line.key}", pair, {"p_value": min(1.0, 2 * min(test.p_below, test.p_above))})


def check_tests(pairs: Sequence[Document]) -> None:
    """Check Holm's steps over all that was compared together, and that no test says more than its interval."""
    tested = [pair for pair in pairs if pair["p_value"] is not None]
    for pair, (level, adjusted) in zip(tested, holm_steps([pair["p_value"] for pair in tested]), strict=True):
        low, high = ends_of(pair["interval"])
        hold(f"{pair}", pair, {"level": level, "p_adjusted": adjusted})
        assert low - 1e-9 <= pair["difference"] <= high + 1e-9, f"difference outside its interval: {pair}"
        equal(not low <= 0 <= high, pair["p_value"] < level, f"a test and its interval: {pair}")
    # What is missing may change what a comparison says, and through Holm's levels what others say.
    directions: list[set[int]] = [set() for _ in tested]
    for end, p_end in (("difference", "p_value"), ("low", "p_low"), ("high", "p_high")):
        gaps = [pair["difference"] if pair[end] is None else pair[end] for pair in tested]
        steps = holm_steps([pair["p_value"] if pair[p_end] is None else pair[p_end] for pair in tested])
        for gap, (_, adjusted), ends in zip(gaps, steps, directions, strict=True):
            ends.add(0 if adjusted >= ALPHA else 1 if gap > 0 else -1)
    for pair, ends in zip(tested, directions, strict=True):
        hold(f"{pair}", pair, {"hangs": len(ends) > 1, "significant": ends in ({1}, {-1})})


def check_comparisons(pairs: Sequence[Document], expected: Expected) -> None:
    """Check the comparisons of a run's models."""
    check_tests(pairs)
    for pair in pairs:
        models = pair["model_b"], pair["model_a"]
        scores = [
            by_name
            for name in models
            for by_name in expected[name]
            if rules.suite_of(by_name).name == pair["suite"]
        ]
        if scores and all(pair["metric"] in by_name for by_name in scores):
            before, after = (by_name[pair["metric"]] for by_name in scores)
            check_pair(pair, Line(before, after, models[1], models[0]))


def check(output: Output, run: Run, changes: Sequence[str] = ()) -> None:
    """Check everything; `changes` are the outcomes against a baseline."""
    expected = {name: [rules.headlines(suite, name, run.repeats) for suite in run.suites] for name in run.models}
    final = output.results["final"]
    equal([entry["model"] for entry in final["models"]], [*run.models], "models")
    verdicts = [check_model(entry, expected[entry["model"]], run) for entry in final["models"]]
    equal(output.exit_code, rules.exit_code(verdicts, changes, run), "exit code")
    hold("results.json", final, {"exit_code": output.exit_code})
    check_files(output, expected)
    check_slices(output.results["slices"], expected)
    check_comparisons(output.results["comparisons"], expected)
