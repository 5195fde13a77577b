"""How reports show chains of thought."""

from collections.abc import Iterator, Mapping
from typing import Any

from data.shown import Crossing, Distribution, Shown

LATEST_STEP = 8
"""Steps from this one on are counted together where reports say at which the first wrong calculation stands."""


def _first_wrong(details: Mapping[str, Any]) -> Iterator[str]:
    if step := details.get("first_wrong_step"):
        yield str(step) if step < LATEST_STEP else f"{LATEST_STEP}+"


def _crossed(details: Mapping[str, Any]) -> tuple[str, str]:
    """Name a response's cell: is its answer right, does its chain hold."""
    answer = "none" if details.get("answer") is None else "right" if details.get("right") else "wrong"
    chain = "invalid" if details.get("first_wrong_step") else "valid" if details.get("n_calculations") else "bare"
    return answer, chain


SHOWN = Shown(
    parts={
        "sound": {"en": "right and sound", "ru": "верно и без ошибок"},
        "l1": {"en": "L1 final answer", "ru": "L1 ответ"},
        "l2": {"en": "L2 number of steps", "ru": "L2 число шагов"},
        "l3": {"en": "L3 similarity of steps", "ru": "L3 сходство шагов"},
        "l4": {"en": "L4 coherence", "ru": "L4 связность"},
        "accuracy": {"en": "right calculations", "ru": "верные вычисления"},
        "coherence": {"en": "known operands", "ru": "известные операнды"},
    },
    headline=("sound",),
    crossings=(
        Crossing(
            "cells",
            _crossed,
            rows={
                "right": {"en": "Right answer", "ru": "Верный ответ"},
                "wrong": {"en": "Wrong answer", "ru": "Неверный ответ"},
                "none": {"en": "No answer", "ru": "Нет ответа"},
            },
            columns={
                "valid": {"en": "valid chain", "ru": "верная цепочка"},
                "invalid": {"en": "invalid chain", "ru": "неверная цепочка"},
                "bare": {"en": "no calculations", "ru": "без вычислений"},
            },
            title={"en": "Answer against chain", "ru": "Ответ и цепочка"},
            note={
                "en": "A right answer from an invalid chain was found by luck or from memory: look at these first.",
                "ru": "Верный ответ при неверной цепочке найден случайно или по памяти: смотрите такие первыми.",
            },
            alert=("right", "invalid"),
            reasons={
                (answer, chain): f"{answer} answer, {said}"
                for answer in ("right", "wrong")
                for chain, said in (
                    ("valid", "valid chain"),
                    ("invalid", "invalid chain"),
                    ("bare", "no calculations"),
                )
            },
        ),
    ),
    distributions=(
        Distribution(
            "first_wrong",
            _first_wrong,
            {**{str(step): {} for step in range(1, LATEST_STEP)}, f"{LATEST_STEP}+": {}},
            title={"en": "Step of the first wrong calculation", "ru": "Шаг первого неверного вычисления"},
            chart="counts",
        ),
        Distribution(
            "first_error",
            lambda details: [(details.get("first_error") or {}).get("kind") or "none"],
            {
                "none": {"en": "none named", "ru": "не назван"},
                "slip": {"en": "slip", "ru": "ошибка счёта"},
                "operand": {"en": "wrong operand", "ru": "не то число"},
                "operation": {"en": "wrong operation", "ru": "не то действие"},
                "omission": {"en": "step left out", "ru": "пропущен шаг"},
                "invented number": {"en": "invented number", "ru": "число ниоткуда"},
                "stopped early": {"en": "stopped early", "ru": "остановка до конца"},
                "misread final": {"en": "final answer misread", "ru": "итог прочитан неверно"},
            },
            title={"en": "What went wrong first", "ru": "Что пошло не так первым"},
            note={
                "en": "By recomputation, and in chains with a wrong answer by the reference's calculations. On 170 "
                "solutions with people's labels, this names the same step in 57 %.",
                "ru": "По пересчёту, а в цепочках с неверным ответом — по вычислениям эталона. На 170 решениях с "
                "разметкой людей названный шаг совпал в 57 %.",
            },
            chart="counts",
        ),
        Distribution(
            "sound",
            lambda details: [details["sound"]] if details.get("sound") else [],
            {
                "sound": {"en": "sound", "ru": "без ошибок"},
                "unsound": {"en": "unsound", "ru": "с ошибкой"},
                "not checkable": {"en": "not checkable", "ru": "нечего проверить"},
            },
            title={"en": "Is the answer right and the chain sound?", "ru": "Верен ли ответ, и верна ли цепочка?"},
            note={
                "en": "Not checkable: the answer is right, and nothing in the chain can be recomputed. The mean of "
                "cot.sound leaves these out.",
                "ru": "Нечего проверить: ответ верен, но в цепочке нет ни одного проверяемого вычисления. Среднее "
                "cot.sound таких не учитывает.",
            },
            chart="",
        ),
        Distribution(
            "unsupported",
            lambda details: ["yes" if details.get("unsupported") else "no"],
            {"no": {"en": "no", "ru": "нет"}, "yes": {"en": "yes", "ru": "да"}},
            title={"en": "Does it use a number from nowhere?", "ru": "Есть ли число ниоткуда?"},
            chart="",
        ),
        Distribution(
            "rule",
            lambda details: [details.get("rule") or "none"],
            {
                "marker": {"en": "marker", "ru": "метка"},
                "boxed": {"en": "box", "ru": "рамка"},
                "cue": {"en": "cue phrase", "ru": "вводная фраза"},
                "last number": {"en": "last number", "ru": "последнее число"},
                "none": {"en": "no answer", "ru": "нет ответа"},
            },
            title={"en": "How the answer was found", "ru": "Как найден ответ"},
            chart="",
        ),
    ),
    note={
        "en": "Measured on 7914 labelled replies, the number of steps (L2) and known operands (coherence) do not "
        "separate right answers from wrong ones (AUC 0.51 and 0.54), and 98.5 % of chains with one wrong "
        "intermediate result pass 0.8. So cot.sound stands beside the score: the share of answers that are right "
        "with no wrong step, among those that can be checked.",
        "ru": "По измерению на 7914 размеченных ответах число шагов (L2) и известность операндов (связность) не "
        "отличают верные ответы от неверных (AUC 0.51 и 0.54), а 98.5 % цепочек с одним неверным промежуточным "
        "результатом проходят порог 0.8. Поэтому рядом с оценкой стоит cot.sound: доля верных ответов без единого "
        "неверного шага среди тех, что можно проверить.",
    },
)
