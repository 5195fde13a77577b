"""Kotlin: typed literals and batches; run for real where there is a compiler."""

import errno
import os
import resource
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from basic_control.data.records import Outcome, Program
from basic_control.tasks import sandbox
from basic_control.tasks.sandbox import kotlin, kotlin_source, kotlin_tools, syscalls
from basic_control.tasks.sandbox.kotlin import Compilation, Compiled
from tests.conftest import TOP
from tests.fixtures.hostile.kotlin import HONEST, LEVERS, LOOKUP, NATIVE, NUMBERS, PROGRAMS, SLOW
from tests.helpers.kotlin import FOUND, needs_compiler, newest

CPU_S = 0.6


@pytest.mark.parametrize(
    ("value", "notation", "expected"),
    [
        (5, "int", "5"),
        (-(2**31), "int", "Int.MIN_VALUE"),
        (2**31, "int", "2147483648L"),
        (2**70, "int", 'java.math.BigInteger("1180591620717411303424")'),
        (5, "float", "5.0"),
        (-0.5, "float", "-0.5"),
        (1e300, "float", "1e+300"),
        (float("nan"), "float", "Double.NaN"),
        (float("-inf"), "float", "Double.NEGATIVE_INFINITY"),
        (True, "bool", "true"),
        ('a"$\\\n', "str", '"a\\u0022\\u0024\\u005c\\u000a"'),
        ("ё😀", "str", '"\\u0451\\ud83d\\ude00"'),
        (None, "str | None", "null"),
        ("", "str | None", '""'),
        ([], "list[int]", "mutableListOf<Int>()"),
        (
            [[1], []],
            "list[list[int]]",
            "mutableListOf<MutableList<Int>>(mutableListOf<Int>(1), mutableListOf<Int>())",
        ),
        ({2, 1}, "set[int]", "mutableSetOf<Int>(1, 2)"),
        ({"a": 1.5}, "dict[str, float]", 'mutableMapOf<String, Double>("a" to 1.5)'),
        ((1, "a"), "tuple[int, str]", 'Pair(1, "a")'),
        ((1, 2, 3), "tuple[int, int, int]", "Triple(1, 2, 3)"),
        ([None, 1], "list[int | None]", "mutableListOf<Int?>(null, 1)"),
    ],
)
def test_values_become_typed_literals(value: object, notation: str, expected: str) -> None:
    assert kotlin_source.write_literal(value, notation) == expected


@pytest.mark.parametrize(
    ("value", "notation"),
    [
        (True, "int"),
        (1, "bool"),
        (1.5, "int"),
        ("1", "int"),
        (None, "int"),
        ((1, 2, 3, 4), "tuple[int, int, int, int]"),
    ],
)
def test_a_value_of_another_type_is_refused(value: object, notation: str) -> None:
    with pytest.raises(ValueError, match="no Kotlin literal of type"):
        kotlin_source.write_literal(value, notation)


def test_text_cannot_leave_its_literal() -> None:
    """Quotes, templates and line ends are escaped: a prompt's text is never Kotlin code."""
    written = kotlin_source.write_literal('") + System.exit(0) //${exit()}\r\u2028', "str")
    assert written.count('"') == 2
    assert "$" not in written
    assert written.isascii()
    assert written.isprintable()


def test_calls_import_the_program_from_where_it_lies() -> None:
    program = Program("kotlin", "fun f() = 1", "f", ((), ()), ("int",))
    assert "import `f` as p123\n" in kotlin_source.write_calls(program, "p123", ())
    written = kotlin_source.write_calls(program, "p123", ("a b", "c"))
    assert written.startswith("package p123\n\nimport `a b`.`c`.`f` as p123\n")
    assert written.count("= p123()") == 2


def test_without_a_compiler_programs_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv(kotlin_tools.VARIABLE, "/nonexistent/kotlinc")
    program = Program("kotlin", "fun f() = 1", "f", ((), ()), ("int",))
    assert sandbox.run([program]) == [(Outcome("unavailable", message="no Kotlin compiler"),) * 2]
    assert kotlin_tools.describe_tools() == "off (no Kotlin compiler)"


def test_without_landlock_programs_are_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system other than Linux has none: nothing is compiled or run there, and the layers say why."""
    for name in ("lib/kotlin-compiler.jar", "bin/kotlinc", "bin/java"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o700)
    monkeypatch.setattr("sys.platform", "darwin")
    program = Program("kotlin", "fun f() = 1", "f", ((),), ("int",))
    found = sandbox.run([program], kotlin_compiler=str(tmp_path / "bin/kotlinc"), java=str(tmp_path))
    assert found == [(Outcome("unavailable", message="no Landlock or seccomp to confine Kotlin"),)]


WITHOUT_ROOMS = """
import ctypes, os, sys
for capability in (21, 31):  # to mount, and to map root into a user namespace
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", sys.argv[1]])
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="root alone has what is taken away here")
def test_the_layers_say_where_a_program_can_tell_which_files_exist(tmp_path: Path) -> None:
    for name in ("lib/kotlin-compiler.jar", "bin/kotlinc", "bin/java"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o700)
    given = {**os.environ, kotlin_tools.VARIABLE: str(tmp_path), "JAVA_HOME": str(tmp_path)}
    plain = "from basic_control.tasks.sandbox import kotlin_tools; print(kotlin_tools.describe_tools())"
    said = [
        subprocess.check_output([sys.executable, "-c", *code], env=given, cwd=TOP, text=True)
        for code in ([plain], [WITHOUT_ROOMS, plain])
    ]
    if any(line.startswith("off") for line in said):
        pytest.skip("this kernel confines nothing")
    assert "no file system of its own (a program can tell which files exist), Landlock" in said[1]
    assert said[0] == said[1] or "own file system (mount namespace), Landlock" in said[0]


def test_tools_are_found_where_they_are_said_to_be(tmp_path: Path) -> None:
    """By the script or by its folder, through links, given or in the environment; a wrong path is none."""
    for name in ("kotlin/lib/kotlin-compiler.jar", "kotlin/bin/kotlinc", "jre/bin/java"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "kotlin/bin/kotlinc")
    java = str(tmp_path / "jre")
    for named in ("kotlin", "kotlin/bin/kotlinc", "link"):
        expected = kotlin_tools.Tools(f"{java}/bin/java", tmp_path / "kotlin")
        variable = {kotlin_tools.VARIABLE: str(tmp_path / named), "JAVA_HOME": java}
        for found in (
            kotlin_tools.find_tools(str(tmp_path / named), java, {}),
            kotlin_tools.find_tools(environment=variable),
            kotlin_tools.find_tools(environment={"PATH": str(tmp_path / "kotlin/bin"), "JAVA_HOME": java}),
        ):
            assert found in {expected, kotlin_tools.NO_CONFINEMENT}
    assert kotlin_tools.find_tools(str(tmp_path / "none"), java, {}) == kotlin_tools.NO_COMPILER
    assert kotlin_tools.find_tools(str(tmp_path / "kotlin"), str(tmp_path), {}) == kotlin_tools.NO_JAVA


SECRET = "canary-51c0"
ARGUMENTS = (1, 2.5, "ё$\n", True, [1, 2], {"a": 1}, (1, "b"), None, {3})
TYPES = (
    "int",
    "float",
    "str",
    "bool",
    "list[int]",
    "dict[str, int]",
    "tuple[int, str]",
    "str | None",
    "set[int]",
    "int",
)
TYPED = (
    "fun f(a: Int, b: Double, c: String, d: Boolean, e: List<Int>, g: Map<String, Int>, h: Pair<Int, String>, "
    "i: String?, j: Set<Int>): Any = listOf(a, b, c, d, e, g, h, i, j)"
)


class Ran(NamedTuple):
    """What became of a batch: the outcomes of `PROGRAMS`, then those of `TYPED`; what it could aim at."""

    outcomes: list[tuple[Outcome, ...]]
    folder: Path
    connected: bool


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """Compile all programs together and run each."""
    folder = tmp_path_factory.mktemp("kotlin")
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o640)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)  # noqa: FBT003 - the socket module's own signature
        port = str(listener.getsockname()[1])
        programs = [
            Program(
                "kotlin",
                source.replace("@FOLDER@", str(folder)).replace("@PORT@", port),
                "f",
                ((2,), (3,)),
                ("int", "int"),
            )
            for _, source in PROGRAMS.values()
        ]
        found = sandbox.run([*programs, Program("kotlin", TYPED, "f", (ARGUMENTS,), TYPES)], cpu_s=CPU_S)
        return Ran(found, folder, bool(select.select([listener], [], [], 0)[0]))


@needs_compiler
def test_programs_run_in_batches_and_touch_nothing(ran: Ran) -> None:
    """Good and bad ones compiled together: the bad fail for their own reason, the good pass."""
    if sandbox.describe_layers()["seccomp"] == "on":
        assert not ran.connected
    for (name, (kinds, _)), outcomes in zip(PROGRAMS.items(), ran.outcomes[:-1], strict=True):
        if kinds == "square":
            assert outcomes == (Outcome("value", 4), Outcome("value", 9)), name
        else:
            assert {o.kind for o in outcomes} <= set(kinds.split("|")), (name, outcomes)
            assert [(type(o.value), o.value) for o in outcomes] != [(int, 4), (int, 9)], name
        assert SECRET not in repr(outcomes)
        assert all(o.message.isprintable() for o in outcomes)
    assert [(path.name, path.read_text()) for path in ran.folder.iterdir()] == [("secret", SECRET)]
    assert (ran.folder / "secret").stat().st_mode & 0o777 == 0o640


@needs_compiler
def test_whether_a_file_exists_and_how_large_it_is_cannot_be_asked(ran: Ran) -> None:
    """Without a file system of its own the answers are the file's: Landlock refuses no such question."""
    if "own file system" not in kotlin_tools.describe_tools():
        pytest.skip("this system gives processes no mount namespace")
    assert Path("/etc/passwd").stat().st_size
    for name in ("probe", "probe the folder"):
        outcomes = ran.outcomes[list(PROGRAMS).index(name)]
        assert outcomes == (Outcome("value", [False, 0]),) * 2, name


@needs_compiler
def test_values_keep_their_types(ran: Ran) -> None:
    (outcome,) = ran.outcomes[-1]
    assert outcome.kind == "value", outcome
    assert repr(outcome.value) == repr(list(ARGUMENTS))


def native() -> Program:
    """Return the program that pulls every lever of this architecture."""
    calls = [(NUMBERS[name], *given) for name, given in LEVERS.items()]
    pulled = ", ".join(f"lever({', '.join(f'{one}L' for one in call)})" for call in calls)
    source = NATIVE.replace("@GETPPID@", f"{syscalls.find_numbers()['getppid']}L").replace("@LEVERS@", pulled)
    return Program("kotlin", source, "f", ((3,),), ("int", "int"))


def prepared(java: str = "") -> kotlin_tools.Ready:
    """Return the compiler, made ready for a Java."""
    tools = kotlin_tools.find_tools(java=java)
    assert isinstance(tools, kotlin_tools.Tools)
    ready = kotlin_tools.prepare(tools)
    assert isinstance(ready, kotlin_tools.Ready)
    return ready


PROBE = 'fun f(x: Int): Any = java.io.File("/etc/passwd").let { listOf(it.exists(), it.length()) }'
STREAM = "fun f(x: Int): Int = java.util.stream.IntStream.of(x).sum()"


def on_newest(compiled: Compiled) -> Outcome:
    """Run a program on the newest Java, called once."""
    (outcome,) = kotlin.run_compiled(prepared(newest()), compiled, 1, CPU_S)
    return outcome


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> list[Compiled]:
    """Compile, on the newest Java, the program that pulls every lever, one that looks it up, and three others."""
    sources = (LOOKUP, "fun f(x: Int): Int = x * x", STREAM, PROBE)
    programs = [native(), *(Program("kotlin", source, "f", ((3,),), ("int", "int")) for source in sources)]
    found = Compilation(prepared(newest()), tmp_path_factory.mktemp("newer"), programs).run()
    compiled = [one for one in found if isinstance(one, Compiled)]
    assert len(compiled) == len(programs), found
    return compiled


@needs_compiler
def test_a_program_on_a_newer_java_reaches_no_native_code_and_the_others_run(newer: list[Compiled]) -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU)
    attack, unsafe, *others, probed = map(on_newest, newer)
    assert (attack.kind, attack.error) == ("exception", "IllegalCallerException"), attack
    assert (unsafe.kind, unsafe.error) == ("exception", "UnsupportedOperationException"), unsafe
    assert others == [Outcome("value", 9), Outcome("value", 3)]
    assert resource.getrlimit(resource.RLIMIT_CPU) == before
    held = kotlin_tools.describe_tools(java=newest())
    assert "no native code" in held
    assert "Landlock, seccomp allow-list" in held
    assert probed == Outcome("value", [False, 0]) or "own file system (" not in held


@needs_compiler
def test_native_code_would_be_refused_every_lever_all_the_same(
    newer: list[Compiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a Java between, which has `java.lang.foreign` and does not know how to refuse it."""
    monkeypatch.setattr(kotlin_tools.Tools, "native_guards", property(lambda _: []))
    outcome = on_newest(newer[0])
    assert outcome == Outcome("value", [errno.EPERM] * len(LEVERS))


ALONE = ("probe", "probe the folder", "read", "write", "connect", "process")
"""Those of `PROGRAMS` that are let loose."""


class Built(NamedTuple):
    """Programs that one virtual machine compiled, by name, and the folder that some of them aim at."""

    compiled: dict[str, Compiled]
    aim: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    """Compile what the tests below start in ways of their own; the port that some aim at is open meanwhile."""
    folder, aim = tmp_path_factory.mktemp("built"), tmp_path_factory.mktemp("aim")
    (aim / "secret").write_text(SECRET)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        sources = {name: PROGRAMS[name][1].replace("@FOLDER@", str(aim)).replace("@PORT@", port) for name in ALONE}
        sources |= {"honest": HONEST}
        programs = [Program("kotlin", source, "f", ((2,),), ("int", "int")) for source in sources.values()]
        found = Compilation(prepared(), folder, programs).run()
        compiled = {name: one for name, one in zip(sources, found, strict=True) if isinstance(one, Compiled)}
        assert compiled.keys() == sources.keys(), found
        yield Built(compiled, aim)


def launched(ready: kotlin_tools.Ready, compiled: object) -> bytes:
    """Start a compiled program confined, and return what is heard of it."""
    assert isinstance(compiled, Compiled), compiled
    command = ready.program(compiled.jars, compiled.main, {}, 256)
    return subprocess.run(command, input=b"7\n", capture_output=True, check=True, cwd="/").stdout


RETURNED_4 = b'7 ready\n7 ["value",4]\n7 end\n'


@needs_compiler
def test_what_honest_programs_ask_of_the_kernel_is_allowed(built: Built) -> None:
    for java in ("", newest()):
        assert launched(prepared(java), built.compiled["honest"]) == RETURNED_4


@needs_compiler
def test_without_the_walls_the_same_programs_get_through(built: Built) -> None:
    """Else that they fail would say nothing: the virtual machine itself refuses none of it."""
    ready, said = prepared(), {}
    for name in ALONE:
        command = ready.program(built.compiled[name].jars, built.compiled[name].main, {}, 256)
        bare = command[command.index(ready.tools.java) :]
        said[name] = subprocess.check_output(bare, input=b"7\n", cwd="/").decode().split("\n")[1]
    assert said["probe"] == f'7 ["value",["l",true,{len(SECRET)}]]'
    assert SECRET in said["read"]
    assert all(line.startswith('7 ["value",') for line in said.values()), said
    assert (built.aim / "made").exists()


@needs_compiler
def test_a_virtual_machine_that_does_not_start_is_no_fault_of_the_program(
    built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kotlin, "HEAP_MB", 1 << 30)
    outcomes = kotlin.run_compiled(prepared(), built.compiled["honest"], 2, 2.0)
    assert outcomes == (Outcome("unavailable", message="the Java virtual machine did not start"),) * 2


BREAKING = {
    "a class named like a path": "class `../x/Y`\nfun f(x: Int): Int = x * x",
    "deep parentheses": f"fun f(x: Int): Int = {'(' * 20_000}1{')' * 20_000}",
}
STANDING = {
    "a package, annotations and comments": '@file:Suppress("unused")\n/* package no */ package demo // mine\n\n',
    "a package of odd names": "#!/usr/bin/kotlin\npackage `a b`.`in`\n",
    "names that the calls have": "fun call0() = 0\nfun main() = Unit\nfun <T> listOf(vararg x: T) = 0\n",
    "another name of the file": '@file:JvmName("Calls")\n@file:JvmMultifileClass\npackage sandbox.harness\n',
    "a byte order mark": "\ufeffpackage a\n",
    "for the module alone": "internal ",
}


@needs_compiler
def test_programs_are_compiled_as_they_stand_and_one_that_breaks_the_compiler_costs_a_start(
    tmp_path: Path,
) -> None:
    ready = prepared()
    right = [f"{head}fun f(x: Int): Int = x * x" for head in STANDING.values()]
    sources = [*right[:2], *BREAKING.values(), *right[2:], "fun f(x: Int): Int = y"]
    programs = [Program("kotlin", source, "f", ((2,),), ("int", "int")) for source in sources]
    batch = Compilation(ready, tmp_path, programs)
    found = batch.run()
    kinds = ["compiled" if isinstance(one, Compiled) else one.kind for one in found]
    assert kinds == [*["compiled"] * 2, *["syntax"] * 2, *["compiled"] * 4, "syntax"]
    assert batch.starts <= 1 + len(BREAKING)
    assert found[-1] == Outcome("syntax", message="unresolved reference 'y'. (line 1)")
    assert [launched(ready, one) for one in found[:2]] == [RETURNED_4] * 2


@needs_compiler
def test_programs_that_are_compiled_for_ever_take_no_time_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kotlin, "ALONE_S", 10.0)  # CPU seconds: the others take two, on a busy machine five
    sources = ("fun f(x: Int) = x + 1", SLOW, "fun f(x: Int) = x + 2")
    programs = [Program("kotlin", source, "f", ((3,),), ("int", "int")) for source in sources]
    late = Outcome("timeout", message="the compiler took too long")
    assert sandbox.run(programs, cpu_s=CPU_S) == [(Outcome("value", 4),), (late,), (Outcome("value", 5),)]


def without(monkeypatch: pytest.MonkeyPatch, cache: Path, *calls: str) -> Outcome:
    """Return what becomes of a program where the virtual machine is refused some system calls."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    left = [name for name in syscalls.MACHINE if name not in calls]
    monkeypatch.setattr(syscalls, "MACHINE", left)
    ((outcome,),) = sandbox.run([Program("kotlin", "fun f() = 1", "f", ((),), ("int",))])
    return outcome


@needs_compiler
@pytest.mark.parametrize("calls", [("openat",), ("pread64",), ("futex",), ("stat", "newfstatat")])
def test_without_a_system_call_that_the_virtual_machine_needs_no_program_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, calls: tuple[str, ...]
) -> None:
    outcome = without(monkeypatch, tmp_path, *calls)
    assert outcome == Outcome("unavailable", message="the Kotlin compiler does not work")


@needs_compiler
def test_what_a_compiler_needs_is_made_once_and_kept() -> None:
    """With an archive of the compiler's classes, where the Java has one of its own to add to."""
    assert isinstance(FOUND, kotlin_tools.Tools)
    made = kotlin_tools.prepare(FOUND)
    assert isinstance(made, kotlin_tools.Ready)
    before = {path.name: path.stat().st_mtime_ns for path in made.folder.iterdir()}
    assert {"own.jar", "made"} <= set(before) <= {"own.jar", "made", "lock", "compiler.jsa"}
    own = Path(FOUND.java).parents[1] / "lib" / "server" / "classes.jsa"
    assert ("compiler.jsa" in before) is own.exists()
    assert kotlin_tools.prepare(FOUND) == made
    assert {path.name: path.stat().st_mtime_ns for path in made.folder.iterdir()} == before


@needs_compiler
def test_a_compiler_that_does_not_work_costs_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "kotlin-compiler.jar").write_text("none")
    program = Program("kotlin", "fun f() = 1", "f", ((),), ("int",))
    ((outcome,),) = sandbox.run([program], kotlin_compiler=str(tmp_path))
    assert outcome == Outcome("unavailable", message="the Kotlin compiler does not work")
