"""`run`: the evaluation itself."""

from typing import Annotated

from cyclopts import Parameter

from data.exits import Exit
from flows.cli.evaluating import evaluate
from flows.cli.options import Options, choose
from tasks.runtime.logs import begin


def run(
    only: Annotated[str, Parameter(name="SUITE")] = "",
    /,
    *,
    options: Options | None = None,
    dry_run: bool = False,
) -> int:
    """Evaluate models: generate, query, verify, score, aggregate, report. The default command.

    Replies are cached: what was answered once is never asked or paid again.

    Args:
        only: one suite alone; all that the configuration names unless given
        dry_run: say what would be asked, what it may cost and take, and ask nothing
    """
    given = options or Options()
    begin(given.log)
    settings, again = choose(only, given)
    if dry_run:
        from flows.cli.estimate import show_estimate

        return show_estimate(settings)
    outcome = evaluate(settings, again, only_failed=given.only_failed)
    from flows.cli.outcome import show_outcome, show_stages

    show_outcome(outcome, settings)
    if again.rerun or again.resume or again.of:
        show_stages(outcome, settings)
    return Exit(outcome.exit_code)
