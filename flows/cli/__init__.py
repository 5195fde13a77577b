r"""The command line: one application, one wrapper for errors, one console.

A command is a file of `flows/cli/commands/`, found by being there. In `tag.py` stands

    def tag(run: str, /, *tags: str, note: str = "") -> int | None:
        \"\"\"Tag a run: this line is its help.

Args:
            run: what its `--help` says of this argument
            tags: …
            note: …
        \"\"\"

which is `basic-control tag RUN [TAGS…] [--note TEXT]`; a `_` of a name is a `-` at the terminal. A file of several
verbs names their functions in `VERBS`, and its docstring is the help: `runs list | tag | show`. What a function
returns is the exit code (`data.exits.Exit`; nothing is `PASSED`). It raises `InputError` for bad input and never
prints one: the application does. Output goes through `flows.cli.console`. What is heavy (Prefect, Polars, rich,
the configuration) is imported inside of the function. `typing.Annotated` with `cyclopts.Parameter` says what a
signature cannot (another name, choices, a converter); `flows/cli/options.py` are the options of a run.
"""
