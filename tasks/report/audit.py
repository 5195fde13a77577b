"""The page about a run for those who answer for it: one sheet of A4 as HTML, and the same as Markdown.

It is read and signed apart from everything else, so that lists are cut until all of it fits the sheet.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.data.exits import Exit
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.audit_run import AuditedRun, Detail, Lines, Section
from basic_control.tasks.report.audit_sections import FIRST, SECTIONS, build_section, list_about
from basic_control.tasks.report.conclusion import conclusion
from basic_control.tasks.report.language import say, use_language
from basic_control.tasks.report.pages import still
from basic_control.tasks.report.tables import Table
from basic_control.tasks.report.text import escape_markdown
from basic_control.tasks.report.words import headlines_of
from basic_control.tasks.store.runs import Run, load_results
from basic_control.tasks.store.seals import AUDIT, STATEMENT, check_documents, hash_documents
from basic_control.tasks.store.tables import write_atomically, write_json

_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_RESULTS: Mapping[str, str] = {"pass": "PASSED", "fail": "FAILED", "error": "FAILED"}
"""What an outcome is called there; what no threshold or too few data decided passes with a warning."""
_CHANGES: Mapping[str, str] = {"held": "PASSED", "regressed": "FAILED"}
_LISTS: Mapping[str, str] = {"PASSED": "passedTests", "WARNED": "warnedTests", "FAILED": "failedTests"}
# A SHA-256 as servers and files state it: 9f86d081…0a08, sha256:9f86d081…0a08
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def state_result(run: AuditedRun) -> dict[str, Any]:
    """Return the Statement: its subjects are the models, its tests the scores and what became of a baseline.

    Source: in-toto attestation framework, Statement v1, predicate test-result v0.1.
    """
    tests: dict[str, list[str]] = {name: [] for name in _LISTS.values()}
    for headline in headlines_of(run.verdict.models):
        result = _RESULTS.get(headline.decided.outcome, "WARNED")
        tests[_LISTS[result]].append(name_test(headline))
    baseline = run.results.baseline
    if baseline:
        for change in baseline.headlines:
            result = _CHANGES.get(change.decision.outcome, "WARNED")
            words = (change.pair.model_a, change.pair.suite, change.pair.metric, "against", baseline.name)
            tests[_LISTS[result]].append(" ".join(filter(None, words)))
    files = [{"name": name, "digest": {"sha256": digest}} for name, digest in run.hashes.items()]
    return {
        "_type": _STATEMENT_TYPE,
        "subject": list_subjects(run),
        "predicateType": _PREDICATE,
        "predicate": {"result": judge_run(run), "configuration": files, **tests},
    }


def name_test(headline: Headline) -> str:
    """Return the name of a score: its model, suite and metric."""
    return " ".join(filter(None, (headline.model, headline.suite, headline.metric)))


def judge_run(run: AuditedRun) -> str:
    """Return PASSED, WARNED or FAILED for the run as a whole, whatever its gate."""
    outcomes = {model.verdict for model in run.verdict.models}
    if outcomes & {"fail", "error"} or "regressed" in run.verdict.changes:
        return "FAILED"
    is_passed = outcomes == {"pass"} and not {*run.verdict.changes} - {"held"} and not run.verdict.waiting
    return "PASSED" if is_passed else "WARNED"


def list_subjects(run: AuditedRun) -> list[dict[str, Any]]:
    """Return the models: each by the digest that its server or file states, else by that of its whole identity."""
    identities, subjects = run.facts("identities"), []
    for model in run.verdict.models:
        identity = identities.get(model.model) or {"target": model.model}
        digest = hashlib.sha256(format_canonical(identity).encode()).hexdigest()
        match = _SHA256.fullmatch(str(identity.get("digest")))
        if match:
            digest = match[1]
        subjects.append({"name": model.model, "digest": {"sha256": digest}, "annotations": {"identity": identity}})
    return subjects


_CHARACTERS = (400, 300, 200, 120, 80)
"""The longest text of others, such as a purpose, from the most to the least detail."""
_ENTRIES = 24
"""The most entries of a list, however much room there is."""
_TITLE, _VERDICT = Detail(1, 110), Detail(1, 260)
# Measured in Chromium with the widest of usual fonts, DejaVu Sans, which fewest characters of fit.
_SHEET = 81.0
"""The lines of text that a sheet has room for between its head and its signatures."""
_WIDTH, _HALF, _CELL, _TITLE_WIDTH = 104, 58, 9, 14
"""The characters of a line, of half a line of the head, of the narrowest cell, and of a section's title."""
_PADDING = 2
"""The characters that fit into the space between two cells."""
_GAP, _FRAME, _BLANK_LINE = 0.45, 1.12, 1.35
"""In lines: the space around a section, a line of a table, a line to write on."""
_SIGNERS = 2
_BLANK = "_" * 40


def fit_sheet(run: AuditedRun) -> tuple[Lines, list[Section]]:
    """Return what stands in a run's head, and its sections, in as much detail as one sheet holds."""
    head, sections, room, characters = Lines(), dict[str, Section](), 0.0, 0
    for characters in _CHARACTERS:
        detail = Detail(1, characters)
        head = list_about(run, detail)
        sections = {name: build_section(run, name, detail) for name in SECTIONS}
        room = _SHEET - measure_head(head) - sum(map(measure_section, sections.values()))
        if room >= 0:
            break
    # Each list grows by an entry in turn, while there is room: first those that the page is about.
    order = sorted(SECTIONS, key=lambda name: name not in FIRST)
    for entries in range(2, _ENTRIES + 1):
        for name in order:
            section = build_section(run, name, Detail(entries, characters))
            growth = measure_section(section) - measure_section(sections[name])
            if growth <= room:
                sections[name] = section
                room -= growth
    return head, [*filter(has_content, sections.values())]


def has_content(section: Section) -> bool:
    """Return whether a section says anything."""
    return bool(section.table or section.lines)


def measure_head(lines: Lines) -> float:
    """Return how many lines of the sheet these take, two beside each other."""
    heights = [measure_lines([line], _HALF) for line in lines]
    return sum(map(max, heights[::2], heights[1::2]))


def measure_section(section: Section) -> float:
    """Return how many lines of the sheet a section takes; none if it is empty."""
    if not has_content(section):
        return 0.0
    height = measure_table(section.table) + measure_lines(section.lines, _WIDTH)
    # Its title stands beside it, and may be broken.
    return max(count_lines(section.title, _TITLE_WIDTH), height) + _GAP


def measure_lines(lines: Sequence[tuple[str, str]], width: int) -> float:
    """Return how many lines of so many characters these take."""
    height = 0.0
    for label, text in lines:
        height += count_lines(f"{label}: {text}", width) if text else _BLANK_LINE
    return height


def measure_table(table: Table | None) -> float:
    """Return how many lines of the sheet a table takes, with what stands below it."""
    if table is None:
        return 0.0
    rows = [[column.name for column in table.columns], *table.rows]
    widths = [*map(measure_column, zip(*rows, strict=True))]
    texts = [number for number, column in enumerate(table.columns) if not (column.numeric or column.unbroken)]
    text_width = sum(map(widths.__getitem__, texts))
    # Of a table that is wider than the sheet the texts are broken, each to its share of what is left.
    share = min(1.0, (_WIDTH - sum(widths) + text_width) / text_width)
    height = 0.0
    for row in rows:
        height += max(count_lines(row[number], max(_CELL, int(share * widths[number]))) for number in texts)
    return _FRAME * height + bool(table.caption)


def measure_column(cells: Sequence[str]) -> int:
    """Return how many characters wide a table's column is, with the space beside it."""
    return max(count_lines(cell, 1) for cell in cells) + _PADDING


def count_lines(text: str, width: int) -> int:
    """Return the lines that a text takes; characters of East Asia are twice as wide."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return ceil((len(text) + wide) / width)


def list_heads(run: AuditedRun) -> tuple[str, str, str]:
    """Return the lines above the sections: the title, the run, the verdict."""
    name = (run.configuration.get("report") or {}).get("name")
    title = say("audit.title")
    if name:
        title = f"{title}: {name}"
    return _TITLE.cut(title), say("audit.of_run", run=run.name), _VERDICT.cut(_write_verdict(run))


def _write_verdict(run: AuditedRun) -> str:
    """Return the run's conclusion; of one that only reports, first that it does."""
    if not is_report_only(run):
        return str(conclusion(run.verdict, run.results.baseline))
    # As a gate would decide it: that there was none stands before it.
    verdict = replace(run.verdict, gate="point")
    return say("audit.report_only", verdict=conclusion(verdict, run.results.baseline))


def is_report_only(run: AuditedRun) -> bool:
    """Return whether a run's verdict refuses nothing, as its gate is off."""
    return run.verdict.gate == "off" and run.verdict.exit_code == Exit.PASSED != run.verdict.exit_code_gated


def write_audit(source: Run, folder: Path | None, language: str) -> tuple[AuditedRun, list[Path]]:
    """Write the page of a run in both forms and its statement, to a folder (default: its own); return the paths.

    Raises:
        InputError: the results are not there or were changed, or the files cannot be written.
    """
    check_documents(source)
    measured, verdict = load_results(source, whole=True)
    hashes = hash_documents(source.folder)
    run = AuditedRun(source.name, source.folder, source.manifest, measured, verdict, hashes)
    target = folder or source.folder / AUDIT
    with use_language(language):
        texts = {"audit.html": compose_html(run), "audit.md": compose_markdown(run)}
    paths = [write_atomically(target / name, text) for name, text in texts.items()]
    return run, [*paths, write_json(target / STATEMENT, state_result(run), indent=2)]


def compose_html(run: AuditedRun) -> str:
    """Return the page: one sheet when printed."""
    title, name, verdict = list_heads(run)
    head, sections = fit_sheet(run)
    values = {"title": title, "run": name, "verdict": verdict, "head": head, "sections": sections}
    outcome = "" if is_report_only(run) else conclusion(run.verdict, run.results.baseline).outcome
    return still("audit.html.j2", section="audit", sheet="audit.css", outcome=outcome, signers=_SIGNERS, **values)


def compose_markdown(run: AuditedRun) -> str:
    """Return the page as Markdown."""
    title, name, verdict = list_heads(run)
    lines = [f"# {escape_markdown(title)}", "", escape_markdown(name), "", f"**{escape_markdown(verdict)}**", ""]
    head, sections = fit_sheet(run)
    lines += _write_lines(head)
    for section in sections:
        lines += [f"## {escape_markdown(section.title)}", "", *_write_section(section)]
    lines += [f"## {say('audit.signatures')}", ""]
    blanks = [(say(f"audit.{field}"), "") for field in ("name", "role", "date", "signature")]
    for _ in range(_SIGNERS):
        lines += _write_lines(blanks)
    return "\n".join(lines)


def _write_section(section: Section) -> Iterator[str]:
    if section.table is not None:
        yield from (*section.table.markdown(), "")
        if section.table.caption:
            yield from (escape_markdown(section.table.caption), "")
    yield from _write_lines(section.lines)


def _write_lines(lines: Sequence[tuple[str, str]]) -> Iterator[str]:
    for label, text in lines:
        words = escape_markdown(text) or _BLANK
        if label:
            words = f"**{escape_markdown(label)}:** {words}"
        yield f"- {words}"
    if lines:
        yield ""
