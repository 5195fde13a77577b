r"""The command line: one application, one wrapper for errors, one console.

A command is a function of its name in a file of `flows/cli/commands/`; `flows/cli/application.py` says in which:

    def tag(run: str, /, *tags: str, note: str = "") -> int | None:
        \"\"\"Tag a run: this line is its help.

Args:
            run: what its `--help` says of this argument
            tags: …
            note: …
        \"\"\"

which is `basic-control tag RUN [TAGS…] [--note TEXT]`. A command of several verbs is a file of its name: `VERBS`
are their functions, and its docstring is the help: `runs list | tag | show`. What a function returns is the exit
code (`data.exits.Exit`; nothing is `PASSED`). It raises `InputError` for bad input and never prints one: the
application does. Output goes through `flows.cli.console`. What is heavy (Prefect, Polars, rich, the configuration)
is imported inside of the function. `typing.Annotated` with `cyclopts.Parameter` says what a signature cannot
(another name, choices, a converter); `flows/cli/options.py` has the options that commands share.
"""
