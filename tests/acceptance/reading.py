"""How each kind of composed reply is read: case in, what the rules make of it out."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from basic_control.data.numerals import parse_number
from basic_control.data.options import options_of
from basic_control.data.plugins import family, metrics
from basic_control.data.reading.ends import split_at_end
from basic_control.data.reading.numbers import NumberAnswer, read_number
from basic_control.data.records import Item
from basic_control.generators.data_extraction.entities import DATE, EMAIL, PHONE
from basic_control.metrics.citation.answers import parse_answer

Case = Mapping[str, Any]
Claim = tuple[str, list[int], list[str]]


def lines(name: str) -> list[dict[str, Any]]:
    """Return the cases of a file in `replies/`, one a line."""
    text = (Path(__file__).parent / "replies" / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def scored(name: str, case: Case, **sample: Any) -> bool:
    """Say whether a metric, with its default options, takes a case's reply for right."""
    unit = metrics()[name]
    row = {"response": case["reply"], "response_cut": case.get("finish") == "length", **sample}
    return unit.score(row, {}, options_of(unit, {})).value == 1


def verified(name: str, case: Case, answer: str, **facts: Any) -> bool:
    """Say whether a family takes a case's reply for right."""
    item = Item(prompt=case.get("prompt", ""), answer=answer, facts=facts, language=case["language"])
    return family(name).verify(item, case["reply"]).correct is True


def read(case: Case) -> NumberAnswer | None:
    """Read the final number of a worked reply; None if it gives none, or no single one."""
    cut, language = case["finish"] == "length", case["language"]
    answer = read_number(case["reply"], case["question"], language=language, cut=cut).answer
    return None if answer is None or answer.value is None else answer


def clean(case: Case) -> str:
    """Take off what a server leaked."""
    return split_at_end(case["reply"])[0].rstrip()


def listed(case: Case) -> list[Claim]:
    """Cut a cited answer into claims, each with its passages or its URLs."""
    found = parse_answer(case["reply"], case["n_passages"])
    claims: list[Claim] = [(" ".join(one.text.split()).rstrip(".。"), [], []) for one in found.sentences]
    for one in found.citations:
        _, passages, urls = claims[one.sentence]
        if case["mode"] == "closed_book":
            urls.append(found.sources[one.number].url)
        else:
            passages.append(one.number)
    return [(text, sorted(set(passages)), urls) for text, passages, urls in claims]


def _answer(case: Case) -> bool:
    found = read(case)
    return found is not None and found.value == parse_number(case["expected"])


def _summary(case: Case) -> bool:
    key = case["sentences"].index(case["key"])
    roles = ["key" if place == key else "detail" for place in range(len(case["sentences"]))]
    return verified("summarization", case, case["key"], sentences=case["sentences"], roles=roles, key=key)


def _entities(case: Case) -> bool:
    text = case["text"]
    written = [
        found[0] for each in (EMAIL, DATE, PHONE) for found in re.finditer(each.pattern, text, re.IGNORECASE)
    ]
    about = {"region": case["region"], "language": case["language"], "text": text}
    return verified("data_extraction", case, "", **case["expected"], **about, written=written, distractors={})


DECIDED: Mapping[str, Callable[[Case], bool]] = {
    "answers": _answer,
    "number": lambda case: scored("number", case, question=case["question"], answer=case["expected"]),
    "choice": lambda case: scored("choice", case, answer=case["answer"], options=case["options"]),
    "contains": lambda case: scored("contains", case, answer=case["text"]),
    "exact_match": lambda case: scored("exact_match", case, answer=case["answer"]),
    "logic": lambda case: verified("simple_logic", case, case["expected"], names=case["names"]),
    "summarization": _summary,
    "extraction": _entities,
    "instructions": lambda case: verified("instructions", case, case["expected"], text="", commands=()),
}
