"""What decides a score in a task of lm-evaluation-harness is carried or left out aloud; verdicts are the same."""

import itertools
import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from basic_control.data.errors import InputError
from basic_control.data.options import options_of
from basic_control.data.plugins import metric
from basic_control.flows.cli.application import main
from basic_control.tasks.exchange.moving.conversions import Conversion
from basic_control.tasks.exchange.moving.output import convert_file
from tests.conftest import Run
from tests.servers.running import serve_openai

TASK: dict[str, Any] = {
    "task": "caps",
    "dataset_path": "json",
    "dataset_kwargs": {"data_files": {"test": "rows.jsonl", "train": "train.jsonl"}},
    "test_split": "test",
    "training_split": "train",
    "output_type": "generate_until",
    "doc_to_text": "{{q}}",
    "doc_to_target": "a",
}
REPLIES = (
    ("The answer is Paris.", "Paris"),
    ("The answer is Washington DC.", "Washington, D.C."),
    ("The answer is paris", "Paris"),
    ("Rome. The answer is 1,234.", "1234"),
    ("The answer is Room 7", "Room"),
    ("Paris", "Paris"),
    ("paris.", "Paris"),
    ("3.5", "35"),
    ("The answer is Bonn. The answer is Paris.", "Paris"),
    ("18 of 20 is $1,800.", "1,800"),
    ("none", "[invalid]"),
)
ANSWER_IS = r"The answer is (.*)"
FLEXIBLE = r"(-?[$0-9.,]{2,})|(-?[0-9]+)"
COUNTRIES = ("Italy", "Lazio")
FOLDS = ("ignore_case", "ignore_punctuation", "ignore_numbers")


def convert(folder: Path, raw: dict[str, Any], n_train: int = 8) -> Conversion:
    rows = [{"id": f"q-{n}", "q": f"Capital of {country}?", "a": "Rome"} for n, country in enumerate(COUNTRIES)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    shots = [{"q": f"Capital {n}?", "a": f"C{n}"} for n in range(n_train)]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in shots), encoding="utf-8")
    path = folder / "task.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return convert_file(path)


def score(suite: dict[str, Any], reply: str, answer: str) -> float:
    ((name, options),) = suite["metrics"].items()
    unit = metric(name)
    return unit.score({"response": reply, "answer": answer}, {}, options_of(unit, options)).value or 0.0


def score_there(reply: str, answer: str, pattern: str | None, which: int, folds: dict[str, Any]) -> float:
    """Return the harness's verdict, written from its guide: filter, patterns, case, signs, figures."""
    # Of several groups the first that is not empty counts.
    if pattern is not None:
        matches = re.findall(pattern, reply)
        match: Any = matches[which] if matches else "[invalid]"
        if isinstance(match, tuple):
            match = next(filter(None, match))
        reply = match.strip()
    for removed in folds.get("regexes_to_ignore", ()):
        reply, answer = re.sub(removed, "", reply), re.sub(removed, "", answer)
    if folds.get("ignore_case"):
        reply, answer = reply.lower(), answer.lower()
    signs = string.punctuation * bool(folds.get("ignore_punctuation"))
    signs += string.digits * bool(folds.get("ignore_numbers"))
    table = str.maketrans("", "", signs)
    return float(reply.translate(table).strip() == answer.translate(table).strip())


@pytest.mark.parametrize("pattern", [None, ANSWER_IS, FLEXIBLE, r"[A-Z][a-z]+"])
@pytest.mark.parametrize("which", [0, -1])
def test_each_option_of_exact_match_decides_as_in_the_harness(
    tmp_path: Path, pattern: str | None, which: int
) -> None:
    # Each option alone, and all of them together.
    for chosen in itertools.product([False, True], repeat=len(FOLDS)):
        for ignored in ([], [",", r"\$", r"\.$"]):
            folds = {**dict(zip(FOLDS, chosen, strict=True)), "regexes_to_ignore": ignored}
            raw = TASK | {"metric_list": [{"metric": "exact_match", **folds}]}
            if pattern is not None:
                steps = [
                    {"function": "regex", "regex_pattern": pattern, "group_select": which},
                    {"function": "take_first"},
                ]
                raw["filter_list"] = [{"name": "f", "filter": steps}]
            (suite,) = convert(tmp_path, raw).suites
            # A reply without a match is wrong here, whatever the row expects.
            for reply, answer in REPLIES[: -1 if pattern else None]:
                expected = score_there(reply, answer, pattern, which, folds)
                assert score(suite, reply, answer) == expected, (reply, answer, folds, suite)


def test_the_strict_and_the_flexible_filter_of_one_task_are_two_suites(tmp_path: Path) -> None:
    """As gsm8k has them: the number after ####, and the last number wherever it stands."""
    strict = {"function": "regex", "regex_pattern": r"#### (\-?[0-9\.\,]+)"}
    flexible = {"function": "regex", "regex_pattern": FLEXIBLE, "group_select": -1}
    filters = [
        {"name": "strict-match", "filter": [strict, {"function": "take_first"}]},
        {"name": "flexible-extract", "filter": [flexible, {"function": "take_first"}]},
    ]
    conversion = convert(tmp_path, TASK | {"filter_list": filters})
    first, second = conversion.suites
    assert [first["name"], second["name"]] == ["caps-strict-match", "caps-flexible-extract"]
    assert (score(first, "#### 18", "18"), score(first, "so 18", "18")) == (1.0, 0.0)
    assert (score(second, "#### 18", "18"), score(second, "so 18", "18"), score(second, "5, so 7", "7")) == (
        1,
        1,
        1,
    )
    assert not conversion.account.count("left out")
    # No reply counts twice.
    assert [keys.get("weight") for keys in (first, second)] == [None, 0]
    assert any("weight: 0" in note.reason for note, _ in conversion.account.list_notes())


def test_filters_that_are_two_metrics_are_one_suite(tmp_path: Path) -> None:
    filters = [
        {"name": "none", "filter": [{"function": "take_first"}]},
        {"name": "digits", "filter": [{"function": "regex", "regex_pattern": r"(\d+)"}]},
    ]
    conversion = convert(tmp_path, TASK | {"filter_list": filters})
    (suite,) = conversion.suites
    assert (suite["name"], [*suite["metrics"]]) == ("caps", ["exact_match", "regex"])


REGEX = {"function": "regex", "regex_pattern": "(.*)"}


def with_step(**step: Any) -> dict[str, Any]:
    return {"filter_list": [{"name": "f", "filter": [REGEX | step]}]}


def with_metric(**options: Any) -> dict[str, Any]:
    return {"metric_list": [{"metric": "exact_match", **options}]}


CHANGES: dict[str, dict[str, Any]] = {
    "ignore_case": with_metric(ignore_case=True),
    "a truthy text": with_metric(ignore_case="yes"),
    "ignore_punctuation": with_metric(ignore_punctuation=True),
    "ignore_numbers": with_metric(ignore_numbers=True),
    "regexes_to_ignore": with_metric(regexes_to_ignore=[","]),
    "aggregation": with_metric(aggregation="median"),
    "higher_is_better": with_metric(higher_is_better=False),
    "a new option": with_metric(multi_target=True),
    "another metric": {"metric_list": [{"metric": "bleu"}]},
    "a program as metric": {"metric_list": [{"metric": "!function utils.score"}]},
    "two of one": {"metric_list": [{"metric": "exact_match"}, {"metric": "exact_match", "ignore_case": True}]},
    "a filter": with_step(),
    "group_select": with_step(group_select=-1),
    "another group_select": with_step(group_select=1),
    "fallback": with_step(fallback="none"),
    "a new option of a filter": with_step(ignore_case=True),
    "a program as filter": {"filter_list": [{"name": "f", "filter": [{"function": "!function utils.read"}]}]},
    "lowercase": {"filter_list": [{"name": "f", "filter": [{"function": "lowercase"}]}]},
    "a map": {"filter_list": [{"name": "f", "filter": [{"function": "map", "mapping_dict": {}}]}]},
    "metrics of a filter": {"filter_list": [{"name": "f", "filter": [REGEX], **with_metric(ignore_case=True)}]},
    "until": {"generation_kwargs": {"until": ["Q:"]}},
    "do_sample": {"generation_kwargs": {"do_sample": True}},
    "greedy": {"generation_kwargs": {"do_sample": False, "temperature": 0.9}},
    "temperature": {"generation_kwargs": {"temperature": 0.7}},
    "max_gen_toks": {"generation_kwargs": {"max_gen_toks": 32}},
    "top_p": {"generation_kwargs": {"top_p": 0.5}},
    "num_beams": {"generation_kwargs": {"num_beams": 4}},
    "repeats": {"repeats": 8},
    "description": {"description": "About {{q}}:\n"},
    "gen_prefix": {"gen_prefix": "So"},
    "num_fewshot": {"num_fewshot": 2},
    "first_n": {"num_fewshot": 2, "fewshot_config": {"sampler": "first_n"}},
    "a program's samples": {"num_fewshot": 2, "fewshot_config": {"samples": "!function utils.samples"}},
    "fewshot_config": {"num_fewshot": 2, "fewshot_config": {"doc_to_text": "x"}},
    "target_delimiter": {"num_fewshot": 2, "target_delimiter": "\n"},
    "fewshot_delimiter": {"num_fewshot": 2, "fewshot_delimiter": "\n"},
    "doc_to_choice": {"doc_to_choice": ["no", "yes"], "doc_to_target": "{{['no', 'yes'][1]}}"},
    "process_docs": {"process_docs": "!function utils.docs"},
    "process_results": {"process_results": "!function utils.results"},
    "use_prompt": {"use_prompt": "promptsource:*"},
    "should_decontaminate": {"should_decontaminate": True},
    "unsafe_code": {"unsafe_code": True},
    "dataset_kwargs": {"dataset_kwargs": {**TASK["dataset_kwargs"], "field": "data"}},
    "a typo": {"num_fewshots": 2},
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_key_that_decides_a_score_vanishes_in_silence(tmp_path: Path, name: str) -> None:
    plain, changed = convert(tmp_path, TASK), convert(tmp_path, TASK | CHANGES[name])
    # What the plain task says of itself is no word about the key.
    written = plain.suites, plain.rows, plain.examples
    is_carried = (changed.suites, changed.rows, changed.examples) != written
    notes = {note.subject for note in changed.account.notes if note.outcome != "taken"}
    new_subjects = notes - {note.subject for note in plain.account.notes}
    assert is_carried or new_subjects, changed.account.list_notes()


def test_programs_and_typos_are_told_as_what_they_are(tmp_path: Path) -> None:
    conversion = convert(tmp_path, TASK | CHANGES["process_results"] | CHANGES["a typo"])
    reasons = {note.subject: note.reason for note in conversion.account.notes}
    assert "a program" in reasons["`process_results`"]
    assert reasons["`num_fewshots`"] == "no key of a task; did you mean `num_fewshot`?"


def test_settings_of_generation_are_the_suites_with_the_harnesss_defaults(tmp_path: Path) -> None:
    generation = {"until": ["Q:", "\n\n"], "max_gen_toks": 99, "temperature": 0.3, "do_sample": True, "top_p": 0.9}
    (suite,) = convert(tmp_path, TASK | {"generation_kwargs": generation}).suites
    assert (suite["temperature"], suite["max_tokens"]) == (0.3, 99)
    assert suite["extra"] == {"stop": ["Q:", "\n\n"], "top_p": 0.9}
    (suite,) = convert(tmp_path, TASK).suites
    assert (suite["temperature"], suite["max_tokens"], suite["extra"]) == (0, 256, {"stop": ["\n\n"]})
    assert convert(tmp_path, TASK).models == [{"name": "smollm2-135m", "provider": "embedded"}]


def test_too_few_examples_are_an_error(tmp_path: Path) -> None:
    for changes in (
        {},
        {"fewshot_config": {"sampler": "first_n"}},
        {"fewshot_config": {"samples": [{"q": "", "a": ""}]}},
    ):
        with pytest.raises(InputError, match=r"num_fewshot: found 12, and [18] rows of"):
            convert(tmp_path, TASK | {"num_fewshot": 12} | changes)
    # A row is no example of itself: two rows have one each.
    of_itself = TASK | {"num_fewshot": 2, "training_split": None}
    with pytest.raises(InputError, match="num_fewshot: found 2, and 2 rows of the split 'test'"):
        convert(tmp_path, of_itself)


def test_examples_of_a_split_stand_in_a_file_and_rows_keep_question_and_id(tmp_path: Path) -> None:
    conversion = convert(tmp_path, TASK | {"num_fewshot": 3})
    assert conversion.rows["caps"][0] == {"question": "Capital of Italy?", "answer": "Rome", "id": "q-0"}
    assert len(conversion.examples["caps"]) == 8
    assert main(["init", str(tmp_path / "new"), "--from", str(tmp_path / "task.yaml")]) == 0
    (suite,) = yaml.safe_load((tmp_path / "new" / "eval.yaml").read_text(encoding="utf-8"))["suites"]
    assert suite["examples"] == {"data": str(tmp_path / "new" / "caps-examples.jsonl"), "n": 3, "as": "text"}
    assert suite["items"]["columns"] == {"id": "id"}


def test_ids_that_are_not_of_one_row_each_are_not_taken(tmp_path: Path) -> None:
    convert(tmp_path, TASK)
    (tmp_path / "rows.jsonl").write_text(
        '{"id": 1, "q": "A?", "a": "b"}\n{"id": 1, "q": "B?", "a": "c"}\n', "utf-8"
    )
    conversion = convert_file(tmp_path / "task.yaml")
    assert all("id" not in row for row in conversion.rows["caps"])


def test_the_prompt_is_the_harnesss_to_the_letter_and_the_stop_is_sent(run: Run, tmp_path: Path) -> None:
    """Examples in order, braces of theirs not read as a template, a description of each row."""
    samples = [{"q": "Is {{x}} {% a %}?", "a": "{#1#}"}, {"q": "Two?", "a": "2"}]
    raw = TASK | {
        "description": "On {{q}}:\n\n",
        "num_fewshot": 2,
        "fewshot_config": {"sampler": "first_n", "samples": samples},
        "generation_kwargs": {"until": ["\n"]},
    }
    convert(tmp_path, raw)
    main(["init", str(tmp_path / "new"), "--from", str(tmp_path / "task.yaml")])
    with serve_openai("Rome") as server:
        address = f"models.0.base_url={server.base_url}"
        done = run("--config", str(tmp_path / "new" / "eval.yaml"), "--model", "openai/m", "--set", address)
        bodies = [request.body for request in server.requests]
    assert done.returncode == 0, done.stderr
    assert sorted(body["messages"][0]["content"] for body in bodies) == [
        f"On Capital of {country}?:\n\nIs {{{{x}}}} {{% a %}}? {{#1#}}\n\nTwo? 2\n\nCapital of {country}?"
        for country in COUNTRIES
    ]
    assert {(body["stop"][0], body["max_tokens"], body["temperature"]) for body in bodies} == {("\n", 256, 0)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset_kwargs": {"data_files": {"test": "lost.jsonl"}}}, "lost.jsonl: there is no such file"),
        ({"doc_to_text": None, "doc_to_txt": "{{q}}"}, "doc_to_text is missing; doc_to_txt is no key of a task"),
        ({"output_type": "multiple_choice", "doc_to_choice": ["no", "yes"]}, "the metric `choice`"),
        ({"doc_to_choice": ["no", "yes"], "doc_to_target": 1}, "the answers themselves in doc_to_target"),
        ({"include": "../base.yaml", "doc_to_target": None}, "its include was not read: ../base.yaml"),
    ],
)
def test_what_is_wrong_with_a_task_is_told_by_its_name(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    raw = {key: value for key, value in (TASK | changes).items() if value is not None}
    with pytest.raises(InputError, match=re.escape(message)):
        convert(tmp_path, raw)
