"""What a run comes to, by the rules alone: states, scores, bounds, intervals, verdicts and the exit code.

Nothing of the product is imported. Shares are fractions, rounded once, to a float, where they meet a threshold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from tests.oracle.draws import LETTERS, Question, Reply, Run, Suite

Z = 1.959963984540054
ENDS = ("value", "lower", "upper")
WORST = ("error", "fail", "undecided", "pass")
STATUSES = ("truncated", "model_error", "judge_failed", "no_answer", "scored", "not_applicable")
CODES = {"error": 2, "fail": 1, "undecided": 3, "pass": 0, "none": 0}


@dataclass(frozen=True)
class Answer:
    """A reply's value, None if it has none, and its state."""

    value: Fraction | None
    status: str

    def at(self, end: str) -> Fraction | None:
        """Return the value as it is, or if everything missing is wrong, or right (section 10)."""
        missing = self.value is None and self.status != "not_applicable"
        if end == "upper" and (missing or self.status == "truncated"):
            return Fraction(1)
        return Fraction(0) if end == "lower" and missing else self.value


@dataclass(frozen=True)
class Observation:
    """What a question came to in one repeat: an answer for each of its rows, which differ if their labels do."""

    answers: tuple[Answer, ...]

    @property
    def status(self) -> str:
        """The state: one that is missing or cut for a label is so."""
        statuses = {answer.status for answer in self.answers}
        return next(status for status in STATUSES if status in statuses)

    def at(self, end: str) -> Fraction | None:
        """Return the mean over the labels."""
        values = [value for answer in self.answers if (value := answer.at(end)) is not None]
        return mean(values) if values else None


@dataclass(frozen=True)
class Score:
    """A mean over questions at one end, and the questions' values."""

    mean: Fraction | None
    units: tuple[Fraction, ...]
    is_binary: bool = False
    clusters: tuple[tuple[int, ...], ...] = ()

    @property
    def wilson(self) -> tuple[float, float] | None:
        """The 95 % interval, where the metric says yes or no and the rules so name its form."""
        if not self.units or not self.is_binary or self.clusters or set(self.units) - {0, 1}:
            return None
        n, p = len(self.units), float(sum(self.units) / len(self.units))
        middle, half = p + Z**2 / (2 * n), Z * sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        low, high = (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)
        return max(low, 0.0), min(high, 1.0)

    def half(self, clusters: Sequence[tuple[int, ...]]) -> float:
        """Return half the width of a plain 95 % interval over the units: questions, or these clusters of them."""
        assert self.mean is not None
        apart = [float(unit - self.mean) for unit in self.units]
        alone = set(range(len(apart))) - {place for places in clusters for place in places}
        sums = [*(sum(apart[place] for place in places) for places in clusters), *(apart[place] for place in alone)]
        n = len(sums)
        return Z * sqrt(sum(total**2 for total in sums) * n / (n - 1)) / len(apart) if n > 1 else 0.0


Interval = tuple[float, float]
Intervals = Callable[[str], Interval]
"""An interval by its end: the rules' own, or where they leave its form open, the one that was reported."""


def mean(values: Sequence[Fraction]) -> Fraction:
    """Return the mean."""
    return sum(values, Fraction(0)) / len(values)


JOINS: Mapping[str, Callable[[Sequence[Fraction]], Fraction]] = {
    "pass_at_k": lambda values: Fraction(max(values) == 1),
    "pass_all_k": lambda values: Fraction(min(values) == 1),
    "mean": mean,
}
"""What makes a question's value of its repeats' values."""


@dataclass(frozen=True)
class Headline:
    """A model in a suite: each question's observations by repeat."""

    suite: Suite
    questions: Mapping[str, tuple[Observation, ...]]

    @property
    def answers(self) -> list[Answer]:
        """The answers to all rows."""
        return [
            answer
            for repeats in self.questions.values()
            for observation in repeats
            for answer in observation.answers
        ]

    @property
    def observations(self) -> list[Observation]:
        """What applies of all questions and repeats: equal rows are one question (section 9)."""
        return [row for repeats in self.questions.values() for row in repeats if row.status != "not_applicable"]

    def count(self, status: str) -> int:
        """Count the observations in a state."""
        return sum(observation.status == status for observation in self.observations)

    @property
    def n_scored(self) -> int:
        """How many observations have a value."""
        return sum(observation.at("value") is not None for observation in self.observations)

    @property
    def is_covered(self) -> bool:
        """Whether at least 90 % of what applies is scored (section 8)."""
        return self.n_scored > 0 and Fraction(self.n_scored, len(self.observations)) >= Fraction(9, 10)

    def score(self, end: str = "value") -> Score:
        """Return the mean over questions; repeats enter by their mean (section 9)."""
        units: list[Fraction] = []
        templates: dict[str, list[int]] = {}
        template_of = {question.text: question.columns.get("template") for question in self.suite.questions}
        for text, repeats in self.questions.items():
            values = [value for observation in repeats if (value := observation.at(end)) is not None]
            if not values:
                continue
            if template := template_of[text]:
                templates.setdefault(template, []).append(len(units))
            units.append(JOINS[self.suite.options.get("gate_on", "mean")](values))
        clusters = tuple(tuple(places) for places in templates.values() if len(places) > 1)
        return Score(mean(units) if units else None, tuple(units), self.is_binary, clusters)

    @property
    def is_binary(self) -> bool:
        """Whether every question is right or wrong: a yes/no metric, and one label for each question."""
        labels = {(question.text, question.answer) for question in self.suite.questions}
        return self.suite.metric != "similarity" and len(labels) == len(self.questions)

    def outcome(self, gate: str, intervals: Intervals) -> str:
        """Return the verdict at the suite's threshold."""
        if (
            not self.is_covered
        ):  # also without a threshold, until a suite of several headlines can have measured ones
            return "error"
        if self.suite.threshold is None:
            return "none"
        means = {end: self.score(end).mean for end in ENDS}
        return decide(means, Fraction(str(self.suite.threshold)), gate, intervals)


def decide(means: Mapping[str, Fraction | None], threshold: Fraction, gate: str, intervals: Intervals) -> str:
    """Return the outcome; undecided where the bounds disagree (section 10)."""

    def at(end: str) -> str:
        if gate != "interval":
            score = means[end]
            return "pass" if score is not None and float(score) >= float(threshold) else "fail"
        low, high = intervals(end)
        if low >= float(threshold):
            return "pass"
        return "fail" if high < float(threshold) else "undecided"

    outcomes = {at(end) for end in ENDS}
    return outcomes.pop() if len(outcomes) == 1 else "undecided"


def similarity(answer: str, reply: str) -> Fraction:
    """Return 2 · common / total letters of two beginnings of one text; other letters have none in common."""
    common = min(len(answer), len(reply)) if LETTERS.startswith(reply) else 0
    return Fraction(2 * common, len(answer) + len(reply))


def answer_of(metric: str, question: Question, reply: Reply) -> Answer:
    """Return the value and state of a reply (sections 1, 10 and 14)."""
    if reply.failed:
        return Answer(None, "model_error")
    if reply.state:
        return Answer(None, reply.state)
    graded = metric == "similarity" and reply.text
    value = similarity(question.answer, reply.text) if graded else Fraction(reply.text == question.answer)
    if reply.cut and value < 1:
        return Answer(value, "truncated")
    return Answer(value, "scored" if reply.text else "no_answer")


def headline(suite: Suite, model: str, repeats: int) -> Headline:
    """Return a model in a suite."""
    questions: dict[str, tuple[Observation, ...]] = {}
    for text in dict.fromkeys(question.text for question in suite.questions):
        rows = [(row, question) for row, question in enumerate(suite.questions) if question.text == text]
        listed = []
        for repeat in range(repeats):
            found = [answer_of(suite.metric, question, suite.replies[model, row, repeat]) for row, question in rows]
            listed.append(Observation(tuple(found)))
        questions[text] = tuple(listed)
    return Headline(suite, questions)


def weights(suites: Iterable[Suite]) -> dict[str, Fraction]:
    """Return the suites' shares of the overall score."""
    given = {suite.name: Fraction(str(suite.weight)) for suite in suites}
    return {name: weight / sum(given.values()) for name, weight in given.items()}


def overall(headlines: Sequence[Headline]) -> dict[str, Fraction | None]:
    """Return the weighted mean at each end, None where a suite with weight has no score."""
    shares = weights(one.suite for one in headlines)
    found: dict[str, Fraction | None] = {}
    for end in ENDS:
        parts = [(shares[one.suite.name], one.score(end).mean) for one in headlines if one.suite.weight]
        lacking = any(score is None for _, score in parts)
        found[end] = None if lacking else sum((share * (score or 0) for share, score in parts), Fraction(0))
    return found


def overall_threshold(run: Run) -> Fraction | None:
    """Return the run's threshold: 0.8 if it names none and each suite with a weight has one."""
    weighing = [suite for suite in run.suites if suite.weight]
    if len(weighing) < 2:
        return None
    if run.threshold is not None:
        return Fraction(str(run.threshold))
    return None if any(suite.threshold is None for suite in weighing) else Fraction(8, 10)


def worst(outcomes: Iterable[str]) -> str:
    """Return the worst of outcomes; `none` decides nothing."""
    listed = set(outcomes)
    return next((outcome for outcome in WORST if outcome in listed), "none")


def exit_code(verdicts: Iterable[str], run: Run) -> int:
    """Return the exit code of the models' verdicts (section 8)."""
    verdict = worst(verdicts)
    if verdict != "error" and run.gate == "off":
        return 0
    return 0 if verdict == "undecided" and run.undecided == "pass" else CODES[verdict]
