"""What asks models: `run`, `exam` and `demo`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from basic_control.data.commands import TOP, format_command
from basic_control.data.errors import InputError, plural
from basic_control.data.exits import Exit
from basic_control.flows.cli.console import complain, room, say, show, show_screen
from basic_control.flows.cli.evaluating import evaluate, show_outcome
from basic_control.flows.cli.options import (
    UNGIVEN,
    Configuration,
    Folder,
    Languages,
    Names,
    RunOptions,
    Sets,
    Words,
    as_yaml,
    find_runs_folder,
    parse_words,
    read_settings,
)
from basic_control.tasks.runtime.logs import begin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from basic_control.config.settings import Rerun, Settings
    from basic_control.metrics.analysis.passports import Passport


def run(
    *words: Words,
    options: RunOptions = UNGIVEN,
    dry_run: bool = False,
    yes: bool = False,
    verbose: bool = False,
) -> int:
    """Evaluate models: generate, query, verify, score, aggregate, report. The default command.

    Replies are cached: what was answered once is never asked or paid for again.

    Args:
        dry_run: ask nothing; print what would be asked, its estimated cost and time, and what it could detect
        yes: start even a run of hundreds of thousands of calls without confirmation
        verbose: also print the whole report and every stage, above the final screen
    """
    begin(options.log)
    if dry_run:
        from basic_control.flows.cli.estimate import show_estimate

        return show_estimate(*read_settings(*parse_words(words, options)))
    from basic_control.flows.cli.error_files import add_files, write_errors

    files = {"junit": options.junit, "markdown": options.markdown, "json": options.json}
    with write_errors(files):
        settings, again = read_settings(*parse_words(words, options))
        add_files(files, settings.report)
        # What is wrong with the settings is said before what runs is imported.
        from basic_control.flows.preflight import too_many_items
        from basic_control.prompts.phrases import ENGLISH

        if not yes:
            _confirm(too_many_items(settings, ENGLISH))
        outcome, plan = evaluate(settings, again, only_failed=options.only_failed)
    show_outcome(outcome, plan, verbose=verbose, again=bool(again.rerun or again.resume or again.of))
    return Exit(outcome.exit_code)


def _confirm(warning: str) -> None:
    """Have a run confirmed of which there is a warning."""
    if warning:
        # Who runs it in a build has nobody to ask.
        if not sys.stdin.isatty():
            raise InputError(f"{warning} Give --yes to start it, or a smaller n_items.")
        say(f"{warning} Start? [y/N]")
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise InputError("Not started.")


def exam(
    file: Configuration = "",
    /,
    *,
    run: Annotated[str, Parameter(metavar="RUN")] = "",
    judge: Names = (),
    n: Annotated[int | None, Parameter(metavar="N")] = None,
    language: Languages = (),
    data: Annotated[str, Parameter(metavar="SET,…")] = "",
    sets: Sets = (),
    wait: bool = False,
    dry_run: bool = False,
    config: Annotated[str, Parameter(name=("--config", "-c"), show=False)] = "",
) -> int:
    """Have judges take the exam: questions with known answers, asked with the prompts of the judged metrics.

    Each judge earns a passport for each step and language: its error rates with intervals, and how often it fails
    or changes its verdict. A judge that cannot measure a step is excluded from it. Replies are cached. With --data,
    judges are also asked about sets that people labelled (fetch them first): wice, begin, llmbar, lidirus; their
    results are in a separate table.

    Of FILE, and of a RUN, only the steps that its metrics use are asked; of a RUN, in the languages of its rows.

    Args:
        run: the judges of an earlier run: its id
        judge: a judge of the configuration; may be repeated (default: all)
        n: questions per true answer, step and language (default: 20), and per data set (default: 100)
        language: en, ru or zh; may be repeated (default: en)
        data: labelled sets, separated by commas
        sets: set one key, such as judges_exam.items.steps=[rubric]; may be repeated
        wait: wait for the replies of batches (judges with batch: submit)
        dry_run: ask nothing; print what would be asked, and its estimated cost and time
    """
    from basic_control.config.exam import SUITE, settings_of_exam

    begin("")
    # The exam is a suite like others: its options become assignments of that suite's keys.
    file = parse_words([file] if file else [], RunOptions(config=config))[1].config
    steps, languages = _find_steps(file, run, sets)
    if any(text.startswith(f"{SUITE}.items.steps=") for text in sets):
        steps = []  # the assignment names them itself
    values = {
        "n_items": n,
        "n_data": n,
        "languages": [*language] or languages,
        "data": data or None,
        "steps": steps,
    }
    # What nobody gave keeps the exam's own default.
    assignments = [f"{SUITE}.items.{key}={as_yaml(value)}" for key, value in values.items() if value]
    # The files and the name that a configuration or RUN gives are its evaluation's: an exam has its own, or none.
    blanks = [f"report.{key}={as_yaml('')}" for key in ("junit", "markdown", "results", "name", "note")]
    options = RunOptions(config=file, sets=(*blanks, *sets, *assignments), wait=wait)
    settings, again = _choose_exam(run, options) if run else read_settings(SUITE, options)
    settings = settings_of_exam(settings, judge)
    if dry_run:
        from basic_control.flows.cli.estimate import show_estimate

        return show_estimate(settings, again)
    outcome, plan = evaluate(settings, again, only_failed=False)
    n_waiting = outcome.requests["submitted"]
    from basic_control.tasks.judges.passports import record_passports
    from basic_control.tasks.report.fitting import fit_table
    from basic_control.tasks.report.language import use_language
    from basic_control.tasks.report.passports import tables_of

    examined: dict[str, list[Passport]] = {}
    if not n_waiting:
        for passport in record_passports(plan, outcome.folder):
            examined.setdefault(passport.judge, []).append(passport)
    for name, passports in examined.items():
        with use_language(settings.report.language):
            for table in tables_of(name, passports):
                show(*fit_table(table, room()[0]))
    show(*outcome.reports[:2])
    if n_waiting:
        say(f"{plural(n_waiting, 'request')} in batches: run the same command again later, or with --wait.")
        return Exit.UNDECIDED
    unanswered = [judge.name for judge in plan.judges if judge.name not in examined]
    if unanswered:
        complain(f"no call to {', '.join(sorted(unanswered))} was answered; the report says why.")
        return Exit.ERROR
    return Exit.PASSED


def _find_steps(file: str, run: str, sets: "Sequence[str]") -> tuple[list[str], list[str]]:
    """Return the judged steps that a configuration uses, or an earlier run, and the languages of its rows.

    Both are empty where nothing is known: then all steps are asked, in the exam's own languages.
    """
    from basic_control.config.exam import SUITE
    from basic_control.config.reading import read
    from basic_control.data.exam import STEPS
    from basic_control.data.plugins import metric
    from basic_control.metrics.analysis.judged import exams_of

    own_sets = [text for text in sets if not text.startswith(f"{SUITE}.")]
    if run:
        from basic_control.tasks.store.runs import find_by_name, load_results

        statuses = load_results(find_by_name(run, find_runs_folder(file, own_sets)), whole=True)[0].judged.statuses
        languages = sorted({status.language for status in statuses})
        return sorted({status.exam for status in statuses} & {*STEPS}), languages
    if not file:
        return [], []
    try:
        suites = read(file, own_sets).suites
    except InputError:  # of judges alone, which need no models
        return [], []
    used = set[str]()
    for suite in suites:
        for name in suite.metric_names:
            used |= {*exams_of(metric(name), suite.options(name))}
    return [step for step in STEPS if step in used], []


def _choose_exam(run: str, options: RunOptions) -> tuple["Settings", "Rerun"]:
    """Return the exam with the judges of an earlier run."""
    from basic_control.config.exam import SUITE
    from basic_control.config.settings import Rerun
    from basic_control.flows.earlier import settings_of

    runs = find_runs_folder(options.config, options.sets)
    settings, _ = settings_of(str(runs), run, options.sets, SUITE)
    if options.wait:
        settings = settings.with_waiting()
    return settings, Rerun()


def demo(*, folder: Folder = "basic-control-demo", language: str = "en") -> int:
    """Show a whole evaluation in seconds, of all four suites: no key, no server, no download.

    The replies of its three models, of which one fails, and of its judge are invented; the rest is as in any run:
    scores, comparisons, every reply. Your own runs and caches are not touched.

    Args:
        folder: where the report, its tables and its store are written (default: basic-control-demo)
        language: the language of the report, such as en or ru
    """
    begin("")
    shipped = TOP / "config" / "demo"
    replies = str(shipped / "replies.parquet")
    entries = ("models.0", "models.1", "models.2", "judges.0")
    texts = dict.fromkeys((f"{entry}.file" for entry in entries), replies) | {
        "store.root": str(Path(folder) / "store"),
        "store.runs": str(Path(folder) / "runs"),
        "report.language": language,
    }
    sets = tuple(f"{key}={as_yaml(text)}" for key, text in texts.items())
    settings, again = read_settings("", RunOptions(config=str(shipped / "run.yaml"), sets=sets))
    outcome, plan = evaluate(settings, again, only_failed=False)
    from basic_control.prompts.phrases import phrase

    show_outcome(outcome, plan)
    following = phrase("screen.demo_next", language, command=format_command("run config/ollama.yaml"))
    show_screen(phrase("screen.demo", language), following)
    return outcome.exit_code
