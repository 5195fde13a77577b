"""The metrics of ours that a data set's columns allow, and those of DeepEval and ragas that they stand for."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from basic_control.data.usual_columns import CONTEXTS

Judging = Literal["rules", "model", ""]


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A metric of ours, the columns that it reads beside the question, and the other tools' that it stands for.

    `judge`: `rules` if the built-in judge can decide it, `model` if a model must, '' if it is computed. A tool
    without an equal has ''.
    """

    metric: str
    columns: tuple[str, ...]
    ragas: str
    deepeval: str
    judge: Judging = "rules"

    def find_equal(self, tool: str) -> str:
        """Return the tool's metric that this one stands for; '' if there is none."""
        return {"ragas": self.ragas, "DeepEval": self.deepeval}[tool]

    def describe(self, tool: str) -> str:
        """Return which metric of a tool this one stands for, and what decides it."""
        return f"  {self.metric}: {self.find_equal(tool)}; {_JUDGES[self.judge]}"


EQUIVALENTS = (
    Equivalent("factual_correctness", ("response", "reference"), "FactualCorrectness", "a GEval of correctness"),
    Equivalent("faithfulness", ("response", CONTEXTS), "Faithfulness", "FaithfulnessMetric"),
    Equivalent("response_groundedness", ("response", CONTEXTS), "ResponseGroundedness", ""),
    Equivalent("context_recall", ("reference", CONTEXTS), "LLMContextRecall", "ContextualRecallMetric"),
    Equivalent(
        "context_precision",
        ("reference", CONTEXTS),
        "LLMContextPrecisionWithReference",
        "ContextualPrecisionMetric",
    ),
    Equivalent("similarity", ("response", "reference"), "NonLLMStringSimilarity", "", judge=""),
    Equivalent("exact_match", ("response", "reference"), "", "ExactMatchMetric", judge=""),
    Equivalent("answers_question", ("response",), "ResponseRelevancy", "AnswerRelevancyMetric", judge="model"),
)
"""In the order of their columns on a screen."""
_NAMES = tuple(equivalent.metric for equivalent in EQUIVALENTS)
_JUDGES: dict[Judging, str] = {
    "rules": "a judge decides",
    "model": "a judge that is a model decides",
    "": "computed, without a judge",
}


def list_equivalents(tool: str, columns: Collection[str]) -> list[Equivalent]:
    """Return the metrics that stand for one of a tool's and whose columns are there."""
    fitting = filter(lambda equivalent: {*equivalent.columns} <= {*columns}, EQUIVALENTS)
    return [equivalent for equivalent in fitting if equivalent.find_equal(tool)]


def is_measured(column: str) -> bool:
    """Return whether a column has the scores of a metric of ours, as `faithfulness` of a result of ragas has."""
    return str(column).startswith(_NAMES)
