"""What our metrics say of replies that others scored, how many more are needed, and when results are enough."""

import io
import json
import math
from pathlib import Path

import pytest
from scipy.stats import binom, norm

from flows.cli.application import main
from metrics.stats.power import needed, spread
from tests.tasks.exchange.forms import FORMS, Line, deepeval, promptfoo

SHARED = Path(__file__).parents[4] / "shared" / "data" / "exchange"


def test_the_two_shared_logs_compare_in_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared logs are not beside this checkout")
    logs = [str(SHARED / name) for name in ("lm_eval_samples_gsm8k_100.jsonl", "inspect_gsm8k_100.eval")]
    assert main(["compare", *logs]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "→" in line and "gsm8k_100:" in line)
    assert " ".join(line.split()).startswith("gsm8k_100: exact_match,strict / match m → openai/m 100 58% 58% 0 [")
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


def test_needed_questions_are_those_that_show_the_drop() -> None:
    """By hand: of grades z² s² / d²; of yes/no pairs the exact test has power 0.8 there, and not well below."""
    import numpy as np

    grades = np.linspace(0, 1, 101)
    n = needed(spread(grades), 0.05)
    z = norm.ppf(0.975) + norm.ppf(0.8)
    assert n == pytest.approx(math.ceil(z**2 * 2 * grades.var(ddof=1) / 0.05**2), rel=0.01)

    right = np.array([1.0] * 70 + [0.0] * 30)
    n = needed(spread(right), 0.1)
    assert n is not None
    lost, won = 0.21 * (1 - 0.1 / 0.7) + 0.1, 0.21 * (1 - 0.1 / 0.7)  # half of 2 · 0.7 · 0.3 either way, 0.1 turned

    def power(n: int) -> float:
        differing = np.arange(n + 1)
        # wins with which the one-sided binomial test refuses
        under = binom.ppf(0.025, differing, 0.5) - 1
        most = under + (binom.cdf(under + 1, differing, 0.5) < 0.025)
        return float(binom.pmf(differing, n, lost + won) @ binom.cdf(most, differing, won / (lost + won)))

    assert power(n) >= 0.79
    assert power(int(n * 0.95)) < 0.8


def test_power_speaks_of_one_file_and_of_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [Line(f"q{k}", f"Is {k} odd?", right=k % 3 > 0) for k in range(90)]
    one, two = (deepeval(tmp_path, name, lines[turn:]) for turn, name in enumerate(("one", "two")))
    assert main(["power", str(one)]) == 0
    assert "as if two runs answered independently" in capsys.readouterr().out
    assert main(["power", str(one), str(two), "--drop", "0.05"]) == 0
    assert "over 89 questions; as these two differ" in capsys.readouterr().out
    assert main(["power", str(one), "--drop", "5"]) == 2


def test_power_keeps_suites_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the easy suite all of 90 are right, of the hard one 5 of 10: no question is of both."""
    rows = [f"easy,Is {k}?,1" for k in range(90)] + [f"hard,Is {k}?,{k % 2}" for k in range(10)]
    (tmp_path / "one.csv").write_text("\n".join(["suite,question,score", *rows]), encoding="utf-8")
    assert main(["power", str(tmp_path / "one.csv")]) == 0
    said = capsys.readouterr().out
    assert "easy: score, one of one.csv: mean 100% over 90 questions" in said
    assert "hard: score, one of one.csv: mean 50% over 10 questions" in said


@pytest.mark.parametrize(
    ("scores", "code", "said"),
    [
        ("1\n" * 60, 0, "above 80%"),
        ('{"score": 0}\n\n' * 60, 1, "below 80%"),
        ("1\n0\n", 3, "undecided after 2"),
        ("", 2, "found no score on standard input"),
        ("1\nwell\n", 2, "line 2: expected a score from 0 to 1"),
    ],
)
def test_scores_that_come_in_one_by_one_are_followed_until_they_decide(
    scores: str, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(scores))
    assert main(["power", "--until-decided", "--threshold", "0.8"]) == code
    told = capsys.readouterr()
    assert said in told.out + told.err
