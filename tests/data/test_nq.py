"""Each form of Natural Questions becomes the same items; the shipped sample is sound."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.loaders.natural_questions import read_questions

DEV = Path(__file__).parents[2] / ".." / "shared" / "data" / "nq_dev.parquet"

PAGE = (
    "<H1> Titanic </H1> <P> The ship was built in Belfast by a yard that had three thousand workers then , "
    "among them many riveters . </P> <P> She sank on 15 April 1912 ( early in the morning ) , and many of those on "
    "board died in the cold sea . </P> <P> A later book says that 15 April 1912 was a Monday , and that the night "
    "before it had been clear and calm and cold . </P>"
)


def _spans() -> list[dict[str, Any]]:
    tokens = PAGE.split(" ")
    starts = [n for n, token in enumerate(tokens) if token == "<P>"]
    ends = [n + 1 for n, token in enumerate(tokens) if token == "</P>"]
    return [{"start_token": a, "end_token": b, "top_level": True} for a, b in zip(starts, ends, strict=True)]


def _original(*, full: bool) -> dict[str, Any]:
    tokens = PAGE.split(" ")
    at = tokens.index("15")
    none = {"start_token": -1, "end_token": -1, "candidate_index": -1}
    row: dict[str, Any] = {
        "example_id": 77,
        "question_text": "when did the titanic sink",
        "document_url": "https://en.wikipedia.org//w/index.php?title=RMS_Titanic&oldid=1",
        "long_answer_candidates": _spans(),
        "annotations": [
            {"long_answer": none, "short_answers": [], "yes_no_answer": "NONE"},
            {
                "long_answer": {**_spans()[1], "candidate_index": 1},
                "short_answers": [{"start_token": at, "end_token": at + 3}],
                "yes_no_answer": "NONE",
            },
        ],
    }
    if full:
        listed = [{"token": token, "html_token": token.startswith("<")} for token in tokens]
        return {**row, "document_tokens": listed, "document_title": "RMS Titanic"}
    return {**row, "document_text": PAGE}


def _write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("full", [False, True])
def test_the_original_form_gives_the_gold_paragraph_and_distractors_without_the_answer(
    tmp_path: Path,
    full: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    row = read_questions(_write(tmp_path / "nq.jsonl", _original(full=full)))[0].facts
    assert row["short_answers"] == ["15 April 1912"]
    assert row["long_answer"] == (
        "She sank on 15 April 1912 (early in the morning), and many of those on board died in the cold sea."
    )
    assert {one["title"] for one in row["passages"]} == {"RMS Titanic"}
    assert (row["gold_number"], len(row["passages"])) == (2, 2)
    assert row["passages"][1]["text"] == row["long_answer"]
    assert "riveters" in row["passages"][0]["text"]


def test_compressed_original_data_is_read_and_questions_without_an_answer_are_left_out(tmp_path: Path) -> None:
    unanswered = _original(full=False)
    unanswered["annotations"] = unanswered["annotations"][:1]
    path = tmp_path / "nq.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.write(json.dumps(unanswered) + "\n" + json.dumps(_original(full=False)) + "\n")
    assert len(read_questions(path)) == 1


def test_a_yes_or_no_answer_is_a_short_answer(tmp_path: Path) -> None:
    row = _original(full=False)
    row["annotations"][1] |= {"short_answers": [], "yes_no_answer": "YES"}
    (item,) = read_questions(_write(tmp_path / "nq.jsonl", row))
    assert item.facts["short_answers"] == ["yes"]


def test_nq_open_has_no_passages_and_serves_closed_book_only(tmp_path: Path) -> None:
    path = _write(tmp_path / "open.jsonl", {"question": "who wrote it", "answer": ["A", "B"]})
    (item,) = read_questions(path, passages=False)
    assert item.facts["short_answers"] == ["A", "B"]
    with pytest.raises(InputError, match=r"1 of 1 questions have no passages.*closed_book"):
        read_questions(path)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "object 1: expected a JSON object, found a int"),
        ('{"a": 1}', "row 1: found columns a; expected"),
        ("", "no question with an answer"),
        ('{"question_text": "q", "annotations": [{}]}', "row 1: not the original form; 'long_answer'"),
    ],
)
def test_a_broken_file_is_named_with_its_row(tmp_path: Path, lines: str, says: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        read_questions(path)


def test_a_missing_file_and_a_false_parquet_are_said_plainly(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_questions(tmp_path / "none.jsonl")
    (tmp_path / "x.parquet").write_text("no")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_questions(tmp_path / "x.parquet")


def test_the_sample_has_thirty_english_and_eight_russian_questions_with_sound_passages() -> None:
    sample = read_questions()
    languages = [item.language for item in sample]
    assert languages.count("en") >= 30
    assert languages.count("ru") >= 8
    assert len({item.facts["question"] for item in sample}) == len(sample)
    for row in (item.facts for item in sample):
        gold = row["passages"][row["gold_number"] - 1]
        assert gold["text"] == row["long_answer"]
        assert any(one.lower() in gold["text"].lower() for one in row["short_answers"]), row["question"]
        assert len(row["passages"]) >= 5
        others = [one["text"].lower() for one in row["passages"] if one is not gold]
        assert not any(one.lower() in text for one in row["short_answers"] for text in others), row["question"]
    assert len({item.facts["gold_number"] for item in sample}) > 3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ctxs": ["text"]}, "row 1, ctxs: expected passages with title and text"),
        ({"ctxs": 5}, "row 1, ctxs: expected a list"),
        ({"ctxs": [{"text": ["x"]}]}, "row 1, ctxs: expected a text"),
        ({"answers": 5}, "row 1, answers: expected a list"),
        ({"question": " "}, "row 1: empty question"),
    ],
)
def test_wrong_retrieved_passages_are_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    row = {"question": "q?", "answers": ["a"], "ctxs": [{"title": "t", "text": "x", "isgold": True}]} | change
    with pytest.raises(InputError, match=says):
        read_questions(_write(tmp_path / "d.jsonl", row))


def test_retrieved_passages_of_which_none_is_gold_are_taken_as_they_are(tmp_path: Path) -> None:
    row = {"question": "q?", "answers": ["a"], "ctxs": [{"title": "t", "text": "x"}], "nq_annotated_gold": None}
    (item,) = read_questions(_write(tmp_path / "d.jsonl", row))
    assert (item.facts["gold_number"], item.facts["long_answer"]) == (None, "")


def test_a_language_can_be_chosen() -> None:
    assert {item.language for item in read_questions(language="ru")} == {"ru"}
    with pytest.raises(InputError, match="in language 'fr'"):
        read_questions(language="fr")


@pytest.mark.skipif(not DEV.exists(), reason="the shared data is not here")
def test_nq_dev_is_read_whole() -> None:
    items = read_questions(DEV)
    assert len(items) == 2655
    row = items[0].facts
    assert row["question"] == "when was the last time anyone was on the moon"
    assert row["passages"][row["gold_number"] - 1]["text"].endswith("departing the lunar surface in December 1972.")


ROW = {"question": "q?", "short_answers": ["a"], "passages": [{"title": "t", "text": "x"}]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"passages": 5}, "row 1, passages: expected a list, found a int"),
        ({"passages": [{"text": ["x"]}]}, "row 1, passages: expected a text, found a list"),
        ({"short_answers": 5}, "row 1, short_answers: expected a list, found a int"),
        ({"long_answer": ["x"]}, "row 1, long_answer: expected a text, found a list"),
        ({"gold_index": "x"}, "row 1, gold_index: expected a number, found 'x'"),
        ({"question": None}, "row 1: empty question"),
        ({"question": " "}, "row 1: empty question"),
        ({"question": {}}, "row 1, question: expected a text, found a dict"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**ROW, **change}))
    with pytest.raises(InputError, match=says):
        read_questions(path)


def test_one_text_in_a_lists_place_is_a_list_of_one(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({**ROW, "short_answers": "abc", "passages": "text", "question": "\ud800?"}))
    row = read_questions(path)[0].facts
    assert (row["short_answers"], row["passages"]) == (["abc"], [{"title": "", "text": "text"}])
    assert row["question"] == "\ufffd?"


def test_a_broken_archive_and_brackets_without_end_are_one_message(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    for body in (b"no gzip", gzip.compress(json.dumps(ROW).encode() * 1000)[:60]):
        path.write_bytes(body)
        with pytest.raises(InputError, match="cannot be read as gzip"):
            read_questions(path)
    (tmp_path / "x.jsonl").write_text('{"question": ' + "[" * 100_000)
    with pytest.raises(InputError, match="line 1: not JSON"):
        read_questions(tmp_path / "x.jsonl")


def test_a_rows_language_counts_in_every_form(tmp_path: Path) -> None:
    row = {"question": "Кто автор?", "language": "ru"}
    passages = [{"title": "t", "text": "А", "isgold": True}]
    for name, more in (("open", {"answer": ["А"]}), ("ctxs", {"answers": ["А"], "ctxs": passages})):
        path = _write(tmp_path / f"{name}.jsonl", {**row, **more})
        (item,) = read_questions(path, passages=name == "ctxs", language="ru")
        assert (item.language, item.stated_language) == ("ru", "ru")
