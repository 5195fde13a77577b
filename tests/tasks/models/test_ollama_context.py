"""A prompt that Ollama would cut is given a context that holds it, or is a failed call: never scored silently."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models.ollama_context import estimate_tokens, is_prompt_cut
from basic_control.tasks.runtime.storage import open_cache
from basic_control.tasks.store.reply_cache import Remembered
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers import Answer, Server, serve_ollama
from tests.tasks.models.asking import error_of, reply_of

DEFAULT = 4096


def count_words(body: dict[str, Any]) -> int:
    return sum(len(message["content"].split()) for message in body["messages"])


def cutting(window: int = 1 << 17, *, default: int = DEFAULT, halves: bool = False) -> Any:
    """Return a reply of a server that reads a token a word, and no more than fit its context."""

    def reply(body: dict[str, Any]) -> Answer:
        context = min(body["options"].get("num_ctx", default), window)
        n_words = count_words(body)
        n_read = n_words
        if n_words > context:
            n_read = context // 2 + 2 if halves else context
        return Answer("whole" if n_read == n_words else "cut", tokens_in=n_read)

    return reply


def model(server: Server, **fields: Any) -> Model:
    given: dict[str, Any] = {"name": "m", "provider": "ollama", "base_url": server.base_url, "deadline_s": 20}
    return Model(**given, **fields)


def words(n: int) -> Call:
    return Call((Message("user", "word " * n),), {"temperature": 0.0, "max_tokens": 100})


@pytest.mark.parametrize("n", [10, 1000, 3900, 4096, 4097, 5000, 8192, 20_000])
@pytest.mark.parametrize("halves", [False, True])
def test_the_whole_prompt_is_read(n: int, halves: Any) -> None:
    with serve_ollama(cutting(halves=halves)) as server:
        assert reply_of(model(server), words(n)).text == "whole"


def test_a_server_whose_default_is_smaller_than_ours_is_noticed() -> None:
    with serve_ollama(cutting(default=2048)) as server:
        assert reply_of(model(server), words(2100)).text == "whole"
        assert len(server.requests) == 2


def test_a_prompt_that_the_model_has_no_context_for_is_a_failed_call() -> None:
    with serve_ollama(cutting(window=8192)) as server:
        server.script.details["llama.context_length"] = 8192
        error = error_of(model(server), words(20_000))
        assert server.requests[-1].body["options"]["num_ctx"] == 8192
    assert (error.kind, "the model has no larger one" in error.message) == ("invalid", True)


def test_nothing_is_sent_where_the_default_is_enough() -> None:
    with serve_ollama("hi") as server:
        reply = reply_of(model(server), words(500))
        assert "num_ctx" not in server.requests[0].body["options"]
    assert reply.extra == {}


def test_the_context_is_the_next_power_of_two_that_holds_prompt_and_answer() -> None:
    with serve_ollama(cutting()) as server:
        reply = reply_of(model(server), words(5000))
        sent = server.requests[0].body["options"]["num_ctx"]
    assert sent == 1 << (estimate_tokens(words(5000)) - 1).bit_length()
    assert reply.extra == {"num_ctx": sent}


@pytest.mark.parametrize("extra", [{"num_ctx": 2048}, {"options": {"num_ctx": 2048}}])
def test_a_context_that_the_entry_sets_stays_and_a_cut_prompt_is_a_failed_call(extra: dict[str, Any]) -> None:
    with serve_ollama(cutting()) as server:
        error = error_of(model(server, extra=extra), words(3000))
        assert [seen.body["options"]["num_ctx"] for seen in server.requests] == [2048]
    assert (error.kind, "raise `num_ctx` in the entry's `extra`" in error.message) == ("invalid", True)


@pytest.mark.parametrize("text", ["слово " * 2000, "字" * 4000, "x " * 3000, "x = 1;\n" * 2000])
def test_the_estimate_is_no_less_than_the_tokens(text: str) -> None:
    """A vocabulary takes at most a token a word here, and one for each ideograph."""
    n_tokens = len(text) if text[0] == "字" else len(text.split())
    assert estimate_tokens(Call((Message("user", text),), {"max_tokens": 1})) > n_tokens


@pytest.mark.parametrize(
    ("n_words", "tokens_in", "num_ctx", "expected"),
    [
        (9000, 4096, 4096, True),
        (9000, 2050, 4096, True),
        (2000, 2050, 4096, False),
        (9000, 4096, None, True),
        (9000, 2050, None, True),
        (900, 900, None, False),
        (9000, None, 4096, False),
        (9000, 0, None, False),
        (3000, 3000, 8192, False),
    ],
)
def test_a_cut_is_told_by_the_tokens_that_were_read(
    n_words: int, tokens_in: int | None, num_ctx: int | None, expected: Any
) -> None:
    assert is_prompt_cut(words(n_words), tokens_in, num_ctx) is expected


def evaluate(run: Run, folder: Path, server: Server, lengths: list[int]) -> list[Any]:
    rows = [{"question": f"{n} " + "word " * n, "answer": "whole"} for n in lengths]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite = {"name": "long", "items": {"data": str(folder / "rows.jsonl")}, "metrics": {"exact_match": {}}}
    suite["prompt"] = "{{ question }}"
    (folder / "run.yaml").write_text(json.dumps({"suites": [suite]}))
    entry = {"name": "m", "base_url": server.base_url, "deadline_s": 20, "max_tokens": 100}
    run("--config", str(folder / "run.yaml"), "--set", f"models=[{json.dumps(entry)}]")
    (found,) = json.loads((latest(folder) / "results.json").read_text())["final"]["models"]
    return [found["suites"][0]["score"], *(seen.body["options"].get("num_ctx") for seen in server.requests)]


def test_one_context_serves_a_run_and_its_replies_are_found_again(run: Run, tmp_path: Path) -> None:
    with serve_ollama(cutting(), models={"m": "ab" * 32}) as server:
        score, *contexts = evaluate(run, tmp_path, server, [10, 2000, 5000])
        again = evaluate(run, tmp_path, server, [10, 2000, 5000])
    assert (score, len(set(contexts)), len(contexts)) == (1.0, 1, 3)
    assert again == [score, *contexts], "all are in the cache"


def test_a_kept_reply_to_a_cut_prompt_is_asked_again(run: Run, tmp_path: Path) -> None:
    """As replies of earlier versions are: 4096 tokens read of a longer prompt."""
    kept = Reply("cut", tokens_in=4096)
    with serve_ollama(Answer("whole", tokens_in=3000), models={"m": "ab" * 32}) as server:
        evaluate(run, tmp_path, server, [2000])
        _put_in_the_cache(tmp_path, kept)
        score, *contexts = evaluate(run, tmp_path, server, [2000])
    assert (score, len(contexts)) == (1.0, 2)


def _put_in_the_cache(folder: Path, reply: Reply) -> None:
    cache = open_cache(StoreSettings(root=str(folder / "store")))
    digests = [
        ref["digest"] for ref in json.loads((latest(folder) / "manifest.json").read_text())["tables"]["requests"]
    ]
    (request_id,) = pl.read_parquet(folder / "store" / "tables" / digests[0][:2] / f"{digests[0]}.parquet")[
        "request_id"
    ]
    cache.forget([request_id])
    cache.remember([Remembered(request_id, reply, 0.1, "m")])
