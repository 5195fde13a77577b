"""Every reason that a family or a metric can give has its Russian, and Russian reports show no other."""

import ast
import re
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
import yaml

from basic_control.data.records import OutcomeKind
from basic_control.generators.instructions import instructions
from basic_control.metrics.judging import WAITS
from basic_control.prompts.phrases import translate_reason
from basic_control.tasks.models.protocol import ErrorKind
from basic_control.tasks.report import junit, markdown, samples
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.overview import typical_errors
from basic_control.tasks.report.report_data import ReportData
from tests.conftest import TOP
from tests.tasks.report.runs import in_language

FILES = sorted([*(TOP / "generators").rglob("*.py"), *(TOP / "metrics").rglob("*.py"), TOP / "tasks" / "score.py"])
PLACES = {"Verdict": 1, "Score": 2}
CYRILLIC, LATIN = re.compile("[а-яё]"), re.compile("[a-z]{3,}")
ANY = "ValueError"
"""What stands for a part of a reason that no source names: an exception's class, or a step."""


class Module:
    """A module's source, in which the texts that an expression can come to are looked up."""

    def __init__(self, path: Path) -> None:
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.functions = {f.name: f for f in ast.walk(self.tree) if isinstance(f, ast.FunctionDef)}
        # Of a name that is built in steps, `reason = f"{reason}, …"`, the step that is looked at, by its line.
        self.steps: dict[tuple[str, str], int] = {}
        self.tables = {
            str(getattr(target, "id", "")): node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
        }

    def reasons(self) -> Iterator[str]:
        """Yield every reason of a verdict or score made here."""
        for function in self.functions.values():
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in PLACES:
                    place = PLACES[getattr(call.func, "id", "")]
                    named = [k.value for k in call.keywords if k.arg == "reason"]
                    for given in [*named, *call.args[place : place + 1]]:
                        yield from self.texts(given, function)

    def texts(self, node: ast.expr, function: ast.FunctionDef) -> Iterator[str]:
        """Yield the texts that an expression of a function can come to."""
        if isinstance(node, ast.Constant):
            yield from [node.value] if isinstance(node.value, str) else []
        elif isinstance(node, ast.IfExp):
            yield from (*self.texts(node.body, function), *self.texts(node.orelse, function))
        elif isinstance(node, ast.BoolOp):
            for value in node.values:
                yield from self.texts(value, function)
        elif isinstance(node, ast.JoinedStr):
            yield from map("".join, product(*(self.parts(part, function) for part in node.values)))
        elif isinstance(node, ast.Name):
            yield from self.named(node.id, function)
        elif isinstance(node, ast.Call):
            yield from self.returned(getattr(node.func, "id", ""))

    def returned(self, name: str) -> Iterator[str]:
        """Yield the texts that a function of the module returns."""
        if called := self.functions.get(name):
            for found in ast.walk(called):
                if isinstance(found, ast.Return) and found.value:
                    yield from self.texts(found.value, called)

    def parts(self, node: ast.expr, function: ast.FunctionDef) -> list[str]:
        """Return what a part of an f-string can come to."""
        if not isinstance(node, ast.FormattedValue):
            return list(self.texts(node, function))
        value = node.value
        if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name):
            table = self.tables.get(value.value.id)
            if isinstance(table, ast.Dict):
                return [str(one.value) for one in table.values if isinstance(one, ast.Constant)]
        return list(self.texts(value, function)) or [ANY]

    def named(self, name: str, function: ast.FunctionDef) -> Iterator[str]:
        """Yield what a name of a function was given, alone or among several."""
        key = function.name, name
        before = self.steps.get(key, sys.maxsize)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and node.lineno < before:
                self.steps[key] = node.lineno
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=True))
                    for one, value in pairs:
                        if getattr(one, "id", "") == name:
                            yield from self.texts(value, function)
        self.steps[key] = before


def declared() -> set[str]:
    """Return the reasons that no `Verdict` or `Score` names, but a table or a type of the source does."""
    texts = (TOP / "generators" / "texts" / "en" / "data_extraction.yaml").read_text(encoding="utf-8")
    sums = (TOP / "generators" / "arithmetic" / "arithmetic.py").read_text(encoding="utf-8")
    distractors = yaml.safe_load(texts)["distractors"]
    slips = re.findall(r'"((?:ignored|stopped) [a-z ]+)"', sums)
    assert len(distractors) >= 6
    assert len(slips) >= 3
    return {
        *(f"extracted {what}" for what in distractors),
        *slips,
        *(f"a command was skipped: {command}" for command in instructions.COMMANDS),
        *(kind for kind in get_args(OutcomeKind) if kind not in {"value", "exception", "syntax", "unavailable"}),
        *get_args(ErrorKind),
        "no Kotlin compiler", "no runner for kotlin", "exception ValueError", "no ValueError raised",
        "names none of them", "the answer line names none of them", "rate: call failed", "split: unparsable reply",
        f"rate: {WAITS}",
        "equals a context", "sentences of a context",
    }  # fmt: skip


JUDGING = [path for path in FILES if re.search(r"\b(Verdict|Score)\(", path.read_text(encoding="utf-8"))]
REASONS = sorted({one for path in JUDGING for one in Module(path).reasons() if one} | declared())


def test_the_collection_sees_what_is_there() -> None:
    assert {
        "wrong sign",
        "chose a detail",
        "missed a date",
        "right answer, invalid chain",
        "no gold answer",
    } <= set(REASONS)
    assert len(REASONS) > 90


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_has_its_russian(reason: str) -> None:
    said = translate_reason(reason, "ru")
    assert CYRILLIC.search(said), f"add {reason!r} to prompts/ru/phrases.yaml, reasons"
    names = {ANY, "JSON", "Kotlin", "kotlin", "rate", "split", *instructions.COMMANDS}
    for name in sorted(names, key=len, reverse=True):
        said = said.replace(name, "")
    assert not LATIN.search(said)
    assert translate_reason(reason, "en") == reason


def test_judges_reasons_that_are_joined_are_each_said_in_russian() -> None:
    assert translate_reason("rate: call failed; no contexts", "ru") == "rate: вызов не удался; нет контекстов"


def test_a_russian_reports_reasons_are_russian_everywhere(data: ReportData) -> None:
    """Reasons of the run's own verdicts: in Markdown, typical errors, the sample browser and JUnit."""
    english = {one for one in data.scores["reason"].unique() if one}
    russian = in_language(data, "ru")
    assert english
    with use_language("ru"):
        shown = [row["reason"] for row in typical_errors(russian.scores, russian.items, russian.titles)]
        found = samples.frames(russian)
    shown += [one for frame in (found.rows, found.scores) for one in frame["reason"].drop_nulls().unique() if one]
    shown += [part.attrib["message"] for part in junit.compose(russian).iter() if "message" in part.attrib]
    assert shown
    assert not english & set(shown)
    stratified = next(suite for suite in russian.plan.declarations if suite.strata)
    own = markdown.FamilyScores(stratified, russian.summary, russian.items, russian.scores)
    for model in russian.plan.models:
        with use_language("ru"):
            said = "\n".join(markdown.analysis(own, model.name))
        assert not [one for one in english if f": {one} (" in said]
