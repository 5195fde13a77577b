"""Citation metric: whether citations support their claims, sources are real, and the answer is right."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from basic_control.data.decorators import metric
from basic_control.data.options import Frozen, Share
from basic_control.data.records import Found, Measured, Question, Sample, Score, Step
from basic_control.data.shown import read_shown
from basic_control.data.typed import Typed
from basic_control.metrics.citation import passages as _passages
from basic_control.metrics.citation.answers import Citation, CitedAnswer, parse_answer
from basic_control.metrics.citation.urls import Finding
from basic_control.metrics.judging import Judgement, read_verdict

SUPPORT = {"ENTAILMENT": 1.0, "NEUTRAL": 0.5, "CONTRADICTION": 0.0}
VERIFICATION = {"VERIFIED": 1.0, "UNCERTAIN": 0.5, "LIKELY_FABRICATED": 0.0}
CORRECTNESS = {"CORRECT": 1.0, "PARTIALLY_CORRECT": 0.5, "INCORRECT": 0.0}
PARTS = ("interpretability", "correctness", "coverage", "support", "verification")

NOT_LISTED = Finding("LIKELY_FABRICATED", "no source of that number")
_CONTEXT = 2000
_LISTED = 50
_SUPPOSED = 3


def parse(sample: Sample) -> CitedAnswer:
    """Parse the sample's response (`metrics.citation.answers.parse_answer`)."""
    return parse_answer(str(sample.get("response") or ""), _passages.count(sample))


def verify(sample: Sample, citation: Citation, options: Mapping[str, Any]) -> Finding:
    """Verify the source of one citation by rule.

    In mode `passages`: by number and quote. In mode `closed_book`: by the sample's `evidence`, a mapping of
    citation numbers to verdicts from the URL checker; without it UNCERTAIN, and LIKELY_FABRICATED for a number
    without a listed source.
    """
    source = parse(sample).sources.get(citation.number)
    if options["mode"] == "passages":
        quote = source.quote if source else ""
        return _passages.verify(citation.number, quote, _passages.list_passages(sample), options["quote_match"])
    evidence = sample.get("evidence") or {}
    # A sample that was stored as JSON has its numbers as text.
    checked = evidence.get(citation.number) or evidence.get(str(citation.number))
    if checked:
        return Finding(checked["verdict"], checked.get("reason", ""), checked.get("span") or "")
    if source:
        return Finding("UNCERTAIN", "not checked")
    return NOT_LISTED


def find_content(sample: Sample, citation: Citation, options: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind and text with which a judge compares a claim.

    `passage`: the cited passage; `fetched`: the fetched span; `quote`: the answer's quote; `answer`: the whole
    answer, if there is nothing else (as in the seed); '' if the number points nowhere.
    """
    answer = parse(sample)
    if options["mode"] == "passages":
        passages = _passages.list_passages(sample)
        if not 1 <= citation.number <= len(passages):
            return "", ""
        return "passage", _format_passage(passages[citation.number - 1])
    checked = verify(sample, citation, options)
    if checked.span:
        return "fetched", checked.span
    source = answer.sources.get(citation.number)
    if source and source.quote:
        return "quote", source.quote
    if checked is NOT_LISTED:
        return "", ""
    return "answer", answer.text


def _cut_context(answer: CitedAnswer, citation: Citation) -> str:
    """Return the answer around a claim, to resolve its pronouns."""
    if len(answer.text) <= _CONTEXT or citation.sentence < 0:
        return answer.text[:_CONTEXT]
    sentences = answer.sentences[max(0, citation.sentence - 3) : citation.sentence + 1]
    return " ".join(sentence.text for sentence in sentences)[-_CONTEXT:]


def list_support_rows(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Return a support question for each citation of an existing source, up to `max_citations`."""
    answer = parse(sample)
    for index, citation in enumerate(answer.citations[: options["max_citations"]]):
        kind, text = find_content(sample, citation, options)
        if kind:
            context = _cut_context(answer, citation)
            values = {"kind": kind, "content": text, "claim": citation.claim, "context": context}
            yield Question(str(index), values)


def _read_expected(sample: Sample) -> tuple[list[str], str]:
    """Return the sample's right answers: the short ones, and the long one or ''."""
    short = sample.get("short_answers") or ()
    long_answer = str(sample.get("long_answer") or sample.get("reference") or "")
    if isinstance(short, str):
        return [short], long_answer
    return [str(answer) for answer in short if answer], long_answer


def list_correctness_rows(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Iterable[Question]:
    """Return the correctness question, if there are an answer and a gold answer."""
    short_answers, long_answer = _read_expected(sample)
    text = parse(sample).text
    if text and (short_answers or long_answer):
        yield Question(
            "answer",
            {
                "question": sample.get("question") or "",
                "short_answers": short_answers,
                "long_answer": long_answer,
                "answer": text,
            },
        )


def _score_citations(sample: Sample, replies: Found, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return each citation with its support, its verification and their product.

    A citation that points nowhere, or beyond `max_citations`, is not judged and counts 0: never dropped.
    """
    answer = parse(sample)
    verdicts = replies.get("support", {})
    rows = []
    for index, citation in enumerate(answer.citations):
        checked = Finding("LIKELY_FABRICATED", "beyond max_citations")
        if index < options["max_citations"]:
            checked = verify(sample, citation, options)
        # A citation that no judge saw supports nothing.
        support, label, reason, kind = 0.0, None, "not judged", ""
        verdict: Judgement | None = verdicts.get(str(index))
        if verdict:
            support, label, reason = verdict.value, verdict.label, verdict.reason
            kind, _ = find_content(sample, citation, options)
        rows.append(
            {
                "number": citation.number,
                "label": citation.label,
                "claim": citation.claim,
                "compared_with": kind,
                "support": label,
                "support_value": support,
                "support_reason": reason,
                "verification": checked.verdict,
                "verification_reason": checked.reason,
                "span": checked.span,
                "value": support * VERIFICATION[checked.verdict],
            }
        )
    return rows


def compute_interpretability(values: Sequence[float], n_uncited: int) -> float:
    """Return the mean of the citations' values, with a 0 for each uncited sentence; 0 for no values.

    Source: SPEC 4.
    """
    if not values:
        return 0.0
    return sum(values) / (len(values) + n_uncited)


def _format_passage(passage: Mapping[str, str]) -> str:
    """Return a passage as shown to a judge: its title, if any, above its text."""
    if passage["title"]:
        return f"{passage['title']}\n{passage['text']}"
    return passage["text"]


def _build_step(
    name: str, rows: Callable[..., Iterable[Question]], value_by_verdict: Mapping[str, float], prompt: str
) -> Step:
    asks = Typed("choice", "verdict", value_by_verdict)
    return Step(name, rows, prompt, lambda _, text: read_verdict(text, value_by_verdict), asks=asks)


def stand_in(sample: Sample) -> str:
    """Return a placeholder response for counting judge calls: the gold answer's sentences, each with a citation."""
    expected = str(sample.get("long_answer") or sample.get("answer") or "")
    sentences = [*filter(None, expected.split(". "))][:_SUPPOSED]
    numbered = [*enumerate(sentences, 1)]
    text = " ".join(f"{sentence.rstrip('.')} [{number}]." for number, sentence in numbered)
    if sample.get("passages"):
        return text
    sources = [f'[{number}] Source, https://source-{number}.org/page "{sentence}"' for number, sentence in numbered]
    return "\n".join([text, "Sources:", *sources])


def _list_column(column: str, missing: str = "") -> Callable[[Mapping[str, Any]], list[str]]:
    """Return a function of details that lists one column of their citations, `missing` for an empty field."""
    return lambda details: [str(row.get(column) or missing) for row in details.get("citations") or ()]


def _list_support(details: Mapping[str, Any]) -> list[str]:
    return [row["support"] for row in details["citations"] if row["support"]]


def _list_correctness(details: Mapping[str, Any]) -> list[str]:
    return [*filter(None, [details.get("correctness")])]


class Options(Frozen):
    """Options of the citation metric."""

    mode: Literal["passages", "closed_book"] = Field("passages", description="as the items were loaded")
    network: bool = Field(default=False, description="fetch cited pages (http and https, public addresses only)")
    weight_interpretability: Share = Field(0.5, description="of support times source, over citations")
    weight_correctness: Share = Field(0.5, description="of the answer against the gold answer")
    quote_match: int = Field(90, ge=0, le=100, description="from this likeness on a quote is found")
    max_citations: int = Field(64, ge=1, description="of an answer; more are not judged")

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if not self.weight_interpretability and not self.weight_correctness:
            problem = "the weights weight_interpretability, weight_correctness are all 0"
            raise ValueError(f"{problem}; give one of them a weight")
        return self


@metric(
    name="citation",
    version=5,
    steps=(
        _build_step("support", list_support_rows, SUPPORT, "citation/support"),
        _build_step("correctness", list_correctness_rows, CORRECTNESS, "citation/correctness"),
    ),
    options=Options,
    title={"en": "Citations", "ru": "Цитирование"},
    sources=lambda options: options["mode"] == "closed_book",
    stand_in=stand_in,
    measured=(
        Measured("support", "support", {"ENTAILMENT": 1.0, "CONTRADICTION": 0.0, "NEUTRAL": 0.5}, _list_support),
        Measured(
            "correctness",
            "correctness",
            CORRECTNESS,
            _list_correctness,
            lambda options: not options["weight_interpretability"],
        ),
    ),
    shown=read_shown(
        Path(__file__).with_name("citation.yaml"),
        support=_list_column("support", "not judged"),
        verification=_list_column("verification"),
        correctness=_list_correctness,
    ),
)
def citation_score(sample: Sample, replies: Found, options: Mapping[str, Any]) -> Score:
    """Score one answer in [0, 1]: the weighted mean of interpretability and correctness.

    Without a gold answer correctness is not applicable, and the weights are renormalised. `support` and
    `verification` are means over citations, `coverage` the share of sentences that are cited.

    Source: seed 004; ALCE's two values: Gao et al. 2023.
    """
    answer = parse(sample)
    rows = _score_citations(sample, replies, options)
    uncited = [sentence.text for sentence in answer.sentences if sentence.counted and not sentence.cited]
    cited_count = sum(sentence.cited for sentence in answer.sentences)
    # A part without anything to measure stays None.
    parts: dict[str, float | None] = dict.fromkeys(PARTS)
    parts["interpretability"] = compute_interpretability([row["value"] for row in rows], len(uncited))
    if cited_count or uncited:
        parts["coverage"] = cited_count / (cited_count + len(uncited))
    if rows:
        parts["support"] = fmean(row["support_value"] for row in rows)
        parts["verification"] = fmean(VERIFICATION[row["verification"]] for row in rows)
    # Without a judge's verdict an answer that could be judged is not right.
    correctness, label, correctness_reason = 0.0, None, ""
    verdict: Judgement | None = replies.get("correctness", {}).get("answer")
    if verdict:
        correctness, label, correctness_reason = verdict.value, verdict.label, verdict.reason
    if any(_read_expected(sample)):
        parts["correctness"] = correctness
    details: dict[str, Any] = {
        "mode": options["mode"],
        "citations": rows[:_LISTED],
        "n_citations": len(rows),
        "n_uncertain": sum(row["verification"] == "UNCERTAIN" for row in rows),
        "n_uncited": len(uncited),
        "uncited": [text[:300] for text in uncited[:_LISTED]],
        "correctness": label,
        "correctness_reason": correctness_reason,
    }
    value = _weigh_parts(parts, options)
    if value is None:
        return Score(None, "not_applicable", "no gold answer", details, parts)
    reason = ""
    if not answer.text:
        reason = "empty response"
    elif not rows:
        reason = "no citation"
    return Score(value, "scored", reason, details, parts)


def _weigh_parts(parts: Mapping[str, float | None], options: Mapping[str, Any]) -> float | None:
    """Return the weighted mean of interpretability and correctness; a part without a value leaves its weight."""
    total = weights = 0.0
    for name in ("interpretability", "correctness"):
        value, weight = parts[name], float(options[f"weight_{name}"])
        if value is not None and weight:
            total += weight * value
            weights += weight
    if not weights:
        return None
    return total / weights
