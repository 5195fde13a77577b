"""What judges, their exam and people's labels make of a judged metric, by the rules alone (sections 11 and 16)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan, nan, sqrt
from typing import Any

import numpy as np

from tests.oracle.rules import KEYS, Headline, Within, Z, decide, decide_score, rate
from tests.oracle.world import EXAMS, JUDGED, LEFT_OUT, Reply, Run, Suite

Entry = Mapping[str, Any]


def adjust(
    run: Run, suite: Suite, headline: Headline, entry: Entry, rows: Sequence[int]
) -> tuple[Headline, dict[str, Any]]:
    """Return a judged score as labels of `rows` or its judges leave it, and what is said of it."""
    replies = {question.text: suite.replies[run.models[0], row, 0] for row, question in enumerate(suite.questions)}
    labelled = [] if run.is_labelled_elsewhere else [suite.questions[row].text for row in rows]
    n_right = sum(replies[text].label for text in labelled)
    # People decide by 30 labels, 10 of either class, and where they do, those measured the judges.
    is_labelled = len(labelled) >= 30 and 10 <= n_right <= len(labelled) - 10
    expected: dict[str, Any] = {
        "judges_left_out": [f"{judge}, {JUDGED}" for judge in suite.judges if judge in LEFT_OUT],
        "judges_unmeasured": [judge for judge in suite.judges if judge not in EXAMS and not is_labelled],
    }
    counting = [judge for judge in suite.judges if judge not in LEFT_OUT]
    if is_labelled:
        headline, of_labels = _label(suite, headline, entry, replies, labelled)
        return headline, {
            **expected,
            **of_labels,
            "outcome": decide(headline.means, entry, headline.threshold, run.gate),
        }
    if not counting:
        outcome = "none" if headline.threshold is None else "undecided"
        return replace(headline, stated=(nan, nan, nan)), {**expected, "score": None, "outcome": outcome}
    raw = decide_score(headline, entry, run.gate)
    expected["outcome"] = raw
    if (
        raw in {"none", "error"}
        or {*counting} - {*EXAMS}
        or all(reply.needs_no_judge for reply in replies.values())
    ):
        return headline, expected
    if len(counting) > 1:  # several judges' exam answers are joined: what that comes to is not held here
        return headline, {**expected, "outcome": {raw, "undecided"}}
    corrected, of_exam = _correct(suite, counting[0], replies)
    second = decide([corrected], {"interval": entry["corrected_interval"]}, headline.threshold, run.gate)
    return headline, {**expected, **of_exam, "outcome": raw if raw == second else "undecided"}


def _label(
    suite: Suite, headline: Headline, entry: Entry, replies: Mapping[str, Reply], labelled: Sequence[str]
) -> tuple[Headline, dict[str, Any]]:
    """Return a score by people's labels (PPI++)."""
    every: dict[str, float] = {}
    for text, reply in replies.items():
        counted, whole = rate(suite, reply), rate(suite, reply, ())
        if not reply.needs_no_judge and not isnan(whole):  # what labels correct: of those that count, or of all
            every[text] = whole if isnan(counted) else counted
    labels, judged, values = (
        [replies[text].label for text in labelled],
        [every[text] for text in labelled],
        [*every.values()],
    )
    n, n_all, covariance = len(labels), len(every), float(np.cov(labels, judged, bias=True)[0, 1])
    # The weight with the least variance where labelled replies are part of all; or none, if that is no gain.
    square = float(np.var(judged) / n - np.var(values) / n_all)
    weight = covariance * (1 / n - 1 / n_all) / square if square > 0 else 0.0
    gap = np.mean(values) - np.mean(judged)
    settled = [bool(reply.text) for reply in replies.values() if reply.needs_no_judge]
    estimates = []
    for chosen in (min(max(weight, 0.0), 1.0), 0.0):
        estimate = min(max(float(np.mean(labels) + chosen * gap), 0.0), 1.0)
        estimates.append((n_all * estimate + sum(settled)) / (n_all + len(settled)))
    score = min(estimates, key=lambda estimate: abs(estimate - entry["score"]))
    share = (n_all + len(settled)) / len(replies)
    means = score, score * share, score * share + 1 - share
    expected = {key: _near(mean, 1e-6) for key, mean in zip(KEYS, means, strict=True)}
    interval = _expect_width(score, float(np.var(labels)) / n)
    return replace(headline, stated=means), {**expected, "n_labels": n, "interval": interval}


def _near(value: float, off: float) -> Within:
    return Within(value - off, value + off)


def _expect_width(middle: float, variance: float) -> dict[str, Any]:
    """Return an interval that holds its estimate and, where nothing bounds it, is as wide as its variance says."""
    plain = Z * sqrt(variance)
    interval = {"low": Within(0, middle + 0.005), "high": Within(middle - 0.005, 1)}
    if 0.02 < plain < 0.15 and 0.25 <= middle <= 0.75:
        interval["half"] = Within(0.8 * plain, 1.9 * plain)
    return interval


def _correct(suite: Suite, judge: str, replies: Mapping[str, Reply]) -> tuple[float, dict[str, Any]]:
    """Return the corrected score of one judge that counts and is measured (section 11)."""
    yes, _, no = EXAMS[judge]
    sensitivity, specificity = yes[0] / sum(yes), no[2] / sum(no)
    values = [rate(suite, reply) for reply in replies.values() if not reply.needs_no_judge]
    settled = [bool(reply.text) for reply in replies.values() if reply.needs_no_judge]
    n = len(values) - sum(map(isnan, values))
    contrast, share = sensitivity + specificity - 1, float(np.nanmean(values))
    corrected = min(max((share + specificity - 1) / contrast, 0.0), 1.0)
    spread = share * (1 - share) / n
    spread += (1 - corrected) ** 2 * specificity * (1 - specificity) / sum(no)
    spread += corrected**2 * sensitivity * (1 - sensitivity) / sum(yes)
    part = n / (n + len(settled))
    whole = (n * corrected + sum(settled)) / (n + len(settled))
    # Of three truths the likeliest shares are sought step by step, and stop just short of none or all.
    off = 1e-9 if 0 < corrected < 1 and not settled else 0.005
    interval = _expect_width(whole, part**2 * spread / contrast**2)
    return whole, {"corrected": _near(whole, off), "corrected_interval": interval}
