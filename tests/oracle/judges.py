"""Suites with a judged metric: which judges count, what they, their exam and people's labels decide (11, 16)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st

from basic_control.config.settings import Settings
from basic_control.data.options import options_of
from basic_control.data.tables import ITEMS
from basic_control.metrics.analysis.document import document
from basic_control.metrics.analysis.judged import collect_left_out, correct_means, judge_statuses
from basic_control.metrics.analysis.observations import observations
from basic_control.metrics.analysis.results import Results
from basic_control.metrics.judging import Judgement, Session, begin
from basic_control.metrics.panels import combine
from basic_control.metrics.response_groundedness import response_groundedness
from basic_control.tasks.findings import circumstances
from basic_control.tasks.generate import items_of
from basic_control.tasks.judges import labels as people
from basic_control.tasks.plan import resolve
from tests.helpers.passports import passport
from tests.helpers.verdicts import verdict_on
from tests.oracle.draws import pick
from tests.oracle.held_against import ends_of, equal, hold, intervals_of
from tests.oracle.rules import CODES, ENDS, ONE, ZERO, Answer, Score, Z, answered, decide, mean, mean_of, worst

METRIC = "response_groundedness"
CONTEXT = "What is one of its contexts needs no judge."
EXAMS: Mapping[str, tuple[tuple[int, int, int], ...]] = {
    "perfect": ((20, 0, 0), (0, 20, 0), (0, 0, 20)),
    "fair": ((18, 0, 2), (0, 20, 0), (4, 0, 16)),
    "lenient": ((20, 0, 0), (0, 20, 0), (9, 0, 11)),
    "always": ((20, 0, 0), (20, 0, 0), (20, 0, 0)),
    "coin": ((11, 0, 9), (0, 20, 0), (10, 0, 10)),
    "weak": ((12, 0, 8), (0, 20, 0), (7, 0, 13)),
}
"""Judges' answers of 2, 1, 0 by truth 2, 1, 0. `weak` may be a coin: it answered too few; `new` took no exam."""
LEFT_OUT = {"always", "coin", "weak"}
NAMES = ("perfect", "fair", "lenient", "new")


@dataclass(frozen=True)
class Judged:
    """A reply in `n_rows` rows, how judges rated it (None: unreadable), and what people say of it."""

    text: str
    ratings: tuple[int | None, ...]
    label: int
    n_rows: int

    @property
    def is_settled(self) -> bool:
        """Whether it needs no judge."""
        return self.text in {"", CONTEXT}

    def value(self, places: Sequence[int]) -> Fraction | None:
        """Return what these judges come to: the mean of those that said something."""
        if self.is_settled:
            return Fraction(bool(self.text))
        ratings = (self.ratings[place] for place in places)
        return mean_of(None if rating is None else Fraction(rating, 2) for rating in ratings)


@dataclass(frozen=True)
class Panel:
    """Replies and their judges; people label `n_labels` of those that were judged, or leave every tenth empty.

    The first threshold is exact_match's.
    """

    judges: tuple[str, ...]
    replies: tuple[Judged, ...]
    n_labels: int
    is_complete: bool
    thresholds: tuple[float | None, float | None]
    gate: str

    @property
    def counting(self) -> list[int]:
        """The places of the judges that count."""
        return [place for place, judge in enumerate(self.judges) if judge not in LEFT_OUT]

    def joint(self, judges: Sequence[int]) -> list[Answer]:
        """Return what judges come to of each reply."""
        values = [reply.value(judges) for reply in self.replies]
        return [answered("judge_failed" if value is None else "scored", value) for value in values]

    @property
    def predictions(self) -> dict[int, Fraction]:
        """What labels correct, by reply: what the judges that count say of it, or if none of them does, all."""
        values = {}
        for place, reply in enumerate(self.replies):
            by_all = reply.value(range(len(self.judges)))
            if not reply.is_settled and by_all is not None:
                counted = reply.value(self.counting)
                values[place] = by_all if counted is None else counted
        return values

    def decide(self, answers: list[Answer], entry: Mapping[str, Any], threshold: float | None) -> str:
        """Return the outcome of a metric by its answers."""
        if threshold is None:
            return "none"
        means = {end: mean_of(answer.at(end) for answer in answers) for end in ENDS}
        return decide(means, threshold, self.gate, intervals_of(entry))


@st.composite
def panels(draw: st.DrawFn, *, is_labelled: bool = False) -> Panel:
    """Draw replies, one to three judges of them, and how many of them people label."""
    n = draw(st.integers(60, 90)) if is_labelled else draw(st.integers(10, 40))
    odds, errors, odds_settled, odds_twice = (
        pick(draw, 5, 7, 9),
        pick(draw, 0, 0, 1),
        pick(draw, 0, 0, 3),
        pick(draw, 0, 2),
    )
    names = (*NAMES, *NAMES, *sorted(LEFT_OUT))
    judges = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)))
    chance = st.integers(0, 19)
    replies = []
    for _ in range(n):
        is_good = draw(st.integers(0, 9)) < odds
        noise = [draw(chance) for _ in judges]
        ratings = tuple(None if errors and at == 19 else 2 * (is_good if at < 16 else not is_good) for at in noise)
        text = pick(draw, "", CONTEXT) if draw(chance) < odds_settled else pick(draw, "a", "a", "b")
        label = int(is_good if draw(chance) < 17 else not is_good)
        replies.append(Judged(text, ratings, label, 1 + (draw(chance) < odds_twice)))
    limits = [pick(draw, None, 0.5, 0.6, 0.7, 0.8) for _ in range(2)]
    n_labels = pick(draw, 12, 29, 30, 33, 45, 60) if is_labelled else 0
    is_complete = draw(st.integers(0, 2)) > 0
    return Panel(
        judges, tuple(replies), n_labels, is_complete, (limits[0], limits[1]), pick(draw, "point", "interval")
    )


def _session(reply: Judged, rating: int | None) -> Session:
    """Return a judge's ended session that rated a reply so, or failed."""
    sample = {"response": reply.text, "retrieved_contexts": [CONTEXT]}
    if reply.is_settled:
        return begin(response_groundedness, sample, language="en")
    answers = {} if rating is None else {"rate": {"rating": Judgement(str(rating), float(rating))}}
    options, n_steps = options_of(response_groundedness, {}), len(response_groundedness.steps)
    failure = "rate: unparsable reply" if rating is None else ""
    return Session(response_groundedness, sample, options, "en", n_steps, answers, n_calls=1, failure=failure)


def drive_panel(panel: Panel, folder: Path) -> tuple[dict[str, Any], list[int]]:
    """Score replies by what the judges said, as a run does, and decide; return results.json, and those labelled."""
    rows, places = [], []
    for place, reply in enumerate(panel.replies):
        row = {"question": f"q{place}", "answer": "a", "response": reply.text, "retrieved_contexts": [CONTEXT]}
        rows += [json.dumps(row) + "\n"] * reply.n_rows
        places += [place] * reply.n_rows
    (folder / "s.jsonl").write_text("".join(rows), encoding="utf-8")
    limits = [{} if limit is None else {"threshold": limit} for limit in panel.thresholds]
    suite = {
        "name": "s", "items": {"data": str(folder / "s.jsonl")}, "responses_of": "m",
        "metrics": {"exact_match": limits[0], METRIC: limits[1]},
    }  # fmt: skip
    judges = [{"name": judge, "provider": "ollama"} for judge in panel.judges]
    plan = resolve(Settings.model_validate({"suites": [suite], "judges": judges, "gate": panel.gate}))
    (planned,) = plan.suites
    items = ITEMS.frame(items_of(planned.suite))
    exams = {name: passport("groundedness", table, name) for name, table in EXAMS.items()}

    def find(_suite: Any, _metric: str, judge: str, _exam: str, _language: str) -> Any:
        return exams.get(judge)

    statuses = judge_statuses(planned.suite, METRIC, panel.judges, ["en"], find)
    excluded = collect_left_out(statuses).get("en", {})
    scored, texts = [], []
    for row in items.sort("index").iter_rows(named=True):
        reply = panel.replies[places[row["index"]]]
        sessions = {name: _session(reply, rating) for name, rating in zip(panel.judges, reply.ratings, strict=True)}
        score, at = combine(sessions, "mean", excluded), {"item_id": row["item_id"], "model": "m", "repeat": 0}
        judged = {"value": score.value, "status": score.status, "reason": score.reason}
        status = "scored" if reply.text else "no_answer"
        exact = {"value": float(reply.text == "a"), "status": status, "reason": "", "details": "{}"}
        scored.append({**at, "metric": "exact_match", **exact})
        details = json.dumps(score.details, separators=(",", ":"))
        scored.append({**at, "metric": METRIC, **judged, "details": details})
        texts.append({**at, "response": reply.text})
    scores = pl.DataFrame(scored, schema_overrides={"value": pl.Float64})
    labelled, labels = _label(panel, planned.suite, (scores, items, pl.DataFrame(texts)), folder)
    once = observations(scores, items)
    corrected = correct_means(once.replies, once.items, [planned.suite], find)
    facts = circumstances(planned, judge_statuses=statuses, labels=labels, corrected=corrected)
    verdict = verdict_on(once.scores, once.items, [planned.suite], gate=plan.policy.gate, facts=facts)
    return document(Results({}, verdict.models), verdict), labelled


def _label(panel: Panel, suite: Any, frames: Sequence[pl.DataFrame], folder: Path) -> tuple[list[int], Any]:
    """Have people fill a sheet of replies, and join it; return which ones they labelled, and what it corrects."""
    scores, items, texts = frames
    judged = people.join_judged(scores, items, texts)
    if not panel.n_labels:
        return [], {}
    places = [place for place, reply in enumerate(panel.replies) for _ in range(reply.n_rows)]
    sheet, index_of = people.sheet(judged, n=panel.n_labels), dict(items.select("item_id", "index").rows())
    listed = [places[index_of[item]] for item in sheet["item_id"]]
    every, kept = [*panel.predictions], [at for at in range(len(listed)) if panel.is_complete or at % 10]
    # A reply in several rows is one; one that needed no judge is none.
    equal(len({*listed}), min(panel.n_labels, len(every)), "replies to label")
    equal(len(listed), len({*listed}), "replies listed twice")
    equal({*listed} - {*every}, set(), "replies to label that nobody judged")
    cells = [str(panel.replies[place].label) if at in kept else "" for at, place in enumerate(listed)]
    sheet.with_columns(label=pl.Series(cells)).write_csv(folder / "sheet.csv")
    criteria = people.criteria_of([suite])
    people.store_labels(judged, people.read_labels(folder / "sheet.csv"), criteria, folder / "labels")
    labels = people.load_corrections(folder / "labels", [suite], scores, items, lambda: texts)
    return [listed[at] for at in kept], labels


def _by_labels(panel: Panel, entry: Mapping[str, Any], labelled: Sequence[int]) -> set[str]:
    """Check a score by people's labels (PPI++), and return its outcome."""
    every = panel.predictions
    labels, said = (
        [Fraction(panel.replies[place].label) for place in labelled],
        [every[place] for place in labelled],
    )
    n, n_all, people_mean = len(labels), len(every), mean(labels)
    gap = mean([*every.values()]) - mean(said)
    # The weight with the least variance where labelled replies are part of all; or none, if that is no gain.
    square = covariance(said, said) / n - covariance([*every.values()], [*every.values()]) / n_all
    weight = covariance(labels, said) * (Fraction(1, n) - Fraction(1, n_all)) / square if square > 0 else ZERO
    settled = [reply.value(()) or ZERO for reply in panel.replies if reply.is_settled]
    estimates = []
    for chosen in (min(max(weight, ZERO), ONE), ZERO):
        estimate = min(max(people_mean + chosen * gap, ZERO), ONE)
        estimates.append((n_all * estimate + sum(settled, ZERO)) / (n_all + len(settled)))
    assert any(abs(entry["score"] - estimate) < 1e-6 for estimate in estimates), (
        f"by labels: {entry['score']}, expected {[*map(float, estimates)]}"
    )
    hold("by labels", entry, {"n_labels": n})
    _check_width(entry, "score", "interval", float(covariance(labels, labels) / n))
    whole = {**entry, "score": None}
    n_lost = len(panel.replies) - n_all - len(settled)
    known = Fraction(n_all + len(settled), len(panel.replies))
    answer = Answer("scored", *(Fraction(entry["score"]) * share + add for share, add in (
        (ONE, ZERO), (known, ZERO), (known, 1 - known))))  # fmt: skip
    if n_lost:
        hold("by labels", entry, {"lower": answer.lower, "upper": answer.upper})
    return {panel.decide([answer], whole, panel.thresholds[1])}


def covariance(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    middles = mean(first), mean(second)
    return mean([(one - middles[0]) * (two - middles[1]) for one, two in zip(first, second, strict=True)])


def _check_width(entry: Mapping[str, Any], key: str, interval: str, variance: float) -> None:
    """Check that an interval holds its estimate and, where nothing bounds it, is as wide as its variance says."""
    low, high = ends_of(entry[interval])
    assert 0 <= low <= entry[key] <= high <= 1, f"{key}: {entry[key]} in {low} to {high}"
    half, plain = (high - low) / 2, Z * sqrt(variance)
    is_plain = 0.02 < plain < 0.15 and 0.25 <= entry[key] <= 0.75
    assert not is_plain or 0.8 * plain < half < 1.9 * plain, f"{interval}: half of {half}, expected {plain}"


def _correct(
    panel: Panel, present: Sequence[Fraction], n_settled: int, settled: Fraction
) -> tuple[Fraction, float] | None:
    """Return the corrected score of one judge that counts and is measured, and its variance (section 11)."""
    names = [panel.judges[place] for place in panel.counting]
    if len(names) != 1 or names[0] not in EXAMS or not present:
        return None
    yes, _, no = EXAMS[names[0]]
    sensitivity, specificity = Fraction(yes[0], sum(yes)), Fraction(no[2], sum(no))
    contrast, share = sensitivity + specificity - 1, mean(present)
    corrected = min(max((share + specificity - 1) / contrast, ZERO), ONE)
    spread = share * (1 - share) / len(present)
    spread += (1 - corrected) ** 2 * specificity * (1 - specificity) / sum(no)
    spread += corrected**2 * sensitivity * (1 - sensitivity) / sum(yes)
    part = Fraction(len(present), len(present) + n_settled)
    return part * corrected + (1 - part) * settled, float(part**2 * spread / contrast**2)


def _by_judges(panel: Panel, entry: Mapping[str, Any]) -> set[str]:
    """Check a score by judges, and return what it may come to."""
    answers, threshold = panel.joint(panel.counting), panel.thresholds[1]
    values = [(reply.is_settled, answer.value) for reply, answer in zip(panel.replies, answers, strict=True)]
    present = [value for _, value in values if value is not None]
    share = mean_of(present)
    hold("judges", entry, {"n_unread": len(answers) - len(present), "score": share})
    if share is None or threshold is None or 10 * len(present) < 9 * len(answers):
        return {"none" if threshold is None and present else "error"}
    raw = panel.decide(answers, entry, threshold)
    judged, settled = (
        [value for is_settled, value in values if is_settled == of and value is not None] for of in (False, True)
    )
    found = _correct(panel, judged, len(settled), mean_of(settled) or ZERO)
    if found is None:
        # Several judges' exam answers are joined: what that comes to is not held here.
        is_measured = judged and all(panel.judges[place] in EXAMS for place in panel.counting)
        return {raw, "undecided"} if is_measured else {raw}
    corrected, variance = found
    # Of three truths the likeliest shares are sought step by step, and stop just short of none or all.
    off = 1e-9 if 0 < corrected < 1 and len(settled) == 0 else 0.005
    assert abs(entry["corrected"] - corrected) <= off, f"corrected: {entry['corrected']}, expected {corrected}"
    _check_width(entry, "corrected", "corrected_interval", variance)
    whole = {"interval": entry["corrected_interval"], "lower": None, "upper": None}
    second = panel.decide([answered("scored", corrected)], whole, threshold)
    return {raw if raw == second else "undecided"}


def check_panel(result: tuple[Mapping[str, Any], Sequence[int]], panel: Panel) -> None:
    """Check who counts, both metrics' scores and outcomes, and the exit code."""
    results, labelled = result
    (model,) = results["final"]["models"]
    entries = {entry["metric"]: entry for entry in model["suites"]}
    equal({*entries}, {"exact_match", METRIC}, "scores")
    exact, judged = entries["exact_match"], entries[METRIC]
    right = tuple(Fraction(reply.text == "a") for reply in panel.replies)
    answers = [answered("scored", value) for value in right]
    score = Score(mean_of(right), right, is_binary=True)
    outcome = panel.decide(answers, exact, panel.thresholds[0])
    hold("exact_match beside a judged metric", exact, {"score": score.mean, "outcome": outcome})
    hold("exact_match", exact["interval"], dict(zip(("low", "high"), score.wilson or (), strict=True)))
    # People decide by 30 labels, 10 of either class, and where they do, those measured the judges.
    n_right = sum(panel.replies[place].label for place in labelled)
    is_labelled = len(labelled) >= 30 and 10 <= n_right <= len(labelled) - 10
    unmeasured = {judge for judge in panel.judges if judge not in EXAMS and not is_labelled}
    for key, names in (("judges_left_out", {*panel.judges} & LEFT_OUT), ("judges_unmeasured", unmeasured)):
        equal({name.partition(",")[0] for name in judged[key]}, names, key)
    allowed = {"undecided" if panel.thresholds[1] is not None else "none"}
    if is_labelled:
        allowed = _by_labels(panel, judged, labelled)
    elif panel.counting:
        allowed = _by_judges(panel, judged)
    else:
        hold("no judge counts", judged, {"score": None})
    assert judged["outcome"] in allowed, f"judged: {judged['outcome']}, and the rules have {allowed}: {judged}"
    verdict = worst([exact["outcome"], judged["outcome"]])
    equal((model["verdict"], results["final"]["exit_code"]), (verdict, CODES[verdict]), "verdict")
