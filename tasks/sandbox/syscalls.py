"""The system calls that the sandbox allows, checks or makes, with their numbers on x86_64 and aarch64."""

import platform
from collections.abc import Mapping

_COMPUTING = """
    read 0 63, write 1 64, readv 19 65, writev 20 66, close 3 57, fstat 5 80, lseek 8 62, poll 7 -, ppoll 271 73,
    select 23 -, pselect6 270 72, epoll_create 213 -, epoll_create1 291 20, epoll_ctl 233 21, epoll_wait 232 -,
    epoll_pwait 281 22, epoll_pwait2 441 441, eventfd2 290 19, munmap 11 215, mremap 25 216, madvise 28 233,
    brk 12 214, rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132,
    sched_yield 24 124, sched_getaffinity 204 123, nanosleep 35 101, clock_nanosleep 230 115, gettimeofday 96 169,
    getrusage 98 165, getpid 39 172, getppid 110 173, gettid 186 178, getcpu 309 168, futex 202 98,
    futex_waitv 449 449, set_robust_list 273 99, rseq 334 293, membarrier 324 283, getrandom 318 278,
    restart_syscall 219 128, exit 60 93, exit_group 231 94
"""
_MORE = """
    open 2 -, openat 257 56, stat 4 -, lstat 6 -, newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44,
    access 21 -, faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents64 217 61,
    getcwd 79 17, pread64 17 67, pwrite64 18 68, sendfile 40 71, copy_file_range 326 285, fadvise64 221 223,
    ftruncate 77 46, fsync 74 82, fdatasync 75 83, flock 73 32, mkdir 83 -, mkdirat 258 34, rmdir 84 -,
    unlink 87 -, unlinkat 263 35, rename 82 -, renameat 264 38, renameat2 316 276, dup 32 23, dup2 33 -,
    dup3 292 24, pipe 22 -, pipe2 293 59, socketpair 53 199, shutdown 48 210, msync 26 227, mincore 27 232,
    uname 63 160, sysinfo 99 179, times 100 153, umask 95 166, getuid 102 174, geteuid 107 175, getgid 104 176,
    getegid 108 177, getrlimit 97 163, arch_prctl 158 -, set_tid_address 218 96, execve 59 221,
    rt_sigtimedwait 128 137, rt_sigpending 127 136, rt_sigsuspend 130 133, sched_getparam 143 121,
    sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126
"""
_OTHERS = """
    mmap 9 222, mprotect 10 226, clone 56 220, clone3 435 435, ioctl 16 29, prctl 157 167, tgkill 234 131,
    prlimit64 302 261, fcntl 72 25, clock_gettime 228 113, clock_getres 229 114,
    capset 126 91, pivot_root 155 41, open_tree 428 428, move_mount 429 429, mount_setattr 442 442
"""


def _read_names(table: str) -> tuple[str, ...]:
    return tuple(row.split()[0] for row in table.split(","))


def _read_numbers(table: str, column: int) -> dict[str, int]:
    """Return the calls' numbers on an architecture; `-` stands for a call that it does not have."""
    numbers = {}
    for row in table.split(","):
        cells = row.split()
        if cells[column] != "-":
            numbers[cells[0]] = int(cells[column])
    return numbers


COMPUTING = _read_names(_COMPUTING)
"""Calls that computing needs, the most frequent first, with any arguments."""

MACHINE = (*COMPUTING, *_read_names(_MORE), "mmap", "mprotect")
"""In addition, the calls that a Java virtual machine was seen to make (17, 21 and 25), and close relatives."""

_ALL = f"{_COMPUTING},{_MORE},{_OTHERS}"
X86_64, AARCH64 = _read_numbers(_ALL, 1), _read_numbers(_ALL, 2)
"""The number of each call, by its name."""


def find_numbers() -> Mapping[str, int]:
    """Return the numbers of this machine's architecture."""
    return X86_64 if platform.machine() == "x86_64" else AARCH64
