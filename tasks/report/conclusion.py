"""The conclusion of a whole run in sentences: its verdict with the reason, and who differs from whom.

The verdict is that of the worst model, or of what fell below its baseline.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data.errors import plural
from data.exits import OUTCOMES
from metrics.analysis.summary import rounded
from prompts.phrases import phrase, translated
from tasks.report.regressions import baseline_of, regressed
from tasks.report.text import listed, p_value, percent, shortened, whole_percent, written
from tasks.report.words import measure, parts, remarks, say, suites_in, why

Results = Mapping[str, Any]
Part = Mapping[str, Any]
Pair = Mapping[str, Any]
Prompted = Mapping[str, tuple[str, str]]
"""The (model, prompt) of each target that is asked with one prompt of several."""
_SCOPES = ("suite", "total", "metric")


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A run's conclusion: its outcome, the word for it, and why."""

    outcome: str
    word: str
    reason: str

    def __str__(self) -> str:
        """Return the sentence."""
        return f"{self.word}: {self.reason}"


def conclusion(results: Results, language: str) -> Conclusion:
    """Return the run's outcome and the reason."""
    outcome, reason = _concluded(results, language)
    return Conclusion(outcome, say(outcome, language), reason)


def _concluded(results: Results, language: str) -> tuple[str, str]:
    final = results["final"]
    models = final["models"]
    worst = max((model["verdict"] for model in models), key=OUTCOMES.index)
    worse = {"regressed", "undecided"} if worst == "pass" else {"regressed"}
    decides = worst == "none" or final["gate"] == "off" or worse & {*final["changes"]}
    comparison = baseline_of(results)
    if comparison and final["changes"] and decides and worst != "error":
        return regressed(comparison, final["changes"], language)
    if final["waiting"] and worst in {"none", "pass", "undecided"}:
        return "undecided", translated(f"submitted: {plural(final['waiting'], 'request')} in batches", language)
    if worst == "none":
        return worst, phrase("screen.no_threshold", language)
    named = [model for model in models if model["verdict"] == worst]
    if worst == "fail" and len(models) > 1:
        below = [(model, part) for model in named for part in parts(model, language) if part["outcome"] == "fail"]
        # Without a score the overall one fails too, where it would whatever the withheld suites scored.
        scored = [one for one in below if one[1]["score"] is not None]
        model, part = max(scored, key=lambda one: one[1]["threshold"] - one[1]["score"], default=below[0])
        told = _cause(part, language)
        short = shortened(model["model"], among=[one["model"] for one in models])
        cause = phrase("screen.furthest", language, model=short, cause=told)
    else:
        cause = _causes(named, models, language)
    counted = say(f"says_{worst}", language, k=len(named), n=len(models)) if len(models) > 1 else ""
    told = counted if worst == "pass" else "; ".join(filter(None, (counted, cause)))
    return worst, told or cause


def _causes(named: Sequence[Part], models: Sequence[Part], language: str) -> str:
    """Return why models have their verdict: for one model all causes, for several the first and a count."""
    there = [model["model"] for model in models]
    causes = [
        f"{shortened(model['model'], among=there)}: {told}" if len(models) > 1 else told
        for model in named
        for told in _reasons(model, language)
    ]
    if len(models) == 1:
        return listed(causes, language)
    return causes[0] + (f" ({phrase('screen.more', language, n=len(causes) - 1)})" if len(causes) > 1 else "")


def _reasons(model: Part, language: str) -> list[str]:
    """Return the cause if there is no result at all, else the reason of each part of the model's verdict."""
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


def differences(results: Results, language: str, prompted: Prompted | None = None) -> Iterator[str]:
    """Yield who beats whom, then the groups that cannot be told apart; nothing for one model.

    For `prompted`, models by their prompts, each model's prompts are compared first, then the models by each
    prompt. If human labels correct a score, a note says that pairs are compared as judged.
    """
    pairs, groups = _whole(results)
    if prompted and all(name in prompted for pair in pairs for name in _both(pair)):
        said = _prompts(pairs, prompted, language)
    else:
        there = {name for pair in pairs if pair["difference"] is not None for name in _both(pair)}
        groups = [group for one in groups if (group := [name for name in one if name in there])]
        said = _told(groups[0][0], pairs, groups, language) if groups else iter(())
    parts = [part for _, part in suites_in(results["final"]) if part["weight"]]
    labelled = any(part.get("as_judged") is not None for part in parts)
    for told in said:
        yield phrase("screen.as_judged", language, told=told) if labelled else told


def _told(best: str, pairs: list[Pair], groups: list[list[str]], language: str) -> Iterator[str]:
    beaten = {_other(pair, best): pair for pair in pairs if pair["significant"] and best in _both(pair)}
    there = {name for pair in pairs for name in _both(pair)}
    if beaten:
        yield _beats(best, beaten, there, language)
    alike = [[shortened(name, among=there) for name in group] for group in groups if len(group) > 1]
    if len(alike) == 1 and len(pairs) == 1:
        yield _alike(pairs[0], language)
    elif alike:
        yield "; ".join(phrase("screen.alike", language, names=listed(group, language)) for group in alike)


def _prompts(pairs: list[Pair], prompted: Prompted, language: str) -> Iterator[str]:
    """Yield the comparison of each model's prompts, and then the models by each prompt."""
    for shared, other in ((0, 1), (1, 0)):
        fields: dict[str, list[Pair]] = {}
        for pair in pairs:
            one, two = (prompted[name] for name in _both(pair))
            if one[shared] == two[shared] and pair["difference"] is not None:
                names = [f"'{name}'" if other else name for name in (one[other], two[other])]
                named = {**pair, "model_a": names[0], "model_b": names[1]}
                fields.setdefault(one[shared], []).append(named)
        for field, own in fields.items():
            ahead = [pair["model_a" if pair["difference"] >= 0 else "model_b"] for pair in own]
            best = max(ahead, key=ahead.count)
            near = [_other(pair, best) for pair in own if best in _both(pair) and not pair["significant"]]
            said = "; ".join(_told(best, own, [[best, *near]], language))
            yield said if len(fields) == 1 and not shared else f"{field}: {said}"


def _both(pair: Pair) -> tuple[str, str]:
    return pair["model_a"], pair["model_b"]


def _other(pair: Pair, model: str) -> str:
    return next(one for one in _both(pair) if one != model)


def _whole(results: Results) -> tuple[list[Pair], list[list[str]]]:
    """Return pairs and groups of the deciding score: the overall one, else that of the suite with a weight."""
    found = results.get("comparisons", ())
    weighing = [part["suite"] for part in results["final"]["models"][0]["suites"] if part["weight"]]
    wanted = [("", "overall"), *((suite, scope) for suite in weighing for scope in _SCOPES)]
    for suite, scope in wanted:
        if pairs := [one for one in found if (one["suite"], one["scope"]) == (suite, scope)]:
            named = pairs[0]["metric"]
            groups = [
                one["groups"]
                for one in results["groups"]
                if (one["suite"], one["scope"], one["metric"]) == (suite, scope, named)
            ]
            return [one for one in pairs if one["metric"] == named], groups[0] if groups else []
    return _raced(results, weighing)


def _raced(results: Results, weighing: list[str]) -> tuple[list[Pair], list[list[str]]]:
    """Return two models that were asked until they could be told apart as a pair."""
    races = [one for one in results.get("races", ()) if one["suite"] in weighing and one["looks"]]
    if len(races) != 1:
        return [], []
    (race,) = races
    last = race["looks"][-1]
    pair = {
        "model_a": race["model"],
        "model_b": race["against"],
        "difference": last["mean"],
        "interval": last,
        "p_adjusted": None,
        "significant": bool(race["side"]),
    }
    both = sorted(_both(pair), key=lambda name: (name == race["against"]) == (last["mean"] > 0))
    return [pair], [[one] for one in both] if pair["significant"] else [both]


def _beats(best: str, beaten: Mapping[str, Pair], there: Collection[str], language: str) -> str:
    """Return by how much the best beats the nearest beaten model, and whom else it beats."""
    nearest, *others = sorted(beaten, key=lambda name: abs(beaten[name]["difference"]))
    pair = beaten[nearest]
    names = {"better": shortened(best, among=there), "worse": shortened(nearest, among=there)}
    said = phrase("screen.beats", language, **names, **_by(pair, best))
    if pair["p_adjusted"] is not None:
        p = p_value(pair["p_adjusted"])
        said += f", p\u00a0{p if p.startswith('<') else f'= {p}'}".replace("< ", "<\u00a0").replace("= ", "=\u00a0")
    if others:
        also = listed([shortened(one, among=there) for one in others], language)
        said += phrase("screen.beats_also", language, names=also)
    return said


def _alike(pair: Pair, language: str) -> str:
    """Return that two models cannot be told apart, the difference, and its conditions."""
    first, second = _both(pair) if (pair["difference"] or 0) >= 0 else reversed(_both(pair))
    better, worse = shortened(first, among=[second]), shortened(second, among=[first])
    names = listed([better, worse], language)
    if pair["difference"] is None:
        return phrase("screen.alike", language, names=names)
    more = remarks(pair, language) if "hangs" in pair else []
    low, high = pair["interval"]["low"], pair["interval"]["high"]
    if pair.get("hangs") and low is not None and (low > 0 or high < 0):
        told = phrase("screen.ahead_so_far", language, better=better, worse=worse, **_by(pair, first))
    else:
        told = phrase("screen.alike_by", language, names=names, **_by(pair, first))
    return "; ".join([told, *more])


def _by(pair: Pair, better: str) -> dict[str, str]:
    """Return the points by which one model is better, and the numbers given with them."""
    sign = 100 if pair["model_a"] == better else -100
    interval = pair["interval"]
    value = _number(sign * pair["difference"])
    if interval["low"] is None:
        return {"points": value, "around": "", "beside": ""}
    low, high = sorted((sign * interval["low"], sign * interval["high"]))
    between = f"{_number(low)}{'–' if low >= 0 else ' … '}{_number(high)}"
    return {"points": value, "around": f" ({between})", "beside": f", {between}"}


def _number(points: float) -> str:
    return written(f"{rounded(points, 1) + 0.0:g}".replace("-", "−"))
