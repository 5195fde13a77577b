"""The common form of a side of a comparison: a finished run of ours, or another tool's file."""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from basic_control.data.batches import Ref
from basic_control.data.commands import LAST
from basic_control.data.documents import METHODOLOGY
from basic_control.data.errors import InputError
from basic_control.data.tables import SCORES
from basic_control.metrics.analysis.other_tools import compare_stated
from basic_control.metrics.analysis.provenance import list_stated_facts
from basic_control.metrics.stated import NAME as STATED
from basic_control.tasks.exchange.frames import (
    UNNAMED,
    LogFrames,
    Scales,
    Side,
    ask_as_sent,
    build_frames,
    find_differing,
    find_shared_ids,
    tabulate,
)
from basic_control.tasks.exchange.log_files import read
from basic_control.tasks.exchange.logs import name_our_metric
from basic_control.tasks.exchange.unscored import describe_unscored
from basic_control.tasks.store.baselines import KEPT, Baseline, find_path, is_baseline, read_baseline
from basic_control.tasks.store.runs import (
    MANIFEST,
    Run,
    find_all,
    load_items,
    load_replies,
    load_table,
    resolve_last,
)

EXPECTED = "expected answers"
_HEAD = 400
"""Bytes of a file that say whether it is a `results.json` of ours."""


@dataclass(frozen=True, slots=True)
class FileForm:
    """How to read other tools' files: our names for their columns, the scales of their metrics.

    `verify` is a metric of ours that scores their replies again. `requested` metrics are read though they equal
    another.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    scales: Scales = field(default_factory=dict)
    verify: str = ""
    requested: Collection[str] = ()


def is_run(name: str, runs: Path) -> bool:
    """Return whether a name is a run's: a folder with a manifest, or what looks like an id among `runs`."""
    path = Path(name)
    is_there = (path / MANIFEST).is_file() or (path.name == name and (runs / name).is_dir())
    return is_there or not (path.exists() or path.suffix)


def find_own_run(name: str, runs: Path) -> str:
    """Return the run of a `results.json` of ours: the one beside it, or the one that it names; others as they are.

    Raises:
        InputError: that run is not here.
    """
    path = Path(name)
    if path.suffix != ".json" or not path.is_file():
        return name
    with path.open("rb") as file:
        is_ours = METHODOLOGY.encode() in file.read(_HEAD)
    if not is_ours:
        return name
    if (path.parent / MANIFEST).is_file():
        return str(path.parent.resolve())
    try:
        run = json.loads(path.read_text(encoding="utf-8"))["run"]["run"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return name  # the readers of files say what is wrong
    if isinstance(run, str) and Path(run).name == run and (runs / run / MANIFEST).is_file():
        return run
    raise InputError(
        f"{name}: found the summary of run {run}, which has no rows; expected the run itself in {runs}. Name its "
        "folder in place of the file, or the folder of runs: --set store.runs=FOLDER."
    )


def read_sides(names: Sequence[str], *, runs: Path, root: str = "", form: FileForm | None = None) -> list[Side]:
    """Read the sides of a comparison, in order: runs, pinned baselines, and files of other tools.

    Raises:
        InputError: a run or file is not there, or cannot be read.
    """
    form = form or FileForm()
    names = [find_own_run(name, runs) for name in _resolve_last(names, runs)]
    pinned: dict[str, Baseline] = {}
    run_of: dict[str, str] = {}
    for name in names:
        baseline = _read_pinned(name, runs)
        if baseline:
            pinned[name] = baseline
            # A pinned run that is still there has the texts as well.
            if (runs / baseline.run).is_dir():
                run_of[name] = baseline.run
    names = [run_of.get(name, name) for name in names]
    run_names = [name for name in names if name not in pinned and is_run(name, runs)]
    ours: dict[str, Side] = {}
    for name, run in zip(run_names, find_all(run_names, runs), strict=True):
        ours[name] = load_side(run, root)
    ours.update({name: _build_pinned_side(pinned[name]) for name in names if name in pinned})
    digests: set[str] = set()
    for side in ours.values():
        digests.update(side.items["text_digest"].drop_nulls())
    logs = {n: _read_log(Path(name), form, digests) for n, name in enumerate(names) if name not in ours}
    if not logs:
        return [ours[name] for name in names]
    return _add_files(names, ours, _share_directions(logs), form)


def find_newest(name: str, runs: Path) -> str:
    """Return the newest run's name for `last`, unless something else is called so; any other name as it is."""
    if name != LAST or Path(LAST).exists() or (runs / LAST).exists():
        return name
    return resolve_last(LAST, runs)


def _resolve_last(names: Sequence[str], runs: Path) -> list[str]:
    """Return the names with `last` as the newest run's; alone it stands for the newest two, older first."""
    newest = [find_newest(name, runs) for name in names]
    if [*names] == [LAST] != newest:
        return [resolve_last(LAST, runs, before=1), *newest]
    return newest


def _add_files(
    names: Sequence[str], ours: Mapping[str, Side], logs: Mapping[int, LogFrames], form: FileForm
) -> list[Side]:
    """Return all sides, some of them files, by common ids, suites and metrics; `logs` are the files by position."""
    metrics: dict[str, None] = {}
    for log in logs.values():
        metrics.update(dict.fromkeys(log.metrics))
    unknown = {*form.scales} - metrics.keys()
    if unknown:
        expected = ", ".join(metrics) or "none"
        raise InputError(f"--scale {unknown.pop()}: no file has that metric; expected one of {expected}.")
    question_ids: set[str] = set()
    for side in ours.values():
        question_ids.update(map(str, side.items["question_id"]))
    ids = find_shared_ids(logs.values(), question_ids)
    # A file without texts can only be joined by its ids.
    by_id = any(log.rows["words"].null_count() == log.rows.height for log in logs.values())
    verified = ""
    if form.verify:
        verified = name_our_metric(form.verify)
    apart = {verified, *form.requested, *find_differing(logs.values())}
    sides: list[Side] = []
    for n, (name, label) in enumerate(zip(names, _label_files(names), strict=True)):
        if name in ours:
            sides.append(ours[name])
            continue
        try:
            side = tabulate(label, logs[n], ids=ids, by_id=by_id, scales=form.scales, apart=apart)
        except InputError as error:
            raise InputError(f"{name}: {error}") from error
        if verified:
            side = _add_verification(side, verified)
        sides.append(side)
    return _align_names(_compare_expected(sides))


def _read_pinned(name: str, runs: Path) -> Baseline | None:
    """Return the baseline of that name or path; None if it names a run or another file."""
    path = find_path(name)
    is_other = (runs / name).is_dir() or (Path(name).exists() and not is_baseline(Path(name)))
    if is_other or not path.is_file():
        return None
    return read_baseline(name)


def _build_pinned_side(baseline: Baseline) -> Side:
    """Return a baseline whose run is gone as a side, without the texts of its replies."""
    side = baseline.side
    scores = pl.concat([SCORES.frame([]), side.scores], how="diagonal_relaxed")
    return Side(side.name, side.items, scores, side.replies, side.provenance, tables=baseline.tables)


def _read_log(path: Path, form: FileForm, digests: Collection[str]) -> LogFrames:
    log = ask_as_sent(read(path, form.columns), digests)
    for n, row in enumerate(log.rows, 1):
        if not (row.id or row.question.strip()):
            raise InputError(f"{path}, row {n}: found neither a question nor an id.")
    if not (form.verify or any(row.scores or row.error for row in log.rows)):
        unscored = describe_unscored(path)
        if unscored:
            raise InputError(f"{path}: {unscored}")
    if form.verify:
        from basic_control.tasks.exchange.verifying import add_our_scores  # metrics, which few files need

        log = add_our_scores(log, form.verify)
    return build_frames(log)


def _share_directions(logs: Mapping[int, LogFrames]) -> dict[int, LogFrames]:
    """Apply a metric's direction that one file of a tool states to the tool's other files."""
    lower_is_better: dict[str, frozenset[str]] = {}
    for log in logs.values():
        tool = log.facts.get("tool", "")
        lower_is_better[tool] = lower_is_better.get(tool, frozenset()) | log.lower_is_better
    return {n: replace(log, lower_is_better=lower_is_better[log.facts.get("tool", "")]) for n, log in logs.items()}


def _label_files(names: Sequence[str]) -> list[str]:
    """Return short labels of files: their names, their paths if names are equal, else numbered."""
    short_names = [Path(name).name or name for name in names]
    counts, times = Counter(short_names), Counter[str]()
    labels: list[str] = []
    for name, short_name in zip(names, short_names, strict=True):
        label = name
        if counts[short_name] == 1:
            label = short_name
        times[label] += 1
        if times[label] > 1:
            label = f"{label} ({times[label]})"
        labels.append(label)
    return labels


def load_side(run: Run, root: str = "") -> Side:
    """Return a finished run as a side; `root` is its store's current location, if moved.

    Raises:
        InputError: the run's tables are not intact.
    """
    from basic_control.config.declared import suites_in  # half a second, which files need not wait for
    from basic_control.tasks.compare.provenance import read_provenance

    items = load_items(run, root).unique("item_id", maintain_order=True)
    scores = load_table(run, "scores", root).join(
        items.select("item_id", "suite"), on="item_id", maintain_order="left"
    )
    return Side(
        run.name,
        items,
        scores,
        load_replies(run, root),
        read_provenance(run.manifest),
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
    stated = compare_stated(main_and_ours, side.items, dict.fromkeys(side.metrics_by_suite, (ours,)))
    return replace(side, verified=tuple(stated))


def _compare_expected(sides: Sequence[Side]) -> list[Side]:
    """Compare expected answers only if all sides state them."""
    has_answers = [bool((side.items["answer_digest"].fill_null("") != "").any()) for side in sides]
    if all(has_answers) or not any(has_answers):
        return [*sides]
    comparable: list[Side] = []
    for side, is_stated in zip(sides, has_answers, strict=True):
        # The digests go, and a file that states answers says so as a fact in which the sides differ.
        tested = {**side.provenance.tested}
        if is_stated and side.is_file:
            tested[EXPECTED] = "stated"
        items = side.items.with_columns(answer_digest=pl.lit(""))
        comparable.append(replace(side, items=items, provenance=replace(side.provenance, tested=tested)))
    return comparable


def _align_names(sides: Sequence[Side]) -> list[Side]:
    """Give single suites without a common name, and their main metrics, a common name.

    A file's only suite has the name of the suite, among several, that asks most of its questions.
    """
    first = next((side for side in sides if [*side.metrics_by_suite] != [UNNAMED]), sides[0])
    if any(side.is_file for side in sides):
        first = max((first, *sides), key=_count_suites)
    aligned: list[Side] = []
    for side in sides:
        suite = _find_suite(side, first)
        if suite and len(side.metrics_by_suite) == 1 and not side.metrics_by_suite.keys() & first.metrics_by_suite:
            aligned.append(_rename(side, suite, {}))
        else:
            aligned.append(side)
    metrics_by_side = [*map(list_side_metrics, aligned)]
    if len(aligned) == 1 or set.intersection(*map(set, metrics_by_side)):
        return aligned
    # Without a common metric the main ones of what all sides ask are compared, under all their names.
    shared = set.intersection(*(set(side.metrics_by_suite) for side in aligned))
    main_metrics: list[str] = []
    for side, metrics in zip(aligned, metrics_by_side, strict=True):
        of_shared = [names[0] for suite, names in side.metrics_by_suite.items() if suite in shared and names]
        main_metrics.append((of_shared or metrics)[0])
    label = " / ".join(dict.fromkeys(main_metrics))
    return [_rename(side, "", {main: label}) for side, main in zip(aligned, main_metrics, strict=True)]


def _count_suites(side: Side) -> int:
    return len(side.metrics_by_suite)


def _find_suite(side: Side, first: Side) -> str:
    """Return the suite of another side that asks most of a side's questions; its only one; '' if none does."""
    suites = [*first.metrics_by_suite]
    if len(suites) == 1:
        return suites[0]
    asked_by_both = first.items.join(side.items, on="text_digest", how="semi")
    counts = dict(asked_by_both.group_by("suite").len().iter_rows())
    # Of suites that ask as many, the first.
    most_asking = max(suites, key=lambda suite: counts.get(suite, 0))
    return most_asking if counts.get(most_asking) else ""


def _rename(side: Side, suite: str, metrics: Mapping[str, str]) -> Side:
    """Return a side with another name of its only suite, or of metrics."""
    items = side.items
    scores = side.scores.with_columns(pl.col("metric").replace(dict(metrics)))
    if suite:
        items = items.with_columns(suite=pl.lit(suite))
        scores = scores.with_columns(suite=pl.lit(suite))
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


def list_side_metrics(side: Side) -> list[str]:
    """Return a side's compared metrics, the main one first."""
    return list(dict.fromkeys(chain.from_iterable(side.metrics_by_suite.values())))


def list_shared_metrics(sides: Sequence[Side]) -> tuple[str, ...]:
    """Return the metrics that at least two sides have, or the only side, in order."""
    times = Counter(chain.from_iterable(map(list_side_metrics, sides)))
    return tuple(metric for metric, n in times.items() if n >= min(len(sides), 2))


def list_stated_differences(sides: Sequence[Side]) -> list[tuple[str, list[str | None]]]:
    """Return what the sides state differently, each side's value in one line; None where it states none."""
    facts_by_side = [list_stated_facts(side.provenance) for side in sides]
    differing: list[tuple[str, list[str | None]]] = []
    for name in dict.fromkeys(chain.from_iterable(facts_by_side)):
        values = [facts.get(name) for facts in facts_by_side]
        stated = {*values} - {None}
        if len(stated) > 1:
            differing.append((name, values))
    return differing


def select_deciding_scores(side: Side, suite_metrics: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """Return a side's scores by the metrics that decide: each a suite and its metric."""
    deciding = pl.DataFrame([*suite_metrics], {"suite": pl.String, "metric": pl.String}, orient="row")
    return side.scores.join(deciding, on=["suite", "metric"], how="semi", maintain_order="left")
