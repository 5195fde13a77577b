"""SPEC 19: expressions are compared by what they mean, in a child process with a time limit."""

import importlib.util
import os
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.records import Score
from basic_control.metrics.math import child, math
from tests.acceptance.reading import Case, lines

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None, reason="the extra `math` is not installed"
)
OPTIONS = options_of(math.math, {})


def scored(reply: str, answer: Any) -> Score:
    return math.math.score({"response": reply, "answer": answer, "question": "?"}, {}, OPTIONS)


@pytest.mark.parametrize("case", lines("math"), ids=lambda case: case["id"])
def test_an_expression_equals_another_one_of_the_same_meaning(case: Case) -> None:
    assert not math.expects({"answer": case["answer"]}, OPTIONS).problem
    assert scored(case["reply"], case["answer"]).value == case["value"]


@pytest.mark.parametrize("answer", ["the capital of France is Paris", "x^2+", "\\frac{", "[", True, "", {"a": 1}])
def test_an_expected_answer_that_is_no_expression_is_told(answer: Any) -> None:
    assert "expected" in math.expects({"answer": answer}, OPTIONS).problem or "mapping" in str(answer)


@pytest.mark.parametrize("reply", ["", "<think>\\boxed{5}</think>", "I have no idea.", "Answer:"])
def test_a_reply_without_an_expression_is_no_answer(reply: str) -> None:
    assert scored(reply, "5").status == "no_answer"


def test_a_truncated_reply_has_only_what_it_states() -> None:
    row = {"answer": "x^2", "question": "?", "response_cut": True}
    assert math.math.score({**row, "response": "So we get $x^2$"}, {}, OPTIONS).status == "no_answer"
    assert math.math.score({**row, "response": "Answer: $x^2$\n\nTo check"}, {}, OPTIONS).value == 1


@pytest.mark.parametrize("reply", ["9^{9^{9^{9}}}", "100000000!"])
def test_an_expression_without_end_meets_its_limit_and_the_next_reply_is_compared(
    reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "LIMIT_S", 1.0)
    monkeypatch.setattr(math, "CHILD", child.Child())
    assert scored(f"Answer: ${reply}$", "5").reason.startswith("not compared within")
    assert scored("Answer: $10/2$", "5").value == 1


HOSTILE = ("(" * 5000, "$" * 100_000, "\\frac{" * 20_000, "\ud800\x00", "x" * 300_000, "\\begin{matrix}" * 20_000)


@pytest.mark.parametrize("reply", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_reply_gets_no_point(reply: str) -> None:
    assert scored(reply, "5").value == 0
    assert scored(f"Answer: {reply}", "5").value == 0


def test_a_forked_process_has_a_child_of_its_own() -> None:
    assert scored("Answer: $10/2$", "5").value == 1
    pid = os.fork()
    if not pid:
        os._exit(int(scored("Answer: $15/3$", "5").value or 0))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert scored("Answer: $20/4$", "5").value == 1


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(math, "CHILD", child.Child())
    with pytest.raises(InputError, match="metric math: the extra `math` is not installed; run: "):
        math.expects({"answer": "x^2"}, OPTIONS)
