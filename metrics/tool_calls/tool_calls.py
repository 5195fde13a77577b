"""Tool calls: the reply calls the expected functions, with the expected arguments, and nothing else."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import metric
from basic_control.data.notations import parse_cell
from basic_control.data.options import Frozen
from basic_control.data.reading.calls import read_written_calls
from basic_control.data.records import CALLS, TYPICAL, Expectation, Found, Sample, Score
from basic_control.data.shown import Shown
from basic_control.data.tools import Tool, ToolCall, read_call, read_calls, read_tools, write_calls
from basic_control.metrics._expected import ABSENT
from basic_control.metrics._replies import NO_REPLY, prompt, reply
from basic_control.metrics.tool_calls.arguments import Difference, find_differences

COLUMN = "calls"
"""The column of the expected calls."""
MOST = 200
"""Calls of a reply that are compared."""


KINDS = {
    "none": "no call",
    "name": "wrong function",
    "missing": "missing argument",
    "unknown": "unknown argument",
    "type": "wrong type",
    "value": "wrong value",
    "extra": "extra call",
    "order": "another order",
}
"""The kinds of differences, as reports count them."""


class Options(Frozen):
    """What counts as a call, and which differences count."""

    parse: Literal["calls", "text"] = Field(
        "calls", description="text: calls that the reply writes into its text count as well"
    )
    order: bool = Field(default=False, description="true: calls in another order are wrong")
    lenient: bool = Field(
        default=False,
        description="true: in texts, white space, , . / - _ * ^ and quotes do not count, as in public leaderboards",
    )


def read_expected_calls(sample: Sample) -> list[ToolCall] | None:
    """Return the row's expected calls; None if it has none that can be read."""
    value = sample.get(COLUMN)
    if _is_blank(value):
        return None
    return read_calls(parse_cell(value))


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return whether a row's calls can be read; an empty list expects no call."""
    del options
    if _is_blank(sample.get(COLUMN)):
        return Expectation(f"{ABSENT}: a list of calls, [] for none", column=COLUMN)
    if read_expected_calls(sample) is None:
        return Expectation("expected a list of {name, arguments}", column=COLUMN)
    return Expectation(column=COLUMN)


def read_made_calls(value: Any) -> list[ToolCall]:
    """Return the calls that a reply made; arguments that are no JSON are one without a name."""
    calls = list[ToolCall]()
    for entry in value or ():
        unreadable = ToolCall(str(entry.get("name")), n_unnamed=1)
        calls.append(read_call(entry) or unreadable)
    return calls


def read_tools_of(sample: Sample) -> Mapping[str, Tool]:
    """Return the row's tools by name; none if it has none that can be read."""
    try:
        tools = read_tools(sample.get("tools") or [])
    except ValueError:
        return {}
    return {tool.name: tool for tool in tools}


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A reply's calls beside the expected ones: what each pair has different, and the best matching.

    `differences[n][m]` are those of the n-th expected and the m-th made call; `pairs` are matched (n, m).
    """

    calls: Sequence[ToolCall]
    expected: Sequence[ToolCall]
    differences: Sequence[Sequence[Sequence[Difference]]]
    pairs: Sequence[tuple[int, int]]

    @property
    def n_equal(self) -> int:
        """The number of expected calls that are met."""
        return sum(not self.differences[wish][call] for wish, call in self.pairs)

    @property
    def is_in_order(self) -> bool:
        """Whether the calls are the expected ones in their order."""
        diagonal = zip(self.differences, range(len(self.calls)), strict=False)
        return not any(row[n] for row, n in diagonal)


def compare_calls(
    calls: Sequence[ToolCall], expected: Sequence[ToolCall], tools: Mapping[str, Tool], *, lenient: bool
) -> _Comparison:
    """Compare every call with every expected one, and match them one to one."""
    differences = list[list[list[Difference]]]()
    for wish in expected:
        differences.append([_list_differences(call, wish, tools, lenient=lenient) for call in calls])
    return _Comparison(calls, expected, differences, _match(differences))


def _score_comparison(comparison: _Comparison, options: Mapping[str, Any]) -> Score:
    calls, expected = comparison.calls, comparison.expected
    lenient = options["lenient"]
    n_by_name = Counter(_name(call, lenient=lenient) for call in calls)
    parts = {
        "called": float(bool(calls) == bool(expected)),
        "name": float(n_by_name == Counter(_name(call, lenient=lenient) for call in expected)),
        "arguments": comparison.n_equal / len(expected) if expected else None,
    }
    details: dict[str, Any] = {"calls": write_calls(calls)}
    is_right = comparison.n_equal == len(expected) == len(calls)
    if is_right and (comparison.is_in_order or not options["order"]):
        return Score(1.0, reason="as expected", details=details, parts=parts)
    # The reason names what differs; reports count its kind.
    difference = _find_reason(comparison)
    details[TYPICAL] = KINDS[difference.kind]
    return Score(0.0, reason=f"{KINDS[difference.kind]}: {difference.text}", details=details, parts=parts)


def _name(call: ToolCall, *, lenient: bool) -> str:
    """Return a function's name; leniently with `_` for a point, which some servers take in no name."""
    return call.name.replace(".", "_") if lenient else call.name


_ANOTHER = 1_000
"""Cost of another function, above any number of wrong arguments that one reply can have."""


def _list_differences(
    call: ToolCall, expected: ToolCall, tools: Mapping[str, Tool], *, lenient: bool
) -> list[Difference]:
    if _name(call, lenient=lenient) != _name(expected, lenient=lenient):
        return [Difference("name", f"{call.name}, expected {expected.name}")] * _ANOTHER
    return [*find_differences(call, expected, tools.get(expected.name), lenient=lenient)][: _ANOTHER - 1]


def _match(differences: Sequence[Sequence[Sequence[Difference]]]) -> list[tuple[int, int]]:
    """Return the pairs of expected and made calls with the most that are equal, then the least wrong."""
    if not differences or not differences[0]:
        return []
    from scipy.optimize import linear_sum_assignment  # imported here, so that listing the metrics does not

    # A pair that is unequal costs more than all that could be saved on others.
    unequal = _ANOTHER * (len(differences) + len(differences[0]))
    costs = list[list[int]]()
    for row in differences:
        costs.append([len(entries) + unequal * bool(entries) for entries in row])
    rows, columns = linear_sum_assignment(costs)
    return [*zip(rows.tolist(), columns.tolist(), strict=True)]


def _find_reason(comparison: _Comparison) -> Difference:
    """Return the difference to be named: of a pair, else a missing or an extra call, else the order."""
    calls, expected = comparison.calls, comparison.expected
    if not calls:
        return Difference("none", f"expected {', '.join(call.name for call in expected[:3])}")
    for wish, call in comparison.pairs:
        if comparison.differences[wish][call]:
            return comparison.differences[wish][call][0]
    wishes, matched_calls = zip(*comparison.pairs, strict=True) if comparison.pairs else ((), ())
    missing = set(range(len(expected))).difference(wishes)
    extra = set(range(len(calls))).difference(matched_calls)
    if missing:
        return Difference("none", f"expected {expected[min(missing)].name}")
    if extra:
        return Difference("extra", calls[min(extra)].name)
    return Difference("order", ", ".join(call.name for call in calls[:3]))


@metric(
    version=2,
    options=Options,
    needs=(COLUMN,),
    expects=expects,
    yes_no=True,
    reads_calls=True,
    title={"en": "Tool calls", "ru": "Вызовы функций"},
    shown=Shown(
        parts={
            "called": {"en": "calls when it should", "ru": "вызывает, когда нужно"},
            "name": {"en": "right functions", "ru": "верные функции"},
            "arguments": {"en": "right arguments", "ru": "верные аргументы"},
        }
    ),
)
def tool_calls(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Return 1 if the reply's calls are the expected ones, one to one, else 0; parts `called`, `name`, `arguments`.

    Source: SPEC 20.
    """
    expected = read_expected_calls(sample)
    if expected is None:
        return Score(None, "not_applicable", "the row has no calls")
    tools = read_tools_of(sample)
    # The names tell a call from any other object in the text.
    names = frozenset(tools) | {call.name for call in expected}
    calls = read_made_calls(sample.get(CALLS))
    text = str(sample.get("response") or "")
    if not calls and options["parse"] == "text":
        calls = read_written_calls(text, prompt(sample), names)
    if not calls and not reply(sample):
        return NO_REPLY
    comparison = compare_calls(calls[:MOST], expected, tools, lenient=options["lenient"])
    return _score_comparison(comparison, options)
