"""The common form of a side of a comparison: a finished run of ours, or another tool's file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from data.errors import InputError
from data.tables import SCORES
from metrics.analysis.other_tools import stated_scores
from metrics.stated import NAME as STATED
from metrics.stats.intervals import MIN_CLUSTERS
from prompts.phrases import phrase
from tasks.exchange.reading import read
from tasks.exchange.records import name_of
from tasks.exchange.tables import UNNAMED, LogFrames, Scales, Side, differing, framed, shared_ids, tabulate
from tasks.store.baselines import Baseline, is_baseline, path_of
from tasks.store.baselines import read as read_baseline
from tasks.store.runs import MANIFEST, Run, find_all, items_of, load, replies

EXPECTED = "expected answers"


@dataclass(frozen=True, slots=True)
class FileForm:
    """How to read other tools' files: our names for their columns, the scales of their metrics.

    `verify` is a metric of ours that scores their replies again.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    scales: Scales = field(default_factory=dict)
    verify: str = ""


def is_run(named: str, runs: Path) -> bool:
    """Return whether a name is a run's: a folder with a manifest, or what looks like an id among `runs`."""
    path = Path(named)
    there = (path / MANIFEST).is_file() or (path.name == named and (runs / named).is_dir())
    return there or not (path.exists() or path.suffix)


def sides(named: Sequence[str], *, runs: Path, root: str = "", form: FileForm | None = None) -> list[Side]:
    """Read the sides of a comparison, in order.

    Raises:
        InputError: a run or file is not there, or cannot be read.
    """
    form = form or FileForm()
    pinned = {name: baseline for name in named if (baseline := _pinned(name, runs))}
    # A pinned run that is still there has the texts as well.
    named = [pinned[name].run if name in pinned and (runs / pinned[name].run).is_dir() else name for name in named]
    ours = [name for name in named if name not in pinned and is_run(name, runs)]
    known = {name: _side_of(run, root) for name, run in zip(ours, find_all(ours, runs), strict=True)}
    known |= {name: _pinned_side(pinned[name]) for name in named if name in pinned}
    logs = _directed({n: _read(Path(name), form) for n, name in enumerate(named) if name not in known})
    metrics = dict.fromkeys(metric for log in logs.values() for metric in log.metrics)
    if unknown := {*form.scales} - metrics.keys():
        listed = ", ".join(metrics) or "none"
        raise InputError(f"--scale {unknown.pop()}: no file has that metric; expected one of {listed}.")
    questions = {str(question) for side in known.values() for question in side.items["question_id"]}
    ids = shared_ids(logs.values(), questions)
    by_id = any(log.rows["words"].null_count() == log.rows.height for log in logs.values())
    labels = _labels(named)
    verified = name_of(form.verify) if form.verify else ""
    apart = {verified, *differing(logs.values())}

    def file_side(n: int, log: LogFrames) -> Side:
        try:
            side = tabulate(labels[n], log, ids=ids, by_id=by_id, scales=form.scales, apart=apart)
        except InputError as error:
            raise InputError(f"{named[n]}: {error}") from error
        return _verified(side, verified) if verified else side

    whole = [file_side(n, logs[n]) if n in logs else known[name] for n, name in enumerate(named)]
    return _aligned(_expecting(whole)) if logs else whole


def _pinned(name: str, runs: Path) -> Baseline | None:
    """Return the baseline of that name or path; None if it names a run or another file."""
    path = path_of(name)
    is_other = (runs / name).exists() or (Path(name).exists() and not is_baseline(Path(name)))
    return None if is_other or not path.is_file() else read_baseline(name)


def _pinned_side(baseline: Baseline) -> Side:
    """Return a baseline whose run is gone as a side, without the texts of its replies."""
    side = baseline.side
    texts = {name: pl.lit(None, pl.String) for name in ("text", "error")}
    scores = pl.concat([SCORES.frame([]), side.scores.drop("suite")], how="diagonal_relaxed")
    score = {name: suite.score for name, suite in side.provenance.suites.items()}
    replies = side.replies.drop("reply").with_columns(**texts)
    return Side(baseline.name, side.items, scores, replies, score, pinned=baseline)


def _read(path: Path, form: FileForm) -> LogFrames:
    log = read(path, form.columns)
    if blank := next((n for n, row in enumerate(log.rows, 1) if not (row.id or row.question.strip())), 0):
        raise InputError(f"{path}, row {blank}: found neither a question nor an id.")
    if form.verify:
        from tasks.exchange.verifying import verified

        log = verified(log, form.verify)
    return framed(log)


def _directed(logs: Mapping[int, LogFrames]) -> dict[int, LogFrames]:
    """Apply a metric's direction that one file of a tool states to the tool's other files."""
    lower: dict[str, frozenset[str]] = {}
    for log in logs.values():
        tool = log.facts.get("tool", "")
        lower[tool] = lower.get(tool, frozenset()) | log.lower
    return {n: replace(log, lower=lower[log.facts.get("tool", "")]) for n, log in logs.items()}


def _labels(named: Sequence[str]) -> list[str]:
    """Return short labels of files: their names, their paths if names are equal, else numbered."""
    short = [Path(one).name or one for one in named]
    labels = [name if short.count(name) == 1 else one for name, one in zip(short, named, strict=True)]
    turns = [labels[:n].count(one) for n, one in enumerate(labels)]
    return [f"{one} ({turn + 1})" if turn else one for one, turn in zip(labels, turns, strict=True)]


def _side_of(run: Run, root: str) -> Side:
    from config.declared import suites_in  # half a second, which files need not wait for

    listed = tuple(suites_in(run.configuration))
    return Side(
        run.name,
        items_of(run, root),
        load(run, "scores", root),
        replies(run, root),
        {suite.name: suite.scored_by for suite in listed},
        listed,
        run=run,
    )


def _verified(side: Side, ours: str) -> Side:
    """Compare the tool's main score with ours."""
    main = next(iter(side.kinds))
    if ours == main:
        return side
    both = side.scores.filter(pl.col("metric").is_in([main, ours])).with_columns(
        pl.col("metric").replace({main: STATED})
    )
    return replace(side, verified=tuple(stated_scores(both, side.items, dict.fromkeys(side.score, (ours,)))))


def _expecting(whole: Sequence[Side]) -> list[Side]:
    """Compare expected answers only if all sides state them."""
    blank = [not (side.items["answer_digest"].fill_null("") != "").any() for side in whole]
    if all(blank) or not any(blank):
        return [*whole]
    return [
        replace(side, items=side.items.with_columns(answer_digest=pl.lit("")),
                stated=side.stated if none or not side.is_file else {**side.stated, EXPECTED: "stated"})
        for side, none in zip(whole, blank, strict=True)
    ]  # fmt: skip


def _aligned(whole: Sequence[Side]) -> list[Side]:
    """Give single suites without a common name, and their main metrics, a common name."""
    first = next((one for one in whole if [*one.score] != [UNNAMED]), whole[0])
    found = []
    for side in whole:
        own = side
        if not {*side.score} & {*first.score} and len(side.score) == len(first.score) == 1:
            own = _renamed(side, next(iter(first.score)), {})
        found.append(own)
    names = [{metric for metrics in side.score.values() for metric in metrics} for side in found]
    if len(found) < 2 or set.intersection(*names):  # noqa: PLR2004 - one has nothing to be called as
        return found
    mains = [next(iter(side.score.values()))[0] for side in found]
    label = " / ".join(dict.fromkeys(mains))
    return [_renamed(side, "", {main: label}) for side, main in zip(found, mains, strict=True)]


def _renamed(side: Side, suite: str, metrics: Mapping[str, str]) -> Side:
    items = side.items.with_columns(suite=pl.lit(suite)) if suite else side.items
    scores = side.scores.with_columns(pl.col("metric").replace(dict(metrics)))
    score = {suite or name: tuple(metrics.get(one, one) for one in own) for name, own in side.score.items()}
    kinds, judged = (
        {metrics.get(one, one): told for one, told in known.items()} for known in (side.kinds, side.judged)
    )
    return replace(side, items=items, scores=scores, kinds=kinds, score=score, judged=judged)


def shared_metrics(found: Sequence[Side]) -> tuple[str, ...]:
    """Return the metrics that at least two sides have, or the only side, in order."""
    least = min(len(found), 2)
    names = [dict.fromkeys(metric for own in side.score.values() for metric in own) for side in found]
    return tuple(
        one for one in dict.fromkeys(n for own in names for n in own) if sum(one in own for own in names) >= least
    )


def stated_differences(found: Sequence[Side]) -> list[tuple[str, list[str | None]]]:
    """Return what the sides state differently: for runs their configurations, for files what two of them state."""
    known = [side.run for side in found if side.run]
    if len(known) == len(found):
        from tasks.compare.configurations import differences

        return differences(known)
    keys = dict.fromkeys(key for side in found for key in side.stated)
    told = [(key, [side.stated.get(key) for side in found]) for key in keys]
    return [(key, values) for key, values in told if len({one for one in values if one is not None}) > 1]


def remarks(found: Sequence[Side], language: str) -> Iterator[str]:
    """Yield remarks on the files among the sides: missing data, repeats, judges."""
    files = [side for side in found if side.is_file]
    keys = dict.fromkeys(key for side in files for key in side.stated)
    if plain := [side.name for side in files if not side.verified]:
        yield phrase("compare.stated", language, names=", ".join(plain))
    for side in files:
        yield from (f"{side.name}: {one}" for one in side.remarks)
        yield from _counts(side, language)
        for metric, judge in side.judged.items():
            yield phrase("compare.judged", language, name=side.name, metric=metric, judge=judge)
        if silent := [key for key in keys if key not in side.stated]:
            yield phrase("compare.silent", language, name=side.name, keys=", ".join(silent))
    yield from lacking(found, language)
    if files and len(found) > 1:
        named = all((side.items["question_id"] != side.items["text_digest"]).any() for side in found)
        yield phrase(f"compare.paired_by_{'id' if named else 'text'}", language)


def lacking(found: Sequence[Side], language: str) -> Iterator[str]:
    """Yield for each side the metrics of others that it lacks; for runs alone their suites show it."""
    own = [{metric for metrics in side.score.values() for metric in metrics} for side in found]
    for side, names in zip(found, own, strict=True):
        if (gone := set.union(*own) - names) and any(side.is_file for side in found):
            yield phrase("compare.lacking", language, name=side.name, metrics=", ".join(sorted(gone)))


def decisive(side: Side, chosen: Mapping[str, str]) -> pl.DataFrame:
    """Return a side's scores by the metric that is chosen for each suite, with the suite."""
    deciding = pl.DataFrame([*chosen.items()], {"suite": pl.String, "metric": pl.String}, orient="row")
    return placed(side).join(deciding, on=["suite", "metric"], how="semi", maintain_order="left")


def placed(side: Side) -> pl.DataFrame:
    """Return a side's scores with their suites."""
    items = side.items.select("item_id", "suite").unique("item_id", maintain_order=True)
    return side.scores.join(items, on="item_id", how="inner", maintain_order="left")


def _counts(side: Side, language: str) -> Iterator[str]:
    """Yield a line for each kind of row that is not simply counted."""
    asked = side.scores["item_id"].n_unique()
    repeated = side.replies.filter(pl.col("repeat") > 0)["item_id"].n_unique()
    missing = decisive(side, {suite: own[0] for suite, own in side.score.items()})["value"].null_count()
    cut = side.scores.filter(status="truncated").select("item_id", "model", "repeat").n_unique()
    templates = (
        side.items.filter(pl.col("template") != "")
        .group_by("suite", "template")
        .len()
        .filter(pl.col("len") > 1)
        # With fewer clusters the questions are the units, which is noted with the figures.
        .filter(pl.len().over("suite") >= MIN_CLUSTERS)
    )
    for name, n in (("repeated", repeated), ("missing", missing), ("cut", cut), ("templates", templates.height)):
        if n:
            yield phrase(f"compare.{name}", language, name=side.name, n=n, total=asked)
