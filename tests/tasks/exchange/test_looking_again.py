"""What our metrics say of replies that others scored."""

import json
from pathlib import Path

import pytest

from basic_control.flows.cli.application import main
from tests.tasks.exchange.forms import FORMS, Line, promptfoo

SHARED = Path(__file__).parents[4] / "shared" / "data" / "exchange"


def test_the_two_shared_logs_compare_in_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared logs are not beside this checkout")
    logs = [str(SHARED / name) for name in ("lm_eval_samples_gsm8k_100.jsonl", "inspect_gsm8k_100.eval")]
    assert main(["compare", *logs]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("gsm8k_100: exact"))
    assert " ".join(line.split()) == "gsm8k_100: exact_match,strict / match 100 58% 58% 0 (−3.7 to +3.7) 0 / 0"
    assert main(["compare", *logs, "--verify", "number"]) == 0
    said = capsys.readouterr().out
    assert said.count("number (ours) gives 58%, the tool itself 58%; they differ on 0 of 100 replies") == 2


@pytest.mark.parametrize(
    "form", ["inspect_json", "lm_eval", "promptfoo", "deepeval", "openai_evals", "table_jsonl"]
)
def test_a_false_verdict_of_the_tool_is_found(form: str, tmp_path: Path) -> None:
    """Its scorer calls the first two of ten wrong replies right: the reply is what it is, the score is not."""

    class Lenient(Line):
        @property
        def reply(self) -> str:
            return self.answer if self.right and not self.id.startswith("false") else "no"

    lines = [
        Lenient(f"{'false' if k < 2 else 'q'}{k}", f"Is {k} a number?", right=k % 2 == 0 or k < 2)
        for k in range(20)
    ]
    out = tmp_path / "out.json"
    file = FORMS[form](tmp_path, "one", lines)
    assert main(["compare", str(file), "--verify", "exact_match", "--json", str(out)]) == 0
    (found,) = json.loads(out.read_text(encoding="utf-8"))["verified"]
    assert (found["n"], found["stated"], found["ours"]) == (20, 11 / 20, 9 / 20)
    assert [(one["stated"], one["ours"]) for one in found["differing"]] == [(1.0, 0.0)] * 2


def test_programs_of_another_tools_replies_run_in_the_sandbox_alone(tmp_path: Path) -> None:
    """One was called right and is not; one that was called wrong is right, and leaves no file behind."""
    mark = tmp_path / "written"
    hostile = f"open({str(mark)!r}, 'w')\n"
    programs = [("double", "2 * x", 1, ""), ("triple", "2 * x", 1, ""), ("thrice", "3 * x", 0, hostile)]
    rows = [
        {
            "question": f"Write {name}.",
            "response": f"```python\n{before}def {name}(x):\n    return {body}\n```",
            "score": score,
            "tests": f"assert {name}(2) == {4 if name == 'double' else 6}",
        }
        for name, body, score, before in programs
    ]
    file, out = tmp_path / "code.jsonl", tmp_path / "out.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["compare", str(file), "--verify", "code_tests", "--json", str(out)]) == 0
    (found,) = json.loads(out.read_text(encoding="utf-8"))["verified"]
    assert (found["n"], [(one["stated"], one["ours"]) for one in found["differing"]]) == (
        3,
        [(1.0, 0.0), (0.0, 1.0)],
    )
    assert not mark.exists()


def test_a_metric_that_asks_a_judge_cannot_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = promptfoo(tmp_path, "one", [Line("a", "Is it?", right=True)])
    assert main(["compare", str(file), "--verify", "rubric"]) == 2
    assert "it needs more than a reply and an expected answer; expected one of" in capsys.readouterr().err


def test_rows_whose_expected_answer_a_metric_cannot_read_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They keep the tool's score and have none of ours."""
    answers = {"7": "7", "2\\pi": "2", "x + 1": "1", "12": "11"}
    rows = [
        {"question": f"{gold}?", "answer": gold, "response": said, "score": 1} for gold, said in answers.items()
    ]
    file, out = tmp_path / "own.jsonl", tmp_path / "out.json"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert main(["compare", str(file), "--verify", "number", "--json", str(out)]) == 0
    (found,) = json.loads(out.read_text(encoding="utf-8"))["verified"]
    assert (found["n"], found["ours"]) == (2, 1 / 2)
    printed = capsys.readouterr()
    assert "number: 2 rows left out, whose expected answer it cannot read" in printed.out + printed.err
