"""Retrieval-augmented answers: load → pose → query (where the data holds no responses) → judge → weigh.

Runs alone as `python -m flows.rag [--data FILE]`.
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.command import main

    raise SystemExit(main("rag"))

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prefect import flow

from config.settings import Settings
from data.rag import SAMPLE
from data.records import Ref
from flows.asking import Batch, Identities, ask_models
from flows.judging import bench_of, judge_batch
from tasks.judge import Bench
from tasks.load import digest_of, given, holds_responses, load_rag, name_of
from tasks.report.material import Tables

SUITE = "rag"


def guest_of(settings: Settings) -> str:
    """Return the name under which responses that the data holds are reported; '' where models are asked."""
    part = settings.rag
    if not holds_responses(part.data):
        return ""
    return part.response_model or f"responses of {name_of(part.data)}"


def _batches(settings: Settings, items: Sequence[Ref], identities: Identities) -> Iterator[Batch]:
    guest = guest_of(settings)
    if not guest:
        yield from ask_models(SUITE, settings, items, identities)
        return
    for number, batch in enumerate(items):
        label = f"{SUITE} {guest} {number}"
        yield Batch(label, guest, batch, given(label, settings.store, batch, model=guest))


@flow(name=SUITE, flow_run_name=SUITE, validate_parameters=False)
def rag(settings: Settings, identities: Identities) -> Tables:
    """Judge responses for factual correctness and groundedness."""
    part = settings.rag
    bench = bench_of(settings, part.judges, identities, SUITE)
    facts, grounds = part.factual_correctness, part.response_groundedness
    required = ("question", *(("reference",) if facts.enabled else ()))
    required = (*required, *(("retrieved_contexts",) if grounds.enabled else ()))
    items = load_rag(
        SUITE,
        settings.store,
        source=part.data,
        digest=digest_of(part.data, SAMPLE),
        language=part.language,
        required=required,
        sampling={"method": part.sample_method, "n": part.n_samples, "seed": part.seed},
        batch_size=settings.batch_size,
    )
    asked: list[tuple[str, bool, Mapping[str, Any], Bench]] = [
        ("factual_correctness", facts.enabled, {"mode": facts.mode}, replace(bench, temperature=0.0)),
        (
            "response_groundedness",
            grounds.enabled,
            {"heuristic_shortcuts": grounds.heuristic_shortcuts},
            replace(bench, temperature=grounds.temperature),
        ),
    ]
    tables = Tables(items=items)
    for batch in _batches(settings, items, identities):
        tables = tables.join(Tables(asked=[batch.asked]))
        for metric, enabled, options, judges in asked:
            if enabled:
                tables = tables.join(
                    judge_batch(
                        settings, batch, metric=metric, options=options, bench=judges, aggregate=part.aggregate
                    )
                )
    return tables
