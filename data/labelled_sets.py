"""Public human-labelled sets as questions to judges: the step each examines, and how its labels are read.

A set's labels are often coarser than a step's verdicts: verdicts that it does not distinguish are folded into one,
and any of them is right. Rows whose label is irrelevant to the step are left out.

Source: WiCE (Kamoi et al. 2023), BEGIN (Dziri et al. 2022), LLMBar (Zeng et al. 2024), LiDiRus with people's votes
(Shavrina et al. 2020).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.commands import format_command
from basic_control.data.errors import InputError
from basic_control.data.exam import exam_item
from basic_control.data.files import Row, read_file_rows, read_tsv
from basic_control.data.public_sets import GROUPS, local_path
from basic_control.data.records import Item

Question = tuple[str, Any, Sequence[Mapping[str, Any]]]
"""A kind, the truth, and the values of each of its questions."""
_NOT = "not SUPPORTED"
_LESS = "less than 2"
_ENTAILED = {"1": "SUPPORTED"}
_NOT_ENTAILED = {"1": _NOT}


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set: `domain` in words, the judged step by its exam's name, the labels it distinguishes, best first.

    `folded` maps verdicts to their common label.
    """

    domain: str
    exam: str
    language: str
    labels: tuple[str, ...]
    read: Callable[[Path], Iterator[Question]]
    folded: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def _name_row(path: Path, number: int) -> Iterator[None]:
    """Name the row that is not as published: the file was replaced after `fetch` checked its hash."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}, row {number}: not as published ({type(error).__name__}: {error}). Delete the file and fetch "
            "it again."
        ) from error


def read_wice(path: Path) -> Iterator[Question]:
    """Yield a claim with each of its evidence sets; one supporting set is enough, as its authors define it."""
    truths = {"supported": _ENTAILED, "partially_supported": _NOT_ENTAILED, "not_supported": _NOT_ENTAILED}
    gathered: dict[str, list[Row]] = {}
    for number, row in enumerate(read_file_rows(path), 1):
        with _name_row(path, number):
            claim = _build_claim(row["claim"], "\n".join(row["evidence"]))
            question = {"label": row["label"], "truth": truths[row["label"]], "claim": claim}
            gathered.setdefault(str(row["meta"]["id"]), []).append(question)
    # Any right verdict about one evidence set of a claim counts for the claim: they are one question.
    for questions in gathered.values():
        yield questions[0]["label"], questions[0]["truth"], [question["claim"] for question in questions]


def read_begin(path: Path) -> Iterator[Question]:
    """Yield a response with its source; generic responses, which state nothing, are left out."""
    truths = {"Fully attributable": "2", "Not fully attributable": _LESS, "Generic": ""}
    for number, row in enumerate(read_tsv(path), 1):
        with _name_row(path, number):
            label, response, source = row["begin_label"], row["response"], row["knowledge"]
            truth = truths[label]
            if truth:
                yield label, truth, [{"question": row["message"], "response": response, "contexts": [source]}]


def read_llmbar(path: Path) -> Iterator[Question]:
    """Yield an instruction with two outputs, in both orders; the first output is the response."""
    truths = {"1": "better", "2": "worse"}
    for number, row in enumerate(read_file_rows(path), 1):
        with _name_row(path, number):
            first, second = make_storable(row["output_1"]), make_storable(row["output_2"])
            shared = {"question": make_storable(row["input"]), "reference": "", "criteria": ""}
            orders = [{**shared, "first": first, "second": second}, {**shared, "first": second, "second": first}]
            yield path.stem, truths[str(row["label"])], orders


def read_lidirus(path: Path) -> Iterator[Question]:
    """Yield a pair of sentences with the majority's label; pairs with a draw are left out."""
    worth = {"entailment": 1, "not_entailment": -1}
    votes: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(read_file_rows(path), 1):
        with _name_row(path, number):
            votes[row["INPUT:sent1"], row["INPUT:sent2"]] += worth[row["OUTPUT:result"]]
    # The data set has a row for each vote.
    for (text, claim), balance in votes.items():
        if balance:
            label, truth = ("entailment", _ENTAILED) if balance > 0 else ("not_entailment", _NOT_ENTAILED)
            yield label, truth, [_build_claim(claim, text)]


def _build_claim(claim: str, source: str) -> dict[str, Any]:
    return {"claims": [{"id": "1", "text": make_storable(claim)}], "source": make_storable(source)}


def _build_claim_set(domain: str, language: str, read: Callable[[Path], Iterator[Question]]) -> LabelledSet:
    folded = {"CONTRADICTED": _NOT, "NEUTRAL": _NOT}
    return LabelledSet(domain, "entails", language, ("SUPPORTED", _NOT), read, folded)


SETS: Mapping[str, LabelledSet] = {
    "wice": _build_claim_set("sentences of Wikipedia against the web pages that they cite", "en", read_wice),
    "begin": LabelledSet(
        "replies of dialogue systems against a sentence of Wikipedia",
        "groundedness", "en", ("2", _LESS), read_begin, {"1": _LESS, "0": _LESS},
    ),
    "llmbar": LabelledSet(
        "instructions with two answers, most made to mislead a judge",
        "preference", "en", ("better", "tie", "worse"), read_llmbar,
    ),
    "lidirus": _build_claim_set("pairs of Russian sentences by linguistic phenomena", "ru", read_lidirus),
}  # fmt: skip
"""The sets by name."""


def list_set_files(name: str) -> list[Path]:
    """Return the paths of a set's files."""
    return [local_path(file) for file in GROUPS.get(name, (name,))]


def read_set(name: str) -> list[Item]:
    """Return a set's questions as items of an exam.

    Raises:
        InputError: it was not fetched, or a row is malformed.
    """
    labelled = SETS[name]
    items = []
    for path in list_set_files(name):
        if not path.is_file():
            raise InputError(
                f"data set {name!r} has not been fetched to {path}. Run: {format_command(f'fetch {name}')}"
            )
        for kind, truth, questions in labelled.read(path):
            step, language = labelled.exam, labelled.language
            items.append(exam_item(step, language, kind, truth, questions, source=name, folded=labelled.folded))
    return items
