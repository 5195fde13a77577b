"""`gate`: does a run, or another tool's file, pass its threshold and its baseline; the exit code says it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from flows.cli.completers import RUN
from flows.cli.console import show, written
from flows.cli.options import FileOptions, Where

if TYPE_CHECKING:
    from metrics.analysis.baseline import BaselineComparison
    from metrics.analysis.verdict import RunVerdict


SHARE = Parameter(validator=Number(gte=0, lte=1))


def gate(
    new: Annotated[str, RUN],
    /,
    *,
    baseline: Annotated[str, RUN] = "",
    max_drop: Annotated[float | None, SHARE] = None,
    threshold: Annotated[float | None, SHARE] = None,
    metric: str = "",
    junit: Annotated[str, Parameter(metavar="FILE")] = "",
    form: FileOptions | None = None,
    at: Where | None = None,
) -> int:
    """Say by the exit code whether a run, or a file of another tool, passes: for a build that runs any tool.

    Against a baseline it regresses where the paired difference lies significantly below the tolerated drop, and
    holds where it lies significantly above; where so few questions cannot tell, it is undecided.

    Args:
        new: a run's id or folder, or a file or folder of another tool
        baseline: the same, from before; or the name of a pinned baseline, whose run is still there
        max_drop: by how much it may be worse than the baseline (default: 0.02)
        threshold: what its score must reach, in 0 to 1
        metric: the metric that decides (default: a run's score, or a file's first)
        junit: write a case for each gate as JUnit XML
    """
    from data.characters import visible
    from data.errors import InputError
    from data.suites import MAX_DROP
    from flows.environment import PRIVACY
    from tasks.compare.gating import gate as gated
    from tasks.store.tables import write_atomically

    if not baseline and threshold is None:
        raise InputError("gate: expected --baseline OLD, or --threshold SHARE, or both; found neither.")
    for name, value in PRIVACY.items():  # before Prefect is imported, to score replies again
        os.environ.setdefault(name, value)
    where = at or Where()
    baseline = _pinned(baseline, where.runs)
    verdict, held, judged = gated(
        new,
        runs=where.runs,
        root=where.root,
        baseline=baseline,
        metric=metric,
        max_drop=MAX_DROP if max_drop is None else max_drop,
        threshold=threshold,
        form=(form or FileOptions()).form(),
    )
    show(*map(visible, _lines(verdict, held, f"{new}, compared with {baseline}:")), *map(visible, judged))
    if junit:
        written([write_atomically(Path(junit), _cases(verdict, held, new))])
    return verdict.exit_code


def _pinned(name: str, runs: Path) -> str:
    """Return the run of a pinned baseline; what is a run or a file itself stays.

    Raises:
        InputError: the pinned run is not there any more.
    """
    from data.errors import InputError
    from tasks.store.baselines import path_of, read

    if not name or Path(name).exists() or (runs / name).exists() or not path_of(name).is_file():
        return name
    run = read(name).run
    if not (runs / run).exists():
        raise InputError(
            f"--baseline {name}: pinned from run {run}, which is not in {runs}. Give a run or a file of another "
            f"tool, or compare with the pinned scores as you run: `basic-control run --baseline {name}`."
        )
    return run


def _lines(verdict: "RunVerdict", held: "BaselineComparison | None", both: str) -> Iterator[str]:
    from dataclasses import asdict

    from prompts.phrases import ENGLISH, phrase
    from tasks.report import regressions

    yield from (f"{name}: {said}" for _, name, _, said in _thresholds(verdict))
    if held:
        yield both
        yield from [*regressions.lines(asdict(held), ENGLISH)][1:]  # whose first names a pinned run
    yield phrase(f"regression.exit_{int(verdict.exit_code)}", ENGLISH)


def _thresholds(verdict: "RunVerdict") -> Iterator[tuple[str, str, str, str]]:
    """Yield of each model and suite its names, its outcome, and what is said of it."""
    from dataclasses import asdict

    from prompts.phrases import ENGLISH
    from tasks.report.text import estimated, percent
    from tasks.report.words import bound, why

    for model in verdict.models:
        for suite in model.suites:
            if suite.outcome == "none":
                continue
            part = asdict(suite)
            score = estimated(suite.score, suite.interval.low, suite.interval.high)
            told = " ".join(filter(None, (score, bound(part, ENGLISH))))
            asked = "" if suite.threshold is None else f", threshold {percent(suite.threshold)}"
            reason = why(part, ENGLISH)
            said = f"{told}{asked}: {suite.outcome}{f'; {reason}' if reason else ''}"
            yield model.model, f"{suite.suite} {model.model}", suite.outcome, said


def _cases(verdict: "RunVerdict", held: "BaselineComparison | None", new: str) -> str:
    from dataclasses import asdict

    from tasks.report import regressions
    from tasks.report.junit import case_of, text_of

    cases = [
        case_of(name, model, outcome, said, counts=True, passes=False)
        for model, name, outcome, said in _thresholds(verdict)
    ]
    for model in asdict(held)["models"] if held else ():
        cases += [
            case_of(part["suite"], f"baseline.{model['model']}", part["outcome"], regressions.regression(part),
                    counts=True, passes=False)
            for part in model["suites"]
        ]  # fmt: skip
    return text_of(cases, new)
