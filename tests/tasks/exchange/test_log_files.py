"""Logs of other tools are read as they are, and what cannot be carried over is said."""

import json
import zipfile
from pathlib import Path

import pytest
import yaml

from basic_control.config.reading import read as read_configuration
from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.log_suites import Replay, choose_own_metric, read, write
from tests.tasks.exchange.logs import LINES, instances, lines, lm_eval

SHARED = Path(__file__).parents[4] / "shared" / "data" / "exchange"
real = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared logs are not beside this checkout")


def told(log: Replay) -> list[tuple[str, object, str | None, float | None]]:
    return [(row.question, row.answer, row.response, log.get_stated(row)) for row in log.rows]


def test_a_sample_log_of_lm_evaluation_harness(tmp_path: Path) -> None:
    log = read(lm_eval(tmp_path))
    assert told(log) == list(LINES)
    assert (log.task, log.model, log.metric, log.accuracy) == ("sums", "acme/tiny", "exact_match,strict", 0.5)
    assert any("why replies ended" in remark for remark in log.remarks)


def test_of_several_filters_each_is_a_score_of_the_same_reply(tmp_path: Path) -> None:
    path = lm_eval(tmp_path, filters=("strict", "flexible"))
    assert len(read(path).rows) == 2
    assert read(path, metric="exact_match,flexible").metric == "exact_match,flexible"
    assert any("--stated" in remark for remark in read(path).remarks)
    with pytest.raises(
        InputError, match="no score 'loose' between 0 and 1; expected one of exact_match,strict, exact_"
    ):
        read(path, metric="loose")


def test_replies_that_were_never_written_cannot_be_verified(tmp_path: Path) -> None:
    """Options compared by likelihood: pairs of a number and a flag."""
    with pytest.raises(InputError, match="none of its 2 samples has a generated reply"):
        read(lm_eval(tmp_path, resps=[[[-1.5, False]], [[-0.5, True]]]))


def test_several_replies_to_a_question_are_told(tmp_path: Path) -> None:
    log = read(lm_eval(tmp_path, resps=[["one", "two"]]))
    assert [row.response for row in log.rows] == ["one", "one"]
    assert any("several replies" in remark for remark in log.remarks)


def test_a_failed_row_without_a_question_is_left_out_and_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("question,answer,response,score,error\nQ1?,2,2,1,\n,,,,timeout\nQ2?,3,4,0,\n", encoding="utf-8")
    assert [row.question for row in read(path).rows] == ["Q1?", "Q2?"]


def test_a_score_out_of_range_is_none_and_another_may_be_named(tmp_path: Path) -> None:
    path = lm_eval(tmp_path, metrics=["bleu", "exact_match"], bleu=31.4)
    assert read(path).metric == "exact_match,strict"
    with pytest.raises(InputError, match="no score 'bleu' between 0 and 1"):
        read(path, metric="bleu")


def test_a_record_of_every_eval_ever_and_its_instances(tmp_path: Path) -> None:
    record = instances(tmp_path)
    by_record, by_instances = read(record), read(tmp_path / "1_samples.jsonl")
    assert told(by_record) == [(question, [answer], reply, score) for question, answer, reply, score in LINES]
    assert told(by_instances) == told(by_record)
    assert [row.usage for row in by_record.rows] == [(9, 4), (9, 4)]
    assert any("reasoning traces of 2" in remark for remark in by_record.remarks)


def test_conversations_are_left_out_and_told(tmp_path: Path) -> None:
    row = json.loads((instances(tmp_path).parent / "1_samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    turns = {**row, "interaction_type": "multi_turn", "output": None}
    log = read(instances(tmp_path, more=[turns, {**row, "error": "timeout"}]))
    assert len(log.rows) == 2
    assert any(remark.startswith("1 instance left out: multi-turn conversations") for remark in log.remarks)
    assert any(remark.startswith("1 reply failed with an error") for remark in log.remarks)


def test_instances_elsewhere_are_never_followed(tmp_path: Path) -> None:
    record = tmp_path / "r.json"
    record.write_text(
        json.dumps({"detailed_evaluation_results": {"file_path": "../../etc/passwd"}}), encoding="utf-8"
    )
    with pytest.raises(InputError, match="its instances file passwd is not in the same folder"):
        read(record)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "a.jsonl",
            '{"what": "?"}\n',
            "not a file of DeepEval, Every Eval Ever, Inspect, lm-evaluation-harness, OpenAI Evals",
        ),
        ("a.jsonl", "", "the file is empty"),
        ("a.jsonl", "[1]\n", "expected a JSON object"),
        ("a.json", "{", "cannot be read as JSON"),
        ("a.json", "{}", "the file is empty"),
        ("a.json", '{"schema_version": "0.3.0"}', "no detailed_evaluation_results"),
        ("a.eval", "no zip", "cannot be read as a log of Inspect"),
        ("none.jsonl", None, "no such file"),
    ],
)
def test_what_is_no_log_is_one_message(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read(tmp_path / name)


def test_a_log_becomes_rows_and_a_configuration_that_is_valid(tmp_path: Path) -> None:
    assert write(read(lm_eval(tmp_path)), tmp_path / "out") == "number"
    settings = read_configuration(str(tmp_path / "out" / "run.yaml"), [])
    (suite,) = settings.suites
    assert (suite.name, suite.metric_names, suite.score_metrics, suite.responses_of) == (
        "sums", ("number", "stated"), ("number",), "acme/tiny",
    )  # fmt: skip
    rows = [json.loads(line) for line in (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["response"], row["stated"]) for row in rows] == [("It is 5.", 1.0), ("It is 9.", 0.0)]
    with pytest.raises(InputError, match="already exists"):
        write(read(lm_eval(tmp_path)), tmp_path / "out")


def test_half_a_surrogate_pair_is_told_row_by_row_and_the_rest_is_read(tmp_path: Path) -> None:
    path = lm_eval(tmp_path)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows[1]["resps"] = [["a \ud83d b"]]
    rows[1]["doc"]["question"] = "\udc00?"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    log = read(path)
    assert log.rows[1].response == "a \ufffd b"
    assert "Half of a surrogate pair is read as U+FFFD in 1 row: 2." in log.remarks
    write(log, tmp_path / "out")
    assert (tmp_path / "out" / "rows.jsonl").read_text(encoding="utf-8").count("\n") == len(rows)


def test_a_log_that_is_too_large_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """Zeros pack well: 640 MB of them are a file of 640 KB."""
    path = tmp_path / "huge.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed, packed.open("samples/1.json", "w") as member:
        for _ in range(640):
            member.write(bytes(1_000_000))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match=r"found 640 MB unpacked, expected at most 537 MB"):
        read(path)


def test_hostile_names_and_texts_stay_data(tmp_path: Path) -> None:
    """A task's name is no path, a reply no YAML, a question no template."""
    path = lm_eval(tmp_path, doc={"question": "{{ 7 * 7 }}"}, resps=[["!!python/object:os.system"]])
    hostile = path.rename(tmp_path / "samples_..{{evil}}: [x].jsonl")
    write(read(hostile), tmp_path / "out")
    (suite,) = yaml.safe_load((tmp_path / "out" / "run.yaml").read_text(encoding="utf-8"))["suites"]
    assert suite["name"] == "evil_____x_"
    assert suite["prompt"] == "{{ question }}"


def test_the_metric_fits_the_expected_answers(tmp_path: Path) -> None:
    assert choose_own_metric(read(lm_eval(tmp_path))) == "number"
    assert choose_own_metric(read(lm_eval(tmp_path, target="$1,250.50"))) == "number"
    assert choose_own_metric(read(lm_eval(tmp_path, target="in 1912"))) == "exact_match"


SOLVED = ["11 + 38 = 49\n#### 49", "63 - 6 = 57\n#### 57", "1 + 1 = 2\n#### 2"]


@pytest.mark.parametrize(
    ("replies", "scores", "metric"),
    [
        (["So #### 49", "It is 57.", "#### 3"], [1, 1, 0], "number"),
        (SOLVED, [1, 1, 1], "exact_match"),
        # The filter wants "####", which no metric without a pattern does.
        (["So #### 49", "It is 57.", "#### 2"], [1, 0, 1], "number"),
    ],
)
def test_the_metric_is_one_under_which_the_stated_scores_hold(
    replies: list[str], scores: list[int], metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for number, (target, reply, score) in enumerate(zip(SOLVED, replies, scores, strict=True)):
        sample = {"doc_id": number, "doc": {"question": f"How many, {number}?"}, "target": target, "arguments": []}
        scored = {"resps": [[reply]], "filter": "strict", "metrics": ["exact_match"], "exact_match": score}
        lines.append(json.dumps({**sample, **scored}) + "\n")
    path = tmp_path / "samples_sums.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    assert main(["exchange", "read", str(path), "--to", str(tmp_path / "out")]) == 0
    text = capsys.readouterr().out
    assert f"It will be scored by {metric}." in text
    assert ("gives 100%, and differs from the stated score on 1 of 3 replies" in text) == (scores == [1, 0, 1])


@real
def test_a_real_log_of_lm_evaluation_harness() -> None:
    log = read(SHARED / "lm_eval_samples_gsm8k_100.jsonl")
    assert (log.task, log.model, len(log.rows), log.accuracy) == ("gsm8k_100", "m", 100, 0.58)
    assert choose_own_metric(log) == "number"


@real
def test_a_real_log_of_inspect() -> None:
    log = read(SHARED / "inspect_gsm8k_100.eval")
    assert (log.task, log.model, log.metric, len(log.rows), log.accuracy) == (
        "gsm8k_100",
        "openai/m",
        "match",
        100,
        0.58,
    )
    assert {row.finish_reason for row in log.rows} == {"stop"}
    assert log.rows[0].usage.tokens_out == 9


def test_lines_of_two_models_are_not_mixed(tmp_path: Path) -> None:
    record = instances(tmp_path)
    first = json.loads((tmp_path / "1_samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    lines(tmp_path / "1_samples.jsonl", [first, {**first, "model_id": "acme/other"}])
    with pytest.raises(InputError, match=r"found 2 models \(acme/tiny, acme/other\), expected one"):
        read(record)
