"""`level`: where on the families' scales of difficulty a model is right half of the time."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from data.errors import InputError
from flows.cli.console import show, written
from flows.cli.options import RunOptions, choose
from flows.preflight import check
from tasks.runtime.logs import FORMS, begin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from config.settings import Settings
    from tasks.plan import Plan
    from tasks.report.level import LevelReport

SUITE = "level"
LOADER = "families"
"""Whose items have a scale; the first suite with it says which families, languages and seed are meant."""


def level(
    model: Annotated[str, Parameter(name="MODEL")],
    /,
    *,
    family: Annotated[tuple[str, ...], Parameter(metavar="NAME")] = (),
    language: Annotated[tuple[str, ...], Parameter(metavar="LANGUAGE")] = (),
    questions: Annotated[int, Parameter(metavar="N", validator=Number(gte=1))] = 40,
    config: Annotated[str, Parameter(metavar="FILE")] = "",
    sets: Annotated[tuple[str, ...], Parameter(name="--set", metavar="PATH=VALUE", json_list=False)] = (),
    fresh: bool = False,
    log: Annotated[str, Parameter(choices=FORMS)] = "",
) -> int:
    """Find a model's level: the difficulty at which it is right half of the time, by family and language.

    Difficulty is a number that rises, of operands, people, commands, entities, sentences; each question goes where
    its answer tells most. Writes a table, the curves and level.json. Replies are cached like all: the same command
    goes on where it was stopped, and asks nothing twice.

    Args:
        model: a model of the configuration
        family: a family; may be repeated (default: those of the first suite of generated families)
        language: en or ru; may be repeated (default: likewise)
        questions: questions for each family and language, fixed beforehand
        config: a YAML file
        sets: set one key, such as models.0.temperature=0.3; may be repeated
        fresh: ask everything again; earlier replies are kept
        log: json: one object a line on stderr
    """
    begin(log)
    settings, _ = choose("", RunOptions(config=config, sets=sets, fresh=fresh))
    asked = {key: value for key, value in (("families", family), ("languages", language)) if value}
    settings = _searched(settings, model, {**asked, "n_items": questions})
    found, files = _search(settings)
    from tasks.report.level import notes, table

    show(table(found).terminal(len(found.curves)), *notes(found))
    written(files, found.language)
    return found.exit_code


def _searched(settings: "Settings", model: str, asked: "Mapping[str, Any]") -> "Settings":
    """Return the configuration of a search: one model, and a suite of the families' questions.

    `asked` are options of the families' loader that go before those of the configuration.

    Raises:
        InputError: there is no such model, family or language.
    """
    from config.reading import parse

    known = {one.name: one for one in settings.models}
    if model not in known:
        there = ", ".join(known) or "none"
        raise InputError(
            f"level {model}: the configuration has no model of that name, expected one of {there}. Name another "
            "configuration with --config."
        )
    drawn = next((suite.items for suite in settings.suites if suite.loader == LOADER), {"loader": LOADER})
    items = {**drawn, "levels": ("easy",), **asked}
    if "families" not in items:
        raise InputError(
            "level: found no suite of generated families in the configuration; name some with --family."
        )
    declared = {
        "name": SUITE,
        "title": {"en": "Level", "ru": "Уровень"},
        "items": items,
        "metrics": {"correct": {}},
    }
    raw = {
        **settings.model_dump(mode="json"),
        # The next question depends on the answer: nothing can wait in a batch at a server.
        "models": [known[model].model_copy(update={"batch": "off"}).model_dump(mode="json")],
        "judges": [],
        "suites": [declared],
        "baseline": "",
        "gate": "off",
        "repeats": 1,
        "runner": "local",
    }
    return parse(raw, "level", {}, [], "")


def _search(settings: "Settings") -> "tuple[LevelReport, list[Path]]":
    """Run the search beside a Prefect server.

    Raises:
        InputError: the model cannot be asked.
    """
    from flows.cli.evaluating import run_flow

    def imported() -> "Callable[[Plan], tuple[LevelReport, list[Path]]]":
        from flows.level import find_level

        return find_level

    return run_flow(partial(check, settings), imported)
