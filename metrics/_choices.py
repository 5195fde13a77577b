"""The options of a row, and which of them its expected answer names."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any, NamedTuple

from basic_control.data.characters import shorten
from basic_control.data.notations import parse_cell
from basic_control.data.records import Expectation, Sample
from basic_control.data.tools import parse_json
from basic_control.data.values import write_value
from basic_control.metrics._expected import ABSENT, answers_of, is_absent
from basic_control.metrics._replies import fold

BARE = "ABCDEFGHIJ"
"""The letters that are looked for where a row does not list its options."""
# The letter before an option's text: of "B) blue", "(B) blue", "B. blue"
_LEAD = re.compile(r"\(?([^\W_]{1,3})[).:](?:\s+|$)")
# A whole number: "1", "1.0"
_WHOLE = re.compile(r"[-+]?[0-9]{1,6}(?:\.0{1,6})?")
_LABELS, _TEXTS = ("label", "key"), ("text", "value")
"""Keys of options that are mappings: {"key": "A", "value": "red"}."""
_OPENERS = ("['", '["', "[{", "{'", '{"')
ENTRY = 40
"""Characters of a cell that cannot be read which a message shows."""
ENTRIES = 2
FLAGS = (0, 1)


class Offer(NamedTuple):
    """The options of a row: `texts` by label, '' if only labels are known; `reading` names the form of the cell.

    `is_labelled`: the labels come with the row.
    """

    texts: dict[str, str]
    reading: str = ""
    is_labelled: bool = False
    problem: str = ""


class Naming(NamedTuple):
    """The labels that an expected answer names, and how; or what is wrong. `index` is the index that it is.

    `is_doubtful`: a whole number is read as a text, where others of its column are indices.
    """

    labels: frozenset[str] = frozenset()
    reading: str = ""
    problem: str = ""
    index: int | None = None
    is_doubtful: bool = False


def offer_of(sample: Sample, options: Mapping[str, Any]) -> Offer:
    """Return the options of a row in any known form."""
    columns = options["texts"]
    if not isinstance(columns, str):
        return _offer_list([*map(sample.get, columns)], options)
    cell = parse_cell(sample.get(columns))
    if isinstance(cell, Mapping):
        return _offer_mapping(cell, options)
    if isinstance(cell, str):
        return _offer_text(cell, options)
    if isinstance(cell, Sequence) and cell:
        entries = [entry for entry in cell if isinstance(entry, Mapping)]
        if len(entries) == len(cell):
            return _offer_entries(entries, options)
        return _offer_list(cell, options)
    return Offer(dict.fromkeys(options["letters"] or BARE, ""))


def _offer_text(text: str, options: Mapping[str, Any]) -> Offer:
    """Return the options of lines that each begin with a letter; any other text has none."""
    if text.strip().startswith(_OPENERS):
        return Offer({}, problem=f"{shorten(text.strip(), ENTRY)}, which begins as a list and is none")
    lines = [*filter(None, map(str.strip, text.splitlines()))]
    if len(lines) < ENTRIES or not all(map(_LEAD.match, lines)):
        return Offer(dict.fromkeys(options["letters"] or BARE, ""))
    return _offer_list(lines, options)


def _read_text(value: Any) -> str:
    if value is None:
        return ""
    return fold(write_value(value))


def _read_label(value: Any) -> str:
    label = fold(write_value(value)).strip("().: ")
    return label.upper() if len(label) == 1 else label


def _offer_list(texts: Sequence[Any], options: Mapping[str, Any]) -> Offer:
    """Return the options of a list, with letters in order; letters that the texts begin with are taken off."""
    letters = options["letters"] or "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if len(texts) > len(letters):
        return Offer({}, problem=f"{len(texts)} options; expected at most {len(letters)}, or labels beside them")
    wordings = [*map(_read_text, texts)]
    leads = [*filter(None, map(_LEAD.match, wordings))]
    if [lead[1].upper() for lead in leads] == [*letters[: len(texts)]]:
        wordings = [wording[lead.end() :] for wording, lead in zip(wordings, leads, strict=True)]
    return Offer(dict(zip(letters, wordings, strict=False)))


def _offer_mapping(cell: Mapping[str, Any], options: Mapping[str, Any]) -> Offer:
    """Return the options of a mapping: of lists side by side, else of labels with texts."""
    for texts, labels in (("text", "label"), ("choices", "labels")):
        if isinstance(cell.get(texts), list | tuple) and isinstance(cell.get(labels), list | tuple):
            reading = f"options from its `{texts}` and `{labels}`"
            if len(cell[texts]) != len(cell[labels]):
                return Offer({}, problem=f"{len(cell[texts])} texts and {len(cell[labels])} labels")
            # Labels that are flags say which option is right, and name none.
            if all(map(_is_flag, cell[labels])):
                return _offer_list(cell[texts], options)._replace(reading=reading)
            pairs = zip(map(_read_label, cell[labels]), map(_read_text, cell[texts]), strict=True)
            return Offer(dict(pairs), reading, is_labelled=True)
    texts_by_label = dict(zip(map(_read_label, cell), map(_read_text, cell.values()), strict=True))
    return Offer(texts_by_label, is_labelled=True)


def _is_flag(value: Any) -> bool:
    return value in FLAGS and not isinstance(value, str)


def _offer_entries(entries: Sequence[Mapping[str, Any]], options: Mapping[str, Any]) -> Offer:
    """Return the options of a list of mappings, each with a text and perhaps a label."""
    first = entries[0]
    label = next(filter(first.__contains__, _LABELS), "")
    text = next(filter(first.__contains__, _TEXTS), "")
    if not text:
        return Offer({}, problem=f"options are mappings of {', '.join(map(str, first))}; expected a text in each")
    if not label:
        return _offer_list([entry.get(text) for entry in entries], options)._replace(
            reading=f"options from `{text}`"
        )
    texts_by_label = {_read_label(entry.get(label)): _read_text(entry.get(text)) for entry in entries}
    return Offer(texts_by_label, f"options from `{label}` and `{text}`", is_labelled=True)


def _read_flags(answer: Any, offer: Offer) -> Naming | None:
    """Return the options that a mapping or a list of one flag for each option marks; None if it is neither."""
    flags = answer.get("labels") if isinstance(answer, Mapping) else answer
    is_marked = (
        isinstance(flags, list | tuple)
        and len(flags) == len(offer.texts) > ENTRIES - 1
        and any(offer.texts.values())
    )
    if not is_marked or not all(map(_is_flag, flags)):
        return None
    return Naming(frozenset(compress(offer.texts, flags)), "the options marked 1")


def _read_naming(answer: Any, offer: Offer, options: Mapping[str, Any]) -> Naming:
    """Return the options that one value names: a given label, an option's text, a letter, an index.

    Where the column's indices have a base, a whole number among them is an index, whatever the options' texts.
    """
    text = fold(write_value(answer))
    labels = {label.upper(): label for label in offer.texts}
    label = labels.get(text.strip("().: ").upper())
    # Digits among `letters` are labels that the suite gives.
    if label and (offer.is_labelled or not label.isalpha()):
        return Naming(frozenset([label]), "" if label.isalpha() else "a given label")
    number, base = _read_whole(answer), options.get("index")
    index = Naming()
    if number is not None:
        index = _read_index(number, offer, base)
    if index.labels:
        return index
    naming = _read_words(text, label, offer)
    if number is not None and not naming.labels:
        return index
    return naming._replace(is_doubtful=None not in {number, base})


def _read_words(text: str, label: str | None, offer: Offer) -> Naming:
    """Return the options that a text names, which is no label of the row's: an option's text, or a letter."""
    # A text comes before a letter that the loader gave: an option may be "A".
    wording = text.casefold()
    matching = frozenset(key for key, option in offer.texts.items() if option and option.casefold() == wording)
    if matching:
        return Naming(matching, "an option's text")
    if label and not offer.is_labelled:
        return Naming(frozenset([label]))
    lead = _LEAD.match(text)
    if lead:
        named_label = {letter.upper(): letter for letter in offer.texts}.get(lead[1].upper())
        if named_label is not None and _agrees(text[lead.end() :], offer.texts[named_label]):
            return Naming(frozenset([named_label]), "a letter with its text")
    return Naming(problem=f"expected one of its options ({_range(offer)}), by label, text, letter or index")


def _read_whole(answer: Any) -> int | None:
    """Return the whole number that a value is; None if it is none."""
    text = fold(write_value(answer))
    if isinstance(answer, bool) or not _WHOLE.fullmatch(text):
        return None
    return int(float(text))


def _agrees(text: str, option: str) -> bool:
    return not option or text.strip().casefold() == option.casefold()


def _range(offer: Offer) -> str:
    first, *_, last = [*offer.texts, ""][: len(offer.texts)] or ["", ""]
    return f"{first} to {last}"


def _read_index(index: int, offer: Offer, base: int | None) -> Naming:
    if base is None:
        return Naming(
            problem="an index, from 0 or from 1? Set `index: 0` or `index: 1` in the options of choice", index=index
        )
    if not base <= index < base + len(offer.texts):
        return Naming(problem=f"expected an index from {base} to {base + len(offer.texts) - 1}", index=index)
    return Naming(frozenset([[*offer.texts][index - base]]), f"an index from {base}", index=index)


def find_right_options(sample: Sample, offer: Offer, options: Mapping[str, Any]) -> Naming:
    """Return the labels of a row's right options; of several values that it lists, each must name one."""
    answer = sample.get("answer")
    if offer.problem:
        return Naming(problem=offer.problem)
    marked = _read_flags(parse_json(answer), offer)
    if marked:
        return marked
    answers = answers_of(answer)
    if answers.unknown is not None:
        return Naming(problem=f"a mapping of {', '.join(map(str, answers.unknown))}; expected the right option")
    if is_absent(answer) or not answers.values:
        return Naming(problem=ABSENT)
    namings = [_read_naming(value, offer, options) for value in answers.values]
    problem = next(filter(None, map(attrgetter("problem"), namings)), "")
    reading = next(filter(None, map(attrgetter("reading"), namings)), "")
    labels = frozenset[str]()
    if not problem:
        labels = labels.union(*map(attrgetter("labels"), namings))
    is_doubtful = any(naming.is_doubtful for naming in namings)
    return Naming(labels, reading, problem, namings[0].index, is_doubtful)


def expects(sample: Sample, options: Mapping[str, Any]) -> Expectation:
    """Return how a row's right option is read, and from which form its options."""
    offer = offer_of(sample, options)
    naming = find_right_options(sample, offer, options)
    readings = tuple(filter(None, [naming.reading, offer.reading]))
    return Expectation(naming.problem, readings, is_doubtful=naming.is_doubtful)


def completes(samples: Iterable[Sample], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the options with the base of indices: 0 if one of the column is 0, 1 if one is the number of options.

    A column has one reading: if all its whole numbers can be indices, and some can be nothing else, they are. If
    only some can be, and one of these is the text of another option as well, nothing says which it is.

    Source: SPEC 8.
    """
    if options.get("index") is not None:
        return options
    numbers = list[_Number]()
    for sample in samples:
        numbers += _list_numbers(sample, options)
    indices = [*filter(attrgetter("is_index"), numbers)]
    if not indices:
        return options
    base = _find_base(numbers)
    if base is None or not all(number.fits(base) for number in numbers):
        base = _find_base(indices)
        if base is None or any(number.is_another(base) for number in numbers):
            return options
    return {**options, "index": base}


class _Number(NamedTuple):
    """A whole number that is expected: of which row's options, and whether it names none of them by text."""

    value: int
    offer: Offer
    naming: Naming

    @property
    def is_index(self) -> bool:
        return self.naming.index is not None

    @property
    def is_end(self) -> bool:
        """Whether it is the number of options, which no index from 0 is."""
        return self.value == len(self.offer.texts) and any(self.offer.texts.values())

    def fits(self, base: int) -> bool:
        """Return whether it can be an index from a base."""
        return base <= self.value < base + len(self.offer.texts)

    def is_another(self, base: int) -> bool:
        """Return whether it names another option as an index than by its text."""
        if self.is_index or not self.fits(base):
            return False
        return [*self.offer.texts][self.value - base] not in self.naming.labels


def _list_numbers(sample: Sample, options: Mapping[str, Any]) -> Iterator[_Number]:
    """Yield the whole numbers of a row's expected answer that are no label of its options."""
    offer, answer = offer_of(sample, options), sample.get("answer")
    if offer.problem or is_absent(answer) or _read_flags(parse_json(answer), offer):
        return
    for value in answers_of(answer).values:
        number, naming = _read_whole(value), _read_naming(value, offer, options)
        if number is not None and (naming.index is not None or not offer.is_labelled):
            yield _Number(number, offer, naming)


def _find_base(numbers: Sequence[_Number]) -> int | None:
    """Return from where indices count: from 0 if one is 0, from 1 if one is the number of options; else None."""
    if any(number.value == 0 for number in numbers):
        return 0
    if any(number.is_end for number in numbers):
        return 1
    return None
