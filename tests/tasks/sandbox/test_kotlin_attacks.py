"""Attacks on the limits of a Kotlin program that the other tests lack: found by someone who composed them again."""

import pytest

from data.records import Outcome, Program
from tasks import sandbox
from tasks.sandbox import kotlin_compiler
from tests.helpers.kotlin import needs_compiler, newest

CPU_S = 0.5
DRIP = """fun f(x: Int): Int {
    val out = java.io.FileOutputStream(java.io.FileDescriptor.out)
    repeat(2_000) { out.write(10); Thread.sleep(12) }
    return x * x
}"""
LOOKUP = """fun f(x: Int): Any {
    val held = sun.misc.Unsafe::class.java.getDeclaredField("theUnsafe")
    held.isAccessible = true
    val unsafe = held.get(null) as sun.misc.Unsafe
    val all = java.lang.invoke.MethodHandles.Lookup::class.java.getDeclaredField("IMPL_LOOKUP")
    return unsafe.getObject(unsafe.staticFieldBase(all), unsafe.staticFieldOffset(all)).toString()
}"""


def run(source: str, java: str = "") -> Outcome:
    """Run one call of a program."""
    ((outcome,),) = sandbox.run([Program("kotlin", source, "f", ((3,),), ("int", "int"))], java=java, cpu_s=CPU_S)
    return outcome


@needs_compiler
def test_a_program_that_keeps_talking_lives_no_longer() -> None:
    """Left to itself it would return, after 24 s."""
    assert run(DRIP) == Outcome("timeout")


@needs_compiler
def test_no_native_code_is_reached_by_way_of_unsafe_memory_on_a_newer_java() -> None:
    outcome = run(LOOKUP, newest())
    assert (outcome.kind, outcome.error) == ("exception", "UnsupportedOperationException"), outcome


NESTED = 24  # 2 to this power calls, written out by the compiler
SLOW = f"""inline fun twice(g: () -> Unit) {{ g(); g() }}
fun f(x: Int): Int {{
    var y = x
    {"twice { " * NESTED}y += 1{" }" * NESTED}
    return y
}}"""


@needs_compiler
def test_programs_that_are_compiled_for_ever_take_no_time_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kotlin_compiler, "ALONE_S", 4.0)
    sources = ("fun f(x: Int) = x + 1", SLOW, SLOW, "fun f(x: Int) = x + 2")
    programs = [Program("kotlin", source, "f", ((3,),), ("int", "int")) for source in sources]
    outcomes = [outcome for (outcome,) in sandbox.run(programs, cpu_s=CPU_S)]
    late = Outcome("timeout", message="the compiler took too long")
    assert outcomes == [Outcome("value", 4), late, late, Outcome("value", 5)]
