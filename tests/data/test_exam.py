"""The exam's questions: enough of each kind, none twice, drawn by seed, and asked as the judged metrics ask."""

import hashlib
import json
import re
from collections import Counter

import polars as pl
import pytest

from basic_control.data.exam import MOST, PARTS, STEPS, edition, mark_split
from basic_control.data.loaders.exam import ABOUT, check, exam_questions
from basic_control.data.questions import identify_question
from basic_control.data.records import Item
from basic_control.metrics.exam import EXAMINED, LABELS
from basic_control.metrics.factual_correctness import VERDICTS
from tests.helpers.exam import exam_items

LANGUAGES = ("en", "ru", "zh")
CELL = ["step", "language", "level", "truth"]
TRUTHS = {
    **{step: {*LABELS[step]} for step in ("support", "correctness", "groundedness", "rubric", *PARTS[1].steps)},
    "entails": {*VERDICTS},
    "split": {"alone"},
    "preference": {"first", "tie", "second"},
}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part.file) for part in PARTS], how="diagonal")


def test_there_are_as_many_questions_of_each_truth(rows: pl.DataFrame) -> None:
    counts = rows.group_by(CELL).len()
    assert {*counts["len"]} == {MOST}
    assert MOST >= 30
    assert [*EXAMINED] == [*STEPS]
    assert [step for part in PARTS for step in part.steps] == [*STEPS]
    for step, truths in TRUTHS.items():
        cells = {
            (language, level, truth)
            for language in LANGUAGES
            for level in ("easy", "medium", "hard")
            for truth in truths
        }
        assert {*counts.filter(step=step).select(CELL[1:]).iter_rows()} == cells


def test_no_fact_stands_in_two_questions(rows: pl.DataFrame) -> None:
    """A question is what is asked of one subject: of a text three claims, one of each truth."""
    groups = rows.group_by("language", "subject").agg(
        pl.col("step", "level").n_unique(), pl.len(), truths=pl.col("truth").n_unique(), of=pl.col("step").first()
    )
    assert groups["step"].max() == groups["level"].max() == 1
    assert {*groups.filter(of="entails")["len"]} == {3} == {*groups.filter(of="entails")["truths"]}
    assert {*groups.filter(pl.col("of") != "entails")["len"]} == {1}


def test_no_question_is_another_with_other_names_and_numbers(rows: pl.DataFrame) -> None:
    values = [name for name in rows.columns if name not in ABOUT | {"facts", "lo", "hi"}]
    seen: Counter[tuple[str, str, str, str]] = Counter()
    for row in rows.iter_rows(named=True):
        # The subject in its other case: 'Музей «Велмор»', 'музея «Велмор»'.
        name = re.search(r"«.+»", row["subject"]) or re.search(
            r"(?<=the )\w+|^\w+(?=[博图剧学酒车])", row["subject"]
        )
        if row["step"] in PARTS[1].steps:
            # Of these the subject is the name alone.
            name = re.fullmatch(r".+", row["subject"])
        text = str([row[value] for value in values])
        masked = re.sub(r"\d+", "#", text.replace(name[0] if name else "", "§"))
        seen[row["step"], row["language"], row["truth"], masked] += 1
    assert max(seen.values()) == 1


EDITIONS = ["1 470dfe49fece5d37", "2 3d80ae888818f88b"]


def test_the_version_stands_in_the_file_and_changes_with_it() -> None:
    for part, expected in zip(PARTS, EDITIONS, strict=True):
        assert pl.read_parquet_metadata(part.file)["version"] == str(part.version)
        digest = hashlib.sha256(part.file.read_bytes()).hexdigest()
        assert f"{part.version} {digest[:16]}" == expected, "other questions: raise the part's version"
        assert {edition(step) for step in part.steps} == {expected}


# Digests of what the first version drew before there was a second: an exam that was paid for is not asked anew.
DRAWN = {
    ("en", 42): "0607e20969b86d82",
    ("en", 7): "caf1292817198d99",
    ("ru", 42): "a867ce4b6ce33bb6",
    ("ru", 7): "804d27b978c2db66",
    ("zh", 42): "2ffc93d05d2cb830",
    ("zh", 7): "85755156cd3a3d1c",
}


@pytest.mark.parametrize(("language", "seed"), DRAWN)
def test_a_new_part_of_the_exam_changes_no_question_of_the_others(language: str, seed: int) -> None:
    items = exam_items(language, 20, seed=seed, steps=[*PARTS[0].steps])
    drawn = [(item.item_id, item.level, item.index, item.facts["twice"]) for item in items]
    assert hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:16] == DRAWN[language, seed]


def test_no_word_of_the_expected_answer_tells_useful_contexts_from_others_by_accident(rows: pl.DataFrame) -> None:
    """A context that is not useful holds no number, and no bare value, of the expected answer."""
    for row in rows.filter(step="useful", truth="no").iter_rows(named=True):
        reference = row["reference"].replace(row["subject"], "")
        context = row["context"].replace(row["subject"], "")
        assert not {*re.findall(r"\d+", reference)} & {*re.findall(r"\d+", context)}, row
        is_bare = row["subject"] not in row["reference"]
        assert not is_bare or not re.search(rf"\b{re.escape(reference)}\b", context), row


def truths_of(item: Item) -> list[str]:
    truth = item.facts["truth"]
    return [*truth.values()] if isinstance(truth, dict) else [truth] if isinstance(truth, str) else ["alone"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_exam_has_n_of_each_truth_over_its_levels(language: str) -> None:
    items = exam_items(language, 8)
    counts = Counter((item.facts["exam"], label) for item in items for label in truths_of(item))
    assert len(counts) == 26
    assert {*counts.values()} == {8}
    assert Counter(item.level for item in items if item.facts["exam"] == "rubric") == {
        "easy": 15, "medium": 15, "hard": 10,
    }  # fmt: skip
    assert {item.language for item in items} == {language}
    assert (
        len({item.item_id for item in items})
        == len({identify_question(item).question_id for item in items})
        == len(items)
    )


def test_the_seed_draws_and_a_larger_exam_begins_with_the_same_questions() -> None:
    small, large = ({item.item_id for item in exam_items("en", n)} for n in (6, 9))
    assert small < large
    other = {item.item_id for item in exam_items("en", 6, seed=43)}
    assert 0 < len(small & other) < len(small) / 2


def test_half_of_the_questions_are_asked_twice_unless_said() -> None:
    items = exam_items("en", 6, levels=["easy"])
    assert sum(bool(item.facts["twice"]) for item in items) == len(items) / 2
    once = exam_items("en", 6, levels=["easy"], twice=False)
    assert not any(item.facts["twice"] for item in once)
    assert [item.item_id for item in once] == [item.item_id for item in items]


def test_more_than_there_are_is_refused() -> None:
    options = {**exam_questions.options().model_dump(), "n_items": 41, "levels": ("easy",)}  # pyrefly: ignore[not-callable]
    ((path, reason),) = check(options)
    assert path == ("n_items",)
    assert reason.startswith("found 41, expected at most 40: the exam has 40 questions of each truth at each level")


def test_a_splits_facts_are_told_by_their_values() -> None:
    facts = [["1925"], ["9 March", "March 9"], ["Hartley"]]
    claims = ["It was founded in 1925.", "It is in hartley, and its holiday is March 9.", "It is old.", "19251"]
    assert mark_split(facts, claims) == {
        "facts": 3, "alone": 1, "joined": 2, "missing": 0, "extra": 2, "claims": 4,
    }  # fmt: skip
    assert mark_split(facts, [])["missing"] == 3


def test_every_text_of_a_split_holds_its_facts(rows: pl.DataFrame) -> None:
    for row in rows.filter(step="split").iter_rows(named=True):
        marks = mark_split(row["facts"], [row["text"]])
        assert (marks["joined"], marks["missing"]) == (len(row["facts"]), 0)
