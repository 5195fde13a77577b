"""The reasons of verdicts and scores, in Russian; the tables have them in English."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

_SAYINGS: Mapping[str, str] = {
    # verdicts of the families
    "right": "верно",
    "empty reply": "пустой ответ",
    "no number": "нет числа",
    "wrong sign": "неверный знак",
    "off by one": "ошибка на единицу",
    "off by tens": "ошибка на десятки",
    "other number": "другое число",
    "ignored parentheses": "не учтены скобки",
    "ignored precedence": "не учтён порядок действий",
    "stopped at an intermediate result": "дан промежуточный результат",
    "names several of them": "названо несколько",
    "names another one": "назван другой",
    "names none of them": "никто не назван",
    "the answer line names none of them": "в строке ответа никто не назван",
    "denies the one it names": "названный отрицается",
    "asks a question": "задан вопрос",
    "breaks off": "ответ обрывается",
    "denies the number it gives": "названное число отрицается",
    "gives several numbers": "дано несколько чисел",
    "gives a bound": "дана граница, а не число",
    "no code in the reply": "в ответе нет кода",
    "no outcome": "нет результата",
    "all tests pass": "все тесты пройдены",
    "syntax error": "синтаксическая ошибка",
    "no such function": "нет такой функции",
    "timeout": "превышено время",
    "memory": "превышена память",
    "bad value": "негодное значение",
    "wrong value": "неверное значение",
    "wrong type": "неверный тип",
    "no runner for the language": "нет среды для этого языка",
    "no Kotlin compiler": "нет компилятора Kotlin",
    "no Java for Kotlin": "нет Java для Kotlin",
    "no Landlock or seccomp to confine Kotlin": "нет Landlock или seccomp, чтобы оградить Kotlin",
    "the Kotlin compiler does not work": "компилятор Kotlin не работает",
    "the key sentence": "ключевое предложение",
    "copied the whole paragraph": "скопирован весь абзац",
    "chose several sentences": "выбрано несколько предложений",
    "cut the key sentence short": "ключевое предложение обрезано",
    "changed the key sentence": "ключевое предложение изменено",
    "paraphrased": "пересказано",
    "none of the sentences": "ни одно из предложений",
    "right text with something around it": "верный текст, но рядом лишнее",
    "differs": "отличается",
    "differs in a character or two": "отличается одним-двумя знаками",
    "letter case differs": "отличается регистр букв",
    "another number of vowels": "другое число гласных",
    "no command was carried out": "ни одна команда не выполнена",
    "commands in another order": "команды в другом порядке",
    "echoed the source": "повторён исходный текст",
    "no JSON object and no list": "нет ни объекта JSON, ни списка",
    "the JSON object is cut off": "объект JSON обрывается",
    "wrong key": "значение под чужим ключом",
    "every entity and nothing else": "всё найдено, ничего лишнего",
    # scores of the metrics
    "no final answer could be extracted": "итоговый ответ не найден",
    "the reference has neither steps nor an answer": "в эталоне нет ни шагов, ни ответа",
    "no calculations": "нет вычислений",
    "valid chain": "верная цепочка",
    "invalid chain": "неверная цепочка",
    "right answer, no calculations": "верный ответ, нет вычислений",
    "right answer, valid chain": "верный ответ, верная цепочка",
    "right answer, invalid chain": "верный ответ, неверная цепочка",
    "wrong answer, no calculations": "неверный ответ, нет вычислений",
    "wrong answer, valid chain": "неверный ответ, верная цепочка",
    "wrong answer, invalid chain": "неверный ответ, неверная цепочка",
    "empty response": "пустой ответ",
    "empty reference": "пустой эталон",
    "no claims in the reference": "в эталоне нет утверждений",
    "no claims in the response": "в ответе нет утверждений",
    "no gold answer": "нет эталонного ответа",
    "no citation": "нет ссылок на источники",
    "no contexts": "нет контекстов",
    "equals a context": "совпадает с контекстом",
    "sentences of a context": "предложения из контекста",
    "no option is named": "вариант не назван",
    "more than one option is named": "названо больше одного варианта",
    "right option": "верный вариант",
    "another option": "другой вариант",
    "equal": "совпадает",
    "another number": "другое число",
    "another text": "другой текст",
    "as the log states": "как указано в журнале",
    "the log states no score between 0 and 1": "в журнале нет оценки от 0 до 1",
    "another value": "другое значение",
    "as wanted": "как требовалось",
    "holds an unwanted text": "есть нежелательный текст",
    "a text is missing": "нужного текста нет",
    "no JSON value": "нет значения JSON",
    "does not fit the schema": "не подходит под схему",
    "matches": "соответствует",
    "no match": "нет соответствия",
    "the pattern has no such group": "в выражении нет такой группы",
    "the pattern took too long": "выражение искалось слишком долго",
    "the row has no answer": "в строке нет ответа",
    "no baseline": "не с чем сравнить",
    "the baseline is empty": "сравниваемый ответ пуст",
    "better": "лучше",
    "worse": "хуже",
    "tie": "ничья",
    "the two orders disagree": "в двух порядках выбрано разное",
    "the row has no tests": "в строке нет тестов",
    "an assertion failed": "не выполнено условие теста",
    "wrong output": "неверный вывод",
    # calls that were not answered
    "error": "ошибка",
    "connection": "нет соединения",
    "rate_limit": "слишком много запросов",
    "server": "ошибка сервера",
    "auth": "ключ не принят",
    "unknown_model": "модель неизвестна серверу",
    "quota": "счёт исчерпан",
    "invalid": "запрос отклонён",
    "missing": "ответа нет в файле",
    "stopped": "запуск остановлен",
}

_NOUNS: Mapping[str, str] = {
    "a detail": "подробность", "an example": "пример", "an aside": "отступление", "a loud trifle": "громкая мелочь",
    "an e-mail": "адрес почты", "a phone": "телефон", "a date": "дата",
    "an order number": "номер заказа", "a price": "цена", "a time": "время", "a handle": "имя в сети",
    "a date without a year": "дата без года", "a partial date": "неполная дата", "a room number": "номер комнаты",
}  # fmt: skip

_FORMS: tuple[tuple[str, Callable[[re.Match[str]], str]], ...] = (
    (r"chose (an? .+)", lambda m: f"выбрано другое: {_noun(m[1])}"),
    (r"added (an? .+)", lambda m: f"добавлено: {_noun(m[1])}"),
    (r"changed (an? .+)", lambda m: f"изменено: {_noun(m[1])}"),
    (r"missed (an? .+)", lambda m: f"пропущено: {_noun(m[1])}"),
    (r"invented (an? .+)", lambda m: f"выдумано: {_noun(m[1])}"),
    (r"extracted (.+)", lambda m: f"извлечено лишнее: {_noun(m[1])}"),
    (r"a command was skipped: (.+)", lambda m: f"пропущена команда: {m[1]}"),
    (r"exception (.*)", lambda m: f"исключение {m[1]}"),
    (r"no (.+) raised", lambda m: f"исключения {m[1]} не было"),
    (r"no runner for (.+)", lambda m: f"нет среды для языка {m[1]}"),
    (r"(\w+): call failed", lambda m: f"{m[1]}: вызов не удался"),
    (r"(\w+): unparsable reply", lambda m: f"{m[1]}: ответ судьи не разобрать"),
)


def _noun(english: str) -> str:
    return _NOUNS.get(english, english)


@lru_cache(maxsize=4096)
def translated(reason: str, language: str) -> str:
    """Return a row's reason in a report's language; one that is not known stays as it is."""
    if language != "ru" or not reason:
        return reason
    if known := _SAYINGS.get(reason):
        return known
    for pattern, russian in _FORMS:
        if found := re.fullmatch(pattern, reason):
            return russian(found)
    # Several judges' reasons, joined.
    parts = reason.split("; ")
    return "; ".join(translated(part, language) for part in parts) if len(parts) > 1 else reason
