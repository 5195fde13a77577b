"""What of a run was left out, for its audit page: models, replies, judges, metrics, suites, rows; with counts."""

from collections.abc import Iterator, Mapping

from basic_control.tasks.report.audit_run import AuditedRun, Declaration, Detail, Lines, cut_name
from basic_control.tasks.report.audit_tables import count_states, describe_sampling, find_sample
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.text import join_names
from basic_control.tasks.report.words import headlines_of

_UNSCORED = ("model_error", "filtered", "unsupported", "judge_failed", "not_applicable")
"""The states of rows that no score counts."""


def list_omissions(run: AuditedRun, detail: Detail) -> Lines:
    """Return what was left out, each with its number; that nothing was, if so."""
    lines: Lines = []
    for omissions in (_list_models, _list_replies, _list_judges, _list_metrics, _list_suites, _list_rows):
        lines += omissions(run)
    lines = detail.choose(lines) or [("", say("audit.nothing_omitted"))]
    # What the page has no section about was not looked at.
    unseen = [say("audit.slices_unseen")] * (not run.results.compared.slices)
    unseen += [say("audit.repeats_unseen")] * (not run.results.repeats)
    if unseen:
        lines = [*lines, (say("audit.unseen"), ", ".join(unseen))]
    return lines


def _list_models(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield the models that nothing, or no call, was asked of, and why."""
    for model in run.verdict.models:
        reason = model.missing or model.failed
        if reason:
            yield cut_name(model.model), say_reason(reason)


def _list_replies(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield how many rows of a suite have no score for a model, by how they ended."""
    for (suite, model), states in count_states(run.results.cells).items():
        counts = [f"{say(f'script.{state}')} {states[state]}" for state in _UNSCORED if states[state]]
        if counts:
            yield f"{cut_name(suite)}, {cut_name(model)}", say("audit.unscored", counts=", ".join(counts))


def _list_judges(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield the judges that do not count at a step, and why."""
    reasons = {}
    for status in run.results.judged.statuses:
        if not status.counts:
            reasons[status.judge, status.exam, status.language] = say_reason(status.why)
    for (judge, exam, language), reason in reasons.items():
        yield f"{cut_name(judge)}, {exam} ({language})", say("audit.judge_left_out", why=reason)


def _list_metrics(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield the metrics of a suite that decide nothing, as no threshold holds for them."""
    for suite in run.suites:
        names = find_silent_metrics(run, suite)
        if names:
            yield cut_name(suite["name"]), say("audit.no_threshold", n=len(names), metrics=join_names(names))


def find_silent_metrics(run: AuditedRun, suite: Declaration) -> list[str]:
    """Return a suite's metrics that are neither decided by themselves nor a part of a score that is."""
    metrics: Mapping[str, Mapping[str, object]] = suite.get("metrics") or {}
    enabled = [name for name, options in metrics.items() if options.get("enabled", True)]
    deciding = set[str]()
    for row in headlines_of(run.verdict.models):
        if row.suite == suite["name"] and row.decided.threshold is not None:
            deciding.add(row.metric)
    # A score of several metrics is not named by one of them.
    if deciding - {*metrics}:
        deciding.update(_list_parts(suite, enabled))
    return [name for name in enabled if name not in deciding]


def _list_parts(suite: Declaration, enabled: list[str]) -> list[str]:
    """Return the metrics that a suite's score joins."""
    score = suite.get("score")
    if isinstance(score, list | tuple | Mapping):
        return [*score]
    return enabled


def _list_suites(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield the suites that are no part of the overall score."""
    suites = dict.fromkeys(name for model in run.verdict.models for name in model.suites_apart)
    if suites:
        yield "", say("screen.apart", suites=join_names([*map(cut_name, suites)]))


def _list_rows(run: AuditedRun) -> Iterator[tuple[str, str]]:
    """Yield of which suites only a draw of the rows was asked."""
    questions: Mapping[str, Mapping[str, object]] = run.results.run.get("items") or {}
    for suite in run.suites:
        if find_sample(suite).get("method", "all") != "all":
            n = questions.get(suite["name"], {}).get("n", "–")
            yield cut_name(suite["name"]), say("audit.undrawn", n=n, chosen=describe_sampling(suite))
