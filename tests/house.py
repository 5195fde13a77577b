"""The house's style, counted: names that say nothing, lines that do too much, code without a word beside it.

python -m tests.house             what the rooms come to, and the files with the most to mend
python -m tests.house FILE …      what there is to mend in these files
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[1]
ROOMS = ("basic_control", "flows", "tasks", "config", "generators", "metrics", "prompts", "data")

# What a variable may not be called: pronouns, participles and adverbs do not say what it holds.
VAGUE = re.compile(
    "one|own|found|told|said|given|there|known|shown|others?|each|these|whose|made|wanted|kept|here|named|listed|asked|"
    "heard|both|same|rest|more|most|put|taken|seen|held|left|beside|came|alike|place"
)
# Keys of the configuration and of results.json, and exported names, which stay as they are.
KEYS = frozenset(
    {
        ("basic_control/api.py", "passed"),
        ("data/suites.py", "most"),
        ("data/records.py", "shown"),
        ("metrics/analysis/headlines.py", "beside"),
        ("metrics/analysis/stopping.py", "most"),
        ("metrics/analysis/stopping.py", "asked"),
    }
)
# The first word of a function's name may not be a participle (`scored`, `drawn`, `missing`) …
PARTICIPLE = re.compile(
    "[a-z]+(?:ed|ing)|told|said|given|shown|written|known|found|held|kept|made|taken|seen|left|drawn|chosen|begun|sent|"
    "built|spoken|broken|spelt|spoilt|meant|bound|brought|got|heard|laid|led|lost|ran|spent|stood|thought|was|won"
)
# … or an adjective or a pronoun (`whole`, `_nearest`, `other_rows`).
ADJECTIVE = re.compile(
    "whole|sound|own|same|others?|alike|apart|alone|both|each|these|there|here|more|most|rest|few|several|some|any|all|"
    "only|plain|bare|short|small|odd|even|near|far|first|last|next|final|right|wrong|equal|unlike|common|strange|fresh|"
    "finite|silent|valid|inert|free|good|bad|worst|best|least|[a-z]+(?:able|ible|est)"
)
# Verbs and nouns that only look like them: `need_model`, `bring_up`, `heading`.
NO_PARTICIPLE = re.compile(
    "need|feed|embed|seed|speed|heed|proceed|exceed|succeed|shed|string|ring|ping|thing|spring|bring|heading|meaning|"
    "rating|wording|reading|encoding|mapping|warning|spending|recording|spelling|building|table|test|request|digest|"
    "enable|disable|variable"
)
# A comment for a tool and not for a reader, such as `# fmt: off`.
DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|pyrefly|fmt:|ruff:|pragma|!)")

COMPOUND, DENSE = 0.025, 0.085
"""The most expressions a line of code: conditional, assigning or compound ones; plain comprehensions too."""
FEW_COMPOUND, FEW_DENSE = 1, 3
"""How many of them any file may have, however short."""
COMMENTS, LONG_FILE = 0.02, 60
"""The fewest lines of comment a line of code, in files of so many lines of code."""
LONG_FUNCTION = 25
"""The lines of a function for each of which it has a line of comment."""
FIELDS = 15
WIDE_RECORDS = ("config/", "data/suites.py", "flows/cli/")
"""Where a record may have as many fields as the configuration or the command line has keys."""


class Finding(NamedTuple):
    """What there is to mend, and on which line; line 0 is the whole file."""

    line: int
    rule: str
    text: str


@dataclass
class Counts:
    """What files come to: their lines of code and of comment, names, functions and expressions."""

    files: int = 0
    failing: int = 0
    code: int = 0
    comments: int = 0
    names: int = 0
    vague: int = 0
    functions: int = 0
    misnamed: int = 0
    dense: int = 0
    compound: int = 0

    def add(self, counts: "Counts") -> None:
        for name in (part.name for part in fields(self)):
            setattr(self, name, getattr(self, name) + getattr(counts, name))


def is_verb_phrase(name: str) -> bool:
    """Say whether the first word of a function's name is neither a participle nor an adjective."""
    word = name.strip("_").split("_")[0]
    if NO_PARTICIPLE.fullmatch(word):
        return True
    return not PARTICIPLE.fullmatch(word) and not ADJECTIVE.fullmatch(word)


@dataclass
class Check(ast.NodeVisitor):
    """A file read once: what it counts, and what there is to mend in it."""

    name: str
    text: str
    counts: Counts = field(default_factory=Counts)
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()
        # While a tree is walked: the walruses of the statement, whether each comprehension around has another one
        # inside it, and how many of them are worked out for each element at this node.
        self._walruses = 0
        self._around: list[bool] = []
        self._repeated = 0
        self._dunder_arguments: set[ast.arg] = set()
        self.visit(ast.parse(self.text))
        self._count_lines()
        self._check_shares()
        self.counts.files, self.counts.failing = 1, int(bool(self.findings))
        self.findings.sort()

    def note(self, line: int, rule: str, text: str) -> None:
        self.findings.append(Finding(line, rule, text))

    def visit(self, node: ast.AST) -> None:
        """Visit a node; of a statement, count the walruses in its own expressions."""
        if not isinstance(node, ast.stmt):
            super().visit(node)
            return
        outside, self._walruses = self._walruses, 0
        super().visit(node)
        if self._walruses > 1:
            self.note(node.lineno, "walrus", "more than one := in a statement: name the steps")
        self._walruses = outside

    # Names

    def _bind(self, line: int, name: str | None) -> None:
        if name is None:
            return
        self.counts.names += 1
        if VAGUE.fullmatch(name) and (self.name, name) not in KEYS:
            self.counts.vague += 1
            self.note(line, "name", f"{name}: name a variable by the noun that it holds")

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bind(node.lineno, node.id)

    def visit_arg(self, node: ast.arg) -> None:
        if node not in self._dunder_arguments:
            self._bind(node.lineno, node.arg)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self._bind(node.lineno, node.name)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._bind(node.lineno, node.name)
        self.generic_visit(node)

    # Expressions

    def _visit_dense(self, node: ast.IfExp | ast.NamedExpr) -> None:
        self.counts.dense += 1
        self.counts.compound += 1
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._walruses += 1
        self._visit_dense(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if self._repeated:
            self.note(node.lineno, "conditional", "… if … else … inside a comprehension: use a function, or a loop")
        self._visit_dense(node)

    def _visit_comprehension(
        self, elements: list[ast.expr], node: ast.expr, loops: list[ast.comprehension]
    ) -> None:
        if self._around:
            self._around[-1] = True
        self._around.append(False)
        for loop in loops:
            self.visit(loop.target)
            self.visit(loop.iter)
        self._repeated += 1
        for part in elements + [condition for loop in loops for condition in loop.ifs]:
            self.visit(part)
        self._repeated -= 1
        is_nested = self._around.pop()
        if is_nested:
            self.note(node.lineno, "nested", "a comprehension inside another: name the inner one")
        self.counts.dense += 1
        self.counts.compound += is_nested or len(loops) > 1 or len(loops[0].ifs) > 1

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> None:
        self._visit_comprehension([node.elt], node, node.generators)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._visit_comprehension([node.key, node.value], node, node.generators)

    # Functions, records, docstrings

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.counts.functions += 1
        is_dunder = node.name.startswith("__")
        if is_dunder:
            self._dunder_arguments.update(node.args.args)  # `__eq__` takes an `other`
        elif not is_verb_phrase(node.name) and (self.name, node.name) not in KEYS:
            self.counts.misnamed += 1
            self.note(node.lineno, "function", f"{node.name}: a verb phrase; a noun for a property; is_ or has_")
        self._drop_docstring(node)
        # What is left of the lines is the function without its docstring.
        lines = self.lines[node.lineno - 1 : node.end_lineno]
        length = len(lines) - lines.count("")
        due = length // LONG_FUNCTION if length > LONG_FUNCTION else 0
        count = sum(is_comment(line) for line in lines)
        if count < due:
            text = (
                f"{node.name}: {count} comments in {length} lines: say what its steps are for, {due} times or more"
            )
            self.note(node.lineno, "steps", text)
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._drop_docstring(node)
        count = sum(isinstance(statement, ast.AnnAssign) for statement in node.body)
        if count > FIELDS and not self.name.startswith(WIDE_RECORDS):
            self.note(node.lineno, "record", f"{node.name}: {count} fields, {FIELDS} at most")
        self.generic_visit(node)

    def visit_Module(self, node: ast.Module) -> None:
        self._drop_docstring(node)
        self.generic_visit(node)

    def _drop_docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Empty the lines of a docstring: they are neither code nor comment."""
        if ast.get_docstring(node, clean=False) is not None:
            first, last = node.body[0].lineno, node.body[0].end_lineno or node.body[0].lineno
            self.lines[first - 1 : last] = [""] * (last - first + 1)

    # The whole file

    def _count_lines(self) -> None:
        lines = [line for line in self.lines if line.strip()]
        comments = [line for line in lines if line.lstrip().startswith("#")]
        self.counts.code = len(lines) - len(comments)
        self.counts.comments = sum(is_comment(line) for line in comments)

    def _check_shares(self) -> None:
        counts = self.counts
        compound = max(FEW_COMPOUND, round(COMPOUND * counts.code))
        if counts.compound > compound:
            text = f"{counts.compound} conditional, assigning or compound expressions, {compound} at most"
            self.note(0, "compound", f"{text} in {counts.code} lines of code")
        dense = max(FEW_DENSE, round(DENSE * counts.code))
        if counts.dense > dense:
            self.note(
                0, "dense", f"{counts.dense} dense expressions, {dense} at most in {counts.code} lines of code"
            )
        due = int(COMMENTS * counts.code)
        if counts.code >= LONG_FILE and counts.comments < due:
            text = (
                f"{counts.comments} lines of comment in {counts.code} lines of code: say why, {due} times or more"
            )
            self.note(0, "comments", text)


def is_comment(line: str) -> bool:
    """Say whether a line is a comment for people: `# why`, and not `# fmt: off`."""
    return line.lstrip().startswith("#") and not DIRECTIVE.match(line.lstrip())


def check_product() -> Iterator[Check]:
    """Check the product's files, room by room."""
    for room in ROOMS:
        for path in sorted((TOP / room).rglob("*.py")):
            yield Check(str(path.relative_to(TOP)), path.read_text("utf-8"))


def report() -> str:
    """Return what each room and the whole product come to, and the files with the most to mend."""
    rooms = {room: Counts() for room in (*ROOMS, "all")}
    lengths: Counter[str] = Counter()
    for check in check_product():
        rooms[check.name.split("/")[0]].add(check.counts)
        rooms["all"].add(check.counts)
        lengths[check.name] = len(check.findings)
    rows = [f"{'':13}  files  failing   code  vague  misnamed  dense  compound  comments"]
    for room, counts in rooms.items():
        shares = f"{counts.vague / counts.names:5.1%}  {counts.misnamed / counts.functions:8.1%}"
        dense, compound = (1000 * count / counts.code for count in (counts.dense, counts.compound))
        rows.append(
            f"{room:13}  {counts.files:5}  {counts.failing:7}  {counts.code:5}  {shares}  {dense:5.0f}  "
            f"{compound:8.0f}  {counts.comments / counts.code:8.1%}"
        )
    return "\n".join([*rows, "", *(f"{count:4}  {name}" for name, count in lengths.most_common(20))])


def main(arguments: list[str]) -> None:
    """Print what the arguments ask for."""
    if not arguments:
        print(report())
    else:
        for name in arguments:
            for finding in Check(name, Path(name).read_text("utf-8")).findings:
                print(f"{name}:{finding.line}: {finding.rule}: {finding.text}")


if __name__ == "__main__":
    main(sys.argv[1:])
