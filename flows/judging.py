"""What the judged suites share: a metric put to the judges, then weighed."""

from collections.abc import Mapping
from typing import Any

from config.settings import Aggregate, Settings
from data.errors import InputError
from data.plugins import metrics
from data.records import Ref
from flows.asking import Batch, Identities
from tasks.judge import Bench, judge
from tasks.report.material import Tables
from tasks.score import weigh


def bench_of(settings: Settings, names: tuple[str, ...], identities: Identities, suite: str) -> Bench:
    """Return the judges of a suite.

    Raises:
        InputError: the configuration has none.
    """
    chosen = tuple(judge for judge in settings.judges if not names or judge.name in names)
    if not chosen:
        raise InputError(
            f"suite {suite}: found no judge, expected at least one under `judges` (the same keys as a model has). "
            f"Add one, or leave {suite} out of `suites`."
        )
    return Bench(chosen, {j.name: identities.judges[j.name] for j in chosen})


def judge_batch(
    settings: Settings,
    batch: Batch,
    *,
    metric: str,
    options: Mapping[str, Any],
    bench: Bench,
    aggregate: Aggregate,
    evidence: Ref | None = None,
) -> Tables:
    """Judge one batch of replies by one metric."""
    used = {name: value for name, value in options.items() if name in metrics()[metric].options}
    label = f"{batch.label} {metric}"
    asked = batch.asked
    judged = judge(
        label,
        settings.store,
        batch.items,
        asked.requests,
        asked.responses,
        metric=metric,
        options=used,
        bench=bench,
        label=batch.label,
        evidence=evidence,
    )
    scores = weigh(
        label,
        settings.store,
        batch.items,
        asked.requests,
        asked.responses,
        judged.judgements,
        metric=metric,
        options=used,
        aggregate=aggregate,
        evidence=evidence,
    )
    return Tables(judged=judged.asked, judgements=[judged.judgements], scores=[scores])
