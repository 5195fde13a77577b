"""Replay a twin of a word problem, by SPEC 17 alone: a second implementation, which shares no code with ours."""

import ast
import operator
import re
from collections.abc import Callable
from fractions import Fraction

DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
OPERATORS: dict[type[ast.AST], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def value(text: str) -> Fraction:
    """Return what digits are worth."""
    return Fraction(text.replace(",", ""))


def stated(question: str) -> tuple[list[Fraction], str]:
    """Return a question's numbers, and the question without them."""
    return [value(one) for one in re.findall(DIGITS, question)], re.sub(DIGITS, "#", question)


def renaming(before: str, after: str) -> dict[Fraction, Fraction]:
    """Return which number stands for which: the texts are the same but for them, and equal ones stay equal."""
    (old, text), (new, other) = stated(before), stated(after)
    assert text == other
    found: dict[Fraction, Fraction] = {}
    for one, another in zip(old, new, strict=True):
        assert found.setdefault(one, another) == another
    return found


def worth(node: ast.AST, known: dict[Fraction, set[Fraction]]) -> Fraction:
    """Calculate an expression, with the new number in the place of each one; it has to be the only one."""
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](worth(node.left, known), worth(node.right, known))
    assert isinstance(node, ast.Constant)
    number = Fraction(str(node.value))
    choice = known.get(number, {number})
    assert len(choice) == 1, f"{number} may be any of {choice}"
    return next(iter(choice))


def replay(before: str, solution: str, after: str) -> Fraction:
    """Return the answer to a question with other numbers, by the original's worked solution."""
    known: dict[Fraction, set[Fraction]] = {}
    for old, new in renaming(before, after).items():
        known.setdefault(old, set()).add(new)
    for old in list(known):
        if re.search(rf"(?<![\d.,]){re.escape(f'{float(old):g}')} ?(?:%|percent)", before):
            known.setdefault(old / 100, set()).update(one / 100 for one in known[old])
    result = Fraction(0)
    for left, right in re.findall(r"<<([^<>=]*)=([^<>=]*)>>", solution):
        text = re.sub(r"(?<![\d.])\.(?=\d)", "0.", re.sub(r"(?<=\d),(?=\d{3})", "", left.replace("$", "")))
        tree = ast.parse(re.sub(r"(?<![\d.])0+(?=\d)", "", text).strip(), mode="eval")
        result = worth(tree.body, known)
        known.setdefault(value(right), set()).add(result)
    return result
