"""Factual correctness: claim-by-claim comparison with a reference answer: precision, recall and F1."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from basic_control.data.decorators import metric
from basic_control.data.json_reply import read_object
from basic_control.data.options import Frozen
from basic_control.data.records import Found, Measured, Question, Room, Sample, Score, Step, Unparsable
from basic_control.data.sentences import list_sentences
from basic_control.data.shown import read_shown
from basic_control.data.typed import Typed, object_schema
from basic_control.metrics._long_texts import divide, is_short
from basic_control.metrics._replies import row_question
from basic_control.metrics._reply_bounds import limit_reply, reason_length, widen
from basic_control.metrics.judging import reason_of, unify_label

WORTH = {"SUPPORTED": 1.0, "CONTRADICTED": 0.0, "NEUTRAL": 0.0}
VERDICTS = tuple(WORTH)
NO_RATES: Mapping[str, None] = {"contradiction_rate": None, "neutral_rate": None}
"""Parts of a score without verdicts."""
ENTAILS = Typed("choice", "verdict", WORTH, entries="claims")

SENTENCES = "sentences"
MOST_CLAIMS = 200
"""Maximum number of claims of one text; a judge that writes more has lost track."""

_SPLIT_SCHEMA = object_schema(claims={"type": "array", "items": {"type": "string"}})
_PART = "claims/part"
_REASON = 20
"""Characters that a verdict's reason needs at least; verdicts without room for it are asked for in parts."""


def _text(sample: Sample, side: str) -> str:
    return str(sample.get(side) or "").strip()


_MODES = {"response": {"f1", "precision"}, "reference": {"f1", "recall"}}
"""The modes in which each side is split into claims."""


def _splits(mode: str, side: str) -> bool:
    return mode in _MODES[side]


def sides(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Return questions to split the sides that the mode needs; empty texts are skipped.

    Without a reference there are none: the metric is not applicable.
    """
    if not _text(sample, "reference"):
        return
    for side in ("response", "reference"):
        if _splits(options["mode"], side) and _text(sample, side):
            yield Question(side, {"text": _text(sample, side), "question": row_question(sample)})


def divide_text(question: Question, room: Room, language: str) -> Sequence[Question]:
    """Return the questions that split a text: one if a reply has room for all its claims, else one for each part.

    Each has the whole text, so that pronouns can be understood.
    """
    text = question.values["text"]
    claims = limit_reply(_SPLIT_SCHEMA, room.tokens, language)["properties"]["claims"]
    if is_short(text, claims["maxItems"], claims["items"]["maxLength"], language):
        return [question]
    passages = divide(text, room.tokens, language)
    wide = widen(_SPLIT_SCHEMA)
    if len(passages) == 1:
        return [replace(question, schema=wide)]
    return [
        Question(
            f"{question.key} {number}",
            {**question.values, "part": passage.text, "first": passage.first, "last": passage.last},
            prompt=_PART,
            schema=wide,
        )
        for number, passage in enumerate(passages, 1)
    ]


def divide_claims(question: Question, room: Room, language: str) -> Sequence[Question]:
    """Return the questions about claims: several with the same source if a reply has no room for all verdicts."""
    claims = question.values["claims"]
    size = len(claims)
    # As many as leave a reason its room; then in parts of about the same size.
    while size > 1 and _reason_length(_about(question, claims[:size]), room, language) < _REASON:
        size -= 1
    n_parts = math.ceil(len(claims) / size)
    if n_parts == 1:
        return [question]
    size = math.ceil(len(claims) / n_parts)
    starts = range(0, len(claims), size)
    return [
        replace(_about(question, claims[start : start + size]), key=f"{question.key} {number}")
        for number, start in enumerate(starts, 1)
    ]


def _reason_length(question: Question, room: Room, language: str) -> int:
    return reason_length(ENTAILS.schema(question.values), room.tokens, language)


def _about(question: Question, claims: Sequence[Mapping[str, str]]) -> Question:
    """Return a question about some of its claims."""
    return replace(question, values={**question.values, "claims": claims})


def read_claims(question: Question, text: str) -> list[str]:
    """Read `{"claims": […]}`: texts, none of them empty; an empty list is valid."""
    claims = read_object(text, "claims")["claims"]
    if not isinstance(claims, list) or not all(map(_is_claim, claims)):
        raise Unparsable('"claims" must be a list of texts, each with words in it')
    if len(claims) > MOST_CLAIMS:
        raise Unparsable(f'"claims" has {len(claims)} entries; expected at most {MOST_CLAIMS}')
    return [*map(str.strip, claims)]


def _is_claim(value: object) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value))


def _parts_of(replies: Mapping[str, Any], side: str) -> list[Any]:
    """Return the replies about a side, in the order of its parts, such as `response 2`; the side itself is one."""
    by_number: dict[int, Any] = {}
    for key, reply in replies.items():
        name, _, number = key.partition(" ")
        if name == side:
            by_number[int(number or 0)] = reply
    return [by_number[number] for number in sorted(by_number)]


def claims_of(replies: Found, side: str) -> list[str]:
    """Return a side's claims; what two parts of a text state alike is one claim."""
    parts = _parts_of(replies.get("split", {}), side)
    if len(parts) == 1:
        return list(parts[0])
    claims = [*chain.from_iterable(parts)]
    # Of two alike the first wording stays, where the last one stands.
    by_wording = {" ".join(claim.casefold().split()): claim for claim in reversed(claims)}
    return [*by_wording.values()][::-1]


def list_claims(sample: Sample, replies: Found, side: str, options: Mapping[str, Any]) -> list[str]:
    """Return a side's claims: its sentences, or those into which the judge split it."""
    if splits_by_judge(options):
        return claims_of(replies, side)
    return list_sentences(_text(sample, side))


def splits_by_judge(options: Mapping[str, Any]) -> bool:
    """Return whether a judge splits texts into claims; else each sentence is one."""
    return options.get("claims") != SENTENCES


def number_claims(claims: Iterable[str]) -> list[dict[str, str]]:
    """Return claims with their ids, from 1, as a question has them."""
    return [{"id": str(number), "text": claim} for number, claim in enumerate(claims, 1)]


def join_verdicts(replies: Found, side: str, claims: Sequence[str]) -> list[dict[str, str]]:
    """Return a side's claims with their ids and verdicts, in order; none if they were not asked about."""
    parts = _parts_of(replies.get("entails", {}), side)
    verdicts: dict[str, dict[str, str]] = {}
    for part in parts:
        verdicts |= part
    return [claim | verdicts[claim["id"]] for claim in number_claims(claims) if verdicts]


def measure_shares(judged: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Return the share of each verdict."""
    verdicts = [claim["verdict"] for claim in judged]
    return {verdict: verdicts.count(verdict) / len(verdicts) for verdict in VERDICTS}


def claim_rows(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Ask, for each split side, whether the other side's text supports its claims, one question for a side.

    No questions if the score is settled: no claims in the reference, or none in the response.
    """
    if _score_without_judge(sample, replies, options):
        return
    for side, source in (("response", "reference"), ("reference", "response")):
        if _splits(options["mode"], side):
            claims = number_claims(list_claims(sample, replies, side, options))
            yield Question(side, {"claims": claims, "source": _text(sample, source)})


def read_verdicts(question: Question, text: str) -> dict[str, dict[str, str]]:
    """Read `{"verdicts": [{"id", "reason", "verdict"}, …]}`: id → verdict and reason.

    Raises:
        Unparsable: the ids are not exactly those asked about, each once, or a verdict is none of the three.
    """
    entries = read_object(text, "verdicts")["verdicts"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise Unparsable('"verdicts" must be a list of objects')
    # In any order: a verdict is its claim's by the id alone.
    ids = [_read_id(entry) for entry in entries]
    _check_ids(ids, [claim["id"] for claim in question.values["claims"]])
    verdicts = {}
    for claim_id, entry in zip(ids, entries, strict=True):
        verdict = unify_label(entry.get("verdict"))
        if verdict not in VERDICTS:
            raise Unparsable(f"the verdict on claim {claim_id} is none of {', '.join(VERDICTS)}")
        verdicts[claim_id] = {"verdict": verdict, "reason": reason_of(entry)}
    return verdicts


def _read_id(entry: Mapping[str, Any]) -> str:
    """Return the claim's id, which a judge may write as a number; '' if there is none."""
    claim_id = entry.get("id")
    if isinstance(claim_id, int | str) and not isinstance(claim_id, bool):
        return str(claim_id).strip()
    return ""


def _check_ids(ids: Sequence[str], expected: Sequence[str]) -> None:
    """Refuse verdicts that are not exactly those asked for."""
    if sorted(ids) == sorted(expected):
        return
    missing = [claim_id for claim_id in expected if claim_id not in ids]
    extra = [
        repr(claim_id[:20]) for claim_id in dict.fromkeys(ids) if ids.count(claim_id) != expected.count(claim_id)
    ]
    raise Unparsable(
        f"expected one verdict for each of the {len(expected)} claims, found {len(ids)}; "
        f"missing ids: {', '.join(missing[:20]) or 'none'}; "
        f"unknown or repeated ids: {', '.join(extra[:20]) or 'none'}"
    )


def _score_without_judge(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score | None:
    """Return the score that needs no verdict: no claims in the reference (checked first) or in the response."""
    names = ("precision", "recall", "contradiction_rate", "neutral_rate")
    mode = options["mode"]
    if not _text(sample, "reference"):
        return Score(None, "not_applicable", "empty reference", parts=dict.fromkeys(names))
    if _splits(mode, "reference") and not list_claims(sample, replies, "reference", options):
        return Score(None, "not_applicable", "no claims in the reference", parts=dict.fromkeys(names))
    reason = ""
    if not _text(sample, "response"):
        reason = "empty response"
    elif _splits(mode, "response") and not list_claims(sample, replies, "response", options):
        reason = "no claims in the response"
    if not reason:
        return None
    parts: dict[str, float | None] = dict.fromkeys(names)
    for name, side in (("precision", "response"), ("recall", "reference")):
        if _splits(mode, side):
            parts[name] = 0.0
    return Score(0.0, "scored", reason, parts=parts)


def f1(precision: float, recall: float) -> float:
    """Return the harmonic mean; 0 if both are 0."""
    if not precision + recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


class ClaimOptions(Frozen):
    """What a claim is."""

    claims: Literal["judge", "sentences"] = Field(
        "judge",
        description="`judge` splits texts into claims; `sentences`: each sentence is one, for judges that decide",
    )


class Options(ClaimOptions):
    """Which side's claims are checked, and what a claim is."""

    mode: Literal["f1", "precision", "recall"] = Field("f1", description="a mode makes only the calls it needs")

    @field_validator("mode", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        """Accept seed 002's `F1` and `PRECISION`."""
        return value.lower() if isinstance(value, str) else value


def _verdicts(side: str) -> Callable[[Mapping[str, Any]], Iterable[str]]:
    return lambda details: [claim["verdict"] for claim in details.get(f"{side}_claims", ())]


SPLIT = Step(
    name="split",
    rows=sides,
    prompt="claims/split",
    parse=read_claims,
    schema=_SPLIT_SCHEMA,
    divide=divide_text,
    applies=splits_by_judge,
)
ENTAIL = Step(
    name="entails",
    rows=claim_rows,
    prompt="claims/entails",
    parse=read_verdicts,
    asks=ENTAILS,
    divide=divide_claims,
)


@metric(
    steps=(SPLIT, ENTAIL),
    options=Options,
    needs=("reference",),
    temperature=0.0,
    votes=False,
    measured=(
        Measured("precision", "entails", WORTH, _verdicts("response"), lambda o: o["mode"] == "precision"),
        Measured("recall", "entails", WORTH, _verdicts("reference"), lambda o: o["mode"] == "recall"),
    ),
    title={"en": "Factual correctness", "ru": "Фактическая точность"},
    shown=read_shown(Path(__file__).with_name("factual_correctness.yaml")),
)
def factual_correctness(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Score one response: F1, precision or recall in [0, 1], by `mode`.

    `contradiction_rate` and `neutral_rate` are shares of the response's claims (of the reference's in mode recall,
    which does not split the response).

    Source: seed 002.
    """
    score = _score_without_judge(sample, replies, options)
    if score:
        return score
    mode = options["mode"]
    details: dict[str, Any] = {"mode": mode}
    shares: dict[str, dict[str, float]] = {}
    for side in ("response", "reference"):
        judged = join_verdicts(replies, side, list_claims(sample, replies, side, options))
        if judged:
            details[f"{side}_claims"] = judged
            shares[side] = measure_shares(judged)
    precision = shares.get("response", {}).get("SUPPORTED")
    recall = shares.get("reference", {}).get("SUPPORTED")
    # The rates are of what was said, or of the reference where that alone is split.
    checked = shares.get("response") or shares["reference"]
    value = precision or recall or 0.0
    if precision is not None and recall is not None:
        value = f1(precision, recall)
    parts = {
        "precision": precision,
        "recall": recall,
        "contradiction_rate": checked["CONTRADICTED"],
        "neutral_rate": checked["NEUTRAL"],
    }
    return Score(value, details=details, parts=parts)
