"""What batches came to together."""

from typing import Any

import pytest

from basic_control.data.batches import QueryResult, Ref, compute_span_s

NOTHING = Ref("requests", "", 0, "")


def asked(began_s: float, span_s: float) -> QueryResult:
    counts: dict[str, Any] = dict.fromkeys(("total", "cached", "answered", "failed", "tokens_in", "tokens_out"), 0)
    return QueryResult(NOTHING, NOTHING, **counts, span_s=span_s, began_s=began_s)


@pytest.mark.parametrize(
    ("spans", "together"),
    [
        ([], 0.0),
        ([(100.0, 3.0)], 3.0),
        ([(100.0, 3.0), (110.0, 2.0)], 5.0),  # one after another, with a pause
        ([(110.0, 2.0), (100.0, 11.0)], 12.0),  # the one began while the other went on
        ([(100.0, 10.0), (102.0, 1.0)], 10.0),  # the one within the other
        ([(100.0, 4.0), (0.0, 0.0)], 4.0),  # one came wholly from the cache
    ],
)
def test_batches_that_are_asked_side_by_side_count_once(spans: list[tuple[float, float]], together: float) -> None:
    assert compute_span_s(asked(*span) for span in spans) == pytest.approx(together)
