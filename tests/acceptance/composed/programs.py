"""Programs taken apart, changed, and run beside the verifier: which are right and which are wrong for certain."""

import ast
import atexit
import copy
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from data.plugins import family
from data.records import Item
from tests.acceptance.composed.workbench import shape

FEW = 3  # mutants kept of one program


class Program(NamedTuple):
    """A function for an item, alone in its source."""

    item: Item
    source: str

    @property
    def name(self) -> str:
        return str(self.item.facts["function"])

    @property
    def header(self) -> str:
        return self.source.splitlines()[0]

    @property
    def body(self) -> str:
        """The lines below the header, indented as they stand."""
        return "\n".join(self.source.splitlines()[1:])

    @property
    def parameters(self) -> list[str]:
        function = ast.parse(self.source).body[0]
        assert isinstance(function, ast.FunctionDef)
        return [argument.arg for argument in function.args.args]

    @property
    def passed(self) -> str:
        """The parameters as they are handed on."""
        return ", ".join(self.parameters)

    @property
    def expression(self) -> str | None:
        """The one expression that the function returns, if that is all it does."""
        function = ast.parse(self.source).body[0]
        assert isinstance(function, ast.FunctionDef)
        last = function.body[0]
        return ast.unparse(last.value) if isinstance(last, ast.Return) and last.value else None

    @property
    def returns(self) -> str:
        return str(self.item.facts["types"][-1])

    def called(self, name: str) -> str:
        """Return the source with the function under another name."""
        return re.sub(rf"\b{self.name}\b", name, self.source)

    def around(self, lines: str, name: str = "compute_result") -> str:
        """Put a function of the right name, with these lines, below the program under another name."""
        return f"{self.called(name)}\n\n\n{self.header}\n{lines}"


def right(item: Item) -> Program:
    """Take the program out of the reference reply."""
    reply = family("code_gen").reference(item)
    return Program(item, "\n".join(reply.strip().splitlines()[1:-1]))


def example(item: Item) -> tuple[str, str] | None:
    """Take an example with a value out of the prompt: the call and the value; None where all of them raise."""
    found = re.findall(rf"^- `({item.facts['function']}\(.*\)) -> (.*)`$", item.prompt, re.MULTILINE)
    return next(((call, value) for call, value in found if not value.endswith("Error")), None)


def plain(value: Any) -> Any:
    """Read a value of the facts, in which tuples, sets and dictionaries are tagged."""
    if isinstance(value, dict):
        (tag, parts), *_ = value.items()
        if tag == "dict":
            return {plain(key): plain(part) for key, part in parts}
        return {"tuple": tuple, "set": set}[tag](plain(part) for part in parts)
    return [plain(part) for part in value] if isinstance(value, list) else value


def calls(item: Item) -> list[str]:
    """Write the arguments of the item's calls as Python does."""
    return [repr(tuple(plain(argument) for argument in call)) for call in item.facts["calls"]]


def expected(item: Item) -> list[list[Any]]:
    """Write the item's expected outcomes as the workbench does."""
    return [
        ["raises", value["raises"]]
        if isinstance(value, dict) and "raises" in value
        else ["value", shape(plain(value))]
        for value in item.facts["expected"]
    ]


@cache
def workbench() -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-I", str(Path(__file__).with_name("workbench.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    atexit.register(child.communicate)
    return child


def outcomes(item: Item, source: str) -> list[Any] | None:
    """Run a program on the item's calls; None where its time was up."""
    child = workbench()
    assert child.stdin
    assert child.stdout
    child.stdin.write(json.dumps([source, item.facts["function"], calls(item)]) + "\n")
    child.stdin.flush()
    found: list[Any] | None = json.loads(child.stdout.readline())
    return found


def alike(found: Any, wanted: Any, tolerance: float) -> bool:
    """Compare two written values: types count, floats agree within the relative tolerance."""
    if isinstance(found, list) and isinstance(wanted, list):
        if len(found) == len(wanted) == 2 and found[0] == wanted[0] == "float":
            return math.isclose(float(found[1]), float(wanted[1]), rel_tol=tolerance)
        return len(found) == len(wanted) and all(map(alike, found, wanted, [tolerance] * len(found)))
    return bool(found == wanted)


def agrees(found: list[Any], wanted: list[Any], tolerance: float) -> bool:
    """Compare two outcomes of a call."""
    if found[0] == wanted[0] == "raises":
        return wanted[1] in found[1]
    return found[0] == wanted[0] and alike(found[1], wanted[1], tolerance)


def surely_right(item: Item, source: str) -> bool:
    """Whether a program gives the expected outcome for every call."""
    found = outcomes(item, source)
    return found is not None and all(map(agrees, found, expected(item), [1e-10] * len(found)))


def surely_wrong(item: Item, source: str) -> bool:
    """Whether a program ends in time and gives another outcome for some call, by more than a rounding."""
    found = outcomes(item, source)
    return found is not None and not all(map(agrees, found, expected(item), [1e-6] * len(found)))


_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COMBINED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitXor: (ast.BitAnd,),
}
_NAMED = {
    "max": "min", "min": "max", "upper": "lower", "lower": "upper", "append": "extend", "abs": "int", "all": "any",
    "split": "splitlines", "sorted": "list", "index": "count",
}  # fmt: skip


def slips(node: ast.AST) -> Iterator[ast.AST]:  # noqa: C901, PLR0912  one slip after the other
    """Make the slips that fit one node of a program; each is a node in its place."""

    def changed(**fields: Any) -> ast.AST:
        other = copy.copy(node)
        for field, value in fields.items():
            setattr(other, field, value)
        return other

    match node:
        case ast.Compare(ops=[first, *rest]):
            yield from (changed(ops=[other(), *rest]) for other in _COMPARED.get(type(first), ()))
        case ast.BinOp(op=op):
            yield from (changed(op=other()) for other in _COMBINED.get(type(op), ()))
        case ast.BoolOp(op=op):
            yield changed(op=ast.And() if isinstance(op, ast.Or) else ast.Or())
        case ast.Constant(value=bool(value)):
            yield changed(value=not value)
        case ast.Constant(value=int(value)):
            yield from (changed(value=value + 1), changed(value=value - 1))
        case ast.Constant(value=str(value)) if value:
            yield changed(value=value[:-1])
        case ast.If(test=test) | ast.IfExp(test=test):
            yield changed(test=ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=[_, *rest]):
            yield changed(ifs=rest)
        case ast.Return(value=ast.expr()):
            yield ast.Pass()
        case ast.Slice(lower=None):
            yield changed(lower=ast.Constant(1))
        case ast.Name(id=name) if name in _NAMED:
            yield changed(id=_NAMED[name])
        case ast.Attribute(attr=name) if name in _NAMED:
            yield changed(attr=_NAMED[name])
        case ast.AugAssign(op=op):
            yield from (changed(op=other()) for other in _COMBINED.get(type(op), ()))


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, Callable[[ast.AST], None]]]:
    """Yield the nodes below a tree's root, each with what puts another one in its place."""
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                yield from ((node, partial(value.__setitem__, k)) for k, node in enumerate(value))
            elif isinstance(value, ast.AST):
                yield value, partial(setattr, parent, field)


def mutations(source: str, rng: Random) -> Iterator[str]:
    """Yield, in random order, the programs that differ from this one by one slip."""
    tree = ast.parse(source)
    made = [(put, node, slip) for node, put in places(tree) for slip in slips(node)]
    rng.shuffle(made)
    seen = {ast.unparse(tree)}
    for put, node, slip in made:
        put(slip)
        other = ast.unparse(tree)
        put(node)
        if other not in seen:
            seen.add(other)
            yield other


_KEPT: dict[str, list[str]] = {}


def mutants(item: Item) -> list[str]:
    """Keep some mutants of the right program that are shown to differ on the item's own calls."""
    if item.item_id not in _KEPT:
        made = mutations(right(item).source, Random(item.item_id))
        _KEPT[item.item_id] = list(islice((other for other in made if surely_wrong(item, other)), FEW))
    return _KEPT[item.item_id]


def mutant(item: Item, rng: Random) -> Program:
    """Return one of the item's mutants."""
    return Program(item, rng.choice(mutants(item)))
