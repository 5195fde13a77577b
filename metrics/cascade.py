"""A cascade of two judges on one reply: which of them decides, and what the other says of it."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from basic_control.metrics.exam import pair_probabilities
from basic_control.metrics.judging import Probabilities, Session, outcome
from basic_control.metrics.preference import SAID, TIE
from basic_control.metrics.stats.cascade import CascadeRule, is_alone

ORDERS = {"ab", "ba"}
"""The questions of a comparison in both orders."""
_SCALE = 2**64


@dataclass(frozen=True, slots=True)
class Decider:
    """When a cascade's small judge decides alone, in one language: by `rule`, found on `source`.

    `source` is 'labels' (people's), 'exam', or '' if nothing is known. `n_unanswered` labelled replies would have
    decided, had the small judge answered them before.
    """

    rule: CascadeRule
    source: str = ""
    n_unanswered: int = 0


def confidence_in(probabilities: Probabilities, value: float | None) -> float | None:
    """Return how probable a deciding judge holds its verdict of this value; of several questions the least.

    Of a comparison in both orders the mean probability of what they say together. None if it gave no answer.
    """
    if value is None or len(probabilities) != 1:
        return None
    (questions,) = probabilities.values()
    if {*questions} == ORDERS:
        (shares,) = pair_probabilities({"exam": "preference"}, questions)
        return shares[SAID[value]]
    return min(map(_find_highest, questions.values()))


def _find_highest(shares: Mapping[str, float]) -> float:
    return max(shares.values())


def mean_value_in(probabilities: Probabilities) -> float | None:
    """Return the mean score of a reply by a deciding judge's probabilities, from 0 to 1; None if it has no scale.

    A rating's scale is that of its levels.
    """
    if len(probabilities) != 1:
        return None
    (questions,) = probabilities.values()
    if {*questions} == ORDERS:
        (shares,) = pair_probabilities({"exam": "preference"}, questions)
        return shares["better"] + TIE * shares["tie"]
    means: list[float] = []
    for shares in questions.values():
        # As in: -1, 0, 1
        if not all(label.lstrip("-").isdecimal() for label in shares):
            return None
        levels = {int(label): share for label, share in shares.items()}
        low, high = min(levels), max(levels)
        means.append(sum((level - low) * share for level, share in levels.items()) / (high - low))
    return fmean(means)


def confidence_of(session: Session) -> float | None:
    """Return the confidence of an ended session; None if it failed."""
    if session.asks:
        return None
    return confidence_in(session.probabilities, outcome(session).value)


def is_checked(key: str, share: float) -> bool:
    """Return whether a reply belongs to the random share that the large judge sees too; always the same ones."""
    digest = hashlib.sha256(f"check {key}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / _SCALE < share


def decides_alone(session: Session, decider: Decider | None) -> bool:
    """Return whether the small judge's answer stands: it is sure enough, or the score needed no judge."""
    if not session.n_calls and not session.failure:
        return True
    confidence = confidence_of(session)
    return confidence is not None and decider is not None and is_alone(decider.rule, confidence)


def join(small: Session, large: Session | None, names: Sequence[str], *, alone: bool) -> Session:
    """Return the cascade's session, with which judge decided and what each said; the large one may be a check."""
    if not small.n_calls and not small.failure:
        return small
    chosen, name, n_calls = small, names[0], small.n_calls
    if not alone:
        name = names[1]
    if large is not None:
        n_calls += large.n_calls
        if not alone:
            chosen = large
    account: dict[str, Any] = {
        "by": name,
        "confidence": confidence_of(small),
        "small": _read_value(small),
        "large": _read_value(large),
        "checked": alone and large is not None,
    }
    return replace(chosen, n_calls=n_calls, cascade=account)


def _read_value(session: Session | None) -> float | None:
    """Return the value of an ended session; None if it failed, or was not held."""
    if session is None or session.asks:
        return None
    return outcome(session).value
