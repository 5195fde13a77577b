"""Citations on Natural Questions: load → pose → query → (cite) → judge → weigh for every model and batch.

Runs alone as `python -m flows.citation`.
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.command import main

    raise SystemExit(main("citation"))

from prefect import flow

from config.settings import Settings
from data.nq import SAMPLE
from flows.asking import Identities, ask_models
from flows.judging import bench_of, judge_batch
from tasks.cite import cite
from tasks.load import digest_of, load_citation
from tasks.report.material import Tables

SUITE = "citation"


@flow(name=SUITE, flow_run_name=SUITE, validate_parameters=False)
def citation(settings: Settings, identities: Identities) -> Tables:
    """Ask every model for cited answers; judge support and correctness, verify the sources."""
    part = settings.citation
    bench = bench_of(settings, part.judges, identities, SUITE)
    items = load_citation(
        SUITE,
        settings.store,
        source=part.data,
        digest=digest_of(part.data, SAMPLE),
        mode=part.mode,
        language=part.language,
        sampling={"method": part.sample_method, "n": part.n_samples, "seed": part.seed},
        batch_size=settings.batch_size,
    )
    tables = Tables(items=items)
    options = part.model_dump(include={"mode", "weight_interpretability", "weight_correctness", "alce"})
    for batch in ask_models(SUITE, settings, items, identities):
        asked = batch.asked
        evidence = None
        if part.mode == "closed_book":
            evidence = cite(
                batch.label, settings.store, batch.items, asked.requests, asked.responses, network=part.network
            )
        judged = judge_batch(
            settings,
            batch,
            metric=SUITE,
            options=options,
            bench=bench,
            aggregate=part.aggregate,
            evidence=evidence,
        )
        kept = [evidence] if evidence else []
        tables = tables.join(Tables(asked=[asked], evidence=kept)).join(judged)
    return tables
