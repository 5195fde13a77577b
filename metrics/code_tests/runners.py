"""Code that runs with a reply's program in the sandbox: tests of its functions, or itself over a standard input.

A test reaches the sandbox only at its turn, so that a program does not see later ones.
"""

CALLED = "basic_control_test"
"""The function that the sandbox calls: a script's number, statements, expressions -> the expressions' values."""

RUNNER = f"""
def {CALLED}(script, setup, expressions, scopes={{}}):
    import builtins as own  # the program may have a `list` or a `map` of its own

    def plain(value):
        kind = own.type(value)
        if value is None or kind in (own.bool, own.int, own.float, own.str, own.bytes):
            return value
        for base in (own.int, own.float, own.str, own.bytes):
            if own.isinstance(value, base):
                return base(value)
        for base in (own.list, own.tuple, own.set, own.frozenset):
            if own.isinstance(value, base):
                return base([plain(one) for one in value])
        if own.isinstance(value, (own.type({{}}.keys()), own.type({{}}.items()))):
            return own.set(value)
        if own.isinstance(value, own.dict):
            return {{key: plain(one) for key, one in value.items()}}
        return value

    scope = scopes.setdefault(script, own.dict(own.globals()))
    own.exec(setup, scope)
    return own.tuple([plain(value) for value in own.eval(expressions, scope)])
"""
"""Each script has its own names, which begin as the program's. Values of subclasses (named tuples, views of
dictionaries) come back as what they are made of: they are equal to it."""

_MAIN = f"""
def {CALLED}_main(text):
    from tasks.sandbox.component.stand_ins import run_whole

    return run_whole({CALLED}_source, text)
"""


def stdin_program(source: str) -> str:
    """Return a program that runs another as a whole, once for each text as its standard input."""
    return f"{CALLED}_source = {source!r}\n{_MAIN}{RUNNER}"
