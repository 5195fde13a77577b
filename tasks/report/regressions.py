"""A run against its baseline, in words, and what changed between the questions of two runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prompts.phrases import phrase
from tasks.report.text import clipped, points, written
from tasks.report.words import lacking, suites_in

NAMED = 3
"""Questions of a kind named in a line."""
_LONGEST = 60


def around(part: Mapping[str, Any]) -> str:
    """Return the interval of a difference."""
    low, high = part["interval"]["low"], part["interval"]["high"]
    return f"{points(low)} … {points(high)}"


def regression(part: Mapping[str, Any], language: str = "en") -> str:
    """Describe a suite's outcome against its baseline, and if undecided the detectable difference."""

    def say(name: str, **values: object) -> str:
        return phrase(f"regression.{name}", language, **values)

    tolerated = written(f"{100 * part['max_drop']:g}")
    few = f"; {say('few', n=part['moved']['n_common'], total=part['moved']['n_before'])}" if part["few"] else ""
    if part["difference"] is None:
        return say("nothing") + few
    equal = part["outcome"] == "held" and not part["difference"] and part["interval"]["low"] <= -part["max_drop"]
    said = say(
        "equal" if equal else "line",
        difference=points(part["difference"]),
        around=around(part),
        tolerated=tolerated,
        n=part["n"],
        outcome=say("improved" if part["improved"] else part["outcome"]),
    )
    if few:
        return said + few
    if part.get("n_alike"):  # which earlier versions did not count
        said += f"; {phrase('compare.alike', language, n=part['n_alike'])}"
    if part["hangs"]:
        what = lacking(part["n_left_out"], part["n_cut"], language)
        return f"{said}; {say('hangs', what=what, low=points(part['low']), high=points(part['high']))}"
    if part["outcome"] != "undecided":
        return said
    shown, needed = part["detectable"], part["n_needed"]
    told = say("blind" if shown is None else "shown", n=part["n"], drop=points(shown).lstrip("+"))
    more = "" if needed is None else f"; {say('needed', n=needed, tolerated=tolerated)}"
    return f"{said}; {told}{more}"


def lines(held: Mapping[str, Any] | None, language: str) -> Iterator[str]:
    """Yield a run's outcome against its baseline, for the terminal."""
    if not held:
        return
    yield phrase("regression.head", language, name=held["name"], run=held["run"])
    yield from (f"  {line}" for line in apart(held, language))
    for model, part in suites_in(held):
        yield f"  {part['suite']} {model}: {regression(part, language)}"
        yield from (f"    {line}" for line in moved_lines(part["moved"], language))


def apart(held: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what is missing from the baseline, and other changes."""
    for what in held["missing"]:
        yield phrase(f"regression.{'missing_allowed' if held['allowed'] else 'missing'}", language, what=what)
    for one in held["differences"]:
        spoken = {name: one[name] for name in ("what", "run", "baseline")}
        how = {"decides": "differs_allowed", "rescored": "rescored"}.get(one["kind"], "differs")
        yield phrase(f"regression.{how}", language, **spoken)


_GATES = {"regressed": "fail", "undecided": "undecided", "held": "pass"}
"""The gate's outcome for each baseline outcome, from the worst to the best."""
_ORDER = [*_GATES]


def headline(held: Mapping[str, Any] | None, language: str) -> Iterator[str]:
    """Yield a line for a run's screen: the number of suites by outcome against the baseline, and the worst."""
    if not held:
        return
    parts = _worst_first(held)
    said = phrase("regression.head", language, name=held["name"], run=held["run"])
    if parts:
        model, part = parts[0]
        said += f": {part['suite']} {model}: {regression(part, language)}"
    outcomes = [part["outcome"] for _, part in parts[1:]]
    more = [f"{phrase(f'regression.{one}', language)} {n}" for one in _ORDER if (n := outcomes.count(one))]
    yield f"{said}; {phrase('regression.others', language, counts=', '.join(more))}" if more else said


def regressed(held: Mapping[str, Any], changes: Sequence[str], language: str) -> tuple[str, str]:
    """Return the run's outcome against its baseline and the cause: the worst suite, or what is missing."""
    worst = min(changes, key=_ORDER.index)
    outcome = phrase(f"regression.{worst}", language)
    said = phrase("regression.verdict", language, outcome=outcome, name=held["name"])
    gone = () if held["allowed"] else held["missing"]
    causes = [phrase("regression.missing", language, what=what) for what in gone]
    causes += [f"{part['suite']} {model} {points(part['difference'])}" for model, part in _worst_first(held)]
    return _GATES[worst], said if worst == "held" or not causes else f"{said} ({causes[0]})"


def _worst_first(held: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return sorted(suites_in(held), key=lambda one: _ORDER.index(one[1]["outcome"]))


def moved_lines(moved: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what changed in a suite's questions (`QuestionChanges` of metrics.analysis.questions as JSON)."""
    suite = moved["suite"]
    totals = {"relabelled": "common", "reworded": "before", "only_before": "before", "only_after": "after"}
    for kind, of in totals.items():
        if n := moved[f"n_{kind}"]:
            which = _named(moved[kind], n, language)
            yield phrase(f"questions.{kind}", language, suite=suite, n=n, total=moved[f"n_{of}"], which=which)


def _named(listed: Iterable[Mapping[str, Any]], n: int, language: str) -> str:
    def short(text: str) -> str:
        return clipped(" ".join(text.split()), _LONGEST)

    def answer(text: str | None) -> str:
        return (
            phrase("questions.unknown", language)
            if text is None
            else short(text) or phrase("questions.nothing", language)
        )

    said = []
    for one in [*listed][:NAMED]:
        question = short(one["prompt"]) or one["question_id"]
        if "before" in one:
            answers = {side: answer(one[side]) for side in ("before", "after")}
            question = phrase("questions.relabelled_one", language, question=question, **answers)
        said.append(question)
    return "; ".join([*said, *(["…"] if n > len(said) else [])])
