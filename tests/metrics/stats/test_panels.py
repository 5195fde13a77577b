"""A panel believes its judges as far as they earn it."""

import numpy as np
import pytest

from metrics.stats.panels import consensus


def test_a_passport_outweighs_two_judges_that_guess() -> None:
    good = [1, 0, 1, 0, 1, 1, 0, 0]
    bad = [0, 0, 0, 0, 0, 0, 0, 0]
    found = consensus(
        {"good": good, "one": bad, "two": bad},
        2,
        {"good": [[95, 5], [5, 95]], "one": [[50, 0], [50, 0]], "two": [[50, 0], [50, 0]]},
    )
    assert found.belief.argmax(axis=1).tolist() == good
    assert found.means([0, 1]).mean() == pytest.approx(0.5, abs=0.1)


def test_without_passports_the_judge_that_agrees_with_none_counts_least() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    verdicts = {
        name: np.where(rng.random(400) < right, truth, 1 - truth).tolist()
        for name, right in (("a", 0.95), ("b", 0.9), ("c", 0.55), ("d", 0.55), ("e", 0.9))
    }
    found = consensus(verdicts, 2)
    right = (found.belief.argmax(axis=1) == truth).mean()
    heads = np.mean([np.array(row) for row in verdicts.values()], axis=0).round()
    assert right > (heads == truth).mean()
    measured = {name: float(table.trace() / 2) for name, table in found.confusion.items()}
    assert max(measured["c"], measured["d"]) < 0.7 < min(measured[name] for name in "abe")


def test_a_judge_that_failed_says_nothing() -> None:
    found = consensus({"a": [1, None], "b": [None, 0]}, 2, {"a": [[9, 1], [1, 9]], "b": [[9, 1], [1, 9]]})
    assert found.belief.argmax(axis=1).tolist() == [1, 0]


def test_judges_of_unlike_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="as many samples"):
        consensus({"a": [1], "b": [1, 0]}, 2)
