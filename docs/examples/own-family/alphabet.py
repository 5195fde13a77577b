"""Put words into alphabetical order: questions are drawn from a seed, and answers checked by rule."""

from data.records import Family, Item, Verdict

LETTERS = {"en": "abcdefghijklmnopqrstuvwxyz", "ru": "абвгдежзиклмнопрстуфхцчшэюя"}
ASKED = {
    "en": "Put these words into alphabetical order, on one line, with spaces between them: {words}",
    "ru": "Расставьте слова по алфавиту в одну строку через пробел: {words}",
}


def generate(rng, *, count, language):
    """Draw different words of five letters; a level says how many."""
    words = ["".join(rng.sample(LETTERS[language], 5)) for _ in range(count)]
    return Item(
        prompt=ASKED[language].format(words=" ".join(words)),
        answer=" ".join(sorted(words)),
    )


def verify(item, reply):
    """Accept the last line that is not empty, if it is the words in order; never raise on any text."""
    lines = [line.strip(" .*`") for line in reply.splitlines() if line.strip(" .*`")]
    if not lines:
        return Verdict(None, "empty reply")
    words = lines[-1].casefold().split()
    if words == item.answer.split():
        return Verdict(correct=True, reason="in order")
    same = sorted(words) == item.answer.split()
    return Verdict(correct=False, reason="another order" if same else "other words")


UNIT = Family(
    name="alphabet",
    version=1,
    levels={"easy": {"count": 3}, "hard": {"count": 8}},
    languages=("en", "ru"),
    generate=generate,
    verify=verify,
    reference=lambda item: item.answer,
    near_misses=lambda item: [" ".join(reversed(item.answer.split())), f"{item.answer} and", "I cannot."],
    titles={"en": "Alphabet", "ru": "Алфавит"},
)
