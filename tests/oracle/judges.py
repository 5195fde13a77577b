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
from tests.oracle.held_against import equal, same
from tests.oracle.rules import CODES, ENDS, Score, decide, mean, worst

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

    A judge that is called neither in COUNTING nor in LEFT_OUT took no exam.
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

    def joint(self, judges: list[str]) -> list[Fraction | None]:
        """Return what judges come to of each reply: the mean of those that said something."""
        columns = zip(*(self.ratings[judge] for judge in judges), strict=True)
        rows = [[Fraction(rating, 2) for rating in row if rating is not None] for row in columns]
        return [mean(row) if row else None for row in rows]

    @property
    def predictions(self) -> list[Fraction]:
        """What labels correct: what the judges that count say, or where none does, all of them."""
        return [value or Fraction(0) for value in self.joint(self.counting or [*self.ratings])]

    @property
    def is_labelled(self) -> bool:
        """Whether people decide: 30 labels, 10 of either class."""
        return len(self.labels) >= 30 and 10 <= sum(self.labels) <= len(self.labels) - 10


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    """Draw replies, one to three judges of them, and people's labels in a third of the cases."""
    is_labelled = draw(st.sampled_from((False, False, True)))
    n = draw(st.integers(60, 90)) if is_labelled else draw(st.integers(10, 40))
    odds = draw(st.sampled_from((5, 7, 9)))
    good = [draw(st.integers(0, 9)) < odds for _ in range(n)]
    kinds = (*COUNTING, *COUNTING, *LEFT_OUT, "new")
    names = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3, unique=True))
    fails = draw(st.sampled_from((0, 0, 0, 1))) if not is_labelled else 0
    ratings = {}
    for name in names:
        noise = [draw(st.integers(0, 19)) for _ in range(n)]
        rated = [2 * (is_good if at < 16 else not is_good) for is_good, at in zip(good, noise, strict=True)]
        ratings[name] = tuple(None if fails and at == 19 else value for value, at in zip(rated, noise, strict=True))
    right = tuple(draw(st.integers(0, 9)) < 7 for _ in range(n))
    n_labels = draw(st.sampled_from((12, 29, 30, 45))) if is_labelled else 0
    labels = tuple(int(draw(st.booleans())) for _ in range(n_labels))
    limits = st.sampled_from((None, 0.5, 0.6, 0.7, 0.8))
    return Panel(right, ratings, labels, (draw(limits), draw(limits)), draw(st.sampled_from(("point", "interval"))))


def _session(rating: int | None) -> Session:
    """Return a judge's ended session that rated a reply so, or failed."""
    found = {} if rating is None else {"rate": {"rating": Judgement(str(rating), float(rating))}}
    sample = {"response": "It is so.", "retrieved_contexts": ["Another text that does not say it."]}
    failure = "" if rating is not None else "rate: unparsable reply"
    options = options_of(response_groundedness, {})
    return Session(
        response_groundedness,
        sample,
        options,
        "en",
        len(response_groundedness.steps),
        found,
        n_calls=1,
        failure=failure,
    )


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
        score = combine(sessions, "mean", excluded)
        place = {"item_id": row["item_id"], "model": "m", "repeat": 0}
        judged = {"value": score.value, "status": score.status, "reason": score.reason}
        exact = {"value": float(right), "status": "scored", "reason": "", "details": "{}"}
        scored.append({**place, "metric": "exact_match", **exact})
        scored.append({**place, "metric": METRIC, **judged, "details": json.dumps(score.details)})
    scores = pl.DataFrame(scored, schema_overrides={"value": pl.Float64})
    labels = {}
    if panel.labels:
        verdicts = [float(value or 0) for value in panel.predictions]
        labels["s", "m", METRIC] = prediction_powered(
            verdicts, range(len(panel.labels)), [*map(float, panel.labels)]
        )
    facts = circumstances(
        planned,
        judge_statuses=statuses,
        labels=labels,
        corrected=correct_means(scores, items, [planned.suite], find),
    )
    verdict = verdict_on(scores, items, [planned.suite], gate=plan.policy.gate, facts=facts)
    return document(Results({}, verdict.models), verdict)


def _corrected(panel: Panel, share: Fraction) -> Fraction | None:
    """Return the corrected share, of one judge that counts and is measured (section 11)."""
    if len(panel.counting) != 1 or panel.counting[0] not in COUNTING:
        return None
    yes, _, no = COUNTING[panel.counting[0]]
    sensitivity, specificity = Fraction(yes[0], sum(yes)), Fraction(no[2], sum(no))
    found = (share + specificity - 1) / (sensitivity + specificity - 1)
    return min(max(found, Fraction(0)), Fraction(1))


def _powered(panel: Panel) -> tuple[Fraction, Fraction]:
    """Return between what an estimate by labels lies: people's mean, with none or all of the judges' gap."""
    judged = panel.predictions
    people = mean([Fraction(label) for label in panel.labels])
    gap = mean(judged) - mean(judged[: len(panel.labels)])
    first, second = people, people + gap
    return min(first, second), max(first, second)


def _ends(interval: Mapping[str, Any]) -> tuple[float, float]:
    return interval["low"], interval["high"]


def _decided(panel: Panel, score: Fraction, threshold: float, ends: Mapping[str, Any]) -> str:
    """Return the outcome of a score at a threshold, of its interval where that decides."""
    by_end = dict.fromkeys(ENDS, score)
    return decide(by_end, Fraction(str(threshold)), panel.gate, lambda _end: _ends(ends))


def _by_labels(panel: Panel, entry: Mapping[str, Any]) -> str:
    """Check a score by people's labels, and return its outcome."""
    low, high = _powered(panel)
    within = float(low) - 1e-9 <= entry["score"] <= float(high) + 1e-9
    assert within, f"by labels: {entry['score']}, expected {low} to {high}"
    equal(entry["n_labels"], len(panel.labels), "labels")
    ends, threshold = _ends(entry["interval"]), panel.thresholds[1]
    assert 0 <= ends[0] <= entry["score"] <= ends[1] <= 1, f"by labels: {ends}"
    return "none" if threshold is None else _decided(panel, Fraction(entry["score"]), threshold, entry["interval"])


def _by_judges(panel: Panel, entry: Mapping[str, Any]) -> set[str]:
    """Check a score by judges, and return what it may come to."""
    joint, threshold = panel.joint(panel.counting), panel.thresholds[1]
    present = [value for value in joint if value is not None]
    n_missing = len(joint) - len(present)
    equal(entry["n_unread"], n_missing, "unread")
    same(entry["score"], mean(present) if present else None, "judges")
    if threshold is None or 10 * len(present) < 9 * len(joint):
        return {"none" if threshold is None and present else "error"}
    share, whole = mean(present), sum(present, Fraction(0))
    means = {"value": share, "lower": whole / len(joint), "upper": (whole + n_missing) / len(joint)}
    keys = {end: "interval" if end == "value" or not n_missing else f"{end}_interval" for end in ENDS}
    raw = decide(means, Fraction(str(threshold)), panel.gate, lambda end: _ends(entry[keys[end]]))
    corrected = _corrected(panel, share)
    if corrected is None:
        # Several judges' exam answers are joined: what that comes to is not held here.
        return {raw, "undecided"} if all(judge in COUNTING for judge in panel.counting) else {raw}
    # Of three truths the likeliest shares are sought step by step, and stop just short of none or all.
    off = 1e-9 if 0 < corrected < 1 else 0.005
    assert abs(entry["corrected"] - corrected) <= off, f"corrected: {entry['corrected']}, expected {corrected}"
    ends = _ends(entry["corrected_interval"])
    assert 0 <= ends[0] <= entry["corrected"] <= ends[1] <= 1, f"corrected: {ends}"
    second = _decided(panel, corrected, threshold, entry["corrected_interval"])
    return {raw if raw == second else "undecided"}


def check_panel(document: Mapping[str, Any], panel: Panel) -> None:
    """Check who counts, both metrics' scores and outcomes, and the exit code."""
    (model,) = document["final"]["models"]
    entries = {entry["metric"]: entry for entry in model["suites"]}
    equal({*entries}, {"exact_match", METRIC}, "scores")
    exact, judged = entries["exact_match"], entries[METRIC]
    units = tuple(Fraction(right) for right in panel.right)
    score = Score(mean(units), units, is_binary=True)
    same(exact["score"], score.mean, "exact_match")
    for end, expected in zip(_ends(exact["interval"]), score.wilson or (), strict=True):
        same(end, expected, "exact_match: interval")
    limit = panel.thresholds[0]
    outcome = "none" if limit is None else _decided(panel, mean(units), limit, exact["interval"])
    equal(exact["outcome"], outcome, "exact_match: outcome beside a judged metric")
    left = {judge for judge in panel.ratings if judge in LEFT_OUT}
    equal({name.partition(",")[0] for name in judged["judges_left_out"]}, left, "judges that do not count")
    new = {judge for judge in panel.ratings if judge not in {*COUNTING, *LEFT_OUT}}
    unmeasured = set() if panel.is_labelled else new  # whose replies people labelled, those measured the judges
    equal(
        {name.partition(",")[0] for name in judged["judges_unmeasured"]}, unmeasured, "judges that nobody measured"
    )
    if panel.is_labelled:
        allowed = {_by_labels(panel, judged)}
    elif panel.counting:
        allowed = _by_judges(panel, judged)
    else:
        equal(judged["score"], None, "no judge counts")
        allowed = {"undecided" if panel.thresholds[1] is not None else "none"}
    assert judged["outcome"] in allowed, f"judged: {judged['outcome']}, and the rules have {allowed}: {judged}"
    equal(model["verdict"], worst([exact["outcome"], judged["outcome"]]), "verdict")
    equal(document["final"]["exit_code"], CODES[model["verdict"]], "exit code")
