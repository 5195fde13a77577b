"""JUnit XML: a case for each gate, which fails where the exit code says so; for each question on request."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import polars as pl

from artifacts.store import write_atomically
from tasks.report.material import Material
from tasks.report.passports import warnings
from tasks.report.regressions import regression
from tasks.report.samples import KEY, frames
from tasks.report.words import measure, shared, why

SHOWN = 4000
"""Characters of a reply that a failed case shows."""

FAILURES = {
    "wrong": "wrong answer",
    "partial": "partly right",
    "no_answer": "no answer",
    "truncated": "cut at the token limit",
}
ERRORS = {"model_error": "the call failed", "judge_failed": "a judge failed"}
SKIPPED = {"not_applicable": "not applicable", "unscored": "not scored"}

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: object) -> str:
    """Return text with what XML 1.0 cannot hold written as U+XXXX: a model may have had a hand in it."""
    return _FORBIDDEN.sub(lambda sign: f"<U+{ord(sign[0]):04X}>", str(text))


def _case(row: Mapping[str, Any], suite_name: str) -> ET.Element:
    repeat = f" (repeat {row['repeat']})" if row["repeat"] else ""
    place = "/".join(part for part in (row["level"], row["language"]) if part)
    name = clean(f"{row['item_id']}{f' [{place}]' if place else ''}{repeat}")
    case = ET.Element("testcase", name=name, classname=suite_name, time=f"{row['latency_s'] or 0:.3f}")
    reason = clean(row["reason"] or row["error_kind"] or "")
    outcome = row["outcome"]
    if outcome in FAILURES:
        part = ET.SubElement(case, "failure", type=outcome, message=reason or FAILURES[outcome])
        part.text = clean(_told(row))
    elif outcome in ERRORS:
        part = ET.SubElement(case, "error", type=outcome, message=reason or ERRORS[outcome])
        part.text = clean(row["error"] or "")
    elif outcome in SKIPPED:
        ET.SubElement(case, "skipped", message=reason or SKIPPED[outcome])
    return case


def _told(row: Mapping[str, Any]) -> str:
    """Return what someone needs to see of a wrong answer."""
    score = "" if row["value"] is None else f"score: {row['value']:.4f}\n"
    reply = row["text"] or ""
    if len(reply) > SHOWN:
        reply = f"{reply[:SHOWN]}\n… {len(reply) - SHOWN} more characters"
    return f"{score}expected: {row['answer']}\n--- reply ---\n{reply}"


def _suites(rows: pl.DataFrame, timestamp: str) -> Iterator[ET.Element]:
    for (model, suite, family), group in rows.group_by("model", "suite", "family", maintain_order=True):
        name = clean(".".join(str(part) for part in (suite, family) if part))
        outcomes = group["outcome"]
        yield (
            element := ET.Element(
                "testsuite",
                name=f"{clean(model)} / {name}",
                timestamp=timestamp,
                tests=str(group.height),
                failures=str(outcomes.is_in(list(FAILURES)).sum()),
                errors=str(outcomes.is_in(list(ERRORS)).sum()),
                skipped=str(outcomes.is_in(list(SKIPPED)).sum()),
                time=f"{group['latency_s'].sum():.3f}",
            )
        )
        properties = ET.SubElement(element, "properties")
        ET.SubElement(properties, "property", name="model", value=clean(model))
        element.extend(_case(row, name) for row in group.iter_rows(named=True))


def _gate(name: str, of: str, outcome: str, told: str, *, counts: bool, passes: bool) -> ET.Element:
    """Return the case of a gate; `counts`: the exit code goes by it, `passes`: undecided counts as passed."""
    case = ET.Element("testcase", name=clean(name), classname=clean(of), time="0.000")
    if not counts:
        if outcome not in {"pass", "held"}:
            ET.SubElement(case, "skipped", message=clean(f"{outcome}, and the gate is off: {told}"))
    elif outcome == "error":
        ET.SubElement(case, "error", type=outcome, message=clean(told))
    elif outcome in {"fail", "regressed"} or (outcome == "undecided" and not passes):
        ET.SubElement(case, "failure", type=outcome, message=clean(told)).text = clean(told)
    elif outcome == "undecided":
        ET.SubElement(case, "skipped", message=clean(f"undecided: {told}"))
    ET.SubElement(case, "system-out").text = clean(told)
    return case


def gates(material: Material) -> ET.Element:
    """Return the cases of all gates: each model in each suite and overall, and each suite against the baseline."""
    settings, results = material.settings, material.results
    passes, language = settings.undecided == "pass", settings.report.language
    unmeasured = {(model, suite): said for model, suite, said in warnings(results, language)}
    cases = []
    for model in results.get("final", {}).get("models", ()):
        for part in (*model["suites"], {**model, "suite": "overall"}):
            score = "no score" if part["score"] is None else f"score {part['score']:.4f}"
            if part["score"] is not None and not part.get("measured", True):
                score = f"no measured score (as judged {part['score']:.4f})"
            bound = "" if part.get("upper") is None else f" to {part['upper']:.4f}"
            if named := measure(part):
                score = (
                    f"{named} {score}, mean {part['mean']:.4f}" if part["mean"] is not None else f"{named} {score}"
                )
            told = f"{score}{bound}, threshold {part['threshold']:g}: {part['outcome']}"
            said = why(part, settings.report.language)
            told = f"{told}; {said}" if said else told
            counts = settings.gate != "off"
            case = _gate(part["suite"], model["model"], part["outcome"], told, counts=counts, passes=passes)
            if warned := unmeasured.get((model["model"], part["suite"])):
                ET.SubElement(case, "system-err").text = clean(f"{shared('warning', language)}: {warned}")
            cases.append(case)
    held = results.get("baseline") or {"models": (), "name": ""}
    counts = settings.fail_on == "regression"
    for model in held["models"]:
        of = f"baseline {held['name']}.{model['model']}"
        cases += [
            _gate(
                part["suite"],
                of,
                part["outcome"],
                regression(part, settings.report.language),
                counts=counts,
                passes=passes,
            )
            for part in model["suites"]
        ]
    kinds = {
        kind: str(sum(case.find(kind) is not None for case in cases)) for kind in ("failure", "error", "skipped")
    }
    counted = {"failures": kinds["failure"], "errors": kinds["error"], "skipped": kinds["skipped"]}
    stamp = material.started.isoformat(timespec="seconds")
    described = {"name": "gates", "timestamp": stamp, "tests": str(len(cases)), **counted, "time": "0.000"}
    element = ET.Element("testsuite", described)
    element.extend(cases)
    return element


def compose(material: Material) -> ET.Element:
    """Return the document: all gates, and with `report.junit_items` every item as well.

    Of an item a wrong, partly right or missing answer is a failure; a failed call or judge an error; what does not
    apply is skipped. Of several metrics the case has their mean and worst status. A time is the reply's latency in
    seconds, also where it came from the cache.
    """
    suites = [
        *([gates(material)] if material.results else ()),
        *(_items(material) if material.settings.report.junit_items else ()),
    ]
    sums = {
        name: str(sum(int(suite.attrib[name]) for suite in suites))
        for name in ("tests", "failures", "errors", "skipped")
    }
    time = f"{sum(float(suite.attrib['time']) for suite in suites):.3f}"
    top = ET.Element("testsuites", {"name": f"basic-control {clean(material.run)}", **sums, "time": time})
    top.extend(suites)
    return top


def _items(material: Material) -> list[ET.Element]:
    items = material.items.select("item_id", "suite", "family", "level", "language", "answer")
    rows = frames(material).rows.join(items, on="item_id", how="left", maintain_order="left")
    order = ["model", "suite", "family"]
    rows = rows.sort(order, maintain_order=True).select(*dict.fromkeys([*KEY, *order]), pl.exclude(*KEY, *order))
    return list(_suites(rows, material.started.isoformat(timespec="seconds")))


def write(material: Material, path: Path) -> Path:
    """Write the run as JUnit XML."""
    top = compose(material)
    ET.indent(top)
    write_atomically(path, ET.tostring(top, encoding="utf-8", xml_declaration=True))
    return path
