"""A reply is remembered whole, durably and once; claims keep workers apart and end with their holders."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from basic_control.data.errors import InputError
from basic_control.data.records import Reply
from basic_control.tasks.store.reply_cache import Remembered, ReplyCache, name_owner


def entry(request_id: str, text: str = "four") -> Remembered:
    return Remembered(request_id, Reply(text, "two and two", "stop", 5, 1), 0.25, "m")


def test_a_reply_comes_back_as_it_was(cache: ReplyCache) -> None:
    cache.remember([entry("a"), Remembered("b", Reply(""), 0.0)])
    assert cache.lookup(["a", "b", "c"]) == {"a": entry("a"), "b": Remembered("b", Reply(""), 0.0)}


@pytest.mark.slow
def test_several_processes_may_make_the_same_cache_at_once(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache\nsys.stdin.readline()\nReplyCache(sys.argv[1])"
    )
    command = [sys.executable, "-c", script, f"sqlite:///{tmp_path}/replies.sqlite"]
    makers = [subprocess.Popen(command, stdin=subprocess.PIPE) for _ in range(4)]
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.close()
    assert [maker.wait() for maker in makers] == [0] * 4


def test_the_first_reply_stays(cache: ReplyCache) -> None:
    cache.remember([entry("a")])
    cache.remember([entry("a", "five")])
    assert cache.lookup(["a"])["a"].reply.text == "four"


def test_one_lookup_takes_more_ids_than_a_statement_has_parameters(cache: ReplyCache) -> None:
    ids = [f"{n:064x}" for n in range(40_000)]
    cache.remember([entry(ids[0]), entry(ids[-1])])
    assert set(cache.lookup(ids)) == {ids[0], ids[-1]}


@pytest.mark.parametrize(
    "text", ["nul \x00 byte", "lone \ud800 surrogate", "🜁" * 1000, "'; DROP TABLE replies; --"]
)
def test_hostile_text_is_kept_as_far_as_text_goes(cache: ReplyCache, text: str) -> None:
    cache.remember([entry("a", text)])
    kept = cache.lookup(["a"])["a"].reply.text
    assert kept == text.replace("\x00", "\ufffd").replace("\ud800", "?")
    assert cache.count() == 1


def test_a_changed_row_is_asked_anew(cache: ReplyCache) -> None:
    cache.remember([entry("a"), entry("b")])
    with sa.create_engine(cache.url).begin() as connection:
        connection.exec_driver_sql("UPDATE replies SET text = 'five' WHERE request_id = 'a'")
    assert set(cache.lookup(["a", "b"])) == {"b"}
    cache.remember([entry("a", "six")])
    assert cache.lookup(["a"])["a"].reply.text == "six"


def test_replies_survive_another_process(cache: ReplyCache) -> None:
    cache.remember([entry("a")])
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache\n"
        "print(ReplyCache(sys.argv[1]).lookup(['a'])['a'].reply.text)"
    )
    done = subprocess.run([sys.executable, "-c", script, cache.url], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "four"


def test_a_claim_is_held_by_one_until_given_back(cache: ReplyCache) -> None:
    one, other = name_owner() + ":1", name_owner() + ":2"
    assert cache.claim(["a", "b"], holder=one, lease_s=60) == {"a", "b"}
    assert cache.claim(["a", "b", "c"], holder=other, lease_s=60) == {"c"}
    cache.release(["a"], holder=one)
    assert cache.claim(["a", "b"], holder=other, lease_s=60) == {"a"}
    cache.remember([entry("b")])
    assert cache.claim(["b"], holder=other, lease_s=60) == {"b"}


def test_a_claim_ends_with_its_lease(cache: ReplyCache) -> None:
    assert cache.claim(["a"], holder="elsewhere:1:1:1", lease_s=-1) == {"a"}
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == {"a"}
    assert cache.claim(["b"], holder="elsewhere:1:1:1", lease_s=-1) == {"b"}
    cache.renew(holder="elsewhere:1:1:1", lease_s=60)
    assert cache.claim(["b"], holder=name_owner(), lease_s=60) == set()


def test_a_claim_ends_with_its_process(cache: ReplyCache) -> None:
    script = (
        "import sys\nfrom tasks.store.reply_cache import ReplyCache, name_owner\n"
        "ReplyCache(sys.argv[1]).claim(['a'], holder=name_owner() + ':1', lease_s=3600)"
    )
    subprocess.run([sys.executable, "-c", script, cache.url], check=True)
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == {"a"}


def test_no_claim_is_granted_twice_to_threads(cache: ReplyCache) -> None:
    ids = [str(n) for n in range(200)]
    granted: list[set[str]] = []

    def take(number: int) -> None:
        granted.append(cache.claim(ids, holder=f"{name_owner()}:{number}", lease_s=60))

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(i for each in granted for i in each) == sorted(ids)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "Expected an SQLAlchemy URL"),
        ("oracle+cx://u:secret@host/x", "cannot be used"),
        ("sqlite:////proc/nowhere/replies.sqlite", "cannot be opened"),
    ],
)
def test_an_unusable_url_is_explained_without_its_password(url: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        ReplyCache(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_was_never_a_cache_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "thesis.txt"
    path.write_bytes(b"this is not a database" * 1000)
    with pytest.raises(InputError, match="is not an SQLite file"):
        ReplyCache(f"sqlite:///{path}")
    assert path.read_bytes() == b"this is not a database" * 1000
    assert {p.name for p in tmp_path.iterdir()} <= {"thesis.txt", "thesis.txt.lock"}


def test_an_expired_claim_goes_to_one_of_those_who_want_it(cache: ReplyCache) -> None:
    ids = [str(n) for n in range(300)]
    cache.claim(ids, holder="elsewhere:1:1:1", lease_s=-1)
    granted: list[set[str]] = []

    def take(number: int) -> None:
        granted.append(cache.claim(ids, holder=f"{name_owner()}:{number}", lease_s=60))

    threads = [threading.Thread(target=take, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(i for each in granted for i in each) == sorted(ids)


def test_a_lease_by_another_clock_counts_for_nothing(cache: ReplyCache) -> None:
    """Such as one in seconds since 1970, where the cache counts from the machine's start."""
    assert cache.claim(["a"], holder="elsewhere:1:1:1", lease_s=1.7e9) == {"a"}
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == {"a"}


def test_a_process_of_another_container_is_not_taken_for_gone(cache: ReplyCache) -> None:
    """It may have this machine's name and start, and a process id that is nobody's here."""
    machine = name_owner().partition(":")[0]
    if "+" not in machine:
        pytest.skip("this system does not tell containers apart")
    other = f"{machine.partition('+')[0]}+1:999999999:1:1"
    assert cache.claim(["a"], holder=other, lease_s=60) == {"a"}
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == set()


def test_a_claim_ends_with_its_machine(cache: ReplyCache) -> None:
    """After a restart the clock begins again, and leases of before could seem to last for days."""
    if not cache.url.startswith("sqlite"):
        pytest.skip("a server has a clock of its own")
    machine = name_owner().partition(":")[0]
    name, _, boot = machine.partition("@")
    if not boot:
        pytest.skip("this system does not tell its starts apart")
    assert cache.claim(["a"], holder=f"{name}@00000000:1:1:1", lease_s=1e6) == {"a"}
    assert cache.claim(["a"], holder=name_owner(), lease_s=60) == {"a"}
