"""`audit`: one page about a run, for those who answer for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from basic_control.flows.cli.console import show, show_written
from basic_control.flows.cli.options import RUN, USUAL, Folder, Where

if TYPE_CHECKING:
    from basic_control.tasks.report.audit_run import AuditedRun


def audit(
    run: Annotated[str, RUN] = "last",
    /,
    *,
    out: Annotated[Folder, Parameter(name=("--out", "-o"))] = "",
    language: str = "",
    at: Where = USUAL,
) -> None:
    """Write one page about a run, to be read and signed by those who answer for it, from what the run holds.

    It is one sheet of A4: audit.html, which prints, and audit.md; beside them statement.json, an unsigned in-toto
    Statement with the result, to be signed by your own means. `store verify RUN` checks the hashes.

    Args:
        run: a run's id or folder (default: the last finished run)
        out: the folder to write to (default: audit in the run's folder)
        language: the language of the page, such as en or ru (default: that of the run's report)
    """
    from basic_control.tasks.report.audit import write_audit
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.store.runs import find_run

    source = find_run(run, at.runs)
    report = source.configuration.get("report") or {}
    # Without a language of its own the page speaks that of the report beside it.
    spoken = language or str(report.get("language") or "en")
    audited, paths = write_audit(source, Path(out) if out else None, spoken)
    with use_language(spoken):
        show(*ask_about(audited))
    show_written(paths, spoken)


def ask_about(run: "AuditedRun") -> "list[str]":
    """Return what of `about` the configuration does not say, and how to say it once."""
    from basic_control.tasks.report.audit_sections import ABOUT
    from basic_control.tasks.report.language import say

    about = run.configuration.get("about") or {}
    keys = [key for key in ABOUT if not about.get(key)]
    if not keys:
        return []
    command = run.command(f"run --run {run.name} --rerun report --set about.{keys[0]}=…")
    return [say("audit.ask_about", keys=", ".join(keys), command=command)]
