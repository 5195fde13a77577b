"""Chain of thought on GSM8K: load → pose → query → measure for every model and batch.

Runs alone as `python -m flows.cot [--data FILE]`.
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.command import main

    raise SystemExit(main("cot"))

from prefect import flow

from config.settings import Settings
from data.gsm8k import SAMPLE
from flows.asking import Identities, ask_models
from tasks.load import digest_of, load_cot
from tasks.report.material import Tables
from tasks.score import measure

SUITE = "cot"


@flow(name=SUITE, flow_run_name=SUITE, validate_parameters=False)
def cot(settings: Settings, identities: Identities) -> Tables:
    """Ask every model word problems and score the chains of thought, level by level."""
    part, store = settings.cot, settings.store
    items = load_cot(
        SUITE,
        store,
        source=part.data,
        digest=digest_of(part.data, SAMPLE),
        language=part.language,
        sampling={"method": part.sample_method, "n": part.n_samples, "seed": part.seed},
        batch_size=settings.batch_size,
    )
    options = {"weights": part.weights.model_dump(), "known_constants": part.known_constants}
    tables = Tables(items=items)
    for batch in ask_models(SUITE, settings, items, identities):
        asked = batch.asked
        scores = measure(
            batch.label, store, batch.items, asked.requests, asked.responses, metric=SUITE, options=options
        )
        tables = tables.join(Tables(asked=[asked], scores=[scores]))
    return tables
