"""Suites that stop early: what is asked, the sequences' levels and looks, and what they decide (section 12)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from basic_control.config.settings import Settings
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.stopping import cut_into_rounds
from basic_control.tasks.generate import items_of
from tests.oracle.draws import LETTERS, Question, Reply, Run, Suite, edited, headline_names, pick
from tests.oracle.held_against import equal, hold
from tests.oracle.product import Output, configuration, decide_run, measure_run
from tests.oracle.rules import ZERO, answer_of, clusters_of, exit_code, mean, worst

Rounds = Sequence[Sequence[int]]
"""The rows of a suite that were asked, by round."""
SLACK = 100
"""By how much, for each observation, the bets that are best in hindsight may win more than a sequence's."""
OUTCOMES = {"above": "pass", "below": "fail", "": "undecided"}


def _suite(draw: st.DrawFn, name: str, models: Sequence[str]) -> Suite:
    n, n_templates = draw(st.integers(20, 90)), pick(draw, 0, 0, 4, 9, 10, 16)
    columns = [{"template": f"t{row % n_templates}"} if n_templates else {} for row in range(n)]
    questions = tuple(Question(f"{name} {row}", LETTERS[:4], columns[row]) for row in range(n))
    replies: dict[tuple[str, int, int], Reply] = {}
    for model in models:
        odds = pick(draw, 0, 4, 10, 16, 20)
        for row in range(n):
            is_right = draw(st.integers(0, 19)) < odds
            replies[model, row, 0] = Reply(LETTERS[:4] if is_right else pick(draw, "zz", LETTERS[:6]))
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


def best_capital(values: Sequence[Fraction], threshold: float) -> float:
    """Return the log capital won against a mean by the constant bet that is best in hindsight, on either side."""
    bets = np.linspace(-1 / (1 - threshold), 1 / threshold, 2001)[1:-1]
    return float(np.log1p(bets[:, None] * (np.array([*map(float, values)]) - threshold)).sum(axis=1).max())


def is_followed(suite: Suite, rounds: Rounds) -> bool:
    """Return whether a suite stops early: not with shared templates, if fewer than ten of these are asked."""
    texts = [question.text for question in suite.questions]
    asked_texts = [texts[row] for batch in rounds for row in batch]
    n_shared, n_asked = (len(clusters_of(suite, listed)) for listed in (texts, asked_texts))
    if n_shared >= 10 and len(texts) <= suite.options["stop"]["most"]:
        assert n_asked >= 10, f"{suite.name}: {n_asked} templates asked of {n_shared}"
    return not n_shared or n_asked >= 10


def observations(suite: Suite, model: str, metric: str, rows: Sequence[int]) -> list[Fraction]:
    """Return the values of questions in order, or the means of the templates that they share."""
    values: dict[str, list[Fraction]] = {}
    for row in rows:
        question = suite.questions[row]
        answer = answer_of(metric, question, suite.replies[model, row, 0])
        values.setdefault(question.columns.get("template", question.text), []).append(answer.value or ZERO)
    return [*map(mean, values.values())]


def check_sequence(entry: Mapping[str, Any], model: str, suite: Suite, rounds: Rounds) -> str:
    """Check a headline's sequence: its observations, looks, and where it decided; return its side."""
    reported, what = entry["stopping"], f"{suite.name}, {entry['metric']}: sequence"
    threshold, looks, alpha = reported["threshold"], reported["looks"], reported["alpha"]
    for before, after in pairwise(looks):
        assert before["low"] <= after["low"] <= after["high"] <= before["high"], f"{what}: looks widen"
    side = ""
    for n_asked, look in zip(accumulate(map(len, rounds)), looks, strict=False):
        rows = [row for batch in rounds for row in batch][:n_asked]
        values = observations(suite, model, entry["metric"], rows)
        hold(what, look, {"n": len(values), "mean": mean(values)})
        side = "above" if look["low"] > threshold else "below" if look["high"] < threshold else ""
        won = best_capital(values, threshold) + log(alpha)
        if side:
            equal(side, "above" if mean(values) > threshold else "below", f"{what}: side")
            assert won >= 0, f"{what}: decided after {len(values)}, when no bets could have won enough"
            hold(what, reported, {"decided": n_asked})
            break
        assert won <= log(SLACK * (1 + len(values))), (
            f"{what}: undecided after {len(values)}, when all bets had won"
        )
    hold(what, reported, {"side": side})
    return side


def check_entry(entry: Mapping[str, Any], model: str, suite: Suite, rounds: Rounds) -> str:
    """Check a headline of a suite that stops early, and return its outcome."""
    what, outcome = f"{suite.name}, {entry['metric']}", entry["outcome"]
    if entry["threshold"] is None or not is_followed(suite, rounds):
        hold(what, entry, {"stopping": None})
    else:
        outcome = OUTCOMES[check_sequence(entry, model, suite, rounds)]
        hold(what, entry, {"outcome": outcome})
    return str(outcome)


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
            outcomes += [check_entry(entry, model["model"], suite, rounds[suite.name]) for entry in entries]
            sequences = [entry["stopping"] for entry in entries if entry["stopping"]]
            for sequence in sequences:
                assert least - 1e-9 <= sequence["alpha"] <= most + 1e-9, f"{suite.name}: level {sequence['alpha']}"
            check_end(entries, sequences, rounds[suite.name])
        hold(model["model"], model, {"verdict": worst(outcomes)})
        verdicts.append(model["verdict"])
    equal(output.exit_code, exit_code(verdicts, run), "exit code")


def check_end(entries: Sequence[Mapping[str, Any]], sequences: Sequence[Mapping[str, Any]], rounds: Rounds) -> None:
    """Check that a model is asked up to the round in which its last headline is decided, and no further."""
    (n_asked,) = {entry["n_asked"] for entry in entries}
    decided = [sequence["decided"] for sequence in sequences]
    if decided:
        equal(n_asked, sum(map(len, rounds)) if None in decided else max(decided), f"rows asked: {sequences}")
