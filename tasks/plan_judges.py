"""Whether the judges of a plan can answer the metrics that ask them; checked before any call."""

from basic_control.data.errors import InputError
from basic_control.data.options import list_option_names, options_of
from basic_control.data.plugins import metric
from basic_control.data.records import Metric
from basic_control.tasks.plan import MetricPlan, Plan, SuitePlan


def check_judges(plan: Plan) -> None:
    """Reject judged metrics without a judge, or with one that cannot answer them.

    Raises:
        InputError: the configuration has none; one that only decides must write; or one has no rule for a step.
    """
    for suite in plan.suites:
        for use in suite.judge_metrics:
            if use.judges:
                continue
            raise InputError(
                f"suite {suite.name}: found no judge, expected at least one under `judges` (the same keys as a "
                f"model has). Add one, or leave {suite.name} out of `suites`."
            )
        for use in suite.judge_metrics:
            _check_cascades(suite.name, use)
            _check_deciding(suite.name, use)
            _check_rules(suite, use)


def _check_cascades(suite: str, use: MetricPlan) -> None:
    """Reject a cascade of a metric that is not one typed step."""
    unit = metric(use.name)
    steps = unit.list_steps(options_of(unit, use.options))
    cascades = [judge.name for judge in use.judges if judge.members]
    if cascades and (len(steps) > 1 or steps[0].asks is None):
        raise InputError(
            f"suite {suite}: {use.name} asks judges in several steps ({', '.join(step.name for step in steps)}), "
            f"and the cascade {cascades[0]} is for one. {_name_alternatives(unit)}"
        )


def _check_deciding(suite: str, use: MetricPlan) -> None:
    """Reject a deciding judge of a metric with a step that must be written."""
    unit = metric(use.name)
    written = [step.name for step in unit.list_steps(options_of(unit, use.options)) if step.asks is None]
    deciding = [judge.name for judge in use.panel_judges if judge.decides]
    if written and deciding and not unit.internal:
        raise InputError(
            f"suite {suite}: {use.name} needs judges that write (for its step {written[0]}), and {deciding[0]} "
            f"only decides. {_name_alternatives(unit)}"
        )


def _name_alternatives(unit: Metric) -> str:
    """Return what to do about judges that cannot answer a metric."""
    advice = f"Name others: `metrics: {{{unit.name}: {{judges: [NAME]}}}}`"
    if "claims" not in list_option_names(unit.options):
        return f"{advice}."
    return f"{advice}; or take sentences for claims: `metrics: {{{unit.name}: {{claims: sentences}}}}`."


def _check_rules(suite: SuitePlan, use: MetricPlan) -> None:
    """Refuse a metric with a step that one of its judges has no rule for."""
    deciding = [judge for judge in use.judges if judge.unit.decide]
    if not deciding:
        return
    from basic_control.metrics.exam import (
        exams_of_steps,  # imports every judged metric, which most runs need later or never
    )

    steps = exams_of_steps(metric(use.name), suite.suite.source, use.options)
    for judge in deciding:
        for step, exam in steps.items():
            if exam in judge.unit.rules:
                continue
            raise InputError(
                f"suite {suite.name}: the judge {judge.name} (provider {judge.provider}) has no rule for "
                f"{use.name}'s step {step}, expected only {', '.join(judge.unit.rules)}. Name other "
                f"judges: `metrics: {{{use.name}: {{judges: [NAME]}}}}`."
            )
