"""What is known of the judges' exams before a run: passed, failed, about to be taken, or none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from basic_control.config.settings import Judge
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.analysis.summary import percent
from basic_control.prompts.phrases import phrase, translate_reason


def describe_exams(
    judges: Iterable[Judge], statuses: Sequence[JudgeStatus], calls: Mapping[str, int], language: str
) -> Iterator[str]:
    """Yield a line for each judge that has a status; `calls` are those of the exams that the run takes first."""
    for judge in judges:
        of_judge = [status for status in statuses if status.judge == judge.name]
        sentences = [*_describe_passports(of_judge, language)]
        n_calls = calls.get(judge.name)
        if n_calls:
            sentences.append(phrase("estimate.exam_due", language, n=n_calls))
        # A judge by rules takes its exam without a call.
        elif n_calls is None and of_judge and not all(status.measured for status in of_judge):
            sentences.append(phrase("estimate.exam_none", language))
        if sentences:
            yield phrase("estimate.exam", language, judge=judge.name, told="; ".join(sentences))


def _describe_passports(statuses: Iterable[JudgeStatus], language: str) -> Iterator[str]:
    """Yield whether a judge failed its exam at a step, or how often it was right where it was so least often."""
    shares: dict[str, float] = {}
    reasons: list[str] = []
    for status in statuses:
        if not status.counts:
            reasons.append(status.why)
        elif status.right and status.right.share is not None:
            shares[status.exam] = min(status.right.share, shares.get(status.exam, 1.0))
    if reasons:
        yield phrase("estimate.exam_failed", language, why=translate_reason(reasons[0], language))
    elif shares:
        step = min(shares, key=shares.__getitem__)
        yield phrase("estimate.exam_passed", language, step=step, share=percent(shares[step]))
