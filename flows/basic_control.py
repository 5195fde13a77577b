"""Basic Control: six generated families, generate → pose → query → verify → score for every model and batch.

Runs alone as `python -m flows.basic_control`.
"""

if __name__ == "__main__":  # before Prefect is imported: --help and errors answer at once
    from flows.command import main

    raise SystemExit(main("basic_control"))

from prefect import flow

from config.settings import Settings
from data.plugins import family
from flows.asking import Identities, ask_models
from tasks.generate import generate
from tasks.report.material import Tables
from tasks.score import score
from tasks.verify import verify

SUITE = "basic_control"


@flow(name=SUITE, flow_run_name=SUITE, validate_parameters=False)
def basic_control(settings: Settings, identities: Identities) -> Tables:
    """Ask every model the generated items and verify the replies."""
    part, store = settings.basic_control, settings.store
    families = {family(name).name: family(name).version for name in part.families}
    items = generate(
        SUITE,
        store,
        families=families,
        levels=part.levels,
        languages=part.languages,
        seed=part.seed,
        n_items=part.n_items,
        options=part.options,
        batch_size=settings.batch_size,
    )
    tables = Tables(items=items)
    for batch in ask_models(SUITE, settings, items, identities):
        verdicts = verify(batch.label, store, batch.items, batch.asked.requests, batch.asked.responses)
        scores = score(batch.label, store, verdicts)
        tables = tables.join(Tables(asked=[batch.asked], verdicts=[verdicts], scores=[scores]))
    return tables
