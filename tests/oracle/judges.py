"""Suites with a judged metric: which judges count, what they, their exam and people's labels decide (11, 16)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from basic_control.config.settings import Settings
from basic_control.data.options import options_of
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.document import document
from basic_control.metrics.analysis.judged import collect_left_out, correct_means, judge_statuses
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.judging import Judgement, Session
from basic_control.metrics.panels import combine
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.metrics.stats.labelled import prediction_powered
from basic_control.tasks.findings import circumstances
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import resolve
from tests.helpers.passports import passport
from tests.helpers.verdicts import verdict_on
from tests.oracle.draws import pick
from tests.oracle.held_against import ends_of, equal, hold, intervals_of
from tests.oracle.rules import CODES, ENDS, ZERO, Answer, Score, answered, decide, mean, mean_of, worst

METRIC = "response_groundedness"
Table = tuple[tuple[int, int, int], ...]
COUNTING: Mapping[str, Table] = {
    "perfect": ((20, 0, 0), (0, 20, 0), (0, 0, 20)),
    "fair": ((18, 0, 2), (0, 20, 0), (4, 0, 16)),
    "lenient": ((20, 0, 0), (0, 20, 0), (9, 0, 11)),
}
LEFT_OUT: Mapping[str, Table] = {
    "always": ((20, 0, 0), (20, 0, 0), (20, 0, 0)),
    "coin": ((11, 0, 9), (0, 20, 0), (10, 0, 10)),
    "weak": ((12, 0, 8), (0, 20, 0), (7, 0, 13)),
}
"""Exams by truth 2, 1, 0 and answer 2, 1, 0. `weak` may be a coin: it answered too few questions."""


@dataclass(frozen=True)
class Panel:
    """Replies: which are right, how judges rated them (None: unreadable), and what people said of the first.

    A judge that is called neither in COUNTING nor in LEFT_OUT took no exam. The first threshold is exact_match's.
    """

    right: tuple[bool, ...]
    ratings: Mapping[str, tuple[int | None, ...]]
    labels: tuple[int, ...]
    thresholds: tuple[float | None, float | None]
    gate: str

    @property
    def counting(self) -> list[str]:
        """The judges that count."""
        return [judge for judge in self.ratings if judge not in LEFT_OUT]

    def joint(self, judges: list[str]) -> list[Answer]:
        """Return what judges come to of each reply: the mean of those that said something."""
        rows = zip(*(self.ratings[judge] for judge in judges), strict=True)
        means = [mean_of(None if rating is None else Fraction(rating, 2) for rating in row) for row in rows]
        return [answered("judge_failed" if value is None else "scored", value) for value in means]

    @property
    def predictions(self) -> list[Fraction]:
        """What labels correct: what the judges that count say, or where none does, all of them."""
        return [answer.value or ZERO for answer in self.joint(self.counting or [*self.ratings])]

    @property
    def is_labelled(self) -> bool:
        """Whether people decide: 30 labels, 10 of either class."""
        return len(self.labels) >= 30 and 10 <= sum(self.labels) <= len(self.labels) - 10

    def decide(self, answers: list[Answer], entry: Mapping[str, Any], threshold: float | None) -> str:
        """Return the outcome of a metric by its answers."""
        if threshold is None:
            return "none"
        means = {end: mean_of(answer.at(end) for answer in answers) for end in ENDS}
        return decide(means, threshold, self.gate, intervals_of(entry))


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    """Draw replies, one to three judges of them, and people's labels in a third of the cases."""
    is_labelled = pick(draw, 0, 0, 1) == 1
    n = draw(st.integers(60, 90)) if is_labelled else draw(st.integers(10, 40))
    odds, fails = pick(draw, 5, 7, 9), not is_labelled and pick(draw, 0, 0, 0, 1) == 1
    good = [draw(st.integers(0, 9)) < odds for _ in range(n)]
    kinds = (*COUNTING, *COUNTING, *LEFT_OUT, "new")
    ratings = {}
    for name in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True)):
        noise = [draw(st.integers(0, 19)) for _ in range(n)]
        rated = [2 * (is_good if at < 16 else not is_good) for is_good, at in zip(good, noise, strict=True)]
        ratings[name] = tuple(None if fails and at == 19 else value for value, at in zip(rated, noise, strict=True))
    right = tuple(draw(st.integers(0, 9)) < 7 for _ in range(n))
    n_labels = pick(draw, 12, 29, 30, 45) if is_labelled else 0
    labels = tuple(int(draw(st.booleans())) for _ in range(n_labels))
    limits = [pick(draw, None, 0.5, 0.6, 0.7, 0.8) for _ in range(2)]
    return Panel(right, ratings, labels, (limits[0], limits[1]), pick(draw, "point", "interval"))


def _session(rating: int | None) -> Session:
    """Return a judge's ended session that rated a reply so, or failed."""
    answers = {} if rating is None else {"rate": {"rating": Judgement(str(rating), float(rating))}}
    sample = {"response": "It is so.", "retrieved_contexts": ["Another text that does not say it."]}
    options, n_steps = options_of(response_groundedness, {}), len(response_groundedness.steps)
    failure = "rate: unparsable reply" if rating is None else ""
    return Session(response_groundedness, sample, options, "en", n_steps, answers, n_calls=1, failure=failure)


def drive_panel(panel: Panel, folder: Path) -> dict[str, Any]:
    """Score replies by what the judges said, as a run does, and decide; return results.json."""
    rows = [
        {"question": f"q{n}", "answer": "a", "response": "a" if right else "b", "retrieved_contexts": ["c"]}
        for n, right in enumerate(panel.right)
    ]
    (folder / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    limits = [{} if limit is None else {"threshold": limit} for limit in panel.thresholds]
    suite = {
        "name": "s", "items": {"data": str(folder / "s.jsonl")}, "responses_of": "m",
        "metrics": {"exact_match": limits[0], METRIC: limits[1]},
    }  # fmt: skip
    judges = [{"name": judge, "provider": "ollama"} for judge in panel.ratings]
    plan = resolve(Settings.model_validate({"suites": [suite], "judges": judges, "gate": panel.gate}))
    (planned,) = plan.suites
    items = ITEMS.frame(items_of(planned.suite))
    exams = {name: passport("groundedness", table, name) for name, table in {**COUNTING, **LEFT_OUT}.items()}

    def find(_suite: Any, _metric: str, judge: str, _exam: str, _language: str) -> Any:
        return exams.get(judge)

    statuses = judge_statuses(planned.suite, METRIC, [*panel.ratings], ["en"], find)
    excluded = collect_left_out(statuses).get("en", {})
    scored = []
    for row, right, *ratings in zip(items.iter_rows(named=True), panel.right, *panel.ratings.values(), strict=True):
        sessions = {judge: _session(rating) for judge, rating in zip(panel.ratings, ratings, strict=True)}
        score, place = combine(sessions, "mean", excluded), {"item_id": row["item_id"], "model": "m", "repeat": 0}
        judged = {"value": score.value, "status": score.status, "reason": score.reason}
        exact = {"value": float(right), "status": "scored", "reason": "", "details": "{}"}
        scored.append({**place, "metric": "exact_match", **exact})
        scored.append({**place, "metric": METRIC, **judged, "details": json.dumps(score.details)})
    scores = pl.DataFrame(scored, schema_overrides={"value": pl.Float64})
    labels = {}
    if panel.labels:
        verdicts, places = [*map(float, panel.predictions)], range(len(panel.labels))
        labels["s", "m", METRIC] = prediction_powered(verdicts, places, [*map(float, panel.labels)])
    corrected = correct_means(scores, items, [planned.suite], find)
    facts = circumstances(planned, judge_statuses=statuses, labels=labels, corrected=corrected)
    verdict = verdict_on(scores, items, [planned.suite], gate=plan.policy.gate, facts=facts)
    return document(Results({}, verdict.models), verdict)


def _correct(panel: Panel, share: Fraction) -> Fraction | None:
    """Return the corrected share, of one judge that counts and is measured (section 11)."""
    if len(panel.counting) != 1 or panel.counting[0] not in COUNTING:
        return None
    yes, _, no = COUNTING[panel.counting[0]]
    sensitivity, specificity = Fraction(yes[0], sum(yes)), Fraction(no[2], sum(no))
    corrected = (share + specificity - 1) / (sensitivity + specificity - 1)
    return min(max(corrected, ZERO), Fraction(1))


def _check_within(entry: Mapping[str, Any], key: str, interval: str) -> None:
    low, high = ends_of(entry[interval])
    assert 0 <= low <= entry[key] <= high <= 1, f"{key}: {entry[key]} in {low} to {high}"


def _by_labels(panel: Panel, entry: Mapping[str, Any]) -> set[str]:
    """Check a score by people's labels, and return its outcome."""
    # An estimate lies between people's mean and that mean with all of the judges' gap.
    judged, people = panel.predictions, mean([Fraction(label) for label in panel.labels])
    low, high = sorted((people, people + mean(judged) - mean(judged[: len(panel.labels)])))
    within = float(low) - 1e-9 <= entry["score"] <= float(high) + 1e-9
    assert within, f"by labels: {entry['score']}, expected {low} to {high}"
    hold("by labels", entry, {"n_labels": len(panel.labels)})
    _check_within(entry, "score", "interval")
    whole = {"interval": entry["interval"], "lower": None, "upper": None}
    return {panel.decide([answered("scored", Fraction(entry["score"]))], whole, panel.thresholds[1])}


def _by_judges(panel: Panel, entry: Mapping[str, Any]) -> set[str]:
    """Check a score by judges, and return what it may come to."""
    answers, threshold = panel.joint(panel.counting), panel.thresholds[1]
    present = [answer for answer in answers if answer.value is not None]
    share = mean_of(answer.value for answer in answers)
    hold("judges", entry, {"n_unread": len(answers) - len(present), "score": share})
    if share is None or threshold is None or 10 * len(present) < 9 * len(answers):
        return {"none" if threshold is None and present else "error"}
    raw, corrected = panel.decide(answers, entry, threshold), _correct(panel, share)
    if corrected is None:
        # Several judges' exam answers are joined: what that comes to is not held here.
        return {raw, "undecided"} if all(judge in COUNTING for judge in panel.counting) else {raw}
    # Of three truths the likeliest shares are sought step by step, and stop just short of none or all.
    off = 1e-9 if 0 < corrected < 1 else 0.005
    assert abs(entry["corrected"] - corrected) <= off, f"corrected: {entry['corrected']}, expected {corrected}"
    _check_within(entry, "corrected", "corrected_interval")
    whole = {"interval": entry["corrected_interval"], "lower": None, "upper": None}
    second = panel.decide([answered("scored", corrected)], whole, threshold)
    return {raw if raw == second else "undecided"}


def check_panel(results: Mapping[str, Any], panel: Panel) -> None:
    """Check who counts, both metrics' scores and outcomes, and the exit code."""
    (model,) = results["final"]["models"]
    entries = {entry["metric"]: entry for entry in model["suites"]}
    equal({*entries}, {"exact_match", METRIC}, "scores")
    exact, judged = entries["exact_match"], entries[METRIC]
    answers = [answered("scored", Fraction(right)) for right in panel.right]
    score = Score(mean_of(answer.value for answer in answers), tuple(map(Fraction, panel.right)), is_binary=True)
    outcome = panel.decide(answers, exact, panel.thresholds[0])
    hold("exact_match beside a judged metric", exact, {"score": score.mean, "outcome": outcome})
    hold("exact_match", exact["interval"], dict(zip(("low", "high"), score.wilson or (), strict=True)))
    # Where people labelled replies, those measured the judges.
    unmeasured = {judge for judge in panel.ratings if judge not in {*COUNTING, *LEFT_OUT} and not panel.is_labelled}
    for key, names in (("judges_left_out", {*panel.ratings} & {*LEFT_OUT}), ("judges_unmeasured", unmeasured)):
        equal({name.partition(",")[0] for name in judged[key]}, names, key)
    allowed = {"undecided" if panel.thresholds[1] is not None else "none"}
    if panel.is_labelled:
        allowed = _by_labels(panel, judged)
    elif panel.counting:
        allowed = _by_judges(panel, judged)
    else:
        hold("no judge counts", judged, {"score": None})
    assert judged["outcome"] in allowed, f"judged: {judged['outcome']}, and the rules have {allowed}: {judged}"
    verdict = worst([exact["outcome"], judged["outcome"]])
    equal((model["verdict"], results["final"]["exit_code"]), (verdict, CODES[verdict]), "verdict")
