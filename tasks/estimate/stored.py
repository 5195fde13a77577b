"""Which replies a run needs of models and judges whose servers do not answer, and does not find stored."""

from collections.abc import Iterator

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
from basic_control.tasks.plan import Identities, Plan, SuitePlan


def find_unstored(plan: Plan, identities: Identities) -> dict[tuple[str, str], str]:
    """Return why a run cannot do without some absent servers, by role and name: replies that it lacks.

    Of a suite that stops early the first round is looked up: which of the later ones are needed, only the replies
    say. A model that lacks replies is not asked, and its replies are not judged.
    """
    memory = Memory(plan.store, plan.means.fresh, plan.report.language)
    for role, by_name in (("model", identities.models), ("judge", identities.judges)):
        memory.identities |= {(role, name): identity for name, identity in by_name.items()}
    targets: list[CallEstimate] = []
    foreseen: list[tuple[SuitePlan, list[ForeseenReply], dict[str, list[ForeseenReply]]]] = []
    for suite_plan in plan.suites:
        items = draw_rounds(suite_plan)[0]
        replies_by_model: dict[str, list[ForeseenReply]] = {}
        for target in suite_plan.live_targets:
            if target.model.name not in identities.missing:
                portion, replies = estimate_target(suite_plan, target, items, memory)
                targets.append(portion)
                replies_by_model.setdefault(target.model.name, []).extend(replies)
        foreseen.append((suite_plan, list_given(suite_plan, items), replies_by_model))
    unstored = describe_unstored(targets, identities.absent)
    judges: list[CallEstimate] = []
    for suite_plan, replies, replies_by_model in foreseen:
        judged = [*replies]
        for name, model_replies in replies_by_model.items():
            if ("model", name) not in unstored:
                judged += model_replies
        judges += _estimate_judges(plan, suite_plan, judged, memory)
    return unstored | describe_unstored(judges, identities.absent)


def _estimate_judges(
    plan: Plan, suite_plan: SuitePlan, replies: list[ForeseenReply], memory: Memory
) -> Iterator[CallEstimate]:
    """Yield the calls to judges that are sure: all but those to the large one of a cascade."""
    languages = {reply.row.language for reply in replies}
    yield from estimate_short_exams(plan, suite_plan, languages, memory)
    large_judges = {judge.members[1] for judge in suite_plan.judges if judge.members}
    for portion in estimate_judges(suite_plan, replies, memory):
        if portion.entry not in large_judges:
            yield portion
