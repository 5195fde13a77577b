"""The table of models and their scores, defined once for every place that shows it.

A column of `model_columns` appears in all of them, once per model: on the screen, in a merge request, in Prefect's
UI, on the page; in the Markdown report, CSV and JUnit in the row or case of the model's score. A column of
`suite_columns` appears where each suite has a row: in the Markdown report and CSV.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import around, percent, written
from tasks.report.words import parts, scored, shared, spending_of, why

Results = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A suite of a model, or its overall score, as in `results.json` (docs/results.md)."""

    results: Results
    model: Mapping[str, Any]
    part: Mapping[str, Any]

    @property
    def spent(self) -> Mapping[str, Any]:
        """The model's usage over all its prompts (its entry in `run.spending.models`); {} if none.

        `model["model"]` is the target's name, the model's with its prompt if there are several.
        """
        models, name = spending_of(self.results).get("models", ()), self.model["model"]
        own = (one for one in models if f"{name} [".startswith(f"{one['model']} ["))
        return max((one for one in own if one["role"] == "model"), key=lambda one: len(one["model"]), default={})


def model_columns(language: str) -> list[Column]:
    """Return the columns of a model as a whole, of a `VerdictRow` whose `part` has its score.

    To add one, add a line here and its title as a phrase in each `prompts/<language>/phrases.yaml`. Counts of
    answers are in the model's suites (`row.model["suites"]`: `n_asked`, `n_scored`, `n_right`); `row.spent` has
    `cost`, of all calls, and `cost_now`, of those made in this run, by all prompts of the model if a row is of one:
    `money` of `tasks/report/words.py` formats them. A value missing in the results (docs/results.md) is first added
    as a field of a headline's part (`metrics/analysis/headlines.py`), counted in `metrics/analysis/scores.py`.
    """
    return [Column(shared("model", language), lambda row: row.model["model"], unbroken=True)]


def suite_columns(language: str) -> list[Column]:
    """Return the columns of each of a model's suites, and of its overall score."""
    column = column_maker("common", language)

    def interval(row: VerdictRow) -> str:
        return around(row.part["interval"]["low"], row.part["interval"]["high"], row.part["threshold"])

    def weight(row: VerdictRow) -> str:
        return "–" if row.part.get("weight") is None else written(f"{row.part['weight']:g}")

    return [
        column("suite", lambda row: row.part["suite"]),
        column("score", lambda row: scored(row.part, language), numeric=True),
        column("interval", interval, numeric=True),
        column("threshold_head", lambda row: percent(row.part["threshold"]), numeric=True),
        column("weight", weight, numeric=True),
        column("outcome", lambda row: shared(row.part["outcome"], language), strong=True),
        column("why", lambda row: why(row.part, language)),
    ]


def verdict_table(results: Results, language: str, *, title: str = "") -> Table:
    """Return the table with a row for each suite of a model, and for its overall score."""
    name, *more = model_columns(language)
    heads = [name, *suite_columns(language)]
    rows = []
    for own in model_rows(results, language):
        for part in parts(own.model, language):
            cells = [one.cell(VerdictRow(results, own.model, part)) for one in heads]
            rows.append([*cells, *(one.cell(own) if part == own.part else "" for one in more)])
    return Table([*heads, *more], rows, title)


def model_rows(results: Results, language: str) -> Iterator[VerdictRow]:
    """Yield for each model the row of its score: the overall one, or that of its only suite with a weight."""
    for model in results["final"]["models"]:
        weighing = [one for one in model["suites"] if one["weight"]]
        yield VerdictRow(results, model, weighing[0] if len(weighing) == 1 else parts(model, language)[-1])


def model_values(row: VerdictRow, language: str) -> dict[str, str]:
    """Return the cells of a model's own columns, without its name, by column."""
    return {one.name: one.cell(row) for one in model_columns(language)[1:]}
