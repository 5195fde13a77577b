"""Whom a reply of the logic family names: styles that models write in, right and wrong, in both languages."""

import pytest

from data.draw import draw
from data.records import Item
from generators.simple_logic.people import cases
from generators.simple_logic.simple_logic import MARKERS, UNIT, verify
from tests.helpers.bounds import bounded

NANCY = Item(
    prompt="Who is the tallest?", answer="Nancy", facts={"names": ["Felix", "Nancy", "Vera"]}, language="en"
)
ANNA = Item(prompt="Кто самый высокий?", answer="Анна", facts={"names": ["Борис", "Анна", "Вера"]}, language="ru")
# § stands for a reasoning that names everybody.
TOLD = {
    "en": "Nancy is taller than Felix, and Felix is taller than Vera.",
    "ru": "Анна выше Бориса, а Борис выше Веры.",
}
RIGHT_EN = [
    "ANSWER: Nancy", "**ANSWER:** Nancy", "ANSWER：Nancy", "ANSWER — Nancy", "ANSWER - Nancy", "ANSWER – Nancy",
    "ANSWER= Nancy", "### ANSWER\n**Nancy**", "ANSWER\n\nNancy", "Final Answer: Nancy",
    "**Final Answer:** **Nancy**.",
    "§\n\nANSWER: Nancy\n\nLet me know if you'd like another puzzle!",
    "§\nANSWER: Nancy is the tallest",
    "ANSWER: Nancy (since Felix is shorter)", "ANSWER: Nancy (taller than Felix and Vera)",
    "ANSWER: Nancy, because she is taller than Felix", "ANSWER: Nancy, not Felix", "ANSWER: Not Felix, but Nancy",
    "ANSWER: Nancy (no doubt)", "ANSWER: Nancy, without a doubt.",
    "ANSWER: Nancy. There is no other possibility.", "ANSWER: Nancy (not Felix)",
    "ANSWER: Nancy rather than Felix", "ANSWER: \\boxed{Nancy}", "$$\\boxed{\\text{Nancy}}$$",
    "§ Hence \\boxed{Nancy}.",
    "§ The answer is Nancy.",
    "§ So the answer is **Nancy**.",
    "§\n\nTherefore, the final answer is: Nancy.",
    "§\n\n**Nancy**",
    "§\n\n**Nancy is the tallest.**",
    "§\n\nThe tallest is **Nancy**.",
    "§\n\nTherefore, **Nancy** is the tallest.", "Nancy",
    "Nancy.", "It is Nancy.", "The tallest person is Nancy", "Nancy is the tallest",
    "Nancy is the tallest of all", "I think it's Nancy!", "Nancy is the tallest. I have no doubt.",
    "It's none other than Nancy.", "Without a doubt, Nancy is the tallest.",
    "There is no doubt that Nancy is the tallest.", '{"answer": "Nancy"}',
    '```json\n{"reasoning": "Felix is shorter than Nancy, Vera too.", "answer": "Nancy"}\n```',
    '{"answer": "Nancy", "explanation": "Felix is shorter."}', "<answer>Nancy</answer>",
    "<answer>\nNancy\n</answer>",
    "§\n\nANSWER:\n```\nNancy\n```", "ANSWER: *Nancy*",
    "> ANSWER: Nancy", "- ANSWER: Nancy", "1. ANSWER: Nancy", "✅ ANSWER: Nancy", "ANSWER: Nancy ✅",
    "answer: nancy", "Answer: NANCY", "ANSWER: [Nancy]", "ANSWER: <Nancy>", 'ANSWER: "Nancy"', "`ANSWER: Nancy`",
    "ANSWER: Nancy's the tallest", "So, my answer: Nancy", "The correct answer is: Nancy, not Felix.",
    "§ Nancy is the answer.",
    "§\n\nThe answer is Nancy. She is taller than Felix, who is taller than Vera.",
    "§\n\nThe answer is Nancy.\n\nLet me know if you have any other questions!",
    "§\n\n**Nancy**\n\nI hope this helps!",
    "Who is the tallest? Nancy.", "Is it Felix? No.\nANSWER: Nancy",
    "ANSWER: Felix\n\nWait, that's wrong: Nancy is above him.\n\nANSWER: Nancy", "ANSWER: the tallest is Nancy",
    "ANSWER: Felix is shorter than Nancy, so Nancy", "ANSWER: Nancy, who is taller than both Felix and Vera",
    "ANSWER: Nancy — she is taller than Felix and Vera", "ANSWER Nancy", "**ANSWER** Nancy", "ANSWER : Nancy",
    "ANSWER → Nancy", "ANSWER:Nancy", "ANSWER:  Nancy  \n", "\u200bANSWER: Nancy", "ANSWER: Nancy<|im_end|>",
    "ANSWER: Nancy</s>",
    "Step 1: §\nStep 2: so Nancy is first.\n\n---\n\n## ANSWER: Nancy",
    "Sure! Let's think.\n§\n\n**ANSWER: Nancy**\n\nFeel free to ask if Felix or Vera confuse you.",
    "Nancy is the tallest, not the shortest.", "Nancy, not Felix.",
    "ANSWER: Nancy\nExplanation: §",
    'The answer to the question "Who is the tallest?" is Nancy.',
    "Okay, so I need to find the tallest. § So Nancy must be the tallest, Felix next.\n\nANSWER: Nancy",
    "ANSWER -- Nancy", "ANSWER: It's Nancy.", "ANSWER: It can only be Nancy.", "ANSWER: Nancy, of course",
    "ANSWER: Nancy (100% sure)", "ANSWER: Nancy, with no ties", "The tallest:\n\nNancy",
    "Among the three friends, Nancy is the tallest.", "Based on the statements, Nancy is the tallest.",
    "From the given facts, Nancy is the tallest one.", "I'd say Nancy.", "Tallest: Nancy", '{"name": "Nancy"}',
    "The answer is therefore Nancy.", "So, the answer should be Nancy.",
    "§\n\nSo the answer is $\\text{Nancy}$.",
    "Nancy is the tallest 😊", "Nancy is the tallest because nobody is above her.",
    "ANSWER: Nancy (nobody is taller)", "ANSWER: Nancy; Felix is shorter",
    "ANSWER: Nancy. Felix is shorter than her.", "The name is Nancy.", "My answer is Nancy",
    "The answer is Nancy", "**The answer is Nancy**", "***Nancy***",
    "§\n\n__Nancy__", "ANSWER: Nancy\n\nANSWER: Nancy",
]  # fmt: skip
WRONG_EN = [
    "ANSWER: Felix", "ANSWER：Felix", "ANSWER — Felix", "\\boxed{Felix}", "ANSWER: not Nancy",
    "ANSWER: Nancy or Felix", "ANSWER: either Nancy", "ANSWER: Nancy and Felix", "ANSWER: Nancy, Felix, Vera",
    "ANSWER: Nancy > Felix > Vera", "ANSWER: Nancy / Felix", "Nancy, Felix, Vera", "Is it Nancy?", "Nancy?",
    "Could it be Nancy?", "ANSWER: Nancy?", "ANSWER: is it Nancy?", "Maybe it is Nancy?", "Nancy is taller than",
    "Let's think step by step. Nancy is taller than", "Let's think. Nancy", "First, Nancy",
    "Since Nancy is taller", "We know that Nancy", "Nancy is tal", "Step 1: Nancy is taller",
    "To find the tallest, let us look at Nancy", "1. Nancy", "Let me list them:\n1. Nancy", "Nancy is",
    "Nancy is not the tallest.", "It's not Nancy.", "It isn't Nancy.", "Anyone but Nancy.",
    "Everyone except Nancy", "Nancy is out.", "The answer is not Nancy.", "The answer isn't Nancy.",
    "§ The answer is Felix.",
    "§\n\n**Felix**",
    "§",
    "§ Nancy",
    "§\n\nANSWER:", "ANSWER: Nan",
    "ANSWER: Nancy\nANSWER: Felix", "ANSWER: Felix\nANSWER: Vera\nANSWER: Nancy", "ANSWER:\nNancy\nFelix\nVera",
    "ANSWER:\n- Nancy\n- Felix", "**Nancy, Felix, Vera**", "\\boxed{Nancy, Felix, Vera}",
    "The answer is Nancy or Felix.", "The answer is Nancy, Felix and Vera.",
    "If the answer is Nancy, then Felix is second.", "ANSWER: Felix, not Nancy",
    "ANSWER: Nancy is wrong, it's Felix", "ANSWER: Felix (Nancy is shorter)", "ANSWER: Nancy or",
    "ANSWER: Nancy is", "It is false that it is Nancy.", "I doubt it is Nancy.",
    "ANSWER: It cannot be determined whether it is Nancy", "Nobody but Nancy is out", "ANSWER: unknown", "",
    "I don't know", "Nancyx", "ANSWER: Nancyx", "ANSWER: Nan cy", "Let's compare Nancy with the others.",
    "Consider Nancy.", "We need to see whether Nancy is the tallest.", "Not Nancy", "No, not Nancy!",
    "Is Nancy the tallest", "Could it be Nancy", "The answer is Nancy? No, wait, Felix.",
    "ANSWER: Nancy? No: Felix", "ANSWER: Instead of Nancy, Felix", "ANSWER: Anyone, but Nancy",
    "ANSWER: all but Nancy", "**Nancy:**", "### Nancy vs Felix", "**Nancy** and **Felix**",
    "The tallest is not **Nancy**.", "**not Nancy**", "Who is the tallest? Is it Nancy?", "Nancy...", "Nancy,",
    "Well, Nancy —", "Looking at the statements, Nancy is taller than the ot",
    "ANSWER: Felix is shorter than Nancy, so Felix", '{"answer": "Felix", "explanation": "Nancy is shorter"}',
    '{"answer": ["Nancy", "Felix", "Vera"]}', '{"answer": "Nancy, Felix"}', "<answer>Felix</answer>",
    "ANSWER: none of them, not even Nancy", "ANSWER: Nancy can't be the tallest",
    "ANSWER: Nancy, isn't the tallest", "Nancy and someone else.", "ANSWER: Nancy / Vera", "ANSWER: Nancy|Felix",
    "ANSWER: Nancy (or Felix)", "ANSWER: Nancy or maybe Felix", "Vera. Felix. Nancy.", "ANSWER: name",
    "First, I will check whether Nancy", "So we compare heights. The first statement tells us that Nancy is",
    "ANSWER: Felix\n\nNancy is second.", "The answer is Felix, not Nancy.", "Felix", "Felix is the tallest.",
    "\\boxed{not Nancy}", "The answer is anyone but Nancy.",
]  # fmt: skip
RIGHT_RU = [
    "ОТВЕТ: Анна", "ОТВЕТ：Анна", "ОТВЕТ — Анна", "Ответ - Анна", "**ОТВЕТ:** Анна", "**Ответ: Анна.**",
    "§\n\nОТВЕТ: Анна\n\nЕсли у вас есть вопросы, обращайтесь!",
    "ОТВЕТ: Анна, а не Борис", "ОТВЕТ: не Борис, а Анна", "ОТВЕТ: Анна (без сомнений)",
    "ОТВЕТ: Анна, так как она выше Бориса и Веры", "ОТВЕТ: Анна (она выше Бориса)", "ОТВЕТ: Анну",
    "ОТВЕТ: это Анна", "ОТВЕТ: самая высокая — Анна", "§ Ответ — Анна.",
    "§ Значит, ответ: Анна.",
    "§\n\n**Анна**",
    "§\n\n**Самая высокая — Анна.**",
    "§ Следовательно, \\boxed{Анна}.", "Анна", "Анна.", "Это Анна.",
    "Самая высокая — Анна", "Самый высокий - Анна.", "Анна самая высокая.", "Анна выше всех",
    "Нет сомнений, что это Анна.", "Без сомнения, это Анна.", "Я думаю, что это Анна.", "Ответ Анна",
    "Правильный ответ: Анна", "Итоговый ответ: Анна", "### Ответ\n\nАнна", '{"ответ": "Анна"}',
    '{"answer": "Анна"}', "ОТВЕТ: «Анна»", "Итак, ответ — Анна.", "Ответом является Анна.",
    "§ Правильный ответ — Анна.", "Анна — самая высокая, а не Борис.",
    "ОТВЕТ: Анна, потому что Борис ниже, и Вера тоже ниже", "Никто иной, как Анна.",
    "Из условий следует, что самая высокая — Анна.", "Согласно условию, Анна самая высокая.",
    "§\n\nТаким образом, самая высокая — **Анна**.", "ОТВЕТ: А\u0301нна",
    "ОТВЕТ: Анна.\nНадеюсь, помог!", "Анна — правильный ответ.", "Ответ: Анна. Надеюсь, это поможет!",
    "§\nОтвет: Анна (выше Бориса и Веры).", "ОТВЕТ: Анной",
    "Среди троих самая высокая Анна", "ОТВЕТ: Анна — она выше всех", "ОТВЕТ: имя — Анна", "Имя: Анна",
    "Ответ:\n**Анна**", "Давайте рассуждать. §\n\n**Ответ:** Анна",
    "§ Ответ: Анна, не Борис.",
]  # fmt: skip
WRONG_RU = [
    "ОТВЕТ: Борис", "ОТВЕТ — Борис", "ОТВЕТ: не Анна", "ОТВЕТ: Анна или Борис", "ОТВЕТ: Анна и Борис",
    "ОТВЕТ: Анна, Борис, Вера", "Анна, Борис, Вера", "Это Анна?", "Анна?", "Может, это Анна?", "ОТВЕТ: Анна?",
    "Анна выше, чем", "Рассмотрим условия. Анна выше", "Сначала рассмотрим Анну", "Так как Анна выше",
    "Известно, что Анна", "Анна не самая высокая.", "Анна — не самая высокая.", "Это не Анна.", "Все, кроме Анны",
    "Кто угодно, кроме Анны.", "Неверно, что это Анна.", "Ответ не Анна.",
    "§ Ответ — Борис.", "§\n\n**Борис**",
    "§", "ОТВЕТ:", "ОТВЕТ: Ан", "ОТВЕТ: Вера\nОТВЕТ: Борис\nОТВЕТ: Анна",
    "\\boxed{Анна, Борис}", "ОТВЕТ: Борис, а не Анна", "ОТВЕТ: Анна или", "Шаг 1. Анна", "Анна выс",
    "Сомневаюсь, что это Анна.", "Вряд ли это Анна.", "ОТВЕТ: неизвестно, Анна",
    "Давайте сравним Анну с остальными.", "ОТВЕТ: вместо Анны — Борис", "Анна...",
    "Если ответ — Анна, то Борис второй.", "ОТВЕТ: Анна — нет, Борис", "Нужно понять, Анна ли это", "Анна и",
    "ОТВЕТ: Анна / Борис", "Разве это Анна?", "Ответ: Анна? Нет, Борис.", "Самая высокая — не Анна.",
    "**не Анна**", "ОТВЕТ: любой, кроме Анны", "ОТВЕТ: Анна > Борис > Вера",
    "Из первого утверждения следует, что Анна",
]  # fmt: skip


@pytest.mark.parametrize(
    ("item", "reply"), [*((NANCY, reply) for reply in RIGHT_EN), *((ANNA, reply) for reply in RIGHT_RU)]
)
def test_a_reply_that_gives_the_right_name_passes(item: Item, reply: str) -> None:
    assert verify(item, reply.replace("§", TOLD[item.language])).correct is True


@pytest.mark.parametrize(
    ("item", "reply"), [*((NANCY, reply) for reply in WRONG_EN), *((ANNA, reply) for reply in WRONG_RU)]
)
def test_a_reply_that_does_not_give_the_right_name_is_refused(item: Item, reply: str) -> None:
    assert verify(item, reply.replace("§", TOLD[item.language])).correct is not True


FRAMES = {
    "en": [
        "ANSWER：{}", "ANSWER — {}", "{r}\n\nANSWER: {}, not {o}", "{r} So \\boxed{{{}}}.", "{r} The answer is {}.",
        "{r}\n\n**{}**", "ANSWER: {} (no doubt)", "{r}\n\n**Final answer:** {}\n\nLet me know if I can help!",
        "ANSWER: {}, since {o} is not the one",
    ],
    "ru": [
        "ОТВЕТ：{}", "ОТВЕТ — {}", "{r}\n\nОТВЕТ: {}, а не {o}", "{r} Итак, \\boxed{{{}}}.", "{r} Ответ — {}.",
        "{r}\n\n**{}**", "ОТВЕТ: {} (без сомнений)", "{r}\n\n**Итоговый ответ:** {}\n\nОбращайтесь!",
        "ОТВЕТ: {}, так как {o} не подходит",
    ],
}  # fmt: skip


@pytest.mark.parametrize("language", UNIT.languages)
@pytest.mark.parametrize("level", UNIT.levels)
def test_every_frame_gives_the_name_that_it_frames(language: str, level: str) -> None:
    """After the prompt's own statements, and in any case form; a question and everybody's names are no answer."""
    marker = MARKERS[language]
    for item in draw(UNIT, level=level, language=language, seed=6, count=40):
        told, everyone = item.prompt.splitlines()[1], item.facts["names"]
        for frame in FRAMES[language]:
            for name in everyone:
                other = next(each for each in everyone if each != name)
                for form in cases(name):
                    reply = frame.format(form, r=told, o=other)
                    assert verify(item, reply).correct is (name == item.answer), reply
        right = item.answer
        for reply in (
            told, f"{told} {right}", f"{right}?", f"{told}\n\n{marker}:", f"{marker}: {', '.join(everyone)}",
            f"{marker}: {right}?", "\n".join(f"{marker}: {name}" for name in (*everyone, right)),
            f"**{', '.join(everyone)}**", f"\\boxed{{{', '.join(everyone)}}}",
            f"{marker}:\n{chr(10).join(everyone)}",
        ):  # fmt: skip
            assert verify(item, reply).correct is not True, reply


UNITS = (
    ".", "? ", "nancy, ", "not nancy ", "answer: ", "answer:\n", "the answer is nancy ", "boxed{nancy} ",
    "**nancy** ",
    "so ", "(", "— ", "no doubt ", " - ", "nancy is. ", "nancy\n", "nancy?", "answer nancy\n", "\u0301", "{",
)  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_reply_is_read_in_little_time(unit: str) -> None:
    with bounded(3):  # takes half a second at most; a quadratic scan of 200 000 characters takes many minutes
        verify(NANCY, unit * (200_000 // len(unit)) + "x")
