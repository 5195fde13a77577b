r"""The command line: one application, one wrapper for errors, one console.

A command is a function of its name in a file of `flows/cli/commands/`; `flows/cli/application.py` says in which:

    def label(run: str, /, *, n: int = 100) -> int | None:
        \"\"\"Write a sheet: this line is its help.

Args:
            run: what its `--help` says of this argument
            n: …
        \"\"\"

which is `basic-control label RUN [--n N]`. A command with verbs is a file of its own name: `VERBS`
lists their functions, and its docstring is the help: `runs list | note`. A function returns the exit code
(`data.exits.Exit`; None is `PASSED`). It raises `InputError` for bad input and never prints it: the application
does. Output goes through `flows.cli.console`. Slow imports (Prefect, Polars, rich, the configuration) go inside the
function. `typing.Annotated` with `cyclopts.Parameter` adds what a signature cannot express (another name, choices,
a converter); `flows/cli/options.py` has the options that commands share.
"""
