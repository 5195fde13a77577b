"""The full evaluation: every enabled suite, then one summary and its reports.

`python -m flows.full_eval [FILE] [SUITE] [--set path.to.key=value …]`
"""

if __name__ == "__main__":  # before Prefect is imported, so that --help and errors are instant
    from basic_control.flows.cli.application import alias

    raise SystemExit(alias("flows.full_eval", ("run",))())

from prefect import flow

from basic_control.config.settings import Rerun, Settings
from basic_control.data.files import cache_parsed
from basic_control.flows.evaluation import evaluate
from basic_control.flows.routes import route_clients
from basic_control.flows.runs import RunResult
from basic_control.tasks.plan import resolve
from basic_control.tasks.plan_remarks import check_expected

route_clients()  # also for a deployed run, which begins here


@flow(name="full_eval", flow_run_name="{settings.title}")
@cache_parsed()
def full_eval(settings: Settings, again: Rerun | None = None) -> RunResult:
    """Run every enabled suite on every model; aggregate, gate and report.

    `again` selects what of an earlier run to repeat. A stage runs unless it is cached; `query` asks only what the
    reply cache lacks.
    """
    plan = resolve(settings)
    check_expected(plan)
    return evaluate(plan, again or Rerun())
