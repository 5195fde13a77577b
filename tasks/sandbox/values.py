"""Plain values as tagged JSON: the one form in which anything enters or leaves the sandbox.

The same file is built into the component, so it imports nothing of the project. null, booleans, strings and small
integers stand for themselves; everything else is an array that begins with its tag, so that a tuple is not a
list, `1.0` not `1`, and a dictionary may have any hashable keys:

    ["i", "-1f…"]  a large int, hexadecimal      ["l", …]  list          ["d", key, value, …]  dict
    ["f", "0x1.8p+1"]  float, also nan and inf   ["t", …]  tuple         ["b", "00ff"]  bytes
    ["m", "1.50"]  Decimal                       ["s", …]  set           ["z", …]  frozenset
    ["q", "1", "3"]  Fraction, hexadecimal       ["c", "0x1p+0", "0x0p+0"]  complex

Both directions are bounded in depth and number of values, integers in their bits, and strings to what UTF-8 can
hold. Reading builds nothing but these types: no name in a text is ever looked up.
"""

import json
import re
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn, cast

LOADED = '["loaded"]'
"""What the component replies to a program that it could load."""

DEPTH = 64
"""Containers within containers."""

VALUES = 100_000
"""Values in one value, counting the containers."""

BITS = 400_000
"""Of an integer: some 120 000 digits."""

CHARACTERS = 1_000_000
"""Characters of text, and bytes, in one value."""

ALIKE = 64
"""Members of one set or dict that share a hash. Building it takes the square of their number, and it is no secret
how integers are hashed: a program could keep its parent busy for minutes."""

_PLAIN = 2**53
# An integer in hexadecimal: -1f.
_HEX = re.compile(r"-?[0-9a-f]+")
# A Decimal: -1.50E+3.
_DECIMAL = re.compile(r"-?(?:[0-9]{1,2000}(?:\.[0-9]{1,2000})?(?:E[+-]?[0-9]{1,6})?|Infinity|NaN)")
# A float in hexadecimal: 0x1.8p+1.
_FLOAT = re.compile(r"-?(?:0x[01]\.[0-9a-f]{1,13}p[+-]?\d{1,4}|inf|nan)")
_MAPPINGS = frozenset({dict, Counter, OrderedDict, defaultdict})
"""The standard library's dictionaries compare equal to plain ones: honest code returns them."""

_ITERABLES: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}


class UnfitError(ValueError):
    """A value that is not plain data, or too large; or a text that does not say one."""


class Packer:
    """Turn one value into tagged JSON, counting as it goes."""

    def __init__(self) -> None:
        self.values = 0
        self.characters = 0

    def pack(self, value: object, depth: int = 0) -> Any:
        """Return the tagged form. Only exact types count: a subclass could answer for itself."""
        self.values += 1
        if depth > DEPTH:
            raise UnfitError(f"nested deeper than {DEPTH}, or cyclic")
        if self.values > VALUES:
            raise UnfitError(f"more than {VALUES} values")
        kind = type(value)
        if value is None or value is True or value is False:
            return value
        if kind in _ITERABLES:
            members = cast("list[object]", value)
            return [_ITERABLES[kind], *[self.pack(member, depth + 1) for member in members]]
        if kind in _MAPPINGS:
            packed: list[Any] = ["d"]
            for key, member in dict.items(cast("dict[object, object]", value)):
                packed += [self.pack(key, depth + 1), self.pack(member, depth + 1)]
            return packed
        return self.pack_scalar(value, kind)

    def pack_scalar(self, value: Any, kind: type) -> Any:
        """Return the tagged form of a value that is no container."""
        if kind is int:
            if value.bit_length() > BITS:
                raise UnfitError(f"an integer of {value.bit_length()} bits, more than {BITS}")
            return value if -_PLAIN < value < _PLAIN else ["i", f"{value:x}"]
        if kind is float:
            return ["f", float.hex(value)]
        if kind is complex:
            return ["c", float.hex(value.real), float.hex(value.imag)]
        if kind is Fraction and type(value.numerator) is type(value.denominator) is int:
            return ["q", *(f"{part:x}" for part in (value.numerator, value.denominator))]
        if kind is Decimal and _DECIMAL.fullmatch(written := Decimal.__str__(value)):
            return ["m", written]
        if kind is not str and kind is not bytes:
            raise UnfitError(f"of type {_name(kind)[:60]}")
        self.characters += len(value)
        if self.characters > CHARACTERS:
            raise UnfitError(f"more than {CHARACTERS} characters")
        return _check_text(value) if kind is str else ["b", value.hex()]


_name = type.__dict__["__name__"].__get__  # a metaclass may answer for `__name__` itself


def pack(value: object) -> Any:
    """Return a value's tagged JSON.

    Raises:
        UnfitError: it is not plain data, or too large.
    """
    return Packer().pack(value)


class Unpacker:
    """Turn tagged JSON into one value, of plain types only, counting as it goes."""

    values = 0

    def unpack(self, packed: object, depth: int = 0) -> Any:
        """Return the value of a tagged form."""
        self.values += 1
        if depth > DEPTH or self.values > VALUES:
            raise UnfitError("nested too deep, or too many values")
        if packed is None or isinstance(packed, bool | int):
            return packed
        if isinstance(packed, str):
            return _check_text(packed)
        if isinstance(packed, list) and packed and isinstance(packed[0], str):
            if packed[0] in _SCALARS:
                return _read_scalar(*packed)
            members = [self.unpack(packed[k], depth + 1) for k in range(1, len(packed))]
            try:
                return self.build(packed[0], members)
            except TypeError:
                # A list as a key.
                raise UnfitError("a key or set member that cannot be hashed") from None
        raise UnfitError("not a tagged value")

    def build(self, tag: str, members: list[Any]) -> Any:
        """Return a container of its members."""
        match tag:
            case "l":
                return members
            case "t":
                return tuple(members)
            case "s" | "z":
                _check_hashes(members)
                return _check_count(len(members), frozenset(members) if tag == "z" else set(members))
            case "d" if len(members) % 2 == 0:
                _check_hashes(members[::2])
                return _check_count(len(members) // 2, dict(zip(members[::2], members[1::2], strict=True)))
        raise UnfitError("not a tagged value")


_SCALARS = frozenset({"i", "f", "b", "m", "q", "c"})


def _read_scalar(tag: str, *texts: object) -> int | float | bytes | Decimal | Fraction | complex:
    match tag, texts:
        case "i", (text,):
            return _read_hexadecimal(text)
        case "f", (text,):
            return _read_float(text)
        case "c", (real, imaginary):
            return complex(_read_float(real), _read_float(imaginary))
        case "q", (over, under) if under != "0":
            return Fraction(_read_hexadecimal(over), _read_hexadecimal(under))
        case "m", (str(text),) if _DECIMAL.fullmatch(text):
            return Decimal(text)
        case "b", (str(text),) if len(text) % 2 == 0 and (not text or _HEX.fullmatch(text)) and text[:1] != "-":
            return bytes.fromhex(text)
    raise UnfitError("not a tagged value")


def _read_hexadecimal(text: object) -> int:
    if isinstance(text, str) and len(text) <= BITS // 4 + 1 and _HEX.fullmatch(text):
        return int(text, 16)
    raise UnfitError("not an integer")


def _read_float(text: object) -> float:
    if not isinstance(text, str) or not _FLOAT.fullmatch(text):
        raise UnfitError("not a float")
    try:
        return float.fromhex(text)
    except OverflowError:
        raise UnfitError("not a float") from None


def _check_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnfitError("text with half a surrogate pair") from None
    return text


def _check_hashes(keys: list[Any]) -> None:
    """Refuse keys or members of which too many share a hash."""
    if len(keys) > ALIKE and max(Counter(map(hash, keys)).values()) > ALIKE:
        raise UnfitError(f"more than {ALIKE} keys or members with the same hash")


def _check_count(expected: int, container: Any) -> Any:
    """Refuse a set or dict in which two members fell together, such as 1 and True."""
    if len(container) != expected:
        raise UnfitError("two keys or members that are equal")
    return container


def unpack(packed: object) -> Any:
    """Return the value of a tagged JSON.

    Raises:
        UnfitError: it is not one, or too large.
    """
    return Unpacker().unpack(packed)


def write(packed: Any) -> str:
    """Return JSON text in ASCII, so that half a surrogate pair in a program's source survives the way."""
    return json.dumps(packed, separators=(",", ":"))


def _refuse(_: object) -> NoReturn:
    raise UnfitError("JSON of a form that is never sent")


def _read_small(digits: str) -> int:
    if len(digits) > len(str(-_PLAIN)):
        raise UnfitError("an integer too long to be sent in digits")
    return int(digits)


def read(text: str | bytes | bytearray) -> Any:
    """Return what a JSON text says: null, booleans, strings, small integers and arrays of them, no more.

    Raises:
        UnfitError: it says anything else, or nothing.
    """
    try:
        return json.loads(
            text, parse_int=_read_small, parse_float=_refuse, parse_constant=_refuse, object_pairs_hook=_refuse
        )
    except UnfitError:
        raise
    except (ValueError, RecursionError):
        raise UnfitError("not JSON, or nested too deep") from None
