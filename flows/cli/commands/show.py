"""A finished run's replies in the terminal."""

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.errors import InputError
from basic_control.flows.cli import console
from basic_control.flows.cli.options import RUN, USUAL, Where

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from basic_control.tasks.compare.rows import ShownRow

INDENT, DEEPER = "  ", "      "
REASONS = 5
"""The most reasons that are counted at the end."""


def show(
    run: Annotated[str, RUN] = "last",
    /,
    *,
    failed: bool = False,
    metric: tuple[str, ...] = (),
    model: str = "",
    grep: Annotated[str, Parameter(name="--grep", metavar="TEXT")] = "",
    n: Annotated[int, Parameter(name=["-n", "--n"], metavar="N", validator=Number(gte=1))] = 10,
    at: Where = USUAL,
) -> None:
    """Show a run's replies, the worst first: what was asked, what came back, what was expected.

    Args:
        run: a run's id or folder (default: the last finished run)
        failed: only replies with less than the full score, and those not scored, by each metric that decides
        metric: by this metric, such as exact_match; may be repeated (default: those that decide)
        model: only replies of this model
        grep: only replies that hold this text, in any case
        n: maximum number of rows, over all suites, models and metrics
    """
    from basic_control.tasks.compare.configurations import choose_language
    from basic_control.tasks.compare.rows import list_failed, list_worst_first
    from basic_control.tasks.compare.sides import load_side
    from basic_control.tasks.report.language import say, use_language
    from basic_control.tasks.store.runs import find_run

    recorded_run = find_run(run, at.runs)
    side = load_side(recorded_run, at.root)
    rows = list_worst_first(side, metric)
    if not rows and metric:
        names = ", ".join(sorted(set(side.scores["metric"])))
        raise InputError(
            f"--metric {', '.join(metric)}: run {side.name} has no such scores; expected some of {names}."
        )
    if model:
        models = dict.fromkeys(map(attrgetter("model"), rows))
        rows = [row for row in rows if row.model == model]
        if not rows:
            names = ", ".join(models)
            raise InputError(f"--model {model}: run {side.name} has no reply of it; expected one of {names}.")
    # By every metric a reply may be listed several times, otherwise once.
    shown_rows = rows
    if failed:
        shown_rows = list_failed(side, metric)
    if failed and model:
        shown_rows = [row for row in shown_rows if row.model == model]
    if grep.strip():
        shown_rows = [row for row in shown_rows if _fold(grep) in _fold(row.reply)]
    with use_language(choose_language([recorded_run.configuration])):
        _show_rows(side.name, rows, shown_rows, n)
        if grep.strip() and not shown_rows:
            console.show_screen(say("screen.none_holds", text=grep))


def _fold(text: str) -> str:
    """Return a text for a search in it: in one case, its lines as one."""
    return " ".join(text.casefold().split())


def _show_rows(run: str, rows: "Sequence[ShownRow]", shown_rows: "Sequence[ShownRow]", n: int) -> None:
    """Print how many rows a run has, and the first `n` of those to be shown, by suite, model and score."""
    from basic_control.tasks.report.language import say
    from basic_control.tasks.report.rows import share_out
    from basic_control.tasks.report.words import suite_title

    n_failed, n_unscored = sum(row.is_failed for row in rows), sum(row.is_unscored for row in rows)
    phrase = "screen.replies"
    if n_unscored:
        phrase = "screen.replies_unscored"
    console.show_screen(say(phrase, run=run, n=len(rows), k=n_failed, unscored=n_unscored))
    # Each score of a suite and model has a list of its own, in the order of the rows.
    groups: dict[tuple[str, str, str], list[ShownRow]] = {}
    for row in shown_rows:
        groups.setdefault((row.suite, row.model, row.metric), []).append(row)
    shares = share_out(n, [len(group) for group in groups.values()])
    n_shown = 0
    for ((suite, name, scored_by), group), share in zip(groups.items(), shares, strict=True):
        if share:
            console.show_screen(
                "", f"{suite_title(suite)}, {name}, {scored_by}: {say('screen.n_replies', n=len(group))}"
            )
            n_shown += _show_group(group, share)
    if len(shown_rows) > n_shown:
        console.show_screen("", say("screen.more_rows", n=len(shown_rows) - n_shown, total=len(shown_rows)))


def _show_group(rows: "Sequence[ShownRow]", n: int) -> int:
    """Print the first `n` lines of rows with what their scores say; return how many rows these are."""
    from basic_control.tasks.report.rows import list_entries, list_unsaid

    width, _ = console.room()
    entries = list_entries(rows, n, width - len(INDENT), has_remarks=True)
    for entry in entries:
        console.show_screen(INDENT + entry.text)
        for sentence in list_unsaid(entry, width - len(DEEPER)):
            console.show_screen(DEEPER + sentence)
    for line in _count_reasons(rows):
        console.show_screen(INDENT + line)
    return sum(entry.count for entry in entries)


def _count_reasons(rows: "Sequence[ShownRow]") -> "Iterator[str]":
    """Yield a line with the commonest reasons of lost points, and one of missing scores, where rows share one."""
    from basic_control.tasks.report.language import say, say_reason

    lost, unscored = Counter[str](), Counter[str]()
    for row in rows:
        if row.reason and row.is_unscored:
            unscored[say_reason(row.reason)] += 1
        elif row.reason and row.is_failed:
            lost[say_reason(row.reason)] += 1
    for phrase, counts in (("screen.lost", lost), ("screen.unscored", unscored)):
        shared = [f"{reason} × {count}" for reason, count in counts.most_common(REASONS) if count > 1]
        if shared:
            yield say(phrase, reasons="; ".join(shared))
