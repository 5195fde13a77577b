"""Put words into alphabetical order: questions are drawn from a seed, and answers checked by rule."""

import basic_control as bc

LETTERS = {"en": "abcdefghijklmnopqrstuvwxyz", "ru": "абвгдежзиклмнопрстуфхцчшэюя"}
PROMPTS = {
    "en": "Put these words into alphabetical order, on one line, with spaces between them: {words}",
    "ru": "Расставьте слова по алфавиту в одну строку через пробел: {words}",
}


def verify(item, reply):
    """Accept the last line that is not empty, if it is the words in order; never raise on any text."""
    lines = [line.strip(" .*`") for line in reply.splitlines() if line.strip(" .*`")]
    if not lines:
        return bc.Verdict(None, "empty reply")
    words = lines[-1].casefold().split()
    if words == item.answer.split():
        return bc.Verdict(correct=True, reason="in order")
    has_all_words = sorted(words) == item.answer.split()
    return bc.Verdict(correct=False, reason="another order" if has_all_words else "other words")


@bc.family(
    levels={"easy": {"count": 3}, "hard": {"count": 8}},
    languages=("en", "ru"),
    verify=verify,
    reference=lambda item: item.answer,
    near_misses=lambda item: [" ".join(reversed(item.answer.split())), f"{item.answer} and", "I cannot."],
    titles={"en": "Alphabet", "ru": "Алфавит"},
)
def alphabet(rng, *, count, language):
    """Draw different words of five letters; a level says how many."""
    words = ["".join(rng.sample(LETTERS[language], 5)) for _ in range(count)]
    return bc.Item(
        prompt=PROMPTS[language].format(words=" ".join(words)),
        answer=" ".join(sorted(words)),
    )
