"""Hold what the product says of a run against the rules: results.json, Markdown, JUnit and CSV."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from math import isclose, isnan, nan
from typing import Any

import numpy as np

from tests.oracle import rules
from tests.oracle.judged import adjust
from tests.oracle.pairs import Line, decide_lines, expect_pair, expect_tests, lines_of
from tests.oracle.product import Output
from tests.oracle.rules import KEYS, Headline, Within
from tests.oracle.stopping import check_rounds, expect_sequence, is_followed
from tests.oracle.world import JUDGED, Run, Sequel, Suite

Document = Mapping[Any, Any]
Scores = Mapping[str, Mapping[str, Headline]]
"""A model's scores by suite and name."""
INTERVALS = ("interval", "lower_interval", "upper_interval")
WORDS = {"pass": "Pass", "fail": "Fail", "undecided": "Undecided", "error": "Error"}
CHANGES = {"regressed": "fail", "held": "pass"}


def compare(said: Any, expected: Any, *path: Any) -> None:
    """Hold what is said against the rules, key by key.

    A float is a number, nan nothing; of a set one is said; a list is all of them, in some order.
    """
    if isinstance(expected, Mapping):
        for key, value in expected.items():
            compare(said[key], value, *path, key)
        return
    if isinstance(expected, list) and expected and isinstance(expected[0], Mapping):
        for at, value in enumerate(expected):
            compare(said[at], value, *path, at)
        return
    is_number = isinstance(said, int | float)
    if isinstance(expected, Within):
        agrees = is_number and expected[0] <= said <= expected[1]
    elif isinstance(expected, float):
        agrees = said is None if isnan(expected) else is_number and isclose(said, expected, abs_tol=1e-9)
    elif isinstance(expected, list):
        agrees = sorted(said) == sorted(expected)
    else:
        agrees = said in expected if isinstance(expected, set) else said == expected
    assert agrees, f"{', '.join(map(str, path))}: {said!r}, and the rules have {expected!r}"


def expect_score(headline: Headline, share: float, entry: Document) -> dict[str, Any]:
    """Return what is said of a model by one score of a suite, but for its outcome."""
    expected: dict[str, Any] = {"weight": share, **headline.counts}
    for end, (key, interval) in enumerate(zip(KEYS, INTERVALS, strict=True)):
        # A bound of what has no score may be left out.
        if not isnan(headline.means[0]) or entry[key] is not None:
            expected[key] = headline.means[end]
            if headline.stated is None:
                expected[interval] = rules.expect_interval(headline, end)
    return expected


def expect_suite(
    run: Run, suite: Suite, scores: Mapping[str, Headline], said: Document, output: Output
) -> tuple[dict[Any, Any], dict[str, Headline]]:
    """Return what is said of a model in a suite by each score, and these, as they are judged."""
    names, rounds, expected, final = [*rules.list_scores(suite)], output.rounds.get(suite.name, []), {}, {**scores}
    share, deciding = rules.shares_of(run.suites).get(suite.name, 0.0), rules.list_headlines(suite)
    is_empty = all(isnan(scores[name].means[0]) for name in names)
    for name in names:
        headline, entry, judged = scores[name], said["suites"][suite.name, name], {}
        if name == JUDGED:
            headline, judged = adjust(run, suite, headline, entry, output.labelled.get(suite.name, []))
            final[name] = headline
        parts = expect_score(headline, share if name in deciding else 0.0, entry)
        outcome = judged.get("outcome") or rules.decide_score(headline, entry, run.gate)
        outcome = "error" if is_empty and headline.stated is None else outcome
        parts |= {"only": len(names) == 1, **judged, "outcome": outcome}
        if outcome == "undecided" and run.gate != "interval" and not {"stop", JUDGED} & {*suite.options, name}:
            parts["named"] = {key: headline.counts[key] > 0 for key in rules.COUNTED}
        if "stop" in suite.options:
            parts |= expect_sequence(suite, headline, entry, rounds)
            if is_followed(suite, rounds):
                parts = {key: part for key, part in parts.items() if not key.endswith("interval")}
        expected[suite.name, name] = parts
    return expected, final


def expect_model(run: Run, model: str, said: Document, output: Output) -> tuple[dict[str, Any], Scores]:
    """Return what is said of a model, and its scores."""
    suites: dict[Any, Any] = {}
    scores: dict[str, dict[str, Headline]] = {}
    for suite in run.suites:
        n_asked = said["suites"][suite.name, next(iter(rules.list_scores(suite)))]["n_asked"]
        asked = [*chain.from_iterable(output.rounds[suite.name])][:n_asked] if "stop" in suite.options else None
        by_name = rules.headlines_of(suite, model, run.repeats, asked)
        parts, scores[suite.name] = expect_suite(run, suite, by_name, said, output)
        suites |= parts
    overall, joined = rules.join_suites(run, scores)
    expected = {"suites": suites, "threshold": overall.threshold, "score": overall.means[0]}
    if not isnan(overall.means[0]):
        expected |= dict(zip(KEYS, overall.means, strict=True))
    outcomes = [said["suites"][key]["outcome"] for key in suites]
    if overall.threshold is not None and "error" not in outcomes:
        outcomes.append(said["outcome"])
        if not any("stop" in suite.options for suite in run.suites):
            expected["outcome"] = expect_overall(run, overall, joined, said)
    if len(joined) > 1 and "half" in said["interval"] and "stop" not in run.suites[0].options:
        entries = [(share, said["suites"][it.suite, it.name]) for share, it in joined]
        gaps = [[share * (it["score"] - it["interval"][key]) for key in ("low", "high")] for share, it in entries]
        # It is as wide as its suites' are, each within itself.
        half = float(np.linalg.norm(gaps, axis=0).mean())
        expected["interval"] = {"half": Within(0.75 * half, 1.35 * half)}
    return {**expected, "verdict": rules.find_worst(outcomes)}, scores


def expect_overall(run: Run, overall: Headline, joined: Sequence[tuple[float, Headline]], said: Document) -> Any:
    """Return the outcomes that an overall score may have: an error where a suite with weight has no score."""
    is_judged = any(headline.name == JUDGED for _, headline in joined)
    if not isnan(overall.means[0]):
        outcome = rules.decide(overall.means, said, overall.threshold, run.gate)
        return {outcome, "undecided"} if is_judged else outcome  # where its judges' errors are corrected
    # What its judges withhold may be anything: undecided, unless that decides nothing.
    ends = {rules.decide(rules.join_means(joined, it), {}, overall.threshold, "point") for it in (0.0, 1.0)}
    outcome = ends.pop() if len(ends) == 1 else "undecided"
    if not is_judged:
        return "error"
    return outcome if run.gate == "point" else {outcome, "undecided"}


def name_of(entry: Document) -> str:
    """Return what people see of a score: its suite, and its metric if it is not the only one."""
    is_named = not entry["only"] or entry["metric"] == "all"
    return f"{entry['suite']}, {entry['metric'] or 'score'}" if is_named else str(entry["suite"])


def expect_line(entry: Document) -> dict[str, Any]:
    """Return what a score's line in verdict.csv and Markdown shows of results.json: its number and outcome."""
    score, threshold, word = entry["score"], entry["threshold"], WORDS.get(entry["outcome"])
    expected = {"Outcome": word} if word else {}
    if score is not None:
        expected |= {"share": Within(score - 0.00051, score + 0.00051)}
        if threshold is not None and threshold == round(threshold, 3):
            low, high = (threshold, 1.0) if score >= threshold - 1e-12 else (0.0, threshold - 1e-6)
            expected["share"] = Within(max(low - 1e-9, score - 0.00051), min(high + 1e-9, score + 0.00051))
    return {**expected, "is_in_page": True}


def expect_slice(key: tuple[str, ...], run: Run, scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Return the slice of a suite by a value of its column: its questions, and the others."""
    model, name, metric, topic = key
    (suite,) = (suite for suite in run.suites if suite.name == name)
    topics = {question.text: question.columns["topic"] for question in suite.questions}
    parts: dict[bool, list[float]] = {True: [], False: []}
    for text, value in scores[model][name][metric].values().items():
        parts[topics[text] == topic].append(value)
    here, elsewhere = (sum(values) / len(values) if values else nan for values in parts.values())
    return {"n": len(parts[True]), "score": {"mean": here}, "elsewhere": elsewhere}


def check(output: Output, run: Run, changes: Sequence[str] = ()) -> None:
    """Check everything; `changes` are the outcomes against a baseline."""
    said, models, scores, overall = output.said, {}, {}, {}
    failing = {"error"} if run.gate == "off" else {"error", "fail", "undecided"}
    failing -= {"undecided"} if run.undecided == "pass" else set()
    cases, lines, rows = {}, {}, {}
    for model in run.models:
        entry = said["final"]["models"][model,]
        models[model,], scores[model] = expect_model(run, model, entry, output)
        overall[model], _ = rules.join_suites(run, scores[model])
        cases[model, "overall"] = entry["outcome"] in failing
        for part in entry["suites"].values():  # a case fails exactly where the exit code counts it
            cases[model, name_of(part)] = part["outcome"] in failing
            lines[model, name_of(part)] = expect_line(part)
        compare([*entry["suites"]], [*models[model,]["suites"]], model, "scores")
        for headline in (it for by_name in scores[model].values() for it in by_name.values()):
            for column in headline.columns if headline.name != JUDGED else ():
                ended = [(it.status, None if isnan(it.ends[0]) else round(it.ends[0], 9)) for it in column.rows]
                rows[headline.suite, column.metric, model] = Counter(ended)
        if "stop" in run.suites[0].options:
            check_rounds(run, output.rounds, entry)
    pairs = {}
    for suite, metric, later, earlier in said["comparisons"]:
        before, after = (scores[it][suite][metric] if suite else overall[it] for it in (earlier, later))
        pairs[suite, metric, later, earlier] = expect_pair(Line(before, after, later, earlier))
    compare([*said["final"]["models"]], [*models], "models")
    code = rules.exit_code([it["verdict"] for it in said["final"]["models"].values()], changes, run)
    slices = {key: expect_slice(key, run, scores) for key in said["slices"]}
    final, cases = {"models": models, "exit_code": code}, {key: cases[key] for key in said["cases"]}
    compare(said, {"final": final, "code": code, "comparisons": pairs, "slices": slices})
    compare(said, {"rows": rows, "lines": lines, "cases": cases})
    compare(said["comparisons"], expect_tests(said["comparisons"] or {}), "comparisons")
    check_slices(dict(said["slices"]), run, scores)


def check_slices(said: Document, run: Run, scores: Mapping[str, Scores]) -> None:
    """Check that each suite that names a column has slices by it, the worst first."""
    for (key, first), (next_key, second) in pairwise(said.items()):
        if key[:3] == next_key[:3]:
            compare(second["score"]["mean"], Within(first["score"]["mean"] - 1e-9, 1), "slices", key, next_key)
    for suite in run.suites:
        # Of a declared score its own parts are shown.
        names = rules.list_headlines(suite) if suite.score is None else [*rules.list_scores(suite)][:1]
        for model in run.models if "slices" in suite.options else ():
            is_scored = any(not isnan(scores[model][suite.name][name].means[0]) for name in names)
            assert not is_scored or any(key[:2] == (model, suite.name) for key in said), f"{suite.name}: slices"


def check_sequel(output: Output | None, sequel: Sequel) -> None:
    """Check the comparison with a baseline, the verdict and the exit code."""
    if sequel.is_changed and not sequel.is_allowed:
        assert output is None, "a comparison by other rules"
        return
    assert output is not None, "refused"
    (lines, missing), comparison = lines_of(sequel), output.said["baseline"]
    entries = comparison["headlines"] or {}
    compare([*entries], [line.key for line in lines], "lines of the comparison")
    compare(bool(comparison["missing"]), bool(missing), "missing", missing)
    pairs = {key: entry["pair"] for key, entry in entries.items()}
    compare(pairs, expect_tests(pairs), "baseline")
    allowed = decide_lines(lines, sequel.max_drop, is_allowed=sequel.is_allowed)
    ended = ["regressed"] * bool(missing and not sequel.is_allowed)
    for line in lines:
        decision: dict[str, Any] = {"outcome": allowed[line.key]}
        gaps = line.ends["difference"]
        p_below, p_above, is_exact = gaps.test(sequel.max_drop)
        if is_exact and gaps.gaps.any():
            decision |= {"p_regressed": p_below, "p_held": p_above}
        compare(entries[line.key], {"pair": expect_pair(line), "decision": decision}, *line.key)
        ended.append(entries[line.key]["decision"]["outcome"])
    changes = [CHANGES.get(outcome, outcome) for outcome in ended]
    check(output, sequel.after, changes if sequel.fails_on == "regression" else [])
