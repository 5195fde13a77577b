"""What a score's details say of a reply: failed checks, texts that it lacks, judges' ratings, unsupported claims.

Everything in a remark may be a model's or a stranger's text: whoever shows it makes control characters visible.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

SUPPORTED = "SUPPORTED"
"""The verdict on a claim that needs no remark."""
CLAIMS = "_claims"
"""How the keys of claims end, after whose they are: `response_claims`."""
LABELS = ("rating", "winner", "verdict", "label")
"""Keys of what a judge has decided, in a mapping with its `reason`."""
Kind = Literal["check", "lacks", "unwanted", "pattern", "claim", "context", "rated", "reason", "excluded"]


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on a reply: `text` is what it is about or says, `label` the verdict, `name` the criterion.

    `judge` is who says it, '' for a rule, and `note` the reason that the judge gave for a verdict on a text. Before
    the remarks of a judge that does not count stands one, `excluded`, whose text is why.
    """

    kind: Kind
    text: str
    label: str = ""
    name: str = ""
    judge: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class JudgedPart:
    """What a judge decided: on a claim of the response or the reference (`about`), or a criterion of that name.

    `excluded` is why the judge does not count, '' if it does.
    """

    judge: str
    about: str
    text: str
    verdict: str
    reason: str
    excluded: str = ""


def list_judgements(details: str | None) -> Iterator[JudgedPart]:
    """Yield what each judge decided in a score's details: the verdicts on claims, and the ratings of criteria."""
    document = read_details(details)
    left_out = read_mapping(document.get("left_out"))
    for judge, result in read_mapping(document.get("judges")).items():
        judged, why = read_mapping(read_mapping(result).get("details")), str(left_out.get(judge, ""))
        for key, value in judged.items():
            if key.endswith(CLAIMS):
                for claim in _read_mappings(value):
                    texts = [str(claim.get(name) or "") for name in ("text", "verdict", "reason")]
                    yield JudgedPart(str(judge), key.removesuffix(CLAIMS), *texts, excluded=why)
        for remark in _list_decided(str(judge), judged):
            yield JudgedPart(remark.judge, remark.name, "", remark.label, remark.text, excluded=why)


def read_reason(reason: str | None, details: str | None) -> str:
    """Return why a score is what it is: its reason with a failed call's error, else what its judges wrote."""
    document = read_details(details)
    error = document.get("error")
    if error:
        return ": ".join(filter(None, (reason, str(error))))
    return reason or "; ".join(dict.fromkeys(_list_reasons(document.get("judges"))))


def _list_reasons(verdict: object) -> Iterator[str]:
    """Yield all reasons in what judges found, however deep: also `support_reason` of each citation."""
    if isinstance(verdict, Mapping):
        for name, value in verdict.items():
            if isinstance(value, str) and value and str(name).endswith("reason"):
                yield value
            else:
                yield from _list_reasons(value)
    elif isinstance(verdict, list):
        for part in verdict:
            yield from _list_reasons(part)


def read_details(details: str | None) -> Mapping[str, Any]:
    """Return a score's details; none of what is not JSON, or no mapping."""
    try:
        return read_mapping(json.loads(details or "{}"))
    except (ValueError, RecursionError):
        return {}


def list_remarks(details: str | None, options: Mapping[str, Any]) -> tuple[Remark, ...]:
    """Return the remarks in a score's details, of a metric with these `options`; each judge has its own."""
    document = read_details(details)
    remarks = [*_list_of_rules(document)]
    # A pattern that matched nothing leaves no details.
    if isinstance(options.get("pattern"), str) and (details or "{}") == "{}":
        remarks.append(Remark("pattern", options["pattern"]))
    left_out = read_mapping(document.get("left_out"))
    judges = read_mapping(document.get("judges"))
    # What does not count comes last.
    for judge in sorted(judges, key=left_out.__contains__):
        judge_score = read_mapping(judges[judge])
        judged = [*_list_of_judge(str(judge), read_mapping(judge_score.get("details")))]
        # Who was not asked, as of a reply without contexts, or could not be read, has only a reason.
        if not judged and judge_score.get("reason"):
            judged = [Remark("reason", str(judge_score["reason"]), judge=str(judge))]
        if judge in left_out:
            remarks.append(Remark("excluded", str(left_out[judge]), judge=str(judge)))
        remarks.extend(judged)
    return tuple(remarks)


def read_mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping as it is, and anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def _read_mappings(value: object) -> list[Mapping[str, Any]]:
    """Return the mappings in a list; none of anything else."""
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]


def _list_of_rules(document: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield what rules found: checks of the row that do not hold, and texts that are missing or unwanted."""
    for outcome in _read_mappings(document.get("checks")):
        if not outcome.get("holds", True):
            yield Remark("check", str(outcome.get("reason") or outcome.get("check") or ""))
    kinds: tuple[tuple[str, Kind], ...] = (("missing", "lacks"), ("unwanted", "unwanted"))
    for key, kind in kinds:
        texts = document.get(key)
        if isinstance(texts, list) and texts:
            yield Remark(kind, ", ".join(map(str, texts)))


def _list_of_judge(judge: str, details: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield what a judge found, the claims without support first."""
    for key, value in details.items():
        if key.endswith(CLAIMS):
            for claim in _read_mappings(value):
                verdict = str(claim.get("verdict", ""))
                if verdict != SUPPORTED:
                    text, note = str(claim.get("text", "")), str(claim.get("reason") or "")
                    yield Remark("claim", text, verdict.casefold(), judge=judge, note=note)
    yield from _list_contexts(judge, details)
    yield from _list_decided(judge, details)


def _list_decided(judge: str, details: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield a judge's label for the whole reply, and its ratings of criteria."""
    reason, label = str(details.get("judge_reason") or ""), str(details.get("label") or "")
    if reason or label:
        yield Remark("rated", reason, label, judge=judge)
    yield from _list_ratings(judge, details)


def _list_contexts(judge: str, details: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield the contexts that a judge did not find useful, by their number from 1."""
    verdicts, reasons = details.get("useful"), details.get("judge_reasons")
    if not isinstance(verdicts, list) or not isinstance(reasons, list):
        return
    for number, (is_useful, reason) in enumerate(zip(verdicts, reasons, strict=False), start=1):
        if not is_useful:
            yield Remark("context", str(reason), str(number), judge=judge)


def _list_ratings(judge: str, details: Mapping[str, Any]) -> Iterator[Remark]:
    """Yield a judge's ratings and verdicts with their reasons, also of several criteria, each under its name."""
    for name, value in details.items():
        result = read_mapping(value)
        labels = [str(result[key]) for key in LABELS if key in result]
        if labels and "reason" in result:
            yield Remark("rated", str(result["reason"]), labels[0], name=str(name), judge=judge)
        else:
            yield from _list_ratings(judge, result)
