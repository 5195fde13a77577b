"""Expected answers of users' rows: the forms of public data sets that are read, and what a metric cannot read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from basic_control.data.patterns import pattern
from basic_control.data.records import Expectation, Sample

ABSENT = "expected an answer"
_FORMS: tuple[tuple[str, ...], ...] = (
    ("text",),  # SQuAD: {"text": ["Paris"], "answer_start": [3]}; NarrativeQA: {"text": "Paris", "tokens": […]}
    ("value", "aliases"),  # TriviaQA: {"value": "Paris", "aliases": ["Paris", "PARIS"], …}
    ("aliases",),
)
"""Keys of a mapping that hold its answers: the first form of which it has every key."""


_NUMERAL = pattern(
    r"[0-9]{1,3}(?:[, ][0-9]{3})+(?:[.,][0-9]+)?(?![0-9])"  # 1,450,000 and 1 200,5
    r"|[0-9]*\\[dt]?frac\{?[0-9]+\}?\{?[0-9]+\}?"  # \frac{3}{4}, \frac12, 2\frac{1}{2}
    r"|(?:[0-9]+ )?[0-9]+ ?[/⁄] ?[0-9]+(?![0-9./])"  # 3/4 and 2 1/2
    r"|[0-9]+\^\{?-?[0-9]+\}?"  # 10^6
    r"|[0-9]*[.,]?[0-9]+(?:[eE][-+]?[0-9]+)?"  # 7, 3.5, .5, 1.5e3
)
_MORE = pattern(
    r"\\(?:sqrt|pi|infty|le|ge|leq|geq|pm|in|begin)(?![a-z])|[√π∞≤≥<>±]"  # 11\sqrt2, x ≥ 5
    r"|(?<![^\W_])[a-z]\s*[-+*]|[-+*]\s*[a-z](?![^\W_])"  # u + 14, 3 - x
    r"|\0\s?[xyznabkpqi](?![^\W_])"  # 2x, 5i
)
"""What makes an expression of a number, whose place holds a zero."""
_POWER = pattern(r"(?<=\0)(\s?(?:\\text\{)?\s?[a-z]{1,3}\}?)\^?\{?\0\}?\s*$")  # 5 cm^2
# A box around a result: "\\boxed{"
_BOX = pattern(r"\\boxed\s*\{")
_LONGEST = 80
"""Characters of an answer that is a number, not a solution that ends in one."""


class Answers(NamedTuple):
    """The answers of a row; `reading` names the form of a mapping, `unknown` is one that no form reads."""

    values: list[Any]
    reading: str = ""
    unknown: Mapping[str, Any] | None = None


def is_absent(value: Any) -> bool:
    """Return whether a cell holds no answer: no value, text without a letter or sign, an empty list."""
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], ())


def answers_of(value: Any) -> Answers:
    """Return the answers in a cell: all of a list, and those of mappings in a known form."""
    values: list[Any] = []
    readings: dict[str, None] = {}
    for entry in value if isinstance(value, list | tuple) else [value]:
        if isinstance(entry, Mapping):
            form = next((form for form in _FORMS if entry.keys() >= {*form}), ())
            if not form:
                return Answers([], unknown=entry)
            readings |= dict.fromkeys([" and ".join(f"its `{key}`" for key in form)])
            for key in form:
                values += _flat(entry[key])
        else:
            values.append(entry)
    distinct = {repr(answer): answer for answer in values if not is_absent(answer)}
    return Answers([*distinct.values()], ", ".join(readings))


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _flat(entry)
    else:
        yield value


def expect(sample: Sample, reads: Callable[[Any], bool] = bool, needed: str = "") -> Expectation:
    """Return how a row's answers are read; each must be one that the metric `reads`, else `needed` is expected.

    An answer that is no number, boolean or text is never read.
    """
    value = sample.get("answer")
    answers = answers_of(value)
    if answers.unknown is not None:
        keys = ", ".join(map(str, answers.unknown))
        return Expectation(f"a mapping of {keys}; expected a text, or a mapping with `text` or `aliases`")
    if not answers.values:
        return Expectation(ABSENT)
    if needed and not all(map(reads, answers.values)):
        return Expectation(f"expected {needed}")
    return Expectation(readings=tuple(filter(None, [answers.reading])))


def expect_texts(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's answers are read by a metric that compares texts."""
    del options
    return expect(sample)


def is_solution(text: str) -> bool:
    """Return whether an answer is a solution, whose number is stated at its end, or in a box."""
    return "####" in text or "\n" in text.strip() or len(text) > _LONGEST or _BOX.search(text) is not None


def is_one_number(text: str) -> bool:
    """Return whether an answer is one number, with a unit perhaps: not several, nor an expression."""
    blanked = _POWER.sub(r"\1", _NUMERAL.sub("\0", text.replace("\\,", "").replace("\\!", "")))
    return blanked.count("\0") <= 1 and not _MORE.search(blanked)
