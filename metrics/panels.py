"""Several judges of one sample: their scores joined to one, of those that count."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, median
from typing import Any, Literal

from basic_control.data.errors import InputError
from basic_control.data.records import Found, Score
from basic_control.metrics.judging import NOT_ASKED, WAITS, Judgement, Session, count_unsure, outcome

Aggregate = Literal["mean", "median", "min", "max", "majority"]

NONE_COUNTS = "no judge has passed its exam here"


def aggregate(values: Sequence[float], how: Aggregate) -> float:
    """Join judges' values into one; a tied majority takes the lower value."""
    if how == "majority":
        # Of equally frequent ones `max` takes the first, the lowest.
        return max(sorted(values), key=values.count)
    join = {"mean": fmean, "median": median, "min": min, "max": max}[how]
    return float(join(values))


def combine(
    sessions: Mapping[str, Session], how: Aggregate = "mean", left_out: Mapping[str, str] | None = None
) -> Score:
    """Join the ended sessions of several judges, by judge, on one sample and metric.

    Judges that failed, judges for whom the metric was not applicable, and those that do not count (`left_out`: why,
    by judge) are counted but excluded from value and parts; `details` keeps every asked judge's own score. If all
    failed, none counts, or one that counts has a reply to come, the result is `judge_failed`; but a score that
    needed no judge's reply keeps its value.

    Raises:
        InputError: no judge at all, or a majority over anything but verdicts and ratings.
    """
    if not sessions:
        raise InputError("no judge: a judged metric needs at least one; add one to `judges`.")
    excluded = _select_excluded(sessions, left_out or {})
    scores: dict[str, Score] = {}
    for judge, session in sessions.items():
        if judge not in excluded or session.failure != NOT_ASKED:
            scores[judge] = outcome(session)
    details = _describe_judges(sessions, scores, how)
    if excluded:
        details["left_out"] = excluded
    counting = {judge: score for judge, score in scores.items() if judge not in excluded}
    if not counting:
        return Score(None, "judge_failed", NONE_COUNTS, details, _list_parts(scores.values()))
    # A reply to come may change the value: there is none until then.
    waiting = [score for score in counting.values() if score.reason.endswith(WAITS)]
    if waiting:
        return _join_failures(waiting, details)
    valued = {judge: score for judge, score in counting.items() if score.value is not None}
    if not valued:
        return _join_failures([*counting.values()], details)
    if how == "majority":
        score = _score_majority([sessions[judge] for judge in valued])
        return replace(score, details={**details, "majority": dict(score.details)})
    return _join_values([*valued.values()], how, details)


def _select_excluded(sessions: Mapping[str, Session], left_out: Mapping[str, str]) -> dict[str, str]:
    """Return the judges that do not count, with the reason; none where all was settled without a question."""
    for session in sessions.values():
        if session.n_calls or session.failure == NOT_ASKED:
            return {judge: reason for judge, reason in left_out.items() if judge in sessions}
    return {}


def _score_majority(voters: Sequence[Session]) -> Score:
    """Return the metric's score of the verdict or rating that most judges gave to each question."""
    first = voters[0]
    votes_by_question: dict[tuple[str, str], list[Judgement]] = {}
    for voter in voters:
        for question, reply in _list_replies(voter.replies):
            if not isinstance(reply, Judgement):
                raise InputError(
                    f"metric {first.metric.name}: cannot aggregate by majority, because each judge makes its own "
                    "claims. Use mean, median, min or max; majority is only for verdicts and ratings."
                )
            votes_by_question.setdefault(question, []).append(reply)
    winners: dict[str, dict[str, Judgement]] = {}
    for (step, key), votes in votes_by_question.items():
        winners.setdefault(step, {})[key] = _find_winner(votes)
    return first.metric.score(first.sample, winners, first.options)


def _list_replies(replies: Found) -> Iterator[tuple[tuple[str, str], Any]]:
    """Yield each reply of a judge with its question: its step and its key."""
    for step, step_replies in replies.items():
        for key, reply in step_replies.items():
            yield (step, key), reply


def _find_winner(votes: Sequence[Judgement]) -> Judgement:
    """Return the first vote for the value that most judges gave."""
    values = [vote.value for vote in votes]
    return votes[values.index(aggregate(values, "majority"))]


def _list_parts(scores: Iterable[Score]) -> dict[str, None]:
    """Return the names of the scores' parts, each once, as a score without a value has them."""
    parts: dict[str, None] = {}
    for score in scores:
        parts |= dict.fromkeys(score.parts)
    return parts


def _describe_judges(
    sessions: Mapping[str, Session], scores: Mapping[str, Score], how: Aggregate
) -> dict[str, Any]:
    """Return the details of a score by several judges: each one's own score, and how many there are."""
    # Each judge's own score is kept, also of those that do not count.
    judges: dict[str, Any] = {}
    statuses: list[str] = []
    for judge, score in scores.items():
        session = sessions[judge]
        statuses.append(score.status)
        judges[judge] = {
            "value": score.value,
            "status": score.status,
            "reason": score.reason,
            "n_calls": session.n_calls,
            "n_repairs": session.n_repairs,
            "n_unsure": count_unsure(session.replies),
            "parts": dict(score.parts),
            "details": dict(score.details),
            **_format_probabilities(session),
        }
    return {
        "aggregate": how,
        "n_judges": len(scores),
        "n_failed": statuses.count("judge_failed"),
        "n_not_applicable": statuses.count("not_applicable"),
        "judges": judges,
    }


def _join_failures(scores: Sequence[Score], details: Mapping[str, Any]) -> Score:
    """Return the score without a value: not applicable, if some judge says so, else failed."""
    relevant = [score for score in scores if score.status == "not_applicable"] or scores
    reasons = _list_reasons(relevant)
    return Score(None, relevant[0].status, "; ".join(reasons), details, dict.fromkeys(relevant[0].parts))


def _list_reasons(scores: Sequence[Score]) -> list[str]:
    """Return the scores' reasons, each once."""
    return [*dict.fromkeys(score.reason for score in scores)]


def _join_values(scores: Sequence[Score], how: Aggregate, details: Mapping[str, Any]) -> Score:
    """Return the score with the judges' joined value and parts; their reason, if all give the same."""
    parts: dict[str, float | None] = {}
    for name in _list_parts(scores):
        parts[name] = _join_optional([score.parts.get(name) for score in scores], how)
    value = _join_optional([score.value for score in scores], how)
    reason, *further_reasons = _list_reasons(scores)
    if further_reasons:
        reason = ""
    return Score(value, scores[0].status, reason, details, parts)


def _join_optional(values: Sequence[float | None], how: Aggregate) -> float | None:
    """Join the values of the judges that have one."""
    numbers = [value for value in values if value is not None]
    if not numbers:
        return None
    return aggregate(numbers, how)


def _format_probabilities(session: Session) -> dict[str, Any]:
    """Return a deciding judge's probabilities, and how a cascade decided, as a score's details hold them."""
    details: dict[str, Any] = {}
    if session.probabilities:
        details["probabilities"] = session.probabilities
    if session.cascade:
        details["cascade"] = session.cascade
    return details
