"""Run one suite: items → query → sources → verify, score or judge, for every target and batch."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from prefect import Flow
from prefect.context import FlowRunContext

from basic_control.config.exam import SUITE as EXAM
from basic_control.data.batches import Batch, Cell, Opponent, QueryResult, Ref, Tables
from basic_control.data.deciding import has_one_headline, parts_of_all
from basic_control.data.files import release
from basic_control.data.loading import digests_of, makers_of, offer_items, reply_schema, tools_of, verifiers_of
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.data.suites import ALL
from basic_control.data.units import digest_option_files, identity_of
from basic_control.flows.runners import open_runner, run_part
from basic_control.metrics.analysis.judged import LeftOut
from basic_control.metrics.analysis.results import SuiteFindings
from basic_control.metrics.analysis.verdict import decide_all
from basic_control.prompts import digest_templates, find_columns_of_all
from basic_control.tasks.arrange import Numbered, arrange, rounds_of
from basic_control.tasks.decide import open_targets
from basic_control.tasks.examine import SuiteJudges, judges_of
from basic_control.tasks.findings import event_fields, find_suite
from basic_control.tasks.generate import ItemSource, generate, record_given
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.judge import Deciders, judge
from basic_control.tasks.judges.labels import has_labels
from basic_control.tasks.models.protocol import find_server_digest
from basic_control.tasks.plan import Identities, MetricPlan, Plan, SuitePlan
from basic_control.tasks.query import prepare, query
from basic_control.tasks.runtime.logs import log_event
from basic_control.tasks.sandbox import kotlin_tools
from basic_control.tasks.score import join_metrics, measure, score, score_judged
from basic_control.tasks.stage import current_ledger
from basic_control.tasks.twins.renew import plan_twins, renew
from basic_control.tasks.verify import verify
from basic_control.tasks.verify_sources import verify_sources


def _find_recorded(plan: SuitePlan) -> HeldReplies | None:
    """Return an earlier run's replies that are judged in place of new ones."""
    # An exam's are its own, also before another judge sees a run's.
    if plan.name == EXAM:
        return None
    return current_ledger().earlier_replies


def items_of(plan: SuitePlan) -> list[Ref]:
    """Draw or load the suite's items, in batches."""
    recorded = _find_recorded(plan)
    if recorded:
        return recorded.items(plan.name)
    suite = plan.suite
    source = ItemSource(
        suite=suite.name,
        units=makers_of(suite),
        options=offer_items(suite),
        required=plan.required,
        prompts=tuple(suite.prompts_by_name.values()),
        batch_size=plan.batch_size,
        digests=(*digests_of(suite), *digest_templates(*suite.prompts_by_name.values())),
        left_out=tuple(sorted(plan.exclusions)),
        tools=tools_of(suite, find_columns_of_all(suite.prompts_by_name.values())),
        systems=tuple(sorted({target.model.system for target in plan.live_targets if target.model.system})),
    )
    items = generate(Cell(suite.name), plan.store, source)
    release(plan.files)
    if suite.stop is None:
        return items
    return arrange(Cell(suite.name), plan.store, items, suite=suite, stop=suite.stop)


def ask(
    plan: SuitePlan, items: Numbered, identities: Identities, names: Collection[str]
) -> Iterator[tuple[Batch, QueryResult]]:
    """Send every batch to the named targets concurrently; yield each in order."""
    store = plan.store
    recorded = _find_recorded(plan)
    if recorded:
        templates = {target.name: target.template for target in plan.targets}
        for batch, replies in recorded.batches(plan.name, items, names):
            yield replace(batch, template=templates.get(batch.cell.model)), replies
        return
    author = plan.responses_of
    if author:
        for number, batch in items.items():
            cell = Cell(plan.name, author, number)
            replies = record_given(cell, store, batch, model=author)
            yield Batch(cell, batch, replies.requests, replies.responses), replies
        return
    # All batches are begun before the first is waited for, so that no server is idle while replies are scored.
    started = []
    for target in plan.targets:
        if target.model.name in identities.missing or target.name not in names:
            continue
        identity = identities.models[target.model.name]
        # Only an entry that says so is asked with a schema: no other request changes.
        constraint = {"schema": reply_schema(plan.suite)} if target.model.is_structured else {}
        for number, batch in items.items():
            cell = Cell(plan.name, target.name, number)
            requests = prepare(
                cell,
                store,
                batch,
                model=target.model,
                target=target.name,
                prompt=target.template,
                templates=digest_templates(target.template),
                identity=identity,
                repeats=plan.repeats,
                recorded=current_ledger().recorded,
                around=plan.around,
                **constraint,
            )
            finish = query.start(
                cell,
                store,
                requests,
                model=target.model,
                shown_as=Cell(plan.name, target.name),
                needed=len(identities.models) == 1,
                digest=find_server_digest(identity),
                stored_only=("model", target.model.name) in identities.absent,
                run=current_ledger().attempt,
            )
            started.append((cell, batch, target.template, finish))
    for cell, batch, template, finish in started:
        replies = finish()
        yield Batch(cell, batch, replies.requests, replies.responses, template=template), replies


def score_by(
    plan: SuitePlan,
    batch: Batch,
    metric_plan: MetricPlan,
    identities: Identities,
    *,
    left_out: LeftOut,
    deciders: Deciders | None = None,
) -> Tables:
    """Score one batch of replies by one of the suite's metrics.

    `left_out` are its judges that do not count: they are asked only where labels correct what they say. `deciders`
    say when the small judges of its cascades decide alone.
    """
    name, options = metric_plan.name, metric_plan.options
    unit, store, sandbox = metric(name), plan.store, plan.sandbox
    identity = identity_of(Metric, name)
    cell = Cell(batch.cell.suite, batch.cell.model, batch.cell.batch, name)
    # A metric verifies by the family's own verifier, scores by a rule, or asks judges step by step.
    if unit.verifies:
        runner = kotlin_tools.describe_tools(sandbox.kotlin_compiler, sandbox.java)
        families = verifiers_of(plan.suite)
        verdicts = verify(batch.cell, store, batch, families=families, tools=sandbox, runner=runner)
        return Tables(verdicts=[verdicts], scores=[score(batch.cell, store, verdicts, metric=identity)])
    files = digest_option_files(options)
    if not unit.steps:
        return Tables(scores=[measure(cell, store, batch, metric=identity, options=options, files=files)])
    absent_judges = frozenset(name for role, name in identities.absent if role == "judge")
    judged = judge(
        cell,
        store,
        batch,
        metric=name,
        options=options,
        panel=replace(metric_plan.build_panel(identities.judges), absent=absent_judges),
        refresh=current_ledger().failed or current_ledger().refresh(judge.name, cell),
        recorded=current_ledger().recorded,
        run=current_ledger().attempt,
        unasked={} if has_labels(plan, cell.model, name) else left_out,
        deciders=deciders,
    )
    scores = score_judged(
        cell,
        store,
        batch,
        judged.judgements,
        metric=identity,
        options=options,
        aggregate=metric_plan.aggregate,
        left_out=left_out,
        files=files,
    )
    return Tables(judged=judged.calls, judgements=[judged.judgements], scores=[scores])


def evaluate(
    plan: SuitePlan,
    items: Numbered,
    identities: Identities,
    names: Collection[str],
    *,
    left_out: Mapping[str, LeftOut],
    deciders: Mapping[str, Deciders],
) -> Tables:
    """Ask targets batches of items and score the replies by the suite's metrics.

    The sources cited by replies are checked if a metric needs it. `left_out` maps metrics to the judges that do not
    count.
    """
    tables = Tables(items=list(items.values()))
    replies: Iterable[tuple[Batch, QueryResult]] = ask(plan, items, identities, names)
    opponents: dict[tuple[str, int | None], Batch] = {}
    if any(metric_plan.compared for metric_plan in plan.metrics):
        replies = list(replies)  # the opponents in comparisons may answer last
        opponents = {(batch.cell.model, batch.cell.batch): batch for batch, _ in replies}
    citing = _find_citing(plan)
    parts = parts_of_all(plan.suite)
    for batch, query_result in replies:
        cell = batch.cell
        if citing and not _find_recorded(plan):
            evidence = verify_sources(cell, plan.store, batch, network=bool(citing.options.get("network")))
            batch = replace(batch, evidence=evidence)  # noqa: PLW2901 - the same batch, with its evidence
        tables = tables.join(Tables(queries=[query_result], evidence=[batch.evidence] if batch.evidence else []))
        scores = Tables()
        for metric_plan in plan.metrics:
            name, compared = metric_plan.name, batch
            rival = opponents.get((plan.find_opponent(name, cell.model), cell.batch))
            if rival:
                opponent = Opponent(metric_plan.compared, rival.requests, rival.responses)
                compared = replace(batch, opponent=opponent)
            excluded, rules = left_out.get(name, {}), deciders.get(name, {})
            scores = scores.join(
                score_by(plan, compared, metric_plan, identities, left_out=excluded, deciders=rules)
            )
        tables = tables.join(scores)
        # The share of rows on which all metrics hold needs all their scores of the batch.
        if parts:
            joint = join_metrics(replace(cell, metric=ALL), plan.store, scores.scores, parts=parts)
            tables = tables.join(Tables(scores=[joint]))
    return tables


def _find_citing(plan: SuitePlan) -> MetricPlan | None:
    """Return the suite's first metric that needs the sources which replies cite."""
    for metric_plan in plan.metrics:
        needs_sources = metric(metric_plan.name).sources
        if needs_sources and needs_sources(metric_plan.options):
            return metric_plan
    return None


def renew_items(plan: SuitePlan, items: list[Ref]) -> tuple[Numbered, Tables]:
    """Make the twins of a suite's items, numbered after its batches, and count the outcomes of the originals."""
    request = plan_twins(plan.suite)
    if request is None:
        return {}, Tables()
    twins: dict[int | None, Ref] = {}
    tables = Tables()
    for number, batch in enumerate(items):
        renewed = renew(Cell(plan.name, batch=number), plan.store, batch, request=request)
        tables = tables.join(Tables(twin_counts=[*renewed.counts]))
        if renewed.items.rows:
            twins[len(items) + number] = renewed.items
    return twins, tables


def examine(plan: SuitePlan, judges: SuiteJudges) -> list[QueryResult]:
    """Have a suite's judges take the short exams that they lack; return what was asked."""
    queries: list[QueryResult] = []
    this = cast("Flow[..., Tables]", cast("FlowRunContext", FlowRunContext.get()).flow)  # on the same workers
    for exam in judges.plan_missing_exams():
        answers = run_part(
            partial(run_suite, exam, judges.identities), EXAM, run=f"{EXAM} of {plan.name}", like=this
        )
        judges.keep(exam, answers, current_ledger().run)
        queries += answers.judged
    return queries


def run_suite(plan: SuitePlan, identities: Identities) -> Tables:
    """Ask every target the suite's items, or as many as its verdict needs, and score the replies by its metrics."""
    items = items_of(plan)
    judges = judges_of(plan, items, identities)
    tables = Tables(judged=examine(plan, judges), n_offered=sum(ref.rows for ref in items))
    left_out, deciders = judges.find_left_out(), judges.deciders()
    twins, counts = renew_items(plan, items)
    log_event("suite_started", **count_calls(plan, identities, [*items, *twins.values()]))
    targets = plan.target_names
    # A suite without a stopping rule has one round; with one, targets leave as soon as their verdict is clear.
    for batches in rounds_of(plan.suite, items):
        names = plan.add_opponents(targets)
        tables = tables.join(evaluate(plan, batches, identities, names, left_out=left_out, deciders=deciders))
        targets = open_targets(plan, tables, identities, targets)
        if not targets:
            break
    if twins:
        names = plan.add_opponents(plan.target_names)
        renewed = evaluate(plan, twins, identities, names, left_out=left_out, deciders=deciders)
        tables = tables.join(renewed.of_twins)
    return tables.join(counts)


def count_calls(plan: SuitePlan, identities: Identities, items: Sequence[Ref]) -> dict[str, Any]:
    """Return what a suite is about to ask, at most."""
    n_targets = sum(target.model.name not in identities.missing for target in plan.live_targets)
    n_items = sum(ref.rows for ref in items)
    calls = n_items * n_targets * plan.repeats
    return {"run": current_ledger().run, "suite": plan.name, "items": n_items, "calls": calls}


@dataclass(frozen=True, slots=True)
class FinishedSuites:
    """The tables of a run's suites, and what each showed at its end."""

    tables: Tables
    findings: tuple[SuiteFindings, ...]


def run_suites(plan: Plan, identities: Identities) -> FinishedSuites:
    """Run the suites in turn."""
    tables, findings, ledger = Tables(), list[SuiteFindings](), current_ledger()
    with open_runner(plan.means.runner) as runner:
        ledger.distributed = runner is not None
        for suite in plan.suites:
            part = run_part(partial(run_suite, suite, identities), suite.name, runner=runner)
            waiting = sum(query_result.submitted for query_result in (*part.queries, *part.judged))
            tables = tables.join(part)
            finding = find_suite(plan, suite, part, identities, waiting)
            decisions = decide_all(finding.headlines, plan.policy)
            is_apart = len(plan.suites) > 1 and not has_one_headline(suite.suite)
            ended = {"suite": suite.name, "models": event_fields(decisions), "is_apart": is_apart}
            log_event("suite_ended", run=ledger.run, subject=decisions, **ended)
            findings.append(finding)
        ledger.distributed = False
    return FinishedSuites(tables, tuple(findings))
