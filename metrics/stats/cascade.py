"""When a small judge may decide alone: the confidence from which on its error is bounded, by labelled items.

Source: SPEC 21; fixed-sequence testing after Jung, Brahman & Choi 2025 (Trust or Escalate); Clopper & Pearson 1934.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

FOLDS = 5
"""Parts of the labelled items: each is decided by the confidence that the others give."""


@dataclass(frozen=True, slots=True)
class LabelledAnswer:
    """A small judge's answer to a labelled item: its confidence, and whether it is wrong."""

    confidence: float
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class CascadeRule:
    """The confidence at and above which the small judge decides alone; None: never.

    Of `n_labelled` items it decides `n_alone`, `n_wrong` of them wrong; `bound` is the upper bound of that error.
    """

    confidence: float | None
    n_labelled: int
    n_alone: int = 0
    n_wrong: int = 0
    bound: float | None = None

    @property
    def share(self) -> float:
        """The share of the labelled items that it decides alone."""
        return self.n_alone / self.n_labelled if self.n_labelled else 0.0


def upper_bound(k: int, n: int, level: float) -> float:
    """Return the exact one-sided upper bound of a share, k of n."""
    from scipy.special import betaincinv  # slow import

    if k >= n:
        return 1.0
    return float(betaincinv(k + 1, n - k, 1 - level))


def lower_bound(k: int, n: int, level: float) -> float:
    """Return the exact one-sided lower bound of a share, k of n."""
    return 1 - upper_bound(n - k, n, level)


def find_least_items(error: float, level: float) -> int:
    """Return the least number of items that bound the error although one of them is wrong."""
    n = 2
    while upper_bound(1, n, level) > error:
        n += 1
    return n


def find_rule(answers: Sequence[LabelledAnswer], *, error: float, level: float) -> CascadeRule:
    """Return from which confidence on a small judge decides alone.

    `error` is the share of wrong decisions that is tolerated among those, `level` the chance that there are more.
    """
    start = find_least_items(error, level)
    rule = CascadeRule(None, len(answers))
    for confidence, n, n_wrong in _count_groups(answers):
        if n < start:
            continue
        bound = upper_bound(n_wrong, n, level)
        if bound > error:
            break
        rule = CascadeRule(confidence, len(answers), n, n_wrong, bound)
    return rule


def _count_groups(answers: Sequence[LabelledAnswer]) -> Iterator[tuple[float, int, int]]:
    """Yield each confidence, highest first, with the items at or above it, and the wrong ones among them."""
    n = n_wrong = 0
    ordered = sorted(answers, key=lambda answer: -answer.confidence)
    # Equal confidences cannot be told apart: they are decided together.
    for confidence, group in groupby(ordered, key=lambda answer: answer.confidence):
        for answer in group:
            n += 1
            n_wrong += answer.is_wrong
        yield confidence, n, n_wrong


def fold_rules(answers: Sequence[LabelledAnswer], *, error: float, level: float) -> list[CascadeRule]:
    """Return the rule for each of five parts of the items (every fifth), from the others."""
    rules = []
    for fold in range(FOLDS):
        remaining = [answer for number, answer in enumerate(answers) if number % FOLDS != fold]
        rules.append(find_rule(remaining, error=error, level=level))
    return rules


def is_alone(rule: CascadeRule, confidence: float) -> bool:
    """Return whether the small judge decides alone at a confidence."""
    return rule.confidence is not None and confidence >= rule.confidence
