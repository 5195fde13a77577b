"""Code that runs in the sandbox: tests of a program's functions, or the program itself over a standard input.

A test reaches the sandbox only at its turn, so that a program does not see later ones.
"""

CALLED = "basic_control_test"
"""The function that the sandbox calls: a script's number, statements, expressions -> the expressions' values."""

RUNNER = f"""
def {CALLED}(*test):
    from tasks.sandbox.component.scripts import run_beside

    return run_beside(*test)
"""
"""Stands after a program: runs a test with it."""

_MAIN = f"""
def {CALLED}_main(text):
    from tasks.sandbox.component.stand_ins import run_whole

    return run_whole({CALLED}_source, text)
"""


def stdin_program(source: str) -> str:
    """Return a program that runs another as a whole, once for each text as its standard input."""
    return f"{CALLED}_source = {source!r}\n{_MAIN}{RUNNER}"


def checker(entry: str, code: str) -> str:
    """Return what runs tests of a function apart from its program; `code` is what the row states of the program."""
    return f"""
def {CALLED}(*test):
    from tasks.sandbox.component.scripts import run_apart

    return run_apart({entry!r}, {code!r}, *test)
"""
