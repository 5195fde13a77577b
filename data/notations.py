"""Lists and mappings in the notations that cells hold: JSON, Python's, and NumPy's, as pandas prints them."""

import ast
import io
import json
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

LONGEST = 2_000_000
"""Characters of a text that is read as a list or a mapping."""
_OPENERS = ("[", "{", "(")
_UNREADABLE = (ValueError, TypeError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError)
_ARRAY = "array"
# np.str_('a'), np.int64(3): how NumPy writes a single value
_SCALARS = frozenset({"str_", "bool_", "int32", "int64", "float32", "float64"})


def parse_cell(value: Any) -> Any:
    """Return the list or mapping that a text holds in JSON, or as Python or NumPy prints it; all else unchanged.

    A tuple is a list if it holds texts or mappings: (1, 2) may be a point.
    """
    if not isinstance(value, str) or len(value) > LONGEST or not value.lstrip().startswith(_OPENERS):
        return value
    text = value.strip()
    with suppress(ValueError, RecursionError):
        return json.loads(text, strict=False)
    # A table that pandas wrote has Python's notation, and NumPy's where its lists were arrays.
    with suppress(*_UNREADABLE):
        parsed = _read_node(ast.parse(" ".join(_separate(text)), mode="eval").body)
        is_list = isinstance(parsed, list) and not (text.startswith("(") and _holds_numbers(parsed))
        if is_list or isinstance(parsed, dict):
            return parsed
    return value


def parse_list(text: str) -> Any:
    """Return the list that a text holds in the notation of JSON, Python or NumPy; the text if it holds none."""
    value = parse_cell(text)
    if isinstance(value, list):
        return value
    return text


def _holds_numbers(entries: list[Any]) -> bool:
    return not entries or not all(isinstance(entry, str | dict) for entry in entries)


def _separate(text: str) -> Iterator[str]:
    """Yield the tokens of a literal, with a comma between two values that have none, as NumPy prints a list.

    Two numbers stay as they are: [1 2] may be no list.
    """
    is_ended, previous = False, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            continue
        is_value = token.type in (tokenize.STRING, tokenize.NAME, tokenize.NUMBER)
        are_numbers = token.type == previous == tokenize.NUMBER
        if is_ended and not are_numbers and (is_value or token.string in ("[", "{")):
            yield ","
        yield token.string
        is_ended, previous = is_value or token.string in ("]", "}", ")"), token.type


def _read_node(node: ast.expr) -> Any:
    """Return the value of a literal; what is missing, `nan`, is None.

    Raises:
        ValueError: it is no literal, or a list of which a part is left out (`...`).
    """
    match node:
        case ast.Constant(value=str() | int() | float() | None):
            return node.value
        case ast.List() | ast.Tuple():
            return [*map(_read_node, node.elts)]
        case ast.Dict():
            return _read_mapping(node)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.Name(id="nan"):
            return None
        case ast.Call(args=[argument, *_]):
            return _read_array(ast.unparse(node.func).removeprefix("np."), _read_node(argument))
    raise ValueError(ast.dump(node))


def _read_mapping(node: ast.Dict) -> dict[Any, Any]:
    entries = dict[Any, Any]()
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise ValueError("a mapping that another is unpacked into")
        entries[_read_node(key)] = _read_node(value)
    return entries


def _read_array(name: str, value: Any) -> Any:
    """Return what NumPy writes as a call: an array's list, or a single value."""
    if name in _SCALARS or (name == _ARRAY and isinstance(value, list)):
        return value
    raise ValueError(name)
