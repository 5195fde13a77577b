"""Suites that stop early: what is asked, the sequences' levels and looks, and what they decide (section 12)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from basic_control.config.settings import Settings
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.tasks.generate import items_of
from tests.oracle.cases import LETTERS, Question, Reply, Run, Suite, select
from tests.oracle.draws import edited, pick
from tests.oracle.held_against import equal, hold, intervals_of
from tests.oracle.product import Output, configuration, decide_run, measure_run
from tests.oracle.rules import Headline, answer_of, clusters_of, exit_code, headline_names, headlines, mean, worst

WRONG = (
    (Reply("zz"), Reply(LETTERS[:6])),
    (Reply("zz"), Reply(LETTERS[:6])),
    (Reply("zz", cut=True), Reply("zz"), Reply(LETTERS[:6])),
    (Reply(failed=True), Reply("zz"), Reply("zz"), Reply(LETTERS[:6])),
    (Reply(failed=True), Reply("zz", cut=True), *[Reply("zz")] * 6),
)
"""How replies that are not right may end in a suite."""
Rounds = Sequence[Sequence[int]]
"""The rows of a suite that were asked, by round."""
BETS = np.minimum(np.geomspace(0.03, 1.0, 24), 0.99)
"""Shares of the capital that are bet: the rules leave them to measurement, which chose these."""
OUTCOMES = {"above": "pass", "below": "fail", "": "undecided"}


def _suite(draw: st.DrawFn, name: str, models: Sequence[str]) -> Suite:
    n, n_templates = draw(st.integers(20, 90)), pick(draw, 0, 0, 4, 9, 10, 16)
    columns = [{"template": f"t{row % n_templates}"} if n_templates else {} for row in range(n)]
    questions = tuple(Question(f"{name} {row}", LETTERS[:4], columns[row]) for row in range(n))
    replies: dict[tuple[str, int, int], Reply] = {}
    for model in models:
        odds, wrong = pick(draw, 0, 4, 10, 16, 20), pick(draw, *WRONG)
        for row in range(n):
            is_right = draw(st.integers(0, 19)) < odds
            replies[model, row, 0] = Reply(LETTERS[:4]) if is_right else pick(draw, *wrong)
    metrics: dict[str, dict[str, Any]] = {"exact_match": {}}
    if draw(st.booleans()):
        metrics["contains"] = {"words": False, "threshold": pick(draw, None, 0.4)}
    stop = {"first": pick(draw, 5, 10, 30), "most": pick(draw, 30, 60, 200), "alpha": 0.05}
    return Suite(name, metrics, questions, replies, pick(draw, 0.3, 0.5, 0.8), None, options={"stop": stop})


@st.composite
def stopped_runs(draw: st.DrawFn) -> Run:
    """Draw a run of one or two suites of yes/no metrics that stop early; some share templates."""
    models = ("m0", "m1")[: pick(draw, 1, 2)]
    suites = tuple(_suite(draw, name, models) for name in ("s0", "s1")[: pick(draw, 1, 1, 2)])
    return Run(models, suites, None, pick(draw, "point", "interval"))


def drive_stopped(run: Run, folder: Path) -> tuple[Output, dict[str, list[list[int]]]]:
    """Ask a run's suites in rounds; return its files, and the rows of each suite's rounds."""
    orders = [order_of(again, folder) for again in (run, edited(run))]
    equal(orders[0], orders[1], "the order of questions whose recorded replies differ")
    measured = measure_run(run, configuration(run, folder))
    rounds: dict[str, list[list[int]]] = {suite.name: [] for suite in run.suites}
    for ref in measured.tables.items:
        frame = measured.store.read(ref)
        rounds[frame["suite"][0]].append(frame["index"].to_list())
    return decide_run(measured, folder), rounds


def order_of(run: Run, folder: Path) -> list[list[list[int]]]:
    """Return the rows of each round of each suite, if its first model's replies are recorded."""
    settings = Settings.model_validate(configuration(run, folder, is_recorded=True))
    followed = [(suite, suite.stop) for suite in settings.suites]
    batches = [cut_into_rounds(ITEMS.frame(items_of(suite)), suite, stop) for suite, stop in followed if stop]
    return [[batch["index"].to_list() for batch in of_suite] for of_suite in batches]


def lowest(values: Sequence[Fraction], alpha: float) -> float:
    """Return the least mean that bets on a greater one have not refuted: none won 1 / alpha against it."""
    present, counts = np.unique([*map(float, values)], return_counts=True)
    low, high = 0.0, float(mean(values))
    for _ in range(60):
        middle = (low + high) / 2
        capital = np.exp(np.log1p(BETS[:, None] * (present / middle - 1)) @ counts).mean() if middle else np.inf
        low, high = (middle, high) if capital >= 1 / alpha else (low, middle)
    return low


def is_followed(suite: Suite, rounds: Rounds) -> bool:
    """Return whether a suite stops early: not with shared templates, if fewer than ten of these are asked."""
    texts = [question.text for question in suite.questions]
    asked_texts = [texts[row] for batch in rounds for row in batch]
    n_shared, n_asked = (len(clusters_of(suite, listed)) for listed in (texts, asked_texts))
    if n_shared >= 10 and len(texts) <= suite.options["stop"]["most"]:
        assert n_asked >= 10, f"{suite.name}: {n_asked} templates asked of {n_shared}"
    return not n_shared or n_asked >= 10


def observations(suite: Suite, model: str, metric: str, rows: Sequence[int]) -> list[tuple[Fraction, ...]]:
    """Return what questions in order, or the templates that they share, come to at least, and at most."""
    values: dict[str, list[tuple[Fraction, ...]]] = {}
    for row in rows:
        question = suite.questions[row]
        answer = answer_of(suite, metric, question, suite.replies[model, row, 0])
        ends = answer.lower or Fraction(0), answer.upper or Fraction(0)
        values.setdefault(question.columns.get("template", question.text), []).append(ends)
    return [tuple(map(mean, zip(*ends, strict=True))) for ends in values.values()]


def check_sequence(entry: Mapping[str, Any], model: str, suite: Suite, rounds: Rounds) -> str:
    """Check a headline's looks, with half of its level on either side, and where it decided; return how."""
    reported, what = entry["stopping"], f"{suite.name}, {entry['metric']}: sequence"
    threshold, alpha, rows = reported["threshold"], reported["alpha"], [row for batch in rounds for row in batch]
    low, high, decided, side = 0.0, 1.0, None, ""
    for n_asked, look in zip(accumulate(map(len, rounds)), reported["looks"], strict=False):
        units = observations(suite, model, entry["metric"], rows[:n_asked])
        least, most = zip(*units, strict=True)
        now = lowest(least, alpha / 2), 1 - lowest([1 - value for value in most], alpha / 2)
        low, high = max(low, now[0]), min(high, now[1])
        hold(what, look, {"n": len(units), **({"mean": mean(least)} if least == most else {})})
        assert abs(look["low"] - low) + abs(look["high"] - high) < 1e-6, f"{what}: {look}, expected {low} to {high}"
        if not side:
            side = "above" if low > threshold else "below" if high < threshold else ""
            decided = n_asked if side else None
    hold(what, reported, {"side": side, "decided": decided})
    return side


def check_entry(entry: Mapping[str, Any], headline: Headline, suite: Suite, rounds: Rounds, gate: str) -> str:
    """Check a headline of a suite that stops early over what was asked, and return its outcome."""
    what = f"{suite.name}, {entry['metric']}"
    hold(what, entry, {"n_scored": headline.n_scored, "score": headline.score().mean})
    for end in ("lower", "upper"):
        if entry[end] is not None:
            hold(what, entry, {end: headline.score(end).mean})
    outcome = headline.outcome(gate, intervals_of(entry))
    if headline.threshold is None or not is_followed(suite, rounds):
        hold(what, entry, {"stopping": None})
    elif entry["stopping"]:
        side = check_sequence(entry, headline.model, suite, rounds)
        outcome = outcome if outcome == "error" else OUTCOMES[side]
    else:
        equal(outcome, "error", f"{what}: not followed")
    hold(what, entry, {"outcome": outcome})
    return outcome


def check_rounds(suite: Suite, rounds: Rounds) -> None:
    """Check that rounds take whole templates, no row twice, and no more than the most."""
    rows, most = [row for batch in rounds for row in batch], suite.options["stop"]["most"]
    equal(len(rows), len({*rows}), f"{suite.name}: rows asked twice")
    assert len(rows) <= most, f"{suite.name}: {len(rows)} rows of {most}"
    if not is_followed(suite, rounds):
        equal(len(rounds), 1, f"{suite.name}: rounds of a suite that is asked at once")
        if len(suite.questions) <= most:
            equal(len(rows), len(suite.questions), f"{suite.name}: rows asked at once")
        return
    sizes = Counter(_templates(suite, range(len(suite.questions))))
    for batch, text in product(rounds, sizes):
        n = _templates(suite, batch).count(text)
        assert not text or n in {0, sizes[text]}, f"{suite.name}: {n} of {sizes[text]} rows of template {text}"


def _templates(suite: Suite, rows: Iterable[int]) -> list[str]:
    return [suite.questions[row].columns.get("template", "") for row in rows]


def check_stopped(result: tuple[Output, Mapping[str, Rounds]], run: Run) -> None:
    """Check what was asked, and each headline's sequence, outcome and the exit code."""
    output, rounds = result
    counts = {suite.name: len(run.models) * len(headline_names(suite)) for suite in run.suites}
    n_followed = sum(counts[suite.name] for suite in run.suites if is_followed(suite, rounds[suite.name]))
    # A suite that turns out to be asked at once may have been given its share.
    least, most = 0.05 / sum(counts.values()), 0.05 / max(n_followed, 1)
    verdicts = []
    for suite in run.suites:
        check_rounds(suite, rounds[suite.name])
    for model in output.results["final"]["models"]:
        outcomes = [model["outcome"]]
        for suite in run.suites:
            entries = [entry for entry in model["suites"] if entry["suite"] == suite.name]
            asked = [row for batch in rounds[suite.name] for row in batch][: entries[0]["n_asked"]]
            by_name = headlines(select(suite, asked), model["model"], 1)
            equal({entry["metric"] for entry in entries}, {*by_name}, "scores")
            outcomes += [
                check_entry(entry, by_name[entry["metric"]], suite, rounds[suite.name], run.gate)
                for entry in entries
            ]
            sequences = [entry["stopping"] for entry in entries if entry["stopping"]]
            for sequence in sequences:
                assert least - 1e-9 <= sequence["alpha"] <= most + 1e-9, f"{suite.name}: level {sequence['alpha']}"
            check_end(entries, sequences, rounds[suite.name])
        hold(model["model"], model, {"verdict": worst(outcomes)})
        verdicts.append(model["verdict"])
    equal(output.exit_code, exit_code(verdicts, [], run), "exit code")


def check_end(entries: Sequence[Mapping[str, Any]], sequences: Sequence[Mapping[str, Any]], rounds: Rounds) -> None:
    """Check that a model is asked up to the round in which its last headline is decided, and no further."""
    (n_asked,) = {entry["n_asked"] for entry in entries}
    decided = [sequence["decided"] for sequence in sequences]
    if decided:
        equal(n_asked, sum(map(len, rounds)) if None in decided else max(decided), f"rows asked: {sequences}")
