"""Score: what a metric's programs come to reaches the score of the reply that held them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.settings import StoreSettings
from basic_control.data import plugins
from basic_control.data.batches import Batch, Cell, Opponent, Ref
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.plugins import metrics
from basic_control.data.records import RENDERED, Metric, Score
from basic_control.data.tables import ITEMS, JUDGEMENTS, REQUESTS, RESPONSES, SCORES, VERDICTS
from basic_control.data.units import UnitIdentity, identity_of
from basic_control.metrics.judging import Judgement
from basic_control.tasks.judge import encode
from basic_control.tasks.runtime.storage import open_store
from basic_control.tasks.score import measure, metric_rows, run_programs_of, score, score_judged, scores_of
from basic_control.tasks.store.samples import read_samples
from tests.helpers.answers import answer


def test_the_programs_of_a_batch_are_run_together_and_each_reply_gets_its_own_outcomes() -> None:
    unit = metrics()["code_tests"]
    options = options_of(unit, {})
    replies = [answer(text) for text in ("def f(x): return x + 1", None, "no code", "def f(x): return 2 * x", "")]
    found = run_programs_of(unit, replies, options)
    assert [len(each["programs"]) for each in found] == [1, 0, 0, 1, 0]
    scores = [unit.score(reply.sample, each, options) for reply, each in zip(replies, found, strict=True)]
    assert [score.value for score in scores] == [0.5, 0.0, 0.0, 1.0, 0.0]
    assert [score.reason for score in scores][2:] == ["no code in the reply", "all tests pass", "empty reply"]


def test_a_metric_without_programs_runs_none() -> None:
    assert run_programs_of(metrics()["exact_match"], [answer("x"), answer(None)], {}) == [{}, {}]


def verdict(status: str, *, correct: bool | None, details: str = "{}") -> dict[str, Any]:
    row = {"item_id": "i", "model": "m", "repeat": 1, "correct": correct, "status": status, "reason": "why"}
    return {**row, "details": details}


@pytest.mark.parametrize(
    ("status", "correct", "value"),
    [
        ("scored", True, 1.0),
        ("scored", False, 0.0),
        ("no_answer", None, 0.0),
        ("model_error", None, None),
        ("not_applicable", None, None),
    ],
)
def test_a_verdict_is_one_score_in_its_own_state(status: str, correct: bool | None, value: float | None) -> None:  # noqa: FBT001 - a case
    (row,) = scores_of(verdict(status, correct=correct), metrics()["correct"])
    assert (row["metric"], row["value"], row["status"], row["reason"]) == ("correct", value, status, "why")


def test_what_a_verifier_keeps_beside_its_verdict_is_scored_beside_it() -> None:
    details = '{"precision": 0.5, "recall": 1, "similarity": "near", "other": 0.3}'
    rows = list(scores_of(verdict("scored", correct=False, details=details), metrics()["correct"]))
    assert [(row["metric"], row["value"]) for row in rows] == [
        ("correct", 0.0),
        ("precision", 0.5),
        ("recall", 1.0),
    ]
    assert [row["details"] for row in rows] == [details, "{}", "{}"]
    assert {(row["item_id"], row["model"], row["repeat"]) for row in rows} == {("i", "m", 1)}


def test_a_table_of_verdicts_becomes_a_table_of_scores(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    rows = [verdict("scored", correct=True), {**verdict("no_answer", correct=None), "item_id": "j"}]
    ref = score.function(
        store, open_store(store).write(VERDICTS, VERDICTS.frame(rows)), metric=identity_of(Metric, "correct")
    )
    found = open_store(store).read(ref)
    assert ref.table == "scores"
    assert found.select("item_id", "value", "status").rows() == [("i", 1.0, "scored"), ("j", 0.0, "no_answer")]


def parted(sample: Any, found: Any, options: Any) -> Score:
    raise NotImplementedError


def test_every_sample_has_every_part_in_a_state_that_says_why_it_is_missing() -> None:
    unit = Metric(name="chain", version=3, bounds=(0.0, 1.0), score=parted)
    scored = [
        (answer("a"), Score(0.5, reason="half", parts={"first": 1.0, "second": None})),
        (answer("b"), Score(1.0, parts={"third": 0.25})),
        (answer(None), Score(None, "model_error", "network")),
    ]
    rows = [(row["metric"], row["value"], row["status"]) for row in metric_rows(unit, scored)]
    absent, failed = (None, "not_applicable"), (None, "model_error")
    assert rows == [
        ("chain", 0.5, "scored"), ("chain.first", 1.0, "scored"), ("chain.second", *absent),
        ("chain.third", *absent),
        ("chain", 1.0, "scored"), ("chain.first", *absent), ("chain.second", *absent),
        ("chain.third", 0.25, "scored"),
        ("chain", *failed), ("chain.first", *failed), ("chain.second", *failed), ("chain.third", *failed),
    ]  # fmt: skip
    assert {row["version"] for row in metric_rows(unit, scored)} == {3}


def batch_of(store: StoreSettings, replies: Sequence[str | None], **facts: Any) -> Batch:
    """Return a batch of items 0, 1, …, of which each was answered so, or not at all."""
    opened = open_store(store)
    items = [
        {
            "item_id": f"{n}", "suite": "mine", "family": "mine", "version": 1, "level": "", "language": "en",
            "template": "", "seed": 0, "index": n, "prompt": "Who?", "answer": "Anna",
            "facts": format_canonical(facts),
        }
        for n in range(len(replies))
    ]  # fmt: skip
    requests = [
        {
            "request_id": f"r{n}",
            "item_id": f"{n}",
            "model": "m",
            "step": "",
            "key": "",
            "repeat": 0,
            "payload": "{}",
        }
        for n in range(len(replies))
    ]
    answers = [
        {
            "request_id": f"r{n}", "text": text, "error": None if text is not None else "refused",
            "error_kind": None if text is not None else "network", "latency_s": 0.1, "cached": False,
        }
        for n, text in enumerate(replies)
    ]  # fmt: skip
    refs = (
        opened.write(table, table.frame(rows))
        for table, rows in ((ITEMS, items), (REQUESTS, requests), (RESPONSES, answers))
    )
    asked, sent, came = refs
    return Batch(Cell("mine", "m"), asked, sent, came)


def scored_in(store: StoreSettings, ref: Any, *columns: str) -> list[tuple[Any, ...]]:
    return open_store(store).read(ref).sort("item_id", "metric").select(*columns).rows()


def test_a_computed_metric_scores_every_reply_and_a_call_that_failed_is_no_zero(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    batch = batch_of(store, ["Anna", "Boris", "", None])
    ref = measure.function(store, batch, metric=identity_of(Metric, "exact_match"), options={})
    assert ref.table == SCORES.name
    assert scored_in(store, ref, "value", "status", "reason") == [
        (1.0, "scored", "equal"),
        (0.0, "scored", "another text"),
        (0.0, "no_answer", "empty reply"),
        (None, "model_error", "network"),
    ]


def test_without_the_reply_that_it_is_compared_with_a_reply_is_not_scored_and_not_left_out(tmp_path: Path) -> None:
    """Its opponent's call failed: that bounds the score as a failed call of its own does; a column goes first."""
    store = StoreSettings(root=str(tmp_path))
    other = batch_of(store, ["old 0", None, None])
    opponent = Opponent("old", other.requests, other.responses)
    for facts, ended in (
        ({}, [(None, None), ("network", "refused"), ("network", "refused")]),
        ({"old": "a column"}, [(None, None), (None, None), ("network", "refused")]),
    ):
        batch = replace(batch_of(store, ["new 0", "new 1", None], **facts), opponent=opponent)
        rows = list(read_samples(open_store(store), batch))
        assert [(row.error_kind, row.error) for row in rows] == ended
        assert rows[0].sample["old"] == facts.get("old", "old 0")


OWN = {
    "prompt": "def f(x):\n",
    "level": "college",
    "family": "cats",
    "seed": "pumpkin",
    "template": "t",
    "suite": "s",
}


def test_of_equal_names_the_rows_own_column_holds(tmp_path: Path) -> None:
    """The items table has a prompt, a level and more, too; who was asked, what, and what came of it stay ours."""
    store = StoreSettings(root=str(tmp_path))
    theirs = {"item_id": "theirs", "response": "theirs", "language": "la", "question_id": "theirs"}
    (row,) = read_samples(open_store(store), batch_of(store, ["ours"], **OWN, **theirs))
    assert {name: row.sample[name] for name in OWN} == OWN
    assert [row.sample[name] for name in ("item_id", "response", "language", RENDERED)] == [
        "0",
        "ours",
        "en",
        "Who?",
    ]
    assert row.sample["question_id"] != "theirs"
    (plain,) = read_samples(open_store(store), batch_of(store, ["ours"]))
    assert (plain.sample["prompt"], plain.sample["family"]) == ("Who?", "mine")


def test_a_judge_sees_the_prompt_as_it_was_sent(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    (row,) = read_samples(open_store(store), batch_of(store, ["ours"], prompt="a column"))
    unit = metrics()["rubric"]
    asked = unit.steps[0].rows(row.sample, {}, options_of(unit, {"criteria": "polite"}))
    assert [question.values["question"] for question in asked] == ["Who?"]


@pytest.mark.parametrize("reply", ["    return x + 1", "def f(x):\n    return x + 1"])
def test_a_body_continues_the_column_prompt_as_humaneval_names_it(tmp_path: Path, reply: str) -> None:
    store = StoreSettings(root=str(tmp_path))
    row = {"prompt": "def f(x):\n", "entry_point": "f", "test": "def check(g):\n    assert g(1) == 2"}
    options = {"tests": "test", "entry": "entry_point", "prompt_code": "prompt"}
    batch = batch_of(store, [reply], **row)
    ref = measure.function(store, batch, metric=identity_of(Metric, "code_tests"), options=options)
    assert scored_in(store, ref, "metric", "value") == [("code_tests", 1.0), ("code_tests.all", 1.0)]


def judged(item: str, judge: str, rating: int | None) -> dict[str, Any]:
    label = ("NOT_GROUNDED", "PARTLY_GROUNDED", "FULLY_GROUNDED")[rating or 0]
    found = {} if rating is None else {"rate": {"rating": Judgement(label, float(rating), "so it is")}}
    failure = "" if rating is not None else "no JSON object"
    row = {"item_id": item, "model": "m", "repeat": 0, "metric": "response_groundedness", "judge": judge}
    return {
        **row,
        "found": format_canonical(encode(found)),
        "failure": failure,
        "error": "",
        "n_calls": 1,
        "n_repairs": 0,
    }


def test_judges_are_joined_and_one_that_failed_is_left_out_and_never_a_zero(tmp_path: Path) -> None:
    store = StoreSettings(root=str(tmp_path))
    facts = {"retrieved_contexts": ["The book of ten chapters was written by Anna, as everybody knows."]}
    batch = batch_of(
        store, ["Anna wrote it herself.", "It was Boris who did.", "Nobody ever wrote it.", None], **facts
    )
    rows = [
        judged("0", "a", 2), judged("0", "b", 1),
        judged("1", "a", None), judged("1", "b", 1),
        judged("2", "a", None), judged("2", "b", None),
    ]  # fmt: skip
    judgements = open_store(store).write(JUDGEMENTS, JUDGEMENTS.frame(rows))
    ref = score_judged.function(
        store, batch, judgements, metric=identity_of(Metric, "response_groundedness"), options={}, aggregate="mean"
    )
    assert scored_in(store, ref, "item_id", "value", "status") == [
        ("0", 0.75, "scored"),
        ("1", 0.5, "scored"),
        ("2", None, "judge_failed"),
        ("3", None, "model_error"),
    ]


def test_a_value_has_no_rounding_error_at_its_ends() -> None:
    found = Score((0.1 + 0.2) / 0.3, parts={"sum": 0.7 + 0.2 + 0.1, "rest": 0.3 - 0.2 - 0.1})
    assert (found.value, found.parts) == (1.0, {"sum": 1.0, "rest": 0.0})


BROKEN = """\
from basic_control.data.records import RENDERED, Metric, Score

def score(sample, found, options):
    return {result}

UNIT = Metric("own", 1, bounds=(0.0, 1.0), score=score)
"""


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (
            'Score(lenght(sample["response"]))',
            ", line 4: metric own raised NameError (name 'lenght' is not defined)",
        ),
        ("Score(3.0)", ", line 4: metric own raised ValueError (value 3.0; expected a number from 0 to 1, or None"),
        ('Score(float("nan"))', ", line 4: metric own raised ValueError (value nan; expected a number from 0 to 1"),
        (
            'Score(1.0, parts={"n": 7})',
            ", line 4: metric own raised ValueError (value 7; expected a number from 0 to 1",
        ),
        ("1", ": metric own raised TypeError (it returned 1; expected a Score), for the question "),
        ("None", ": metric own raised TypeError (it returned None; expected a Score), for the question "),
    ],
)
def test_a_metric_that_raises_or_gives_no_share_is_told_with_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, told: str
) -> None:
    path = tmp_path / "own.py"
    path.write_text(BROKEN.replace("{result}", result), encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(path))
    plugins.forget()
    try:
        store = StoreSettings(root=str(tmp_path))
        batch = batch_of(store, ["Anna"])
        with pytest.raises(InputError) as error:
            measure.function(store, batch, metric=identity_of(Metric, "own"), options={})
    finally:
        monkeypatch.undo()
        plugins.forget()
    assert str(error.value).startswith(f"{path}{told}")


def test_a_worker_with_other_code_scores_nothing(tmp_path: Path) -> None:
    store, none = StoreSettings(root=str(tmp_path)), Ref("items", "0" * 64, 0)
    batch, other = Batch(Cell("own", "m"), none, none, none), UnitIdentity("exact_match", 1, "0" * 16)
    with pytest.raises(InputError, match="restart them"):
        measure.function(store, batch, metric=other, options={})
