"""The options of a run, and the configuration that they make."""

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from data.errors import InputError
from flows.cli.completers import KEY, RUN
from flows.cli.console import say
from tasks.runtime.logs import FORMS, VARIABLE

if TYPE_CHECKING:
    from config.settings import Rerun, Settings, StoreSettings
    from tasks.compare.sides import FileForm

STAGES = ("generate", "query", "verify", "judge", "score", "aggregate", "report")
SHIPPED = ", ".join(sorted(f"config/{path.name}" for path in (Path(__file__).parents[2] / "config").glob("*.yaml")))
AGAIN = Group("Doing an earlier run again; everything else comes from the caches", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is run, and what of an earlier run is done again."""

    config: Annotated[str, Parameter(help=f"a YAML file (shipped: {SHIPPED})", metavar="FILE")] = ""
    model: Annotated[
        tuple[str, ...],
        Parameter(
            json_list=False,
            metavar="PROVIDER/NAME",
            help="evaluate this in place of the configuration's models: openai/gpt-4o-mini, ollama/llama3.1:8b "
            "or embedded; a name without a provider is asked of Ollama; may be repeated",
        ),
    ] = ()
    judge: Annotated[
        tuple[str, ...],
        Parameter(json_list=False, metavar="PROVIDER/NAME", help="the same for the judges"),
    ] = ()
    limit: Annotated[
        int | None, Parameter(metavar="N", validator=Number(gte=1), help="questions of each suite at most")
    ] = None
    sets: Annotated[
        tuple[str, ...],
        Parameter(
            name="--set",
            json_list=False,
            help="set one key, such as basic_control.n_items=100 or models.0.temperature=0.3; may be repeated",
        ),
        KEY,
    ] = ()
    data: Annotated[
        str,
        Parameter(
            metavar="FILE",
            help="of one suite: the data set; a user's own responses are scored whole unless --set says otherwise",
        ),
    ] = ""
    fresh: Annotated[bool, Parameter(help="ask everything again; earlier replies are kept")] = False
    until_decided: Annotated[
        bool, Parameter(help="ask each suite in rounds, until its verdict is there (docs/stopping.md)")
    ] = False
    wait: Annotated[bool, Parameter(help="wait for what is asked in batches (batch: submit of a model)")] = False
    junit: Annotated[str, Parameter(metavar="FILE", help="write the results as JUnit XML as well")] = ""
    markdown: Annotated[str, Parameter(metavar="FILE", help="write a summary, such as for a merge request")] = ""
    json: Annotated[str, Parameter(metavar="FILE", help="write results.json there as well")] = ""
    name: Annotated[str, Parameter(metavar="NAME", help="what lists of runs call it")] = ""
    note: Annotated[str, Parameter(metavar="TEXT", help="what they say of it")] = ""
    baseline: Annotated[
        str, Parameter(metavar="NAME", help="compare the run with this baseline (docs/baselines.md)")
    ] = ""
    fail_on: Annotated[
        Literal["", "threshold", "regression"],
        Parameter(help="regression: a score below the baseline fails the run as well", show_choices=False),
    ] = ""
    allow_different: Annotated[
        bool,
        Parameter(help="compare although rules differ or parts are missing, and list them (docs/baselines.md)"),
    ] = False
    log: Annotated[
        str, Parameter(choices=FORMS, help=f"json: one object a line on stderr; the same as {VARIABLE}=json")
    ] = ""
    run: Annotated[
        str | None,
        RUN,
        Parameter(group=AGAIN, help="take the configuration of this run (a folder of store.runs)"),
    ] = None
    rerun: Annotated[
        str,
        Parameter(metavar="STAGE", group=AGAIN, choices=STAGES, help="run this stage again, and what follows"),
    ] = ""
    only_suite: Annotated[str, Parameter(group=AGAIN, help="with --rerun: only this suite's stages")] = ""
    only_model: Annotated[str, Parameter(group=AGAIN, help="with --rerun: only this model's stages")] = ""
    only_failed: Annotated[
        bool, Parameter(group=AGAIN, help="with --run: ask again just the calls that failed")
    ] = False
    only_truncated: Annotated[
        bool,
        Parameter(
            group=AGAIN,
            help="with --run and --set models.0.max_tokens=N (or judges.0…): ask again just the calls whose reply "
            "was cut, with another limit",
        ),
    ] = False
    resume: Annotated[
        tuple[str, ...] | None,
        RUN,
        Parameter(
            metavar="[RUN]",
            group=AGAIN,
            consume_multiple=(0, 1),
            json_list=False,
            help="continue this run; default: the last one, if it was interrupted",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where finished runs and their tables are: the section `store` of a configuration."""

    config: Annotated[str, Parameter(help="a YAML file whose section `store` counts", metavar="FILE")] = ""
    sets: Annotated[
        tuple[str, ...],
        Parameter(
            name="--set",
            json_list=False,
            metavar="PATH=VALUE",
            help="set store.runs (default: artifacts/runs), store.root or store.cache; may be repeated",
        ),
    ] = ()

    @property
    def store(self) -> "StoreSettings":
        """The section; see `config.reading.read_store`."""
        from config.reading import read_store

        return read_store(self.config, self.sets)

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return Path(self.store.runs)

    def existing_runs(self) -> Path:
        """Return the folder of the runs.

        Raises:
            InputError: there is none.
        """
        if not (path := self.runs).is_dir():
            raise InputError(
                f"{path}: there is no such folder of runs. Name it with --set store.runs=FOLDER, or run an "
                "evaluation first."
            )
        return path

    @property
    def root(self) -> str:
        """The store of the runs' tables where it is named, as it may have moved; else '': each run's own counts."""
        store = self.store
        return store.root if "root" in store.model_fields_set else ""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How files of other tools are to be read."""

    columns: Annotated[
        str,
        Parameter(
            metavar="OURS=THEIRS,…",
            help="of a table: which columns are question, score, response, answer, id, model, suite, "
            "template, such as question=q,score=ok",
        ),
    ] = ""
    scale: Annotated[
        tuple[str, ...],
        Parameter(metavar="METRIC=LOW..HIGH", help="of scores outside 0 and 1, such as help=1..5; may be repeated"),
    ] = ()

    def form(self, verify: str = "") -> "FileForm":
        """Return how files are to be read; `verify` is a metric of ours that scores their replies again.

        Raises:
            InputError: an option does not have its form.
        """
        from tasks.compare.sides import FileForm

        listed = [one.partition("=") for one in self.columns.split(",") if one]
        if wrong := next((one for one in listed if not one[0].strip() or not one[2].strip()), None):
            raise InputError(f"--columns: found {''.join(wrong)!r}, expected OURS=THEIRS, such as question=q.")
        scales = {}
        for one in self.scale:
            name, _, ends = one.rpartition("=")
            try:
                low, high = map(float, ends.split(".."))
            except ValueError:
                low = high = 0.0
            if not name or low >= high:
                raise InputError(f"--scale {one}: expected METRIC=LOW..HIGH, such as help=1..5.")
            scales[name] = (low, high)
        return FileForm({ours.strip(): theirs.strip() for ours, _, theirs in listed}, scales, verify)


def _refuse_contradictions(given: RunOptions) -> None:
    """Refuse options about an earlier run that do not go together.

    Raises:
        InputError: two contradict each other, or one lacks the other that it needs.
    """
    resume = [*(given.resume or ()), ""][0]
    if given.run == "":
        raise InputError("--run: found no name, expected a run (a folder of store.runs).")
    if given.run and resume and given.run != resume:
        raise InputError(f"--resume {resume} and --run {given.run}: found two runs, expected one.")
    if given.only_failed and not given.run:
        raise InputError("--only-failed: expected --run RUN as well, the run whose failed calls are repeated.")
    if given.only_truncated and not given.run:
        raise InputError(
            "--only-truncated: expected --run RUN as well, the run whose truncated replies are asked again."
        )
    if given.only_truncated and not any("max_tokens" in one for one in given.sets):
        raise InputError(
            "--only-truncated: expected a larger limit as well, such as --set models.0.max_tokens=4096; with the "
            "same limit the same replies would be truncated."
        )
    if given.only_truncated and given.fresh:
        raise InputError("--only-truncated and --fresh: expected one of them; --fresh asks everything again.")
    if given.only_failed and given.fresh:
        raise InputError("--only-failed and --fresh: expected one of them; --fresh asks everything again.")
    if (given.only_suite or given.only_model) and not given.rerun:
        raise InputError("--only-suite and --only-model: expected --rerun STAGE as well.")


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
"""Options that are names for keys of the configuration."""


def _assignments(given: RunOptions) -> list[str]:
    """Return what the options of a run assign: entries that it names first, which --set may go into."""
    from flows.cli.named import named

    entries = {"models": given.model, "judges": given.judge}
    listed = [f"{kind}={json.dumps(named(kind, names))}" for kind, names in entries.items() if names]
    values = {key: getattr(given, option) for option, key in KEYS.items()}
    return [*listed, *given.sets, *(f"{key}={json.dumps(value)}" for key, value in values.items() if value)]


def _placed(only: str, given: RunOptions) -> tuple[str, RunOptions]:
    """Return the suite's name and the options; a path in the name's place is a configuration.

    Raises:
        InputError: two configurations are named.
    """
    if not only.endswith((".yaml", ".yml")):
        return only, given
    if given.config:
        raise InputError(f"{only} and --config {given.config}: found two configurations, expected one.")
    return "", replace(given, config=only)


def _ready(settings: "Settings") -> None:
    """Refuse, before anything is asked, files that cannot be written and a baseline that cannot be read.

    Raises:
        InputError: there is one.
    """
    report = settings.report
    for option, path in (("junit", report.junit), ("markdown", report.markdown), ("json", report.results)):
        if path and not os.access(folder := Path(path).parent, os.W_OK):
            raise InputError(f"--{option} {path}: {folder} is not a writable folder; name another.")
    if settings.fail_on == "regression" and not settings.baseline:
        raise InputError("--fail-on regression: expected --baseline NAME as well, to compare the run with.")
    if settings.baseline:
        from tasks.store.baselines import read

        read(settings.baseline)


def choose(only: str, given: RunOptions) -> tuple["Settings", "Rerun"]:
    """Return the configuration, of one suite if `only` names it, and what of an earlier run is done again.

    Raises:
        InputError: the options do not go together, or the configuration or the earlier run is not good.
    """
    from config.reading import fallback, read
    from config.settings import Rerun

    only, given = _placed(only, given)
    sets = _assignments(given)
    if given.data:
        from config.declared import takes_all

        if not only:
            raise InputError("--data: expected the name of a suite before it, whose data set it is.")
        # A user's own answers are scored as a whole; the problems of a public set are sampled as configured.
        whole = [f"{only}.items.sample.method=all", f"{only}.items.language=''"] if takes_all(only) else []
        sets = [*whole, *sets, f"{only}.data={given.data}"]
    if given.fresh:
        sets.append(f"fresh='{time.strftime('%Y%m%d_%H%M%S')}'")
    if given.config and (own := fallback(given.config)):
        say(f"{given.config}: there is no such file here; reading the one that ships with the program, {own}.")
    if given.config:
        sets = [f"report.file={json.dumps(Path(given.config).name)}", *sets]
    settings = read(given.config or None, sets, only)
    _ready(settings)
    _refuse_contradictions(given)
    resume = ""
    if given.resume is not None or given.run:
        from flows.earlier import ended, settings_of, to_resume

        runs = settings.store.runs
        run = given.run or [*(given.resume or ()), ""][0] or to_resume(Path(runs))
        settings, _ = settings_of(runs, run, sets, only)
        resume = run if given.resume is not None else ""
        if resume and ended(runs, resume):
            say(f"--resume {resume}: this run has ended; it is done again, from the caches.")
    settings = settings.waiting() if given.wait else settings
    settings = settings.until_decided() if given.until_decided else settings
    settings = settings.limited(given.limit) if given.limit else settings
    if given.only_suite and given.only_suite not in settings.named:
        there = ", ".join(settings.named)
        raise InputError(
            f"--only-suite {given.only_suite}: the run has none of that name, expected one of {there}."
        )
    again = Rerun.model_validate(
        {
            "rerun": given.rerun,
            "of": given.run or "",
            "suite": given.only_suite,
            "model": given.only_model,
            "resume": resume,
            "failed": given.only_failed,
            "truncated": given.only_truncated,
        }
    )
    return settings, again
