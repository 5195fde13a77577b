"""Checks before Prefect starts: static mistakes, and runs that would be huge."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from basic_control.config.settings import Rerun, Settings
from basic_control.data.errors import InputError
from basic_control.data.extras import format_install
from basic_control.data.files import read_file_rows
from basic_control.data.loading import RESPONSE, list_judged_metrics, offer_items, tools_of, with_tools
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Item
from basic_control.data.suites import Suite
from basic_control.metrics.analysis.slices import SLICED
from basic_control.metrics.judging import language_of, templates
from basic_control.prompts import fill, fill_system, read_by, reads, shipped, template
from basic_control.tasks.models.rate_limits import endpoint_of
from basic_control.tasks.models.readiness import SPARE, check_files, connections_allowed, find_obstacle
from basic_control.tasks.plan import Plan, SuitePlan, check_expected, check_judges, resolve, targets_of
from basic_control.tasks.report.language import say, speaking
from basic_control.tasks.report.text import duration, grouped

VAST = 250_000
"""Calls: a larger run needs an explicit confirmation."""
SHOWN = 80
"""Characters of a prompt that a message quotes."""


def check(settings: Settings, again: Rerun | None = None) -> Plan:
    """Refuse runs that can only fail: missing key, file, judge or column, weights of 0, a refused connection.

    As in the run itself, a model that cannot be asked does not stop the others.

    Raises:
        InputError: the run would fail.
    """
    check_files()
    plan = resolve(settings)
    check_rerun(plan, again or Rerun())
    check_judges(plan)
    check_rows(plan)
    check_pages(plan)
    # The replies of an earlier run need no model.
    asked_models = () if again and again.replies else plan.models
    models, judges = ([*map(find_obstacle, asked)] for asked in (asked_models, plan.judges))
    if unready := (models if models and all(models) else [*filter(None, judges)]):
        raise InputError("\n".join(unready))
    return plan


def check_pages(plan: Plan) -> None:
    """Refuse to fetch cited pages that nothing here can read.

    Raises:
        InputError: the extra `pages` is not installed.
    """
    if find_spec("trafilatura"):
        return
    for suite in plan.declared:
        fetching = [
            name for name in suite.metric_names if metric(name).sources and suite.options(name).get("network")
        ]
        if fetching:
            raise InputError(
                f"suite {suite.name}: {fetching[0]}.network fetches cited pages, and the extra `pages`, which "
                f"reads them, is not installed; run: {format_install('pages')}, or set "
                f"{fetching[0]}.network to false."
            )


def check_rerun(plan: Plan, again: Rerun) -> None:
    """Refuse to repeat a suite or model that the run does not have.

    Raises:
        InputError: it has none of that name.
    """
    for option, one, there in (("suite", again.suite, plan.suite_names), ("model", again.model, [*plan.members])):
        if one and one not in there:
            known = ", ".join(there)
            raise InputError(f"--only-{option} {one}: the run has none of that name, expected one of {known}.")


def check_rows(plan: Plan) -> None:
    """Refuse missing data, rows without a metric's columns or a readable expected answer, and unfit prompts.

    A template fits everything that its loader yields, so one row per language is checked.

    Raises:
        InputError: no such file or column; an expected answer that a metric cannot read; or a prompt that cannot be
            filled, is missing in a row's language, or uses no column.
    """
    check_expected(plan)
    for one in plan.suites:
        suite, unit = one.suite, loader(one.suite.loader)
        systems = {target.model.system for target in one.asked if target.model.system}
        if unit.generated:
            _check_systems(suite, systems, {}, "")
            continue
        asked = {} if one.responses_of else suite.prompts_by_name
        written = {short: text for short, text in asked.items() if not shipped(text)}
        languages, columns, n = set[str](), dict[str, None](), 0
        for item in unit.load(offer_items(suite), one.required):
            if not item.prompt:  # the loader's prompt takes precedence over the suite's
                n += 1
                columns |= dict.fromkeys(item.facts)
            new = item.language not in languages
            _check_systems(suite, systems, item.facts, f", row {item.index + 1}")
            _fill(suite, item, asked if new else written)
            _check_tools(suite, item, asked)
            _check_slices(suite, item)
            if new:
                languages.add(item.language)
                _judged_in(suite, item)
        if n > max(1, len(languages)):
            _tell_apart(one, n, columns)


def _tell_apart(one: SuitePlan, n: int, columns: Iterable[str]) -> None:
    """Refuse a prompt that asks the same question for all rows when the model sees nothing else of them."""
    for target in one.asked:
        unit, prompt = target.model.unit, one.suite.prompts_by_name[target.prompt]
        if reads(prompt) - {"language"} or unit.by_item or (unit.sees and unit.sees(target.model)):
            continue
        named = f"suite {one.name}{f' [{target.prompt}]' if target.prompt else ''}"
        raise InputError(
            f"{named}: prompt: found {prompt.strip()[:SHOWN]!r}, which uses no column, so that {n} rows ask "
            f"the same question; expected at least one of the columns {', '.join(columns)}, such as "
            "{{ question }}. To ask one question several times, keep one row and set `repeats`."
        )


def _fill(suite: Suite, item: Item, asked: Mapping[str, str]) -> None:
    for short, prompt in asked.items():
        if item.prompt and prompt == suite.item_prompt:
            continue  # the loader's prompt takes precedence
        try:
            fill(prompt, item.language, item.facts)
        except InputError as error:
            named = f"suite {suite.name}{f' [{short}]' if short else ''}"
            raise InputError(f"{named}, row {item.index + 1}: {error}") from error


def _check_slices(suite: Suite, item: Item) -> None:
    """Refuse a column to slice by that the rows do not have."""
    for column in suite.slices:
        if column not in item.facts and column not in SLICED:
            raise InputError(
                f"suite {suite.name}, row {item.index + 1}: column {column!r}, named in `slices`, not found; the "
                f"row has {', '.join(item.facts)}."
            )


def _check_tools(suite: Suite, item: Item, asked: Mapping[str, str]) -> None:
    """Refuse a row whose tools cannot be read."""
    try:
        with_tools(item, tools_of(suite, read_by(asked.values())))
    except InputError as error:
        raise InputError(f"suite {suite.name}, {error}") from error


def _check_systems(suite: Suite, systems: Iterable[str], facts: Mapping[str, Any], where: str) -> None:
    """Refuse a system prompt whose braces name what the row does not have."""
    for system in systems:
        try:
            fill_system(system, facts)
        except InputError as error:
            raise InputError(f"suite {suite.name}{where}: {error}") from error


def _judged_in(suite: Suite, item: Item) -> None:
    for name in list_judged_metrics(suite):
        for prompt in filter(shipped, templates(metric(name), suite.options(name))):
            try:
                template(prompt, language_of(prompt, item.language))
            except InputError as error:
                raise InputError(
                    f"suite {suite.name}, row {item.index + 1}: {name} asks judges: {error}"
                ) from error


def judged_in_english(plan: Plan) -> Iterator[str]:
    """Yield warnings about suites whose judges are asked in English about rows of another language."""
    for one in plan.suites:
        suite, unit = one.suite, loader(one.suite.loader)
        prompts = [
            prompt
            for name in list_judged_metrics(suite)
            for prompt in filter(shipped, templates(metric(name), suite.options(name)))
        ]
        if unit.generated or not prompts:
            continue
        rows_in = dict.fromkeys(item.language for item in unit.load(offer_items(suite), one.required))
        foreign = [name for name in rows_in if any(language_of(prompt, name) != name for prompt in prompts)]
        if foreign:
            yield f"suite {suite.name}: judges are asked in English about rows in {', '.join(foreign)}."


def unread_responses(plan: Plan) -> Iterator[str]:
    """Yield warnings about suites that ask models although their data has responses, which nothing reads."""
    for one in plan.suites:
        unit = loader(one.suite.loader)
        if one.responses_of or unit.generated:
            continue
        for file in unit.files(one.suite.source):
            if RESPONSE in _first_row(file):
                yield (
                    f"suite {one.suite.name}: {file} has a column {RESPONSE!r}, which the loader {unit.name} does "
                    "not read: the models are asked. To score those responses, declare a suite of your own with "
                    "`items: {data: …}` (docs/suites.md)."
                )


def _first_row(file: Path) -> Mapping[str, Any]:
    """Return a file's first row; none of a file that only the loader of a plug-in can read."""
    with suppress(InputError):
        return next(read_file_rows(file), {})
    return {}


def too_few_connections(plan: Plan) -> str:
    """Return a warning if the system allows fewer connections than there are calls in flight; else ''."""
    wanted: dict[str, int] = {}
    for model in (*plan.models, *plan.judges):
        if not model.unit.at_once:
            wanted.setdefault(endpoint_of(model), model.concurrency)  # an endpoint's first model sets the limit
    asked = sum(wanted.values())
    allowed = connections_allowed(asked)
    if allowed >= asked:
        return ""
    return (
        f"max_concurrency: the configuration allows {asked} calls in flight, and the system's limit of open files "
        f"{allowed}; the others wait or are retried. Raise the limit with ulimit -n {asked + SPARE}, or lower "
        "max_concurrency."
    )


def too_many_items(settings: Settings, language: str) -> str:
    """Return a warning if a run would draw so many items that it is probably a mistake; else ''."""
    calls, seconds = 0, 0.0
    for suite in settings.suites:
        unit = loader(suite.loader)
        items = unit.count(offer_items(suite)) if unit.count else 0
        for target in targets_of(settings.models, suite):
            own = items * settings.times(suite)
            calls, seconds = calls + own, seconds + own / target.model.concurrency
    if calls <= VAST:
        return ""
    with speaking(language):
        return say("estimate.vast", calls=grouped(calls), time=duration(seconds))
