"""`sandbox`: where models' programs run."""

from flows.cli.console import show


def sandbox() -> None:
    """Build the sandbox if it is not there yet, try it, and say which layers hold on this machine."""
    from tasks.sandbox import prepare, summary

    prepare()
    show(summary())
