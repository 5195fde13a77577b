"""The table of models and their scores, defined once for every place that shows it.

A column of `model_columns` appears in all of them, once per model: on the screen, in a merge request, in Prefect's
UI, on the page; in the Markdown report, CSV and JUnit in the row or case of the model's score. A column of
`suite_columns` appears where each suite has a row: in the Markdown report and CSV.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from basic_control.metrics.analysis.headlines import Headline, ModelResult
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.tasks.report.language import say
from basic_control.tasks.report.tables import Column, Table, column_maker, fill_cells
from basic_control.tasks.report.text import around, localize_digits, percent
from basic_control.tasks.report.words import explain_outcome, format_score, score_id, score_name


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A score of a model, in a suite or overall, and the model's usage over all its prompts; None if not known."""

    model: ModelResult
    score: Headline
    spent: Spent | None


def model_columns() -> list[Column]:
    """Return the columns of a model as a whole, of a `VerdictRow` whose `score` is the model's.

    To add one, add a line here and its title as a phrase in each `prompts/<language>/phrases.yaml`. Counts of
    answers are in the model's headlines (`row.model.headlines`: `measured.n_asked`, `n_scored`, `n_right`);
    `row.spent` has `cost`, of all calls, and `cost_now`, of those made in this run, by all prompts of the model if
    a row is of one: `money` of `tasks/report/words.py` formats them. A value missing in the results is first added
    as a field of a headline's part (`metrics/analysis/headlines.py`), counted in `metrics/analysis/scores.py`.
    """
    return [Column(say("common.model"), lambda row: row.model.model, unbroken=True)]


def suite_columns(*, by_id: bool = False) -> list[Column]:
    """Return the columns of each of a model's suites and of its overall score; `by_id`: as files name suites."""
    column = column_maker("common")
    format_name = score_name
    if by_id:
        format_name = score_id

    def interval(row: VerdictRow) -> str:
        return around(row.score.measured.score.interval, row.score.decided.threshold)

    def weight(row: VerdictRow) -> str:
        is_joined = row.score.suite and (row.score.weight or row.score.is_only)
        if not is_joined:
            return "–"
        return localize_digits(f"{row.score.weight:g}")

    return [
        column("suite", lambda row: format_name(row.score)),
        column("score", lambda row: format_score(row.score), numeric=True),
        column("interval", interval, numeric=True),
        column("threshold_head", lambda row: percent(row.score.decided.threshold), numeric=True),
        column("weight", weight, numeric=True),
        column("outcome", lambda row: say(f"common.{row.score.decided.outcome}"), strong=True),
        column("why", lambda row: explain_outcome(row.score)),
    ]


def verdict_table(
    models: Sequence[ModelResult], spending: Spending | None, *, title: str = "", by_id: bool = False
) -> Table:
    """Return the table with a row for each suite of a model and for its overall score."""
    name_column, *own_columns = model_columns()
    columns = [name_column, *suite_columns(by_id=by_id)]
    rows = []
    for row in model_rows(models, spending):
        # A model's own columns stand once, in the row of its score.
        model_cells, empty_cells = fill_cells(own_columns, row), [""] * len(own_columns)
        for score in row.model.scores:
            score_row = VerdictRow(row.model, score, row.spent)
            is_main = score is row.score
            rows.append([*fill_cells(columns, score_row), *(model_cells if is_main else empty_cells)])
    return Table([*columns, *own_columns], rows, title)


def model_rows(models: Sequence[ModelResult], spending: Spending | None) -> list[VerdictRow]:
    """Return for each model the row of its score: the overall one, or that of its only suite with a weight."""
    return [VerdictRow(model, model.score, _find_spending(model.model, spending)) for model in models]


def _find_spending(target: str, spending: Spending | None) -> Spent | None:
    """Return the usage of a target's model; a target of several prompts is named `model [prompt]`."""
    if spending is None:
        return None
    candidates = [
        spent
        for spent in spending.models
        if spent.role == "model" and (spent.model == target or target.startswith(f"{spent.model} ["))
    ]
    # A model's name may begin with another's: the longest is the target's own.
    return max(candidates, key=lambda spent: len(spent.model), default=None)


def model_values(row: VerdictRow) -> dict[str, str]:
    """Return the cells of a model's own columns, without its name, by column."""
    return {column.name: column.cell(row) for column in model_columns()[1:]}
