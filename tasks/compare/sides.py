"""The common form of a side of a comparison: a finished run of ours, or another tool's file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.batches import Ref
from basic_control.data.errors import InputError
from basic_control.data.tables import SCORES
from basic_control.metrics.analysis.other_tools import compare_stated
from basic_control.metrics.analysis.rules import list_stated_facts
from basic_control.metrics.stated import NAME as STATED
from basic_control.tasks.exchange.reading import read
from basic_control.tasks.exchange.records import name_of
from basic_control.tasks.exchange.tables import (
    UNNAMED,
    LogFrames,
    Scales,
    Side,
    build_frames,
    find_differing,
    find_shared_ids,
    tabulate,
)
from basic_control.tasks.store.baselines import KEPT, Baseline, find_path, is_baseline
from basic_control.tasks.store.baselines import read as read_baseline
from basic_control.tasks.store.runs import (
    LAST,
    MANIFEST,
    Run,
    find_all,
    find_last,
    load_items,
    load_replies,
    load_table,
)

EXPECTED = "expected answers"


@dataclass(frozen=True, slots=True)
class FileForm:
    """How to read other tools' files: our names for their columns, the scales of their metrics.

    `verify` is a metric of ours that scores their replies again.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    scales: Scales = field(default_factory=dict)
    verify: str = ""


def is_run(name: str, runs: Path) -> bool:
    """Return whether a name is a run's: a folder with a manifest, or what looks like an id among `runs`."""
    path = Path(name)
    is_there = (path / MANIFEST).is_file() or (path.name == name and (runs / name).is_dir())
    return is_there or not (path.exists() or path.suffix)


def sides(names: Sequence[str], *, runs: Path, root: str = "", form: FileForm | None = None) -> list[Side]:
    """Read the sides of a comparison, in order: runs, pinned baselines, and files of other tools.

    Raises:
        InputError: a run or file is not there, or cannot be read.
    """
    form = form or FileForm()
    names = _resolve_last(names, runs)
    pinned = {name: baseline for name in names if (baseline := _read_pinned(name, runs))}
    # A pinned run that is still there has the texts as well.
    run_of = {name: baseline.run for name, baseline in pinned.items() if (runs / baseline.run).is_dir()}
    names = [run_of.get(name, name) for name in names]
    ours = [name for name in names if name not in pinned and is_run(name, runs)]
    sides_by_name = {name: side_of(run, root) for name, run in zip(ours, find_all(ours, runs), strict=True)}
    sides_by_name |= {name: _build_pinned_side(pinned[name]) for name in names if name in pinned}
    logs = _share_directions(
        {n: _read(Path(name), form) for n, name in enumerate(names) if name not in sides_by_name}
    )
    return _read_files(names, sides_by_name, logs, form) if logs else [sides_by_name[name] for name in names]


def _resolve_last(names: Sequence[str], runs: Path) -> list[str]:
    """Return the names with `last` as the newest run's; alone it stands for the newest two, older first."""
    if Path(LAST).exists() or (runs / LAST).exists():
        return [*names]
    if [*names] == [LAST]:
        return [find_last(LAST, runs, before=steps).name for steps in (1, 0)]
    return [find_last(LAST, runs).name if name == LAST else name for name in names]


def _read_files(
    names: Sequence[str], ours: Mapping[str, Side], logs: Mapping[int, LogFrames], form: FileForm
) -> list[Side]:
    """Return all sides, some of them files, by common ids, suites and metrics; `logs` are the files by position."""
    metrics = dict.fromkeys(metric for log in logs.values() for metric in log.metrics)
    if unknown := {*form.scales} - metrics.keys():
        expected = ", ".join(metrics) or "none"
        raise InputError(f"--scale {unknown.pop()}: no file has that metric; expected one of {expected}.")
    questions = {str(question) for side in ours.values() for question in side.items["question_id"]}
    ids = find_shared_ids(logs.values(), questions)
    by_id = any(log.rows["words"].null_count() == log.rows.height for log in logs.values())
    verified = name_of(form.verify) if form.verify else ""
    apart = {verified, *find_differing(logs.values())}
    whole = []
    for n, (name, label) in enumerate(zip(names, _labels(names), strict=True)):
        if name in ours:
            whole.append(ours[name])
            continue
        try:
            side = tabulate(label, logs[n], ids=ids, by_id=by_id, scales=form.scales, apart=apart)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        whole.append(_add_verification(side, verified) if verified else side)
    return _align_names(_compare_expected(whole))


def _read_pinned(name: str, runs: Path) -> Baseline | None:
    """Return the baseline of that name or path; None if it names a run or another file."""
    path = find_path(name)
    is_other = (runs / name).is_dir() or (Path(name).exists() and not is_baseline(Path(name)))
    return None if is_other or not path.is_file() else read_baseline(name)


def _build_pinned_side(baseline: Baseline) -> Side:
    """Return a baseline whose run is gone as a side, without the texts of its replies."""
    side = baseline.side
    scores = pl.concat([SCORES.frame([]), side.scores], how="diagonal_relaxed")
    return Side(side.name, side.items, scores, side.replies, side.provenance, tables=baseline.tables)


def _read(path: Path, form: FileForm) -> LogFrames:
    log = read(path, form.columns)
    if blank := next((n for n, row in enumerate(log.rows, 1) if not (row.id or row.question.strip())), 0):
        raise InputError(f"{path}, row {blank}: found neither a question nor an id.")
    if form.verify:
        from basic_control.tasks.exchange.verifying import add_our_scores

        log = add_our_scores(log, form.verify)
    return build_frames(log)


def _share_directions(logs: Mapping[int, LogFrames]) -> dict[int, LogFrames]:
    """Apply a metric's direction that one file of a tool states to the tool's other files."""
    lower: dict[str, frozenset[str]] = {}
    for log in logs.values():
        tool = log.facts.get("tool", "")
        lower[tool] = lower.get(tool, frozenset()) | log.lower
    return {n: replace(log, lower=lower[log.facts.get("tool", "")]) for n, log in logs.items()}


def _labels(names: Sequence[str]) -> list[str]:
    """Return short labels of files: their names, their paths if names are equal, else numbered."""
    short = Counter(Path(name).name or name for name in names)
    times = Counter[str]()
    labels = []
    for name in names:
        label = Path(name).name or name
        label = label if short[label] == 1 else name
        times[label] += 1
        labels.append(f"{label} ({times[label]})" if times[label] > 1 else label)
    return labels


def side_of(run: Run, root: str = "") -> Side:
    """Return a finished run as a side; `root` is its store's current location, if moved.

    Raises:
        InputError: the run's tables are not intact.
    """
    from basic_control.config.declared import suites_in  # half a second, which files need not wait for
    from basic_control.tasks.compare.provenance import provenance_of

    items = load_items(run, root).unique("item_id", maintain_order=True)
    scores = load_table(run, "scores", root).join(
        items.select("item_id", "suite"), on="item_id", maintain_order="left"
    )
    return Side(
        run.name,
        items,
        scores,
        load_replies(run, root),
        provenance_of(run.manifest),
        suites=tuple(suites_in(run.configuration)),
        run=run,
        tables={kind: tuple(map(Ref.read, run.manifest["tables"].get(kind, ()))) for kind in KEPT},
    )


def _add_verification(side: Side, ours: str) -> Side:
    """Compare the tool's main score with ours."""
    main = next(iter(side.kinds))
    if ours == main:
        return side
    main_and_ours = side.scores.filter(pl.col("metric").is_in([main, ours])).with_columns(
        pl.col("metric").replace({main: STATED})
    )
    stated = compare_stated(main_and_ours, side.items, dict.fromkeys(side.score, (ours,)))
    return replace(side, verified=tuple(stated))


def _compare_expected(whole: Sequence[Side]) -> list[Side]:
    """Compare expected answers only if all sides state them."""
    is_blank = [not (side.items["answer_digest"].fill_null("") != "").any() for side in whole]
    if all(is_blank) or not any(is_blank):
        return [*whole]
    sides = []
    for side, blank in zip(whole, is_blank, strict=True):
        stated = {} if blank or not side.is_file else {EXPECTED: "stated"}
        tested = {**side.provenance.tested, **stated}
        items = side.items.with_columns(answer_digest=pl.lit(""))
        sides.append(replace(side, items=items, provenance=replace(side.provenance, tested=tested)))
    return sides


def _align_names(whole: Sequence[Side]) -> list[Side]:
    """Give single suites without a common name, and their main metrics, a common name."""
    first = next((side for side in whole if [*side.score] != [UNNAMED]), whole[0])
    sides = []
    for side in whole:
        is_single = len(side.score) == len(first.score) == 1
        is_other = is_single and not {*side.score} & {*first.score}
        sides.append(_rename(side, next(iter(first.score)), {}) if is_other else side)
    names = [metrics_of(side) for side in sides]
    if len(sides) < 2 or set.intersection(*map(set, names)):  # noqa: PLR2004 - one has nothing to be called as
        return sides
    label = " / ".join(dict.fromkeys(metrics[0] for metrics in names))
    return [_rename(side, "", {metrics[0]: label}) for side, metrics in zip(sides, names, strict=True)]


def _rename(side: Side, suite: str, metrics: Mapping[str, str]) -> Side:
    """Return a side with another name of its only suite, or of metrics."""
    items = side.items
    scores = side.scores.with_columns(pl.col("metric").replace(dict(metrics)))
    if suite:
        items, scores = (frame.with_columns(suite=pl.lit(suite)) for frame in (items, scores))
    # The rules name metrics three times: those of the scores, the headlines, and the parts of each headline.
    suites = {}
    for name, rules in side.provenance.suites.items():
        headlines = _rename_keys(rules.headlines, metrics)
        for headline, parts in headlines.items():
            headlines[headline] = _rename_keys(parts, metrics)
        score = tuple(metrics.get(metric, metric) for metric in rules.score)
        suites[suite or name] = replace(rules, score=score, headlines=headlines)
    return replace(
        side,
        items=items,
        scores=scores,
        kinds=_rename_keys(side.kinds, metrics),
        judged=_rename_keys(side.judged, metrics),
        provenance=replace(side.provenance, suites=suites),
    )


def _rename_keys(facts: Mapping[str, Any], metrics: Mapping[str, str]) -> dict[str, Any]:
    """Return facts by metric under the metrics' new names."""
    return {metrics.get(metric, metric): fact for metric, fact in facts.items()}


def metrics_of(side: Side) -> list[str]:
    """Return a side's compared metrics, the main one first."""
    return list(dict.fromkeys(metric for metrics in side.score.values() for metric in metrics))


def list_shared_metrics(whole: Sequence[Side]) -> tuple[str, ...]:
    """Return the metrics that at least two sides have, or the only side, in order."""
    times = Counter(metric for side in whole for metric in metrics_of(side))
    return tuple(metric for metric, n in times.items() if n >= min(len(whole), 2))


def list_stated_differences(whole: Sequence[Side]) -> list[tuple[str, list[str | None]]]:
    """Return what the sides state differently, each side's value in one line; None where it states none."""
    facts = [list_stated_facts(side.provenance) for side in whole]
    differing = []
    for name in dict.fromkeys(name for side in facts for name in side):
        values = [side.get(name) for side in facts]
        if len({value for value in values if value is not None}) > 1:
            differing.append((name, values))
    return differing


def select_deciding_scores(side: Side, pairs: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """Return a side's scores by the metrics that decide, pairs of a suite and a metric."""
    deciding = pl.DataFrame([*pairs], {"suite": pl.String, "metric": pl.String}, orient="row")
    return side.scores.join(deciding, on=["suite", "metric"], how="semi", maintain_order="left")
