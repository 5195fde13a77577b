"""What suites that stop early ask, and what their sequences decide, by the rules alone (section 12)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from tests.oracle.rules import Array, Headline, Within, answer_of, list_headlines
from tests.oracle.world import Run, Suite

Rounds = Sequence[Sequence[int]]
"""The rows of a suite that were asked, by round."""
BETS = np.minimum(np.geomspace(0.03, 1.0, 24), 0.99)
"""Shares of the capital that are bet: the rules leave them to measurement, which chose these."""
OUTCOMES = {"above": "pass", "below": "fail", "": "undecided"}


def templates_of(suite: Suite, rows: Sequence[int]) -> Counter[str]:
    return Counter(suite.questions[row].columns.get("template", "") for row in rows)


def is_followed(suite: Suite, rounds: Rounds) -> bool:
    """Return whether a suite stops early: not with shared templates, if fewer than ten of these are asked."""
    n_shared, n_asked = (
        sum(n > 1 for template, n in templates_of(suite, rows).items() if template)
        for rows in (range(len(suite.questions)), [*chain.from_iterable(rounds)])
    )
    if n_shared >= 10 and len(suite.questions) <= suite.options["stop"]["most"]:
        assert n_asked >= 10, f"{suite.name}: {n_asked} templates asked of {n_shared}"
    return "stop" in suite.options and (not n_shared or n_asked >= 10)


def bound_mean(values: Array, alpha: float) -> float:
    """Return the least mean that bets on a greater one have not refuted: none won 1 / alpha against it."""
    present, counts = np.unique(values, return_counts=True)
    low, high = 0.0, float(values.mean())
    for _ in range(60):
        middle = (low + high) / 2
        capital = np.exp(np.log1p(BETS[:, None] * (present / middle - 1)) @ counts).mean() if middle else np.inf
        low, high = (middle, high) if capital >= 1 / alpha else (low, middle)
    return low


def observe(suite: Suite, model: str, metric: str, rows: Sequence[int]) -> Array:
    """Return what questions in order, or the templates that they share, come to at least, and at most."""
    values: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        question = suite.questions[row]
        _, least, most = answer_of(suite, metric, question, suite.replies[model, row, 0]).ends
        values.setdefault(question.columns.get("template", question.text), []).append((least, most))
    return np.array([np.mean(ends, 0) for ends in values.values()])


def expect_sequence(suite: Suite, headline: Headline, entry: Mapping[str, Any], rounds: Rounds) -> dict[str, Any]:
    """Return a headline's looks, with half of its level on either side, and where it decided."""
    if headline.threshold is None or not is_followed(suite, rounds):
        return {"stopping": None}
    if not entry["stopping"]:  # nothing is scored
        return {"outcome": "error"}
    said, rows = entry["stopping"], [*chain.from_iterable(rounds)]
    low, high, decided, side, looks = 0.0, 1.0, None, "", []
    for n_asked, _ in zip(accumulate(map(len, rounds)), said["looks"], strict=False):
        units = observe(suite, headline.model, headline.name, rows[:n_asked])
        least, most = units.T
        low = max(low, bound_mean(least, said["alpha"] / 2))
        high = min(high, 1 - bound_mean(1 - most, said["alpha"] / 2))
        ends = {"low": Within(low - 1e-6, low + 1e-6), "high": Within(high - 1e-6, high + 1e-6)}
        looks.append({"n": len(units), **ends, **({"mean": least.mean()} if (least == most).all() else {})})
        if not side:
            side = "above" if low > headline.threshold else "below" if high < headline.threshold else ""
            decided = n_asked if side else None
    sequence = {"threshold": headline.threshold, "side": side, "decided": decided, "looks": looks}
    outcome = "error" if not headline.is_covered else OUTCOMES[side]
    return {"stopping": sequence, "outcome": outcome}


def check_rounds(run: Run, suites: Mapping[str, Rounds], model: Mapping[str, Any]) -> None:
    """Check that rounds take whole templates, no row twice, no more than the most, and end when all is decided.

    Sequences share the level; a suite that turns out to be asked at once may have been given its share.
    """
    counts = {suite.name: len(run.models) * len(list_headlines(suite)) for suite in run.suites}
    n_followed = sum(counts[suite.name] for suite in run.suites if is_followed(suite, suites[suite.name]))
    least, most = 0.05 / sum(counts.values()), 0.05 / max(n_followed, 1)
    for suite in run.suites:
        rounds, rows = suites[suite.name], [*chain.from_iterable(suites[suite.name])]
        assert len({*rows}) == len(rows) <= suite.options["stop"]["most"], f"{suite.name}: {len(rows)} rows asked"
        sizes = templates_of(suite, range(len(suite.questions)))
        if not is_followed(suite, rounds):
            assert len(rounds) == 1, f"{suite.name}: rounds of a suite that is asked at once"
            assert len(rows) == len(suite.questions) or len(suite.questions) > suite.options["stop"]["most"]
        for batch in rounds if len(rounds) > 1 else []:
            for template, n in templates_of(suite, batch).items():
                assert not template or n == sizes[template], f"{suite.name}: {n} rows of template {template}"
        entries = [entry for key, entry in model["suites"].items() if key[0] == suite.name]
        sequences = [entry["stopping"] for entry in entries if entry["stopping"]]
        for sequence in sequences:
            assert least - 1e-9 <= sequence["alpha"] <= most + 1e-9, f"{suite.name}: level {sequence['alpha']}"
        ends = [sequence["decided"] for sequence in sequences]
        if ends:  # a model is asked up to the round in which its last headline is decided
            assert entries[0]["n_asked"] == (len(rows) if None in ends else max(ends)), f"rows asked: {sequences}"
