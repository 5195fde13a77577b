"""Results side by side: `compare`, `gate`, and `view`, which serves them to a browser."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from basic_control.data.errors import InputError
from basic_control.data.exits import OUTCOMES, find_worst
from basic_control.flows.cli.console import prose, room, say, show, show_screen, show_written
from basic_control.flows.cli.options import ANYHOW, RUN, USUAL, File, FileOptions, Share, Where

if TYPE_CHECKING:
    from rich.console import RenderableType

    from basic_control.metrics.analysis.baseline import BaselineComparison
    from basic_control.metrics.analysis.policy import Gate
    from basic_control.metrics.analysis.verdict import RunVerdict
    from basic_control.tasks.compare.comparison import RunComparison
    from basic_control.tasks.compare.sides import FileForm
    from basic_control.tasks.exchange.frames import Side
    from basic_control.tasks.plan import BaselineRule
    from basic_control.tasks.store.runs import Run


MOST_PAIRS = 6
"""Rows of a comparison's table on a screen; the page has all."""
MOST_KEYS = 3
"""Keys of configurations that are listed on a screen; the page has all."""


def compare(
    *names: Annotated[str, RUN],
    metric: tuple[str, ...] = (),
    pairs: Literal["same", "all"] = "same",
    n_shown: Annotated[int, Parameter(name="--show", metavar="N")] = 3,
    html: File = "",
    markdown: File = "",
    json: File = "",
    junit: File = "",
    language: str = "",
    verify: Annotated[str, Parameter(metavar="METRIC")] = "",
    form: FileOptions = ANYHOW,
    at: Where = USUAL,
) -> None:
    """Compare runs, or files of other tools, on their common questions: what changed, and whether significantly.

    A file is recognised by its content: Inspect (.eval, .json), lm-evaluation-harness (samples_*.jsonl),
    promptfoo, DeepEval, ragas, OpenAI Evals, Every Eval Ever, or any CSV, JSONL or Parquet.
    Differences are the later-named run minus the earlier-named one. A model of several runs is compared with
    itself; of a single run, its models with each other, the later-configured minus the earlier one. Only the runs'
    tables are read: nothing is asked.

    Args:
        names: a run's id or folder, or a file or folder of another tool; `last` is the newest evaluation, alone it
            is compared with the one before
        metric: compare this metric, such as cot.l1; may be repeated (default: those of the scores)
        pairs: same: a model with itself in another run (all pairs if no model is in two runs); all: every pair
        n_shown: number of changed items to print with their texts (default: 3)
        html: write everything as one HTML page
        markdown: write everything as Markdown
        json: write everything as JSON
        junit: write a case for each difference as JUnit XML, which fails if the later one is worse
        verify: score the replies of files again with this metric of ours, such as number, and list differences
        language: the language of the output, such as en or ru (default: that of the last run's report)
    """
    from basic_control.flows.environment import keep_private
    from basic_control.tasks.compare.comparison import compare_runs
    from basic_control.tasks.report import comparison
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.store.tables import write_atomically

    keep_private()
    # The screen comes first: a file that cannot be written takes nothing from it.
    comparison_result = compare_runs(
        names,
        runs=at.runs,
        root=at.root,
        metrics=metric,
        every=pairs == "all",
        language=language,
        form=form.form(verify),
    )
    with use_language(comparison_result.language):
        show(*show_comparison(comparison_result, max(0, n_shown)))
    composed = ((html, comparison.html), (markdown, comparison.markdown), (json, comparison.document),
                (junit, comparison.junit))  # fmt: skip
    for path, compose in composed:
        if path:
            show_written([write_atomically(Path(path), compose(comparison_result))], comparison_result.language)


def show_comparison(comparison_result: "RunComparison", n_shown: int) -> Iterator["RenderableType"]:
    """Yield the output of a comparison: its answers, tables, the largest changes, and its limits."""
    from basic_control.tasks.report import comparison
    from basic_control.tasks.report.language import say
    from basic_control.tasks.report.remarks import notes
    from basic_control.tasks.report.text import join_names

    width, _ = room()
    for number, line in enumerate(comparison.lead(comparison_result)):
        # The first line decides; the others say on what.
        style = "" if number else "bold"
        yield prose(line, style)
    if comparison_result.pairs:
        yield comparison.screen_table(comparison_result).terminal(MOST_PAIRS)
    yield from map(prose, comparison.groups(comparison_result))
    shown_pairs = [
        (pair, frame)
        for pair, frame in zip(comparison_result.pairs, comparison_result.changed, strict=True)
        if comparison_result.is_listed(pair)
    ]
    # Alternate between pairs, and between losses and gains, the greatest first.
    queues = []
    for pair, frame in shown_pairs:
        heads = (frame.filter(sign * frame["gain"] > 0) for sign in (-1, 1))
        sides = (head.iter_rows(named=True) for head in heads)
        queues.append([(pair, row) for row in chain.from_iterable(zip_longest(*sides)) if row])
    # A reply that changed by several scores has one line.
    scores_by_change: dict[tuple[str, str], list[str]] = {}
    for pair, row in (change for turn in zip_longest(*queues) for change in turn if change):
        described = (comparison.describe_change(row), _describe_reply(row, width))
        scores_by_change.setdefault(described, []).append(comparison.headline(pair))
    for (direction, reply), scores in islice(scores_by_change.items(), n_shown):
        yield prose(f"{direction}: {join_names([*dict.fromkeys(scores)])}: {reply}")
    total = len(scores_by_change)
    if total > n_shown:
        yield prose(say("compare.not_shown", k=total - n_shown, n=total))
    elif comparison_result.pairs and not total:
        yield prose(say("compare.nothing_changed"))
    remarks = (
        comparison.describe_questions(comparison_result),
        comparison.describe_verified(comparison_result, n_shown),
        notes(comparison_result),
        comparison.bounds(comparison_result),
    )
    yield from map(prose, chain(*remarks))
    differing = comparison.configurations(comparison_result)
    if differing.rows:
        yield differing.terminal(MOST_KEYS)


def _describe_reply(row: Mapping[str, Any], width: int) -> str:
    """Return what was asked in a changed row, the replies, and the expected answer."""
    from basic_control.tasks.report.comparison import describe_place
    from basic_control.tasks.report.language import say
    from basic_control.tasks.report.rows import add_name, cut, find_ending

    question = add_name(row["name"], " ".join(row["question"].split())) or describe_place(row)
    before, after = (" ".join(find_ending(str(row[f"{side}_text"] or "")).split()) for side in ("before", "after"))
    longest = width // 4
    texts = [cut(text, longest) or f"({say('screen.empty_reply')})" for text in (before, after)]
    expected = (
        f" ({say('screen.expected', answer=cut(' '.join(str(row['answer']).split()), longest))})"
        if row["answer"]
        else ""
    )
    return f"{cut(question, width // 3)}: {' → '.join(texts)}{expected}"


def gate(
    new: Annotated[str, RUN],
    /,
    *,
    baseline: Annotated[str, RUN] = "",
    max_drop: Share = None,
    threshold: Share = None,
    by: Annotated[Literal["", "point", "interval"], Parameter(name="--gate", show_choices=False)] = "",
    metric: str = "",
    allow_different: bool = False,
    junit: File = "",
    json: File = "",
    form: FileOptions = ANYHOW,
    at: Where = USUAL,
) -> int:
    """Gate a run, or a file of another tool, by the exit code: for a build that runs any tool.

    Against a baseline it has regressed if the paired difference is significantly below the tolerated drop, and held
    if it is significantly above; if there are too few questions to tell, it is undecided.

    Args:
        new: a run's id or folder, or a file or folder of another tool
        baseline: an earlier run or file, or the name of a pinned baseline
        max_drop: the tolerated drop from the baseline (default: 0.02)
        threshold: the threshold of its score, from 0 to 1
        by: point: the score decides; interval: its interval does, and is undecided around the threshold (default:
            the run's own `gate`; of a file, point)
        metric: the metric that decides (default: a run's score, or a file's first)
        allow_different: compare even if rules differ or parts are missing, and list them (docs/baselines.md)
        junit: write a case for each gate as JUnit XML, and one for each row
        json: write the verdict, its scores and the comparison as JSON
    """
    from basic_control.data.suites import MAX_DROP
    from basic_control.flows.cli.error_files import write_errors
    from basic_control.flows.environment import keep_private
    from basic_control.tasks.plan import BaselineRule
    from basic_control.tasks.store.tables import write_atomically

    keep_private()
    # One path decides for a run and for another tool's file, as it does at the end of a run.
    rule = BaselineRule(baseline, MAX_DROP if max_drop is None else max_drop, allow_different)
    with write_errors({"junit": junit, "json": json}):
        verdict, comparison, sides, lines = decide(
            new,
            rule,
            runs=at.runs,
            root=at.root,
            metric=metric,
            threshold=threshold,
            by=by or None,
            form=form.form(),
        )
    show_screen(*lines)
    if junit:
        show_written([write_atomically(Path(junit), _cases(verdict, comparison, sides, metric))])
    if json:
        show_written([write_atomically(Path(json), _document(verdict, comparison))])
    return verdict.exit_code


def decide(
    new: str,
    rule: "BaselineRule",
    *,
    runs: Path,
    root: str = "",
    metric: str = "",
    threshold: float | None = None,
    by: "Gate | None" = None,
    form: "FileForm | None" = None,
) -> "tuple[RunVerdict, BaselineComparison | None, Sequence[Side], list[str]]":
    """Gate a run or a file as `tasks.compare.gating.decide_gate` does; return it, and the lines that say how.

    Raises:
        InputError: neither a baseline nor a threshold; or as `gate`.
    """
    from basic_control.tasks.compare.gating import choose_metrics, decide_gate
    from basic_control.tasks.report import regressions
    from basic_control.tasks.report.language import say
    from basic_control.tasks.report.remarks import name_deciding, remarks
    from basic_control.tasks.report.words import headlines_of, is_within_luck

    if not rule.name and threshold is None:
        raise InputError("gate: expected --baseline OLD, or --threshold SHARE, or both; found neither.")
    verdict, comparison, sides = decide_gate(
        new, runs=runs, root=root, rule=rule, metric=metric, threshold=threshold, gate=by, form=form
    )
    # What is worst comes first; of equal outcomes what decides.
    blocks = [(outcome, [f"{name}: {reason}"]) for _, name, outcome, reason in _thresholds(verdict)]
    if comparison:
        changes = [f"{new}, compared with {rule.name}:", *regressions.details(comparison)]
        blocks.append((find_worst((), comparison.outcomes) or "pass", changes))
    run = sides[-1].run
    if run and threshold is None and not metric:
        blocks += _list_missed(run)
    blocks.sort(key=lambda block: OUTCOMES.index(block[0]), reverse=True)
    lines = [*chain.from_iterable(block for _, block in blocks)]
    # What only the score decides may be luck: the reader is told how to ask for more.
    if any(map(is_within_luck, headlines_of(verdict.models))):
        lines.append(say("screen.luck"))
    lines.append(say(f"regression.exit_{int(verdict.exit_code)}"))
    if not metric:
        lines += name_deciding(sides, choose_metrics(sides, ""))
    lines += remarks(sides)
    return verdict, comparison, sides, lines


def _list_missed(run: "Run") -> "Iterator[tuple[str, list[str]]]":
    """Yield a run's scores that did not pass its own thresholds: the outcome, and the line that says so."""
    from basic_control.tasks.report.language import say
    from basic_control.tasks.store.runs import RESULTS, load_results

    # A run of which only the tables are left can be gated, and says nothing of thresholds.
    if not (run.folder / RESULTS).is_file():
        return
    _, verdict = load_results(run)
    for _, name, outcome, reason in _thresholds(verdict):
        if outcome != "pass":
            yield outcome, [say("regression.own_threshold", line=f"{name}: {reason}")]


def _document(verdict: "RunVerdict", comparison: "BaselineComparison | None") -> str:
    """Return a gate's verdict as JSON: the exit code, each headline with its decision, and the comparison."""
    from json import dumps

    from basic_control.metrics.analysis.document import record_json
    from basic_control.tasks.report.words import headlines_of

    headlines = [
        {"model": headline.model, **record_json(headline)}
        for headline in headlines_of(verdict.models)
        if headline.decided.outcome != "none"
    ]
    baseline = record_json(comparison) if comparison else None
    contents = {"exit_code": int(verdict.exit_code), "headlines": headlines, "baseline": baseline}
    return dumps(contents, ensure_ascii=False, indent=2) + "\n"


def _thresholds(verdict: "RunVerdict") -> Iterator[tuple[str, str, str, str]]:
    """Yield for each model and suite: their names, the outcome, and its explanation."""
    from basic_control.tasks.report.text import format_estimate, percent
    from basic_control.tasks.report.words import bounds, explain_outcome, headlines_of, score_name

    for headline in headlines_of(verdict.models):
        outcome, threshold = headline.decided.outcome, headline.decided.threshold
        if outcome != "none":
            score = " ".join(filter(None, (format_estimate(headline.measured.score, threshold), bounds(headline))))
            if threshold is not None:
                score += f", threshold {percent(threshold)}"
            sentence = "; ".join(filter(None, (f"{score}: {outcome}", explain_outcome(headline))))
            yield headline.model, f"{score_name(headline)}, {headline.model}", outcome, sentence


def _cases(
    verdict: "RunVerdict", comparison: "BaselineComparison | None", sides: "Sequence[Side]", metric: str
) -> str:
    """Return the gates, and the rows of the side that they gate, as JUnit XML."""
    from basic_control.tasks.compare.gating import choose_metrics
    from basic_control.tasks.report.junit import against_baseline, name_metric, text_of
    from basic_control.tasks.report.junit_cases import Gate
    from basic_control.tasks.report.words import headlines_of

    passes = verdict.undecided == "pass"
    deciding = [headline for headline in headlines_of(verdict.models) if headline.decided.outcome != "none"]
    metric_by_suite = choose_metrics(sides, metric)
    gates: list[Gate] = []
    for headline, (model, name, outcome, sentence) in zip(deciding, _thresholds(verdict), strict=True):
        name_of_suite = metric_by_suite.get(headline.suite, name_metric(headline.metric))
        parts = [(headline.suite, headline.model, name_of_suite)]
        gates.append(Gate(name, model, outcome, sentence, undecided_passes=passes, parts=parts))
    if comparison:
        gates += against_baseline(comparison, undecided_passes=passes)
    return text_of(gates, sides[-1].name, sides[-1], {*metric_by_suite.values()})


def view(
    *names: Annotated[str, RUN],
    port: Annotated[int, Parameter(metavar="PORT", validator=Number(gte=0, lte=65535))] = 0,
    open_: Annotated[bool, Parameter(name="--open")] = False,
    language: str = "",
    at: Where = USUAL,
) -> None:
    """Serve the runs to a browser on this machine: a sorted index, reports, and comparisons of runs or files.

    It listens only on 127.0.0.1, nothing can be changed, and no model is asked. Ctrl-C ends it.

    Args:
        named: a run's id or folder, whose report opens first; or files of other tools, as `compare` reads them,
            listed beside the runs: of two, their comparison opens first
        port: the port to listen on (default: a free one)
        open_: open the page in a browser
        language: the language of the pages, such as en or ru (default: that of the runs' reports; for all runs, the
            newest's)
    """
    from basic_control.flows.cli import viewing
    from basic_control.prompts.phrases import catalogue

    if language:
        catalogue(language)
    # Two files open with their comparison, a run with its report, everything else with the list.
    folder, page, files = at.runs, "/", viewing.find_foreign_files(names)
    if len(files) == len(("before", "after")):
        page = viewing.comparison_address(*files)
    elif names and not files:
        folder, page = viewing.report_path(folder, names[0])
    elif not files:
        at.find_runs_folder()
    with viewing.bind(port) as listening:
        free_port = listening.getsockname()[1]
        address = f"http://{viewing.HOST}:{free_port}{page}"
        show(f"The runs of {folder} are at {address} until Ctrl-C.")
        if open_:
            import webbrowser

            webbrowser.open(address)
        try:
            viewing.server(folder, free_port, language, files).run(sockets=[listening])
        except KeyboardInterrupt:
            say("Stopped.")
