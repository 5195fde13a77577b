"""Styles in which models write a solution out: each gives the lines of a reply, without the last one."""

from collections.abc import Callable
from dataclasses import replace

from tests.acceptance.chains.notation import Notation, result, write
from tests.acceptance.chains.page import Page
from tests.acceptance.chains.sums import Number, Sum

Style = Callable[[Page], list[str]]
TIGHT = {"+": "+", "-": "-", "*": "*", "/": "/"}
WIDE = str.maketrans("0123456789+-=().,%", "０１２３４５６７８９＋－＝（）．，％")


def each(page: Page) -> range:
    return range(len(page.steps))


def gsm8k(page: Page) -> list[str]:
    """Annotations in the form of the data set."""
    way = replace(page.numbers(), units="none", group="")
    plain = Notation(signs=TIGHT, equals="=", share=page.random.choice(("decimal", "hundredth")))
    lines = []
    for index in each(page):
        sides = page.sides(index)
        *_, last = sides
        assert isinstance(last, Number)
        left = write(sides[0], replace(way, decimal="."), page.words)
        note = "=".join((write(sides[0], plain, page.words), result(last, plain, page.words)))
        shown = result(last, replace(plain, units="none", share="sign"), page.words)
        phrase = page.random.choice(page.words.lines[:3])
        lines.append(page.fill(phrase, index, eq=f"{left} = <<{note}>>{shown}"))
    return lines


def plain(page: Page) -> list[str]:
    """Nothing but equations."""
    way = page.numbers()
    return [page.eq(index, way) for index in each(page)]


def compact(page: Page) -> list[str]:
    """Equations without spaces."""
    way = replace(page.numbers(), signs=TIGHT, equals="=")
    return [page.eq(index, way) + page.random.choice(("", ".", ";")) for index in each(page)]


def labelled(page: Page) -> list[str]:
    """A label or a sentence around each equation."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "after")))
    lines = page.words.lines
    return [page.fill(page.random.choice(lines), index, eq=page.eq(index, way)) for index in each(page)]


def label_equals(page: Page) -> list[str]:
    """`Total cost = 3 * 4 = 12`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    bold = page.random.choice(("{Label} = {eq}", "- {Label} = {eq}", "**{Label}** = {eq}", "* {Label} = {eq}."))
    return [page.fill(bold, index, eq=page.eq(index, way)) for index in each(page)]


def chain(page: Page) -> list[str]:
    """`a = b = c`: the expression worked out bit by bit."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    form = page.random.choice(("{eq}", "{Label} = {eq}", "{Label}: {eq}", "- {eq}"))
    return [page.fill(form, index, eq=page.eq(index, way, chained=True)) for index in each(page)]


def chain_prose(page: Page) -> list[str]:
    """Chains inside sentences."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "after")))
    return [
        page.fill(page.random.choice(page.words.lines), index, eq=page.eq(index, way, chained=True))
        for index in each(page)
    ]


def chain_latex(page: Page) -> list[str]:
    r"""Chains in `\[ … \]`."""
    way = replace(page.numbers(latex=True), units=page.random.choice(("none", "result", "all", "after")))
    return [f"\\[ {page.eq(index, way, chained=True)} \\]" for index in each(page)]


def aligned(page: Page) -> list[str]:
    """Chains broken over the lines of an aligned block."""
    way = replace(page.numbers(latex=True), equals=" \\\\\n&= ", units=page.random.choice(("none", "result")))
    lines = []
    for index in each(page):
        text = page.eq(index, way, chained=True)
        name = page.random.choice(("aligned", "align*"))
        lines += [
            page.fill(page.words.step[0], index),
            "\\[",
            f"\\begin{{{name}}}",
            text.replace(" \\\\\n&=", " &=", 1),
        ]
        lines += [f"\\end{{{name}}}", "\\]", ""]
    return lines


def numbered(page: Page) -> list[str]:
    """`1. **Label**: equation`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    form = page.random.choice(
        (
            "{i}. **{Label}**: {eq}",
            "{i}. {Label}: {eq}",
            "{i}) {eq}",
            "({i}) {eq}",
            "{i}. {eq}",
            "{i}. **{Label}:** {eq}",
        )
    )
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def bullets(page: Page) -> list[str]:
    """Bullets directly before an equation: no minus, no product."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    form = page.random.choice(
        ("- {eq}", "* {eq}", "• {eq}", "– {eq}", "  - {eq}", "+ {eq}", "- **{eq}**", "- {Label}: {eq}")
    )
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def step_dash(page: Page) -> list[str]:
    """`Step 1 - 3 * 4 = 12`, `Step 1: 3 * 4 = 12`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    word = {"en": "Step {i}", "ru": "Шаг {i}", "zh": "步骤{i}"}[page.words.language]
    form = page.random.choice((" - {eq}", ": {eq}", " – {eq}", " — {eq}", ". {eq}", ") {eq}", ":** {eq}"))
    form = ("**" if "**" in form else "") + word + form
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def headed(page: Page) -> list[str]:
    """A heading or a sentence, then the equation on its own line."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    head = page.random.choice(page.words.step)
    lines = []
    for index in each(page):
        lines += [page.fill(head, index), page.random.choice(("", "   ", "- ")) + page.eq(index, way), ""]
    return lines


def latex_block(page: Page) -> list[str]:
    r"""Headings and `\[ … \]` on one line or three."""
    way = replace(page.numbers(latex=True), units=page.random.choice(("none", "result", "all")))
    head = page.random.choice(page.words.step)
    wrap = page.random.choice(("\\[ {} \\]", "\\[\n{}\n\\]", "$$ {} $$", "$$\n{}\n$$", "   \\[\n   {}\n   \\]"))
    lines = []
    for index in each(page):
        lines += [page.fill(head, index), wrap.replace("{}", page.eq(index, way))]
    return lines


def latex_inline(page: Page) -> list[str]:
    r"""`\( … \)` and `$…$` in prose."""
    wrap = page.random.choice(("\\( {} \\)", "\\({}\\)", "${}$"))
    way = replace(page.numbers(latex=True), units="none")
    lines = page.words.lines
    return [
        page.fill(page.random.choice(lines), index, eq=wrap.replace("{}", page.eq(index, way)))
        for index in each(page)
    ]


def latex_text(page: Page) -> list[str]:
    r"""`\text{Total cost} = 3 \text{ books} \times \$4 = \$12`."""
    way = replace(page.numbers(latex=True), units=page.random.choice(("result", "all", "after")))
    form = page.random.choice(
        ("\\[ \\text{{{Label}}} = {eq} \\]", "$$\\text{{{Label}}} = {eq}$$", "\\[\n\\text{{{Label}}} = {eq}\n\\]")
    )
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def worded(page: Page) -> list[str]:
    """Words of operation before the equation: `a total of 65 * 170 = 10,550`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result")))
    return [
        page.fill(page.random.choice(page.words.acts[page.sign(index)]), index, eq=page.eq(index, way))
        for index in each(page)
    ]


def named(page: Page) -> list[str]:
    """`Add 5 to 12: 12 + 5 = 17`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    lines = []
    for index in each(page):
        pair = page.operands(index, way)
        phrases = page.words.named_acts if pair else page.words.acts
        a, b = pair or ("", "")
        lines.append(
            page.fill(page.random.choice(phrases[page.sign(index)]), index, eq=page.eq(index, way), a=a, b=b)
        )
    return lines


def units(page: Page) -> list[str]:
    """Units on every operand."""
    way = replace(page.numbers(), units="all")
    form = page.random.choice(("{eq}", "{Label}: {eq}", "{Label} = {eq}", "**{eq}**"))
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def rates(page: Page) -> list[str]:
    """`$5/book × 3 books = $15`."""
    way = replace(page.numbers(), units="rates", per=page.random.choice(("/", page.words.rate)))
    form = page.random.choice(("{eq}", "{Label}: {eq}", "{Label} = {eq}", "- {eq}"))
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def table(page: Page) -> list[str]:
    """A Markdown table of labels and equations."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    head = "| {} | {} |".format(*page.words.table)
    return [
        head,
        "|---|---|",
        *(page.fill("| {Label} | {eq} |", index, eq=page.eq(index, way)) for index in each(page)),
        "",
    ]


def unicode(page: Page) -> list[str]:
    """Operators from all over Unicode."""
    pick = page.random.choice
    times = (" ⋅ ", " · ", " ∙ ", " ✕ ", " ∗ ", " ✖ ", "×")
    signs = {
        "+": pick((" + ", " ＋ ")),
        "-": pick((" − ", " – ", "−")),
        "*": pick(times),
        "/": pick((" ÷ ", " ∕ ", "÷")),
    }
    way = replace(page.numbers(), signs=signs, units=pick(("none", "result")))
    return [page.fill("{Label}: {eq}", index, eq=page.eq(index, way)) for index in each(page)]


def letter_x(page: Page) -> list[str]:
    """`x` for times."""
    way = page.numbers()
    times = page.random.choice((" x ", "x", " X ", " х " if page.words.language == "ru" else " x "))
    units = page.random.choice(("none", "result", "all" if " " in times else "none"))
    way = replace(way, signs={**way.signs, "*": times}, units=units)
    return [
        page.fill(page.random.choice(page.words.lines[:3]), index, eq=page.eq(index, way)) for index in each(page)
    ]


def paragraph(page: Page) -> list[str]:
    """All equations in one line of prose."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    links = page.words.links
    parts = [links[min(index, 4)] + page.eq(index, way) for index in each(page)]
    mark = "。" if page.words.language == "zh" else page.random.choice((". ", "; ", ", "))
    return [mark.join(parts) + mark.strip()]


def bold(page: Page) -> list[str]:
    """Bold results and equations."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    lines = []
    for index in each(page):
        text = page.eq(index, way)
        cut = text.rindex("=") + 1
        left, right = text[:cut], text[cut:].strip()
        strong = page.random.choice((f"**{text}**", f"{left} **{right}**", f"{left} __{right}__", f"*{text}*"))
        lines.append(page.fill("{Label}: {eq}", index, eq=strong))
    return lines


def brackets(page: Page) -> list[str]:
    """The result first, its equation in brackets."""
    way = replace(page.numbers(), units="result")
    return [
        page.fill(page.random.choice(page.words.results), index, eq=page.eq(index, way), r=page.result(index, way))
        for index in each(page)
    ]


def parts(page: Page) -> list[str]:
    """`20% of 50 = 10`, `3/4 of 40 = 30`; other steps plainly."""
    way = replace(page.numbers(), share="sign", units=page.random.choice(("none", "all")))
    lines = []
    for index in each(page):
        left = page.steps[index].left
        pair = page.operands(index, way)
        part = isinstance(left, Sum) and isinstance(left.right, Number) and left.right.unit in {"pct", "frac"}
        if pair and part and page.sign(index) == "*":
            last = page.sides(index)[-1]
            assert isinstance(last, Number)
            shown, times = result(last, way, page.words), way.signs["*"].strip()
            text = page.random.choice(page.words.part_of).format(a=pair[1], b=pair[0], r=shown, x=times)
            lines.append(text + page.random.choice(("", ".")))
        else:
            lines.append(page.fill("{Label}: {eq}", index, eq=page.eq(index, way)))
    return lines


def implicit(page: Page) -> list[str]:
    """`2(3 + 4) = 14`."""
    way = replace(page.numbers(), implicit=True)
    return [
        page.fill("{Label}: {eq}", index, eq=page.eq(index, way, chained=page.random.random() < 0.5))
        for index in each(page)
    ]


def wide(page: Page) -> list[str]:
    """Full-width digits and signs."""
    way = replace(page.numbers(), signs={"+": "＋", "-": "－", "*": "×", "/": "÷"}, equals="＝", group="")
    digits = page.random.random() < 0.5
    lines = []
    for index in each(page):
        text = page.eq(index, way)
        lines.append(page.fill("{Label}：{eq}", index, eq=text.translate(WIDE) if digits else text))
    return lines


def arrows(page: Page) -> list[str]:
    """Arrows, ticks and emoji around equations."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result", "all")))
    form = page.random.choice(
        ("→ {eq}", "=> {eq}", "➡️ {eq}", "⇒ {eq}", "✅ {eq}", "{eq} ✓", "{Label} → {eq}", "👉 {Label}: {eq}")
    )
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def code(page: Page) -> list[str]:
    """Back-ticks, fences and quotations."""
    way = page.numbers()
    form = page.random.choice(("`{eq}`", "{Label}: `{eq}`", "> {eq}", "```\n{eq}\n```"))
    return [page.fill(form, index, eq=page.eq(index, way)) for index in each(page)]


def unknowns(page: Page) -> list[str]:
    """A letter that stands for what is found."""
    way = replace(page.numbers(), units=page.random.choice(("none", "result")))
    return [
        page.fill(page.random.choice(page.words.unknown), index, eq=page.eq(index, way), x="xyzwuv"[index])
        for index in each(page)
    ]


def letters(page: Page) -> list[str]:
    """`a) 3 * 4 = 12`."""
    way = replace(page.numbers(), units=page.random.choice(("none", "all")))
    form = page.random.choice(("{x}) {eq}", "({x}) {eq}", "{x}. {eq}", "({x}) {Label}: {eq}"))
    names = "абвгде" if page.words.language == "ru" else "abcdef"
    return [page.fill(form, index, eq=page.eq(index, way), x=names[index]) for index in each(page)]


def single(page: Page) -> list[str]:
    """Prose with an equation a sentence, two sentences a line."""
    lines = labelled(page)
    return [" ".join(lines[at : at + 2]) for at in range(0, len(lines), 2)]


STYLES: dict[str, Style] = {
    style.__name__: style
    for style in (
        gsm8k,
        plain,
        compact,
        labelled,
        label_equals,
        chain,
        chain_prose,
        chain_latex,
        aligned,
        numbered,
        bullets,
        step_dash,
        headed,
        latex_block,
        latex_inline,
        latex_text,
        worded,
        named,
        units,
        rates,
        table,
        unicode,
        letter_x,
        paragraph,
        bold,
        brackets,
        parts,
        implicit,
        wide,
        arrows,
        code,
        unknowns,
        letters,
        single,
    )
}
CHAINED = frozenset({"chain", "chain_prose", "chain_latex", "aligned", "implicit"})
