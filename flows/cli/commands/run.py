"""`run`: the evaluation itself."""

import sys
from typing import TYPE_CHECKING, Annotated

from data.errors import InputError
from data.exits import Exit
from flows.cli.completers import SUITE
from flows.cli.console import say
from flows.cli.evaluating import evaluate
from flows.cli.options import RunOptions, choose
from tasks.runtime.logs import begin

if TYPE_CHECKING:
    from config.settings import Settings


def run(
    only: Annotated[str, SUITE] = "",
    /,
    *,
    options: RunOptions | None = None,
    dry_run: bool = False,
    yes: bool = False,
    verbose: bool = False,
) -> int:
    """Evaluate models: generate, query, verify, score, aggregate, report. The default command.

    Replies are cached: what was answered once is never asked or paid again.

    Args:
        only: one suite alone; all that the configuration names unless given
        dry_run: say what would be asked, what it may cost and take, and ask nothing
        yes: begin even a run of hundreds of thousands of calls, without a question
        verbose: print the whole report and every stage as well, above the last screen
    """
    given = options or RunOptions()
    begin(given.log)
    settings, again = choose(only, given)
    if dry_run:
        from flows.cli.estimate import show_estimate

        return show_estimate(settings)
    _confirm(settings, yes=yes)
    outcome, plan = evaluate(settings, again, only_failed=given.only_failed)
    from flows.cli.outcome import show_outcome

    repeated = bool(again.rerun or again.resume or again.of)
    show_outcome(outcome, plan, verbose=verbose, again=repeated)
    return Exit(outcome.exit_code)


def _confirm(settings: "Settings", *, yes: bool) -> None:
    """Have a vast run agreed to.

    Raises:
        InputError: nobody has.
    """
    from flows.preflight import too_many_items
    from prompts.phrases import ENGLISH

    if not yes and (said := too_many_items(settings, ENGLISH)):
        if not sys.stdin.isatty():
            raise InputError(f"{said} Give --yes to begin it, or a smaller n_items.")
        say(f"{said} Begin? [y/N]")
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise InputError("Not begun.")
