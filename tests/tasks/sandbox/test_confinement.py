"""The kernel's layers hold by themselves, where the kernel offers them: tried on a process without WebAssembly."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from basic_control.tasks.sandbox import confinement, processes, syscalls
from tests.fixtures.hostile.kotlin import LEVERS, NUMBERS, PARENT

PROBE = """
import ctypes, errno, os, resource, signal, socket, sys, threading, time
sys.path.insert(0, sys.argv[1])
from basic_control.tasks.sandbox import confinement
folder = sys.argv[2]
libc = ctypes.CDLL(None, use_errno=True)
held = confinement.drop_new_privs() and {apply}
if not held:
    print("off")
    sys.exit()

def attempt(name, act):
    try:
        act()
    except OSError as error:
        print(name, errno.errorcode[error.errno])
    else:
        print(name, "done")

def fork():
    if os.fork() == 0:
        os._exit(0)

attempt("read", lambda: open(folder + "/secret").read())
attempt("write", lambda: open(folder + "/made", "w").write("x"))
attempt("list", lambda: os.listdir("/"))
attempt("fork", fork)
attempt("exec", lambda: os.execv("/", ["true"]))
attempt("socket", lambda: socket.socket().connect(("127.0.0.1", 9)))
attempt("kill", lambda: os.kill(os.getppid(), 0))

def ptrace():
    if libc.ptrace(16, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")

attempt("ptrace", ptrace)
thread = threading.Thread(target=print, args=("thread done",))
thread.start()
thread.join()
time.sleep(0.001)
bytearray(10**7)
"""


def probe(apply: str, folder: Path) -> dict[str, str]:
    """Return what a process so confined could still do; skip where it cannot be confined so."""
    (folder / "secret").write_text("x")
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE.replace("{apply}", apply), processes.build_command("x")[5], str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.stdout == "off\n":
        pytest.skip(f"this kernel does not offer it: {apply}")
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def test_seccomp_leaves_threads_time_and_memory_only(tmp_path: Path) -> None:
    found = probe("confinement.restrict_calls()", tmp_path)
    assert found.pop("thread") == "done"
    assert found == dict.fromkeys(["read", "write", "list", "fork", "exec", "socket", "kill", "ptrace"], "EPERM")


def test_the_virtual_machines_filter_leaves_files_and_exec_but_nothing_outside(tmp_path: Path) -> None:
    found = probe("confinement.restrict_calls(confinement.build_machine_filter)", tmp_path)
    assert (found["thread"], found["read"], found["list"]) == ("done", "done", "done")
    assert {found[name] for name in ("fork", "socket", "kill", "ptrace")} == {"EPERM"}


def pulled(*, confined: bool) -> dict[str, int]:
    """Return each lever's errno, 0 where it moved."""
    code = (
        "import ctypes, json, os, sys\nsys.path.insert(0, sys.argv[1])\n"
        "from basic_control.tasks.sandbox import confinement\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"if {confined} and not ("
        "confinement.drop_new_privs() and confinement.restrict_calls(confinement.build_machine_filter)):\n"
        "    sys.exit(3)\n"
        f"for name, given in {LEVERS!r}.items():\n"
        f"    number = {NUMBERS!r}[name]\n"
        f"    given = [os.getppid() if one == {PARENT} else one for one in given]\n"
        "    done = libc.syscall(*[ctypes.c_long(one) for one in (number, *given)])\n"
        "    print(name, ctypes.get_errno() if done == -1 else 0)\n"
    )
    command = [sys.executable, "-I", "-c", code, processes.build_command("x")[5]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 3:
        pytest.skip("this kernel has no seccomp")
    return {name: int(said) for name, said in (line.split() for line in done.stdout.splitlines())}


def test_the_virtual_machines_filter_refuses_every_lever() -> None:
    found = pulled(confined=True)
    assert len(found) == len(LEVERS)
    assert set(found.values()) == {errno.EPERM}


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="some of them are root's alone")
def test_without_the_filter_no_lever_is_refused() -> None:
    """Else the test above would say nothing. A container refuses some by itself: most must be left."""
    found = pulled(confined=False)
    assert sum(said != errno.EPERM for said in found.values()) > len(LEVERS) * 2 / 3, found


def test_the_virtual_machines_filter_leaves_its_own_limits_and_threads() -> None:
    code = (
        "import ctypes, os, sys\nsys.path.insert(0, sys.argv[1])\n"
        "from basic_control.tasks.sandbox import confinement, syscalls\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "if not confinement.drop_new_privs() or not "
        "confinement.restrict_calls(confinement.build_machine_filter): sys.exit(3)\n"
        "room, numbers = ctypes.create_string_buffer(16), syscalls.find_numbers()\n"
        "limits, tgkill = numbers['prlimit64'], numbers['tgkill']\n"
        "me, other = os.getpid(), os.getppid()\n"
        "print(libc.syscall(limits, 0, 0, None, room), libc.syscall(limits, other, 0, None, room))\n"
        "print(libc.syscall(tgkill, me, me, 0), libc.syscall(tgkill, other, other, 0))\n"
    )
    command = [sys.executable, "-I", "-c", code, processes.build_command("x")[5]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 3:
        pytest.skip("this kernel has no seccomp")
    assert done.stdout == "0 -1\n0 -1\n"


@pytest.mark.parametrize("numbers", [syscalls.X86_64, syscalls.AARCH64])
def test_a_virtual_machine_may_ask_about_a_file_by_its_name(numbers: Mapping[str, int]) -> None:
    """By newfstatat, which aarch64 has alone, and by statx."""
    assert {"newfstatat", "statx"} <= numbers.keys() & {*syscalls.MACHINE}


def test_capabilities_are_gone_for_good_also_as_root() -> None:
    code = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nfrom basic_control.tasks.sandbox import confinement\n"
        "import os\nprint(confinement.drop_new_privs(), confinement.drop_capabilities(), flush=True)\n"
        "os.execv('/bin/sh', ['sh', '-c', 'grep -E ^Cap /proc/self/status'])\n"
    )
    command = [sys.executable, "-I", "-c", code, processes.build_command("x")[5]]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    first, *lines = done.stdout.splitlines()
    if sys.platform != "linux":
        pytest.skip("capabilities are Linux's")
    assert first == "on on"
    held = dict(line.split(":\t") for line in lines)
    wanted = ("CapInh", "CapPrm", "CapEff", "CapAmb", *(["CapBnd"] if os.geteuid() == 0 else []))
    assert {int(held[name], 16) for name in wanted} == {0}


def test_landlock_leaves_no_file(tmp_path: Path) -> None:
    found = probe("confinement.restrict_files()", tmp_path)
    assert {found[name] for name in ("read", "write", "list", "exec")} == {"EACCES"}


def test_landlock_leaves_what_it_is_told_to_leave(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("readable")
    found = probe(f"confinement.restrict_files([{str(folder)!r}, '/does/not/exist'])", folder)
    assert (found["read"], found["write"], found["list"]) == ("done", "EACCES", "EACCES")


ROOT = """
import os, sys
sys.path.insert(0, sys.argv[1])
from basic_control.tasks.sandbox import confinement, launch
folder = sys.argv[2]
os.chdir(folder + "/own")
root = {apply}
confinement.drop_capabilities()
def kept(path):
    try:
        open(path, "w").write("x")
    except OSError:
        return "read" if os.path.exists(path) else "hidden"
    return "written"
paths = ("own/made", "given/text", "linked/text", "secret", "own/../secret")
print(root or "none", os.getcwd() == folder + "/own", *(kept(folder + "/" + path) for path in paths), sep="|")
print(*sorted(os.listdir("/")), os.path.realpath("/proc/self/exe"), os.path.exists("/proc/1"), sep="|")
"""


WITHOUT = """
import ctypes, os, sys
for capability in {}:
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
MOUNT, MAP_ROOT = 21, 31


@pytest.mark.parametrize("admin", [True, False])
def test_a_root_of_its_own_holds_what_is_given_and_nothing_else(tmp_path: Path, *, admin: bool) -> None:
    """With the right to mount, and without it; what is to be read cannot be written, whoever asks."""
    for name in ("own", "given", "else"):
        (tmp_path / name).mkdir()
    for name in ("given/text", "secret", "else/text"):
        (tmp_path / name).write_text("kept")
    (tmp_path / "linked").symlink_to(tmp_path / "given")
    given, own = [str(tmp_path / name) for name in ("given", "linked")], [str(tmp_path / "own")]
    code = ROOT.replace("{apply}", f"launch.enter_root('/given/program', {given!r}, {own!r})")
    command = [sys.executable, "-I", "-c", code, processes.build_command("x")[5], str(tmp_path)]
    command = command if admin else [sys.executable, "-I", "-c", WITHOUT.format([MOUNT]), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    first, second = (line.split("|") for line in done.stdout.splitlines())
    if first[0] == "none":
        pytest.skip("this system gives no mount namespace here")
    assert first[0] == ("mount namespace" if admin and os.geteuid() == 0 else "mount and user namespace")
    assert first[1:] == ["True", "written", "read", "read", "hidden", "hidden"]
    assert second == ["proc", tmp_path.parts[1], "/given/program", "False"]
    assert (tmp_path / "own" / "made").read_text() == "x"
    assert (tmp_path / "given" / "text").read_text() == (tmp_path / "secret").read_text() == "kept"


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone has what is taken away here"
)
def test_where_no_root_can_be_made_the_old_one_stays_whole(tmp_path: Path) -> None:
    """Half-way, a user namespace without a map would leave the process no right to its own files."""
    (tmp_path / "own").mkdir(mode=0o700)
    code = ROOT.replace("{apply}", f"launch.enter_root('/program', [], [{str(tmp_path / 'own')!r}])")
    command = [sys.executable, "-I", "-c", code, processes.build_command("x")[5], str(tmp_path)]
    command = [sys.executable, "-I", "-c", WITHOUT.format([MOUNT, MAP_ROOT]), *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("none|True|written|")


def test_limits_are_lowered_and_never_raised() -> None:
    code = (
        "import sys, resource\nsys.path.insert(0, sys.argv[1])\n"
        "from basic_control.tasks.sandbox import confinement\n"
        "print(confinement.limit(core=0, nofile=64, nothing=1))\nconfinement.limit(nofile=128)\n"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, processes.build_command("x")[5]],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "core nofile\n(64, 64) (0, 0)\n"


@pytest.mark.parametrize("audit", [confinement._X86_64, confinement._AARCH64])
@pytest.mark.parametrize(
    ("filtered", "last"),
    [(confinement.build_worker_filter, 0x00050001), (confinement.build_machine_filter, 0x00050001)],
)
def test_every_jump_of_the_filter_lands_inside_it(filtered: Callable[[int], bytes], audit: int, last: int) -> None:
    """On both architectures, only one of which this machine can try."""
    ops = filtered(audit)
    assert len(ops) % 8 == 0
    count = len(ops) // 8
    for k in range(count):
        code, yes, no = int.from_bytes(ops[8 * k : 8 * k + 2], sys.byteorder), ops[8 * k + 2], ops[8 * k + 3]
        assert code in {0x20, 0x15, 0x35, 0x45, 0x06}
        assert k + 1 + max(yes, no) < count or code == 0x06
    assert ops[-8:] == confinement._op(0x06, last)
