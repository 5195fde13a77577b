"""The options that commands share, their shell completions, and the configuration that they result in."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from basic_control.config.assignments import as_yaml
from basic_control.data.commands import LAST
from basic_control.data.errors import InputError
from basic_control.data.truncation import NAMES
from basic_control.flows.cli.console import say
from basic_control.flows.cli.hints import FOREIGN, explain_word, refuse_foreign
from basic_control.flows.cli.named_models import build_entries, list_chosen
from basic_control.tasks.runtime.logs import FORMS, VARIABLE

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext
    from pydantic import BaseModel

    from basic_control.config.settings import Rerun, Settings, StoreSettings
    from basic_control.tasks.compare.sides import FileForm

STAGES = ("generate", "query", "verify", "judge", "score", "aggregate", "report")
CONFIG = Path(__file__).parents[2] / "config"
SHIPPED = ", ".join(sorted(f"config/{path.name}" for path in CONFIG.glob("*.yaml")))
SUITES = sorted(path.stem for path in (CONFIG / "suites").glob("*.yaml"))
RUNS = Path("artifacts/runs")
"""The default folder of runs; completion does not wait for a configuration."""
_PLACES = ("store.", "report.")
"""Keys that change no result, and are not recorded as set."""
AGAIN = Group("Repeat an earlier run; everything else comes from the caches", sort_key=2)


def _runs(_context: "CompletionContext") -> list[str]:
    """Return the names of the runs in the default folder, the newest first."""
    return sorted((path.parent.name for path in RUNS.glob("*/manifest.json")), reverse=True)


def _keys(_context: "CompletionContext") -> list[tuple[str, str]]:
    """Return the configuration's keys with their meanings; those of models and judges use the first of each."""
    from basic_control.config.models import Judge, Model
    from basic_control.config.settings import Settings

    sections = ((Settings, ""), (Model, "models.0."), (Judge, "judges.0."))
    keys: list[tuple[str, str]] = []
    for section, prefix in sections:
        keys += [(f"{key}=", meaning) for key, meaning in _list_keys(section, prefix)]
    return keys


def _list_keys(model: "type[BaseModel]", prefix: str) -> Iterator[tuple[str, str]]:
    from pydantic import BaseModel

    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _list_keys(inner, f"{prefix}{name}.")
        elif name != "options":
            yield f"{prefix}{name}", field.description or ""


RUN = Parameter(metavar="RUN", completer=_runs)
"""For a parameter that is a run's name."""
Words = Annotated[
    str,
    Parameter(
        name="[FILE] [SUITE]",
        completer=lambda _: SUITES,
        help=f"a configuration, which ends in .yaml (shipped: {SHIPPED}), and one of its suites (default: all)",
    ),
]
Configuration = Annotated[str, Parameter(name="FILE", help=f"a configuration (shipped: {SHIPPED})")]
File = Annotated[str, Parameter(metavar="FILE")]
Folder = Annotated[str, Parameter(metavar="FOLDER")]
Name = Annotated[str, Parameter(metavar="NAME")]
Names = Annotated[tuple[str, ...], Parameter(metavar="NAME")]
Languages = Annotated[tuple[str, ...], Parameter(metavar="LANGUAGE")]
Share = Annotated[float | None, Parameter(validator=Number(gte=0, lte=1))]
Served = Annotated[tuple[str, ...], Parameter(json_list=False, metavar="PROVIDER/NAME")]
Sets = Annotated[tuple[str, ...], Parameter(name="--set", json_list=False, metavar="PATH=VALUE", completer=_keys)]
Form = Annotated[str, Parameter(choices=FORMS)]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is run, and what of an earlier run is repeated.

    Args:
        judge: the same for the judges
        limit: maximum number of questions per suite, drawn at random by the seed of its items (or the first, with
            SUITE.items.sample.method=first)
        sets: set one key, such as basic_control.n_items=100 or models.0.temperature=0.3; may be repeated
        data: the data set of a single suite (the one named, or the configuration's only one)
        fresh: ask everything again; earlier replies are kept (--set fresh=LABEL: once for each label)
        until_decided: ask each suite in rounds, until its verdict is clear (docs/stopping.md)
        wait: wait for the replies of batches (models with batch: submit)
        junit: also write the results as JUnit XML
        markdown: also write a summary, such as for a merge request
        json: also write results.json to this file
        name: the run's name in lists of runs
        note: a note shown in lists of runs
        baseline: compare the run with this baseline (docs/baselines.md)
        fail_on: regression: a score below the baseline also fails the run
        allow_different: compare even if rules differ or parts are missing, and list them (docs/baselines.md)
        run: use the configuration of this run (a folder of store.runs)
        rerun: repeat this stage and those that depend on it
        only_suite: with --rerun: only this suite's stages
        only_model: with --rerun: only this model's stages
        only_failed: with --run: repeat only the calls that failed
        resume: continue this run; default: the last one, if it was interrupted
    """

    config: Annotated[File, Parameter(name=("--config", "-c"), show=False)] = ""
    model: Annotated[
        Served,
        Parameter(
            help="evaluate this in place of the configuration's models: openai/gpt-6-luna, ollama/llama3.1:8b "
            "or embedded; a name without a provider is an Ollama model; may be repeated"
        ),
    ] = ()
    judge: Served = ()
    limit: Annotated[int | None, Parameter(metavar="N", validator=Number(gte=1))] = None
    sets: Sets = ()
    data: File = ""
    fresh: bool = False
    until_decided: bool = False
    wait: bool = False
    junit: File = ""
    markdown: File = ""
    json: Annotated[File, Parameter(name=("--json", "-o"))] = ""
    name: Name = ""
    note: Annotated[str, Parameter(metavar="TEXT")] = ""
    baseline: Name = ""
    fail_on: Annotated[Literal["", "threshold", "regression"], Parameter(show_choices=False)] = ""
    allow_different: bool = False
    log: Annotated[Form, Parameter(help=f"json: one object a line on stderr; the same as {VARIABLE}=json")] = ""
    run: Annotated[str | None, RUN, Parameter(group=AGAIN)] = None
    rerun: Annotated[str, Parameter(metavar="STAGE", group=AGAIN, choices=STAGES)] = ""
    only_suite: Annotated[str, Parameter(group=AGAIN)] = ""
    only_model: Annotated[str, Parameter(group=AGAIN)] = ""
    only_failed: Annotated[bool, Parameter(group=AGAIN)] = False
    only_truncated: Annotated[
        bool,
        Parameter(
            group=AGAIN,
            help="with --run and --set models.0.max_tokens=N (or judges.0…): repeat only the calls whose reply was "
            "truncated, with another limit",
        ),
    ] = False
    resume: Annotated[
        tuple[str, ...] | None,
        RUN,
        Parameter(metavar="[RUN]", group=AGAIN, consume_multiple=(0, 1), json_list=False),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where finished runs and their tables are: the section `store` of a configuration.

    Args:
        config: a YAML file, whose section `store` is used
        sets: set store.runs (default: artifacts/runs), store.root or store.cache; may be repeated
    """

    config: File = ""
    sets: Sets = ()

    @property
    def store(self) -> "StoreSettings":
        """The section; see `config.reading.read_store`."""
        from basic_control.config.reading import read_store

        return read_store(self.config, self.sets)

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return Path(self.store.runs)

    def find_runs_folder(self) -> Path:
        """Return the folder of the runs.

        Raises:
            InputError: there is none.
        """
        path = self.runs
        if not path.is_dir():
            raise InputError(
                f"{path}: there is no such folder of runs. Set it with --set store.runs=FOLDER, or run an "
                "evaluation first."
            )
        return path

    @property
    def root(self) -> str:
        """The store of the runs' tables if it is named, as it may have moved; else '': each run uses its own."""
        store = self.store
        return store.root if "root" in store.model_fields_set else ""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files of other tools are to be read.

    Args:
        scale: the range of scores outside 0 to 1, such as help=1..5; may be repeated
    """

    columns: Annotated[
        str,
        Parameter(
            metavar="OURS=THEIRS,…",
            help="a table's columns for question, score, response, answer, id, model, suite, template, such as "
            "question=q,score=ok",
        ),
    ] = ""
    scale: Annotated[tuple[str, ...], Parameter(metavar="METRIC=LOW..HIGH")] = ()

    def form(self, verify: str = "") -> "FileForm":
        """Return how files are to be read; `verify` is a metric of ours that scores their replies again.

        Raises:
            InputError: an option is malformed.
        """
        from basic_control.tasks.compare.sides import FileForm

        columns = {}
        for text in filter(None, self.columns.split(",")):
            ours, _, theirs = text.partition("=")
            if not ours.strip() or not theirs.strip():
                raise InputError(f"--columns: found {text!r}, expected OURS=THEIRS, such as question=q.")
            columns[ours.strip()] = theirs.strip()
        scales = {}
        for text in self.scale:
            # A metric's name may contain an equals sign, its range may not.
            name, _, ends = text.rpartition("=")
            try:
                low, high = map(float, ends.split(".."))
            except ValueError:
                low = high = 0.0
            if not name or low >= high:
                raise InputError(f"--scale {text}: expected METRIC=LOW..HIGH, such as help=1..5.")
            scales[name] = (low, high)
        return FileForm(columns, scales, verify)


UNGIVEN, USUAL, ANYHOW = RunOptions(), Where(), FileOptions()
"""Defaults if a command line gives none of these options."""


def _has_token_limit(sets: Sequence[str]) -> bool:
    """Return whether one of the assignments is of a token limit."""
    return any(name in assignment for assignment, name in product(sets, NAMES))


def _name_resumed(options: RunOptions) -> str:
    """Return the run that `--resume` names; '' if it names none, or is not there."""
    return options.resume[0] if options.resume else ""


def _refuse_contradictions(options: RunOptions) -> None:
    """Refuse incompatible options about an earlier run."""
    resume = _name_resumed(options)
    wrong = {
        "--run: found no name, expected a run (a folder of store.runs).": options.run == "",
        f"--resume {resume} and --run {options.run}: found two runs, expected one.": (
            options.run and resume and options.run != resume
        ),
        "--only-truncated: expected a larger limit as well, such as --set models.0.max_tokens=4096; with the "
        "same limit the same replies would be truncated.": (
            options.only_truncated and not _has_token_limit(options.sets)
        ),
        "--only-suite and --only-model: expected --rerun STAGE as well.": (
            (options.only_suite or options.only_model) and not options.rerun
        ),
    }
    for option, chosen in (("failed", options.only_failed), ("truncated", options.only_truncated)):
        wrong[f"--only-{option}: expected --run RUN as well, the run whose calls are repeated."] = (
            chosen and not options.run
        )
        wrong[f"--only-{option} and --fresh: expected only one; --fresh asks everything again."] = (
            chosen and options.fresh
        )
    for message, is_wrong in wrong.items():
        if is_wrong:
            raise InputError(message)


KEYS = {
    "name": "report.name",
    "note": "report.note",
    "junit": "report.junit",
    "markdown": "report.markdown",
    "json": "report.results",
    "baseline": "baseline",
    "fail_on": "fail_on",
    "allow_different": "allow_different",
}
"""Options that stand for keys of the configuration."""


def _assignments(only: str, options: RunOptions) -> list[str]:
    """Return the assignments made by the options of a run: named entries first, which --set may modify."""
    from basic_control.config.assignments import Assignment

    sets: list[str] = []
    for kind, names in (("models", options.model), ("judges", options.judge)):
        if names:
            option = f"--{kind.removesuffix('s')}"
            sets.append(
                Assignment(f"{kind}={as_yaml(build_entries(kind, names))}", f"{option} {f' {option} '.join(names)}")
            )
    sets.extend(options.sets)
    for option, key in KEYS.items():
        value = getattr(options, option)
        if value:
            typed = f"--{option.replace('_', '-')} {value}".removesuffix(" True")
            sets.append(Assignment(f"{key}={as_yaml(value)}", typed))
    if options.data:
        sets = _assign_data(only or _find_only_suite(options), options.data, sets)
    if options.fresh:
        from basic_control.flows.earlier import TIME_LABEL

        sets = [*sets, Assignment(f"fresh='{time.strftime(TIME_LABEL)}'", "--fresh")]
    return sets


def _assign_data(suite: str, data: str, sets: Sequence[str]) -> list[str]:
    """Return the assignments with a suite's data, and what follows from it."""
    from basic_control.config.assignments import Assignment
    from basic_control.config.declared import takes_all

    typed = f"--data {data}"
    assignments = [*sets, Assignment(f"{suite}.items.data={as_yaml(data)}", typed)]
    # A user's own answers are scored as a whole; the problems of a public set are sampled as configured.
    if takes_all(suite):
        keys = {assignment.partition("=")[0] for assignment in sets}
        defaults = {"items.sample.method=all": "sample_method", "items.language=''": "language"}
        unset = [default for default, short in defaults.items() if f"{suite}.{short}" not in keys]
        assignments = [*(Assignment(f"{suite}.{default}", typed) for default in unset), *assignments]
    return assignments


def find_runs_folder(file: str, sets: Iterable[str]) -> Path:
    """Return the folder of the runs of a configuration, which assignments of any keys change."""
    from basic_control.config.reading import read_store

    assignments = [assignment for assignment in sets if assignment.startswith("store.")]
    return Path(read_store(file, assignments).runs)


def _resolve_runs(options: RunOptions) -> RunOptions:
    """Return the options with the newest run's name in place of `last`; it is what is recorded."""
    if options.run == LAST:
        from basic_control.tasks.store.runs import resolve_last  # tables, which other lines need not wait for

        options = replace(options, run=resolve_last(LAST, find_runs_folder(options.config, options.sets)))
    # Without a name --resume is of the last run that can be resumed.
    if _name_resumed(options) == LAST:
        options = replace(options, resume=())
    return options


def _find_only_suite(options: RunOptions) -> str:
    """Return the suite that `--data` is for where none is named: the only one.

    Raises:
        InputError: there are several.
    """
    from basic_control.config.reading import list_suite_names

    if options.run:
        from basic_control.tasks.store.runs import find_by_name

        names = find_by_name(options.run, find_runs_folder(options.config, options.sets)).suites
        words = f"--run {options.run}"
    else:
        names = list_suite_names(options.config or None)
        words = options.config
    if len(names) == 1:
        return names[0]
    line = " ".join(filter(None, ("run", words, "SUITE", f"--data {options.data}")))
    expected = ", ".join(names)
    raise InputError(
        f"--data {options.data}: expected the name of the suite whose data it is, one of {expected}: {line}."
    )


def _refuse_unready(settings: "Settings") -> None:
    """Refuse, before anything is asked, files that cannot be written and a baseline that cannot be read."""
    report = settings.report
    for option, path in (("junit", report.junit), ("markdown", report.markdown), ("json", report.results)):
        folder = Path(path).parent
        if path and not os.access(folder, os.W_OK):
            raise InputError(f"--{option} {path}: {folder} is not a writable folder; name another.")
    if settings.fail_on == "regression" and not settings.baseline:
        raise InputError("--fail-on regression: expected --baseline NAME as well, to compare the run with.")
    if settings.baseline:
        from basic_control.tasks.store.baselines import read_baseline

        read_baseline(settings.baseline)


def parse_words(words: Sequence[str], options: RunOptions) -> tuple[str, RunOptions]:
    """Return the suite that words name, '' for all, and the options with the configuration that they name.

    Raises:
        InputError: they name two suites, or two configurations, also by `--config`; or a file of another kind.
    """
    files = [word for word in words if word.endswith((".yaml", ".yml"))]
    suites = [word for word in words if word not in files]
    refuse_foreign([word for word in (*words, options.config) if word.endswith(FOREIGN)])
    for word in suites:
        explanation = explain_word(word)
        if explanation:
            raise InputError(explanation)
    if options.config:
        files.append(options.config)
    for names, kind in ((files, "configurations"), (suites, "suites")):
        if len(names) > 1:
            raise InputError(f"{' and '.join(names)}: found two {kind}, expected one.")
    return "".join(suites), replace(options, config="".join(files))


def read_settings(
    only: str, options: RunOptions, configuration: dict[str, Any] | None = None
) -> tuple["Settings", "Rerun"]:
    """Return the configuration, of one suite if `only` names it, and what of an earlier run to repeat.

    Without a `configuration` it is the file's that the options name.

    Raises:
        InputError: the options are incompatible, or the configuration or the earlier run is invalid.
    """
    from basic_control.config.reading import find_fallback, parse, read
    from basic_control.config.settings import Rerun

    options = _resolve_runs(options)
    sets = _assignments(only, options)
    _refuse_contradictions(options)
    fallback = find_fallback(options.config) if options.config else None
    if fallback:
        say(f"{options.config}: not found here; using the one that ships with the program, {fallback}.")
    repeated: dict[str, Any] = {
        "rerun": options.rerun,
        "suite": options.only_suite,
        "model": options.only_model,
        "failed": options.only_failed,
        "truncated": options.only_truncated,
        "sets": [text for text in sets if not text.startswith(_PLACES)],
    }
    if options.run or options.resume is not None:
        settings, earlier = _earlier(only, options, sets)
        repeated |= earlier
    else:
        from basic_control.flows.cli.replaced import keep_parameters, keep_parameters_of_file

        # Before the file is read: what --model replaces is in it no more.
        if configuration is None:
            sets = keep_parameters_of_file(sets, options.config)
            interpret = partial(read, options.config or None, only=only)
        else:
            sets = keep_parameters(sets, configuration, "the configuration")
            interpret = partial(parse, configuration, "configuration", {}, only=only)
        settings = interpret(sets=sets)
        chosen = list_chosen(settings.models, settings.judges)
        if chosen:
            settings = interpret(sets=[*sets, *chosen])
    _refuse_unready(settings)
    # Options win over the keys of an earlier run's configuration too.
    if options.wait:
        settings = settings.with_waiting()
    if options.until_decided:
        settings = settings.until_decided()
    if options.limit:
        settings = settings.with_limit(options.limit)
    return settings, Rerun.model_validate(repeated)


def read_request(request: Mapping[str, Any]) -> tuple["Settings", "Rerun"]:
    """Return what a `basic_control.runs_apart.RunRequest` asks for, as `choose` does for a command line.

    Raises:
        InputError: as `choose`.
    """
    options = RunOptions(**request["options"], sets=(*_list_assignments(request),))
    configuration = request["configuration"]
    if isinstance(configuration, str):
        words = [word for word in (configuration, request["suite"]) if word]
        return read_settings(*parse_words(words, options))
    return read_settings(request["suite"], options, configuration)


def _list_assignments(request: Mapping[str, Any]) -> Iterator[str]:
    """Yield the assignments of a request: its targets, of which texts are names as of `--model`, then its keys."""
    from basic_control.config.assignments import Assignment

    for kind, targets in request["targets"].items():
        names = [target for target in targets if isinstance(target, str)]
        named_entries = iter(build_entries(kind, names))
        # Together, since only beside each other equal names show; then back to where each name was.
        entries = list(targets)
        for index, target in enumerate(targets):
            if isinstance(target, str):
                entries[index] = next(named_entries)
        text = f"{kind}={as_yaml(entries)}"
        yield Assignment(text, f"--set {text}")
    for key, value in request["keys"].items():
        yield from _flatten_assignments(key, value)


def _flatten_assignments(key: str, value: Any) -> Iterator[str]:
    """Yield the assignments of a key's value; of a mapping those of its own keys, so that others keep theirs."""
    if isinstance(value, Mapping) and value:
        for name, entry in value.items():
            yield from _flatten_assignments(f"{key}.{name}", entry)
    else:
        yield f"{key}={as_yaml(value)}"


def _earlier(only: str, options: RunOptions, sets: Sequence[str]) -> tuple["Settings", dict[str, Any]]:
    """Return the configuration of an earlier run, and what of it is repeated besides what is given."""
    from basic_control.flows.cli.replaced import keep_parameters
    from basic_control.flows.earlier import check_judges, find_resumed, has_ended, settings_of, to_resume
    from basic_control.tasks.store.runs import find_by_name

    folder = find_runs_folder(options.config, sets)
    runs = str(folder)
    run = options.run or _name_resumed(options) or to_resume(folder)
    find_earlier = find_by_name
    if options.resume is not None:
        find_earlier = find_resumed
    sets = keep_parameters(sets, find_earlier(run, folder).configuration, f"run {run}")
    settings, manifest = settings_of(runs, run, sets, only)
    before = manifest.get("rerun", {})
    repeated: dict[str, Any] = {"of": options.run or ""}
    if options.resume is not None:
        repeated["resume"] = run
        if has_ended(runs, run):
            check_judges(run, manifest, settings.judges)
            say(f"--resume {run}: this run has ended; it is repeated from the caches.")
        elif not options.rerun:  # it goes on with what it was started to repeat
            inherited = ("rerun", "of", "suite", "model", "failed")
            repeated |= {name: before[name] for name in inherited if before.get(name)}
    if before.get("truncated") and not options.only_truncated and not _has_token_limit(sets):
        # Part of that run's replies are to another token limit than its configuration's.
        repeated |= {"truncated": True, "of": options.run if "tables" in manifest and options.run else before["of"]}
    return settings, repeated
