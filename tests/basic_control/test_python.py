"""Evaluations from Python, as a user of the package has them: `import basic_control as bc`."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import basic_control as bc
from basic_control import api
from basic_control.function_server import FunctionServer, ServedFunction
from basic_control.tasks.models.python_child import write_answer
from tests.helpers.capitals import CAPITALS, PROMPT, ROWS, know_three
from tests.helpers.inside import call
from tests.servers.running import serve_openai

PASSES = r"Pass: \S+ passes: evaluation 100 \(threshold 100\)"
HOSTILE = ("data", "prompts", "metrics", "generators", "config", "tasks", "flows")


def places(folder: Path) -> dict[str, Any]:
    return {"store": {"root": str(folder / "store"), "runs": str(folder / "runs")}}


def own_folder(folder: Path) -> Path:
    """Make a folder whose modules have the names of our rooms."""
    folder.mkdir()
    for room in HOSTILE:
        (folder / room).mkdir()
        (folder / room / "__init__.py").write_text("NAME = 'mine'\n", encoding="utf-8")
        (folder / room / "records.py").write_text("NAME = 'my records'\n", encoding="utf-8")
    (folder / "config").rename(folder / "config_folder")
    (folder / "config.py").write_text("NAME = 'my config'\n", encoding="utf-8")
    return folder


def python(folder: Path, program: str, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, which comes first on its path, with the package installed."""
    (folder / "program.py").write_text(textwrap.dedent(program), encoding="utf-8")
    command = [sys.executable, *(words or ("program.py",))]
    environment = {**os.environ, **extra}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[api.FinishedRun, Path]:
    """Evaluate two functions, of which one is a coroutine that is shown the row."""

    async def know_all(prompt: str, item: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        assert item["question"] in prompt
        return {"text": CAPITALS[item["question"]], "tokens_out": 1}

    folder = tmp_path_factory.mktemp("python")
    run = bc.evaluate(
        ROWS, [know_three, know_all], prompt=PROMPT, metrics=["exact_match"], threshold=0.9, **places(folder)
    )
    return run, folder


def test_a_run_has_its_verdict_its_numbers_and_its_screen(finished: tuple[api.FinishedRun, Path]) -> None:
    run, _ = finished
    assert isinstance(run, bc.Run)
    assert (run.passed, run.exit_code) == (False, 1)
    assert run.verdict.startswith("Fail: ")
    assert "know_three" in run.verdict
    assert str(run).startswith(run.verdict)
    assert "know_all" in str(run)
    assert str(run) in repr(run)
    assert run.report.suffix == ".html"
    assert "<html" in run.report.read_text(encoding="utf-8")
    scores = {model.model: model.headlines[0].measured.score.mean for model in run.results.models}
    assert scores == {"know_three": 0.75, "know_all": 1.0}
    (pair,) = run.results.compared.pairs
    assert {pair.model_a, pair.model_b} == {*scores}


def test_its_frames_have_a_row_for_each_reply_and_for_each_score(finished: tuple[api.FinishedRun, Path]) -> None:
    run, _ = finished
    samples = run.samples.sort("model", "id")
    assert samples.height == run.scores.height == 8
    assert samples["response"].to_list()[4:] == ["Paris", "Oslo", "Tokyo", "Rome"]
    assert samples["question"].to_list()[:4] == [row["question"] for row in ROWS]
    assert samples["exact_match"].to_list() == [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert samples["tokens_out"].to_list()[:4] == [1, 1, 1, 1]
    assert {"suite", "item_id", "model", "repeat", "metric", "value", "status", "reason"} <= {*run.scores.columns}
    assert isinstance(run.scores, pl.DataFrame)


def test_a_notebook_shows_the_screen_escaped(finished: tuple[api.FinishedRun, Path]) -> None:
    run, _ = finished
    page = run._repr_html_()
    assert run.verdict in page
    assert run.report.as_uri() in page
    hostile = api.ScreenedOutcome(0, "<script>alert(1)</script>")
    assert "<script" not in hostile._repr_html_()


def test_a_run_is_read_compared_and_gated_again(finished: tuple[api.FinishedRun, Path]) -> None:
    run, folder = finished
    again = bc.read(run.folder)
    assert (again.exit_code, again.verdict) == (run.exit_code, run.verdict)
    assert again.samples.equals(run.samples)
    assert bc.read(run.folder.name, runs=folder / "runs").report == run.report
    compared = bc.compare(run)
    assert compared.comparison.pairs[0].n == 4
    assert "know_three" in str(compared)
    gated = bc.gate(run, threshold=0.9)
    assert (gated.passed, gated.exit_code, gated.decided.exit_code) == (False, 1, 1)
    assert gated.verdict.startswith("evaluation, know_three: 75"), str(gated)


def test_files_of_other_tools_are_read_compared_and_gated(tmp_path: Path) -> None:
    for name, right in (("old", 20), ("new", 12)):
        lines = [f"q{n},{int(n < right)}" for n in range(30)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["question,score", *lines]) + "\n", encoding="utf-8")
    read = bc.read(tmp_path / "old.csv")
    assert read.samples["score"].sum() == 20
    assert read.scores.height == 30
    assert read.results.models[0].headlines[0].measured.score.mean == pytest.approx(2 / 3)
    assert (read.passed, read.report) == (True, tmp_path / "old.csv")
    compared = bc.compare(tmp_path / "old.csv", tmp_path / "new.csv")
    assert compared.comparison.pairs[0].difference == pytest.approx(-8 / 30)
    (pair,) = compared.pairs.iter_rows(named=True)
    assert (pair["n"], pair["difference"], pair["verdict"]) == (30, pytest.approx(-8 / 30), "worse")
    assert pair["low"] < pair["difference"] < pair["high"] < 0
    # The command decides by the same text.
    code, screen, _ = call(["compare", "old.csv", "new.csv"], dict(os.environ), tmp_path)
    assert (code, screen.splitlines()[0]) == (compared.exit_code, compared.verdict)
    changes = compared.changes
    assert {*changes["question"]} == {f"q{n}" for n in range(12, 20)}
    assert {*changes.select("before_score", "after_score").iter_rows()} == {(1.0, 0.0)}
    assert {"before_reply", "after_reply", "expected", "suite", "metric"} < {*changes.columns}
    gated = bc.gate(tmp_path / "new.csv", baseline=tmp_path / "old.csv")
    assert (gated.passed, gated.exit_code) == (False, 1)


def test_an_error_has_the_message_of_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from basic_control.__main__ import main

    for words, act in (
        (["compare", str(tmp_path / "a"), str(tmp_path / "b")], lambda: bc.compare(tmp_path / "a", tmp_path / "b")),
        (["gate", str(tmp_path / "a.csv")], lambda: bc.gate(tmp_path / "a.csv")),
        (["run", str(tmp_path / "no.yaml")], lambda: bc.run(tmp_path / "no.yaml")),
    ):
        assert main(words) == 2
        message = capfd.readouterr().err
        with pytest.raises(bc.InputError) as raised:
            act()
        assert f"error: {raised.value}\n" == message


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([], "rows: found none"),
        (["France"], "rows, row 1: found a str, expected a mapping"),
        ([{"question": object()}], "rows, row 1, question: found a object"),
        ({"question": "one"}, "rows: found a dict"),
        ([{"country": "France"}], "prompt: found none"),
    ],
)
def test_rows_that_are_none_are_refused_before_anything_runs(rows: Any, named: str, tmp_path: Path) -> None:
    with pytest.raises(bc.InputError, match=named):
        bc.evaluate(rows, know_three, metrics="exact_match", **places(tmp_path))


def test_rows_of_every_kind_come_to_the_same_file(tmp_path: Path) -> None:
    from basic_control.plain_values import write_rows

    frame = pl.DataFrame(ROWS)
    forms = [ROWS, tuple(ROWS), iter(ROWS), frame, frame.to_pandas(), frame.to_arrow()]
    files = {write_rows(form, tmp_path)[0] for form in forms}
    assert len(files) == 1
    assert write_rows(tmp_path / "mine.csv", tmp_path) == (str(tmp_path / "mine.csv"), ())


@pytest.mark.parametrize("target", [lambda: "", lambda prompt, other: "", 3, [print, 3]])  # noqa: ARG005 - refused
def test_what_cannot_be_asked_is_refused(target: Any, tmp_path: Path) -> None:
    with pytest.raises(bc.InputError, match="target"):
        bc.evaluate(ROWS, target, prompt=PROMPT, metrics="exact_match", **places(tmp_path))


def ask(address: str, function: str, offered: dict[str, Any], token: str = "") -> Any:
    """Ask a served function as a run does."""
    port, _, known = address.partition(":")
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        line = json.dumps({"token": token or known, "function": function, "offered": offered})
        connection.sendall(line.encode() + b"\n")
        answer = connection.makefile("rb").readline()
    return json.loads(answer) if answer else None


@pytest.fixture
def served() -> Iterator[list[FunctionServer]]:
    servers: list[FunctionServer] = []
    yield servers
    for server in servers:
        server.close()


def serving(servers: list[FunctionServer], function: Any, concurrency: int = 1) -> FunctionServer:
    def call_by_prompt(offered: Mapping[str, Any]) -> Any:
        return function(offered["prompt"])

    server = FunctionServer({"f": ServedFunction(function, call_by_prompt, write_answer)}, concurrency)
    servers.append(server)
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def test_only_who_has_the_token_is_answered(served: list[FunctionServer]) -> None:
    called: list[str] = []
    server = serving(served, called.append)
    assert ask(server.address, "f", {"prompt": "a"}, token="guessed") is None
    assert ask(server.address, "g", {"prompt": "a"}) is None
    assert called == []
    assert server.address.startswith(tuple("123456789"))


def test_calls_come_one_by_one_and_together_only_if_asked_for(served: list[FunctionServer]) -> None:
    running, most, together = [0], [0], threading.Barrier(2)

    def count(prompt: str) -> str:
        running[0] += 1
        most[0] = max(most[0], running[0])
        if prompt == "wait":
            together.wait()
        running[0] -= 1
        return prompt

    single = serving(served, count)
    answers: list[Any] = []
    askers = [
        threading.Thread(target=lambda: answers.append(ask(single.address, "f", {"prompt": "a"}))) for _ in range(8)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert (len(answers), most[0]) == (8, 1)
    double = serving(served, count, concurrency=2)
    waiter = threading.Thread(target=ask, args=(double.address, "f", {"prompt": "wait"}))
    waiter.start()
    assert json.loads(ask(double.address, "f", {"prompt": "wait"})["answer"]) == {"text": "wait"}
    waiter.join()


def test_what_a_function_raises_or_returns_is_said(served: list[FunctionServer]) -> None:
    def misbehave(prompt: str) -> Any:
        if prompt == "leave":
            raise SystemExit(3)
        if prompt == "fail":
            raise ValueError("no such country")
        return 7

    server = serving(served, misbehave)
    assert ask(server.address, "f", {"prompt": "leave"})["raised"] == "SystemExit: 3"
    failed = ask(server.address, "f", {"prompt": "fail"})
    assert failed["raised"] == "ValueError: no such country"
    assert "test_python.py, line" in failed["at"]
    assert ask(server.address, "f", {"prompt": "count"}) == {"returned": "int"}


@pytest.mark.slow
def test_a_call_that_fails_is_its_rows_alone(tmp_path: Path) -> None:
    def answer(prompt: str) -> str:
        if "Kenya" in prompt:
            raise ValueError("no such country")
        return know_three(prompt)

    run = bc.evaluate(ROWS, answer, prompt=PROMPT, metrics="exact_match", threshold=0.9, **places(tmp_path))
    (failed,) = run.samples.filter(pl.col("error").is_not_null()).to_dicts()
    assert failed["error"].startswith("answer raised ValueError: no such country (test_python.py, line ")
    assert run.exit_code == 2, "three of four rows are fewer than the least share that must be scored"


@pytest.mark.slow
def test_a_function_is_asked_anew_unless_its_version_is_given(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(threading.current_thread().name)
        return know_three(prompt)

    def evaluate(**named: Any) -> None:
        bc.evaluate(ROWS, answer, prompt=PROMPT, metrics="exact_match", **named, **places(tmp_path))

    evaluate()
    evaluate()
    assert len(asked) == 8
    evaluate(version="1")
    evaluate(version="1")
    assert len(asked) == 12
    evaluate(version="2")
    assert len(asked) == 16
    assert {*asked} == {threading.current_thread().name}, "as if its caller called it"


@pytest.mark.slow
def test_a_mapping_runs_as_its_file_does_and_keys_change_it(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    (tmp_path / "app.py").write_text("def answer(prompt):\n    return 'Paris'\n", encoding="utf-8")
    model = {"name": "m", "provider": "python", "function": f"{tmp_path}/app.py:answer"}
    suite = {"name": "capitals", "items": {"data": str(tmp_path / "rows.jsonl")}, "prompt": PROMPT}
    whole = {"models": [model], "suites": [{**suite, "metrics": {"exact_match": {}}, "threshold": 0.9}]}
    (tmp_path / "eval.yaml").write_text(json.dumps(whole), encoding="utf-8")
    of_file = bc.run(tmp_path / "eval.yaml", **places(tmp_path))
    of_mapping = bc.run(whole, limit=2, name="mine", gate="off", **places(tmp_path))
    assert (of_file.exit_code, of_mapping.exit_code) == (1, 0)
    assert (of_file.samples.height, of_mapping.samples.height) == (4, 2)
    replaced = bc.run(tmp_path / "eval.yaml", models=know_three, suite="capitals", **places(tmp_path))
    assert replaced.samples["model"].unique().to_list() == ["know_three"]
    with pytest.raises(bc.InputError, match="unknown key 'limits'"):
        bc.run(whole, limits=3)
    with pytest.raises(bc.InputError, match=r"suites\.0\.thresh"):
        bc.run({**whole, "suites": [{**suite, "metrics": {"exact_match": {}}, "thresh": 1}]})


@pytest.mark.slow
def test_recorded_responses_need_no_target(tmp_path: Path) -> None:
    rows = [{"question": row["question"], "answer": row["answer"], "response": "Paris"} for row in ROWS]
    run = bc.evaluate(rows, metrics={"exact_match": {}}, threshold=0.5, **places(tmp_path))
    assert (run.exit_code, run.samples["model"].unique().to_list()) == (1, ["responses"])


@pytest.mark.slow
def test_two_threads_evaluate_at_once(tmp_path: Path) -> None:
    runs: dict[str, api.FinishedRun] = {}

    def evaluate(name: str) -> None:
        runs[name] = bc.evaluate(
            ROWS, lambda _: name, prompt=PROMPT, metrics="exact_match", name=name, **places(tmp_path)
        )

    threads = [threading.Thread(target=evaluate, args=(name,)) for name in ("Paris", "Oslo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: {*run.samples["response"]} for name, run in runs.items()} == {
        "Paris": {"Paris"},
        "Oslo": {"Oslo"},
    }
    assert runs["Paris"].folder != runs["Oslo"].folder


def test_a_folder_with_modules_of_our_names_keeps_them(tmp_path: Path) -> None:
    """Nothing heavy is imported, no path changes, and what is called as our rooms are is the user's."""
    done = python(
        own_folder(tmp_path / "mine"),
        """
        import sys
        before = list(sys.path)
        import basic_control as bc
        bc.run, bc.evaluate, bc.metric, bc.InputError
        heavy = {"prefect", "polars", "pydantic", "numpy", "yaml"} & {*sys.modules} - {"pydantic"}
        assert sys.path == before and not heavy, heavy
        import config, data, data.records, tasks
        print(config.NAME, data.NAME, data.records.NAME, tasks.NAME)

        def answer(prompt):
            import data
            return data.NAME

        run = bc.evaluate([{"question": "Whose?", "answer": "mine"}], answer, metrics="exact_match", threshold=1)
        print(run.passed, run.samples["response"].to_list(), bc.compare is not None)
        assert data.records.NAME == "my records" and sys.path == before
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "my config mine my records mine\nTrue ['mine'] True\n"
    assert re.search(PASSES, done.stderr)


@pytest.mark.slow
def test_a_failing_assertion_of_pytest_shows_the_screen(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent("""
            import basic_control as bc

            def test_capitals():
                rows = [{"question": "France", "answer": "Paris"}]
                assert bc.evaluate(rows, lambda prompt: "Rome", metrics="exact_match", threshold=0.5).passed
        """),
        encoding="utf-8",
    )
    done = python(tmp_path, "", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    assert done.returncode == 1, done.stdout
    assert re.search(r"Fail: \S+ fails: evaluation 0 \(threshold 50\)", done.stdout)
    assert "where False = <FinishedRun, exit code 1>" in done.stdout


@pytest.mark.slow
def test_a_notebook_evaluates_in_its_running_loop(tmp_path: Path) -> None:
    import nbclient
    import nbformat

    cells = (
        """
        import asyncio
        import basic_control as bc

        async def answer(prompt):
            await asyncio.sleep(0)
            return "Paris"

        asyncio.get_running_loop().is_running()
        """,
        """
        rows = [{"question": "France", "answer": "Paris"}]
        run = bc.evaluate(rows, answer, metrics="exact_match", threshold=1)
        run
        """,
        "asyncio.get_running_loop().is_running() and run.passed",
    )
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(textwrap.dedent(cell).strip()) for cell in cells]
    )
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [cell["outputs"][-1]["data"] for cell in notebook.cells]
    assert [output["text/plain"] for output in (outputs[0], outputs[2])] == ["True", "True"]
    assert re.search(PASSES, outputs[1]["text/html"])
    assert "\x1b" not in outputs[1]["text/html"]
    streamed = "".join(output.get("text", "") for output in notebook.cells[1]["outputs"])
    assert re.search(PASSES, streamed), "the same screen, on stderr"


@pytest.mark.slow
def test_ctrl_c_stops_the_run_and_keeps_what_was_answered(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import os, signal
            import basic_control as bc

            asked = []

            def answer(prompt):
                asked.append(prompt)
                if len(asked) == 3:
                    os.kill(os.getpid(), signal.SIGINT)
                return "Paris"

            rows = [{"question": str(n), "answer": "Paris"} for n in range(50)]
            try:
                bc.evaluate(rows, answer, metrics="exact_match", version="1")
            except KeyboardInterrupt as interrupt:
                print("stopped:", interrupt)
            first = len(asked)
            print(first < 50, bc.evaluate(rows, answer, metrics="exact_match", version="1").samples.height)
            print(50 <= len(asked) < 50 + first)
        """),
        encoding="utf-8",
    )
    done = python(tmp_path, program.read_text(encoding="utf-8"))
    lines = done.stdout.splitlines()
    assert lines[0].startswith("stopped: Stopped. Everything answered so far is kept;"), done.stderr
    assert lines[1:] == ["True 50", "True"]
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_run_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    program = """
        import os, signal
        import basic_control as bc

        def answer(prompt):
            print(os.getpid(), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)

        bc.evaluate([{"question": "a", "answer": "b"}], answer, metrics="exact_match")
    """
    done = python(tmp_path, program)
    # What holds its stderr has ended too: `python` has read that to its end.
    assert done.returncode == -signal.SIGKILL
    (manifest,) = (tmp_path / "artifacts" / "runs").glob("*/manifest.json")
    assert json.loads(manifest.read_text(encoding="utf-8"))["status"] == "running"


def test_a_plug_in_that_starts_a_run_is_refused_by_the_run_that_loads_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import basic_control as bc\n\n@bc.metric\ndef loud(response) -> bool:\n    return response.isupper()\n\n"
        "bc.evaluate([{'question': 'a', 'answer': 'b'}], print, metrics='exact_match')\n",
        encoding="utf-8",
    )
    program = (
        "import basic_control as bc\nbc.evaluate([{'question': 'a'}], str, metrics='loud', plugins=['mine.py'])"
    )
    done = python(tmp_path, program)
    assert done.returncode == 1
    assert "under `if __name__ == '__main__':`" in done.stderr.splitlines()[-1]


class Application:
    """What may be called in several ways."""

    async def __call__(self, prompt: str) -> str:
        await asyncio.sleep(0)
        return know_three(prompt)

    def answer(self, prompt: str, item: dict[str, Any], **others: Any) -> dict[str, Any]:
        assert {"system", "messages", "parameters"} <= others.keys()
        return {"text": CAPITALS[item["question"]] if item["question"] in prompt else "", "contexts": ["an atlas"]}


@pytest.mark.slow
def test_whatever_can_be_called_is_a_target_and_a_judge(tmp_path: Path) -> None:
    def rate(prompt: str) -> str:
        return json.dumps({"reason": "short", "rating": 5 if "Rome" not in prompt else 1})

    application, known = Application(), dict(CAPITALS)
    targets = [
        application,
        application.answer,
        partial(lambda extra, prompt: know_three(prompt) + extra, ""),
        str.strip,
    ]
    metrics = {"exact_match": {}, "rubric": {"criteria": "It is no other city."}}
    run = bc.evaluate(
        ROWS, targets, prompt=PROMPT, metrics=metrics, judges=rate, concurrency=4, suite={"score": ["rubric"]},
        threshold=0.9, **places(tmp_path),
    )  # fmt: skip
    means = dict(run.samples.group_by("model").agg(pl.col("exact_match").mean()).iter_rows())
    assert means == {"Application": 0.75, "answer": 1.0, "lambda": 0.75, "strip": 0.0}
    assert run.samples.filter(model="answer", question="Kenya")["rubric"].to_list() == [1.0]
    assert run.samples.filter(model="Application", question="Kenya")["rubric"].to_list() == [0.0]
    assert known == CAPITALS


@pytest.mark.slow
def test_a_run_is_started_beside_a_running_loop_and_inside_another_run(tmp_path: Path) -> None:
    def evaluate(target: Any, name: str) -> bool:
        rows = [{"question": "France", "answer": "yes"}]
        return bc.evaluate(rows, target, metrics="exact_match", threshold=1, name=name, **places(tmp_path)).passed

    async def confirm(prompt: str) -> str:
        await asyncio.sleep(0)
        return "yes" if prompt == "France" else "no"

    async def main() -> list[bool]:
        return [evaluate(confirm, "blocking"), await asyncio.to_thread(evaluate, confirm, "beside")]

    assert asyncio.run(main()) == [True, True]
    assert evaluate(lambda _: "yes" if evaluate(confirm, "inner") else "no", "outer")


@pytest.mark.slow
def test_a_server_is_a_target_by_its_entry(tmp_path: Path) -> None:
    with serve_openai("Paris") as server:
        target = {"name": "m", "provider": "openai", "base_url": server.base_url, "api_key_env": "MY_KEY"}
        with pytest.raises(bc.InputError, match="MY_KEY"):
            bc.evaluate(ROWS, target, prompt=PROMPT, metrics="exact_match", **places(tmp_path))
        os.environ["MY_KEY"] = "sk-0123456789"
        try:
            run = bc.evaluate(ROWS, target, prompt=PROMPT, metrics="exact_match", limit=2, **places(tmp_path))
        finally:
            del os.environ["MY_KEY"]
    assert run.samples["response"].to_list() == ["Paris", "Paris"]
    assert len(server.requests) == 2


def test_importing_changes_no_signal_of_a_package_that_is_run_as_a_module(tmp_path: Path) -> None:
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("import basic_control as bc\n", encoding="utf-8")
    (package / "__main__.py").write_text(
        "import signal\nprint(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n", encoding="utf-8"
    )
    assert python(tmp_path, "", "-m", "mine").stdout == "True\n"
