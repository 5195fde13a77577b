"""Chain of thought metric: whether a model's reasoning is sound, not only its answer."""

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import Field, model_validator

from basic_control.data.decorators import metric
from basic_control.data.number_words import list_given_numbers
from basic_control.data.options import Frozen, Number, Share
from basic_control.data.records import Found, Sample, Score
from basic_control.data.shown import read_shown
from basic_control.metrics._replies import is_cut, prompt, reply
from basic_control.metrics.cot.chain import Calculation, Chain, read
from basic_control.metrics.cot.expressions import Exact, Operand, format_exact
from basic_control.metrics.cot.first_error import REASONS, FirstError, build_details, find_first_error

LISTED = 200
"""Maximum number of calculations listed in an item's details; all of them are counted."""

LATEST_STEP = 8
"""Reports count this and all later steps together as the place of the first wrong calculation."""

SOUNDNESS: Mapping[float | None, str] = {1.0: "sound", 0.0: "unsound", None: "not checkable"}

WEIGHTS: Mapping[str, float] = {"l1": 0.4, "l2": 0.1, "l3": 0.2, "l4": 0.3}


def compare_final_answers(response: Chain, reference: Chain) -> float | None:
    """L1: 1.0 if the final answers are numerically equal, else 0.0; None without an answer in the reference.

    Source: SPEC 3 (seed 004).
    """
    if reference.value is None:
        return None
    return float(response.value == reference.value)


def compare_step_counts(response: Chain, reference: Chain) -> float | None:
    """L2: 1.0 within 0.8 … 1.2 of the reference's number of steps, less outside; None without steps in it.

    With r = response steps / reference steps: below 0.8, max(0.2, r / 0.8); above 1.2, max(0.5, 1.2 / r).

    Source: SPEC 3 (seed 004).
    """
    steps, expected = len(response.steps), len(reference.steps)
    if not expected:
        return None
    if 5 * steps < 4 * expected:  # integer arithmetic keeps the bounds exact
        return max(0.2, steps / (0.8 * expected))
    if 5 * steps > 6 * expected:
        return max(0.5, 1.2 * expected / steps)
    return 1.0


def compute_jaccard(first: frozenset[Any], second: frozenset[Any]) -> float:
    """Return the Jaccard similarity of two sets, in [0, 1]; 1.0 for two empty sets."""
    shared = len(first & second)
    union = len(first) + len(second) - shared
    if not union:
        return 1.0
    return shared / union


def compare_steps(response: Chain, reference: Chain) -> float | None:
    """L3: 0.4 J(operators) + 0.4 J(numbers) + 0.2 J(words); None without steps in the reference.

    Operators and numbers are those of the calculations; words are those before the first calculation of a step.

    Source: SPEC 3 (seed 004).
    """
    if not reference.steps:
        return None
    pairs = zip((0.4, 0.4, 0.2), collect_features(response), _collect_reference_features(reference), strict=True)
    return fsum([weight * compute_jaccard(first, second) for weight, first, second in pairs])


def collect_features(chain: Chain) -> tuple[frozenset[str], frozenset[Exact], frozenset[str]]:
    """Return the operators (`+ - * /`), the numbers, and the words (of 2 or more letters) of a chain."""
    text = " ".join([step.before for step in chain.steps if step.calculations]).lower().replace("’", "'")
    return (
        frozenset().union(*[calculation.operators for calculation in chain.calculations]),
        frozenset().union(*[calculation.numbers for calculation in chain.calculations]),
        frozenset([word for word in _LETTERS.findall(text) if len(word) > 1]),
    )


class Support(NamedTuple):
    """Source of a calculation's operands: `question`, `constant`, a calculation's number, or ''.

    `coherent`: every operand has a source.
    """

    origins: tuple[str, ...]
    coherent: bool


def trace_operands(
    chain: Chain, question_numbers: Mapping[Exact, str], constants: Sequence[Exact] = ()
) -> list[Support]:
    """Trace the operands of each calculation, in order.

    An operand is known if it is a number of the question, a known constant, or the result shown by an earlier
    coherent calculation (right or wrong); the result of an incoherent calculation stays unknown, so that restating
    a number without a source does not make it known.

    Source: SPEC 3 (seed 004).
    """
    sources: dict[Exact, str] = {
        **dict.fromkeys(constants, "constant"),
        **dict.fromkeys(question_numbers, "question"),
    }
    supports: list[Support] = []
    for number, calculation in enumerate(chain.calculations, 1):
        origins = tuple([_find_origin(operand, sources) for operand in calculation.operands]) or ("",)
        support = Support(origins, "" not in origins)
        supports.append(support)
        if support.coherent:
            for value in calculation.results:
                sources.setdefault(value, f"calculation {number}")
    return supports


def measure_accuracy(chain: Chain) -> float | None:
    """Return the share of a chain's calculations whose result is right; None without calculations."""
    return _compute_share([calculation.right for calculation in chain.calculations])


def measure_coherence(supports: Sequence[Support]) -> float | None:
    """Return the share of calculations with only known operands; None without calculations.

    The reference answers of GSM8K's test set have 0.844, not 1.0 (mean of the 1313 that calculate; 711 of their
    4521 calculations fall short). Some 350 of these use a number that neither the question nor any calculation
    gives: units of measure and time (with 7, 12, 24, 60, 100 and 365 as `known_constants` the mean is 0.898), 0.01
    for a percent, 2 for a round trip, and steps done in the head. The others build on them.

    Source: SPEC 3 (seed 004).
    """
    return _compute_share([support.coherent for support in supports])


def _compute_share(flags: Sequence[bool]) -> float | None:
    if not flags:
        return None
    return sum(flags) / len(flags)


def score_reasoning(
    response: Chain, reference: Chain, accuracy: float | None, coherence: float | None
) -> float | None:
    """L4: 0.75 accuracy + 0.25 coherence, the shares of calculations that are right and that are coherent.

    0.0 if the response has no calculations but the reference has; None if neither has, or the reference has no
    steps.

    Source: SPEC 3 (seed 004).
    """
    if not reference.steps or not (response.calculations or reference.calculations):
        return None
    if accuracy is None or coherence is None:
        return 0.0
    return 0.75 * accuracy + 0.25 * coherence


# A word, with its apostrophes: don't.
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def score_soundness(
    response: Chain, reference: Chain, right_answer: float | None, accuracy: float | None
) -> float | None:
    """Return 1.0 if the answer is right and no calculation is wrong, else 0.0; None if undecidable.

    It is undecidable without an answer in the reference, and if the answer is right and the reference calculates
    but nothing in the chain can be checked. `accuracy` is the share of right calculations.

    Source: ours (SPEC 3).
    """
    if right_answer is None or (right_answer == 1 and reference.calculations and not response.calculations):
        return None
    return float(right_answer == 1 and accuracy in {None, 1})


def average_levels(levels: Mapping[str, float | None], weights: Mapping[str, float]) -> float | None:
    """Return the weighted mean of the applicable levels, in [0, 1]; None if they have no weight.

    Source: SPEC 1 and 3.
    """
    applicable = {name: value for name, value in levels.items() if value is not None}
    total = fsum([weights[name] for name in applicable])
    if total <= 0:
        return None
    return min(1.0, fsum([weights[name] * value for name, value in applicable.items()]) / total)


# One reference is compared with the replies of every model and repeat.
_collect_reference_features = lru_cache(maxsize=4096)(collect_features)
_read_reference = lru_cache(maxsize=4096)(read)
_list_question_numbers = lru_cache(maxsize=4096)(list_given_numbers)


def _format_optional(value: Exact | None) -> str | None:
    if value is None:
        return None
    return format_exact(value)


def _map_origins(calculation: Calculation, support: Support) -> dict[str, str]:
    """Return the source of each operand, by its text."""
    texts = [operand.text for operand in calculation.operands]
    return dict(zip(texts, support.origins, strict=False))


def _find_origin(operand: Operand, sources: Mapping[Exact, str]) -> str:
    """Return the source of the first known value of an operand; '' if none is known."""
    for value in operand.known_by:
        if value in sources:
            return sources[value]
    return ""


def _list_unsupported(entries: Sequence[tuple[int, Calculation, Support]]) -> list[dict[str, Any]]:
    """Return the operands without a source, with their steps."""
    unsupported: list[dict[str, Any]] = []
    for step_number, calculation, support in entries:
        for operand, origin in zip(calculation.operands, support.origins, strict=False):
            if not origin:
                unsupported.append({"step": step_number, "operand": operand.text})
    return unsupported


def _describe_calculation(step_number: int, calculation: Calculation, support: Support) -> dict[str, Any]:
    return {
        "step": step_number,
        "text": calculation.text,
        "expected": _format_optional(calculation.expected),
        "found": _format_optional(calculation.stated),
        "right": calculation.right,
        "coherent": support.coherent,
        "origins": _map_origins(calculation, support),
    }


def _describe_chain(response: Chain, reference: Chain, supports: Sequence[Support]) -> dict[str, Any]:
    """Return a score's details of the answer, the steps and the calculations."""
    entries = [*zip(response.step_numbers, response.calculations, supports, strict=True)]
    wrong_steps = [step_number for step_number, calculation, _ in entries if not calculation.right]
    details: dict[str, Any] = {
        "answer": _format_optional(response.value),
        "answer_text": None,
        "rule": None,
        "expected": _format_optional(reference.value),
        "steps": len(response.steps),
        "reference_steps": len(reference.steps),
        "ratio": None,
        "n_calculations": len(entries),
        "first_wrong_step": None,
        # Long chains are listed up to a limit, but counted whole.
        "unsupported": _list_unsupported(entries[:LISTED]),
        "calculations": [_describe_calculation(*entry) for entry in entries[:LISTED]],
    }
    if response.answer is not None:
        details["answer_text"] = response.answer.text[:100]
        details["rule"] = response.answer.rule
    if reference.steps:
        details["ratio"] = len(response.steps) / len(reference.steps)
    if wrong_steps:
        details["first_wrong_step"] = wrong_steps[0]
    return details


class Weights(Frozen):
    """The weights of the four levels; renormalised."""

    l1: Share = Field(0.4, description="of the final answer")
    l2: Share = Field(0.1, description="of the number of steps")
    l3: Share = Field(0.2, description="of the likeness of steps")
    l4: Share = Field(0.3, description="of coherence and right calculations")

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        if not any((self.l1, self.l2, self.l3, self.l4)):
            raise ValueError("the weights l1, l2, l3, l4 are all 0; give one of them a weight")
        return self


class Options(Frozen):
    """Options of the chain of thought metric."""

    weights: Weights = Weights()
    known_constants: tuple[Number, ...] = Field(
        (), description="numbers that a chain may use unannounced, such as 7"
    )


def _name_cell(details: Mapping[str, Any]) -> tuple[str, str]:
    """Name a response's cell: whether its answer is right, and whether its chain holds."""
    answer, chain = "wrong", "bare"
    if details.get("answer") is None:
        answer = "none"
    elif details.get("right"):
        answer = "right"
    if details.get("first_wrong_step"):
        chain = "invalid"
    elif details.get("n_calculations"):
        chain = "valid"
    return answer, chain


def _list_first_wrong(details: Mapping[str, Any]) -> list[str]:
    step = details.get("first_wrong_step")
    if not step:
        return []
    if step < LATEST_STEP:
        return [str(step)]
    return [f"{LATEST_STEP}+"]


def _list_first_error(details: Mapping[str, Any]) -> list[str]:
    first_error = details.get("first_error") or {}
    return [first_error.get("kind") or "none"]


def _list_soundness(details: Mapping[str, Any]) -> list[str]:
    return [*filter(None, [details.get("sound")])]


def _list_unsupported_flag(details: Mapping[str, Any]) -> list[str]:
    if details.get("unsupported"):
        return ["yes"]
    return ["no"]


def _list_rule(details: Mapping[str, Any]) -> list[str]:
    return [details.get("rule") or "none"]


def _name_chain(accuracy: float | None) -> str:
    """Name a chain in a reason by the share of its calculations that is right."""
    if accuracy is None:
        return "no calculations"
    if accuracy == 1:
        return "valid chain"
    return "invalid chain"


def _write_reason(accuracy: float | None, first_error: FirstError | None, *, is_right: bool | None) -> str:
    """Return a score's reason: `right answer, invalid chain; slip in a calculation`."""
    reason = _name_chain(accuracy)
    if is_right is not None:
        answer = "right answer" if is_right else "wrong answer"
        reason = f"{answer}, {reason}"
    if first_error is not None:
        reason += f"; {REASONS[first_error.kind]}"
    return reason


@metric(
    version=13,
    options=Options,
    needs=("question", "reference"),
    title={"en": "Chain of thought", "ru": "Цепочка рассуждений"},
    shown=read_shown(
        Path(__file__).with_name("shown.yaml"),
        cells=_name_cell,
        first_wrong=_list_first_wrong,
        first_error=_list_first_error,
        sound=_list_soundness,
        unsupported=_list_unsupported_flag,
        rule=_list_rule,
    ),
    right="l1",
)
def cot(sample: Sample, _replies: Found, options: Mapping[str, Any]) -> Score:
    """Score a chain of thought: the weighted sum of the four levels.

    sample: `question`, `reference` (a GSM8K answer; only `#### n` without reasoning), `response`. The sum leaves
    out levels that are not applicable, with the weights renormalised. A response without an answer has status
    `no_answer` and L1 0.0; the other levels are computed as usual.

    Parts: `l1` … `l4`; `accuracy` and `coherence`, the components of L4; `right_answer_invalid_chain`, 1.0 if the
    answer is right and a calculation is wrong; `sound` (ours, not in the seed's score), 1.0 if the answer is right
    and the chain holds, None if it cannot be checked. `first_error` in the details is the first wrong step
    (`metrics.cot.first_error`), None if there is none; the reason names its kind.

    Source: SPEC 3 (seed 004).
    """
    # The steps and calculations of the two chains.
    reference = _read_reference(sample["reference"])
    response = read(
        reply(sample),
        sample["question"],
        language=str(sample.get("language") or ""),
        cut=is_cut(sample),
        prompt=prompt(sample),
    )
    constants = [Fraction(str(constant)) for constant in options.get("known_constants", ())]
    question_numbers = _list_question_numbers(sample["question"])
    supports = trace_operands(response, question_numbers, constants)
    accuracy, coherence = measure_accuracy(response), measure_coherence(supports)
    # The four levels, whose weighted mean is the score.
    l1 = compare_final_answers(response, reference)
    levels = {
        "l1": l1,
        "l2": compare_step_counts(response, reference),
        "l3": compare_steps(response, reference),
        "l4": score_reasoning(response, reference, accuracy, coherence),
    }
    value = average_levels(levels, options.get("weights") or WEIGHTS)
    sound = score_soundness(response, reference, l1, accuracy)
    parts: dict[str, float | None] = {
        **levels,
        "accuracy": None,
        "coherence": None,
        "right_answer_invalid_chain": None,
        "sound": sound,
    }
    details = _describe_chain(response, reference, supports)
    details |= {"first_error": None, "right": None, "sound": None}
    if l1 is not None:
        details |= {"right": l1 == 1, "sound": SOUNDNESS[sound]}
    # A reference that only gives an answer says nothing about the chain.
    first_error = None
    if reference.steps:
        parts |= {"accuracy": accuracy, "coherence": coherence}
        first_error = find_first_error(response, reference, question_numbers, right=l1 == 1)
    if l1 is not None and parts["accuracy"] is not None:
        parts["right_answer_invalid_chain"] = float(l1 == 1 and parts["accuracy"] < 1)
    if first_error is not None:
        details["first_error"] = build_details(first_error, response)
    if value is None:
        return Score(None, "not_applicable", "the reference has neither steps nor an answer", details, parts)
    if response.answer is None:
        return Score(value, "no_answer", "no final answer could be extracted", details, parts)
    reason = _write_reason(parts["accuracy"], first_error, is_right=details["right"])
    return Score(value, "scored", reason, details, parts)
