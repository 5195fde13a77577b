"""What a run comes to, by the rules alone: states, scores, bounds, intervals, verdicts and the exit code.

Nothing of the product is imported. What has no value is nan; a value stands at three ends: as it is scored, and
if all that is missing or cut is wrong, or right (section 10).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
from statsmodels.stats.proportion import proportion_confint

from tests.oracle.world import JUDGED, LEFT_OUT, LETTERS, Question, Reply, Run, Suite

Array = np.ndarray[Any, np.dtype[Any]]
Ends = tuple[float, float, float]
KEYS = ("score", "lower", "upper")
"""The ends in results.json."""
Z = 1.959963984540054
WORST = ("error", "fail", "undecided", "pass")
STATUSES = ("judge_failed", "truncated", "model_error", "no_answer", "scored", "not_applicable")
"""The worst first: a question of several rows is as its worst."""
CODES = {"error": 2, "fail": 1, "undecided": 3, "pass": 0, "none": 0}
COUNTED = {"n_failed": "model_error", "n_unread": "judge_failed", "n_truncated": "truncated"}
GRADED = ("similarity", JUDGED)


class Within(NamedTuple):
    """From where to where a number may lie of which the rules do not say how it is computed."""

    low: float
    high: float


class Answer(NamedTuple):
    """A state, and a value at each end."""

    status: str
    ends: Ends

    @property
    def applies(self) -> bool:
        return self.status != "not_applicable"

    @property
    def is_lost(self) -> bool:
        return self.applies and isnan(self.ends[0])


def bound(status: str, value: float = nan) -> Answer:
    """Return a state and a value with its bounds: what is missing counts 0 and 1, a cut reply up to 1."""
    if status == "not_applicable":
        return Answer(status, (nan, nan, nan))
    if isnan(value):
        return Answer(status, (nan, 0.0, 1.0))
    return Answer(status, (value, value, 1.0 if status == "truncated" else value))


def merge(rows: Sequence[Answer]) -> Answer:
    """Return what a question of these rows came to: the mean over its labels, if none of them is unread."""
    status = min((row.status for row in rows), key=STATUSES.index)
    if any(row.is_lost for row in rows):
        return bound(status)
    low, middle, high = average([row.ends for row in rows if row.applies])
    return Answer(status, (low, middle, high))


def average(values: Any) -> Any:
    """Return the mean over the rows that have a value, at each end; nan where none has."""
    masked = np.ma.masked_invalid(np.array(values, float).reshape(-1, 3))
    return np.ma.filled(masked.mean(0), nan) if len(masked) else np.full(3, nan)


@dataclass(frozen=True)
class Column:
    """A model by one metric of a suite: the answers to all rows, and each question's by repeat (section 9)."""

    suite: Suite
    metric: str
    rows: tuple[Answer, ...]
    questions: Mapping[str, tuple[Answer, ...]]

    @property
    def is_binary(self) -> bool:
        """Whether every question is right or wrong: a yes/no metric, and one label for each question."""
        labels = {(question.text, question.answer) for question in self.suite.questions}
        return self.metric not in GRADED and len(labels) == len(self.questions)

    @cached_property
    def values(self) -> dict[str, Array]:
        """What each question comes to that it applies to: the mean of its repeats (sections 9 and 15)."""
        applying = {text: [it.ends for it in row if it.applies] for text, row in self.questions.items()}
        return {text: average(ends) for text, ends in applying.items() if ends}

    @cached_property
    def scored(self) -> dict[str, Array]:
        """As `values`, or of k answers the share of choices of which any is right, or all are."""
        if self.suite.gate_on == "mean":
            return self.values
        shares = {}
        for text in self.values:
            values = np.array([it.ends for it in self.questions[text]])
            k, is_any = self.suite.options.get("k") or len(values), self.suite.gate_on == "pass_at_k"
            ns, rights = (~np.isnan(values)).sum(0), (values == 1).sum(0)
            ways = [
                comb(n - right if is_any else right, k) / max(comb(n, k), 1)
                for n, right in zip(ns, rights, strict=True)
            ]
            shares[text] = np.where(ns < k, nan, np.subtract(1, ways) if is_any else ways)
        return shares

    @cached_property
    def covered(self) -> list[bool]:
        """Whether each answer that applies is scored; of k answers, each question that has them, or lacks one."""
        if self.suite.gate_on == "mean":
            return [not it.is_lost for row in self.questions.values() for it in row if it.applies]
        has_k = {text: not isnan(ends[0]) for text, ends in self.scored.items()}
        return [has_k[text] for text in has_k if has_k[text] or any(it.is_lost for it in self.questions[text])]


def code_units(columns: Sequence[Column], texts: Sequence[str]) -> tuple[Array, int]:
    """Return each question's unit, and how many templates two or more of them share (section 9).

    From five shared templates of a suite on these are its units, and what is alone; below, its questions.
    """
    template_of: dict[str, tuple[str, str]] = {}
    for column in columns:
        for question in column.suite.questions:
            template_of[question.text] = column.suite.name, str(question.columns.get("template", question.text))
    sizes = Counter(template_of[text] for text in texts)
    n_shared = Counter(suite for (suite, _), n in sizes.items() if n > 1)
    names = [template_of[text][1] if n_shared[template_of[text][0]] >= 5 else text for text in texts]
    return np.unique(names, return_inverse=True)[1], n_shared.total()


@dataclass(frozen=True)
class Headline:
    """A model by one score: its columns with their weights, and its threshold, None if it is measured.

    `stated` are its means where they are none of its columns: an estimate by people's labels, or nobody's.
    """

    suite: str
    name: str
    model: str
    parts: tuple[tuple[float, Column], ...]
    threshold: float | None
    stated: Ends | None = None

    @cached_property
    def columns(self) -> list[Column]:
        return [column for _, column in self.parts]

    @cached_property
    def leaves(self) -> list[tuple[float, Column]]:
        """The columns that apply to any row, with their shares; the weights are renormalised (section 1)."""
        applying = [(weight, column) for weight, column in self.parts if column.covered]
        whole = sum(weight for weight, _ in applying)
        return [(weight / whole, column) for weight, column in applying]

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many rows are asked, scored by each column that applies, and in a state by some; of k, questions."""
        columns = [[answer for row in column.questions.values() for answer in row] for column in self.columns]
        rows = [[answer for answer in row if answer.applies] for row in zip(*columns, strict=True)]
        n_scored, column = sum(bool(row) and not any(it.is_lost for it in row) for row in rows), self.columns[0]
        asked = {"n_asked": len(rows), "n_scored": n_scored}
        if column.suite.gate_on != "mean":
            asked = {"n_asked": len(column.questions), "n_scored": sum(column.covered)}
        return asked | {
            key: sum(any(it.status == state for it in row) for row in rows) for key, state in COUNTED.items()
        }

    @property
    def is_covered(self) -> bool:
        """Whether at least 90 % of what applies is scored (section 8)."""
        return all(10 * sum(column.covered) >= 9 * len(column.covered) for _, column in self.leaves)

    @cached_property
    def means(self) -> Ends:
        """The mean of the columns' means by their weights at each end; none where one that applies has none."""
        if self.stated is not None:
            return self.stated
        means = [average([*column.scored.values()]) for _, column in self.leaves]
        middle, low, high = np.dot([share for share, _ in self.leaves], means) if means else (nan, nan, nan)
        return float(middle), float(low), float(high)

    def effects(self, end: int) -> dict[str, float]:
        """Return each question's value, as which it adds to the mean what it adds to each column's."""
        columns = [
            (share, {text: ends[end] for text, ends in column.scored.items() if not isnan(ends[end])})
            for share, column in self.leaves
        ]
        texts = {text: self.means[end] for _, values in columns for text in values}
        for share, values in columns:
            middle = sum(values.values()) / max(len(values), 1)
            for text, value in values.items():
                texts[text] += share * (value - middle) * len(texts) / len(values)
        return texts

    def values(self) -> dict[str, float]:
        """Return what each question comes to by the columns that apply to it, where all of them do."""
        joined = {}
        for text in self.columns[0].questions:
            parts = [(weight, column.scored[text]) for weight, column in self.parts if text in column.scored]
            if parts and not any(isnan(ends[0]) for _, ends in parts):
                joined[text] = float(np.average([ends[0] for _, ends in parts], weights=[it for it, _ in parts]))
        return joined


def expect_interval(headline: Headline, end: int) -> dict[str, Any]:
    """Return a suite's interval: Wilson's where the rules name it, else its place, width and number of units."""
    effects, middle = headline.effects(end), headline.means[end]
    if not effects:
        return {"low": None}
    values, n, column = np.array([*effects.values()]), len(effects), headline.leaves[0][1]
    units, n_shared = code_units(headline.columns, [*effects])
    expected: dict[str, Any] = {"units": units.max() + 1, "fixed_templates": 0 < n_shared < 5}
    is_binary = len(headline.leaves) == 1 and column.is_binary
    # The rules do not say what form it has where some repeats of a question are right or missing.
    at_ends = [value for it in range(3) for value in headline.effects(it).values()]
    if is_binary and n_shared < 5 and {*np.round(at_ends, 9)} <= {0, 1}:
        low, high = proportion_confint(round(middle * n), n, method="wilson")
        return {**expected, "low": float(low), "high": float(high)}
    expected |= {"low": Within(0, middle + 1e-9), "high": Within(middle - 1e-9, 1 + 1e-9)}
    least, plain = (_width(values - middle, codes) for codes in (units, np.arange(n)))
    is_graded = len(headline.leaves) > 1 or column.metric in GRADED
    is_once = max(map(len, column.questions.values())) == 1  # repeats may be alike by chance
    if n >= 8 and is_graded and is_once and n_shared < 5 and least > 0.03 and 0.1 <= middle <= 0.9:
        expected["half"] = Within(0.75 * least, 1.35 * least)
    elif n >= 10 and least > 0.05 and 0.2 <= middle <= 0.8:  # the rules do not say how far it shrinks
        most = 2.2 * max(least, plain)  # nor that clusters ever narrow it
        if is_binary and column.suite.gate_on == "mean":  # means alike by chance tell no more than all answers
            most = max(most, 1.3 * Z * sqrt(middle * (1 - middle) / headline.counts["n_scored"]))
        expected["half"] = Within(0.55 * least, most)
    return expected


def _width(apart: Array, units: Array) -> float:
    """Return half the width of a plain 95 % interval over units."""
    sums = np.bincount(units, apart)
    return Z * sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(apart) if len(sums) > 1 else 0.0


def decide(means: Sequence[float], entry: Mapping[str, Any], threshold: float | None, gate: str) -> str:
    """Return the outcome; undecided where the bounds disagree (section 10). The intervals are the reported ones."""
    if threshold is None:
        return "none"
    outcomes = set()
    for key, score in zip(("interval", "lower_interval", "upper_interval"), means, strict=False):
        interval = entry[key] if gate == "interval" else {"low": score, "high": score}
        # What was reported is a sum of floats: 0.9999999999999999 for 1.
        is_below, is_above = interval["high"] < threshold - 1e-9, interval["low"] >= threshold - 1e-9
        outcomes.add("pass" if is_above else "fail" if is_below else "undecided")
    return outcomes.pop() if len(outcomes) == 1 else "undecided"


def decide_score(headline: Headline, entry: Mapping[str, Any], gate: str) -> str:
    """Return the outcome of a score of a suite: an error where too few are scored (section 8)."""
    if headline.threshold is not None and (isnan(headline.means[0]) or not headline.is_covered):
        return "error"
    return decide(headline.means, entry, headline.threshold, gate)


def value_of(metric: str, expected: str, reply: str, options: Mapping[str, Any]) -> float:
    """Return what a reply is worth: one word, a beginning of the letters or none of these (sections 14 and 19)."""
    if metric == "similarity":  # 2 · common / total letters
        common = min(len(expected), len(reply)) if LETTERS.startswith(reply) else 0
        return 2 * common / (len(expected) + len(reply))
    if not options.get("case_sensitive"):
        reply = reply.lower()
    # A whole word that holds the answer is it.
    is_within = metric == "contains" and not options.get("words", True)
    return float(expected in reply if is_within else expected == reply)


def rate(suite: Suite, reply: Reply, left_out: Sequence[str] = LEFT_OUT) -> float:
    """Return what judges come to: the mean of those that count and said something (section 16)."""
    if reply.needs_no_judge:
        return float(bool(reply.text))
    ratings = zip(suite.judges, reply.ratings, strict=True)
    counting = [rating / 2 for judge, rating in ratings if judge not in left_out and rating is not None]
    return sum(counting) / len(counting) if counting else nan


def answer_of(suite: Suite, metric: str, question: Question, reply: Reply) -> Answer:
    """Return the value and state of a reply (sections 1, 10 and 14)."""
    if reply.failed:
        return bound("model_error")
    if reply.state and reply.of in {"", metric}:
        return bound(reply.state)
    if metric == JUDGED:
        value = rate(suite, reply)
        return bound("judge_failed" if isnan(value) else "scored" if reply.text else "no_answer", value)
    value = value_of(metric, question.answer, reply.text, suite.metrics[metric])
    return bound("truncated" if reply.cut and value < 1 else "scored" if reply.text else "no_answer", value)


def hold_all(answers: Iterable[tuple[Answer, float]]) -> Answer:
    """Return whether a row holds by all parts that apply, each from a value on (section 8)."""
    applying = [(answer, limit) for answer, limit in answers if answer.applies]
    failing = [answer.status for answer, limit in applying if answer.ends[0] < limit]
    for status in ("scored", "no_answer", "truncated"):
        if status in failing:
            return bound(status, 0.0)
    missing = [answer for answer, _ in applying if answer.is_lost]
    return next(iter(missing), bound("scored", 1.0) if applying else bound("not_applicable"))


def column_of(suite: Suite, metric: str, model: str, repeats: int, asked: Iterable[int]) -> Column:
    """Return a model by a metric, or by all that say yes or no, or that the score joins, of rows `asked`."""
    limits = {name: 1.0 for name in suite.metrics if name not in GRADED}
    if suite.score == "all":
        limits |= {name: suite.metrics[name]["threshold"] for name in GRADED if name in suite.metrics}
    rows: list[Answer] = []
    questions: dict[str, list[list[Answer]]] = {}
    for row in asked:
        question = suite.questions[row]
        for repeat in range(repeats):
            reply = suite.replies[model, row, repeat]
            names = limits if metric == "all" else [metric]
            answers = [answer_of(suite, name, question, reply) for name in names]
            rows.append(hold_all(zip(answers, limits.values(), strict=True)) if metric == "all" else answers[0])
            questions.setdefault(question.text, [[] for _ in range(repeats)])[repeat].append(rows[-1])
    merged = {text: tuple(map(merge, by_repeat)) for text, by_repeat in questions.items()}
    return Column(suite, metric, tuple(rows), merged)


def list_scores(suite: Suite) -> dict[str, tuple[Mapping[str, float], float | None]]:
    """Return the scores that are shown of a suite, by name: their parts' weights, and their threshold (8)."""
    limits = {name: options.get("threshold") for name, options in suite.metrics.items()}
    scores: dict[str, tuple[Mapping[str, float], float | None]] = {}
    if suite.score is None:
        for name, options in suite.metrics.items():
            scores[name] = {name: 1.0}, limits[name] if "threshold" in options else suite.threshold
    else:
        parts = {"all": 1.0} if suite.score == "all" else suite.score
        parts = parts if isinstance(parts, dict) else dict.fromkeys(parts, 1.0)
        first = next(iter(parts)) if len(parts) == 1 else ""
        scores[first] = parts, suite.threshold if limits.get(first) is None else limits[first]
        beside = {name: limit for name, limit in limits.items() if limit is not None and name != first}
        scores |= {name: ({name: 1.0}, limit) for name, limit in beside.items()}
    if len({*suite.metrics} - {*GRADED}) > 1:
        scores.setdefault("all", ({"all": 1.0}, None))
    return scores


def list_headlines(suite: Suite) -> list[str]:
    """Return the scores that decide a suite; if none has a threshold, those that are measured."""
    scores = list_scores(suite)
    deciding = [name for name, (_, limit) in scores.items() if limit is not None]
    return deciding or [name for name in scores if name != "all" or suite.score == "all"]


def is_single(suite: Suite) -> bool:
    """Return whether a suite has one headline, and may be part of the overall score."""
    return len(list_headlines(suite)) == 1


def headlines_of(suite: Suite, model: str, repeats: int, rows: Iterable[int] | None = None) -> dict[str, Headline]:
    """Return a model by each score that is shown of a suite, and by each metric of these, by name; `rows` of it."""
    scores, asked = list_scores(suite), [*range(len(suite.questions))] if rows is None else [*rows]
    metrics = {name for shares, _ in scores.values() for name in shares}
    columns = {name: column_of(suite, name, model, repeats, asked) for name in metrics}
    by_name = {name: Headline(suite.name, name, model, ((1.0, column),), None) for name, column in columns.items()}
    for name, (shares, limit) in scores.items():
        parts = tuple((share, columns[metric]) for metric, share in shares.items())
        by_name[name] = Headline(suite.name, name, model, parts, limit)
    return by_name


def shares_of(suites: Iterable[Suite]) -> dict[str, float]:
    """Return the suites' shares of the overall score; those of several headlines have none."""
    weights = {suite.name: 0.2 if suite.weight is None else suite.weight for suite in suites if is_single(suite)}
    whole = sum(weights.values())
    return {name: weight / whole if whole else 1 / len(weights) for name, weight in weights.items()}


def join_suites(
    run: Run, scores: Mapping[str, Mapping[str, Headline]]
) -> tuple[Headline, list[tuple[float, Headline]]]:
    """Return a model's overall score, and the headlines that it joins, with their shares.

    It has no mean where a suite with weight has none; its threshold is 0.8 if the run names none and each has one.
    """
    shares = {name: share for name, share in shares_of(run.suites).items() if share}
    joined = [
        (shares[suite.name], scores[suite.name][list_headlines(suite)[0]])
        for suite in run.suites
        if suite.name in shares
    ]
    parts = tuple((share * part, column) for share, headline in joined for part, column in headline.leaves)
    usual = None if None in [headline.threshold for _, headline in joined] else 0.8
    limit = usual if run.threshold is None else run.threshold
    return Headline("", "", "", parts, limit if len(joined) > 1 else None, join_means(joined)), joined


def join_means(joined: Sequence[tuple[float, Headline]], missing: float = nan) -> Ends:
    """Return the mean of headlines by their shares; `missing` is what those without a score have."""
    means = [np.nan_to_num(headline.means, nan=missing) for _, headline in joined]
    middle, low, high = np.dot([share for share, _ in joined], means) if joined else (nan, nan, nan)
    return float(middle), float(low), float(high)


def find_worst(outcomes: Iterable[str]) -> str:
    """Return the worst of outcomes; `none` decides nothing."""
    present = set(outcomes)
    return next((outcome for outcome in WORST if outcome in present), "none")


def exit_code(verdicts: Iterable[str], changes: Iterable[str], run: Run) -> int:
    """Return the exit code of the models' verdicts, and of what fails a run against its baseline (section 8).

    With `gate: off` no threshold counts, but an error does, and a regression that is to fail the run.
    """
    counting = {verdict for verdict in verdicts if run.gate != "off" or verdict == "error"}
    verdict = find_worst({*counting, *changes})
    return 0 if verdict == "undecided" and run.undecided == "pass" else CODES[verdict]
