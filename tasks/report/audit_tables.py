"""The tables of an audit page: where the questions come from, and every score with how its rows ended."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import Any

from basic_control.data.public_sets import SOURCES
from basic_control.metrics.analysis.headlines import Headline
from basic_control.metrics.analysis.summary import SummaryRow
from basic_control.tasks.report.audit_run import AuditedRun, Declaration, Detail, Lines, cut_name
from basic_control.tasks.report.language import say
from basic_control.tasks.report.tables import Column, Table
from basic_control.tasks.report.text import around, join_names, percent
from basic_control.tasks.report.words import headlines_of, measure, score_name

DIGITS = 64
"""Hexadecimal digits of a whole SHA-256."""
_STATES = (
    "no_answer", "truncated", "filtered", "unsupported", "model_error", "judge_failed", "not_applicable",
)  # fmt: skip
_ORDER = ("error", "fail", "undecided", "none", "pass")


def is_generated(suite: Declaration) -> bool:
    """Return whether a suite's questions are generated, not taken from rows."""
    return "families" in (suite.get("items") or {})


def find_sample(suite: Declaration) -> Mapping[str, Any]:
    """Return how a suite's rows are chosen; empty if all are taken."""
    sample = (suite.get("items") or {}).get("sample")
    return sample if isinstance(sample, Mapping) else {}


def tabulate_data(run: AuditedRun, detail: Detail) -> Table:
    """Return the table of the suites' data: source, number, sampling, licence, contamination."""
    questions: Mapping[str, Any] = run.results.run.get("items") or {}
    twins = {result.suite for result in run.results.twins.results}
    licences = _find_licences(run)

    def write_contamination(suite: Declaration) -> str:
        if suite["name"] in twins:
            return say("audit.twins")
        if is_generated(suite):
            return say("audit.fresh")
        return say("audit.not_looked")

    return _cut_table(
        run.suites,
        detail,
        Column(say("common.suite"), lambda suite: cut_name(suite["name"])),
        Column(say("audit.source"), _name_source),
        Column("n", lambda suite: str(questions.get(suite["name"], {}).get("n", "–")), numeric=True),
        Column(say("audit.sampling"), describe_sampling),
        Column(say("audit.licence"), lambda suite: licences[suite["name"]]),
        Column(say("audit.contamination"), write_contamination),
    )


def _name_source(suite: Declaration) -> str:
    source = suite.get("items") or {}
    if is_generated(suite):
        return say("audit.generated", n=len(source["families"]))
    data = str(source.get("data") or source.get("loader") or "")
    return cut_name(PurePath(data).name or data)


def list_data_hashes(run: AuditedRun, detail: Detail) -> Lines:
    """Return the whole hashes of the suites' data: of their files, or of the questions that were generated."""
    questions: Mapping[str, Any] = run.results.run.get("items") or {}
    suites_by_digest: dict[str, list[str]] = {}
    for suite in run.suites:
        # Generated questions have no file: their own digest says which they are.
        digests = run.facts("files").get(suite["name"]) or [questions.get(suite["name"], {}).get("digest", "–")]
        for digest in digests:
            suites_by_digest.setdefault(str(digest), []).append(cut_name(suite["name"]))
    lines: Lines = []
    for digest, names in suites_by_digest.items():
        phrase = "audit.data_hash"
        if len(digest) < DIGITS:
            phrase = "audit.questions_digest"
        lines.append((say(phrase, suites=join_names(names)), digest))
    return detail.choose(lines)


def describe_sampling(suite: Declaration) -> str:
    """Return how a suite's rows were chosen, in words."""
    if is_generated(suite):
        return say("audit.seeded", seed=suite["items"].get("seed"))
    sample = find_sample(suite)
    return say(f"audit.sample_{sample.get('method', 'all')}", seed=sample.get("seed"))


def _find_licences(run: AuditedRun) -> dict[str, str]:
    """Return the licence of each suite's data: the stated one, else that of a public file with its digest."""
    stated = str((run.configuration.get("about") or {}).get("data_licence") or "")
    public = {file.sha256: file.licence for file in SOURCES.values()}
    licences = {}
    for suite in run.suites:
        digests = run.facts("files").get(suite["name"]) or ()
        names = dict.fromkeys(public[digest] for digest in digests if digest in public)
        licence = stated or ", ".join(names) or say("audit.unstated")
        if is_generated(suite):
            licence = "–"
        licences[suite["name"]] = cut_name(licence)
    return licences


def tabulate_scores(run: AuditedRun, detail: Detail) -> Table:
    """Return the table of all scores, the worst outcome and the lowest score first."""
    # The scores are what the page is about: they have more room than what stands around them.
    detail = replace(detail, entries=2 * detail.entries + 2)
    rows = choose_scores(run, detail.entries)
    counts = count_states(run.results.cells)

    def write_ends(row: Headline) -> str:
        states = counts.get((row.suite, row.model), Counter())
        words = []
        # The overall score has no rows of its own.
        if row.suite:
            words.append(f"{row.measured.n_scored} / {row.measured.n_asked}")
        words += [f"{say(f'script.{state}')} {states[state]}" for state in _STATES if states[state]]
        return ", ".join(words) or "–"

    def write_interval(row: Headline) -> str:
        return around(row.measured.score.interval, row.decided.threshold)

    return _cut_table(
        rows,
        detail,
        Column(say("common.model"), lambda row: cut_name(row.model)),
        Column(say("common.score"), lambda row: cut_name(score_name(row))),
        Column("%", write_score, numeric=True),
        Column(say("common.interval"), write_interval, numeric=True),
        Column(say("common.threshold_head"), lambda row: percent(row.decided.threshold), numeric=True),
        Column(say("common.outcome"), lambda row: say(f"common.{row.decided.outcome}"), unbroken=True, strong=True),
        Column(say("audit.ends"), write_ends),
    )


def choose_scores(run: AuditedRun, maximum: int) -> list[Headline]:
    """Return all scores, the worst first; those that a table of so many shows have each model's own worst."""
    scores: list[Headline] = []
    worst: list[Headline] = []
    for model in run.verdict.models:
        ranked = sorted(model.scores, key=_rank_score)
        worst += ranked[:1]
        scores += ranked[1:]
    # No model is released unseen.
    rows = [*sorted(worst, key=_rank_score), *sorted(scores, key=_rank_score)]
    return [*sorted(rows[:maximum], key=_rank_score), *rows[maximum:]]


def has_thresholds(run: AuditedRun) -> bool:
    """Return whether a threshold holds for any score."""
    return any(row.decided.threshold is not None for row in headlines_of(run.verdict.models))


def has_bounds(run: AuditedRun) -> bool:
    """Return whether a score has bounds, as something is missing of it."""
    scores = chain.from_iterable(model.scores for model in run.verdict.models)
    return any("[" in write_score(score) for score in scores)


def write_score(row: Headline) -> str:
    """Return a score in percent, and where it would lie if what is missing were wrong, or right."""
    if not row.missing.is_measured:
        return say("common.unmeasured")
    threshold = row.decided.threshold
    score = " ".join(filter(None, (measure(row), percent(row.measured.score.mean, threshold))))
    if row.missing.lower.mean is None and row.missing.upper.mean is None:
        return score
    lower, upper = row.at("lower").mean, row.at("upper").mean
    return f"{score} [{percent(lower, threshold)} – {percent(upper, threshold)}]"


def _rank_score(row: Headline) -> tuple[int, float]:
    mean = row.measured.score.mean
    # What has no score at all comes before the lowest.
    if mean is None:
        mean = -1.0
    return _ORDER.index(row.decided.outcome), mean


def count_states(cells: Sequence[SummaryRow]) -> dict[tuple[str, str], Counter[str]]:
    """Return how a suite's rows ended for a model, other than scored: of several metrics the largest count."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for cell in cells:
        is_part = cell.family or cell.level or cell.language or "." in cell.metric
        if not is_part:
            states = Counter({state: getattr(cell.counts, f"n_{state}") for state in _STATES})
            counts[cell.suite, cell.model] = counts.get((cell.suite, cell.model), Counter()) | states
    return counts


def _cut_table(rows: Sequence[Any], detail: Detail, *columns: Column) -> Table:
    """Return a table of the first rows; its caption says how many more there are."""
    extra = len(rows) - detail.entries
    caption = ""
    if extra > 0:
        caption = say("audit.further", n=extra)
    return Table.of(rows[: detail.entries], *columns, caption=caption)
