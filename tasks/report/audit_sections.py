"""What an audit page says, section by section: from a run's manifest and its results, nothing computed anew."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from basic_control.data.documents import METHODOLOGY
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.stats.intervals import Share
from basic_control.tasks.report.audit_comparisons import label_sentences, list_slices, list_standards
from basic_control.tasks.report.audit_deviations import find_deviations, format_time
from basic_control.tasks.report.audit_omissions import list_omissions
from basic_control.tasks.report.audit_run import AuditedRun, Detail, Lines, Part, cut_name
from basic_control.tasks.report.audit_tables import (
    DIGITS,
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
from basic_control.tasks.report.text import (
    around,
    clip_text,
    duration,
    format_estimate,
    join_names,
    localize_digits,
)
from basic_control.tasks.report.warnings import notes
from basic_control.tasks.report.words import cost_lines, describe_calls, headlines_of

ABOUT = ("owner", "purpose", "decision", "population")
"""What a configuration says of itself under `about`, in the order of the page; the licence is with the data."""
_ANSWERS = ("pass", "fail", "undecided", "error", "none")
_SETTINGS = ("temperature", "seed", "max_tokens")
_DIGITS, _RULES = 16, 240


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


PARTS: Sequence[Part] = (
    Part("release", list_answers),
    Part("tested", list_targets),
    Part("question", list_populations),
    Part("criteria", list_criteria),
    Part("data", list_data_hashes, tabulate_data),
    Part("results", tabulate=tabulate_scores),
    Part("slices", list_slices),
    Part("against", list_standards),
    Part("judges", list_judges),
    Part("repeatability", list_repeats),
    Part("deviations", list_deviations),
    Part("left_out", list_omissions),
    Part("limits", list_limits),
    Part("made_by", list_makers),
    Part("hashes", list_hashes),
)
"""The sections of the page, in its order."""
FIRST = frozenset({"tested", "data", "results", "left_out"})
"""The sections whose lists grow first."""
