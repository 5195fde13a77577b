"""What a run comes to, by the rules alone: states, scores, bounds, intervals, verdicts and the exit code.

Nothing of the product is imported. Shares are fractions, rounded once, to a float, where they meet a threshold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb, sqrt
from typing import Any

from tests.oracle.cases import LETTERS, Question, Reply, Run, Suite

Z = 1.959963984540054
ENDS = ("value", "lower", "upper")
WORST = ("error", "fail", "undecided", "pass")
STATUSES = ("judge_failed", "truncated", "model_error", "no_answer", "scored", "not_applicable")
"""The worst first: a question of several rows is as its worst."""
CODES = {"error": 2, "fail": 1, "undecided": 3, "pass": 0, "none": 0}
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Answer:
    """A state and a value, None if it has none; and it if all that is missing is wrong, or right (section 10)."""

    status: str
    value: Fraction | None = None
    lower: Fraction | None = None
    upper: Fraction | None = None

    def at(self, end: str) -> Fraction | None:
        value: Fraction | None = getattr(self, end)
        return value

    @property
    def applies(self) -> bool:
        return self.status != "not_applicable"


def answered(status: str, value: Fraction | None = None) -> Answer:
    if status == "not_applicable":
        return Answer(status)
    return Answer(status, value, value or ZERO, ONE if value is None or status == "truncated" else value)


def merged(rows: Sequence[Answer]) -> Answer:
    """Return what a question of these rows came to: the mean over its labels, if none of them is unread."""
    status = min((row.status for row in rows), key=STATUSES.index)
    applying = [row for row in rows if row.applies]
    if any(row.value is None for row in applying):
        return answered(status)
    return Answer(status, *(mean_of([row.at(end) for row in applying]) for end in ENDS))


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, ZERO) / len(values)


def mean_of(values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the mean of those that are present."""
    present = [value for value in values if value is not None]
    return mean(present) if present else None


@dataclass(frozen=True)
class Score:
    """A mean over questions at one end, and the questions' values."""

    mean: Fraction | None
    units: tuple[Fraction, ...] = ()
    is_binary: bool = False
    clusters: tuple[tuple[int, ...], ...] = ()

    @property
    def n_units(self) -> int:
        """The number of independent units: the questions; from five shared templates on these and what is alone."""
        return len(units_of(len(self.units), self.clusters))

    @property
    def wilson(self) -> tuple[float, float] | None:
        """The 95 % interval, where the metric says yes or no and the rules so name its form."""
        if not self.units or not self.is_binary or len(self.clusters) >= 5 or set(self.units) - {0, 1}:
            return None
        n, p = len(self.units), float(mean(self.units))
        middle, half = p + Z**2 / (2 * n), Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        return max((middle - half) / (1 + Z**2 / n), 0.0), min((middle + half) / (1 + Z**2 / n), 1.0)

    def half(self, clusters: Sequence[tuple[int, ...]]) -> float:
        """Return half the width of a plain 95 % interval over the units: questions, or these clusters of them."""
        apart = [float(unit - (self.mean or 0)) for unit in self.units]
        sums = [sum(apart[place] for place in places) for places in units_of(len(apart), clusters)]
        n = len(sums)
        return Z * sqrt(sum(total**2 for total in sums) * n / (n - 1)) / len(apart) if n > 1 else 0.0


def units_of(n: int, clusters: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return the places of each unit's questions: from five clusters on, these are units."""
    grouped = clusters if len(clusters) >= 5 else ()
    alone = sorted(set(range(n)) - {place for places in grouped for place in places})
    return [*grouped, *((place,) for place in alone)]


def clusters_of(suite: Suite, texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return the places of those questions that share a template, two of them or more."""
    template_of = {question.text: question.columns.get("template") for question in suite.questions}
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if template := template_of[text]:
            places.setdefault(template, []).append(place)
    return tuple(tuple(shared) for shared in places.values() if len(shared) > 1)


Interval = tuple[float, float]
Intervals = Callable[[str], Interval]
"""An interval by its end: the rules' own, or where they leave its form open, the one that was reported."""
Join = Callable[[Sequence[Fraction]], Fraction | None]
"""What makes a question's value of its repeats' values."""


def share_of_k(values: Sequence[Fraction], k: int, *, is_any: bool) -> Fraction | None:
    """Return the share of choices of k values of which any is right, or all are; None if there are fewer."""
    n, n_right = len(values), values.count(ONE)
    if n < k:
        return None
    return ONE - Fraction(comb(n - n_right, k), comb(n, k)) if is_any else Fraction(comb(n_right, k), comb(n, k))


@dataclass(frozen=True)
class Part:
    """A model by one metric of a suite: the answers to all rows, and each question's by repeat (section 9)."""

    suite: Suite
    metric: str
    rows: tuple[Answer, ...]
    questions: Mapping[str, tuple[Answer, ...]]

    @property
    def join(self) -> Join:
        """What makes a question's value of its repeats' values."""
        if self.suite.gate_on == "mean":
            return mean
        k = self.suite.options.get("k") or len(next(iter(self.questions.values())))
        return partial(share_of_k, k=k, is_any=self.suite.gate_on == "pass_at_k")

    @property
    def covered(self) -> list[bool]:
        """Whether each answer that applies is scored; of k answers, each question that has them, or lacks one."""
        if self.suite.gate_on != "mean":
            values = self.values(join=self.join)
            missing = {
                text for text, row in self.questions.items() for one in row if one.applies and one.value is None
            }
            return [text in values for text in self.questions if text in values or text in missing]
        answers = [answer for repeats in self.questions.values() for answer in repeats]
        return [answer.value is not None for answer in answers if answer.applies]

    def applies(self, text: str) -> bool:
        return any(answer.applies for answer in self.questions.get(text, ()))

    def values(self, end: str = "value", join: Join = mean) -> dict[str, Fraction]:
        """Return what each question comes to, where it does; repeats enter by their mean (sections 9 and 15)."""
        joint = {}
        for text, repeats in self.questions.items():
            present = [value for answer in repeats if (value := answer.at(end)) is not None]
            value = join(present) if present else None
            if value is not None:
                joint[text] = value
        return joint

    def score(self, end: str = "value") -> Score:
        values = self.values(end, self.join)
        units = tuple(values.values())
        return Score(mean_of(units), units, self.is_binary, clusters_of(self.suite, values))

    @property
    def is_binary(self) -> bool:
        """Whether every question is right or wrong: a yes/no metric, and one label for each question."""
        labels = {(question.text, question.answer) for question in self.suite.questions}
        return self.metric != "similarity" and len(labels) == len(self.questions)


@dataclass(frozen=True)
class Headline:
    """A model by one score of a suite: its parts with their weights, and its threshold, None if it is measured."""

    suite: Suite
    name: str
    model: str
    parts: tuple[tuple[Fraction, Part], ...]
    threshold: float | None

    @property
    def rows(self) -> list[list[Answer]]:
        """Each question in each repeat with what the parts make of it that apply."""
        columns = [[answer for repeats in part.questions.values() for answer in repeats] for _, part in self.parts]
        return [[answer for answer in row if answer.applies] for row in zip(*columns, strict=True)]

    def count(self, status: str) -> int:
        """Count the rows in a state by some part."""
        return sum(any(answer.status == status for answer in row) for row in self.rows)

    @property
    def n_scored(self) -> int:
        """How many rows each part has scored that applies to them; of k answers, how many questions."""
        if self.suite.gate_on != "mean":
            return sum(self.parts[0][1].covered)
        return sum(bool(row) and all(answer.value is not None for answer in row) for row in self.rows)

    @property
    def is_covered(self) -> bool:
        """Whether at least 90 % of what applies is scored (section 8)."""
        by_part = [part.covered for _, part in self.parts]
        return all(10 * sum(scored) >= 9 * len(scored) for scored in by_part) and any(by_part)

    def score(self, end: str = "value") -> Score:
        """Return the mean of the parts' means by their weights; none where a part that applies has none.

        Parts that apply to no row are left out, and the weights renormalised (section 1). A question adds to it
        what it adds to each part's mean.
        """
        applying = [(weight, part) for weight, part in self.parts if part.covered]
        scores = [(weight, part.score(end)) for weight, part in applying]
        if len(scores) == 1:
            return scores[0][1]
        middle = weighted((weight, score.mean) for weight, score in scores)
        if middle is None:
            return Score(None)
        whole, columns = sum(weight for weight, _ in scores), [part.values(end) for _, part in applying]
        texts = [text for text in self.parts[0][1].questions if any(text in values for values in columns)]
        units = []
        for text in texts:
            apart = [
                weight / whole * (values[text] - mean([*values.values()])) * Fraction(len(texts), len(values))
                for (weight, _), values in zip(scores, columns, strict=True)
                if text in values
            ]
            units.append(middle + sum(apart, ZERO))
        return Score(middle, tuple(units), clusters=clusters_of(self.suite, texts))

    def values(self) -> dict[str, Fraction]:
        """Return what each question comes to by the parts that apply to it, where all of them do."""
        columns = [(weight, part.values(join=part.join), part) for weight, part in self.parts]
        joint = {
            text: weighted((weight, values.get(text)) for weight, values, part in columns if part.applies(text))
            for text in columns[0][2].questions
        }
        return {text: value for text, value in joint.items() if value is not None}

    def applies(self, text: str) -> bool:
        """Return whether some part applies to a question."""
        return any(part.applies(text) for _, part in self.parts)

    def outcome(self, gate: str, intervals: Intervals) -> str:
        """Return the verdict at the headline's threshold."""
        if self.threshold is None:
            return "none"
        if self.score().mean is None or not self.is_covered:
            return "error"
        return decide({end: self.score(end).mean for end in ENDS}, self.threshold, gate, intervals)


def weighted(parts: Iterable[tuple[Fraction, Fraction | None]]) -> Fraction | None:
    """Return the mean of values by their weights, None where one is missing, or there are none."""
    shares = [(weight, value) for weight, value in parts if weight]
    if not shares or any(value is None for _, value in shares):
        return None
    return sum((weight * (value or 0) for weight, value in shares), ZERO) / sum(weight for weight, _ in shares)


def decide(means: Mapping[str, Fraction | None], threshold: float, gate: str, intervals: Intervals) -> str:
    """Return the outcome; undecided where the bounds disagree (section 10)."""

    def decide_at(end: str) -> str:
        score = means[end]
        low, high = intervals(end) if gate == "interval" else (-1.0 if score is None else float(score),) * 2
        # What was reported is a sum of floats: 0.9999999999999999 for 1.
        return "pass" if low >= threshold - 1e-9 else "fail" if high < threshold - 1e-9 else "undecided"

    outcomes = {decide_at(end) for end in ENDS}
    return outcomes.pop() if len(outcomes) == 1 else "undecided"


def match(answer: str, reply: str, options: Mapping[str, Any]) -> Fraction:
    """Return whether a reply is the answer (section 19)."""
    if not options.get("case_sensitive"):
        answer, reply = answer.lower(), reply.lower()
    return Fraction(answer == reply)


def contain(answer: str, reply: str, options: Mapping[str, Any]) -> Fraction:
    """Return whether a reply, which is one word, holds the answer; at its boundaries it is the answer."""
    if options.get("words", True):
        return match(answer, reply, options)
    return Fraction(answer in (reply if options.get("case_sensitive") else reply.lower()))


def resemble(answer: str, reply: str, _options: Mapping[str, Any]) -> Fraction:
    """Return 2 · common / total letters of two beginnings of one text; other letters have none in common."""
    common = min(len(answer), len(reply)) if LETTERS.startswith(reply) else 0
    return Fraction(2 * common, len(answer) + len(reply))


VALUES: Mapping[str, Callable[[str, str, Mapping[str, Any]], Fraction]] = {
    "exact_match": match,
    "contains": contain,
    "similarity": resemble,
}


def answer_of(suite: Suite, metric: str, question: Question, reply: Reply) -> Answer:
    """Return the value and state of a reply (sections 1, 10 and 14)."""
    if reply.failed:
        return answered("model_error")
    if reply.state and reply.of in {"", metric}:
        return answered(reply.state)
    value = VALUES[metric](question.answer, reply.text, suite.metrics[metric])
    status = "truncated" if reply.cut and value < 1 else "scored" if reply.text else "no_answer"
    return answered(status, value)


def joint(answers: Mapping[str, Answer], holds_from: Mapping[str, Fraction]) -> Answer:
    """Return whether a row holds by all parts that apply (section 8)."""
    applying = {name: answer for name, answer in answers.items() if answer.applies}
    failing = [
        answer.status
        for name, answer in applying.items()
        if answer.value is not None and answer.value < holds_from[name]
    ]
    for status in ("scored", "no_answer", "truncated"):
        if status in failing:
            return answered(status, ZERO)
    missing = [answer for answer in applying.values() if answer.value is None]
    return next(iter(missing), answered("scored", ONE) if applying else answered("not_applicable"))


def part_of(suite: Suite, metric: str, model: str, repeats: int) -> Part:
    """Return a model by a metric, or by all metrics that say yes or no, or that the score joins."""
    names = [metric]
    if metric == "all":
        names = [name for name in suite.metrics if suite.score == "all" or name != "similarity"]
    own = {name: suite.metrics[name].get("threshold") if name == "similarity" else 1 for name in names}
    holds_from = {name: Fraction(str(limit or 0)) for name, limit in own.items()}
    rows: list[Answer] = []
    questions: dict[str, dict[int, list[Answer]]] = {}
    for row, question in enumerate(suite.questions):
        for repeat in range(repeats):
            reply = suite.replies[model, row, repeat]
            answers = {name: answer_of(suite, name, question, reply) for name in names}
            rows.append(joint(answers, holds_from) if metric == "all" else answers[metric])
            questions.setdefault(question.text, {}).setdefault(repeat, []).append(rows[-1])
    once = {text: tuple(map(merged, by_repeat.values())) for text, by_repeat in questions.items()}
    return Part(suite, metric, tuple(rows), once)


def columns_of(suite: Suite) -> dict[str, tuple[Mapping[str, float], float | None]]:
    """Return the scores that are shown of a suite, by name: their parts' weights, and their threshold (8)."""
    own = {name: options.get("threshold") for name, options in suite.metrics.items()}
    shown: dict[str, tuple[Mapping[str, float], float | None]] = {}
    if suite.score is None:
        for name, options in suite.metrics.items():
            shown[name] = {name: 1.0}, own[name] if "threshold" in options else suite.threshold
    else:
        names = {"all": 1.0} if suite.score == "all" else suite.score
        names = names if isinstance(names, dict) else dict.fromkeys(names, 1.0)
        name = next(iter(names)) if len(names) == 1 else ""
        shown[name] = names, suite.threshold if own.get(name) is None else own[name]
        shown |= {
            metric: ({metric: 1.0}, limit) for metric, limit in own.items() if limit is not None and metric != name
        }
    if len({*suite.metrics} - {"similarity"}) > 1:
        shown.setdefault("all", ({"all": 1.0}, None))
    return shown


def headline_names(suite: Suite) -> list[str]:
    """Return the scores that decide a suite; if none has a threshold, those that are measured."""
    shown = columns_of(suite)
    deciding = [name for name, (_, limit) in shown.items() if limit is not None]
    return deciding or [name for name in shown if name != "all" or suite.score == "all"]


def is_single(suite: Suite) -> bool:
    """Return whether a suite has one headline, and may be part of the overall score."""
    return len(headline_names(suite)) == 1


def headlines(suite: Suite, model: str, repeats: int) -> dict[str, Headline]:
    """Return a model by each score that is shown of a suite, by name."""
    shown = columns_of(suite)
    parts = {metric: part_of(suite, metric, model, repeats) for shares, _ in shown.values() for metric in shares}
    by_name = {}
    for name, (shares, limit) in shown.items():
        joined_parts = tuple((Fraction(str(share)), parts[metric]) for metric, share in shares.items())
        by_name[name] = Headline(suite, name, model, joined_parts, limit)
    return by_name


def suite_of(by_name: Mapping[str, Headline]) -> Suite:
    return next(iter(by_name.values())).suite


def outcomes_of(own: Mapping[str, Headline], gate: str, intervals: Mapping[str, Intervals]) -> dict[str, str]:
    """Return the outcome of each score of a suite: an error where nothing at all is scored (section 8)."""
    if all(headline.score().mean is None for headline in own.values()):
        return dict.fromkeys(own, "error")
    return {name: headline.outcome(gate, intervals[name]) for name, headline in own.items()}


def weights(suites: Iterable[Suite]) -> dict[str, Fraction]:
    """Return the suites' shares of the overall score; those of several headlines have none."""
    single = {suite.name: suite.weight for suite in suites if is_single(suite)}
    stated = {name: Fraction("0.2" if weight is None else str(weight)) for name, weight in single.items()}
    whole = sum(stated.values())
    return {name: weight / whole if whole else Fraction(1, len(stated)) for name, weight in stated.items()}


def joined(own: Sequence[Mapping[str, Headline]]) -> list[tuple[Fraction, Headline]]:
    """Return the headlines that the overall score joins, the only ones of their suites, with their shares."""
    by_suite = [(suite_of(by_name), by_name) for by_name in own]
    shares = weights(suite for suite, _ in by_suite)
    single = [(suite.name, by_name[headline_names(suite)[0]]) for suite, by_name in by_suite if is_single(suite)]
    return [(shares[name], headline) for name, headline in single if shares[name]]


def overall(own: Sequence[Mapping[str, Headline]]) -> dict[str, Fraction | None]:
    """Return the weighted mean at each end, None where a suite with weight has no score, or none has a weight."""
    return {end: weighted((share, headline.score(end).mean) for share, headline in joined(own)) for end in ENDS}


def overall_threshold(run: Run, own: Sequence[Mapping[str, Headline]]) -> float | None:
    """Return the run's threshold: 0.8 if it names none and each suite with a weight has one."""
    limits = [headline.threshold for _, headline in joined(own)]
    if len(limits) < 2:
        return None
    return (None if None in limits else 0.8) if run.threshold is None else run.threshold


def worst(outcomes: Iterable[str]) -> str:
    """Return the worst of outcomes; `none` decides nothing."""
    present = set(outcomes)
    return next((outcome for outcome in WORST if outcome in present), "none")


def exit_code(verdicts: Iterable[str], changes: Iterable[str], run: Run) -> int:
    """Return the exit code of the models' verdicts, and of what fails a run against its baseline (section 8).

    With `gate: off` no threshold counts, but an error does, and a regression that is to fail the run.
    """
    counting = {verdict for verdict in verdicts if run.gate != "off" or verdict == "error"}
    verdict = worst({*counting, *changes})
    return 0 if verdict == "undecided" and run.undecided == "pass" else CODES[verdict]
