"""Workers fit the machine: its cores and memory as control groups ration them, both generations of those."""

from pathlib import Path

import pytest

from basic_control.tasks.runtime import machine

MB = 1 << 20
FREE = 8192


def tree(root: Path, groups: str, files: dict[str, str]) -> Path:
    """Write what the kernel would show."""
    meminfo = f"MemTotal: 99999999 kB\nMemFree: 1 kB\nMemAvailable: {FREE * 1024} kB\n"
    shown = {"proc/self/cgroup": groups, "proc/meminfo": meminfo}
    for name, text in {**shown, **{f"sys/fs/cgroup/{name}": text for name, text in files.items()}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


V1 = "5:memory:/job/one\n4:cpu,cpuacct:/job/one\n1:name=systemd:/\n"
CPU = [
    ("0::/job/one\n", {"job/one/cpu.max": "150000 100000\n"}, 2),
    ("0::/job/one\n", {"job/one/cpu.max": "max 100000\n", "job/cpu.max": "20000 100000\n"}, 1),
    ("0::/\n", {"cpu.max": "100000 100000\n"}, 1),
    ("0::/../host/path\n", {"cpu.max": "100000 100000\n"}, 1),
    ("0::/job/one\n", {"job/one/cpu.max": "max 100000\n"}, 64),
    ("0::/job/one\n", {"job/one/cpu.max": "nonsense"}, 64),
    (V1, {"cpu,cpuacct/job/one/cpu.cfs_quota_us": "250000", "cpu,cpuacct/job/one/cpu.cfs_period_us": "100000"}, 3),
    (V1, {"cpu,cpuacct/cpu.cfs_quota_us": "100000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}, 1),
    (V1, {"cpu,cpuacct/job/one/cpu.cfs_quota_us": "-1", "cpu,cpuacct/job/one/cpu.cfs_period_us": "100000"}, 64),
    ("", {}, 64),
]


@pytest.mark.parametrize(("groups", "files", "expected"), CPU)
def test_cores_follow_the_quota(
    groups: str, files: dict[str, str], expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part of a core counts as a whole one, and every group on the way up has its say."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(64)))
    assert machine.count_cores(tree(tmp_path, groups, files)) == expected


def v2(most: int, used: int, inactive: int) -> dict[str, str]:
    return {
        "job/memory.max": f"{most * MB}\n",
        "job/memory.current": f"{used * MB}\n",
        "job/memory.stat": f"anon 5\ninactive_file {inactive * MB}\nactive_file 7\n",
    }


MEMORY = [
    ("0::/job\n", v2(2048, 1024, 512), 1536),
    ("0::/job/below\n", v2(1000, 1200, 100), 0),
    ("0::/job\n", {"job/memory.max": "max\n", "job/memory.current": "1\n"}, FREE),
    (V1, {"memory/job/one/memory.limit_in_bytes": f"{700 * MB}", "memory/job/one/memory.usage_in_bytes": "0"}, 700),
    ("", {}, FREE),
]


@pytest.mark.parametrize(("groups", "files", "expected"), MEMORY)
def test_memory_is_what_may_still_be_taken(
    groups: str, files: dict[str, str], expected: int, tmp_path: Path
) -> None:
    assert machine.measure_free_memory(tree(tmp_path, groups, files)) == expected * MB


def test_where_nothing_is_told_memory_is_unknown(tmp_path: Path) -> None:
    assert machine.measure_free_memory(tmp_path) is None
    assert machine.count_workers(256, 16, tmp_path) == 16


@pytest.mark.parametrize(
    ("free", "memory_mb", "asked", "expected"), [(2000, 256, 16, 5), (2000, 256, 2, 2), (100, 256, 16, 1)]
)
def test_workers_times_memory_fit(free: int, memory_mb: int, asked: int, expected: int, tmp_path: Path) -> None:
    """Each takes its component's memory and 128 MB beside it; one worker there always is."""
    assert machine.count_workers(memory_mb, asked, tree(tmp_path, "0::/job\n", v2(free, 0, 0))) == expected
