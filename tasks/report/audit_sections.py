"""What an audit page says, section by section: from a run's manifest and its results, nothing computed anew."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import filterfalse
from typing import Any

from basic_control.data.documents import METHODOLOGY
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.analysis.slices import Slice
from basic_control.metrics.stats.intervals import Share
from basic_control.tasks.report.audit_run import NAME, AuditedRun, Declaration, Detail, Lines, Section, cut_name
from basic_control.tasks.report.audit_tables import (
    DIGITS,
    count_states,
    describe_sampling,
    find_sample,
    has_bounds,
    has_thresholds,
    is_generated,
    list_data_hashes,
    tabulate_data,
    tabulate_scores,
)
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.passports import panel
from basic_control.tasks.report.ranking import differences
from basic_control.tasks.report.regressions import details, headline
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.text import (
    around,
    clip_text,
    duration,
    format_estimate,
    join_names,
    localize_digits,
    percent,
)
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import cost_lines, describe_calls, headlines_of

ABOUT = ("owner", "purpose", "decision", "population")
"""What a configuration says of itself under `about`, in the order of the page; the licence is with the data."""
_ANSWERS = ("pass", "fail", "undecided", "error", "none")
_SETTINGS = ("temperature", "seed", "max_tokens")
_DIGITS, _RULES = 16, 240
_REPEATED = ("rerun", "suite", "model", "failed", "truncated")
"""What of an earlier run was done again, as a manifest names it."""
_SAVES = 3
"""The last times at which labels were saved that are named."""
_UNSCORED = ("model_error", "filtered", "unsupported", "judge_failed", "not_applicable")
"""The states of rows that no score counts."""


def list_answers(run: AuditedRun, _: Detail) -> Lines:
    """Return which models the criteria let pass, and which not."""
    by_answer: dict[str, list[str]] = {}
    for model in run.verdict.models:
        # A regression may be of any of them: no model passes beside it.
        answer = "fail" if "regressed" in run.verdict.changes else model.verdict
        by_answer.setdefault(answer, []).append(cut_name(model.model))
    return [
        (say(f"audit.may_{answer}"), join_names(by_answer[answer])) for answer in _ANSWERS if answer in by_answer
    ]


def list_targets(run: AuditedRun, detail: Detail) -> Lines:
    """Return what was tested, each model with its identity and settings, and when."""
    lines: Lines = []
    configured = {model["name"] for model in run.models}
    for model in run.models:
        lines.append((cut_name(model["name"]), _describe_model(run, model)))
    # Replies that came with the data have a target's name, and no model.
    responders = dict.fromkeys(suite.get("responses_of") for suite in run.suites)
    for name in responders:
        if name and name not in configured:
            lines.append((cut_name(name), say("audit.given")))
    start = datetime.fromisoformat(str(run.manifest["started"]))
    end = start + timedelta(seconds=float(run.manifest.get("wall_s") or 0.0))
    dates = say("audit.dates", start=format_time(start), end=format_time(end))
    calls = describe_calls(run.facts("requests"))
    return [*detail.choose(lines), *detail.choose(_list_digests(run)), ("", f"{dates} {calls}")]


def _list_digests(run: AuditedRun) -> Lines:
    """Return the whole digests of the models, each with the models that it is of."""
    models_by_digest: dict[str, list[str]] = {}
    for model in run.models:
        digest = (run.facts("identities").get(model["name"]) or {}).get("digest")
        if digest:
            models_by_digest.setdefault(str(digest), []).append(cut_name(model["name"]))
    return [(say("audit.digest", models=join_names(names)), digest) for digest, names in models_by_digest.items()]


def _describe_model(run: AuditedRun, model: Mapping[str, Any]) -> str:
    identity = run.facts("identities").get(model["name"]) or {}
    # A file's functions share its digest: only their names tell them apart.
    function = str(model.get("function") or "").rpartition("/")[2]
    name = function or identity.get("model") or model.get("model") or ""
    facts = [f"{model.get('provider', '')} {cut_name(name)}".strip()]
    facts += [f"{key} {model[key]}" for key in _SETTINGS if model.get(key) is not None]
    if model.get("system"):
        facts.append(say("audit.system", text=cut_name(model["system"])))
    return ", ".join(facts)


def list_about(run: AuditedRun, detail: Detail) -> Lines:
    """Return by whom was tested, for what and for which decision; what is not stated is an empty line."""
    about = run.configuration.get("about") or {}
    return [(say(f"audit.{key}"), detail.cut(about.get(key) or "")) for key in ABOUT]


def list_populations(run: AuditedRun, _: Detail) -> Lines:
    """Return of which suites the score is about these questions, and of which about questions like these."""
    by_kind: dict[str, list[str]] = {}
    for suite in run.suites:
        is_drawn = is_generated(suite) or find_sample(suite).get("method") == "random"
        kind = "audit.like" if is_drawn else "audit.these"
        by_kind.setdefault(kind, []).append(cut_name(suite["name"]))
    return [("", say(kind, suites=join_names(names))) for kind, names in by_kind.items()]


def list_criteria(run: AuditedRun, detail: Detail) -> Lines:
    """Return by what the scores decide, when that was fixed, and what was changed between runs."""
    gate = str(run.configuration.get("gate") or "point")
    rule = say("audit.no_rule")
    if has_thresholds(run):
        rule = say("audit.rule", gate=say(f"page.gate_{gate}"))
    # What the brackets of a score mean is said where there are some.
    if has_bounds(run):
        rule = f"{rule} {say('audit.brackets')}"
    lines: Lines = [("", rule)]
    metrics = []
    for suite in run.suites:
        names = [_describe_metric(name, options) for name, options in (suite.get("metrics") or {}).items()]
        metrics.append(f"{cut_name(suite['name'])}: {', '.join(names)}")
    lines.append((say("audit.metrics"), detail.cut("; ".join(metrics))))
    criteria = run.facts("criteria")
    if not criteria:
        return [*lines, ("", say("audit.not_fixed"))]
    fixed = {"fixed": format_time(criteria["fixed"]), "digest": criteria["sha256"]}
    # What was changed once replies were known was not fixed before the first call.
    phrase = "audit.fixed_late" if criteria["changes"] else "audit.fixed"
    lines.append(("", say(phrase, file=criteria["file"], **fixed)))
    if not criteria["n_earlier"] and not criteria["changes"]:
        return [*lines, ("", say("audit.first_look"))]
    names = [cut_name(name) for name in reversed(criteria["earlier"])]
    since = format_time(criteria["since"])
    lines.append(("", say("audit.looks", n=criteria["n_earlier"], names=join_names(names or ["–"]), since=since)))
    changes: Lines = []
    for change in reversed(criteria["changes"]):
        values = {key: _describe_change(change[key]) for key in ("before", "after")}
        names_of = {key: cut_name(change[key]) for key in ("key", "run")}
        changes.append(("", say("audit.change", at=format_time(change["at"]), **values, **names_of)))
    return [*lines, *detail.choose(changes)]


def _describe_change(value: Any) -> str:
    """Return what stood in a configuration, with whole hashes; '–' for nothing."""
    text = value
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    return Detail(1, DIGITS).cut(text or "–")


def _describe_metric(name: str, options: Mapping[str, Any]) -> str:
    """Return a metric with its criterion in words, if it has one."""
    criterion = options.get("criteria")
    if criterion:
        return f"{name} '{clip_text(str(criterion), 2 * _DIGITS)}'"
    return name


def list_judges(run: AuditedRun, detail: Detail) -> Lines:
    """Return the judges with their measured errors, whether they count, and how far they agree."""
    judged, lines = run.results.judged, list[tuple[str, str]]()
    for name, identity in run.facts("judge_identities").items():
        # The built-in judge is called as its provider.
        facts = dict.fromkeys(str(identity[key]) for key in ("provider", "model") if identity.get(key))
        lines.append((cut_name(name), " ".join(facts)))
    if not lines:
        return [("", say("audit.no_judges"))]
    lines += label_sentences("", panel(headlines_of(run.verdict.models), judged), detail)
    for metric, agreement in judged.agreement.items():
        if agreement.alpha is not None:
            lines.append((metric, say("audit.alpha", alpha=localize_digits(f"{agreement.alpha:.2f}"))))
    # One exam serves several suites and metrics.
    errors: dict[str, str] = {}
    for status in judged.statuses:
        errors[f"{cut_name(status.judge)}, {status.exam} ({status.language})"] = describe_errors(status)
    return [*detail.choose(lines), *detail.choose([*errors.items()])]


def describe_errors(status: JudgeStatus) -> str:
    """Return what a judge's exam showed at a step, and whether it counts there."""
    if not status.measured or status.sensitivity is None or status.specificity is None:
        return say("audit.unmeasured")
    sensitivity, specificity = format_share(status.sensitivity), format_share(status.specificity)
    errors = say("audit.errors", sensitivity=sensitivity, specificity=specificity)
    if status.counts:
        return errors
    return f"{errors}; {say('audit.judge_left_out', why=say_reason(status.why))}"


def format_share(share: Share) -> str:
    """Return k of n with its interval, such as 8/8 (68% – 100%)."""
    return f"{share.k}/{share.n} ({around(share.interval)})"


def list_repeats(run: AuditedRun, detail: Detail) -> Lines:
    """Return how far repeated answers agree; nothing if each question was asked once."""
    lines: Lines = []
    for row in run.results.repeats:
        figures = {"k": row.k, "n": row.n_items, "agreement": format_estimate(row.agreement)}
        lines.append((f"{cut_name(row.suite)}, {cut_name(row.model)}", say("audit.repeated", **figures)))
    return detail.choose(lines)


def list_deviations(run: AuditedRun, detail: Detail) -> Lines:
    """Return what departs from one run of the configuration as it is written."""
    lines = label_sentences("", find_deviations(run), detail)
    return detail.choose(lines) or [("", say("audit.no_deviation"))]


def list_limits(run: AuditedRun, detail: Detail) -> Lines:
    """Return what to know before relying on the run."""
    lines: Lines = []
    for note in notes(run.results, run.verdict):
        # What differs from the baseline stands beside its changes.
        if note.topic == "baseline":
            continue
        lines.append(("", f"{detail.cut(note.text.removesuffix('.'))}."))
    return [*detail.choose(lines), ("", say("audit.always"))]


def list_makers(run: AuditedRun, _: Detail) -> Lines:
    """Return the versions of the program, of the method and of the rules that scored; cost and time."""
    versions = run.facts("versions")
    rules = ", ".join(f"{name} {version}" for name, version in run.facts("verifiers").items())
    figures = {
        "version": versions.get("basic-control", "–"),
        "commit": str(run.manifest.get("commit") or "–")[:_DIGITS],
        "python": versions.get("python", "–"),
        "method": run.manifest.get(METHODOLOGY, "–"),
    }
    costs = [*cost_lines(run.results.spending)] or [say("audit.no_price")]
    time = say("screen.took", time=duration(run.manifest.get("wall_s")))
    program = say("audit.versions", rules=clip_text(rules or "–", _RULES), **figures)
    return [("", program), ("", f"{costs[0]} {time}")]


def list_hashes(run: AuditedRun, _: Detail) -> Lines:
    """Return the files that the page speaks of, by their hashes, and the command that checks them."""
    lines: Lines = [*run.hashes.items()]
    return [*lines, (say("audit.verify"), run.command(f"store verify {run.name}"))]


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


def format_time(moment: str | datetime) -> str:
    """Return a moment, such as 2026-11-28 20:42:25 UTC."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    zone = f"{moment:%z}".replace("+0000", "UTC")
    return f"{moment:%Y-%m-%d %H:%M:%S} {zone}"


def find_deviations(run: AuditedRun) -> Iterator[str]:
    """Yield what was repeated, set beside the configuration, looked at before, or edited."""
    yield from _describe_repetition(run.facts("rerun"))
    yield from _describe_rules(run)
    for row in headlines_of(run.verdict.models):
        stopping = row.measured.stopping
        if stopping:
            counts = {"n": len(stopping.looks), "k": stopping.asked, "most": stopping.most}
            yield say("audit.stopped", suite=row.suite, model=cut_name(row.model), **counts)
    for entry in run.manifest.get("labels") or ():
        yield from _describe_labels(entry)


def _describe_repetition(again: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of an earlier run was done again, and what the command line set."""
    if again.get("replies"):
        yield say("audit.rejudged", run=again["replies"])
    elif again.get("of"):
        parts = filter(again.get, _REPEATED)
        repeated = ", ".join(f"{key} {again[key]}" for key in parts)
        yield say("audit.rerun", run=again["of"], parts=repeated or "–")
    if again.get("resume"):
        yield say("audit.resumed")
    overrides = [clip_text(text, 2 * NAME) for text in again.get("sets") or ()]
    if overrides:
        yield say("audit.overrides", sets="; ".join(overrides))


def _describe_rules(run: AuditedRun) -> Iterator[str]:
    if run.configuration.get("allow_different"):
        yield say("audit.allowed")
    if run.configuration.get("gate") == "off":
        yield say("audit.gate_off")
    n_looks = run.facts("criteria").get("n_earlier")
    if n_looks:
        yield say("audit.looked", n=n_looks)


def _describe_labels(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield how often people's labels were saved: more than once, they were edited."""
    saves = entry["saved"]
    if saves:
        times = ", ".join(format_time(save["at"]) for save in saves[-_SAVES:])
        phrase = "audit.labels"
        if len(saves) > 1:
            phrase = "audit.labels_edited"
        labels = {"suite": entry["suite"], "model": cut_name(entry["model"]), "n": saves[-1]["n"]}
        yield say(phrase, times=times, k=len(saves), **labels)


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


_Writer = Callable[[AuditedRun, Detail], Lines] | None
_Tabulator = Callable[[AuditedRun, Detail], Table] | None
SECTIONS: Mapping[str, tuple[_Writer, _Tabulator]] = {
    "release": (list_answers, None),
    "tested": (list_targets, None),
    "question": (list_populations, None),
    "criteria": (list_criteria, None),
    "data": (list_data_hashes, tabulate_data),
    "results": (None, tabulate_scores),
    "slices": (list_slices, None),
    "against": (list_standards, None),
    "judges": (list_judges, None),
    "repeatability": (list_repeats, None),
    "deviations": (list_deviations, None),
    "left_out": (list_omissions, None),
    "limits": (list_limits, None),
    "made_by": (list_makers, None),
    "hashes": (list_hashes, None),
}
"""The sections of the page, in its order: what writes the lines and the table of each."""
FIRST = frozenset({"tested", "data", "results", "left_out"})
"""Those that the page is about, whose lists grow first."""


def build_section(run: AuditedRun, name: str, detail: Detail) -> Section:
    """Return a section of a run's page, in so much detail."""
    write, tabulate = SECTIONS[name]
    lines = write(run, detail) if write else []
    table = tabulate(run, detail) if tabulate else None
    return Section(say(f"audit.{name}"), lines, table)
