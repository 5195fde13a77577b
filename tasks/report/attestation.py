"""A run as an unsigned in-toto Statement with a test result, to be signed by its users' own means.

Source: in-toto attestation framework, Statement v1, predicate test-result v0.1.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from basic_control.data.draw import format_canonical
from basic_control.metrics.analysis.headlines import Headline
from basic_control.tasks.report.audit_run import AuditedRun
from basic_control.tasks.report.words import headlines_of

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_RESULTS: Mapping[str, str] = {"pass": "PASSED", "fail": "FAILED", "error": "FAILED"}
"""What an outcome is called there; what no threshold or too few data decided passes with a warning."""
_CHANGES: Mapping[str, str] = {"held": "PASSED", "regressed": "FAILED"}
_LISTS: Mapping[str, str] = {"PASSED": "passedTests", "WARNED": "warnedTests", "FAILED": "failedTests"}
# A SHA-256 as servers and files state it: 9f86d081…0a08, sha256:9f86d081…0a08
_SHA256 = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


def state_result(run: AuditedRun) -> dict[str, Any]:
    """Return the Statement: its subjects are the models, its tests the scores and what became of a baseline."""
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
        "_type": STATEMENT,
        "subject": list_subjects(run),
        "predicateType": PREDICATE,
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
