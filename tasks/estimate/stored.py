"""Which replies a run needs of models and judges whose servers do not answer, and does not find stored."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from basic_control.data.batches import Ref
from basic_control.tasks.estimate.costs import (
    CallEstimate,
    ForeseenReply,
    describe_unstored,
    draw_rounds,
    estimate_judges,
    estimate_short_exams,
    estimate_target,
    list_given,
)
from basic_control.tasks.estimate.memory import Memory
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.plan import Identities, Plan, SuitePlan
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.store.samples import read_judged


def find_unstored(
    plan: Plan, identities: Identities, recorded: HeldReplies | None = None
) -> dict[tuple[str, str], str]:
    """Return why a run cannot do without some absent servers, by role and name: replies that it lacks.

    Of a suite that stops early the first round is looked up: which of the later ones are needed, only the replies
    say. A model that lacks replies is not asked, and its replies are not judged. `recorded` are the replies of an
    earlier run, which are judged in place of new ones.
    """
    memory = Memory(plan.store, plan.means.fresh, plan.report.language)
    for role, by_name in (("model", identities.models), ("judge", identities.judges)):
        memory.identities |= {(role, name): identity for name, identity in by_name.items()}
    targets: list[CallEstimate] = []
    foreseen: list[tuple[SuitePlan, list[ForeseenReply], dict[str, list[ForeseenReply]]]] = []
    for suite_plan in plan.suites:
        if recorded:
            foreseen.append((suite_plan, [*_list_recorded(suite_plan, recorded)], {}))
            continue
        items = draw_rounds(suite_plan)[0]
        replies_by_model: dict[str, list[ForeseenReply]] = {}
        for target in suite_plan.live_targets:
            if target.model.name not in identities.missing:
                portion, replies = estimate_target(suite_plan, target, items, memory)
                targets.append(portion)
                replies_by_model.setdefault(target.model.name, []).extend(replies)
        foreseen.append((suite_plan, list_given(suite_plan, items), replies_by_model))
    # Judges are asked only about replies that there will be.
    unstored = describe_unstored(targets, identities.absent)
    judges: list[CallEstimate] = []
    for suite_plan, replies, replies_by_model in foreseen:
        judged = [*replies]
        for name, model_replies in replies_by_model.items():
            if ("model", name) not in unstored:
                judged += model_replies
        judges += _estimate_judges(plan, suite_plan, judged, memory)
    return unstored | describe_unstored(judges, identities.absent)


def _list_recorded(suite_plan: SuitePlan, recorded: HeldReplies) -> Iterator[ForeseenReply]:
    """Yield the replies of an earlier run that are judged."""
    store = open_store(recorded.store)
    items: dict[int | None, Ref] = dict(enumerate(recorded.items(suite_plan.name)))
    templates = {target.name: target.template for target in suite_plan.targets}
    for batch, _ in recorded.batches(suite_plan.name, items, suite_plan.target_names):
        # The run's tables do not hold the prompts, only what fills them.
        prompted = replace(batch, template=templates.get(batch.cell.model))
        for row in read_judged(store, prompted):
            yield ForeseenReply(row, is_real=True)


def _estimate_judges(
    plan: Plan, suite_plan: SuitePlan, replies: list[ForeseenReply], memory: Memory
) -> Iterator[CallEstimate]:
    """Yield the calls to judges that the run needs stored where their servers are down.

    What a cascade hands over to its large judge, only the replies of the small one say.
    """
    languages = {reply.row.language for reply in replies}
    yield from estimate_short_exams(plan, suite_plan, languages, memory)
    small_of_large: dict[str, str] = {}
    for judge in chain.from_iterable(metric_plan.judges for metric_plan in suite_plan.judge_metrics):
        if judge.members:
            small, large = judge.members
            small_of_large[large] = small
    portions = [*estimate_judges(suite_plan, replies, memory)]
    asking = {(portion.metric, portion.entry) for portion in portions if portion.calls_due}
    for portion in portions:
        small = small_of_large.get(portion.entry)
        if small is None or (portion.metric, small) in asking:
            yield portion
