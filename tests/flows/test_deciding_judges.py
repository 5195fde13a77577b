"""Runs whose judges decide: what is asked, kept and shown, and what is refused before anything is asked."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from basic_control.data.exam import STEPS
from tests.conftest import Run
from tests.helpers.deciding import N, configure
from tests.helpers.runs import latest
from tests.helpers.scored import scores_of
from tests.servers.deciding import DecidingServer
from tests.servers.running import serve

EVERY_STEP = ("--set", f"judges_exam.items.steps=[{', '.join(STEPS)}]")


def lean(state: str, instructions: str, labels: list[str]) -> Mapping[str, float] | None:
    """Prefer a label by the hash of the question; decline about the reply that says so."""
    if "Decline" in state:
        return None
    digest = hashlib.sha256(f"{state} {instructions}".encode()).digest()
    best = digest[0] % len(labels)
    rest = 0.3 / (len(labels) - 1)
    return {label: 0.7 if n == best else rest for n, label in enumerate(labels)}


@pytest.mark.parametrize("api", ["decisions", "systemone"])
def test_a_deciding_judge_measures_a_suite_and_is_asked_each_question_once(
    run: Run, tmp_path: Path, api: str
) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, api)
        plan = run("--dry-run", str(file))
        assert "Traceback" not in plan.stderr
        assert not server.bodies
        done = run(str(file))
        assert "Traceback" not in done.stderr
        assert server.questions == 3 * N
        assert len(server.bodies) == 2 * N, "both criteria of a reply in one request, groundedness in another"
        again = run(str(file))
        assert server.questions == 3 * N, "remembered, each by its own text"
        changed = configure(
            tmp_path, url, api, metrics={"rubric": {"criteria": {"polite": "It is polite.", "kind": "It is kind."}}}
        )
        run(str(changed))
        assert server.questions == 4 * N, "only the criterion that is new"
    assert done.returncode == again.returncode, done.stdout + done.stderr


def test_the_probabilities_stand_beside_the_verdicts_and_a_refusal_is_a_failed_judge(
    run: Run, tmp_path: Path
) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        run(str(configure(tmp_path, url, "decisions")))
    scores = scores_of(tmp_path)
    assert scores["Question 0?", "rubric"]["status"] == "judge_failed"
    row = scores["Question 1?", "response_groundedness"]
    judged = json.loads(row["details"])["judges"]["small"]
    shares = judged["probabilities"]["rate"]["rating"]
    assert max(shares, key=shares.__getitem__) == str(int(row["value"] * 2))
    assert shares[str(int(row["value"] * 2))] == pytest.approx(0.7)
    (path,) = latest(tmp_path).rglob("probabilities.parquet")
    table = pl.read_parquet(path)
    own = table.filter(pl.col("item_id") == row["item_id"], pl.col("metric") == "response_groundedness")
    assert [own[f"probability.{label}"].item() for label in ("0", "1", "2")] == [*shares.values()]
    assert own["expected"].item() == pytest.approx(shares["1"] + 2 * shares["2"])
    assert table.height == 3 * (N - 1), "three answers a reply, and none where it declined"
    assert path.with_suffix(".csv").is_file()


def test_a_metric_that_splits_texts_refuses_a_deciding_judge_before_anything_is_asked(
    run: Run, tmp_path: Path
) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, "decisions", metrics={"factual_correctness": {}})
        rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        text = "".join(json.dumps({**row, "reference": "A text."}) + "\n" for row in rows)
        (tmp_path / "rows.jsonl").write_text(text)
        done = run(str(file))
    assert done.returncode == 2
    assert "factual_correctness needs judges that write (for its step split), and small only decides" in done.stderr
    assert "metrics: {factual_correctness: {claims: sentences}}" in done.stderr
    assert not server.bodies


def test_a_deciding_judge_is_asked_about_sentences_where_they_are_the_claims(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, "decisions", metrics={"faithfulness": {"claims": "sentences"}})
        done = run(str(file))
    assert "Traceback" not in done.stderr
    assert server.questions == N, "one sentence of each reply, which nobody splits"
    assert "needs judges that write" not in done.stderr


def test_a_deciding_judge_takes_the_exam_of_the_steps_that_it_answers(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, "decisions")
        done = run(str(file), "--judge", "small", "--n", "2", *EVERY_STEP, command="exam")
    assert "Traceback" not in done.stderr
    assert "entails" in done.stdout
    assert "split" not in done.stdout


def test_its_passport_says_how_far_its_probabilities_can_be_believed(run: Run, tmp_path: Path) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, "decisions")
        exam = run(str(file), "--judge", "small", "--n", "4", *EVERY_STEP, command="exam")
        done = run(str(file))
    assert "Brier score" in exam.stdout
    assert "Traceback" not in done.stderr
    (passports,) = {path.parent for path in (tmp_path / "store/passports").glob("*.json")}
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in passports.glob("*.json")]
    assert {document["exam"] for document in documents} >= {
        "entails",
        "support",
        "groundedness",
        "rubric",
        "preference",
        "answers_question",
        "useful",
    }
    for document in documents:
        # Confidence is 0.7 throughout, but of two orders averaged; bins are never nearer than all.
        if document["exam"] != "preference":
            assert document["reliability"]["error"] >= abs(0.7 - document["right"]["share"]) - 1e-9
        assert set(document["probabilities"]) == set(document["answers"])
    (page,) = (latest(tmp_path) / "reports").glob("*.html")
    text = page.read_text(encoding="utf-8")
    assert 'class="chart small"' in text
    assert "small: groundedness (en)" in text
