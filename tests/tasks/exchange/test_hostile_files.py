"""Files from anywhere: bounded in size, depth and memory; nothing in them acts on a terminal or a page."""

import gzip
import json
import sys
import zipfile
from pathlib import Path

import pytest

from basic_control.data.errors import InputError
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange import source
from basic_control.tasks.exchange.log_files import read
from tests.tasks.exchange.forms import FORMS, Line

EVIL = "\x1b[2J\x07<script>alert(1)</script> [x](http://evil) \u202e {{ 7 * 7 }} __import__('os')"


@pytest.mark.parametrize("form", FORMS)
def test_texts_stay_texts(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a question nor a reply, an id or a model's name acts on who reads it."""

    class Evil(Line):
        @property
        def reply(self) -> str:
            return EVIL if self.right else f"no {EVIL}"

    plain = EVIL.replace("\x1b", "").replace("\x07", "") if form == "promptfoo_csv" else EVIL
    old = [Evil(f"{k}{plain}", f"{k} {plain}?", right=True) for k in range(12)]
    new = [Evil(f"{k}{plain}", f"{k} {plain}?", right=k > 5) for k in range(12)]
    files = [str(FORMS[form](tmp_path, name, lines)) for name, lines in (("old", old), ("new", new))]
    page, told = tmp_path / "page.html", tmp_path / "told.md"
    assert (
        main(["compare", *files, "--html", str(page), "--markdown", str(told), "--junit", str(tmp_path / "j")]) == 0
    )
    assert "\x1b" not in capsys.readouterr().out
    assert "<script>" not in page.read_text(encoding="utf-8")
    outside = told.read_text(encoding="utf-8")
    assert "\x1b" not in outside


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_what_is_nested_too_deeply_is_one_message(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"deep.{ending}"
    path.write_text('{"a":' * 200_000 + "1" + "}" * 200_000, encoding="utf-8")
    with pytest.raises(InputError, match=r"nested too deeply|not JSON"):
        read(path)


def test_a_reply_nested_in_a_reply_is_a_text(tmp_path: Path) -> None:
    """A sample of ragas whose question claims to be Python: it is parsed as data, or stays a text."""
    row = {"user_input": "[{" + "[" * 5000, "response": "x", "reference": "y", "exact_match": 1}
    (tmp_path / "r.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert read(tmp_path / "r.jsonl").rows[0].question.startswith("[{[[")


def test_a_member_that_says_less_than_it_holds_is_refused(tmp_path: Path) -> None:
    """The sizes that a zip states are what is read at most."""
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", b"[" + b" " * 5_000_000 + b"]")
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (10).to_bytes(4, "little")  # its uncompressed size
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="cannot be read as a log of Inspect"):
        read(path)


def test_a_packed_table_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "LARGEST", 1 << 20)
    with gzip.open(tmp_path / "x.jsonl.gz", "wb") as packed:
        packed.write(b'{"question": "' + b"x" * (2 << 20) + b'", "score": 1}\n')
    with pytest.raises(InputError, match="expected at most 1 MB"):
        read(tmp_path / "x.jsonl.gz")


def test_a_gigantic_cell_is_shown_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": k, "question": f"{k}?", "response": "long " * 400_000, "score": 1} for k in range(6)]
    for name, right in (("a", 1), ("b", 0)):
        text = "".join(json.dumps({**row, "score": right}) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    assert main(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 0
    assert len(capsys.readouterr().out) < 50_000


def test_a_number_of_many_digits_and_no_number_are_no_scores(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(
        '{"id": 1, "score": NaN}\n{"id": 2, "score": Infinity}\n{"id": 3, "score": 1}\n', encoding="utf-8"
    )
    assert [row.scores["score"].value for row in read(path).rows] == [None, None, 1.0]
    path.write_text('{"id": 1, "score": ' + "9" * 10_000 + "}\n", encoding="utf-8")
    with pytest.raises(InputError):
        read(path)


def test_nothing_of_prefect_or_a_client_is_imported(tmp_path: Path) -> None:
    import subprocess

    files = [str(FORMS["promptfoo"](tmp_path, name, [Line(f"q{k}", f"{k}?", right=k % 2 == 0) for k in range(9)]))
             for name in ("a", "b")]  # fmt: skip
    code = (
        "import sys; from basic_control.flows.cli.application import main; "
        f"assert main(['compare', {files[0]!r}, {files[1]!r}]) == 0; "
        "print(sorted({'prefect', 'openai', 'ollama', 'inspect_ai'} & {*sys.modules}), file=sys.stderr)"
    )
    top = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=top, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


ODD = {
    "promptfoo": {
        "results": {"results": [{"vars": [1], "provider": 5, "testCase": [], "response": []}], "prompts": 5}
    },
    "DeepEval": {"testCases": [{"input": 1, "actualOutput": [], "metricsData": 5, "context": 5}], "prompts": 4},
    "OpenAI Evals": {"object": "list", "data": [{"object": "eval.run.output_item", "results": 5, "sample": 5}]},
    "Inspect": {"eval": 5, "status": 5, "version": 5, "samples": [{"scores": {"a": 5}, "choices": 5}]},
}


@pytest.mark.parametrize("tool", ODD)
def test_a_form_whose_parts_are_of_another_kind_is_one_message(
    tool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_text(json.dumps(ODD[tool]), encoding="utf-8")
    assert main(["gate", str(tmp_path / "odd.json"), "--threshold", "0.5"]) == 2
    said = capsys.readouterr().err
    assert "odd.json: it looks like a file of " + tool in said
    assert "defect" not in said


BAD = {
    "twice.csv": (b"id,question,score,score\nq1,1?,1,0\n", "the column 'score' is there twice"),
    "ragas.csv": (
        b"user_input,response,exact_match,exact_match\n1?,1,1,0\n",
        "the column 'exact_match' is there twice",
    ),
    "words.csv": (b"id,question,score\nq1,1?,good\nq2,2?,bad\n", "found no score: 'good'; expected 0 to 1"),
    "digits.jsonl": (b'{"id":"q","score":1' + b"0" * 400 + b"}\n", "found no score: 10000"),
    "wide.csv": ("id,question,score\nq1,1?,1\n".encode("utf-16"), "not UTF-8"),
    "empty.csv": (b"id,question,score\n", "the file is empty"),
    "blank.jsonl": (
        b'{"id": "", "question": " ", "score": 1}\n',
        "blank.jsonl, row 1: found neither a question nor an id",
    ),
    "short.parquet": (b"PAR1xxxxPAR1", "cannot be read as Parquet"),
    "none.json": (b'{"testCases": [], "metricsScores": []}', "aggregates alone"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_told_with_its_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(BAD[name][0])
    assert main(["gate", str(tmp_path / name), "--threshold", "0.5"]) == 2
    said = capsys.readouterr().err
    assert BAD[name][1] in said
    assert name in said


def test_more_models_than_can_be_compared_are_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for n in range(60):
        (tmp_path / f"f{n}.jsonl").write_text('{"id": "q", "question": "?", "score": 1}\n', encoding="utf-8")
    assert main(["compare", str(tmp_path)]) == 2
    assert "found 60 models in the files, expected at most 50" in capsys.readouterr().err


def test_half_a_surrogate_pair_in_a_metrics_name_is_read(tmp_path: Path) -> None:
    for name, score in (("a", 1), ("b", 0)):
        row = {"user_input": "1?", "response": "a", "\ud800m": score}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert main(["compare", str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]) == 0
