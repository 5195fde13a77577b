"""Judges over real HTTP: each of their replies ends in its stated status, and no more is asked than needed."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Run
from tests.helpers.judges import CLAIMS, judged_by, kind
from tests.helpers.runs import latest
from tests.servers.running import serve_openai
from tests.servers.script import Fault, Spoken


def verdicts(*given: tuple[str, str]) -> str:
    return json.dumps({"verdicts": [{"id": i, "reason": "as it stands", "verdict": v} for i, v in given]})


BOTH = verdicts(("1", "SUPPORTED"), ("2", "CONTRADICTED"))

# What the judge answers to the question about a response's claims, by the word in the response.
REPLIES: Mapping[str, tuple[Spoken, str, float | None]] = {
    "sound": (BOTH, "scored", 0.5),
    "three": (verdicts(("1", "SUPPORTED"), ("2", "NEUTRAL"), ("3", "SUPPORTED")), "judge_failed", None),
    "missing": (verdicts(("1", "SUPPORTED")), "judge_failed", None),
    "extra": (verdicts(("1", "SUPPORTED"), ("2", "SUPPORTED"), ("9", "SUPPORTED")), "judge_failed", None),
    "prose": ("I believe that both claims are well supported.", "judge_failed", None),
    "cut": (BOTH[:-20], "judge_failed", None),
    "empty": ("", "judge_failed", None),
    "refusal": ("I'm sorry, but I can't help with that.", "judge_failed", None),
    "nan": ('{"verdicts": NaN}', "judge_failed", None),
    "fenced": (f"Here you are:\n```json\n{BOTH}\n```\nHope it helps!", "scored", 0.5),
    "down": (Fault("status", status=400, message="no"), "judge_failed", None),
}  # fmt: skip

# What it answers when asked how far a response is grounded.
RATINGS: Mapping[str, tuple[str, str, float | None]] = {
    "sound": ('{"reason": "partly", "rating": 1}', "scored", 0.5),
    "three": ('{"reason": "fully", "rating": 2}', "scored", 1.0),
    "missing": ('{"reason": "well"}', "judge_failed", None),
    "extra": ('{"reason": "well", "rating": [[90]]}', "judge_failed", None),
    "prose": ("1 (out of 2)", "judge_failed", None),
    "cut": ('{"reason": "part', "judge_failed", None),
    "empty": ("", "judge_failed", None),
    "refusal": ('{"reason": "x", "rating": "1 (out of 2)"}', "judge_failed", None),
    "nan": ('{"reason": "x", "rating": NaN}', "judge_failed", None),
    "fenced": ('```\n{"reason": "none", "rating": 0}\n```', "scored", 0.0),
    "down": ('{"reason": "x", "rating": 3}', "judge_failed", None),
}


def reply(body: dict[str, Any]) -> Spoken:
    text = body["messages"][1]["content"]
    case = next(name for name in REPLIES if f"case {name}." in text)
    asked = kind(body)
    if asked == "claims":
        return CLAIMS
    return RATINGS[case][0] if asked == "rating" else REPLIES[case][0]


def write(folder: Path, cases: list[str]) -> Path:
    path = folder / "answers.jsonl"
    rows = [
        {
            "question": f"Who wrote the book ({case})?",
            "response": f"Anna wrote it, as in case {case}. It has ten chapters.",
            "reference": f"Anna wrote the book (case {case}.) in nine chapters.",
            "retrieved_contexts": [f"The book of case {case}. was written by Anna."],
        }
        for case in cases
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def scores(tmp_path: Path) -> pl.DataFrame:
    """Return the latest run's scores with the case that each is of."""
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))

    def tables(name: str) -> pl.DataFrame:
        listed = [ref["digest"] for ref in manifest["tables"][name]]
        return pl.concat(pl.read_parquet(tmp_path / "store" / "tables" / d[:2] / f"{d}.parquet") for d in listed)

    case = pl.col("facts").str.extract(r"case (\w+)\.").alias("case")
    return tables("scores").join(tables("items").select("item_id", case), on="item_id")


@pytest.fixture
def asked() -> Counter[str]:
    return Counter()


def test_every_reply_of_a_judge_ends_in_its_stated_status(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path, list(REPLIES))
    with serve_openai(reply) as server:
        done = run("--data", str(data), "--set", judged_by(server), "--set", "gate=point", flow="rag")
        calls = Counter(kind(r.body) for r in server.requests)
        again = run("--data", str(data), "--set", judged_by(server), "--set", "gate=point", flow="rag")
        after = Counter(kind(r.body) for r in server.requests)
    assert done.returncode == 2, "less than 90 % could be scored"
    found = {
        (row["case"], row["metric"]): (row["status"], row["value"])
        for row in scores(tmp_path).iter_rows(named=True)
    }
    for case, (_, status, value) in REPLIES.items():
        assert found[case, "factual_correctness"] == (status, value), case
    for case, (_, status, value) in RATINGS.items():
        assert found[case, "response_groundedness"] == (status, value), case
    assert not scores(tmp_path)["value"].is_nan().any()
    n = len(REPLIES)
    assert calls["claims"] == 2 * n, "each side is split once"
    unread = sum(status == "judge_failed" for _, status, _ in RATINGS.values())
    assert calls["rating"] == n + unread, "one question each, and one repair where it could not be read"
    assert "Traceback" not in done.stderr
    assert after["rating"] == calls["rating"], "a reply that could not be read is remembered as well"
    assert again.returncode == 2


@pytest.mark.parametrize(("mode", "splits", "checks"), [("precision", 1, 1), ("recall", 1, 1), ("f1", 2, 2)])
def test_a_mode_makes_only_the_calls_that_it_needs(
    run: Run, tmp_path: Path, mode: str, splits: int, checks: int
) -> None:
    data = write(tmp_path, ["sound"])
    with serve_openai(reply) as server:
        done = run(
            "--data",
            str(data),
            "--set",
            judged_by(server),
            "--set",
            f"rag.factual_correctness.mode={mode}",
            "--set",
            "rag.response_groundedness.enabled=false",
            flow="rag",
        )
        calls = Counter(kind(r.body) for r in server.requests)
        texts = [r.body["messages"][1]["content"] for r in server.requests if kind(r.body) == "claims"]
    assert calls == Counter({"claims": splits, "verdicts": checks}), done.stderr
    if mode == "precision":
        assert "nine chapters" not in texts[0], "the reference's claims are not asked about"
    assert scores(tmp_path).filter(metric="factual_correctness")["value"].to_list() == [0.5]


def test_shortcuts_make_no_call_and_no_and_white_space_are_not_grounded(run: Run, tmp_path: Path) -> None:
    rows = [
        ("The tower is 90 metres high.", 1.0, 0),
        ("  the TOWER is 90   metres high. ", 1.0, 0),
        ("no", 0.0, 1),
        ("   ", 0.0, 0),
        ("the tower stands in the north", 0.0, 1),
    ]
    context = "The tower is 90 metres high. It is not true that the tower stands in the north."
    path = tmp_path / "answers.jsonl"
    listed = [
        {"question": "How high?", "response": r, "reference": "90 m", "retrieved_contexts": [context]}
        for r, _, _ in rows
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
    with serve_openai('{"reason": "not there", "rating": 0}') as server:
        run(
            "--data",
            str(path),
            "--set",
            judged_by(server),
            "--set",
            "rag.factual_correctness.enabled=false",
            flow="rag",
        )
        assert len(server.requests) == sum(calls for _, _, calls in rows)
    manifest = json.loads((latest(tmp_path) / "manifest.json").read_text(encoding="utf-8"))
    digest = manifest["tables"]["scores"][0]["digest"]
    found = pl.read_parquet(tmp_path / "store" / "tables" / digest[:2] / f"{digest}.parquet")
    assert found.filter(metric="response_groundedness")["value"].to_list() == [value for _, value, _ in rows]


def test_several_judges_are_averaged_and_a_failed_one_is_left_out(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path, ["sound", "three"])
    with (
        serve_openai(reply) as good,
        serve_openai("never JSON") as bad,
        serve_openai('{"reason": "none", "rating": 0}') as strict,
    ):
        judges = [
            {"name": name, "provider": "openai", "base_url": server.base_url}
            for name, server in (("good", good), ("bad", bad), ("strict", strict))
        ]
        run(
            "--data",
            str(data),
            "--set",
            f"judges={json.dumps(judges)}",
            "--set",
            "rag.factual_correctness.enabled=false",
            flow="rag",
        )
    rows = {
        row["case"]: row for row in scores(tmp_path).filter(metric="response_groundedness").iter_rows(named=True)
    }
    assert rows["sound"]["value"] == pytest.approx((0.5 + 0.0) / 2)
    assert rows["three"]["value"] == pytest.approx((1.0 + 0.0) / 2)
    details = json.loads(rows["sound"]["details"])
    assert (details["n_judges"], details["n_failed"]) == (3, 1)
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    agreement = document["judges"]["response_groundedness"]
    assert {j["judge"]: j["rate"] for j in agreement["judges"]}["bad"] == 1.0


def test_a_suite_without_judges_says_so(run: Run) -> None:
    with serve_openai("x") as server:
        model = {"name": "m", "provider": "openai", "base_url": server.base_url}
        done = run("--set", f"models=[{json.dumps(model)}]", "--set", "judges=[]", flow="citation")
    assert done.returncode == 2
    assert "found no judge" in done.stderr
    assert "Traceback" not in done.stderr


def test_cited_answers_are_scored_and_explained(run: Run, tmp_path: Path) -> None:
    """The Titanic golden of SPEC 4, through the whole street."""
    passages = [
        {"title": "RMS Titanic", "text": "The RMS Titanic sank on April 15, 1912."},
        {"title": "Losses", "text": "It is estimated that more than 1,500 people died."},
        {"title": "Toll", "text": "The death toll has been put at between 1,490 and 1,635 people."},
    ]
    row = {
        "id": "titanic",
        "language": "en",
        "question": "When did the Titanic sink and how many died?",
        "short_answers": ["April 15, 1912", "more than 1,500"],
        "long_answer": "The death toll has been put at between 1,490 and 1,635 people.",
        "title": "Titanic",
        "url": "",
        "passages": passages,
        "gold_number": 3,
    }
    path = tmp_path / "nq.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    answer = (
        "The RMS Titanic sank on April 15, 1912 [1]. It is estimated that more than 1,500 people lost their lives "
        "in the disaster [2], although some sources put the death toll as high as 1,635 [3]."
    )

    def speak(body: dict[str, Any]) -> str:
        schema = json.dumps(body.get("response_format", {}))
        if "ENTAILMENT" in schema:
            return '{"reason": "stated", "verdict": "ENTAILMENT"}'
        return '{"reason": "same", "verdict": "CORRECT"}' if "CORRECT" in schema else answer

    with serve_openai(speak) as server:
        model = {"name": "m", "provider": "openai", "base_url": server.base_url}
        done = run(
            "--data", str(path), "--set", f"models=[{json.dumps(model)}]", "--set", judged_by(server),
            "--set", "gate=point", flow="citation",
        )  # fmt: skip
        calls = Counter("verdict" in json.dumps(r.body.get("response_format", {})) for r in server.requests)
    assert done.returncode == 0, done.stderr
    assert calls == Counter({True: 4, False: 1})
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    suite = document["final"]["models"][0]["suites"][0]
    assert (suite["suite"], suite["score"], suite["outcome"]) == ("citation", 1.0, "pass")
