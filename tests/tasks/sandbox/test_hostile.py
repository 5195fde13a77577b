"""No hostile candidate passes, and none matters: to this machine, to the harness, or to the candidate after it."""

import resource
from typing import Any

import psutil
import pytest

from basic_control.data.records import Outcome, Program
from basic_control.tasks.sandbox import WorkerPool
from tests.fixtures.hostile.attacks import ATTACKS
from tests.tasks.sandbox.conftest import CPU_S, SECRET, Outside

EXPECTED = (4, 9)
STARTING_S = 1.5
"""CPU seconds in which a new worker has started, at most: it takes a quarter of one."""

HONEST = """
import decimal, math, random
from dataclasses import dataclass

@dataclass
class Square:
    side: float

def f(x):
    drawn = [random.random() for _ in range(5)]
    assert min(drawn) != max(drawn) and sorted(drawn)[0] == min(drawn)
    exact = decimal.Decimal(1) / decimal.Decimal(3)
    assert len(str(exact)) == 30
    return int(sum([math.sqrt(Square(x * x).side ** 2)]))
"""


def passes(outcomes: tuple[Outcome, ...]) -> bool:
    """Compare as a verifier does: by type and value."""
    found = [(o.kind, type(o.value), o.value) for o in outcomes]
    return found == [("value", int, expected) for expected in EXPECTED]


def cpu_s(pool: WorkerPool) -> float:
    """Return the CPU seconds of the pool's workers, those that are gone included."""
    gone = resource.getrusage(resource.RUSAGE_CHILDREN)
    alive = [psutil.Process(worker.process.pid).cpu_times() for worker in pool.workers]
    return gone.ru_utime + gone.ru_stime + sum(one.user + one.system for one in alive)


def program(source: str) -> Program:
    return Program("python", source, "f", ((2,), (3,)))


@pytest.fixture(scope="module")
def grown(outside: Outside) -> list[float]:
    """The harness's resident megabytes before the first attack, once everything is warm."""
    outside.pool.run([program(HONEST)])
    return [psutil.Process().memory_info().rss / 1e6]


def list_attacks() -> list[Any]:
    """Return the names of the attacks; of those that use up their time or memory the first of a kind is quick."""
    names: list[Any] = []
    met: set[str] = set()
    for name, (outcomes, _) in ATTACKS.items():
        kind = name.partition(":")[0]
        is_long = "timeout" in outcomes or kind == "memory"
        names.append(pytest.param(name, marks=[pytest.mark.slow] if is_long and kind in met else []))
        met.add(kind)
    return names


@pytest.mark.parametrize("name", list_attacks())
def test_is_stopped_and_touches_nothing(name: str, outside: Outside, grown: list[float]) -> None:
    """It fails as it should, in its time; nothing outside is read or changed; the next candidate passes."""
    kinds, source = ATTACKS[name]
    # Only what may end by its time has little of it: 40 megabytes alone take all of that on a busy machine.
    most_s = CPU_S if "timeout" in kinds else 8 * CPU_S
    before = cpu_s(outside.pool)
    (outcomes,) = outside.pool.run([program(outside.fill(source))], cpu_s=most_s)
    took = cpu_s(outside.pool) - before
    assert len(outcomes) == len(EXPECTED)
    assert {o.kind for o in outcomes} <= set(kinds.split("|")), outcomes
    assert not passes(outcomes)
    assert SECRET not in repr(outcomes)
    for said in (text for o in outcomes for text in (o.error, o.message)):
        assert len(said) <= 300
        assert said.isprintable()
    outside.check()
    (honest,) = outside.pool.run([program(HONEST)])
    assert passes(honest), honest
    assert took < 2 * (most_s + STARTING_S)  # what ran out of time had a second try
    assert psutil.Process().memory_info().rss / 1e6 - grown[0] < 100


def test_all_results_together_stay_small(outside: Outside) -> None:
    """A hundred candidates that each return as much as they may take less than 100 MB in all."""
    greedy = program("def f(x): return ['x' * 400_000]")
    before = psutil.Process().memory_info().rss
    found = outside.pool.run([greedy] * 100)
    assert {o.kind for outcomes in found for o in outcomes} == {"value"}
    assert (psutil.Process().memory_info().rss - before) / 1e6 < 100


def test_the_suite_covers_every_kind_of_attack() -> None:
    assert len(ATTACKS) >= 200
    assert len({name.partition(":")[0] for name in ATTACKS}) == 14
