"""Known facts before a run: the cached replies, the identities of models, and the exams of judges.

Nothing is called or written, and no cache is created.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from basic_control.config.settings import Judge, Model, StoreSettings
from basic_control.data.batches import StoredIdentity
from basic_control.data.errors import InputError
from basic_control.metrics.analysis.judged import JudgeStatus
from basic_control.metrics.analysis.summary import percent
from basic_control.prompts.phrases import phrase, translate_reason
from basic_control.tasks.plan_remarks import describe_absence
from basic_control.tasks.query import find_identity
from basic_control.tasks.runtime.storage import find_cache_url, open_cache
from basic_control.tasks.store.databases import find_file
from basic_control.tasks.store.reply_cache import Remembered


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


@dataclass
class Memory:
    """Read access to a store's reply cache; notes in `language`, problems in English.

    `absent` are the models and judges whose servers do not answer, and did once: their stored replies are found.
    `examined` are the short exams that were counted: judge, step, language. `foreseen` are the requests that were,
    by model where its identity is not known. `statuses` say what is known of judges.
    """

    store: StoreSettings
    fresh: str
    language: str
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    identities: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    absent: dict[tuple[str, str], StoredIdentity] = field(default_factory=dict)
    examined: set[tuple[str, str, str]] = field(default_factory=set)
    foreseen: set[tuple[str, str]] = field(default_factory=set)
    statuses: list[JudgeStatus] = field(default_factory=list)

    @property
    def examinees(self) -> set[str]:
        """The judges whose short exams were counted."""
        return {judge for judge, _, _ in self.examined}

    def identity(self, role: str, model: Model) -> Mapping[str, str]:
        """Return a model's identity, as a run would; if it is unavailable, one of no cached call, with a note."""
        key = (role, model.name)
        if key not in self.identities:
            self.identities[key] = {"unavailable": "yes"}
            try:
                identity = find_identity(self.store, model)
                if identity.reason:
                    self.absent[key] = identity
                    self.notes.append(describe_absence(role, model.name, identity, self.language))
                self.identities[key] = identity.values
                if self.fresh:
                    self.identities[key] = {**self.identities[key], "fresh": self.fresh}
            except (InputError, TimeoutError) as error:
                why = str(error) or "its server did not respond"
                self.problems.append(f"{role} {model.name} cannot be asked: {why}")
                owner = {"role": phrase(f"page.role_{role}", self.language), "model": model.name}
                self.notes.append(phrase("estimate.no_lookup", self.language, why=why.rstrip("."), **owner))
        return self.identities[key]

    def lookup(self, ids: Iterable[str]) -> Mapping[str, Remembered]:
        """Return the cached replies among requests."""
        distinct, file = list(dict.fromkeys(ids)), find_file(find_cache_url(self.store))
        # Reading must not create a cache.
        is_empty = file is not None and not (file.is_file() and file.stat().st_size > 0)
        if is_empty or not distinct:
            return {}
        return open_cache(self.store).lookup(distinct)
