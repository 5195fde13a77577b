"""A function of one's own in place of a model: called with what it takes; what it does ends its call alone."""

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.models import Model
from basic_control.config.reading import read
from basic_control.data.errors import InputError
from basic_control.data.records import Call, Message, Reply
from basic_control.tasks.models.requests import build_request, read_call
from tests.tasks.models.asking import ask, call, error_of, reply_of, using

ASKED = Call(
    messages=(Message("system", "be brief"), Message("user", "two?")),
    parameters={"temperature": 0.5},
    item_id="i1",
    item={"item_id": "i1", "topic": "numbers"},
)


def app(folder: Path, source: str, function: str = "answer") -> Model:
    """Return the model that is a function of a file."""
    path = folder / "my_app.py"
    path.write_text(source)
    return Model.model_validate({"name": "app", "provider": "python", "function": f"{path}:{function}"})


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("def answer(prompt): return prompt.upper()", "TWO?"),
        ("async def answer(question): return question + '!'", "two?!"),
        ("def answer(p, system, parameters): return f'{system} {parameters}'", "be brief {'temperature': 0.5}"),
        ("def answer(messages): return str([m['role'] for m in messages])", "['system', 'user']"),
        ("def answer(prompt, *, item): return item['item_id'] + item['topic']", "i1numbers"),
        ("def answer(**given): return ' '.join(sorted(given))", "item messages parameters prompt system tools"),
        ("def answer(*, prompt, system): return prompt + system", "two?be brief"),
        ("def answer(prompt, k=3): return str(k)", "3"),
        ("class answer:\n    def __new__(cls, prompt): return prompt", "two?"),
        ("async def inner(p): return p\ndef answer(p): return inner(p)", "two?"),
        ("answer = str.upper", "TWO?"),
    ],
)
def test_a_function_is_called_with_what_it_takes(tmp_path: Path, source: str, text: str) -> None:
    assert ask(app(tmp_path, source), ASKED) == [Reply(text)]


def test_a_mapping_says_more_than_the_text(tmp_path: Path) -> None:
    source = """
def answer(prompt):
    return {"text": "<think>hm</think>Paris", "contexts": ("a", "b"), "citations": [{"url": "u"}],
            "tokens_in": 3, "tokens_out": 1, "finish_reason": "stop"}
"""
    extra = {"retrieved_contexts": ["a", "b"], "citations": [{"url": "u"}]}
    assert reply_of(app(tmp_path, source)) == Reply("Paris", "hm", "stop", 3, 1, extra)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError('no\\nsuch key')", "raised KeyError: 'no\\nsuch key' (my_app.py, line 3)"),
        ("raise ValueError('one\\ntwo')", "raised ValueError: one two (my_app.py, line 3)"),
        ("raise SystemExit(3)", "raised SystemExit: 3 (my_app.py, line 3)"),
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt (my_app.py, line 3)"),
        ("raise StopIteration", "raised "),
        ("import asyncio; raise asyncio.CancelledError", "raised CancelledError (my_app.py, line 3)"),
        ("raise type('Odd', (Exception,), {'__str__': lambda s: 1 / 0})", "raised Odd (my_app.py, line 3)"),
        ("return None", "returned NoneType, expected a string or a mapping with `text`"),
        ("return b'bytes'", "returned bytes, expected a string"),
        ("return ['a']", "returned list, expected a string"),
        ("return {'answer': 'x'}", "returned the unknown key 'answer'; expected only text, contexts, citations"),
        ("return {'contexts': []}", "returned text: expected a string, found nothing"),
        ("return {'text': 'x', 'contexts': [1]}", "returned contexts: expected a list of strings, found a int"),
        (
            "return {'text': 'x', 'citations': [{1, 2}]}",
            "returned a mapping that is no JSON (Object of type set is not JSON serializable)",
        ),
        ("return {'text': 'x', 'tokens_in': -1}", "returned tokens_in: expected a number of tokens"),
        ("return {'text': 'x', 'tokens_in': True}", "expected a number of tokens, found a boolean"),
        ("return {'text': 'x', 'finish_reason': 7}", "returned finish_reason: expected a string"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_goes_wrong_ends_the_call_in_one_line_and_nothing_else(
    tmp_path: Path, kind: str, body: str, said: str
) -> None:
    heard = ask(
        app(tmp_path, f"{kind} answer(prompt):\n  if prompt == 'bad':\n    {body}\n  return 'good'"), call("bad")
    )
    good = ask(
        app(tmp_path, f"{kind} answer(prompt):\n  if prompt == 'bad':\n    {body}\n  return 'good'"), call("ok")
    )
    assert [str(getattr(one, "kind", one)) for one in heard] == ["invalid"]
    assert said in str(heard[0])
    assert "\n" not in str(heard[0])
    assert good == [Reply("good")]


def test_calls_run_beside_each_other_in_threads(tmp_path: Path) -> None:
    source = "import threading\nboth = threading.Barrier(2)\ndef answer(p):\n    both.wait(20)\n    return p"

    async def act(client: Any) -> list[str]:
        import asyncio

        return [reply.text for reply in await asyncio.gather(client.ask(call("a")), client.ask(call("b")))]

    assert using(app(tmp_path, source), act) == ["a", "b"]
    assert threading.current_thread() is threading.main_thread()


def test_identity_is_the_function_and_its_files_digest(tmp_path: Path) -> None:
    source = "def answer(prompt): return prompt\n"
    model = app(tmp_path, source)
    told = using(model, lambda client: client.identity())
    assert told == {
        "provider": "python",
        "model": "app",
        "function": f"{tmp_path}/my_app.py:answer",
        "digest": hashlib.sha256(source.encode()).hexdigest(),
    }
    newer = Model.model_validate({**model.model_dump(), "version": "2"})
    assert using(newer, lambda client: client.identity())["version"] == "2"


def test_a_function_from_another_file_is_known_by_that_file_too(tmp_path: Path) -> None:
    digests = set()
    for number, answer in enumerate(("one", "two")):
        (folder := tmp_path / str(number)).mkdir()
        (folder / "bot.py").write_text(f"def answer(prompt): return '{answer}'\n", encoding="utf-8")
        model = app(folder, "from bot import answer\n")
        assert reply_of(model, call("x")).text == answer
        digests.add(using(model, lambda client: client.identity())["digest"])
    assert len(digests) == 2


def test_a_function_of_a_package_is_found_by_its_dotted_name() -> None:
    model = Model.model_validate({"name": "app", "provider": "python", "function": "textwrap:dedent"})
    assert reply_of(model, call("  x")).text == "x"
    import textwrap

    digest = hashlib.sha256(Path(str(textwrap.__file__)).read_bytes()).hexdigest()
    assert using(model, lambda client: client.identity())["digest"] == digest


def test_the_item_is_part_of_a_request_where_the_function_takes_it(tmp_path: Path) -> None:
    plain = app(tmp_path, "def answer(prompt): return prompt")
    (tmp_path / "seeing").mkdir()
    seeing = app(tmp_path / "seeing", "def answer(prompt, item): return str(item)")

    def ids(model: Model) -> set[str]:
        question = [Message("user", "q")]
        return {build_request(model, {}, question, item_id=one, facts={"n": 1})["request_id"] for one in "ab"}

    assert (len(ids(plain)), len(ids(seeing))) == (1, 2)
    row = build_request(seeing, {}, [Message("user", "q")], item_id="a", facts={"n": 1})
    assert ask(seeing, read_call(row)) == [Reply("{'item_id': 'a', 'n': 1}")]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("{}/nowhere.py:answer", "there is no file"),
        ("no_such_package.module:answer", "there is no module 'no_such_package'"),
        ("{}/my_app.py:question", "my_app.py has no 'question'"),
        ("{}/my_app.py:NUMBER", "found a int, expected a function"),
        ("{}/my_app.py:needy", "it takes (prompt, k); expected the prompt first, then only system"),
        ("{}/my_app.py:empty", "it takes (); expected the prompt first"),
        ("{}/broken.py:answer", "cannot be loaded (ZeroDivisionError: division by zero (broken.py, line 2))"),
        ("{}/exiting.py:answer", "cannot be loaded (SystemExit: 1"),
    ],
)
def test_a_function_that_cannot_be_called_is_told_at_once(tmp_path: Path, function: str, said: str) -> None:
    app(tmp_path, "NUMBER = 1\ndef needy(prompt, k): ...\ndef empty(): ...\n")
    (tmp_path / "broken.py").write_text("\n1 / 0\n")
    (tmp_path / "exiting.py").write_text("import sys\nsys.exit(1)\n")
    given = {"name": "app", "provider": "python", "function": function.format(tmp_path)}
    with pytest.raises(InputError) as caught:
        using(Model.model_validate(given), lambda client: client.identity())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("", "'models.0.function' is missing"),
        (", function: answer", "line 2: models.0.function: expected a function such as my_app.py:answer"),
        (", function: 'my app:answer'", "expected a function such as"),
        (", functon: 'a.py:b'", "Did you mean 'function'?"),
    ],
)
def test_an_entry_that_names_no_function_is_refused(tmp_path: Path, entry: str, said: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"models:\n  - {{name: m, provider: python{entry}}}")
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)


def test_an_exception_is_no_reason_to_ask_again(tmp_path: Path) -> None:
    assert error_of(app(tmp_path, "def answer(p): raise ConnectionError('down')")).kind == "invalid"
