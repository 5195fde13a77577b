"""Checks before Prefect starts: static mistakes, and runs that would be huge."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from basic_control.config.settings import Model, Rerun, Settings
from basic_control.data.errors import InputError, propose_name
from basic_control.data.extras import format_install
from basic_control.data.files import read_file_rows
from basic_control.data.loading import (
    RESPONSE,
    add_tools,
    list_judged_metrics,
    name_needing_metrics,
    needs_of_metric,
    offer_items,
    tools_of,
)
from basic_control.data.plugins import loader, metric
from basic_control.data.records import Item
from basic_control.data.suites import Suite
from basic_control.data.usual_columns import CONTEXTS, name_facts, read_contexts
from basic_control.metrics.analysis.slices import SLICED
from basic_control.metrics.judging import find_template_language, templates
from basic_control.prompts import (
    fill,
    fill_system,
    find_columns,
    find_columns_of_all,
    is_template_name,
    load_template,
)
from basic_control.tasks.models.rate_limits import find_endpoint
from basic_control.tasks.models.readiness import SPARE, check_files, count_connections, find_obstacle, is_down
from basic_control.tasks.plan import Plan, SuitePlan, plan_targets, read_question_form, resolve
from basic_control.tasks.plan_judges import check_judges
from basic_control.tasks.plan_remarks import check_expected
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.text import duration, format_number

VAST = 250_000
"""Calls: a larger run needs an explicit confirmation."""
SHOWN = 80
"""Characters of a prompt that a message quotes."""


def check_run(settings: Settings, again: Rerun | None = None) -> Plan:
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
    obstacles = [_find_obstacle(plan, model) for model in asked_models]
    # One model that can be asked is enough for a run; every judge is needed.
    if not obstacles or not all(obstacles):
        obstacles = [*filter(None, (_find_obstacle(plan, judge) for judge in plan.judges))]
    if obstacles:
        raise InputError("\n".join(obstacles))
    return plan


def _find_obstacle(plan: Plan, model: Model) -> str:
    """Return why a run cannot go on with a model; a server that is down may have answered all of it before."""
    obstacle = find_obstacle(model)
    if not (obstacle and is_down(model)):
        return obstacle
    from basic_control.tasks.models.identities import recall_identity

    return "" if recall_identity(plan.store, model) else obstacle


def check_pages(plan: Plan) -> None:
    """Refuse to fetch cited pages that nothing here can read.

    Raises:
        InputError: the extra `pages` is not installed.
    """
    if find_spec("trafilatura"):
        return
    for suite in plan.declarations:
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
    for option, name, names in (("suite", again.suite, plan.suite_names), ("model", again.model, [*plan.members])):
        if name and name not in names:
            expected = ", ".join(names)
            raise InputError(f"--only-{option} {name}: the run has none of that name, expected one of {expected}.")


def check_rows(plan: Plan) -> None:
    """Refuse missing data, rows without a metric's columns or a readable expected answer, and unfit prompts.

    A template fits everything that its loader yields, so one row per language is checked.

    Raises:
        InputError: no such file or column; an expected answer that a metric cannot read; or a prompt that cannot be
            filled, is missing in a row's language, or uses no column.
    """
    check_expected(plan)
    for suite_plan in plan.suites:
        suite, unit = suite_plan.suite, loader(suite_plan.suite.loader)
        systems = {target.model.system for target in suite_plan.live_targets if target.model.system}
        if unit.generated:
            _check_systems(suite, systems, {}, "")
            continue
        prompts = {} if suite_plan.responses_of else suite.prompts_by_name
        user_prompts = {short: text for short, text in prompts.items() if not is_template_name(text)}
        languages, columns, n = set[str](), dict[str, None](), 0
        judged_columns = _JudgedColumns(suite_plan)
        for item in _load_items(suite_plan):
            judged_columns.look_at(item)
            if not item.prompt:  # the loader's prompt takes precedence over the suite's
                n += 1
                columns |= dict.fromkeys(item.facts)
            is_new = item.language not in languages
            _check_systems(suite, systems, item.facts, f", row {item.index + 1}")
            # Shipped templates differ by the language alone, a user's may read any column of any row.
            _fill(suite, item, prompts if is_new else user_prompts)
            _check_tools(suite, item, prompts)
            _check_slices(suite, item)
            if is_new:
                languages.add(item.language)
                _check_judge_prompts(suite, item)
        judged_columns.require_filled()
        if n > max(1, len(languages)):
            _tell_apart(suite_plan, n, columns)


def _load_items(suite_plan: SuitePlan) -> Iterator[Item]:
    """Yield the items of a suite as they are asked.

    Raises:
        InputError: the data cannot be read, or lack a column that a metric needs.
    """
    suite, form = suite_plan.suite, read_question_form(suite_plan.suite, suite_plan.live_targets)
    with name_needing_metrics(suite):
        for item in loader(suite.loader).load(offer_items(suite), suite_plan.required):
            yield name_facts(item, form.read)


class _JudgedColumns:
    """The columns that a suite's judges are shown, of which none may be empty in all rows."""

    def __init__(self, suite_plan: SuitePlan) -> None:
        self.suite = suite_plan.suite
        self.has_contexts = False
        self.metric_by_empty: dict[str, str] = {}
        for name in list_judged_metrics(self.suite):
            columns = {*needs_of_metric(self.suite, name), *metric(name).reads} & {*suite_plan.required}
            self.has_contexts |= CONTEXTS in columns
            # Then a reply without contexts has a score all the same.
            if self.suite.options(name).get("empty_contexts") == "zero":
                columns.discard(CONTEXTS)
            for column in columns:
                self.metric_by_empty.setdefault(column, name)

    def look_at(self, item: Item) -> None:
        """Take off what an item fills; refuse contexts that are a list broken off."""
        contexts: list[str] = []
        if self.has_contexts:
            contexts = read_contexts(item.facts.get(CONTEXTS), f"suite {self.suite.name}, row {item.index + 1}")
        for column in [*self.metric_by_empty]:
            value = contexts if column == CONTEXTS else item.facts.get(column)
            if value and str(value).strip():
                del self.metric_by_empty[column]

    def require_filled(self) -> None:
        """Refuse rows that leave a column empty throughout."""
        for column, name in self.metric_by_empty.items():
            raise InputError(
                f"suite {self.suite.name}: {name} reads the column {column!r}, which is empty in all rows; fill "
                f"it, or name the column that holds it: columns: {{{column}: NAME}}."
            )


def _tell_apart(suite_plan: SuitePlan, n: int, columns: Iterable[str]) -> None:
    """Refuse a prompt that asks the same question for all rows when the model sees nothing else of them."""
    for target in suite_plan.live_targets:
        unit, prompt = target.model.unit, suite_plan.suite.prompts_by_name[target.prompt]
        if find_columns(prompt) - {"language"} or unit.by_item or (unit.sees and unit.sees(target.model)):
            continue
        where = _name_prompt(suite_plan.suite, target.prompt)
        raise InputError(
            f"{where}: prompt: found {prompt.strip()[:SHOWN]!r}, which uses no column, so that {n} rows ask "
            f"the same question; expected at least one of the columns {', '.join(columns)}, such as "
            "{{ question }}. To ask one question several times, keep one row and set `repeats`."
        )


def _name_prompt(suite: Suite, short: str) -> str:
    """Name a suite, and which of its prompts is meant if it has several."""
    if not short:
        return f"suite {suite.name}"
    return f"suite {suite.name} [{short}]"


def _fill(suite: Suite, item: Item, prompts: Mapping[str, str]) -> None:
    for short, prompt in prompts.items():
        if item.prompt and prompt == suite.item_prompt:
            continue  # the loader's prompt takes precedence
        try:
            fill(prompt, item.language, item.facts)
        except InputError as error:
            where = _name_prompt(suite, short)
            raise InputError(f"{where}, row {item.index + 1}: {error}") from error


def _check_slices(suite: Suite, item: Item) -> None:
    """Refuse a column to slice by that the rows do not have."""
    for column in suite.slices:
        if column not in item.facts and column not in SLICED:
            raise InputError(
                f"suite {suite.name}, row {item.index + 1}: column {column!r}, named in `slices`, not found; the "
                f"row has {', '.join(item.facts)}.{propose_name(column, item.facts)}"
            )


def _check_tools(suite: Suite, item: Item, prompts: Mapping[str, str]) -> None:
    """Refuse a row whose tools cannot be read."""
    try:
        add_tools(item, tools_of(suite, find_columns_of_all(prompts.values())))
    except InputError as error:
        raise InputError(f"suite {suite.name}, {error}") from error


def _check_systems(suite: Suite, systems: Iterable[str], facts: Mapping[str, Any], where: str) -> None:
    """Refuse a system prompt whose braces name what the row does not have."""
    for system in systems:
        try:
            fill_system(system, facts)
        except InputError as error:
            raise InputError(f"suite {suite.name}{where}: {error}") from error


def _check_judge_prompts(suite: Suite, item: Item) -> None:
    for name in list_judged_metrics(suite):
        for prompt in filter(is_template_name, templates(metric(name), suite.options(name))):
            try:
                load_template(prompt, find_template_language(prompt, item.language))
            except InputError as error:
                raise InputError(
                    f"suite {suite.name}, row {item.index + 1}: {name} asks judges: {error}"
                ) from error


def list_english_judging(plan: Plan) -> Iterator[str]:
    """Yield warnings about suites whose judges are asked in English about rows of another language."""
    for suite_plan in plan.suites:
        suite, unit = suite_plan.suite, loader(suite_plan.suite.loader)
        prompts: list[str] = []
        for name in list_judged_metrics(suite):
            prompts += filter(is_template_name, templates(metric(name), suite.options(name)))
        if unit.generated or not prompts:
            continue
        languages = dict.fromkeys(item.language for item in unit.load(offer_items(suite), suite_plan.required))
        foreign = [name for name in languages if not _asks_in(name, prompts)]
        if foreign:
            yield f"suite {suite.name}: judges are asked in English about rows in {', '.join(foreign)}."


def _asks_in(language: str, prompts: Iterable[str]) -> bool:
    """Return whether all judges' prompts are there in a language."""
    return all(find_template_language(prompt, language) == language for prompt in prompts)


def unread_responses(plan: Plan) -> Iterator[str]:
    """Yield warnings about suites that ask models although their data has responses, which nothing reads."""
    for suite_plan in plan.suites:
        unit = loader(suite_plan.suite.loader)
        columns = suite_plan.suite.source.get("columns") or {}
        # A column that has another name here is no reply.
        if suite_plan.responses_of or unit.generated or RESPONSE in columns.values():
            continue
        for file in unit.files(suite_plan.suite.source):
            if RESPONSE in _read_first_row(file):
                yield (
                    f"suite {suite_plan.name}: {file} has a column {RESPONSE!r}, which the loader {unit.name} does "
                    "not read: the models are asked. To score those responses, declare a suite of your own with "
                    "`items: {data: …}` (docs/suites.md)."
                )


def list_unasked(models: Sequence[Model], plan: Plan) -> Iterator[str]:
    """Yield a warning if there are models, and none is asked since the rows have replies."""
    suite = next((suite_plan.suite for suite_plan in plan.suites if suite_plan.responses_of), None)
    if suite is None or plan.models or not models:
        return
    names = ", ".join(model.name for model in models)
    column = (suite.source.get("columns") or {}).get(RESPONSE)
    advice = f"leave `response: {column}` out of its `columns`"
    if not column:
        advice = f"give that column another name: `columns: {{earlier: {RESPONSE}}}`"
    yield (
        f"{names}: not asked, since the rows of suite {suite.name} have replies (column {column or RESPONSE!r}), "
        f"which are scored. To ask, {advice}."
    )


def _read_first_row(file: Path) -> Mapping[str, Any]:
    """Return a file's first row; none of a file that only the loader of a plug-in can read."""
    with suppress(InputError):
        return next(read_file_rows(file), {})
    return {}


def too_few_connections(plan: Plan) -> str:
    """Return a warning if the system allows fewer connections than there are calls in flight; else ''."""
    limits: dict[str, int] = {}
    for model in (*plan.models, *plan.judges):
        if not model.unit.at_once:
            limits.setdefault(find_endpoint(model), model.concurrency)  # an endpoint's first model sets the limit
    in_flight = sum(limits.values())
    allowed = count_connections(in_flight)
    if allowed >= in_flight:
        return ""
    return (
        f"max_concurrency: the configuration allows {in_flight} calls in flight, and the system's limit of open "
        f"files {allowed}; the others wait or are retried. Raise the limit with ulimit -n {in_flight + SPARE}, or "
        "lower max_concurrency."
    )


def too_many_items(settings: Settings, language: str) -> str:
    """Return a warning if a run would draw so many items that it is probably a mistake; else ''."""
    calls, seconds = 0, 0.0
    for suite in settings.suites:
        unit = loader(suite.loader)
        items = unit.count(offer_items(suite)) if unit.count else 0
        for target in plan_targets(settings.models, suite):
            n_calls = items * settings.times(suite)
            calls, seconds = calls + n_calls, seconds + n_calls / target.model.concurrency
    if calls <= VAST:
        return ""
    with use_language(language):
        return say("estimate.vast", calls=format_number(calls), time=duration(seconds))
