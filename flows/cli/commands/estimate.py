"""`estimate`: the dry run."""

from typing import Annotated

from flows.cli.completers import SUITE
from flows.cli.options import RunOptions, choose
from tasks.runtime.logs import begin


def estimate(only: Annotated[str, SUITE] = "", /, *, options: RunOptions | None = None) -> int:
    """Say what a run would ask, what it may cost and take, and what it could show; ask nothing.

    The same as `run --dry-run`.

    Args:
        only: one suite alone; all that the configuration names unless given
    """
    from flows.cli.estimate import show_estimate

    given = options or RunOptions()
    begin(given.log)
    settings, _ = choose(only, given)
    return show_estimate(settings)
