"""ALCE's citation recall and precision, with a judge instead of its NLI model.

A sentence is recalled if the union of its cited passages entails it; one that cites no passage, or one that does
not exist, is not. A citation is precise if its sentence is recalled, and either it entails the sentence alone or
the others together do not. The values need extra calls (a sentence is not a clause, a union is not a passage), so
they are computed only with the option `alce`.

Source: Gao et al. 2023, Enabling large language models to generate text with citations, section 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from data.records import Found, Question
from metrics.citation.answers import CitedAnswer

Passages = Sequence[Mapping[str, str]]


def shown(passage: Mapping[str, str]) -> str:
    """Return a passage as shown to a judge: its title, if any, above its text."""
    return f"{passage['title']}\n{passage['text']}" if passage["title"] else passage["text"]


def cited(answer: CitedAnswer) -> dict[int, list[int]]:
    """Return the numbers that each sentence cites, for every sentence that is a claim or cites anything."""
    numbers: dict[int, list[int]] = {
        index: [] for index, one in enumerate(answer.sentences) if one.counted or one.cited
    }
    for citation in answer.citations:
        if citation.sentence in numbers and citation.number not in numbers[citation.sentence]:
            numbers[citation.sentence].append(citation.number)
    return numbers


def _question(key: str, answer: CitedAnswer, index: int, passages: Passages, numbers: Sequence[int]) -> Question:
    claim = answer.sentences[index].text
    content = "\n\n".join(shown(passages[number - 1]) for number in numbers)
    near = " ".join(one.text for one in answer.sentences[max(0, index - 3) : index + 1])[-2000:]
    return Question(key, {"kind": "passage", "content": content, "claim": claim, "context": near})


def questions(answer: CitedAnswer, passages: Passages, found: Found, most: int) -> Iterator[Question]:
    """Return questions on each cited sentence: the union of its passages, and each alone if there are several."""
    asked = 0
    for index, numbers in cited(answer).items():
        if not numbers or not all(1 <= number <= len(passages) for number in numbers) or asked >= most:
            continue
        asked += len(numbers)
        yield _question(f"{index}", answer, index, passages, numbers)
        if len(numbers) > 1:
            for number in numbers:
                yield _question(f"{index}.{number}", answer, index, passages, [number])


def _entails(found: Found, key: str, step: str = "alce") -> bool:
    judged = found.get(step, {}).get(key)
    return judged is not None and judged.label == "ENTAILMENT"


def rest_questions(answer: CitedAnswer, passages: Passages, found: Found, most: int) -> Iterator[Question]:
    """Return questions on whether the others entail a recalled sentence without a citation that alone does not."""
    for index, numbers in cited(answer).items():
        if len(numbers) > 1 and _entails(found, f"{index}"):
            for number in numbers:
                if not _entails(found, f"{index}.{number}"):
                    rest = [other for other in numbers if other != number]
                    yield _question(f"{index}-{number}", answer, index, passages, rest)


def values(answer: CitedAnswer, passages: Passages, found: Found) -> tuple[float | None, float | None]:
    """Return recall and precision in [0, 1]; recall is None without sentences, precision without citations."""
    sentences = cited(answer)
    recalled, precise = [], []
    for index, numbers in sentences.items():
        whole = bool(numbers) and all(1 <= n <= len(passages) for n in numbers) and _entails(found, f"{index}")
        recalled.append(float(whole))
        for number in numbers:
            alone = len(numbers) == 1 or _entails(found, f"{index}.{number}")
            precise.append(float(whole and (alone or not _entails(found, f"{index}-{number}", "alce_rest"))))
    return fmean(recalled) if recalled else None, fmean(precise) if precise else None
