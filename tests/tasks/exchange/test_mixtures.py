"""A run of ours beside another tool's file, columns that the user names, scales, folders, what is missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.flows.cli.application import main
from basic_control.tasks.compare.sides import read_sides
from basic_control.tasks.report.remarks import remarks
from tests.helpers.recorded import recorded_run, suite, written
from tests.tasks.exchange.forms import FORMS, Line

LINES = [Line(f"q{k}", f"What is {k} plus one?", right=k % 4 > 0, answer=f"answer {k}") for k in range(100)]


def said(folder: Path, *words: str) -> dict[str, Any]:
    out = folder / "out.json"
    assert main(["compare", *words, "--json", str(out)]) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("form", ["inspect_eval", "lm_eval", "promptfoo", "table_csv"])
def test_a_run_of_ours_compares_with_a_file(form: str, tmp_path: Path) -> None:
    """The same replies, of which the later file has twenty more wrong; nothing has one name on both read_sides."""
    rows = [{"question": one.question, "answer": one.answer, "response": one.reply} for one in LINES]
    recorded_run(tmp_path, "ours", [suite(written(tmp_path / "rows.jsonl", rows))])
    worse = [Line(one.id, one.question, one.right and k >= 27, one.answer) for k, one in enumerate(LINES)]
    file = FORMS[form](tmp_path, "theirs", worse)
    place = ["--set", f"store.runs={tmp_path / 'runs'}"]
    (pair,) = said(tmp_path, "ours", str(file), *place)["pairs"]
    assert (pair["n"], pair["only_b"], pair["only_a"], pair["conclusion"]) == (100, 20, 0, "worse")
    assert main(["gate", str(file), "--baseline", "ours", *place]) == 1
    assert main(["gate", "ours", "--baseline", str(file), *place]) == 0


def test_a_pinned_baseline_decides_whether_its_run_is_there_or_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": one.question, "answer": one.answer, "response": one.reply} for one in LINES]
    recorded_run(tmp_path, "ours", [suite(written(tmp_path / "rows.jsonl", rows))])
    monkeypatch.chdir(tmp_path)
    place = ["--set", f"store.runs={tmp_path / 'runs'}", "--set", f"store.root={tmp_path / 'store'}"]
    assert main(["baseline", "set", "main", "ours", *place]) == 0
    worse = [Line(one.id, one.question, one.right and k >= 27, one.answer) for k, one in enumerate(LINES)]
    theirs = str(FORMS["table_csv"](tmp_path, "theirs", worse))
    capsys.readouterr()
    assert main(["gate", theirs, "--baseline", "main", *place]) == 1
    with_run = capsys.readouterr().out
    for name in ("main", "baselines/main.json"):
        assert main(["gate", theirs, "--baseline", name, "--set", "store.runs=elsewhere"]) == 1
        assert capsys.readouterr().out.replace(name, "main") == with_run


def test_columns_are_named_by_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, right in (("a", 60), ("b", 20)):
        text = "".join(f"case {k},{'ok' if k < 3 else '-'},{k < right:d}\n" for k in range(80))
        (tmp_path / f"{name}.csv").write_text("was gefragt wurde,note,ergebnis\n" + text, encoding="utf-8")
    files = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    assert main(["compare", *files]) == 2
    told = capsys.readouterr().err
    assert "found the keys was gefragt wurde, note, ergebnis" in told
    assert "--columns question=…,score=…" in told
    columns = "question=was gefragt wurde,score=ergebnis"
    (pair,) = said(tmp_path, *files, "--columns", columns)["pairs"]
    assert (pair["n"], pair["only_b"], pair["conclusion"]) == (80, 40, "worse")
    assert main(["compare", *files, "--columns", "question=frage,score=ergebnis"]) == 2
    assert "found no column 'frage'" in capsys.readouterr().err
    assert main(["compare", *files, "--columns", "score"]) == 2
    assert "expected OURS=THEIRS" in capsys.readouterr().err


def test_scores_outside_0_and_1_need_a_scale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, more in (("a", 0), ("b", 1)):
        rows = [{"id": f"q{k}", "score": 1 + (k + more) % 5} for k in range(100)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    files = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    assert main(["compare", *files]) == 2
    assert "maximum: --scale score=1..5" in capsys.readouterr().err
    found = said(tmp_path, *files, "--scale", "score=1..5")
    (pair,) = found["pairs"]
    assert (pair["mean_a"], pair["mean_b"], pair["yes_no"]) == (0.5, 0.5, False)
    assert found["compared"][0]["kinds"] == {"score": "rating"}
    assert main(["compare", *files, "--scale", "score=5..1"]) == 2


def test_a_folder_is_all_its_files(tmp_path: Path) -> None:
    """Of two logs about the same, the later by name stands, and it is said."""
    for name, right in (("a", 60), ("b", 20)):
        (tmp_path / name).mkdir()
        lines = [Line(f"q{k}", f"Is {k}?", right=k < right) for k in range(80)]
        FORMS["inspect_json"](tmp_path / name, "2026-01-01", lines[::-1])
        FORMS["inspect_json"](tmp_path / name, "2026-01-02", lines)
    found = said(tmp_path, str(tmp_path / "a"), str(tmp_path / "b"))
    (pair,) = found["pairs"]
    assert (pair["n"], pair["only_b"]) == (80, 40)
    assert any("several files cover sums m; 2026-01-02.json is used" in note for note in found["notes"])


def test_missing_and_cut_replies_bound_the_difference(tmp_path: Path) -> None:
    """Of 38 that are not right any more, 30 are failed calls: had they been right, little would have changed."""
    old = [{"id": f"q{k}", "score": 1} for k in range(100)]
    new = [{"id": f"q{k}", "score": None, "error": "timeout"} if k < 30 else
           {"id": f"q{k}", "score": int(k >= 38), "finish_reason": "length" if k < 36 else "stop"}
           for k in range(100)]  # fmt: skip
    for name, rows in (("a", old), ("b", new)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (pair,) = said(tmp_path, str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))["pairs"]
    assert (pair["n"], pair["n_lost"], pair["n_cut"], pair["only_b"]) == (70, 30, 6, 8)
    assert (pair["low"], pair["high"]) == (pytest.approx(-0.38), pytest.approx(-0.02))
    assert pair["hangs"]
    assert (pair["verdict"], pair["conclusion"].partition(" on ")[0]) == ("undecided", "undecided; depends")
    assert main(["gate", str(tmp_path / "b.jsonl"), "--baseline", str(tmp_path / "a.jsonl")]) == 3


@pytest.mark.parametrize("word", ["max_tokens", "MAX_TOKENS", "max_output_tokens"])
def test_a_reply_is_cut_whatever_its_server_calls_the_token_limit(word: str, tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "score": int(k > 9), "stop_reason": word if k < 5 else "end_turn"} for k in range(20)]
    (tmp_path / "one.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told = [*remarks(read_sides([str(tmp_path / "one.jsonl")], runs=tmp_path / "runs"))]
    assert any("5 replies were truncated at the token limit" in one for one in told), told


def test_a_judge_is_marked(tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "score": k % 2, "judge": "gpt-4o"} for k in range(20)]
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = said(tmp_path, str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert any("score comes from a judge (gpt-4o)" in note for note in found["notes"])


def test_questions_of_one_template_are_one_unit(tmp_path: Path) -> None:
    """Five templates of twenty: what all questions of one share is one observation: 40 changes decide nothing."""
    for name, right in (("a", 100), ("b", 60)):
        rows = [{"id": f"q{k}", "score": int(k < right), "template": f"t{k // 20}"} for k in range(100)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = said(tmp_path, str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert found["pairs"][0]["conclusion"] != "worse"
    assert any("5 forms of question" in note for note in found["notes"])


def test_pages_of_one_run_are_its_parts(tmp_path: Path) -> None:
    """Files of a folder that have no question in common are read together."""
    for name, right in (("a", 60), ("b", 20)):
        (tmp_path / name).mkdir()
        lines = [Line(f"q{k}", f"Is {k}?", right=k < right) for k in range(80)]
        for page in (0, 1):
            FORMS["openai_evals"](tmp_path / name, f"page{page}", lines[40 * page : 40 * page + 40])
    pair = said(tmp_path, str(tmp_path / "a"), str(tmp_path / "b"))["pairs"][0]
    assert (pair["n"], pair["mean_b"], pair["mean_a"]) == (80, 0.75, 0.25)


def test_the_date_of_a_sample_log_is_no_part_of_its_task(tmp_path: Path) -> None:
    lines = [Line(f"q{k}", f"Is {k}?", right=k < 60) for k in range(80)]
    files = [str(FORMS["lm_eval"](tmp_path, f"alpha_2026-11-2{n}T10-00-00.123456", lines)) for n in (2, 3)]
    (pair,) = said(tmp_path, *files)["pairs"]
    assert pair["suite"] == "alpha"


def test_columns_are_those_of_the_table_that_has_them(tmp_path: Path) -> None:
    lines = [Line(f"q{k}", f"Is {k}?", right=k < 60) for k in range(80)]
    log = FORMS["inspect_json"](tmp_path, "log", lines)
    (tmp_path / "own.csv").write_text(
        "q,ok\n" + "".join(f"Is {k}?,{int(k < 50)}\n" for k in range(80)), encoding="utf-8"
    )
    (pair,) = said(tmp_path, str(log), str(tmp_path / "own.csv"), "--columns", "question=q,score=ok")["pairs"]
    assert (pair["n"], pair["mean_b"], pair["mean_a"]) == (80, 0.75, 0.625)


def test_what_one_file_does_not_expect_is_not_relabelled(tmp_path: Path) -> None:
    for name, more in (("a", {"expected": "yes"}), ("b", {})):
        rows = [{"id": f"q{k}", "question": f"Is {k}?", "score": 1, "extra": 0.5, **more} for k in range(20)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = said(tmp_path, str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
    assert "b.jsonl does not state: expected answers." in found["notes"]
    assert not any("different answer" in note for note in found["notes"])
    assert "a.jsonl: Possible scores that are not read: extra. To read one: --columns score=extra" in found["notes"]


def test_a_gate_says_who_judged_and_refuses_what_nobody_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def file(name: str, score: float | None) -> str:
        rows = [{"id": f"q{k}", "question": f"{k}?", "score": score, "judge": "gpt"} for k in range(200)]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return str(tmp_path / name)

    old, new, none = file("old.jsonl", 1), file("new.jsonl", 1), file("none.jsonl", None)
    assert main(["gate", new, "--baseline", old]) == 0
    assert "score comes from a judge (gpt)" in capsys.readouterr().out
    assert main(["gate", none, "--baseline", old]) == 2
    assert "none.jsonl: no reply has a score by score" in capsys.readouterr().err


def test_a_gate_makes_the_remarks_on_files_that_compare_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new file: one id five times, one score missing, and a rating without a scale, which is left out."""
    rows = [{"id": f"q{k}", "question": f"{k}?", "score": 1, "accuracy": 1 + k % 5} for k in range(100)]
    odd = [*rows[:99], {**rows[99], "score": None}, *[rows[0]] * 4]
    for name, own in (("old", rows), ("new", odd)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in own), encoding="utf-8")
    old, new = str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")
    notes = said(tmp_path, old, new)["notes"]
    capsys.readouterr()
    main(["gate", new, "--baseline", old])
    told = " ".join(capsys.readouterr().out.split())
    for about in ("1 reply has no score", "answered several times", "accuracy: found values from 1 to 5"):
        assert any(about in one for one in notes), about
        assert about in told


@pytest.mark.parametrize("rule", ["threshold", "baseline"])
def test_a_gate_names_which_of_a_files_scorers_decides_and_how_to_choose_another(
    rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = []
    for number in range(40):
        scores = {"match": {"value": "C"}, "f1": {"value": number % 2}, "includes": {"value": "I"}}
        samples.append({"id": number, "epoch": 1, "input": f"What is {number}?", "target": "1", "scores": scores})
    head = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "m"}, "samples": samples}
    file = tmp_path / "log.json"
    file.write_text(json.dumps(head), encoding="utf-8")
    words = ["gate", str(file), *{"threshold": ("--threshold", "0.9"), "baseline": ("--baseline", str(file))}[rule]]
    assert main(words) == 0
    assert "match decides; `--metric` chooses another: f1 and includes" in capsys.readouterr().out
    assert main([*words, "--metric", "includes"]) == int(rule == "threshold")
    assert "chooses another" not in capsys.readouterr().out


def test_missing_scores_are_those_by_each_suites_own_score(tmp_path: Path) -> None:
    """Two logs of a folder, each with a scorer of its own; three replies of the second have no score."""
    for task, scorer, lost in (("a", "match", 0), ("b", "includes", 3)):
        lines = [Line(f"{task}{k}", f"Is {task}{k}?", right=True) for k in range(20)]
        log = json.loads((path := FORMS["inspect_json"](tmp_path, task, lines)).read_text(encoding="utf-8"))
        log["eval"]["task"] = task
        for n, sample in enumerate(log["samples"]):
            sample["scores"] = {scorer: {"value": None if n < lost else "C"}}
        path.write_text(json.dumps(log), encoding="utf-8")
    told = [*remarks(read_sides([str(tmp_path)], runs=tmp_path / "runs"))]
    assert any("3 replies have no score" in one for one in told), told


def test_a_question_that_two_models_answered_twice_is_one_question(tmp_path: Path) -> None:
    rows = [{"question": f"{k}?", "score": 1, "model": model} for k in range(10) for model in "aabb"]
    (tmp_path / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    told = [*remarks(read_sides([str(tmp_path / "two.jsonl")], runs=tmp_path / "runs"))]
    assert any("10 of 10 questions were answered several times" in one for one in told), told


def test_changes_are_counted_by_reply_and_questions_by_themselves(tmp_path: Path) -> None:
    """Ten questions, each answered three times, all right before and all wrong after."""
    for name, score in (("old", 1), ("new", 0)):
        rows = [{"question": f"{k}?", "score": score} for k in range(10)] * 3
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = tmp_path / "out.md"
    said(tmp_path, str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl"), "--markdown", str(out))
    assert "30 changes among 10 questions." in out.read_text(encoding="utf-8")


def test_another_judge_that_both_files_state_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, judge, right in (("old", "gpt-4o", 200), ("new", "gpt-4o-mini", 100)):
        rows = [{"id": f"q{k}", "question": f"{k}?", "score": int(k < right), "judge": judge} for k in range(200)]
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    words = ["gate", str(files[1]), "--baseline", str(files[0])]
    assert main(words) == 2
    assert "gpt-4o-mini, in the baseline gpt-4o" in capsys.readouterr().err
    assert main([*words, "--allow-different"]) == 1


def test_a_damaged_file_of_a_folder_is_not_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    FORMS["lm_eval"](tmp_path, "arc", [Line(f"a{n}", f"Is {n}?", right=True) for n in range(200)])
    path = FORMS["lm_eval"](tmp_path, "sums", [Line(f"s{n}", f"What is {n}?", right=False) for n in range(200)])
    path.write_text(path.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    (tmp_path / "notes.json").write_text('{"of another": "tool"}', encoding="utf-8")
    assert main(["gate", str(tmp_path), "--threshold", "0.8"]) == 2
    assert "samples_sums.jsonl, line 200" in capsys.readouterr().err
