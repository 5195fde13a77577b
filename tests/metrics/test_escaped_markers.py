"""Markdown's backslashes before brackets: they hide no marker and no source, and a formula keeps its own."""

import pytest

from basic_control.metrics.citation.answers import parse_answer


@pytest.mark.parametrize(
    "text",
    [
        "The law was passed in 1722 \\[2\\].\n\nSources:\n\\[2\\] A History of Law, https://example.org/law",
        "Закон принят в 1722 году \\[2\\].\n\nИсточники:\n\\[2\\] История права, https://example.org/law",
        '{"answer": "The law was passed in 1722 \\\\[2\\\\].", "sources": [{"number": 2, "url": "https://example.org/law"}]}',
    ],
)
def test_an_escaped_marker_is_read_with_its_source(text: str) -> None:
    answer = parse_answer(text)
    assert [one.number for one in answer.citations] == [2]
    assert "example.org/law" in str(answer)


@pytest.mark.parametrize("text", [r"Energy is \[ E = 2 \cdot 3 \] in all.", r"The area is \[ x^2 + 3 \] here."])
def test_a_formula_is_no_marker(text: str) -> None:
    assert parse_answer(text).citations == parse_answer("None.").citations


@pytest.mark.parametrize(
    "text", ["It was said of Noël¹ too.", "It was said in Go¹ too.", "Он назван так в λόγος¹."]
)
def test_a_foreign_word_is_no_formula(text: str) -> None:
    assert [one.number for one in parse_answer(text, 5).citations] == [1]
