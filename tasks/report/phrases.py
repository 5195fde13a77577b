"""The reports' words in English and Russian."""

import re
from collections.abc import Mapping
from typing import Any

_COT_WORTH = (
    (
        "Measured on 7914 labelled replies, the number of steps (L2) and known operands (coherence) do not "
        "separate right answers from wrong ones (AUC 0.51 and 0.54), and 98.5 % of chains with one wrong "
        "intermediate result pass 0.8. So cot.sound stands beside the score: the share of answers that are "
        "right with no wrong step and, where the reference calculates, at least one calculation to check."
    ),
    (
        "По измерению на 7914 размеченных ответах число шагов (L2) и известность операндов (связность) не "
        "отличают верные ответы от неверных (AUC 0.51 и 0.54), а 98.5 % цепочек с одним неверным промежуточным "
        "результатом проходят порог 0.8. Поэтому рядом с оценкой стоит cot.sound: доля верных ответов без единого "
        "неверного шага и, если эталон содержит вычисления, хотя бы с одним проверяемым вычислением."
    ),
)
_PHRASES: Mapping[str, tuple[str, str]] = {
    "title": ("LLM Evaluation Report", "Отчет о Тестировании LLM"),
    "date": ("Date and time", "Дата и время"),
    "models": ("Tested models", "Протестированные модели"),
    "judges": ("Judges", "Судьи"),
    "summary": ("Summary", "Сводная Таблица Результатов"),
    "corner": ("Model / Category", "Модель / Категория"),
    "total": ("TOTAL", "ИТОГО"),
    "intervals": ("Counts and 95 % intervals", "Количества и 95 % интервалы"),
    "category": ("Category", "Категория"),
    "metric": ("Metric", "Метрика"),
    "model": ("Model", "Модель"),
    "mean": ("Mean", "Среднее"),
    "interval": ("95 % interval", "95 % интервал"),
    "scored": ("Scored / asked", "Оценено / задано"),
    "no_answer": ("No answer", "Нет ответа"),
    "model_error": ("Model errors", "Ошибки модели"),
    "judge_failed": ("Judge failures", "Сбои судьи"),
    "not_applicable": ("Not applicable", "Неприменимо"),
    "analysis": ("Detailed analysis", "Детальный Анализ"),
    "strengths": ("Strengths of {model}", "Сильные стороны модели {model}"),
    "errors": ("Typical errors of {model}", "Типичные ошибки модели {model}"),
    "no_strengths": (
        "no category with at least {floor} % of its answers right",
        "нет категории, где верно не менее {floor} % ответов",
    ),
    "no_errors": ("none: every scored answer is right", "нет: все оценённые ответы верны"),
    "nothing_scored": ("nothing was scored", "ничего не оценено"),
    "of": ("{k} of {n}", "{k} из {n}"),
    "left_out": (
        "Left out of TOTAL for {model}: {families} ({reason}).",
        "Не вошло в ИТОГО модели {model}: {families} ({reason}).",
    ),
    "stopping": ("Asked until decided", "Вопросы до решения"),
    "stopping_note": (
        "Asked in rounds until the confidence sequence excluded the threshold, or told two models apart.",
        "Вопросы шли раундами, пока доверительная последовательность не исключила порог или не различила модели.",
    ),
    "questions": ("Questions", "Вопросы"),
    "decided_after": ("Decided after", "Решено после"),
    "sequence": ("Sequence", "Последовательность"),
    "narrowed": ("How it narrowed", "Как она сужалась"),
    "no_total": (
        "No TOTAL for {model}: nothing was scored in {families}.",
        "Нет ИТОГО модели {model}: ничего не оценено в {families}.",
    ),
    "note": (
        "A cell: the share of right answers, then scored / asked. TOTAL: the unweighted mean of the categories.",
        "В ячейке: доля верных ответов, затем оценено / задано. ИТОГО: невзвешенное среднее категорий.",
    ),
    "sandbox": ("What held models' programs", "Что ограждало программы моделей"),
    "verdict": ("Verdict", "Вердикт"),
    "suite": ("Suite", "Раздел"),
    "overall": ("overall", "в целом"),
    "score": ("Score", "Оценка"),
    "threshold_head": ("Threshold", "Порог"),
    "weight": ("Weight", "Вес"),
    "outcome": ("Outcome", "Исход"),
    "why": ("Why", "Почему"),
    "pass": ("Pass", "Пройдено"),
    "fail": ("Fail", "Не пройдено"),
    "undecided": ("Undecided", "Не решено"),
    "error": ("Error", "Ошибка"),
    "bands_head": ("What the scores of {metric} mean", "Что значат оценки {metric}"),
    "band": ("Band", "Уровень"),
    "from": ("From", "От"),
    "meaning": ("Meaning", "Значение"),
    "excellent": ("excellent", "отлично"),
    "good": ("good", "хорошо"),
    "fair": ("fair", "удовлетворительно"),
    "poor": ("poor", "плохо"),
    "factual_correctness_excellent": (
        "all or nearly all that is said is right, and nothing that matters is missing",
        "верно всё или почти всё, важное не упущено",
    ),
    "factual_correctness_good": ("most is right; little is missing", "большинство утверждений верно, упущено мало"),
    "factual_correctness_fair": (
        "about half is right or is there at all; check before use",
        "верна или присутствует около половины; перед использованием проверить",
    ),
    "factual_correctness_poor": ("mostly wrong or missing; do not rely on it", "в основном неверно или упущено"),
    "response_groundedness_excellent": (
        "the contexts bear out the whole answer",
        "контексты подтверждают весь ответ",
    ),
    "response_groundedness_good": (
        "the contexts bear out most of the answer",
        "контексты подтверждают большую часть ответа",
    ),
    "response_groundedness_fair": (
        "the contexts bear out a part; the rest is the model's own",
        "контексты подтверждают часть, остальное модель добавила сама",
    ),
    "response_groundedness_poor": (
        "the contexts hardly bear out the answer",
        "контексты почти не подтверждают ответ",
    ),
    "cot_head": ("Chain of thought", "Цепочка рассуждений"),
    "cot_sound": ("Right and sound", "Верно и без ошибок"),
    "cot_worth": _COT_WORTH,
    "run": ("Run", "Запуск"),
    "calls": (
        "{asked} requests: {cached} from the cache, {answered} asked now, {failed} failed.",
        "Запросов: {asked}; из кэша: {cached}, заданы сейчас: {answered}, с ошибкой: {failed}.",
    ),
}


_REASONS = (
    (r"undecided after (\d+) of at most (\d+) questions", r"не решено после \1 вопросов, самое большее \2"),
    (r"nothing scored: 0 of (\d+) rows; .*", r"не оценено ни одной строки из \1; смотрите их статусы"),
    (r"nothing scored: no row of (.*?); .*", r"не оценено: нет ни одной строки \1; смотрите статусы строк"),
    (r"nothing scored (?:in|for) (.*?); .*", r"ничего не оценено: \1; смотрите статусы строк"),
    (
        r"only ([\d.]+) % of the applicable rows are scored, expected at least (\d+) %; .*",
        r"оценено лишь \1 % применимых строк, нужно не менее \2 %; смотрите ошибки модели и сбои судей",
    ),
    (r"an error in (.*?); look there", r"ошибка: \1; смотрите там"),
    (r"the model could not be asked: (.*)", r"модель нельзя спросить: \1"),
    (r"it hangs on (.*?), which is undecided", r"зависит от того, что не решено: \1"),
    (
        r"without network a source can at best be UNCERTAIN, .*",
        r"без сети источник может быть не более чем UNCERTAIN, поэтому никакая оценка не решает этот раздел",
    ),
)
"""The reasons of `metrics.final`, which results.json has in English, in Russian."""

DECIDING = (
    "about {n} scored answers would decide, did mean and spread stay",
    "решили бы около {n} оценённых ответов при тех же среднем и разбросе",
)


def reason(text: str, language: str) -> str:
    """Return a verdict's reason in a report's language; one that is not known stays as it is."""
    if language != "ru":
        return text
    for pattern, russian in _REASONS:
        if found := re.fullmatch(pattern, text):
            return found.expand(russian)
    return text


def why(part: Mapping[str, Any], language: str) -> str:
    """Say why a suite or a model came to its outcome: the reason, or how many answers would decide it."""
    if part["reason"]:
        return reason(part["reason"], language)
    if part["outcome"] == "undecided" and part["n_deciding"]:
        return DECIDING[language == "ru"].format(n=part["n_deciding"])
    return ""


def meaning(metric: str, band: str, language: str) -> str:
    """Say what a band of a metric's scores means; '' where the catalogue has no words for it."""
    name = f"{metric}_{band}"
    return phrase(name, language) if name in _PHRASES else ""


def phrase(name: str, language: str, **values: object) -> str:
    """Return a phrase in a report's language."""
    english, russian = _PHRASES[name]
    return (russian if language == "ru" else english).format(**values)
