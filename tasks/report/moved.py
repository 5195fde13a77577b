"""What moved between the questions of two runs, in words: a line for each kind."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prompts.phrases import phrase
from tasks.report.text import clipped

NAMED = 3
"""Questions of a kind that a line names."""
_LONGEST = 60


def moved_lines(moved: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what changed in a suite's questions (`QuestionChanges` of metrics.analysis.questions as JSON)."""
    suite = moved["suite"]
    totals = {"relabelled": "common", "reworded": "before", "only_before": "before", "only_after": "after"}
    for kind, of in totals.items():
        if n := moved[f"n_{kind}"]:
            which = _named(moved[kind], n, language)
            yield phrase(f"questions.{kind}", language, suite=suite, n=n, total=moved[f"n_{of}"], which=which)


def _named(listed: Iterable[Mapping[str, Any]], n: int, language: str) -> str:
    said = []
    for one in [*listed][:NAMED]:
        question = _short(one["prompt"]) or one["question_id"]
        if "before" in one:
            answers = {side: _answer(one[side], language) for side in ("before", "after")}
            question = phrase("questions.relabelled_one", language, question=question, **answers)
        said.append(question)
    return "; ".join([*said, *(["…"] if n > len(said) else [])])


def _answer(text: str | None, language: str) -> str:
    if text is None:
        return phrase("questions.unknown", language)
    return _short(text) or phrase("questions.nothing", language)


def _short(text: str) -> str:
    return clipped(" ".join(text.split()), _LONGEST)
