"""What a run comes to, by the rules alone: states, scores, bounds, intervals, verdicts and the exit code.

Nothing of the product is imported. Shares are fractions, rounded once, to a float, where they meet a threshold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from tests.oracle.draws import LETTERS, Question, Reply, Run, Suite, headline_names, joined_name

Z = 1.959963984540054
ENDS = ("value", "lower", "upper")
WORST = ("error", "fail", "undecided", "pass")
STATUSES = ("judge_failed", "truncated", "model_error", "no_answer", "scored", "not_applicable")
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
        """The state: one that is unread or cut for a label is so."""
        statuses = {answer.status for answer in self.answers}
        return next(status for status in STATUSES if status in statuses)

    def at(self, end: str) -> Fraction | None:
        """Return the mean over the labels; what is unread for one of them is missing."""
        if self.status == "judge_failed":
            return {"value": None, "lower": Fraction(0), "upper": Fraction(1)}[end]
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
    def n_units(self) -> int:
        """The number of independent units: the questions; from five shared templates on these and what is alone."""
        if len(self.clusters) < 5:
            return len(self.units)
        return len(self.units) - sum(map(len, self.clusters)) + len(self.clusters)

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


Join = Callable[[Sequence[Fraction]], Fraction]
JOINS: Mapping[str, Join] = {
    "pass_at_k": lambda values: Fraction(max(values) == 1),
    "pass_all_k": lambda values: Fraction(min(values) == 1),
    "mean": mean,
}
"""What makes a question's value of its repeats' values."""


def clusters_of(suite: Suite, texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
    """Return the places of those questions that share a template, two of them or more."""
    template_of = {question.text: question.columns.get("template") for question in suite.questions}
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        if template := template_of[text]:
            places.setdefault(template, []).append(place)
    return tuple(tuple(shared) for shared in places.values() if len(shared) > 1)


@dataclass(frozen=True)
class Part:
    """A model by one metric of a suite: each question's observations by repeat."""

    suite: Suite
    metric: str
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

    @property
    def applying(self) -> set[str]:
        """The questions to which the metric applies."""
        return {
            text for text, rows in self.questions.items() if any(one.status != "not_applicable" for one in rows)
        }

    @property
    def n_scored(self) -> int:
        """How many observations have a value."""
        return sum(observation.at("value") is not None for observation in self.observations)

    def values(self, end: str = "value", join: Join = mean) -> dict[str, Fraction]:
        """Return what each question comes to, where it does; repeats enter by their mean (sections 9 and 15)."""
        observed = {text: [row.at(end) for row in repeats] for text, repeats in self.questions.items()}
        present = {text: [value for value in values if value is not None] for text, values in observed.items()}
        return {text: join(values) for text, values in present.items() if values}

    def score(self, end: str = "value") -> Score:
        """Return the mean over questions."""
        values = self.values(end, JOINS[self.suite.options.get("gate_on", "mean")])
        units = tuple(values.values())
        clusters = clusters_of(self.suite, values)
        return Score(mean(units) if units else None, units, self.is_binary, clusters)

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
    parts: tuple[tuple[Fraction, Part], ...]
    threshold: float | None

    @property
    def applying(self) -> list[tuple[Fraction, Part]]:
        """The parts that apply to some row: the others are left out, and the weights renormalised (section 1)."""
        return [(weight, part) for weight, part in self.parts if part.observations]

    @property
    def rows(self) -> list[list[Observation]]:
        """Each row with what the parts make of it that apply."""
        columns = [[row for repeats in part.questions.values() for row in repeats] for _, part in self.parts]
        return [[one for one in row if one.status != "not_applicable"] for row in zip(*columns, strict=True)]

    def count(self, status: str) -> int:
        """Count the rows in a state by some part."""
        return sum(any(one.status == status for one in row) for row in self.rows)

    @property
    def n_scored(self) -> int:
        """How many rows each part has scored that applies to them."""
        return sum(bool(row) and all(one.at("value") is not None for one in row) for row in self.rows)

    @property
    def is_covered(self) -> bool:
        """Whether at least 90 % of what applies is scored (section 8)."""
        shares = [Fraction(part.n_scored, len(part.observations)) for _, part in self.applying]
        return bool(shares) and min(shares) >= Fraction(9, 10)

    def score(self, end: str = "value") -> Score:
        """Return the mean of the parts' means by their weights; none where a part that applies has none."""
        scores = [(weight, part.score(end)) for weight, part in self.applying]
        if len(scores) == 1:
            return scores[0][1]
        if not scores or any(score.mean is None for _, score in scores):
            return Score(None, ())
        whole = sum(weight for weight, _ in scores)
        return Score(sum((weight / whole * (score.mean or 0) for weight, score in scores), Fraction(0)), ())

    def values(self, end: str = "value", join: Join = mean) -> dict[str, Fraction]:
        """Return what each question comes to by the parts that apply to it, where all of them do."""
        columns = [(weight, part.values(end, join), part) for weight, part in self.parts]
        found = {}
        for text in columns[0][2].questions:
            shares = [
                (weight, values.get(text))
                for weight, values, part in columns
                if any(row.status != "not_applicable" for row in part.questions[text])
            ]
            if shares and all(value is not None for _, value in shares):
                whole = sum(weight for weight, _ in shares)
                found[text] = sum((weight / whole * (value or 0) for weight, value in shares), Fraction(0))
        return found

    def outcome(self, gate: str, intervals: Intervals) -> str:
        """Return the verdict at the headline's threshold."""
        if self.threshold is None:
            return "none"
        if self.score().mean is None or not self.is_covered:
            return "error"
        means = {end: self.score(end).mean for end in ENDS}
        return decide(means, Fraction(str(self.threshold)), gate, intervals)


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
    if reply.state and reply.of in {"", metric}:
        return Answer(None, reply.state)
    value = Fraction(reply.text == question.answer)
    if metric == "similarity" and reply.text:
        value = similarity(question.answer, reply.text)
    elif metric == "contains":
        value = Fraction(question.answer in reply.text)
    if reply.cut and value < 1:
        return Answer(value, "truncated")
    return Answer(value, "scored" if reply.text else "no_answer")


def joint(answers: Mapping[str, Answer], holds_from: Mapping[str, Fraction]) -> Answer:
    """Return whether a row holds by all parts that apply (section 8)."""
    applying = {name: answers[name] for name in holds_from if answers[name].status != "not_applicable"}
    if not applying:
        return Answer(None, "not_applicable")
    failing = [one for name, one in applying.items() if one.value is not None and one.value < holds_from[name]]
    final = [one for one in failing if one.status != "truncated"]
    if final:
        is_answered = any(one.status == "scored" for one in final)
        return Answer(Fraction(0), "scored" if is_answered else "no_answer")
    if failing:
        return Answer(Fraction(0), "truncated")
    missing = [one for one in applying.values() if one.value is None]
    return missing[0] if missing else Answer(Fraction(1), "scored")


def part_of(suite: Suite, metric: str, model: str, repeats: int) -> Part:
    """Return a model by a metric, or by all metrics that say yes or no, or that the score joins."""
    names = [metric]
    if metric == "all":
        names = [name for name in suite.metrics if suite.score == "all" or name != "similarity"]
    own = {name: suite.metrics[name].get("threshold") if name == "similarity" else 1 for name in names}
    holds_from = {name: Fraction(str(limit or 0)) for name, limit in own.items()}
    questions: dict[str, tuple[Observation, ...]] = {}
    for text in dict.fromkeys(question.text for question in suite.questions):
        rows = [(row, question) for row, question in enumerate(suite.questions) if question.text == text]
        listed = []
        for repeat in range(repeats):
            found = []
            for row, question in rows:
                reply = suite.replies[model, row, repeat]
                answers = {name: answer_of(name, question, reply) for name in names}
                found.append(joint(answers, holds_from) if metric == "all" else answers[metric])
            listed.append(Observation(tuple(found)))
        questions[text] = tuple(listed)
    return Part(suite, metric, questions)


def headlines(suite: Suite, model: str, repeats: int) -> dict[str, Headline]:
    """Return a model by each score that is shown of a suite, by name (section 8)."""
    own = {name: options.get("threshold") for name, options in suite.metrics.items()}
    shown: dict[str, tuple[dict[str, float], float | None]] = {}
    if suite.score is None:
        for name, options in suite.metrics.items():
            shown[name] = {name: 1.0}, own[name] if "threshold" in options else suite.threshold
    else:
        weights = {"all": 1.0} if suite.score == "all" else suite.score
        weights = weights if isinstance(weights, dict) else dict.fromkeys(weights, 1.0)
        name = joined_name(suite.score)
        stated = own.get(name)
        shown[name] = weights, suite.threshold if stated is None else stated
        shown |= {one: ({one: 1.0}, limit) for one, limit in own.items() if limit is not None and one != name}
    if len({*suite.metrics} - {"similarity"}) > 1 and "all" not in shown:
        shown["all"] = {"all": 1.0}, None
    parts = {metric: part_of(suite, metric, model, repeats) for shares, _ in shown.values() for metric in shares}
    return {
        name: Headline(
            suite, name, tuple((Fraction(str(share)), parts[metric]) for metric, share in shares.items()), limit
        )
        for name, (shares, limit) in shown.items()
    }


def outcomes_of(own: Mapping[str, Headline], gate: str, intervals: Mapping[str, Intervals]) -> dict[str, str]:
    """Return the outcome of each score of a suite: an error where nothing at all is scored (section 8)."""
    found = {name: one.outcome(gate, intervals[name]) for name, one in own.items()}
    if all(one.score().mean is None for one in own.values()):
        return dict.fromkeys(found, "error")
    return found


def deciding(own: Mapping[str, Headline]) -> Headline | None:
    """Return the only headline of a suite, which the overall score joins; None if there are several."""
    (suite,) = {id(one.suite): one.suite for one in own.values()}.values()
    names = headline_names(suite)
    return own[names[0]] if len(names) == 1 else None


def weights(suites: Iterable[Suite]) -> dict[str, Fraction]:
    """Return the suites' shares of the overall score; those of several headlines have none."""
    single = {suite.name: suite.weight for suite in suites if len(headline_names(suite)) == 1}
    given = {name: Fraction("0.2" if weight is None else str(weight)) for name, weight in single.items()}
    whole = sum(given.values())
    return {name: weight / whole if whole else Fraction(1, len(given)) for name, weight in given.items()}


def overall(own: Sequence[Mapping[str, Headline]]) -> dict[str, Fraction | None]:
    """Return the weighted mean at each end, None where a suite with weight has no score, or none has a weight."""
    joined = [one for by_name in own if (one := deciding(by_name))]
    shares = weights(one.suite for one in joined)
    found: dict[str, Fraction | None] = {}
    for end in ENDS:
        parts = [(shares[one.suite.name], one.score(end).mean) for one in joined if shares[one.suite.name]]
        lacking = not parts or any(score is None for _, score in parts)
        found[end] = None if lacking else sum((share * (score or 0) for share, score in parts), Fraction(0))
    return found


def overall_threshold(run: Run, own: Sequence[Mapping[str, Headline]]) -> Fraction | None:
    """Return the run's threshold: 0.8 if it names none and each suite with a weight has one."""
    shares = weights(run.suites)
    joined = [one for by_name in own if (one := deciding(by_name)) and shares[one.suite.name]]
    if len(joined) < 2:
        return None
    if run.threshold is not None:
        return Fraction(str(run.threshold))
    return None if any(one.threshold is None for one in joined) else Fraction(8, 10)


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
