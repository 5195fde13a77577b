"""Cited answers in the manner of real models: citations are read, claims keep their words, prose cites nothing."""

from collections import Counter
from random import Random

import pytest

from metrics.citation.answers import parse_answer
from tests.acceptance.citing.answers import PASSAGES, answer, prose, sentence, words

LANGUAGES = ("en", "ru", "zh")
ANSWERS = 1200
SENTENCES = 3000
PROSE = 600
SILENT = 0.005  # the greatest share of citing answers read as citing nothing
ASTRAY = 0.02  # the greatest share of cited sentences read with other numbers
LED = ("{l}", "согласно", "указано", "according", "stated")  # forms whose words stay in the claim


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_that_cites_is_read_as_citing(language: str) -> None:
    written = [answer(language, index) for index in range(ANSWERS)]
    silent = [one for one in written if not parse_answer(one.text, PASSAGES).citations]
    told = [f"{one.sentences[0][0]!r}: {one.text!r}" for one in silent]
    assert len(silent) <= SILENT * ANSWERS, "\n".join([f"{len(silent)} of {ANSWERS}", *told])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_read_with_its_numbers(language: str) -> None:
    astray: Counter[str] = Counter()
    examples = {}
    for index in range(SENTENCES):
        text, (form, numbers, _) = sentence(language, Random(f"sentence/{language}/{index}"))
        found = {one.number for one in parse_answer(text, PASSAGES).citations}
        if found != numbers:
            astray[form] += 1
            examples[form] = f"{text!r} cites {sorted(numbers)}, read {sorted(found)}"
    told = [f"{form!r} x{count}: {examples[form]}" for form, count in astray.most_common(20)]
    assert astray.total() <= ASTRAY * SENTENCES, "\n".join([f"{astray.total()} of {SENTENCES}", *told])


@pytest.mark.parametrize("language", LANGUAGES)
def test_claims_keep_their_words(language: str) -> None:
    cut = []
    for index in range(SENTENCES):
        text, (form, _, fact) = sentence(language, Random(f"claim/{language}/{index}"))
        whole = Counter(words(fact))
        led = any(mark in form for mark in LED) or (language == "zh" and not form.startswith(("{f}", "**{f}")))
        for one in parse_answer(text, PASSAGES).citations:
            claim = Counter(words(one.claim))
            if not (whole <= claim if led else whole == claim):
                cut.append(f"{form!r}: {one.claim!r} of {text!r}")
    assert len(cut) <= 0.005 * SENTENCES, "\n".join([f"{len(cut)} of {SENTENCES}", *cut[:20]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_without_citations_cites_nothing(language: str) -> None:
    told = []
    for index in range(PROSE):
        text = prose(language, index)
        found = parse_answer(text, PASSAGES).citations
        if found:
            told.append(f"{[one.label for one in found]}: {text!r}")
    assert len(told) <= SILENT * PROSE, "\n".join([f"{len(told)} of {PROSE}", *told[:10]])
