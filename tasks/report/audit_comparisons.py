"""With what an audit page compares a run's scores: its baseline, the models, another tool's scores, its slices."""

from collections.abc import Iterable
from itertools import filterfalse

from basic_control.metrics.analysis.slices import Slice
from basic_control.tasks.report.audit_run import AuditedRun, Detail, Lines, cut_name
from basic_control.tasks.report.audit_tables import has_thresholds
from basic_control.tasks.report.language import say
from basic_control.tasks.report.ranking import differences
from basic_control.tasks.report.regressions import details, headline
from basic_control.tasks.report.text import format_estimate, percent


def list_standards(run: AuditedRun, detail: Detail) -> Lines:
    """Return against what the scores were held: a baseline, the other models, another tool's own scores."""
    baseline = run.results.baseline
    standards = say("audit.no_thresholds")
    if has_thresholds(run):
        standards = say("audit.thresholds")
    if not baseline:
        standards = f"{standards} {say('audit.no_baseline')}"
    pairs = [*differences(run.verdict.models, run.results.compared)]
    if baseline or pairs:
        standards = f"{standards} {say('audit.levels')}"
    lines: Lines = [("", standards)]
    if baseline:
        sentences = [*headline(baseline)]
        # The change of the score that decides is told by the headline already.
        further = filterfalse(" ".join(sentences).__contains__, map(str.strip, details(baseline)))
        lines += [*label_sentences("", sentences, detail), *detail.choose(label_sentences("", further, detail))]
    lines += detail.choose(label_sentences(say("audit.between"), pairs, detail))
    return lines + detail.choose(_list_stated(run))


def _list_stated(run: AuditedRun) -> Lines:
    """Return another tool's own scores beside those of this run."""
    stated: Lines = []
    for row in run.results.stated:
        names = f"{cut_name(row.suite)}, {cut_name(row.model)}"
        shares = {"ours": percent(row.ours), "stated": percent(row.stated)}
        counts = {"k": len(row.differing), "n": row.n, "metric": cut_name(row.metric)}
        stated.append((names, say("audit.stated", **shares, **counts)))
    return stated


def list_slices(run: AuditedRun, detail: Detail) -> Lines:
    """Return the slices, the worst first."""
    lines: Lines = []
    slices = run.results.compared.slices
    metrics_of: dict[str, set[str]] = {}
    for row in slices:
        metrics_of.setdefault(row.suite, set()).add(row.metric)
    for row in sorted(slices, key=_rank_slice):
        names = [cut_name(row.suite), cut_name(row.model)]
        if len(metrics_of[row.suite]) > 1:
            names.insert(1, cut_name(row.metric))
        label = f"{', '.join(names)}: {cut_name(row.column)} = {cut_name(row.text or '–')}"
        figures = {"score": format_estimate(row.score), "n": row.n, "others": percent(row.elsewhere)}
        lines.append((label, say("audit.slice", **figures)))
    return detail.choose(lines)


def _rank_slice(row: Slice) -> float:
    if row.score.mean is None:
        return 2.0
    return row.score.mean


def label_sentences(label: str, sentences: Iterable[str], detail: Detail) -> Lines:
    """Return sentences as lines, each with a label, '' for none."""
    return [(label, detail.cut(sentence)) for sentence in sentences]
