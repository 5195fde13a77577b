"""What of a run departs from one run of its configuration as it is written, from its manifest."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from basic_control.tasks.report.audit_run import NAME, AuditedRun, cut_name
from basic_control.tasks.report.language import say
from basic_control.tasks.report.text import clip_text
from basic_control.tasks.report.words import headlines_of

_REPEATED = ("rerun", "suite", "model", "failed", "truncated")
"""What of an earlier run was done again, as a manifest names it."""
_SAVES = 3
"""The last times at which labels were saved that are named."""


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
