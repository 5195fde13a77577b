"""Tagged values: what goes in comes out, and nothing else gets in."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.data.records import Outcome
from basic_control.data.values import format_value
from basic_control.tasks.sandbox import guest_replies, values

"""By the clock nothing is decided here: a busy machine takes its time."""

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.binary(max_size=20)
)
hashable = st.recursive(scalars, lambda held: st.tuples(held, held) | st.frozensets(held, max_size=3), max_leaves=5)
plain = st.recursive(
    hashable,
    lambda held: (
        st.lists(held, max_size=4)
        | st.tuples(held)
        | st.sets(hashable, max_size=3)
        | st.dictionaries(hashable, held, max_size=3)
    ),
    max_leaves=15,
)


@given(plain)
def test_plain_values_survive(value: object) -> None:
    """Through text and back, types and all (the order of a set is its own)."""
    back = values.unpack(values.read(values.write(values.pack(value))))
    assert back == value
    assert values.pack(back) == values.pack(value) or "{" in repr(value)


@given(
    st.text(max_size=200)
    | plain.map(lambda v: values.write(values.pack(v)))
    | st.text("[]\"',ltsdzifbe0x-", max_size=60)
)
def test_any_reply_is_an_outcome(text: str) -> None:
    """Nothing raises, and nothing a component says makes an item drop out of the score."""
    assert guest_replies.read_outcome(text).kind not in {"unavailable", "timeout"}
    assert guest_replies.read_outcome(f'["value",{text}]').kind in {"value", "bad value"}


class Hostile:
    """Would do something if it were asked anything."""

    def __bool__(self) -> bool:
        raise AssertionError

    __eq__ = __hash__ = __repr__ = __str__ = __iter__ = __len__ = __reduce__ = __index__ = __bool__  # pyrefly: ignore[bad-override] # all of them alike


@pytest.mark.parametrize("value", [Hostile(), [Hostile()], {"a": Hostile()}, (1, (Hostile(),))])
def test_nothing_is_asked_of_a_hostile_object(value: object) -> None:
    """`__eq__`, `__repr__`, `__reduce__`, `__iter__`, `__hash__` and the others are never called."""
    with pytest.raises(values.UnfitError, match="of type Hostile"):
        values.pack(value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "[" * 500_000,
        '{"a":1}',
        "NaN",
        "1.5",
        "9" * 100,
        "[" * 900 + "]" * 900,
        '["l"' + ",0" * 200_000 + "]",
        '["eval","1"]',
        '["i","0x10"]',
        '["i",5]',
        '["i","' + "f" * 200_000 + '"]',
        '["f","1"]',
        '["f","0x1.0p+5000"]',
        '["b","abc"]',
        '["b","-abc"]',
        '["b","zz"]',
        '["d",1]',
        '["d",1,2,true,3]',
        '["d",["l"],1]',
        '["s",1,true]',
        '["s",["d"]]',
        "[]",
        "[1]",
        '"\\ud800"',
        '["l","\\udfff"]',
    ],
)
def test_what_is_not_a_value_is_refused(text: str) -> None:
    assert guest_replies.read_outcome(f'["value",{text}]').kind == "bad value"


def test_only_a_guests_own_kinds_are_heard() -> None:
    assert guest_replies.read_outcome('["unavailable"]') == Outcome("bad value", message="not a reply")
    assert guest_replies.read_outcome('["timeout"]').kind == "bad value"
    assert guest_replies.read_outcome('["syntax","x",1]').kind == "bad value"
    assert guest_replies.read_outcome('["exception","E\\u001b","\\u0007\\u202e\\ud800m"]') == Outcome(
        "exception", error="E ", message="   m"
    )


def test_dictionaries_of_the_standard_library_are_dictionaries() -> None:
    """Counter, defaultdict and OrderedDict equal a dict in Python; other subclasses may lie, and are refused."""
    from collections import Counter, OrderedDict, defaultdict

    for value in (Counter(a=1), defaultdict(int, a=1), OrderedDict(a=1)):
        assert type(values.unpack(values.pack(value))) is dict
    with pytest.raises(values.UnfitError):
        values.pack(type("D", (dict,), {})())


def test_the_largest_integer_comes_back_and_can_be_shown() -> None:
    """Python prints none of more than 4 300 digits."""
    largest = 2**values.BITS - 1
    assert values.unpack(values.pack(-largest)) == -largest
    assert format_value(largest) == "<int>"


@pytest.mark.parametrize(
    "value", [1 + 2j, complex("-inf-nanj"), Fraction(-1, 3), Decimal("1.50"), Decimal("-1E+400"), Decimal("NaN")]
)
def test_a_number_of_another_kind_is_a_value(value: object) -> None:
    found = values.unpack(values.read(values.write(values.pack(value))))
    assert (type(found), repr(found)) == (type(value), repr(value))


@pytest.mark.parametrize(
    "text",
    [
        '["c","0x1p+0"]',
        '["c","1","2"]',
        '["q","1","0"]',
        '["q","1"]',
        '["m","1_0"]',
        '["m","1E9999999"]',
        '["m",1]',
        '["q","1","2","3"]',
    ],
)
def test_a_malformed_number_is_refused(text: str) -> None:
    assert guest_replies.read_outcome(f'["value",{text}]').kind == "bad value"


def test_what_is_written_is_one_line_and_reads_as_it_was() -> None:
    written = values.write(["a\nb\r\u2028", 1])
    assert written.splitlines() == ['["a\\nb\\r\\u2028",1]']
    assert values.read(written) == values.read(written.encode()) == ["a\nb\r\u2028", 1]


def test_members_that_share_a_hash_are_refused_before_they_cost_time() -> None:
    """A set of n integers that all hash to 0 takes n * n / 2 comparisons to build."""
    alike = [["i", f"{(2**61 - 1) * n:x}"] for n in range(2, values.ALIKE + 3)]
    for packed in (["s", *alike], ["z", *alike], ["d", *(part for key in alike for part in (key, 0))]):
        with pytest.raises(values.UnfitError, match="same hash"):
            values.unpack(packed)
    assert len(values.unpack(["s", *alike[1:]])) == values.ALIKE
