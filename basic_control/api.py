"""Evaluations from Python: `run`, `evaluate`, `compare`, `gate`, `read`.

A run goes on in a process of its own, as a command's does: what it imports and changes stays there, and its screen
appears on stderr. Here only its results are read. Importing this module imports the standard library alone.
"""

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from basic_control.plain_values import as_plain, write_rows
from basic_control.runs_apart import RunApart, RunRequest
from basic_control.served_metrics import EvaluationMetrics
from basic_control.targets import Targets, Wanted

if TYPE_CHECKING:
    import polars as pl

    from basic_control.data.records import Metric
    from basic_control.metrics.analysis.baseline import BaselineComparison
    from basic_control.metrics.analysis.results import Results
    from basic_control.metrics.analysis.verdict import RunVerdict
    from basic_control.tasks.compare.comparison import RunComparison
    from basic_control.tasks.exchange.frames import Side

Path_ = str | PathLike[str]
"""A file or a folder."""
Rows = Path_ | Iterable[Mapping[str, Any]] | Any
"""Rows of a suite: a file, mappings, or a frame of Polars, pandas or Arrow."""
Measure = Union[str, "Metric", Callable[..., Any], Mapping[Any, Mapping[str, Any]]]
"""A metric: its name, a function, what `@bc.metric` made, or names with options: `{"json_match": {…}}`."""
RUNS = Path("artifacts/runs")
"""The default folder of runs."""
_OPTIONS = frozenset({
    "limit", "data", "fresh", "until_decided", "wait", "junit", "markdown", "json", "name", "note",
})  # fmt: skip
"""Keys of `run` that are options of the command line; all others are keys of the configuration."""
_QUESTIONS = ("question", "prompt", "input", "user_input", "query")
"""Columns that are asked as they are if no prompt is given, the first that there is."""


@dataclass(frozen=True)
class ScreenedOutcome:
    """How something ended: `exit_code` is the command line's, `screen` its text."""

    exit_code: int
    screen: str = field(repr=False)

    @property
    def passed(self) -> bool:
        """Whether the exit code is 0."""
        return self.exit_code == 0

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        return next((line.strip() for line in self.screen.splitlines() if line.strip()), "")

    def check(self) -> None:
        """Fail a test unless this passed.

        Raises:
            AssertionError: the exit code is not 0; the message is the screen.
        """
        if not self.passed:
            raise AssertionError(self.screen)

    def __str__(self) -> str:
        """Return the screen."""
        return self.screen

    def __repr__(self) -> str:
        """Return the screen."""
        return f"<{type(self).__name__}, exit code {self.exit_code}>\n{self.screen}"

    def _repr_html_(self) -> str:
        """Return the screen for a notebook."""
        return f'<pre style="white-space: pre">{html.escape(self.screen)}</pre>'


@dataclass(frozen=True, repr=False)
class FinishedRun(ScreenedOutcome):
    """A finished run, or a file of another tool; its numbers are read when they are first asked for.

    `folder` is the run's, or the file.
    """

    folder: Path

    @cached_property
    def _document(self) -> "tuple[Results, RunVerdict]":
        from basic_control.tasks.store.runs import load_results, read_run

        return load_results(read_run(self.folder), whole=True)

    @property
    def results(self) -> "Results":
        """Every number behind the verdict: models, headlines, intervals, pairs of models, judges."""
        return self._document[0]

    @property
    def summary(self) -> "pl.DataFrame":
        """A row for each suite, model and metric: score, low, high, threshold, verdict, scored, asked."""
        from basic_control.tasks.store.frames import summarize

        return summarize(self._document[1].models)

    @property
    def samples(self) -> "pl.DataFrame":
        """A row for each reply: its question, the reply, and the value of each metric in a column of its name."""
        from basic_control.tasks.store.frames import read_samples

        return read_samples(self.folder)

    @property
    def scores(self) -> "pl.DataFrame":
        """A row for each reply and metric: suite, item_id, model, repeat, metric, value, status, reason."""
        from basic_control.tasks.store.frames import read_scores

        return read_scores(self.folder)

    @property
    def judgements(self) -> "pl.DataFrame":
        """A row for each claim or criterion that a judge decided: the score's, judge, about, text, verdict, reason.

        `about` is whose claim it is, response or reference, or the criterion's name; `excluded` why the judge does
        not count, '' if it does.
        """
        from basic_control.tasks.store.frames import tabulate_judgements

        return tabulate_judgements(self.scores)

    @property
    def report(self) -> Path:
        """The HTML report; where a run writes none, its Markdown; without either, the folder of reports."""
        folder = self.folder / "reports"
        pages, texts = sorted(folder.glob("report_*.html")), sorted(folder.glob("report_*.md"))
        return next(iter([*pages, *texts]), folder)

    def _repr_html_(self) -> str:
        link = f'<p><a href="{html.escape(self.report.resolve().as_uri())}">Report</a></p>'
        return super()._repr_html_() + (link if self.report.is_file() else "")


Run = FinishedRun


@dataclass(frozen=True, repr=False)
class ForeignFile(FinishedRun):
    """A file of another tool as a run: it has scores, but no report, and no threshold."""

    side: "Side" = field(repr=False)
    measured: "tuple[Results, RunVerdict]" = field(repr=False)

    @cached_property
    def _document(self) -> "tuple[Results, RunVerdict]":
        return self.measured

    @property
    def samples(self) -> "pl.DataFrame":
        """A row for each recorded reply, as of a run."""
        from basic_control.tasks.store.frames import join_samples

        return join_samples(self.side.items, self.side.replies, self.side.scores)

    @property
    def scores(self) -> "pl.DataFrame":
        """A row for each recorded reply and metric, as of a run."""
        return self.side.scores

    @property
    def report(self) -> Path:
        """The file itself."""
        return self.folder


@dataclass(frozen=True, repr=False)
class ComparedSides(ScreenedOutcome):
    """Runs or files side by side; `comparison` has each pair of models with its difference, interval and test."""

    comparison: "RunComparison" = field(repr=False)

    @property
    def changes(self) -> "pl.DataFrame":
        """A row for each score of a reply that changed: its question, both replies, both scores; losses first."""
        from basic_control.tasks.report.compared_frames import tabulate_changes

        return tabulate_changes(self.comparison)

    @property
    def pairs(self) -> "pl.DataFrame":
        """A row for each pair of models by each score: means, difference, low, high, p, verdict, conclusion."""
        from basic_control.tasks.report.compared_frames import tabulate_pairs
        from basic_control.tasks.report.language import use_language

        with use_language(self.comparison.language):
            return tabulate_pairs(self.comparison)


@dataclass(frozen=True, repr=False)
class GatedRun(ScreenedOutcome):
    """Whether a run or file passes; `comparison` is that with its baseline, if there is one."""

    decided: "RunVerdict" = field(repr=False)
    comparison: "BaselineComparison | None" = field(repr=False)


def run(
    configuration: Path_ | Mapping[str, Any] = "",
    *,
    suite: str = "",
    models: Wanted = (),
    judges: Wanted = (),
    version: str = "",
    concurrency: int = 1,
    **keys: Any,
) -> FinishedRun:
    """Evaluate models as the command `run` does, and return the finished run.

    `configuration` is a YAML file, its content, or '' for the shipped one; `suite` is one of its suites (default:
    all). `models` and `judges` replace those of the configuration: "provider/name", a function of the prompt, an
    entry, or several. A function is asked anew each time, unless `version` says which one it is, `concurrency`
    calls at a time. Other `keys` are the command's options (`limit`, `fresh`, `name`, …) and keys of the
    configuration: `gate="off"`, `store={"runs": "…"}`.

    Raises:
        InputError: the message of the command line.
        KeyboardInterrupt: it was stopped; what was answered is kept.
    """
    targets = Targets(version=version, concurrency=concurrency)
    return _run(configuration, targets, suite=suite, models=models, judges=judges, keys=keys)


def _run(
    configuration: Path_ | Mapping[str, Any],
    targets: Targets,
    *,
    suite: str = "",
    models: Wanted,
    judges: Wanted,
    keys: dict[str, Any],
) -> FinishedRun:
    """Run a configuration whose functions are among the targets."""
    entries = {"models": targets.entries(models), "judges": targets.entries(judges)}
    # What is no option of the command is a key, also a wrong one: the run says which there are.
    request = RunRequest(
        configuration=_configuration(configuration),
        suite=suite,
        targets={kind: targets_of_kind for kind, targets_of_kind in entries.items() if targets_of_kind},
        options={name: as_plain(keys.pop(name), name) for name in [*keys] if name in _OPTIONS},
        keys={name: as_plain(value, name) for name, value in keys.items()},
    )
    done = RunApart(request, targets).finish()
    return FinishedRun(done["exit_code"], done["screen"], Path(done["folder"]))


def _configuration(configuration: Path_ | Mapping[str, Any]) -> str | dict[str, Any]:
    if not isinstance(configuration, Mapping):
        return str(configuration)
    plain: dict[str, Any] = as_plain(configuration, "configuration")
    return plain


def evaluate(
    rows: Rows,
    target: Wanted = (),
    *,
    prompt: str = "",
    metrics: Measure | Sequence[Measure],
    columns: Mapping[str, str] | None = None,
    threshold: float | None = None,
    judges: Wanted = (),
    name: str = "evaluation",
    suite: Mapping[str, Any] | None = None,
    version: str = "",
    concurrency: int = 1,
    **keys: Any,
) -> FinishedRun:
    """Ask a target each row, score its replies, and return the finished run.

    `target` is a function of the prompt, "provider/name", an entry of `models`, or several; without one each row
    has its `response`. `prompt` is a template over a row's columns (default: its `question`). `metrics` are names,
    names with options, functions and metrics made by `@bc.metric`, one or several. `columns` maps our names to the
    rows': `{"answer": "expected"}`. A metric below `threshold` fails. `name` is the suite's, `suite` its other
    keys, which may also stand among `keys`. `version` (also of functions that score), `concurrency` and the other
    `keys`: as of `run`.

    Raises:
        InputError: the message of the command line.
        KeyboardInterrupt: it was stopped; what was answered is kept.
    """
    from basic_control.config.settings import Settings, Suite
    from basic_control.data.errors import InputError

    suite_keys = Suite.model_fields.keys() - Settings.model_fields.keys() - _OPTIONS
    declared_keys = {**(suite or {}), **{key: keys.pop(key) for key in [*keys] if key in suite_keys}}
    # The rows are kept beside the runs, where the run itself will find them again.
    runs = Path((keys.get("store") or {}).get("runs") or keys.get("store.runs") or RUNS)
    rows_file, columns_found = write_rows(rows, runs)
    # The loader renames columns alike.
    our_names = {str(theirs): ours for ours, theirs in (columns or {}).items()}
    column_names = [our_names.get(column, column) for column in columns_found]
    measures = EvaluationMetrics(metrics, column_names)
    declared: dict[str, Any] = {"name": name, "metrics": measures.options, "threshold": threshold, **declared_keys}
    items = {"data": rows_file, **declared.get("items", {})}
    if columns:
        items["columns"] = as_plain(columns, "columns")
    declared["items"] = items
    # Without a target, the rows' own responses are scored.
    if target == ():
        declared.setdefault("responses_of", "responses")
    if not prompt and target != () and "prompts" not in declared:
        prompt = _default_prompt(column_names)
    if prompt:
        declared["prompt"] = prompt
    configuration: dict[str, Any] = {"suites": [declared]}
    if plugins := measures.write_plugins(runs, version):
        configuration["plugins"] = [*dict.fromkeys([*keys.pop("plugins", ()), *plugins])]
    targets = Targets(version=version, concurrency=concurrency)
    targets.functions |= measures.functions
    try:
        return _run(configuration, targets, models=target, judges=judges, keys=keys)
    except InputError as error:
        # Who gave rows does not know the file that keeps them.
        message = str(error).replace(rows_file, "rows") if column_names else str(error)
        raise InputError(message) from None


def _default_prompt(columns: Sequence[str]) -> str:
    """Return the prompt that asks the first column of a usual name.

    Raises:
        InputError: there is none.
    """
    from basic_control.data.errors import InputError
    from basic_control.data.usual_columns import find_column

    question = next((name for name in _QUESTIONS if find_column(name, columns) is not None), "")
    if columns and not question:
        raise InputError(
            f"prompt: found none, and no column named {' or '.join(_QUESTIONS)}; expected a template over the "
            f"columns {', '.join(columns)}, such as prompt='{{{{ {columns[0]} }}}}'."
        )
    return f"{{{{ {question or _QUESTIONS[0]} }}}}"


def compare(
    *sides: "Path_ | FinishedRun", runs: Path_ = RUNS, metric: str | Sequence[str] = (), language: str = ""
) -> ComparedSides:
    """Compare runs, or files of other tools, on their common questions, later ones with earlier ones.

    A side is a `FinishedRun`, a run's folder, its name in `runs`, or a file. Nothing is asked.

    Raises:
        InputError: the message of the command line.
    """
    from basic_control.data.commands import call_from_python
    from basic_control.flows.cli.commands.compare import show_comparison
    from basic_control.flows.cli.console import text_of
    from basic_control.tasks.compare.comparison import compare_runs
    from basic_control.tasks.report.language import use_language

    metrics = (metric,) if isinstance(metric, str) else tuple(metric)
    comparison = compare_runs([*map(_name_side, sides)], runs=Path(runs), metrics=metrics, language=language)
    with use_language(comparison.language), call_from_python():
        screen = text_of(*show_comparison(comparison, 3))
    return ComparedSides(0, screen, comparison)


def gate(
    new: "Path_ | FinishedRun",
    *,
    baseline: "Path_ | FinishedRun" = "",
    threshold: float | None = None,
    max_drop: float | None = None,
    metric: str = "",
    allow_different: bool = False,
    runs: Path_ = RUNS,
) -> GatedRun:
    """Decide whether a run or file passes, against a baseline, a threshold, or both, as the command `gate` does.

    Raises:
        InputError: the message of the command line.
    """
    from basic_control.data.commands import call_from_python
    from basic_control.data.suites import MAX_DROP
    from basic_control.flows.cli.commands.compare import decide
    from basic_control.flows.cli.console import text_of
    from basic_control.tasks.plan import BaselineRule

    name = _name_side(baseline) if baseline else ""
    rule = BaselineRule(name, MAX_DROP if max_drop is None else max_drop, allow_different)
    with call_from_python():
        verdict, comparison, _, lines = decide(
            _name_side(new), rule, runs=Path(runs), metric=metric, threshold=threshold
        )
        screen = text_of(*lines)
    return GatedRun(int(verdict.exit_code), screen, verdict, comparison)


def read(path: Path_, *, runs: Path_ = RUNS) -> FinishedRun:
    """Read a finished run, by its folder or its name in `runs`, or a file of another tool.

    Raises:
        InputError: the message of the command line.
    """
    from basic_control.tasks.compare.sides import find_own_run, is_run

    name = find_own_run(str(path), Path(runs))
    if is_run(name, Path(runs)):
        return _read_run(name, Path(runs))
    return _read_file(name, Path(runs))


def _read_run(name: str, runs: Path) -> FinishedRun:
    from basic_control.data.commands import call_from_python
    from basic_control.flows.cli.console import text_of
    from basic_control.tasks.report.brief import summary_parts
    from basic_control.tasks.store.runs import find_run, load_results

    stored = find_run(name, runs)
    measured, verdict = load_results(stored)
    with call_from_python():
        screen = text_of(*summary_parts(measured, verdict, stored))
    return FinishedRun(int(verdict.exit_code), screen, stored.folder)


def _read_file(name: str, runs: Path) -> ForeignFile:
    from basic_control.flows.cli.console import text_of
    from basic_control.tasks.compare.gating import measure_file
    from basic_control.tasks.report.brief import summary_parts

    side, measured, verdict = measure_file(name, runs)
    screen = text_of(*summary_parts(measured, verdict))
    return ForeignFile(int(verdict.exit_code), screen, Path(name), side, (measured, verdict))


def _name_side(side: "Path_ | FinishedRun") -> str:
    if isinstance(side, FinishedRun):
        side = side.folder
    return str(side)
