"""The reports' words in English and Russian."""

from collections.abc import Mapping

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
    "no_total": (
        "No TOTAL for {model}: nothing was scored in {families}.",
        "Нет ИТОГО модели {model}: ничего не оценено в {families}.",
    ),
    "note": (
        "A cell: the share of right answers, then scored / asked. TOTAL: the unweighted mean of the categories.",
        "В ячейке: доля верных ответов, затем оценено / задано. ИТОГО: невзвешенное среднее категорий.",
    ),
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
    "run": ("Run", "Запуск"),
    "calls": (
        "{asked} requests: {cached} from the cache, {answered} asked now, {failed} failed.",
        "Запросов: {asked}; из кэша: {cached}, заданы сейчас: {answered}, с ошибкой: {failed}.",
    ),
}


def phrase(name: str, language: str, **values: object) -> str:
    """Return a phrase in a report's language."""
    english, russian = _PHRASES[name]
    return (russian if language == "ru" else english).format(**values)
