"""Which rows are asked follows from method, n and seed alone."""

import pytest

from basic_control.data.draw import choose_rows


def test_first_and_all() -> None:
    assert choose_rows(5, method="first", n=3, seed=1) == [0, 1, 2]
    assert choose_rows(5, method="all", n=3, seed=1) == [0, 1, 2, 3, 4]
    assert (
        choose_rows(5, method="first", n=9, seed=1)
        == choose_rows(5, method="random", n=9, seed=1)
        == [0, 1, 2, 3, 4]
    )


def test_random_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    chosen = choose_rows(1319, method="random", n=30, seed=50)
    assert chosen == choose_rows(1319, method="random", n=30, seed=50)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == 30
    assert 0 <= chosen[0] < chosen[-1] < 1319
    assert len(set(chosen) & set(choose_rows(1319, method="random", n=30, seed=51))) < 5


@pytest.mark.parametrize("rows", [0, 1])
def test_small_sets(rows: int) -> None:
    assert choose_rows(rows, method="random", n=3, seed=0) == [*range(rows)]
