"""One suite, whichever it is: items → query → sources → verify, score or judge, for every system and batch."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from prefect import Flow, flow
from prefect.context import FlowRunContext

from config.settings import Settings
from data.batches import Batch, Cell, QueryResult, Ref, Rival
from data.loading import compared, digests_of, makers_of, offered, responses_of, verifiers_of
from data.plugins import loader, metric
from data.records import Metric
from data.suites import Suite
from data.tables import ITEMS, SCORES
from data.units import identity_of
from flows.judges_exam import SUITE as EXAM
from flows.judges_exam import short_forms
from metrics.analysis.judged import LeftOut, Standing, left_out
from prompts import digests
from tasks.arrange import arrange
from tasks.cite import cite
from tasks.decide import decide, watched
from tasks.judge import judge
from tasks.judges.passports import Examined, keep_passports, lacking, standings_in
from tasks.load import Wanted, generate, given, load
from tasks.models.constancy import told_by_server
from tasks.models.systems import (
    Identities,
    accompanied,
    competitors,
    needed,
    panel_of,
    prompt_of,
    rival_of,
    systems_of,
)
from tasks.query import prepare, query
from tasks.report.material import Tables
from tasks.runtime.logs import event
from tasks.runtime.storage import open_store
from tasks.sandbox import kotlin_tools
from tasks.score import measure, score, score_judged
from tasks.stage import ledger
from tasks.verify import verify


def items_of(settings: Settings, suite: Suite) -> list[Ref]:
    """Draw or load the suite's items, in batches."""
    what = Wanted(
        suite=suite.name,
        units=makers_of(suite),
        options=offered(suite),
        required=needed(settings, suite),
        prompts=tuple(suite.asked_by.values()),
        batch_size=settings.batch_size,
        digests=(*digests_of(suite), *digests(*suite.asked_by.values())),
    )
    stage = generate if loader(suite.loader).generated else load
    items = stage(Cell(suite.name), settings.store, what)
    if suite.stop is None:
        return items
    return arrange(Cell(suite.name), settings.store, items, suite=suite, stop=suite.stop)


@dataclass(frozen=True, slots=True)
class Examination:
    """How a suite's judges stand before they are asked, and what the short form of the exam asked them."""

    standings: Sequence[Standing]
    judged: list[QueryResult]

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """The judges that do not count, by metric."""
        names = dict.fromkeys(one.metric for one in self.standings)
        return {name: left_out([one for one in self.standings if one.metric == name]) for name in names}


Numbered = Mapping[int | None, Ref]
"""Batches of items by their numbers; None for the only one."""


def ask(
    settings: Settings, suite: Suite, items: Numbered, identities: Identities, systems: Collection[str]
) -> Iterator[tuple[Batch, QueryResult]]:
    """Put every batch to those of the systems that are there, side by side; yield each in order."""
    store = settings.store
    if whose := responses_of(suite):
        for number, batch in items.items():
            cell = Cell(suite.name, whose, number)
            asked = given(cell, store, batch, model=whose)
            yield Batch(cell, batch, asked.requests, asked.responses), asked
        return
    started = []
    for system, model in systems_of(settings, suite):
        if model.name in identities.missing or system.name not in systems:
            continue
        for number, batch in items.items():
            cell = Cell(suite.name, system.name, number)
            prompt = prompt_of(suite, system)
            requests = prepare(
                cell,
                store,
                batch,
                model=model,
                system=system.name,
                prompt=prompt,
                templates=digests(prompt),
                identity=identities.models[model.name],
                repeats=settings.times(suite),
                recorded=ledger().recorded,
            )
            alone = len(identities.models) == 1
            running = query.start(
                cell,
                store,
                requests,
                model=model,
                cell=Cell(suite.name, system.name),
                needed=alone,
                digest=told_by_server(identities.models[model.name]),
                run=ledger().attempt,
            )
            started.append((cell, batch, running))
    for cell, batch, running in started:
        asked = running.finish()
        yield Batch(cell, batch, asked.requests, asked.responses), asked


def value(
    settings: Settings, suite: Suite, batch: Batch, name: str, identities: Identities, *, left_out: LeftOut
) -> Tables:
    """Score one batch of replies by one of the suite's metrics; `left_out` are its judges that do not count."""
    unit, options, store = metric(name), suite.options(name), settings.store
    identity = identity_of(Metric, name)
    cell = Cell(batch.cell.suite, batch.cell.model, batch.cell.batch, name)
    if unit.verifies:
        runner = kotlin_tools.describe(settings.sandbox.kotlin_compiler, settings.sandbox.java)
        families = verifiers_of(suite)
        verdicts = verify(batch.cell, store, batch, families=families, tools=settings.sandbox, runner=runner)
        return Tables(verdicts=[verdicts], scores=[score(batch.cell, store, verdicts, metric=identity)])
    if not unit.steps:
        return Tables(scores=[measure(cell, store, batch, metric=identity, options=options)])
    panel = panel_of(settings, suite, name, identities.judges)
    afresh = ledger().failed or ledger().anew(judge.name, cell)
    judged = judge(
        cell,
        store,
        batch,
        metric=name,
        options=options,
        panel=panel,
        afresh=afresh,
        recorded=ledger().recorded,
        run=ledger().attempt,
    )
    scores = score_judged(
        cell,
        store,
        batch,
        judged.judgements,
        metric=identity,
        options=options,
        aggregate=suite.use(name).aggregate or suite.aggregate,
        left_out=left_out,
    )
    return Tables(judged=judged.asked, judgements=[judged.judgements], scores=[scores])


def sourced(settings: Settings, suite: Suite, batch: Batch) -> Batch:
    """Check the sources that replies cite, where one of the suite's metrics asks for it."""
    for name in suite.used:
        wanted, options = metric(name).sources, suite.options(name)
        if wanted and wanted(options):
            evidence = cite(batch.cell, settings.store, batch, network=bool(options.get("network")))
            return replace(batch, evidence=evidence)
    return batch


def faced(settings: Settings, suite: Suite, batch: Batch, name: str, others: Iterable[Batch]) -> Batch:
    """Lay the replies of the system that a metric compares with beside a batch's own."""
    system = rival_of(settings, suite, name, batch.cell.model)
    for other in others:
        if (other.cell.model, other.cell.batch) == (system, batch.cell.batch):
            (wanted,) = compared(suite, name)
            return replace(batch, rival=Rival(wanted, other.requests, other.responses))
    return batch


def answered(
    settings: Settings,
    suite: Suite,
    items: Numbered,
    identities: Identities,
    systems: Collection[str],
    *,
    left_out: Mapping[str, LeftOut],
) -> Tables:
    """Ask systems batches of items and score the replies by the suite's metrics.

    `left_out` are the judges that do not count, by metric.
    """
    tables = Tables(items=list(items.values()))
    came: Iterable[tuple[Batch, QueryResult]] = ask(settings, suite, items, identities, systems)
    others: list[Batch] = []
    if any(compared(suite, name) for name in suite.used):
        came = list(came)  # whom replies are compared with may answer last
        others = [batch for batch, _ in came]
    for asked_batch, asked in came:
        batch = sourced(settings, suite, asked_batch)
        kept = [batch.evidence] if batch.evidence else []
        tables = tables.join(Tables(asked=[asked], evidence=kept))
        for name in suite.used:
            beside = faced(settings, suite, batch, name, others)
            tables = tables.join(value(settings, suite, beside, name, identities, left_out=left_out.get(name, {})))
    return tables


def _announce(settings: Settings, suite: Suite, items: list[Ref], identities: Identities) -> None:
    """Say how many calls the suite's questions will take, of all its systems that are there: at most."""
    asking = () if responses_of(suite) else systems_of(settings, suite)
    systems = sum(model.name not in identities.missing for _, model in asking)
    n_items = sum(ref.rows for ref in items)
    calls = n_items * systems * settings.times(suite)
    event("suite_started", run=ledger().run, suite=suite.name, items=n_items, calls=calls)


def examine(settings: Settings, suite: Suite, items: list[Ref], identities: Identities) -> Examination:
    """Have a suite's judges take the short form of the exam, where they are to and have no passport yet.

    Return how all of them stand then, before any of their verdicts is used, and what they were asked.
    """
    store = open_store(settings.store)
    spoken = {language for ref in items for language in store.read(ref)["language"].unique()}
    found = Examined(settings, identities.judges, store)
    before = standings_in(settings, suite, spoken, found)
    judged: list[QueryResult] = []
    this = cast("FlowRunContext", FlowRunContext.get())  # as a part of it, on the same workers
    for form in short_forms(settings, lacking(suite, before)):
        named = cast("Flow[..., Tables]", this.flow).with_options(
            name=EXAM, flow_run_name=f"{EXAM} of {suite.name}"
        )
        part = named(form, form.suite(EXAM), identities)
        scores, drawn = store.read_all(part.scores, SCORES), store.read_all(part.items, ITEMS)
        keep_passports(form, identities.judges, scores, drawn, store, about={"run": ledger().run})
        judged += part.judged
    return Examination(standings_in(settings, suite, spoken, found) if judged else before, judged)


@flow(name="suite", validate_parameters=False)
def run_suite(settings: Settings, suite: Suite, identities: Identities) -> Tables:
    """Ask every system the suite's items, or as many as its verdict needs, and score the replies by its metrics."""
    for name in suite.used:
        if metric(name).steps:
            panel_of(settings, suite, name, identities.judges)  # before anything is paid
    items = items_of(settings, suite)
    examined = examine(settings, suite, items, identities)
    tables = Tables(judged=examined.judged)
    left_out = examined.left_out
    systems = competitors(settings, suite)
    _announce(settings, suite, items, identities)
    if suite.stop is None:
        numbered: Numbered = dict(enumerate(items)) if len(items) > 1 else dict.fromkeys([None], items[0])
        return tables.join(answered(settings, suite, numbered, identities, systems, left_out=left_out))
    found = Examined(settings, identities.judges, open_store(settings.store))
    rule = next(one for one in watched(settings, found) if one.suite.name == suite.name)
    for number, batch in enumerate(items):
        asked = accompanied(settings, suite, systems)
        tables = tables.join(answered(settings, suite, {number: batch}, identities, asked, left_out=left_out))
        here = Cell(suite.name, batch=number)
        systems = decide(
            here, settings.store, tables.items, tables.scores, one=replace(rule, systems=tuple(systems))
        )
        # What waits in a batch at a server is not there to be followed: the next run goes on from here.
        if not systems or any(one.submitted for one in (*tables.asked, *tables.judged)):
            break
    return tables
