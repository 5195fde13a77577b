"""The rules of reading, sentence by sentence, and their golden replies: a number (9) and a choice (B)."""

import pytest

from basic_control.data.reading import reply_text
from basic_control.data.reading.answer import read
from basic_control.data.reading.choices import build_options
from basic_control.data.reading.ends import split_at_end as split_end
from basic_control.data.reading.numbers import read_number
from basic_control.data.reading.texts import unify
from basic_control.data.reading.thinking import split as split_thinking

METALS = build_options((("A", "Iron"), ("B", "Copper"), ("C", "Zinc"), ("D", "Gold")))


def number(reply: str, *, cut: bool = False) -> float | str | None:
    """Return the number of a reply; 'several' where it is no single one, None where there is none."""
    answer = read_number(reply_text(reply), cut=cut).answer
    if answer is None:
        return None
    return "several" if answer.value is None else float(answer.value)


def choice(reply: str, *, cut: bool = False) -> str | None:
    """Return the label that a reply chooses, with the text of metals; 'A C' for two of them."""
    values = read(unify(reply_text(reply)), METALS, cut=cut).values
    return None if values is None else " ".join(sorted(map(str, values)))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("#### Case 2: $g = 26$ \u2026 The answer is 9.", 9),
        ("\\boxed{2x + 3} \u2026 Answer: 9", 9),
        ("Answer: 9\n\n\\boxed{}", None),
        ("x = 1 or x = 9", "several"),
        # A marker: before a number, or an answer with its unit, alone on its line.
        ("#### 9", 9),
        ("#### 9 dollars", 9),
        ("#### The answer is 9", 9),
        ("It is 9.\n\n#### Step 2: check\n\nAll is well, 3 * 3 = 9.", 9),
        # A box of another kind is passed over.
        ("\\boxed{9}\n\nwhere \\boxed{x}", 9),
        # A cue with nothing after it takes the next line that is not empty.
        ("The answer is:\n\n9", 9),
        ("**Answer**\n\n$9$", 9),
        ("<answer>9</answer>", 9),
        ("final_answer(9)", 9),
        ('{"steps": [1, 2], "final_answer": 9, "result": 3}', 9),
        # What cancels.
        ("Answer: 9\n\nNo wait, I forgot the tax.", None),
        ("Answer: 9\nAnswer:", None),
        ("Answer: 9\nAnswer: unknown", None),
        # The last statement, of whatever kind.
        ("\\boxed{7}\n#### 8\nAnswer: 9", 9),
        ("Answer: 7\n#### 8\n\\boxed{9}", 9),
    ],
)
def test_a_number(reply: str, expected: float | str | None) -> None:
    assert number(reply) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("\\boxed{F = ma}\n\n**Answer: B**", "B"),
        ("[THINK]A?[/THINK]B", "B"),
        ("Antwort: B", "B"),
        ("Answer: B. If it were about price, the answer would be C.", "B"),
        ("Answer: B. Many people answer A.", "B"),
        ("The answer is B. A common wrong answer is A.", "B"),
        ("The answer is B, whereas C is poor.", "B"),
        ("정답은 B입니다.", "B"),
        ("\\boxed{\\text{Copper}}", "B"),
        ('{"A": false, "B": true}', "B"),
        ("Iron rusts, zinc is dull. Copper it is. Iron and zinc are cheaper.", "B"),
        ("A or B", "A B"),
        ("Is it B?", None),
    ],
)
def test_a_choice(reply: str, expected: str | None) -> None:
    assert choice(reply) == expected


def test_an_answer_is_inferred_only_without_a_statement_and_never_in_a_reply_that_was_cut() -> None:
    assert number("4 + 5 = 9") == 9
    assert number("4 + 5 = 9", cut=True) is None
    assert number("Answer: 8\n\n4 + 5 = 9", cut=True) == 8
    assert choice("Copper conducts best", cut=True) is None
    assert choice("B\n\nCopper conducts", cut=True) == "B"


@pytest.mark.parametrize(
    "cue",
    [
        "Answer: B", "Ответ: B", "答案：B", "答えはBです", "정답은 B입니다", "La réponse est B",
        "La respuesta es B", "A resposta é B", "La risposta è B", "Het antwoord is B", "Odpowiedź to B",
        "Відповідь: B", "Cevap B'dir", "Jawabannya adalah B", "Đáp án là B", "คำตอบคือ B", "उत्तर B है",
        "الإجابة هي B", "התשובה היא B", "پاسخ B است", "Svaret är B", "Vastaus on B", "Odpověď je B",
        "A válasz B", "Răspunsul este B", "Η απάντηση είναι B",
    ],
)  # fmt: skip
def test_a_cue_of_a_language_outranks_what_follows_it(cue: str) -> None:
    assert choice(f"{cue}.\n\n(A, C: iron and zinc are poor conductors.)") == "B"


@pytest.mark.parametrize(
    ("text", "reply", "thinking"),
    [
        ("<think>A?</think>B", "B", "A?"),
        ("<mm:think>A?</mm:think>B", "B", "A?"),
        ("◁think▷A?◁/think▷B", "B", "A?"),
        ('<thinking depth="2" >A?</thinking >B', "B", "A?"),
        ("A?</think>B", "B", "A?"),
        ("<think>A?</think>B<think>C?</think>", "B", "A?\nC?"),
        ("<|channel|>analysis A?<|start|>assistant<|channel|>final<|message|>B", "B", "A?"),
        ("analysisA?assistantfinalB", "B", "A?"),
        ("<reflection>A?</reflection>B", "B", "A?"),
        ("B <reflection>A?</reflection>", "B <reflection>A?</reflection>", ""),
        ("```\n<think>A?</think>\n```\nB", "```\n<think>A?</think>\n```\nB", ""),
        ("<think>A?", "", "A?"),
    ],
)
def test_thinking_is_taken_off(text: str, reply: str, thinking: str) -> None:
    assert split_thinking(text) == (reply, thinking)


@pytest.mark.parametrize(
    ("text", "prompt", "rest"),
    [
        ("B<|im_end|>\n<|im_start|>user\nC?", "", "<|im_end|>\n<|im_start|>user\nC?"),
        ("It is <s>A</s> B", "", ""),
        ("B</s>C", "", "</s>C"),
        (
            "Answer: B\n\nQuestion: What is gold?\nAnswer: D",
            "Question: What is copper?",
            "Question: What is gold?\nAnswer: D",
        ),
        ("B\n\nHuman: and now?", "", "Human: and now?"),
        ("Let me see.\n\nQuestion: What is copper?\n\nB", "Question: What is copper?", ""),
        ("Question 1: copper.\nAnswer: B\nQuestion 2: gold.\nAnswer: D", "", ""),
        ("Question: copper?\nAnswer: B\n\nQuestion: gold?\nAnswer: D", "", ""),
        ("`<|im_end|>` ends a turn: B", "", ""),
    ],
)
def test_what_runs_on_is_not_read(text: str, prompt: str, rest: str) -> None:
    reply, beyond = split_end(text, prompt)
    assert (reply + beyond, beyond.strip()) == (text, rest)
