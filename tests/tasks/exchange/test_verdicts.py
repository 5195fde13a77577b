"""Planted differences over 200 questions come out in each form: the words, the counts, the exit codes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar

from basic_control.flows.cli.application import main
from tests.tasks.exchange.forms import FORMS, WITH_IDS, Line

N, RIGHT = 200, 140
Say = Callable[[], str]


def lines(lost: int = 0, won: int = 0, *, n: int = N, id_of: str = "q{n}") -> list[Line]:
    """Return questions of which the first 140 are right, but the first `lost`, and `won` of the others."""
    return [
        Line(id_of.format(n=k), f"What is {k} plus one?", lost <= k < RIGHT or RIGHT <= k < RIGHT + won)
        for k in range(n)
    ]


def compare(folder: Path, *files: Path, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """Compare files by the command line; return the JSON."""
    out = folder / "compared.json"
    assert main(["compare", *map(str, files), "--json", str(out), *words]) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def gate(new: Path, old: Path, *words: str) -> int:
    return main(["gate", str(new), "--baseline", str(old), *words])


PLANTED = {-13: (30, 4, "worse", 1), 0: (8, 8, "no clear difference", 3), 5: (4, 14, "better", 0)}
"""Points: how many became wrong, how many right, what is said of it, the exit code of the gate."""


TWO = ("inspect_eval", "table_csv")
"""A log and a table: for what does not depend on the form."""


@pytest.mark.parametrize(
    ("form", "points"), [(form, points) for form in FORMS for points in PLANTED if points == -13 or form in TWO]
)
def test_a_planted_difference_is_found_in_each_form(form: str, points: int, tmp_path: Path) -> None:
    lost, won, word, code = PLANTED[points]
    old, new = FORMS[form](tmp_path, "old", lines()), FORMS[form](tmp_path, "new", lines(lost, won))
    pair = compare(tmp_path, old, new)["pairs"][0]
    assert (pair["n"], pair["n_left_out"], pair["only_b"], pair["only_a"]) == (N, 0, lost, won)
    assert pair["difference"] == pytest.approx(points / 100)
    assert pair["conclusion"] == word
    assert pair["p_value"] == pytest.approx(binomtest(won, won + lost).pvalue)
    assert pair["p_value"] == pytest.approx(mcnemar([[0, lost], [won, 0]], exact=True).pvalue)
    assert len(pair["changed"]) == lost + won
    assert gate(new, old) == code


@pytest.mark.parametrize("form", TWO)
def test_a_file_against_itself_is_no_difference(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = FORMS[form](tmp_path, "one", lines())
    (pair,) = compare(tmp_path, file, file)["pairs"]
    assert (pair["n"], pair["difference"], pair["conclusion"]) == (N, 0, "no difference")
    assert gate(file, file) == 0
    assert "held" in capsys.readouterr().out


@pytest.mark.parametrize("form", TWO)
def test_of_partly_overlapping_files_what_both_asked_is_compared(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 in common; nothing counts as held over fewer than 95 % of the baseline's questions."""
    old = FORMS[form](tmp_path, "old", lines()[:175])
    new = FORMS[form](tmp_path, "new", lines(30, 4)[25:])
    found = compare(tmp_path, old, new)
    (shared,) = (one for one in found["questions"].values())
    assert (shared["each"], shared["shared"]) == ([175, 175], 150)
    pair = found["pairs"][0]
    assert (pair["n"], pair["only_b"], pair["only_a"]) == (150, 5, 4)
    assert any("no longer asked: 25 of 175 questions" in note for note in found["notes"])
    assert any("new: 25 of 175 questions" in note for note in found["notes"])
    same = FORMS[form](tmp_path, "same", lines()[25:])
    capsys.readouterr()
    assert gate(same, old) == 3
    assert ": held" not in capsys.readouterr().out


@pytest.mark.parametrize("form", [*TWO, "lm_eval", "promptfoo"])
def test_repeated_questions_count_once(form: str, tmp_path: Path) -> None:
    """Each asked twice, with the same reply: no more pairs, no smaller p-value than once."""
    old, new = lines(), lines(30, 4)
    once = compare(tmp_path, FORMS[form](tmp_path, "a", old), FORMS[form](tmp_path, "b", new))["pairs"][0]
    twice = compare(tmp_path, FORMS[form](tmp_path, "c", old * 2), FORMS[form](tmp_path, "d", new * 2))
    pair = twice["pairs"][0]
    assert (pair["n"], pair["p_value"], pair["difference"]) == (
        once["n"],
        once["p_value"],
        once["difference"],
    )


@pytest.mark.parametrize("form", TWO)
def test_renamed_ids_pair_by_their_questions(form: str, tmp_path: Path) -> None:
    old = FORMS[form](tmp_path, "old", lines())
    new = FORMS[form](tmp_path, "new", lines(30, 4, id_of="case-{n}")[::-1])
    pair = compare(tmp_path, old, new)["pairs"][0]
    assert (pair["n"], pair["only_b"], pair["only_a"], pair["conclusion"]) == (N, 30, 4, "worse")


@pytest.mark.parametrize("form", TWO)
def test_questions_that_stand_twice_under_two_ids_are_one(form: str, tmp_path: Path) -> None:
    twice = [*lines(), *(Line(f"again-{one.id}", one.question, one.right) for one in lines()[:40])]
    found = compare(tmp_path, FORMS[form](tmp_path, "a", twice), FORMS[form](tmp_path, "b", twice))
    assert found["pairs"][0]["n"] == N


@pytest.mark.parametrize("form", WITH_IDS)
def test_the_same_id_with_another_text_is_named_and_not_in_common(form: str, tmp_path: Path) -> None:
    other = [Line(one.id, f"Another: {one.question}" if k < 10 else one.question, one.right)
             for k, one in enumerate(lines())]  # fmt: skip
    found = compare(tmp_path, FORMS[form](tmp_path, "a", lines()), FORMS[form](tmp_path, "b", other))
    assert found["pairs"][0]["n"] == N - 10
    assert any("text under the same id differs: 10 of 200" in note for note in found["notes"])


@pytest.mark.parametrize("other", ["lm_eval", "promptfoo", "table_csv", "deepeval"])
def test_files_of_two_tools_compare(other: str, tmp_path: Path) -> None:
    """Neither ids nor metrics nor models have one name in both."""
    old = FORMS["inspect_eval"](tmp_path, "old", lines())
    new = FORMS[other](tmp_path, "new", lines(30, 4))
    pair = compare(tmp_path, old, new)["pairs"][0]
    assert (pair["n"], pair["only_b"], pair["only_a"], pair["conclusion"]) == (N, 30, 4, "worse")
    assert gate(new, old) == 1


def test_nothing_in_common_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = FORMS["promptfoo"](tmp_path, "old", lines())
    new = FORMS["promptfoo"](tmp_path, "new", [Line(f"x{k}", f"Who wrote book {k}?", right=True) for k in range(9)])
    assert main(["compare", str(old), str(new)]) == 2
    assert "have no question in common" in capsys.readouterr().err
    assert gate(new, old) == 3
    assert ": held" not in capsys.readouterr().out


def test_a_threshold_alone_and_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = FORMS["promptfoo"](tmp_path, "one", lines())
    assert main(["gate", str(file), "--threshold", "0.6"]) == 0
    assert "70%" in capsys.readouterr().out
    assert main(["gate", str(file), "--threshold", "0.8", "--junit", str(tmp_path / "j.xml")]) == 1
    # The gate, and the rows of the file that are wrong.
    written = (tmp_path / "j.xml").read_text(encoding="utf-8")
    assert (written.count("<testcase"), written.count("<failure")) == (1 + N, 1 + N - RIGHT)
    assert gate(file, file, "--threshold", "0.8") == 1
    assert main(["gate", str(file)]) == 2
    assert "expected --baseline OLD, or --threshold SHARE" in capsys.readouterr().err


def test_of_three_files_each_is_compared_with_each(tmp_path: Path) -> None:
    """Two name their model alike and the third another way: none is left aside."""
    files = [FORMS["promptfoo"](tmp_path, "a", lines()), FORMS["promptfoo"](tmp_path, "b", lines(30, 4)),
             FORMS["lm_eval"](tmp_path, "c", lines(30, 4))]  # fmt: skip
    found = compare(tmp_path, *files)
    assert [pair["conclusion"] for pair in found["pairs"]] == ["worse", "worse", "no difference"]
    assert found["groups"][0]["groups"] == [["m @ a.json"], ["m @ b.json", "model"]]


@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_are_no_ids(first: int, tmp_path: Path) -> None:
    """The same questions in another order, each file counting its rows: they pair by their texts."""
    old, new = lines(), lines(30, 4)[::-1]
    files = [
        FORMS["table_csv"](
            tmp_path, name, [Line(str(k), one.question, one.right) for k, one in enumerate(own, first)]
        )
        for name, own in (("old", old), ("new", new))
    ]
    pair = compare(tmp_path, *files)["pairs"][0]
    assert (pair["n"], pair["only_b"], pair["only_a"]) == (N, 30, 4)


def test_each_suite_of_a_folder_is_gated_by_its_own_first_score(tmp_path: Path) -> None:
    """Two tasks of lm-evaluation-harness, scored by metrics of other names; the second gets worse."""
    for name, lost in (("old", 0), ("new", 30)):
        folder = tmp_path / name
        folder.mkdir()
        first = FORMS["lm_eval"](folder, "arc", [Line(f"a{n}", f"Which is {n}?", right=True) for n in range(N)])
        first.write_text(first.read_text(encoding="utf-8").replace("exact_match", "acc"), encoding="utf-8")
        FORMS["lm_eval"](folder, "sums", lines(lost))
    assert gate(tmp_path / "new", tmp_path / "old") == 1
    assert main(["gate", str(tmp_path / "new"), "--threshold", "0.65"]) == 1
    assert main(["gate", str(tmp_path / "old"), "--threshold", "0.65"]) == 0


def test_the_junit_of_a_gate_fails_where_a_part_of_the_baseline_is_missing(tmp_path: Path) -> None:
    """As the exit code does."""
    old, new, junit = tmp_path / "old.csv", tmp_path / "new.csv", tmp_path / "junit.xml"
    rows = [f"{suite},Is {n} a number?,1" for suite in "AB" for n in range(N)]
    old.write_text("\n".join(["suite,question,score", *rows]), encoding="utf-8")
    new.write_text("\n".join(["suite,question,score", *rows[:N]]), encoding="utf-8")
    assert gate(new, old, "--junit", str(junit)) == 1
    (failed,) = re.findall("<failure[^>]*>", junit.read_text(encoding="utf-8"))
    assert "suite B is missing" in failed


def test_a_comparison_told_in_russian_has_decimal_commas_at_a_terminal_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = (FORMS["table_csv"](tmp_path, name, lines(lost)) for name, lost in (("old", 0), ("new", 31)))
    assert main(["compare", str(old), str(new), "--language", "ru", "--show", "0"]) == 0
    said = capsys.readouterr().out
    assert "−15,5" in said
    assert not re.search(r"\d\.\d", said)


def test_two_prompts_that_begin_alike_are_two(tmp_path: Path) -> None:
    path = FORMS["promptfoo"](tmp_path, "one", lines())
    whole = json.loads(path.read_text(encoding="utf-8"))
    rows, begun = whole["results"]["results"], "You are a helpful assistant. Answer the question "
    for row in rows:
        row["prompt"]["label"] = begun + "briefly: {{question}}"
    other = {"promptIdx": 1, "success": False, "score": 0.0, "failureReason": 1}
    rows += [row | other | {"prompt": row["prompt"] | {"label": begun + "at length: {{question}}"}} for row in rows]
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert main(["gate", str(path), "--threshold", "0.3"]) == 1
    assert compare(tmp_path, path)["pairs"][0]["n"] == N


def test_another_variable_is_another_question(tmp_path: Path) -> None:
    files = []
    for name, lost in (("old", 0), ("new", 30)):
        path = FORMS["promptfoo"](tmp_path, name, lines(lost))
        whole = json.loads(path.read_text(encoding="utf-8"))
        for n, row in enumerate(whole["results"]["results"]):
            given = {"language": ("French", "German", "Spanish")[n % 3], "input": f"Hello {n // 3}"}
            row["testCase"], row["vars"] = {}, given | {"note": f"{n}, not in the prompt"}
            row["prompt"]["raw"] = f"Translate to {given['language']}: {given['input']}"
        path.write_text(json.dumps(whole), encoding="utf-8")
        files.append(path)
    pair = compare(tmp_path, *files)["pairs"][0]
    assert (pair["n"], pair["only_b"]) == (N, 30)


def test_one_question_about_other_texts_is_another(tmp_path: Path) -> None:
    files = []
    for name, lost in (("old", 0), ("new", 30)):
        shared = {"target": "yes", "arguments": {}, "resps": [["yes"]], "filter": "none", "metrics": ["acc"]}
        rows = [
            shared | {"doc_id": n, "doc": {"premise": f"Tree {n}.", "question": "cause"}, "acc": float(n >= lost)}
            for n in range(100)
        ]
        files.append(tmp_path / f"samples_{name}.jsonl")
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert compare(tmp_path, *files)["pairs"][0]["n"] == 100
    assert gate(files[1], files[0]) == 1


def test_a_failed_call_of_promptfoo_counts_for_its_named_scores(tmp_path: Path) -> None:
    path = FORMS["promptfoo"](tmp_path, "one", lines(n=100))
    whole = json.loads(path.read_text(encoding="utf-8"))
    for n, row in enumerate(whole["results"]["results"]):
        row["testCase"]["assert"] = [{"type": "contains", "value": "yes", "metric": "tone"}]
        told = {"success": n % 2 == 0, "score": float(n % 2 == 0), "namedScores": {"tone": 1}}
        failed = {"success": False, "score": 0, "failureReason": 2, "error": "429", "namedScores": {}}
        row.update(told if n < 60 else failed)
    path.write_text(json.dumps(whole), encoding="utf-8")
    assert main(["gate", str(path), "--metric", "score.tone", "--threshold", "0.8"]) == 2
