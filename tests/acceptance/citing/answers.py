"""Answers of one to five sentences, each sentence cited in one of the forms that models use."""
# ruff: noqa: E501 - the forms stand in rows

import re
from dataclasses import dataclass
from random import Random

from tests.acceptance.citing.facts import FACTS, NAMES, PROSE

PASSAGES = 10
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
# {a} and {b} are passages, {f} a sentence without its stop and with its first letter small where the form leads it.
ANYWHERE = """
{f} [{a}]. | {f}. [{a}] | {f}.[{a}] | {f}[{a}]. | {f} [{a}, {b}]. | {f} [{a},{b}]. | {f} [{a}][{b}]. | {f} [{a}] [{b}].
{f} [{a}-{c}]. | {f} [{a}–{c}]. | {f} 【{a}:0†source】. | {f}【{a}†source】. | {f}{s}. | {f}.{s} | {f} [^{a}]. | {f} **[{a}]**.
{f} ［{a}］. | {f} [{a}](https://example.org/{a}). | {f} [{a}; {b}]. | {f} [[{a}]]. | {f} <sup>{a}</sup>. | {f} [citation:{a}].
{f} [{a}, {b}, {d}]. | {f} [^{a}][^{b}]. | {f} ([{a}]). | {f} ([{a}], [{b}]). | {f} \\[{a}\\]. | **{f}** [{a}].
- {f} [{a}]. | 1. {f} [{a}]. | [{a}] {f}. | {f} [{a}]–[{c}].
"""
FORMS = {
    "en": """
{f} (Document {a}). | {f} [Document {a}]. | {f} (Passage {a}). | {f} [Passage {a}]. | {f} (Source {a}). | {f} [Source {a}].
{f} (Documents {a}, {b}). | {f} (Documents {a} and {b}). | {f} [Passages {a} and {b}]. | {f} [Passage {a}: Titanic].
{f} [{a} and {b}]. | {f} [{a} & {b}]. | {f} [{a}, p. 12]. | {f} (Doc {a}). | {f} [Doc {a}]. | {f} (see Document {a}). | {f} [Ref {a}].
{f} (Source: Document {a}). | {f} [Source: Passage {a}]. | {f} (document {a}). | {f} (passage {a}). | {f}. (Document {a})
{f} (Document {a}, Document {b}). | {f} [Document {a}, Document {b}]. | {f} (Document [{a}]). | {f} (as stated in Document {a}).
According to Document {a}, {l}. | According to Passage {a}, {l}. | According to Source {a}, {l}. | As stated in Document {a}, {l}.
Document {a} states that {l}. | Passage {a} mentions that {l}. | Based on Passage {a}, {l}. | As mentioned in Passage {a}, {l}.
According to [{a}], {l}. | According to Documents {a} and {b}, {l}. | Document {a} says that {l}. | According to the Document [{a}], {l}.
Per Document {a}, {l}. | As Document {a} notes, {l}. | In Document {a}, it is stated that {l}. | Passage [{a}] states that {l}.
{f}, according to Document {a}. | {f}, as stated in Passage {a}. | Source {a} indicates that {l}. | From Passage {a}, {l}.
""",
    "ru": """
{f} (документ {a}). | {f} (Документ {a}). | {f} [Документ {a}]. | {f} [документ {a}]. | {f} (документы {a}, {b}). | {f} (источник {a}).
{f} (документы {a} и {b}). | {f} [Источник {a}]. | {f} (отрывок {a}). | {f} [Отрывок {a}]. | {f} (фрагмент {a}). | {f} (док. {a}).
{f} (см. документ {a}). | {f} [{a} и {b}]. | {f} [{a}, с. 12]. | {f} [Документ {a}: Титаник]. | {f}. (документ {a}) | {f} [источник {a}].
{f} (Источник: документ {a}). | {f} (документ [{a}]). | {f} [документы {a} и {b}]. | {f} (источники {a}, {b}). | {f} (пассаж {a}).
Согласно документу {a}, {l}. | Как указано в документе {a}, {l}. | По данным документа {a}, {l}. | Согласно источнику {a}, {l}.
В документе {a} говорится, что {l}. | Документ {a} сообщает, что {l}. | Согласно отрывку {a}, {l}. | В отрывке {a} сказано, что {l}.
Как сказано в отрывке {a}, {l}. | Согласно [{a}], {l}. | Согласно документам {a} и {b}, {l}. | В источнике {a} указано, что {l}.
Согласно документу [{a}], {l}. | Как следует из документа {a}, {l}. | {f}, согласно документу {a}. | {f}, как указано в документе {a}.
""",
    "zh": """
{f}（文档{a}）。 | {f}(文档{a})。 | {f}[文档{a}]。 | {f}【文档{a}】。 | {f}【{a}】。 | {f}（来源{a}）。 | {f}[来源{a}]。 | {f}（文档 {a}）。
{f}（文档{a}、{b}）。 | {f}（文档{a}和文档{b}）。 | {f}（文档{a}和{b}）。 | {f}（参见文档{a}）。 | {f}（见文档{a}）。 | {f}（段落{a}）。
{f}[段落{a}]。 | {f}[{a}、{b}]。 | {f}[{a}，{b}]。 | {f}。（文档{a}） | {f}（来源：文档{a}）。 | {f}[文档{a}：泰坦尼克]。 | {f}（资料{a}）。
{f}［{a}］。 | {f}[{a}][{b}]。 | {f}（文档[{a}]）。 | {f}【{a}】【{b}】。 | {f}。【{a}】 | {f}（文献{a}）。
根据文档{a}，{f}。 | 文档{a}指出，{f}。 | 如文档{a}所述，{f}。 | 文档{a}提到{f}。 | 根据来源{a}，{f}。 | 根据段落{a}，{f}。
根据文档[{a}]，{f}。 | 根据文档{a}和文档{b}，{f}。 | 正如文档{a}所说，{f}。 | 根据[{a}]，{f}。 | 文档{a}中提到，{f}。 | 据文档{a}，{f}。
文档{a}显示{f}。 | 根据资料{a}，{f}。
""",
}


@dataclass(frozen=True)
class Cited:
    """An answer: its text, and for each sentence its form, the numbers that it cites and the words of its claim."""

    text: str
    sentences: tuple[tuple[str, frozenset[int], str], ...]


def rows(lines: str) -> list[str]:
    """Split lines of forms."""
    return [form for line in lines.strip().splitlines() for form in line.split(" | ")]


def fill(text: str, language: str, random: Random) -> str:
    """Give a sentence its names and numbers."""
    return re.sub(
        r"\{(name|year|num|big)\}",
        lambda found: {
            "name": random.choice(NAMES[language]),
            "year": str(random.randint(1700, 2020)),
            "num": str(random.randint(11, 90)),
            "big": str(random.randint(101, 990)),
        }[found[1]],
        text,
    )


def sentence(language: str, random: Random) -> tuple[str, tuple[str, frozenset[int], str]]:
    """Write one cited sentence."""
    form = random.choice(rows(FORMS[language]) + rows(ANYWHERE))
    fact = fill(random.choice(FACTS[language].strip().splitlines()), language, random)
    a, b, d = random.sample(range(1, PASSAGES + 1), 3)
    if "{c}" in form:
        a = random.randint(1, PASSAGES - 2)
    c = a + random.randint(1, 2)
    cited = {"a": {a}, "b": {b}, "c": set(range(a, c + 1)), "d": {d}, "s": {a}}
    numbers = frozenset().union(*(cited[name] for name in re.findall(r"\{([abcds])\}", form)))
    proper = fact.split()[0].rstrip(",") in {word for name in NAMES[language] for word in name.split()}
    low = fact if proper else fact[0].lower() + fact[1:]
    text = form.format(f=fact, l=low, a=a, b=b, c=c, d=d, s=str(a).translate(RAISED))
    if language == "zh":
        text = re.sub(r"\.(?=$|\[|[⁰¹²³⁴⁵⁶⁷⁸⁹])|\.(?= \[\d+\]$)", "。", text)
    return text, (form, numbers, fact)


def answer(language: str, index: int) -> Cited:
    """Write the answer of that index."""
    random = Random(f"citing/{language}/{index}")
    written = [sentence(language, random) for _ in range(random.randint(1, 5))]
    if any("](http" in text for text, _ in written):
        # A line that a number leads and that has an address may be a list of sources: left out.
        written = [one for one in written if not one[0].startswith("[")]
    listed = any(text.startswith(("- ", "1. ")) for text, _ in written)
    gap = "\n" if listed else random.choice(("", " ") if language == "zh" else (" ", " ", "\n", "\n\n"))
    return Cited(gap.join(text for text, _ in written), tuple(told for _, told in written))


def prose(language: str, index: int) -> str:
    """Write prose that cites nothing: each sentence in turn, some with facts around it."""
    random = Random(f"prose/{language}/{index}")
    lines = PROSE[language].strip().splitlines()
    stop = "。" if language == "zh" else "."
    facts = FACTS[language].strip().splitlines()
    around = [fill(random.choice(facts), language, random) + stop for _ in range(random.randint(0, 3))]
    text = fill(lines[index % len(lines)], language, random).replace("\\n", "\n")
    parts = [*around, text]
    if "\n" not in text:
        random.shuffle(parts)
    return ("\n" if "\n" in text else " ").join(parts)


def words(text: str) -> list[str]:
    """Give the words of a text, or its characters where the script has no spaces."""
    return re.findall(r"[一-鿿]|[^\W一-鿿]+%?", re.sub(r"^\s*(?:1\.|-) ", "", text).lower())
