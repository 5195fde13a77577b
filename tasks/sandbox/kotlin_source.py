"""Kotlin text: values as typed literals, the calls of one program, and the harness that makes them.

Each program stands in a package of a random name, so that none can name another's functions. The harness replies
as the WebAssembly guest does (`tasks.sandbox.values`), each reply on a line that begins with a number only known at
run time. The program shares the virtual machine with it and may forge its own replies: that gains nothing, as no
expected value is in there.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

from data.records import Program

_NAMES = {"int": "Int", "float": "Double", "str": "String", "bool": "Boolean", "None": "Unit", "bytes": "ByteArray"}
_GENERIC = {"list": ("MutableList", "mutableListOf"), "set": ("MutableSet", "mutableSetOf")}
_TUPLES = {2: "Pair", 3: "Triple"}
_INT, _LONG = 2**31, 2**63
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+[\w.`]+[ \t]*;?[ \t]*$", re.MULTILINE)


def split(notation: str) -> tuple[str, list[str], bool]:
    """Split a type: `dict[str, list[int]] | None` → `dict`, [`str`, `list[int]`], True."""
    optional = notation.endswith("| None")
    head, _, rest = notation.removesuffix("| None").strip().partition("[")
    parts, depth, start = [], 0, 0
    rest = rest.removesuffix("]") + ","
    for place, character in enumerate(rest):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append(rest[start:place].strip())
            start = place + 1
    return head, [part for part in parts if part], optional


def type_name(notation: str) -> str:
    """Return the Kotlin type of a type in Python notation.

    Raises:
        ValueError: there is none for it.
    """
    head, inner, optional = split(notation)
    held = [type_name(part) for part in inner]
    if head in _NAMES and not held:
        name = _NAMES[head]
    elif head in _GENERIC and len(held) == 1:
        name = f"{_GENERIC[head][0]}<{held[0]}>"
    elif head == "dict" and len(held) == len(("key", "value")):
        name = f"MutableMap<{held[0]}, {held[1]}>"
    elif head == "tuple" and len(held) in _TUPLES:
        name = f"{_TUPLES[len(held)]}<{', '.join(held)}>"
    else:
        raise ValueError(f"no Kotlin type for {notation!r}")
    return name + "?" * optional


def literal(value: Any, notation: str) -> str:
    """Return Kotlin source for a plain value of a type in Python notation.

    Raises:
        ValueError: the value is not of the type, or Kotlin has no literal for it.
    """
    head, inner, optional = split(notation)
    if value is None and (optional or head == "None"):
        return "null"
    written = _scalar(value, head) or _container(value, head, inner)
    if not written:
        raise ValueError(f"no Kotlin literal of type {notation!r} for a value of type {type(value).__name__}")
    return written


def _scalar(value: Any, head: str) -> str:
    if isinstance(value, bool):
        return str(value).lower() * (head == "bool")
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"' * (head == "str")
    if isinstance(value, int) and head == "int":
        return _integer(value)
    if isinstance(value, int | float) and head == "float":
        return _float(float(value))
    return ""


def _container(value: Any, head: str, inner: Sequence[str]) -> str:
    match value, head, inner:
        case (list(), "list", [held]) | (set() | frozenset(), "set", [held]):
            members = sorted(value, key=repr) if head == "set" else value
            return f"{_GENERIC[head][1]}<{type_name(held)}>({', '.join(literal(v, held) for v in members)})"
        case dict(), "dict", [key, held]:
            pairs = ", ".join(f"{literal(k, key)} to {literal(v, held)}" for k, v in value.items())
            return f"mutableMapOf<{type_name(key)}, {type_name(held)}>({pairs})"
        case tuple(), "tuple", _ if len(inner) == len(value) and len(value) in _TUPLES:
            return f"{_TUPLES[len(value)]}({', '.join(map(literal, value, inner))})"
    return ""


def _integer(value: int) -> str:
    if -_INT < value < _INT:
        return str(value)
    if value == -_INT:
        return "Int.MIN_VALUE"
    if -_LONG < value < _LONG:
        return f"{value}L"
    return f'java.math.BigInteger("{value}")'


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "Double.NaN" if math.isnan(value) else f"Double.{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"


def _character(character: str) -> str:
    if character.isascii() and character.isprintable() and character not in '"\\$':
        return character
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[k : k + 4]}" for k in range(0, len(units), 4))


def inferred(value: Any) -> str:
    """Return a value's type in Python notation, for a program that does not state its types."""
    if isinstance(value, list | set | frozenset):
        members = {inferred(v) for v in value} or {"int"}
        return f"{'list' if isinstance(value, list) else 'set'}[{min(members)}]"
    if isinstance(value, dict):
        key, held = next(iter(value.items()), (0, 0))
        return f"dict[{inferred(key)}, {inferred(held)}]"
    if isinstance(value, tuple):
        return f"tuple[{', '.join(map(inferred, value))}]"
    return "None" if value is None else type(value).__name__


def _arguments(arguments: Sequence[Any], types: Sequence[str]) -> str:
    stated = types[:-1] if len(types) == len(arguments) + 1 else [inferred(value) for value in arguments]
    return ", ".join(map(literal, arguments, stated))


def candidate(program: Program, name: str) -> str:
    """Return the program's file: its source in the package `name`, whatever package it asked for."""
    return f"package {name}\n\n{_PACKAGE.sub('', program.source)}\n"


def calls(program: Program, name: str) -> str:
    """Return the file that calls the program in `name`; a function to each call, as methods are bounded in size.

    Raises:
        ValueError: a call's arguments cannot be written in Kotlin.
    """
    lines = [f"package {name}.calls", ""]
    for k, arguments in enumerate(program.calls):
        lines.append(
            f"private fun call{k}(): Any? = {name}.`{program.function}`({_arguments(arguments, program.types)})"
        )
    listed = ", ".join(f"::call{k}" for k in range(len(program.calls)))
    return "\n".join([*lines, "", f"fun main() = sandbox.harness.serve(listOf<() -> Any?>({listed}))", ""])


HARNESS = r"""
package sandbox.harness

import java.io.*
import java.math.BigInteger

private class Unfit(message: String) : Exception(message)

private class Packer {
    var values = 0
    val out = StringBuilder()

    fun pack(value: Any?, depth: Int) {
        values += 1
        if (depth > 64 || values > 100_000) throw Unfit("nested too deep, or too many values")
        if (out.length > 1_000_000) throw Unfit("more than 1000000 characters")
        if (value == null || value === Unit) { // a value's own `equals` is never asked
            out.append("null")
            return
        }
        when (value) {
            is Boolean -> out.append(value)
            is Byte, is Short, is Int -> out.append(value)
            is Long -> integer(BigInteger.valueOf(value))
            is BigInteger -> integer(value)
            is Float -> real(value.toDouble())
            is Double -> real(value)
            is Char -> text(value.toString())
            is String -> text(value)
            is Pair<*, *> -> members("t", listOf(value.first, value.second), depth)
            is Triple<*, *, *> -> members("t", listOf(value.first, value.second, value.third), depth)
            is Map<*, *> -> members("d", pairs(value), depth)
            is Set<*> -> members("s", value, depth)
            is List<*> -> members("l", value, depth)
            is Array<*> -> members("l", value.asIterable(), depth)
            is IntArray -> members("l", value.asIterable(), depth)
            is LongArray -> members("l", value.asIterable(), depth)
            is DoubleArray -> members("l", value.asIterable(), depth)
            is BooleanArray -> members("l", value.asIterable(), depth)
            is CharArray -> members("l", value.asIterable(), depth)
            else -> throw Unfit("of type " + value.javaClass.name.take(60))
        }
    }

    private fun members(tag: String, held: Iterable<*>, depth: Int) {
        out.append("[\"").append(tag).append('"')
        for (value in held) {
            out.append(',')
            pack(value, depth + 1)
        }
        out.append(']')
    }

    private fun pairs(map: Map<*, *>) = Iterable {
        iterator {
            for (entry in map.entries) {
                yield(entry.key)
                yield(entry.value)
            }
        }
    }

    private fun integer(value: BigInteger) {
        if (value.bitLength() > 14_000) throw Unfit("an integer of more than 14000 bits")
        if (value.bitLength() < 53) out.append(value)
        else out.append("[\"i\",\"").append(value.toString(16)).append("\"]")
    }

    private fun real(value: Double) {
        val text = when {
            value.isNaN() -> "nan"
            value.isInfinite() -> if (value > 0) "inf" else "-inf"
            else -> java.lang.Double.toHexString(value)
        }
        out.append("[\"f\",\"").append(text).append("\"]")
    }

    fun text(value: String) {
        if (out.length + value.length > 1_000_000) throw Unfit("more than 1000000 characters")
        out.append('"')
        for (c in value) {
            if (c in ' '..'~' && c != '"' && c != '\\') out.append(c)
            else out.append("\\u").append(c.code.toString(16).padStart(4, '0'))
        }
        out.append('"')
    }
}

private fun said(vararg texts: String): String {
    val packer = Packer()
    for ((k, text) in texts.withIndex()) {
        packer.out.append(if (k == 0) '[' else ',')
        packer.text(text.take(300))
    }
    return packer.out.append(']').toString()
}

private fun reply(call: () -> Any?): String = try {
    val packer = Packer()
    packer.pack(call(), 0)
    "[\"value\"," + packer.out + "]"
} catch (error: Unfit) {
    said("bad value", error.message ?: "")
} catch (error: OutOfMemoryError) {
    "[\"memory\"]"
} catch (error: ExceptionInInitializerError) {
    thrown(error.cause ?: error)
} catch (error: Throwable) {
    thrown(error)
}

private fun thrown(error: Throwable): String {
    val message = try { error.message ?: "" } catch (other: Throwable) { "" }
    return said("exception", error.javaClass.simpleName, message)
}

fun serve(calls: List<() -> Any?>) {
    val nonce = readLine() ?: return
    val out = FileOutputStream(FileDescriptor.out)
    System.setIn(ByteArrayInputStream(ByteArray(0)))
    System.setOut(PrintStream(OutputStream.nullOutputStream()))
    System.setErr(PrintStream(OutputStream.nullOutputStream()))
    fun say(text: String) = out.write("$nonce $text\n".toByteArray(Charsets.US_ASCII))
    say("ready")
    val work = Thread(null, { for (call in calls) say(reply(call)) }, "calls", 32L shl 20)
    work.isDaemon = true
    work.start()
    work.join()
    say("end")
    Runtime.getRuntime().halt(0)
}
"""
