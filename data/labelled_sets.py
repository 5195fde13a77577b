"""Public human-labelled sets as questions to judges: the step each examines, and how its labels are read.

A set's labels are often coarser than a step's verdicts: verdicts that it does not distinguish are folded into one,
and any of them is right. Rows whose label is irrelevant to the step are left out.

Source: WiCE (Kamoi et al. 2023), BEGIN (Dziri et al. 2022), LLMBar (Zeng et al. 2024), LiDiRus with people's votes
(Shavrina et al. 2020), ProcessBench (Zheng et al. 2025).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.characters import storable
from data.commands import typed
from data.errors import InputError
from data.exam import EXAM, FOLDED, KIND, QUESTIONS, TRUTH
from data.files import Row, plain_tsv, rows
from data.records import Item
from data.sources import GROUPS, SOURCES, local_path

Question = tuple[str, Any, Sequence[Mapping[str, Any]]]
"""A kind, the truth, and the values of each of its questions."""
_NOT = "not SUPPORTED"
_LESS = "less than 2"
_ENTAILED = {"1": "SUPPORTED"}
_NOT_ENTAILED = {"1": _NOT}


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """A set: `domain` in words, the judged step by its exam's name, the labels it distinguishes, best first.

    `folded` maps verdicts to their common label; `keys` name the questions of an item, in order.
    """

    domain: str
    exam: str
    language: str
    labels: tuple[str, ...]
    read: Callable[[Path], Iterator[Question]]
    folded: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[str, ...] = ()


def read_wice(path: Path) -> Iterator[Question]:
    """Yield a claim with each of its evidence sets; one supporting set is enough, as its authors define it."""
    gathered: dict[str, list[Row]] = {}
    for number, row in enumerate(rows(path), 1):
        where = f"{path}, row {number}"
        meta, evidence = row.get("meta"), row.get("evidence")
        if not isinstance(meta, Mapping) or not isinstance(evidence, list):
            raise InputError(f"{where}: expected label, claim, evidence (a list of texts) and meta with an id.")
        told = {"claim": _text(row, "claim", where), "source": "\n".join(map(str, evidence))}
        label = _one_of(row, "label", ("supported", "partially_supported", "not_supported"), where)
        gathered.setdefault(str(meta.get("id", number)), []).append({**told, "label": label})
    for listed in gathered.values():
        label = str(listed[0]["label"])
        yield (
            label,
            _ENTAILED if label == "supported" else _NOT_ENTAILED,
            [_claim(row["claim"], row["source"]) for row in listed],
        )


def read_begin(path: Path) -> Iterator[Question]:
    """Yield a response with its source; generic responses, which state nothing, are left out."""
    for number, row in enumerate(plain_tsv(path), 2):
        where = f"{path}, line {number}"
        label = _one_of(row, "begin_label", ("Fully attributable", "Not fully attributable", "Generic"), where)
        if label != "Generic":
            told = {"response": _text(row, "response", where), "contexts": [_text(row, "knowledge", where)]}
            truth = "2" if label.startswith("Fully") else _LESS
            yield label, truth, [{"question": str(row["message"]), **told}]


def read_llmbar(path: Path) -> Iterator[Question]:
    """Yield an instruction with two outputs, in both orders; the first output is the response."""
    for number, row in enumerate(rows(path), 1):
        where = f"{path}, entry {number}"
        one, other = _text(row, "output_1", where), _text(row, "output_2", where)
        label = _one_of({"label": str(row.get("label"))}, "label", ("1", "2"), where)
        shared = {"question": _text(row, "input", where), "reference": "", "criteria": ""}
        orders = [{**shared, "first": one, "second": other}, {**shared, "first": other, "second": one}]
        yield path.stem, "better" if label == "1" else "worse", orders


def read_lidirus(path: Path) -> Iterator[Question]:
    """Yield a pair of sentences with the majority's label; pairs with a draw are left out."""
    votes: dict[tuple[str, str], Counter[str]] = {}
    for number, row in enumerate(rows(path), 1):
        where = f"{path}, row {number}"
        pair = _text(row, "INPUT:sent1", where), _text(row, "INPUT:sent2", where)
        label = _one_of(row, "OUTPUT:result", ("entailment", "not_entailment"), where)
        votes.setdefault(pair, Counter())[label] += 1
    for (text, claim), said in votes.items():
        if said["entailment"] != said["not_entailment"]:
            label = said.most_common(1)[0][0]
            yield label, _ENTAILED if label == "entailment" else _NOT_ENTAILED, [_claim(claim, text)]


def read_processbench(path: Path) -> Iterator[Question]:
    """Yield a problem with a solution in steps, and whether people found a wrong one; there is no reference.

    The file's hash is not known; it is checked by having all of its rows, each with the id of its place.
    """
    listed, most = [*rows(path)], SOURCES[path.stem].rows
    if len(listed) != most:
        raise InputError(f"{path}: found {len(listed)} rows, expected {most}: not the file as it was published.")
    for number, row in enumerate(listed):
        where = f"{path}, entry {number + 1}"
        expected = f"{path.stem.partition('_')[2]}-{number}"
        if row.get("id") != expected:
            raise InputError(f"{where}: found id {row.get('id')!r}, expected {expected!r}.")
        steps, label = row.get("steps"), row.get("label")
        if not isinstance(steps, list) or not steps or not all(isinstance(one, str) for one in steps):
            raise InputError(f"{where}: expected steps, a list of texts.")
        if isinstance(label, bool) or not isinstance(label, int) or not -1 <= label < len(steps):
            raise InputError(f"{where}: found label {label!r}, expected a step's place from 0, or -1.")
        values = {"question": _text(row, "problem", where), "reference": "", "steps": steps}
        yield "right" if label < 0 else "wrong", "none" if label < 0 else "wrong", [values]


def _claim(claim: str, source: str) -> dict[str, Any]:
    return {"claims": [{"id": "1", "text": claim}], "source": source}


def _text(row: Row, name: str, where: str) -> str:
    found = row.get(name)
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{where}: found no text in {name}; expected the file as it was published.")
    return storable(found)


def _one_of(row: Row, name: str, known: Sequence[str], where: str) -> str:
    found = row.get(name)
    if found not in known:
        raise InputError(f"{where}: found {name} {found!r}, expected one of {', '.join(known)}.")
    return str(found)


def _of_claims(domain: str, language: str, read: Callable[[Path], Iterator[Question]]) -> LabelledSet:
    folded = {"CONTRADICTED": _NOT, "NEUTRAL": _NOT}
    return LabelledSet(domain, "entails", language, ("SUPPORTED", _NOT), read, folded)


SETS: Mapping[str, LabelledSet] = {
    "wice": _of_claims("sentences of Wikipedia against the web pages that they cite", "en", read_wice),
    "begin": LabelledSet(
        "replies of dialogue systems against a sentence of Wikipedia",
        "groundedness", "en", ("2", _LESS), read_begin, {"1": _LESS, "0": _LESS},
    ),
    "llmbar": LabelledSet(
        "instructions with two answers, most made to mislead a judge",
        "preference", "en", ("better", "tie", "worse"), read_llmbar, keys=("ab", "ba"),
    ),
    "processbench": LabelledSet(
        "solutions of grade-school problems by models, with the first wrong step that people found",
        "chain", "en", ("none", "wrong"), read_processbench,
    ),
    "lidirus": _of_claims("pairs of Russian sentences by linguistic phenomena", "ru", read_lidirus),
}  # fmt: skip
"""The sets by name."""


def files_of(name: str) -> list[Path]:
    """Return the paths of a set's files."""
    return [local_path(one) for one in GROUPS.get(name, (name,))]


def read_set(name: str) -> list[Item]:
    """Return a set's questions as items of an exam.

    Raises:
        InputError: it was not fetched, or a row is malformed.
    """
    told = SETS[name]
    found = []
    for path in files_of(name):
        if not path.is_file():
            raise InputError(f"data set {name!r} has not been fetched to {path}. Run: {typed(f'fetch {name}')}")
        found += [_item(name, told, *question) for question in told.read(path)]
    return found


def _item(name: str, told: LabelledSet, kind: str, truth: Any, listed: Sequence[Mapping[str, Any]]) -> Item:
    """Make an item; its prompt, for people, is the questions' texts."""
    keys = told.keys or map(str, range(1, len(listed) + 1))
    questions = [{"key": key, "values": dict(values)} for key, values in zip(keys, listed, strict=True)]
    facts = {EXAM: told.exam, QUESTIONS: questions, TRUTH: truth, KIND: kind, "response": ""}
    facts[FOLDED] = dict(told.folded)
    texts = [text for values in listed for text in _texts(values)]
    answer = truth if isinstance(truth, str) else truth["1"]
    return Item("\n\n".join(dict.fromkeys(texts)), answer, facts, kind, family=name, language=told.language)


def _texts(value: Any) -> Iterator[str]:
    if not isinstance(value, str):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)
    elif len(value) > 1:
        yield value
