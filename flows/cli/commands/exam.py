"""`exam`: what a judge is worth, measured."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from data.exits import Exit
from flows.cli.console import show
from flows.cli.options import RunOptions, choose
from tasks.runtime.logs import begin

if TYPE_CHECKING:
    from rich.table import Table

    from metrics.analysis.passports import Passport


def exam(
    *,
    judge: Annotated[tuple[str, ...], Parameter(metavar="NAME")] = (),
    n: Annotated[int | None, Parameter(metavar="N")] = None,
    language: Annotated[tuple[str, ...], Parameter(metavar="LANGUAGE")] = (),
    options: RunOptions | None = None,
    dry_run: bool = False,
) -> int:
    """Have judges take the exam: questions whose truth is known, put by the very prompts of the judged metrics.

    Each judge earns a passport for each step and language: its error rates with intervals, its leanings, how often
    it fails. A judge that cannot measure a step is left out of it. Replies are cached like all. With --data, it is
    asked of sets that people labelled as well (fetched before): wice, begin, llmbar, processbench, lidirus, with
    commas between them; what it is worth there stands in a table of its own.

    Args:
        judge: a judge of the configuration; may be repeated (default: all)
        n: questions of each truth, for each family and language (default: 20), and of each set (default: 100)
        language: en, ru or zh; may be repeated (default: en)
        dry_run: say what would be asked, what it may cost and take, and ask nothing
    """
    from flows.judges_exam import SUITE, examination, record

    given = options or RunOptions()
    begin(given.log)
    sets = [*given.sets, *([f"{SUITE}.n_items={n}", f"{SUITE}.n_data={n}"] if n is not None else [])]
    sets += [f"{SUITE}.languages=[{', '.join(language)}]"] if language else []
    settings, again = choose(SUITE, replace(given, sets=tuple(sets)))
    settings = examination(settings, judge)
    if dry_run:
        from flows.cli.estimate import show_estimate

        return show_estimate(settings)
    from flows.cli.evaluating import evaluate

    outcome, plan = evaluate(settings, again, only_failed=given.only_failed)
    found = record(outcome, plan)
    show(*_tables(found, settings.report.language))
    show(*outcome.reports[:2])
    return Exit.PASSED


def _tables(found: "list[Passport]", language: str) -> "Iterator[Table | str]":
    """Yield a table for each judge, and its leanings in words."""
    from tasks.report.passports import leanings_of, tables_of

    for name in dict.fromkeys(one.judge for one in found):
        own = [one for one in found if one.judge == name]
        yield from (made.terminal(len(made.rows)) for made in tables_of(name, own, language))
        for one in own:
            yield from leanings_of(one, language)
