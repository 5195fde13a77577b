"""Load: sample a data set and make its rows items, in batches."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from config.settings import Sampling, Store
from data import gsm8k, nq, rag
from data.draw import canonical, content_id
from data.errors import InputError
from data.records import Ref
from data.sampling import choose
from data.sources import locate
from data.tables import ITEMS, REQUESTS, RESPONSES
from prompts import render
from tasks.place import open_store
from tasks.query import Asked
from tasks.stage import stage


def digest_of(source: str, shipped: Path) -> str:
    """Return the SHA-256 of a data file, so that a changed file is loaded anew; '' where there is none."""
    try:
        path = shipped if source == "sample" else locate(source)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, InputError):
        return ""  # the loader says what is wrong with it


def name_of(source: str) -> str:
    """Return a data set's name for the column `family`."""
    return source if source == "sample" else Path(source).name.partition(".")[0]


def item(suite: str, source: str, row: Mapping[str, Any], number: int, **values: Any) -> dict[str, Any]:
    """Return a row of the items table for a row of a data set; `values` give prompt, answer and facts."""
    facts = canonical(values["facts"])
    return {
        "item_id": content_id(suite, row["language"], values["prompt"], values["answer"], facts),
        "suite": suite,
        "family": name_of(source),
        "version": 1,
        "level": "",
        "language": row["language"],
        "template": values.get("template", ""),
        "seed": 0,
        "index": number,
        "prompt": values["prompt"],
        "answer": values["answer"],
        "facts": facts,
    }


def _chosen(frame: pl.DataFrame, method: Sampling, n: int, seed: int) -> Iterator[tuple[int, dict[str, Any]]]:
    for number in choose(frame.height, method=method, n=n, seed=seed):
        yield number, frame.row(number, named=True)


def cot_items(source: str, *, language: str, method: Sampling, n: int, seed: int) -> list[dict[str, Any]]:
    """Return the items of the cot suite: word problems, to be solved step by step."""
    frame = gsm8k.load(source, language=language)
    listed = []
    for number, row in _chosen(frame, method, n, seed):
        prompt = render("cot/task", row["language"], question=row["question"])
        facts = {"question": row["question"], "reference": row["reference"]}
        values = {"prompt": prompt, "answer": row["answer"], "facts": facts, "template": row["template"]}
        listed.append(item("cot", source, row, number, **values))
    return listed


def citation_items(
    source: str, *, language: str, mode: str, method: Sampling, n: int, seed: int
) -> list[dict[str, Any]]:
    """Return the items of the citation suite: a question, with numbered passages in mode `passages`."""
    there = source if source == "sample" else locate(source)
    frame = nq.load(there, language=language, passages=mode == "passages")
    listed = []
    for number, row in _chosen(frame, method, n, seed):
        passages = row["passages"] if mode == "passages" else []
        prompt = render(f"citation/{mode}", row["language"], question=row["question"], passages=passages)
        facts = {
            "question": row["question"],
            "passages": passages,
            "short_answers": row["short_answers"],
            "long_answer": row["long_answer"],
            "gold_number": row["gold_number"],
        }
        answer = "; ".join(row["short_answers"] or []) or row["long_answer"] or ""
        listed.append(item("citation", source, row, number, prompt=prompt, answer=answer, facts=facts))
    return listed


def rag_items(
    source: str, *, language: str, required: tuple[str, ...], method: Sampling, n: int, seed: int
) -> list[dict[str, Any]]:
    """Return the items of the rag suite; a row's own response, if it has one, is among its facts."""
    frame = rag.load(source, language=language, required=required)
    listed = []
    for number, row in _chosen(frame, method, n, seed):
        contexts = row["retrieved_contexts"] or []
        prompt = render("rag/answer", row["language"], question=row["question"], contexts=contexts)
        names = ("question", "response", "reference", "retrieved_contexts")
        facts = {name: row[name] for name in names}
        listed.append(item("rag", source, row, number, prompt=prompt, answer=row["reference"] or "", facts=facts))
    return listed


def holds_responses(source: str) -> bool:
    """Say whether a rag data set holds responses, so that no model is asked.

    Raises:
        InputError: the file cannot be read, or holds responses in some rows only.
    """
    if source == "sample":
        return False
    frame = rag.load(source, required=("question",))
    there = frame["response"].is_not_null().sum()
    if 0 < there < frame.height:
        raise InputError(
            f"{source}: found a response in {there} of {frame.height} rows, expected one in all or in none. "
            "Fill the others (an empty text is a response), or drop the column to have the models asked."
        )
    return there > 0


def _write(store: Store, rows: list[dict[str, Any]], batch_size: int) -> list[Ref]:
    """Store items in batches; a question that a data set holds twice is asked once."""
    place = open_store(store)
    frame = ITEMS.frame(rows).unique("item_id", maintain_order=True)
    return [
        place.write(ITEMS, frame.slice(start, batch_size)) for start in range(0, max(1, frame.height), batch_size)
    ]


@stage(version=1)
def load_cot(
    store: Store, *, source: str, digest: str, language: str, sampling: Mapping[str, Any], batch_size: int
) -> list[Ref]:
    """Sample word problems."""
    del digest  # part of the stage's key
    return _write(store, cot_items(source, language=language, **sampling), batch_size)


@stage(version=1)
def load_citation(
    store: Store,
    *,
    source: str,
    digest: str,
    mode: str,
    language: str,
    sampling: Mapping[str, Any],
    batch_size: int,
) -> list[Ref]:
    """Sample questions to be answered with citations."""
    del digest  # part of the stage's key
    rows = citation_items(source, language=language, mode=mode, **sampling)
    return _write(store, rows, batch_size)


@stage(version=1)
def load_rag(
    store: Store,
    *,
    source: str,
    digest: str,
    language: str,
    required: tuple[str, ...],
    sampling: Mapping[str, Any],
    batch_size: int,
) -> list[Ref]:
    """Sample questions with references and contexts."""
    del digest  # part of the stage's key
    rows = rag_items(source, language=language, required=required, **sampling)
    return _write(store, rows, batch_size)


@stage(version=1)
def given(store: Store, items: Ref, *, model: str) -> Asked:
    """Take the responses that a data set holds, as if `model` had been asked: no call is made or counted."""
    place = open_store(store)
    rows = list(place.read(items).select("item_id", "facts").iter_rows())
    requests = REQUESTS.frame(
        {
            "request_id": content_id("given", model, item_id),
            "item_id": item_id,
            "model": model,
            "step": "given",
            "key": "",
            "repeat": 0,
            "payload": "{}",
        }
        for item_id, _ in rows
    )
    responses = RESPONSES.frame(
        {"request_id": content_id("given", model, item_id), "text": json.loads(facts)["response"], "cached": True}
        for item_id, facts in rows
    )
    refs = place.write(REQUESTS, requests), place.write(RESPONSES, responses)
    return Asked(*refs, total=0, cached=0, answered=0, failed=0, tokens_in=0, tokens_out=0, span_s=0.0)
