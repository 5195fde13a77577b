"""A run's one verdict with its reason, as a sentence: the worst of its models, or what fell below its baseline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.exits import OUTCOMES
from prompts.phrases import phrase, translated
from tasks.report.regressions import regressed
from tasks.report.text import listed, percent, shortened, whole_percent
from tasks.report.words import measure, parts, say, why

Results = Mapping[str, Any]
Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a run comes to: its outcome, the word for it, and why."""

    outcome: str
    word: str
    reason: str

    def __str__(self) -> str:
        """Return the sentence."""
        return f"{self.word}: {self.reason}"


def conclusion(results: Results, language: str) -> Conclusion:
    """Say what a run comes to and why; of a run without a verdict that it has none."""
    outcome, reason = _concluded(results, language)
    return Conclusion(outcome, say(outcome, language), reason)


def _concluded(results: Results, language: str) -> tuple[str, str]:
    final = results.get("final")
    if not final or not final["models"]:
        return "none", say("says_none", language)
    models = final["models"]
    worst = max((model["verdict"] for model in models), key=OUTCOMES.index)
    worse = {"regressed", "undecided"} if worst == "pass" else {"regressed"}
    decides = worst == "none" or final["gate"] == "off" or worse & {*final["changes"]}
    if final["changes"] and decides and worst != "error":
        return regressed(results.get("baseline") or {}, final["changes"], language)
    if final["waiting"] and worst in {"none", "pass", "undecided"}:
        return "undecided", translated(f"submitted: {final['waiting']} requests wait in batches", language)
    if worst == "none":
        return worst, phrase("screen.no_threshold", language)
    named = [model for model in models if model["verdict"] == worst]
    if worst == "fail" and len(models) > 1:
        below = [(model, part) for model in named for part in parts(model, language) if part["outcome"] == "fail"]
        model, part = max(below, key=lambda one: one[1]["threshold"] - one[1]["score"])
        told = _cause(part, language)
        cause = phrase("screen.furthest", language, model=shortened(model["model"]), cause=told)
    else:
        cause = _causes(named, models, language)
    counted = say(f"says_{worst}", language, k=len(named), n=len(models)) if len(models) > 1 else ""
    told = counted if worst == "pass" else "; ".join(filter(None, (counted, cause)))
    return worst, told or cause


def _causes(named: Sequence[Part], models: Sequence[Part], language: str) -> str:
    """Return why models have their verdict: of one all causes, of several the first, and how many more."""
    causes = [
        f"{shortened(model['model'])}: {told}" if len(models) > 1 else told
        for model in named
        for told in _reasons(model, language)
    ]
    if len(models) == 1:
        return listed(causes, language)
    return causes[0] + (f" ({phrase('screen.more', language, n=len(causes) - 1)})" if len(causes) > 1 else "")


def _reasons(model: Part, language: str) -> list[str]:
    """Return a cause where there is no result at all, else what each part of the model's verdict came to."""
    if model["failed"] or model["missing"]:
        return [translated(model["reason"], language)]
    own = [part for part in parts(model, language) if part["outcome"] == model["verdict"]]
    if model["verdict"] == "pass":
        own = own[-1:]
    return [_cause(part, language) for part in own]


def _cause(part: Part, language: str) -> str:
    if part["reason"]:
        return f"{part['suite']}: {why(part, language)}"
    limit = part["threshold"]
    figures = {
        "name": " ".join(filter(None, (part["suite"], measure(part)))),
        "score": whole_percent(part["score"], limit),
        "threshold": percent(limit).removesuffix("%"),
    }
    if part["outcome"] in {"pass", "fail"}:
        return phrase("screen.score", language, **figures)
    if part["n_deciding"]:
        return phrase("screen.deciding", language, **figures, n=part["n_deciding"])
    return phrase("screen.not_settled", language, **figures)
