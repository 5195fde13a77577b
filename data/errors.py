"""The one error that a user is meant to read."""


class InputError(Exception):
    """Report bad input in one message: what was found, what was expected, where, what to do.

    The command line prints the message and exits with 2; it never shows a traceback for it.
    """


class Stopped(Exception):  # noqa: N818 - said of a run
    """The run was stopped; everything answered so far is kept."""
