"""The words of the HTML report in English and Russian."""

from collections.abc import Mapping

from tasks.report.phrases import phrase

_PHRASES: Mapping[str, tuple[str, str]] = {
    "page_title": ("Evaluation report", "Отчёт об оценке"),
    "skip": ("Skip to the content", "К содержанию"),
    "contents": ("Contents", "Разделы"),
    "theme": ("Theme", "Тема"),
    "theme_auto": ("auto", "авто"),
    "theme_light": ("light", "светлая"),
    "theme_dark": ("dark", "тёмная"),
    "noscript": (
        "Scripts are off: tables cannot be sorted and the sample browser is not shown. All numbers are here.",
        "Скрипты выключены: таблицы не сортируются, примеры не показаны. Все числа на месте.",
    ),
    "none": ("No verdict", "Нет вердикта"),
    "says_pass": (
        "{k} of {n} models at or above every threshold",
        "{k} из {n} моделей не ниже всех порогов",
    ),
    "says_fail": ("{k} of {n} models below a threshold", "{k} из {n} моделей ниже порога"),
    "says_undecided": (
        "{k} of {n} models cannot be decided with so few answers",
        "{k} из {n} моделей нельзя решить при таком числе ответов",
    ),
    "says_error": (
        "{k} of {n} models cannot be judged: too little of what was asked is scored",
        "{k} из {n} моделей нельзя судить: оценено слишком мало из заданного",
    ),
    "says_none": (
        "No gate was applied in this run; the numbers below stand by themselves.",
        "В этом запуске порог не применялся; числа ниже говорят сами за себя.",
    ),
    "gate": ("Gate", "Порог"),
    "gate_point": (
        "point: a score passes at or above its threshold",
        "point: оценка проходит, если она не ниже порога",
    ),
    "gate_interval": (
        "interval: fails only when the 95 % interval lies wholly below the threshold",
        "interval: не проходит, только если весь 95 % интервал ниже порога",
    ),
    "gate_off": ("off: reported only, the exit code is 0", "off: только отчёт, код возврата 0"),
    "exit_code": ("exit code", "код возврата"),
    "overall": ("Overall", "Итог"),
    "weight": ("weight", "вес"),
    "threshold": ("threshold", "порог"),
    "below": (
        "{name}: {score}, below the threshold of {threshold}",
        "{name}: {score}, ниже порога {threshold}",
    ),
    "not_settled": (
        "{name}: {score}, the interval holds the threshold of {threshold}",
        "{name}: {score}, порог {threshold} внутри интервала",
    ),
    "attention": ("Before you rely on it", "Прежде чем полагаться"),
    "heat": ("Categories", "Категории"),
    "heat_note": (
        (
            "Mean, its 95 % interval, and scored / asked. TOTAL is the unweighted mean of the "
            "generated categories; "
            "a cell leads to its samples."
        ),
        (
            "Среднее, 95 % интервал и оценено / задано. ИТОГО: невзвешенное среднее порождённых категорий; "
            "ячейка ведёт к примерам."
        ),
    ),
    "profile": ("Score by category with 95 % intervals", "Оценка по категориям с 95 % интервалами"),
    "score": ("score", "оценка"),
    "first_models": ("The chart shows the first {n} models.", "На графике первые модели, {n}."),
    "breakdown_level": ("By level", "По уровням"),
    "breakdown_language": ("By language", "По языкам"),
    "breakdowns": ("Levels and languages", "Уровни и языки"),
    "comparison": ("Comparison of models", "Сравнение моделей"),
    "comparison_note": (
        (
            "Same items in pairs. The p-value is exact (McNemar) for right/wrong answers and from "
            "sign flips otherwise, "
            "corrected by Holm over all {n} tests of this run, metrics and pairs together; each "
            "interval is at the level of its step there (95 % for one test, more for several), and "
            "holds 0 exactly where the two cannot be told apart. Detectable: the smallest true "
            "difference that so many pairs show in a single test with power 0.8."
        ),
        (
            "Одни и те же вопросы попарно. p: точный критерий Макнемара для верно/неверно, иначе "
            "перестановки знаков, "
            "с поправкой Холма на все проверки этого запуска ({n}), по всем метрикам и парам вместе; "
            "каждый интервал дан на уровне своего шага поправки (95 % при одной проверке, больше при "
            "нескольких) и содержит 0 ровно тогда, когда модели неразличимы. Различимо: наименьшая "
            "разница, видимая при стольких парах в одной проверке с мощностью 0,8."
        ),
    ),
    "groups": ("Cannot be told apart", "Неразличимы"),
    "groups_alone": ("{model} stands apart", "{model} отличается от всех"),
    "difference": ("A − B, points", "A − B, пункты"),
    "pairs": ("Pairs", "Пары"),
    "only": ("Only A / only B", "Только A / только B"),
    "p_value": ("p (Holm)", "p (Холм)"),
    "detectable": ("Detectable, points", "Различимо, пункты"),
    "conclusion": ("Conclusion", "Вывод"),
    "better": ("{model} is better", "{model} лучше"),
    "no_difference": ("no difference shown", "разница не показана"),
    "repeats": ("Repeats", "Повторы"),
    "agreement": ("agreement", "согласие"),
    "typical": ("Typical errors", "Типичные ошибки"),
    "reason": ("Reason", "Причина"),
    "count": ("Count", "Число"),
    "share": ("Share", "Доля"),
    "cot": ("Chain of thought", "Цепочка рассуждений"),
    "l1": ("L1 final answer", "L1 ответ"),
    "l2": ("L2 number of steps", "L2 число шагов"),
    "l3": ("L3 likeness of steps", "L3 сходство шагов"),
    "l4": ("L4 coherence", "L4 связность"),
    "sound": ("right and sound", "верно и без ошибок"),
    "accuracy": ("right calculations", "верные вычисления"),
    "coherence": ("known operands", "известные операнды"),
    "cot_cells": ("Answer against chain", "Ответ и цепочка"),
    "cot_cells_note": (
        "A right answer from an invalid chain was found by luck or by memory: look at these first.",
        "Верный ответ при неверной цепочке найден случайно или по памяти: смотрите такие первыми.",
    ),
    "right_answer": ("Right answer", "Верный ответ"),
    "wrong_answer": ("Wrong answer", "Неверный ответ"),
    "without_answer": ("No answer", "Нет ответа"),
    "valid_chain": ("valid chain", "верная цепочка"),
    "invalid_chain": ("invalid chain", "неверная цепочка"),
    "no_calculations": ("no calculations", "без вычислений"),
    "first_errors": ("Where the first wrong calculation falls", "Где первое неверное вычисление"),
    "step": ("Step", "Шаг"),
    "no_wrong_step": ("none wrong", "ошибок нет"),
    "rules": ("How the answer was found", "Как найден ответ"),
    "unsupported": ("a number from nowhere", "число ниоткуда"),
    "responses_with": ("Responses with", "Ответы, где есть"),
    "citation": ("Citations", "Цитирование"),
    "citation_support": ("Does the source support the claim", "Подтверждает ли источник утверждение"),
    "citation_verification": ("Is the source real", "Подлинен ли источник"),
    "citation_correctness": ("Is the answer right", "Верен ли ответ"),
    "verdicts_of_judges": (
        "Counted over citations and judges; a citation that points nowhere is not judged and counts 0.",
        "Подсчёт по цитатам и судьям; цитата в никуда не оценивается и даёт 0.",
    ),
    "not_judged": ("not judged", "не оценено"),
    "rag": ("Answers from retrieved contexts", "Ответы по контекстам"),
    "bands": ("Bands", "Уровни качества"),
    "shortcuts": ("settled without a judge", "решено без судьи"),
    "judges_title": ("Judges", "Судьи"),
    "alpha": ("Krippendorff's alpha", "альфа Криппендорфа"),
    "alpha_note": (
        "1: the judges agree; 0: as by chance. Over {n} units that several judges rated.",
        "1: судьи согласны; 0: как случайно. По {n} единицам с несколькими оценками.",
    ),
    "judge": ("Judge", "Судья"),
    "judge_mean": ("Mean score given", "Средняя оценка"),
    "failed": ("Failed", "Сбои"),
    "operations": ("Time, tokens and cost", "Время, токены и стоимость"),
    "asked_of": ("Asked", "Кому"),
    "role": ("Role", "Роль"),
    "role_model": ("model", "модель"),
    "role_judge": ("judge", "судья"),
    "replies": ("Replies", "Ответы"),
    "from_cache": ("From cache", "Из кэша"),
    "errors_n": ("Errors", "Ошибки"),
    "cut_off": ("Cut off", "Обрезано"),
    "latency": ("Latency, s", "Задержка, с"),
    "latency_chart": (
        "Latency: median, middle half, 5th to 95th percentile",
        "Задержка: медиана, квартили, 5–95 %",
    ),
    "tokens": ("Tokens", "Токены"),
    "tokens_in": ("In", "Вход"),
    "tokens_out": ("Out", "Выход"),
    "cost_now": ("Cost of this run", "Стоимость запуска"),
    "cost_all": ("Without the cache", "Без кэша"),
    "speed": ("Tokens/s", "Токенов/с"),
    "stages": ("Stages", "Этапы"),
    "runs": ("Runs", "Запусков"),
    "cached_runs": ("of them cached", "из них из кэша"),
    "seconds": ("Seconds", "Секунды"),
    "samples": ("Samples", "Примеры"),
    "facts": ("This run", "Этот запуск"),
    "versions": ("Versions", "Версии"),
    "identities": ("What was asked", "Кого спрашивали"),
    "configuration": ("Configuration", "Конфигурация"),
    "stored_tables": ("Tables", "Таблицы"),
    "commit": ("Commit", "Коммит"),
    "fingerprint": ("Rules", "Правила"),
    "wall": ("Duration", "Длительность"),
    "started": ("Started", "Начало"),
    "sandbox": ("What held models' programs", "Что ограждало программы моделей"),
    "units": ("Versions of families", "Версии семейств"),
    "rows": ("Rows", "Строки"),
    "digest": ("Digest", "Хеш"),
    "name": ("Name", "Имя"),
    "value": ("Value", "Значение"),
    "part_interpretability": ("interpretability", "объяснимость"),
    "part_correctness": ("correctness", "верность ответа"),
    "part_coverage": ("coverage", "покрытие"),
    "part_support": ("support", "подтверждение"),
    "part_verification": ("verification", "подлинность"),
    "part_precision": ("precision", "точность"),
    "part_recall": ("recall", "полнота"),
    "part_contradiction_rate": ("contradicted", "противоречит"),
    "part_neutral_rate": ("neutral", "не следует"),
    "note_charts": (
        (
            "Charts are left out: {missing} is not installed. Install the extra with pip install "
            "'basic-control[report]'."
        ),
        "Графиков нет: {missing} не установлен. Установите дополнение: pip install 'basic-control[report]'.",
    ),
    "note_chart": ("A chart could not be drawn: {problem}", "График не удалось построить: {problem}"),
    "note_small_judge": (
        (
            "Judge {judge} is a very small model ({size}): its grades say little, read them as a "
            "trial of the pipeline."
        ),
        "Судья {judge}: очень малая модель ({size}); её оценки мало что значат, это лишь проба конвейера.",
    ),
    "embedded_size": ("embedded", "встроенная"),
    "note_self_judge": (
        "{judge} judges answers of the same model; models favour their own answers.",
        "{judge} судит ответы той же модели; модели пристрастны к своим ответам.",
    ),
    "note_errors": (
        "{model}: {k} of {n} calls failed and are not scored ({kinds}).",
        "{model}: {k} из {n} вызовов не удались и не оценены ({kinds}).",
    ),
    "note_cut": (
        "{model}: {k} of {n} replies were cut off at the token limit; a larger max_tokens may change the scores.",
        "{model}: {k} из {n} ответов обрезаны пределом токенов; больший max_tokens может изменить оценки.",
    ),
    "note_judges": (
        "{model}, {metric}: judges failed on {k} of {n} rows, which are not scored.",
        "{model}, {metric}: сбой судей на {k} из {n} строк, они не оценены.",
    ),
    "note_few": (
        "{name} rests on few scored answers ({models}): see the width of the interval.",
        "{name}: оценённых ответов мало ({models}), смотрите на ширину интервала.",
    ),
    # said by the sample browser's script
    "js_loading": ("Reading the samples …", "Чтение примеров …"),
    "js_old": (
        "This browser cannot unpack the samples (DecompressionStream). They lie in tables/*.parquet.",
        "Этот браузер не может распаковать примеры (DecompressionStream). Они лежат в tables/*.parquet.",
    ),
    "js_broken": ("The samples could not be read", "Не удалось прочесть примеры"),
    "js_count": ("{k} of {n} samples", "Примеров: {k} из {n}"),
    "js_left_out": (
        "The page holds {k} of {n} samples, the ones that are not right first; all lie in tables/*.parquet.",
        "На странице {k} из {n} примеров, неверные прежде всего; все лежат в tables/*.parquet.",
    ),
    "js_cut": (
        "{k} of {n} signs shown; the whole text is in tables/",
        "Показано {k} из {n} знаков; весь текст в tables/",
    ),
    "js_model": ("Model", "Модель"),
    "js_category": ("Category", "Категория"),
    "js_level": ("Level", "Уровень"),
    "js_language": ("Language", "Язык"),
    "js_outcome": ("Outcome", "Исход"),
    "js_search": ("Search in all texts", "Поиск по всем текстам"),
    "js_reset": ("Reset", "Сбросить"),
    "js_all": ("all", "все"),
    "js_score": ("Score", "Оценка"),
    "js_time": ("Seconds", "Секунды"),
    "js_begins": ("Reason and reply", "Причина и ответ"),
    "js_right": ("right", "верно"),
    "js_partial": ("partly", "частично"),
    "js_wrong": ("wrong", "неверно"),
    "js_scored": ("scored", "оценено"),
    "js_no_answer": ("no answer", "нет ответа"),
    "js_model_error": ("model error", "ошибка модели"),
    "js_judge_failed": ("judge failed", "сбой судьи"),
    "js_not_applicable": ("not applicable", "неприменимо"),
    "js_unscored": ("not scored", "не оценено"),
    "js_not_right": ("all but right", "все, кроме верных"),
    "js_pick": ("Choose a sample from the list.", "Выберите пример из списка."),
    "js_none": ("No sample matches.", "Ничего не найдено."),
    "js_prompt": ("Prompt", "Запрос"),
    "js_response": ("Response", "Ответ"),
    "js_reasoning": ("Reasoning", "Рассуждение"),
    "js_expected": ("Expected", "Ожидалось"),
    "js_error": ("Error", "Ошибка"),
    "js_scores": ("Scores", "Оценки"),
    "js_metric": ("Metric", "Метрика"),
    "js_status": ("Status", "Статус"),
    "js_reason": ("Reason", "Причина"),
    "js_details": ("Details of {metric}", "Подробности: {metric}"),
    "js_judge_of": ("Judge {judge}", "Судья {judge}"),
    "js_judge_replies": ("What the judges replied", "Ответы судей"),
    "js_facts": ("What the question was made of", "Из чего составлен вопрос"),
    "js_others": ("The same question", "Тот же вопрос"),
    "js_call": ("The call", "Вызов"),
    "js_cached": ("from the cache", "из кэша"),
    "js_fresh": ("asked in this run", "задан в этом запуске"),
    "js_latency": ("latency", "задержка"),
    "js_tokens": ("tokens", "токены"),
    "js_finish": ("finished", "завершение"),
    "js_repeat": ("repeat", "повтор"),
    "js_request": ("request", "запрос №"),
    "js_template": ("template", "шаблон"),
    "js_yes": ("yes", "да"),
    "js_no": ("no", "нет"),
    "js_empty": ("empty", "пусто"),
    "js_previous": ("Previous", "Предыдущий"),
    "js_next": ("Next", "Следующий"),
    "js_list": ("Samples; arrow keys choose, Enter opens", "Примеры; стрелки выбирают, Enter открывает"),
    "js_sort": ("Sort by {name}", "Сортировать: {name}"),
}


def say(name: str, language: str, /, **values: object) -> str:
    """Return a phrase of the HTML report, or of the reports in common, in a report's language."""
    if name not in _PHRASES:
        return phrase(name, language, **values)
    english, russian = _PHRASES[name]
    return (russian if language == "ru" else english).format(**values)


def said_by_script(language: str) -> dict[str, str]:
    """Return the script's phrases; it fills their braces itself."""
    at = language == "ru"
    return {name.removeprefix("js_"): both[at] for name, both in _PHRASES.items() if name.startswith("js_")}


def has(name: str) -> bool:
    """Say whether there is such a phrase."""
    return name in _PHRASES


def named(kind: str, name: str, language: str) -> str:
    """Return the title of a suite, metric or part; its own name where there is none."""
    return say(f"{kind}_{name}", language) if f"{kind}_{name}" in _PHRASES else name
