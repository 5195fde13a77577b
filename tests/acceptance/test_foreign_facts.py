"""What is said of other tools' results beside the figures: what was read, what was not, and why."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.foreign import (
    FORMS,
    both,
    call,
    columns,
    compare,
    each,
    gate,
    merged,
    planted,
    reworded,
    rows,
    write,
)

OLD, NEW = planted(146, 30, 4, 20)
FEW, MORE = planted(150, 3, 15, 32)


def counts(pair: dict[str, Any]) -> tuple[int, int, int]:
    return pair["n"], pair["only_b"], pair["only_a"]


def test_pages_of_one_run_in_a_folder_are_one_run(tmp_path: Path) -> None:
    for name, these in (("old", OLD), ("new", NEW)):
        whole = json.loads(FORMS["hosted"][1](these))
        (tmp_path / name).mkdir()
        for n in range(4):
            page = whole | {"data": whole["data"][50 * n : 50 * n + 50], "has_more": n < 3}
            (tmp_path / name / f"page{n}.json").write_text(json.dumps(page), encoding="utf-8")
    (pair,), _ = compare("old", "new", at=tmp_path)
    assert counts(pair) == (200, 30, 4)


def test_the_date_of_a_sample_file_is_no_part_of_its_task(tmp_path: Path) -> None:
    for name, these, date in (
        ("old", OLD, "2026-11-22T10-00-00.123456"),
        ("new", NEW, "2026-11-23T11-00-00.654321"),
    ):
        (tmp_path / name).mkdir()
        for task in ("alpha", "beta"):
            write("lm-eval", tmp_path / name / f"samples_{task}_{date}", these)
    pairs, _ = compare("old", "new", at=tmp_path)
    assert [(pair["suite"], *counts(pair)) for pair in pairs] == [("alpha", 200, 30, 4), ("beta", 200, 30, 4)]


@pytest.mark.parametrize("form", ["inspect-json", "every", "csv"])
def test_the_same_ids_with_other_texts_are_said_to_be_that(form: str, tmp_path: Path) -> None:
    code, _, err = call("compare", *both(form, tmp_path, OLD, reworded(NEW, range(200))), at=tmp_path)
    assert code == 2
    assert "neither an id" not in err
    assert re.search("200|same id", err)


AGGREGATES: dict[str, tuple[str, dict[str, Any]]] = {
    "Inspect": ("inspect-json", {"samples": None}),
    "promptfoo": ("promptfoo", {"results": {"version": 3, "prompts": [{"metrics": {"score": 176}}], "stats": {}}}),
    "DeepEval": ("deepeval", {"testCases": [], "metricsScores": [{"metric": "Exact Match", "passes": 176}]}),
}
RUN = {
    "object": "eval.run",
    "id": "evalrun_1",
    "eval_id": "eval_1",
    "status": "completed",
    "result_counts": {"total": 200, "passed": 176},
}
RECORD = {
    "schema_version": "0.2.0",
    "evaluation_id": "e/m/1",
    "model_info": {"id": "m"},
    "evaluation_results": [{"evaluation_name": "e", "score_details": {"score": 0.88}}],
}


def aggregate(tool: str) -> str:
    form, change = AGGREGATES[tool]
    made = json.loads(FORMS[form][1](OLD)) | change
    return json.dumps({key: value for key, value in made.items() if value is not None})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *((f"{tool}.json", aggregate(tool)) for tool in AGGREGATES),
        ("hosted.json", json.dumps(RUN)),
        ("every.json", json.dumps(RECORD)),
    ],
)
def test_aggregates_alone_are_said_to_be_that(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    code, _, err = call("compare", write("csv", tmp_path / "good", OLD), name, at=tmp_path)
    assert code == 2
    assert name in err
    assert "aggregates" in err


JUDGED: dict[str, dict[str, Any]] = {"deepeval": {"judge": "gpt-4.1"}, "promptfoo": {"assertion": "llm-rubric"}}


@pytest.mark.parametrize("form", JUDGED)
def test_a_gate_says_that_nobody_measured_the_judge(form: str, tmp_path: Path) -> None:
    old, new = both(form, tmp_path, *([one | JUDGED[form] for one in these] for these in (OLD, NEW)))
    code, out, _ = call("gate", new, "--baseline", old, at=tmp_path)
    assert code == 1
    assert "judge" in out
    assert "measured" in out


@pytest.mark.parametrize(("right", "wrong"), [("good", "bad"), ("100%", "0%")])
def test_scores_in_unknown_words_are_named(right: str, wrong: str, tmp_path: Path) -> None:
    old, new = ([one | {"score": right if one["score"] else wrong} for one in these] for these in (OLD, NEW))
    code, _, err = call("compare", *both("csv", tmp_path, old, new), at=tmp_path)
    assert code == 2
    assert "score" in err
    assert re.search(f"{right}|{wrong}", err)
    assert "calls or judges" not in err


def test_a_number_of_400_digits_is_no_defect(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"question": "q", "score": 1%s}\n' % ("0" * 400), encoding="utf-8")
    code, _, err = call("compare", "x.jsonl", "x.jsonl", at=tmp_path)
    assert code == 2
    assert "x.jsonl" in err
    assert "defect" not in err


def test_answers_that_one_file_does_not_state_are_no_other_answers(tmp_path: Path) -> None:
    old = write("csv", tmp_path / "old", OLD)
    new = [{"question": one["question"], "response": one["reply"], "score": one["score"]} for one in NEW]
    (tmp_path / "new.csv").write_text(columns(new), encoding="utf-8")
    (pair,), out = compare(old, "new.csv", at=tmp_path)
    assert counts(pair) == (200, 30, 4)
    assert "different answer" not in out


@pytest.mark.parametrize("form", ["inspect-json", "csv"])
def test_columns_are_named_for_the_table_that_needs_it(form: str, tmp_path: Path) -> None:
    old = write(form, tmp_path / "old", OLD)
    text = columns([{"frage": one["question"], "gut": one["score"]} for one in NEW])
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    (pair,), _ = compare(old, "new.csv", "--columns", "question=frage,score=gut", at=tmp_path)
    assert counts(pair) == (200, 30, 4)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_tables_columns_that_are_not_read_as_scores_are_named(form: str, tmp_path: Path) -> None:
    old, new = ([one | {"more": {"tone": n % 2}} for n, one in enumerate(these)] for these in (OLD, NEW))
    _, out = compare(*both(form, tmp_path, old, new), at=tmp_path)
    assert "tone" in out


def test_a_gate_over_nothing_is_an_error(tmp_path: Path) -> None:
    for form, change in (("promptfoo", {"error": "401"}), ("jsonl", {"score": None})):
        old, new = both(form, tmp_path, OLD, [one | change for one in NEW])
        assert gate(new, old) == 2


@pytest.mark.parametrize(("errors", "code"), [(9, 3), (0, 0)])
def test_failed_samples_count_for_each_part_of_a_score(errors: int, code: int, tmp_path: Path) -> None:
    old, new = (
        [one | {"score": {"precise": int(n < 186), "brief": n % 2}, "reply": reply} for n, one in enumerate(OLD)]
        for reply in ("so", "or so")
    )
    files = both("inspect-eval", tmp_path, old, each(new, range(errors), error="429"))
    pairs, _ = compare(*files, at=tmp_path)
    assert [pair["n_lost"] for pair in pairs] == [errors, errors]
    assert gate(files[1], files[0]) == code


@pytest.mark.parametrize("form", ["lm-eval", "inspect-json", "deepeval"])
def test_metrics_that_coincide_in_one_file_alone_are_compared(form: str, tmp_path: Path) -> None:
    old = [one | {"more": {"side": one["score"]}} for one in OLD]
    new = [one | {"more": {"side": int(n % 5 > 0)}} for n, one in enumerate(NEW)]
    pairs, _ = compare(*both(form, tmp_path, old, new), at=tmp_path)
    lost, won = (
        sum(a["more"]["side"] == x and b["more"]["side"] == 1 - x for a, b in zip(old, new, strict=True))
        for x in (1, 0)
    )
    assert (200, lost, won) in [counts(pair) for pair in pairs]


def test_few_templates_are_not_said_to_be_taken_account_of(tmp_path: Path) -> None:
    old, new = ([one | {"more": {"template": f"T{n % 4}"}} for n, one in enumerate(these)] for these in (OLD, NEW))
    _, out = compare(*both("jsonl", tmp_path, old, new), at=tmp_path)
    assert "for these forms of question only" in out
    assert "take account" not in out


@pytest.mark.parametrize("form", ["lm-eval", "inspect-json", "ragas-csv"])
def test_a_metric_that_one_file_alone_has_is_named(form: str, tmp_path: Path) -> None:
    old = [one | {"more": {"side": n % 2}} for n, one in enumerate(OLD)]
    files = both(form, tmp_path, old, NEW)
    assert "side" in compare(*files, at=tmp_path)[1]
    assert "side" in call("gate", files[1], "--baseline", files[0], at=tmp_path)[1]


def test_equal_parts_need_as_many_pairs_as_the_rule_says(tmp_path: Path) -> None:
    old, new = both("csv", tmp_path, rows([0.5, 0.25] * 20, reply="yes"), rows([0.5, 0.25] * 20, reply="no"))
    _, out, _ = call("gate", new, "--baseline", old, at=tmp_path)
    found = re.search(r"(\d+) questions would", out)
    assert found
    assert int(found[1]) == 149, "0.98 ** 149 is at most 0.05, 0.98 ** 148 is not"


def test_what_failed_in_both_for_one_cause_is_named_as_equal(tmp_path: Path) -> None:
    old, new = (each(these, range(15), error="refused") for these in (FEW, MORE))
    (pair,), out = compare(*both("inspect-json", tmp_path, old, new), at=tmp_path)
    assert (pair["low"], pair["high"]) == pytest.approx((0.06, 0.06))
    assert re.search(r"15 .*(both|each)", out)


def test_a_log_whose_samples_all_failed_is_said_to_be_that(tmp_path: Path) -> None:
    old, new = both("inspect-json", tmp_path, OLD, [one | {"error": "refused"} for one in NEW])
    code, _, err = call("compare", old, new, at=tmp_path)
    assert code == 2
    assert re.search("200|fail|refused", err)


def test_a_scale_of_a_metric_that_is_not_there_is_refused(tmp_path: Path) -> None:
    code, _, err = call("compare", *both("csv", tmp_path, OLD, NEW), "--scale", "nosuch=1..5", at=tmp_path)
    assert code == 2
    assert "nosuch" in err
    assert "score" in err


@pytest.mark.parametrize(("form", "how"), [("csv", "ids"), ("lm-eval", "texts")])
def test_how_questions_were_paired_is_said(form: str, how: str, tmp_path: Path) -> None:
    assert f"paired by their {how}" in compare(*both(form, tmp_path, OLD, NEW), at=tmp_path)[1]


def test_another_model_is_named_once_and_direction_marks_are_seen(tmp_path: Path) -> None:
    old, new = ([one | {"model": model} for one in these] for model, these in (("m", OLD), ("n\u202en", NEW)))
    files = both("hosted", tmp_path, old, new)
    _, out, _ = call("gate", files[1], "--baseline", files[0], "--junit", "gate.xml", at=tmp_path)
    assert out.count("in the baseline m") == 1
    assert "\u202e" not in out + (tmp_path / "gate.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["csv", "inspect-json", "every"])
def test_an_id_of_two_texts_in_one_file_is_refused(form: str, tmp_path: Path) -> None:
    wrong = each(NEW, [7], id="case-3")
    old, new = both(form, tmp_path, OLD, wrong)
    for words in (["compare", old, new], ["gate", new, "--baseline", old]):
        code, _, err = call(*words, at=tmp_path)
        assert code == 2
        assert all(fact in err for fact in (new.name, "case-3", OLD[3]["question"], OLD[7]["question"]))


def test_an_id_may_stand_again_for_its_text_and_row_numbers_for_any(tmp_path: Path) -> None:
    for name, change in (("again", {}), ("counted", {"n": 100})):
        (tmp_path / name).mkdir()
        made = [
            [one | {"id": str(n % change.get("n", 200))} for n, one in enumerate(these * 2)] for these in (OLD, NEW)
        ]
        (pair,), _ = compare(*both("csv", tmp_path / name, *made), at=tmp_path)
        assert counts(pair) == (200, 30, 4)


def test_a_file_of_two_forms_with_a_tables_columns_is_asked_about(tmp_path: Path) -> None:
    good = write("csv", tmp_path / "good", OLD)
    (tmp_path / "bad.json").write_text(merged(NEW, "promptfoo", "deepeval"), encoding="utf-8")
    code, _, err = call("compare", good, "bad.json", at=tmp_path)
    assert code == 2
    assert all(fact in err for fact in ("bad.json", "DeepEval", "promptfoo"))


@pytest.mark.parametrize(("form", "score"), [("jsonl", None), ("jsonl", "n/a"), ("inspect-json", None)])
def test_what_is_null_in_both_without_a_cause_is_not_known_to_be_equal(
    form: str, score: object, tmp_path: Path
) -> None:
    old, new = (each(these, range(15), score=score) for these in (FEW, MORE))
    (pair,), out = compare(*both(form, tmp_path, old, new), at=tmp_path)
    assert (pair["n_alike"], pair["n_lost"]) == (0, 30)
    assert pair["high"] - pair["low"] == pytest.approx(2 * 15 / 200)
    assert not re.search(r"15 .*(both|each)", out)


@pytest.mark.parametrize(("why", "alike"), [("refused", 15), ("500", 0)])
def test_a_test_fails_for_the_cause_of_its_metric(why: str, alike: int, tmp_path: Path) -> None:
    old, new = (
        each([one | {"more": {"side": 1}} for one in these], range(15), error=error)
        for these, error in ((FEW, "refused"), (MORE, why))
    )
    pairs, _ = compare(*both("deepeval", tmp_path, old, new), at=tmp_path)
    assert {pair["n_alike"] for pair in pairs if pair["metric"] == "success"} == {alike}
