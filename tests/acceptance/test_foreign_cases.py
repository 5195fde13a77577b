"""Results of other tools, by the rules alone (sections 9, 10, 15, 18): figures by scipy and statsmodels."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from tests.helpers import foreign
from tests.helpers.foreign import (
    FORMS,
    bomb,
    both,
    call,
    compare,
    decomposed,
    each,
    epochs,
    gate,
    merged,
    planted,
    reworded,
    rows,
    write,
)
from tests.helpers.paired import flips, gated, mcnemar, mcnemar_power, tango

Rows = list[dict[str, Any]]


def check(pair: dict[str, Any], n: int, lost: int, won: int) -> None:
    """Compare a yes/no pair's counts and figures with those computed here."""
    assert (pair["n"], pair["only_b"], pair["only_a"]) == (n, lost, won)
    assert pair["difference"] == pytest.approx((won - lost) / n)
    assert pair["p_value"] == pytest.approx(mcnemar(lost, won), rel=1e-9)
    low, high = tango(lost, won, n, 1 - pair["level"])
    assert (pair["interval"]["low"], pair["interval"]["high"]) == pytest.approx((low, high), abs=1e-9)


PLANTS = {
    # both, only before, only after, neither
    "minus 13": ((146, 30, 4, 20), "worse"),
    "nothing": ((150, 6, 6, 38), "no clear difference"),
    "plus 5": ((150, 5, 15, 30), "better"),
    "noisy": ((150, 10, 20, 20), "not enough questions to tell"),
}
TWO = ("csv", "inspect-eval")
"""A table and a log: for what does not depend on the form."""


@pytest.mark.parametrize(
    ("form", "plant"), [(form, plant) for form in FORMS for plant in PLANTS if plant == "minus 13" or form in TWO]
)
def test_a_planted_difference_is_told(form: str, plant: str, tmp_path: Path) -> None:
    counts, words = PLANTS[plant]
    before, after = planted(*counts)
    # The order of rows is no part of what is the same.
    old, new = both(form, tmp_path, before, after[::-1])
    (pair,), out = compare(old, new, at=tmp_path)
    check(pair, 200, counts[1], counts[2])
    assert pair["conclusion"] == words
    assert pair["mean_b"] == pytest.approx((counts[0] + counts[1]) / 200)
    assert "200 questions" in out
    assert "as stated by the tools" in out
    first = out.splitlines()[0]
    assert (f" is {words} than " in first) if words in {"worse", "better"} else (words in first.lower())
    if plant != "nothing":
        assert f"{100 * pair['difference']:+.1f}".replace("-", "\u2212") in first
    assert gate(new, old) == gated(counts[1], counts[2], 200)


@pytest.mark.parametrize("form", FORMS)
def test_a_file_against_itself_has_no_difference(form: str, tmp_path: Path) -> None:
    file = write(form, tmp_path / "same", planted(146, 30, 4, 20)[0])
    (pair,), out = compare(file, file, at=tmp_path)
    check(pair, 200, 0, 0)
    assert pair["conclusion"] == "no difference"
    assert out.startswith("No difference")
    if form in TWO:
        assert gate(file, file) == 0


@pytest.mark.parametrize(
    ("scores", "code"), [([1] * 132, 3), ([1] * 149, 0), ([0.5, 0.25] * 74, 3), ([0.5, 0.25] * 75, 0)]
)
def test_equal_scores_of_other_replies_hold_over_enough_of_them(
    scores: list[float], code: int, tmp_path: Path
) -> None:
    """0.98 ** 149 is at most 0.05, and Tango's interval says so of yes/no from 133 on. The same replies hold."""
    old, new = both("csv", tmp_path, rows(scores, reply="yes"), rows(scores, reply="no"))
    assert (gate(old, old), gate(new, old)) == (0, code)


def test_nothing_is_never_held(tmp_path: Path) -> None:
    nothing = write("jsonl", tmp_path / "old", [one | {"score": None} for one in rows([1] * 200)])
    code, _, err = call("compare", nothing, nothing, at=tmp_path)
    assert code == 2
    assert "200 questions in common" in err
    assert gate(nothing, nothing) in {2, 3}
    left, right = both("csv", tmp_path, rows([1] * 50), rows([1] * 50, first=50))
    assert "no question in common" in call("compare", left, right, at=tmp_path)[2]
    assert gate(right, left) in {2, 3}


@dataclass(frozen=True)
class Case:
    """Two files' rows, the forms they are written in, and what is right to say of them."""

    name: str
    old: Rows
    new: Rows
    n: int
    lost: int
    won: int
    words: str
    code: int
    forms: tuple[str, ...]
    facts: tuple[str, ...] = ()
    missing: int = 0
    cut: int = 0


OLD, NEW = planted(146, 30, 4, 20)
FEW, MORE = planted(150, 3, 15, 32)
"""Six points better, p 0.0075; unless 15 that were right are no longer known."""
UNKNOWN = "15 replies without a score"
LOGS = ("inspect-eval", "inspect-json", "promptfoo", "deepeval", "hosted")
WITH_IDS = ("inspect-json", "every", "csv", "jsonl")
RUSSIAN = [
    {"id": f"вопрос-{n}", "question": f"Сколько ног у {n} крабов, и почему ещё?", "answer": f"ответ {n}"}
    | {"reply": "Ёж \N{HEDGEHOG}", "score": int(n < 176), "model": "модель"}
    for n in range(200)
]
NOT_SO = [one | {"score": int(n < 146 or 176 <= n < 180)} for n, one in enumerate(decomposed(RUSSIAN))]
CASES = [
    Case("overlapping", OLD[:190], NEW[10:], 180, 30, 4, "worse", 1, ("csv",), ("10 of 190 questions",)),
    Case("half", OLD[:100], OLD[50:150], 50, 0, 0, "undecided", 3, ("jsonl",), ("50 of 100",)),
    Case("rows absent in one", FEW, MORE[15:], 185, 3, 15, "better", 3, ("jsonl",), ("15 of 200",)),
    Case("duplicates", OLD + OLD[:20], NEW + NEW[:20], 200, 30, 4, "worse", 1, ("csv", "hosted"), ("20 of 200",)),
    Case("duplicates in one", OLD, NEW + NEW[180:], 200, 30, 4, "worse", 1, ("deepeval",), ("20 of 200",)),
    Case("repeats alike", OLD * 3, NEW * 3, 200, 30, 4, "worse", 1, ("promptfoo",), ("answered several times",)),
    Case("renamed ids", OLD, [r | {"id": f"x{r['id']}"} for r in NEW], 200, 30, 4, "worse", 1, WITH_IDS),
    Case("row numbers", [r | {"id": n} for n, r in enumerate(OLD, 1)],
         [r | {"id": n} for n, r in enumerate(NEW[::-1], 1)], 200, 30, 4, "worse", 1, ("inspect-json", "csv")),
    Case("other texts under ten ids", OLD, reworded(NEW, range(10)), 190, 30, 4, "worse", 1, WITH_IDS,
         ("text under the same id differs", "10 of 200")),
    Case("relabelled", OLD, each(NEW, range(12), answer="another"), 200, 30, 4, "worse", 1,
         ("lm-eval", "promptfoo", "csv"), ("different answer is expected in 12 of 200",)),
    Case("two errors", OLD, each(NEW, range(2), error="429"), 198, 30, 4, "worse", 1, LOGS[2:4], missing=2),
    Case("errors that decide", FEW, each(MORE, range(15), error="429"), 185, 3, 15, "undecided", 3,
         LOGS, (UNKNOWN,), 15),
    Case("errors in both, one cause", each(FEW, range(15), error="refused"), each(MORE, range(15), error="refused"),
         185, 3, 15, "better", 0, ("inspect-json", "deepeval"), missing=30),
    Case("errors in both, other causes", each(FEW, range(15), error="refused"), each(MORE, range(15), error="late"),
         185, 3, 15, "undecided", 3, ("inspect-json",), missing=30),
    Case("scores that are null", FEW, each(MORE, range(15), score=None), 185, 3, 15, "undecided", 3,
         ("jsonl", "csv", "ragas-csv"), (UNKNOWN,), 15),
    Case("scores that are NaN", FEW, each(MORE, range(15), score=float("nan")), 185, 3, 15, "undecided",
         3, ("jsonl", "csv", "ragas-csv"), (UNKNOWN,), 15),
    Case("an infinite score", OLD, each(NEW, [3], score="1e999"), 199, 30, 4, "worse", 1, ("csv",), missing=1),
    Case("one that is no number", OLD, each(NEW, [3], score="n/a"), 199, 30, 4, "worse", 1, ("csv",), missing=1),
    Case("cut, and wrong before", OLD, each(NEW, [190, 191], finish="length"), 200, 30, 4, "worse", 1,
         ("inspect-eval", "hosted"), ("2 replies were truncated at the token limit",), cut=2),
    Case("cut, and that decides", OLD, each(NEW, range(146, 176), finish="length"), 200, 30, 4,
         "undecided", 3, ("inspect-json", "promptfoo", "hosted"), ("30 truncated",), cut=30),
    Case("cut, but right", OLD, each(NEW, range(50), finish="length"), 200, 30, 4, "worse", 1, ("promptfoo",)),
    Case("a table's finish reasons", [r | {"finish_reason": "stop"} for r in OLD],
         [r | {"finish_reason": "length" if 146 <= n < 176 else "stop"} for n, r in enumerate(NEW)],
         200, 30, 4, "undecided", 3, ("csv", "parquet"), ("30 truncated",), cut=30),
    Case("Russian, in another normal form", RUSSIAN, NOT_SO, 200, 30, 4, "worse", 1,
         ("inspect-eval", "lm-eval", "promptfoo-csv", "hosted", "parquet")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "form"),
    [
        pytest.param(
            case, form, id=f"{case.name}-{form}", marks=[pytest.mark.slow] if form != case.forms[0] else []
        )
        for case in CASES
        for form in case.forms
    ],
)
def test_a_case_in_its_forms(case: Case, form: str, tmp_path: Path) -> None:
    old, new = both(form, tmp_path, case.old, case.new)
    (pair,), out = compare(old, new, at=tmp_path)
    check(pair, case.n, case.lost, case.won)
    assert (pair["n_lost"], pair["n_cut"]) == (case.missing, case.cut)
    assert pair["conclusion"].startswith(case.words)
    assert [fact for fact in case.facts if fact not in out] == []
    if form == case.forms[0]:
        assert gate(new, old) == case.code


SPELT = {
    "booleans": (True, False, ("jsonl", "parquet", "inspect-json")),
    "letters": ("C", "I", ("csv", "jsonl")),
    "pass and fail": ("pass", "FAIL", ("csv",)),
    "yes and no": ("yes", "no", ("jsonl",)),
    "decimals": ("1.0", "0.00", ("csv",)),
}


@pytest.mark.parametrize(("spelt", "form"), [(name, form) for name, (*_, forms) in SPELT.items() for form in forms])
def test_scores_are_read_as_they_are_spelt(spelt: str, form: str, tmp_path: Path) -> None:
    right, wrong, _ = SPELT[spelt]
    old, new = ([one | {"score": right if one["score"] else wrong} for one in these] for these in (OLD, NEW))
    (pair,), _ = compare(*both(form, tmp_path, old, new), at=tmp_path)
    check(pair, 200, 30, 4)


@pytest.mark.parametrize("form", ["inspect-eval", "inspect-json"])
def test_epochs_enter_by_their_mean(form: str, tmp_path: Path) -> None:
    old, new = [3, 3, 2, 3, 1, 3, 2, 3, 3, 2, 3, 3], [1, 3, 1, 2, 1, 2, 0, 3, 2, 2, 1, 2]
    (pair,), out = compare(*both(form, tmp_path, epochs(old), epochs(new)), at=tmp_path)
    differences = [(b - a) / 3 for a, b in zip(old, new, strict=True)]
    assert (pair["n"], pair["interval"]["units"]) == (12, 12)
    assert pair["difference"] == pytest.approx(sum(differences) / 12)
    assert pair["p_value"] == pytest.approx(flips(differences))
    assert "answered several times" in out


PARTS = (
    [0.5, 0.25, 1, 0.75, 0.1, 0.9, 0.4, 0.3, 0.6, 0.2, 0.8, 0.7],
    [0.4, 0.25, 0.9, 0.5, 0.3, 0.6, 0.2, 0.3, 0.5, 0.1, 0.7, 0.65],
)


@pytest.mark.parametrize("form", ["inspect-json", "lm-eval", "deepeval", "ragas-csv", "every", "csv"])
def test_partial_scores_get_the_sign_flip_test(form: str, tmp_path: Path) -> None:
    (pair,), _ = compare(*both(form, tmp_path, rows(PARTS[0]), rows(PARTS[1])), at=tmp_path)
    assert pair["n"] == 12
    assert pair["p_value"] == pytest.approx(flips([b - a for a, b in zip(*PARTS, strict=True)]))
    assert pair["conclusion"] == "worse"


@pytest.mark.parametrize(("templates", "units"), [(4, 200), (5, 5), (8, 8), (10, 10)])
def test_templates_are_the_units_where_there_are_enough(templates: int, units: int, tmp_path: Path) -> None:
    before, after = [1] * 100 + [0] * 100, [int(n >= 4 * (n % templates)) for n in range(100)] + [0] * 100
    shared = [{"more": {"template": f"T{n % templates}"}} for n in range(200)]
    old, new = ([row | more for row, more in zip(rows(one), shared, strict=True)] for one in (before, after))
    (pair,), out = compare(*both("jsonl", tmp_path, old, new), at=tmp_path)
    assert pair["interval"]["units"] == units
    sums = [sum(after[n] - before[n] for n in range(t, 200, templates)) for t in range(templates)]
    p = {200: mcnemar(-sum(sums), 0), 10: flips(sums)}.get(units, float(stats.ttest_1samp(sums, 0).pvalue))
    assert pair["p_value"] == pytest.approx(p, rel=1e-9)
    assert ("for these forms of question only" in out) == (units == 200)


SIDE = {"other": [1] * 200, "aaa": [int(n % 3 > 0) for n in range(200)]}
SIDE_AFTER = {"other": [int(n > 11) for n in range(200)], "aaa": [int(n % 3 > 0 or n < 30) for n in range(200)]}


@pytest.mark.parametrize("form", ["inspect-json", "lm-eval", "promptfoo", "deepeval", "ragas-csv", "hosted"])
def test_all_metrics_of_a_file_are_compared_under_holm(form: str, tmp_path: Path) -> None:
    old, new = (
        [row | {"more": {name: side[name][n] for name in side}} for n, row in enumerate(these)]
        for these, side in ((OLD, SIDE), (NEW, SIDE_AFTER))
    )
    files = both(form, tmp_path, old, new)
    pairs, _ = compare(*files, at=tmp_path)
    assert sorted((one["only_b"], one["only_a"]) for one in pairs) == [(0, 10), (12, 0), (30, 4)]
    for one in pairs:
        check(one, 200, one["only_b"], one["only_a"])
    corrected = multipletests([one["p_value"] for one in pairs], method="holm")[1]
    assert [one["p_adjusted"] for one in pairs] == pytest.approx(list(corrected))
    side = next(one["metric"] for one in pairs if one["only_a"] == 10)
    assert gate(files[1], files[0], "--metric", side) == 0
    if form == "promptfoo":
        assert gate(files[1], files[0]) == 1
        code, _, err = call("compare", *files, "--metric", "nosuch", at=tmp_path)
        assert code == 2
        assert [name for name in ("nosuch", side) if name not in err] == []


@pytest.mark.parametrize("form", ["promptfoo", "hosted", "every", "parquet"])
def test_two_models_in_one_file_are_compared_with_each_other(form: str, tmp_path: Path) -> None:
    both = [one | {"model": name} for name, these in (("older", OLD), ("newer", NEW)) for one in these]
    (pair,), out = compare(write(form, tmp_path / "both", both), at=tmp_path)
    check(pair, 200, 30, 4)
    assert out.startswith("newer is worse than older")


def test_three_files_are_compared_in_pairs_under_holm(tmp_path: Path) -> None:
    third = planted(150, 6, 6, 38)[1]
    files = [write("jsonl", tmp_path / name, these) for name, these in (("x", OLD), ("y", NEW), ("z", third))]
    pairs, _ = compare(*files, at=tmp_path)
    assert [(one["only_b"], one["only_a"]) for one in pairs] == [(30, 4), (20, 0), (4, 10)]
    corrected = multipletests([one["p_value"] for one in pairs], method="holm")[1]
    assert [one["p_adjusted"] for one in pairs] == pytest.approx(list(corrected))


TOOLS = ("inspect-eval", "lm-eval", "promptfoo", "deepeval", "ragas-csv", "hosted", "parquet")


@pytest.mark.parametrize(("one", "another"), [*zip(TOOLS[::2], TOOLS[1::2], strict=False)])
def test_files_of_two_tools_pair(one: str, another: str, tmp_path: Path) -> None:
    (pair,), out = compare(write(one, tmp_path / "x", OLD), write(another, tmp_path / "y", NEW), at=tmp_path)
    check(pair, 200, 30, 4)
    assert "does not state" in out


JUDGED: dict[str, tuple[dict[str, Any], str]] = {
    "deepeval": ({"judge": "gpt-4.1"}, "gpt-4.1"),
    "promptfoo": ({"assertion": "llm-rubric"}, "judge"),
    "ragas-csv": ({"more": {"faithfulness": 0.5}}, "faithfulness comes from a judge"),
}


@pytest.mark.parametrize("form", JUDGED)
def test_a_judges_numbers_are_marked(form: str, tmp_path: Path) -> None:
    change, fact = JUDGED[form]
    old, new = ([one | change for one in these] for these in (OLD, NEW))
    _, out = compare(*both(form, tmp_path, old, new), at=tmp_path)
    assert fact in out
    assert "whose errors were not measured" in out


def test_scores_outside_0_and_1_need_a_scale(tmp_path: Path) -> None:
    old, new = ([one | {"score": 5 if one["score"] else 2} for one in these] for these in (OLD, NEW))
    files = both("jsonl", tmp_path, old, new)
    for words in (["compare", *files], ["gate", files[1], "--baseline", files[0]]):
        code, _, err = call(*words, at=tmp_path)
        assert code == 2
        assert "--scale score=" in err
    (pair,), _ = compare(*files, "--scale", "score=1..5", at=tmp_path)
    assert (pair["mean_b"], pair["mean_a"]) == pytest.approx((0.25 + 0.75 * 0.88, 0.25 + 0.75 * 0.75))
    assert call("compare", *files, "--scale", "score=1..4", at=tmp_path)[0] == 2
    assert call("compare", *files, "--scale", "score=1-4", at=tmp_path)[0] == 2


def test_columns_are_named(tmp_path: Path) -> None:
    for name, these in (("old", OLD), ("new", NEW)):
        text = foreign.columns([{"frage": one["question"], "gut": one["score"]} for one in these])
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    code, _, err = call("compare", "old.csv", "new.csv", at=tmp_path)
    assert code == 2
    assert "frage" in err
    assert "--columns question=" in err
    (pair,), _ = compare("old.csv", "new.csv", "--columns", "question=frage,score=gut", at=tmp_path)
    check(pair, 200, 30, 4)


AGGREGATES = {"results": {"sums": {"acc,none": 0.88}}, "configs": {"sums": {}}, "versions": {}, "n-shot": {}}
ESCAPING = {
    "schema_version": "0.2.0",
    "evaluation_id": "e",
    "model_info": {"id": "m"},
    "evaluation_results": [],
} | {"detailed_evaluation_results": {"format": "jsonl", "file_path": "../../../../etc/passwd"}}
REFUSED: dict[str, tuple[str, str | bytes, tuple[str, ...]]] = {
    **{f"empty {ending}": (ending, "", ()) for ending in (".json", ".jsonl", ".csv", ".parquet", ".eval")},
    "no rows": (".csv", "id,question,response,score\n", ()),
    "a number": (".json", "42", ()),
    "broken": (".json", '{"testCases": [', ()),
    "half a line": (".jsonl", '{"question": "q", "score": 1}\n{"question": "q2", "sc', ("line 2",)),
    "bytes": (".json", bytes(range(256)), ()),
    "Latin-1": (".csv", "question,score\ncaf\xe9,1\n".encode("latin-1"), ("UTF-8",)),
    "no form, CSV": (".csv", "foo,bar\n1,2\n", ("foo", "bar", "--columns question=", "promptfoo", "Inspect")),
    "no form, JSONL": (".jsonl", '{"foo": 1, "bar": 2}\n', ("foo", "bar", "--columns question=")),
    "no score": (".csv", "id,question,response\n1,q,r\n", ("id, question, response", "score=")),
    "no question": (".csv", "response,score\nr,1\n", ("response, score", "question=")),
    "two forms": (".json", merged(NEW, "deepeval", "promptfoo"), ("DeepEval", "promptfoo")),
    "two forms, too": (".json", merged(NEW, "inspect-json", "deepeval"), ("Inspect", "DeepEval")),
    "aggregates": (".json", json.dumps(AGGREGATES), ("aggregates", "--log_samples")),
    "deep": (".json", "[" * 100_000 + "]" * 100_000, ("deep",)),
    "a bomb": (".eval", bomb(), ("MB",)),
    "an unknown ending": (".txt", "hello", (".txt", ".jsonl")),
    "instances elsewhere": (".json", json.dumps(ESCAPING), ("passwd",)),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_refused_with_what_was_found(name: str, tmp_path: Path) -> None:
    ending, content, facts = REFUSED[name]
    good, bad = write("jsonl", tmp_path / "good", rows([1, 0])), tmp_path / f"bad{ending}"
    bad.write_bytes(content if isinstance(content, bytes) else content.encode())
    for words in (["compare", good, bad], ["gate", bad, "--baseline", good])[: 1 + len(facts)]:
        code, out, err = call(*words, at=tmp_path)
        assert (code, out.strip()) == (2, "")
        assert "bad" in err
        assert [fact for fact in facts if fact not in err] == []
        assert not re.search("Traceback|defect", err)


HOSTILE = (
    "<script>alert(1)</script> {{ 7*7 }} {% raw %} ${jndi:x} \x1b[2J\x1b]0;owned\x07 "
    "\u202egnp [red]x[/] | `c` ]]> \"'><img src=x>"
)


@pytest.mark.parametrize("form", ["inspect-eval", "lm-eval", "promptfoo", "deepeval", "parquet"])
def test_hostile_texts_stay_texts(form: str, tmp_path: Path) -> None:
    made = [
        [
            one | {"question": f"{HOSTILE} {n}", "answer": HOSTILE, "reply": f"{HOSTILE} {one['reply']}"}
            | {"model": HOSTILE} | ({} if form == "inspect-eval" else {"id": f"{HOSTILE} {n}"})
            for n, one in enumerate(these[140:180])
        ]
        for these in (OLD, NEW)
    ]  # fmt: skip
    written = ["--html", "o.html", "--markdown", "o.md", "--junit", "o.xml"]
    code, out, err = call("compare", *both(form, tmp_path, *made), *written, at=tmp_path)
    assert (code, err) == (0, "")
    page, markdown, cases = ((tmp_path / name).read_text(encoding="utf-8") for name in ("o.html", "o.md", "o.xml"))
    assert not re.search("[\x1b\x07\u202e]", out + page + markdown)
    assert "\x1b" not in cases
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "<script>" not in re.sub(r"(?ms)^(`{3,}).*?^\1", "", markdown), "outside of fences"
    assert all("{{ 7*7 }}" in text for text in (out, page))
    ET.fromstring(cases)  # noqa: S314 - written a few lines above


def test_huge_cells_are_read(tmp_path: Path) -> None:
    large = [
        one | {"reply": "r" * 300_000, "question": f"{'q' * 100_000}{one['question']}"} for one in rows([1] * 10)
    ]
    (pair,), _ = compare(write("csv", tmp_path / "x", large), write("jsonl", tmp_path / "y", large), at=tmp_path)
    check(pair, 10, 0, 0)


@pytest.mark.parametrize(
    ("threshold", "these", "code"),
    [
        *((threshold, NEW, code) for threshold, code in ((0.74, 0), (0.75, 0), (0.76, 1))),
        # The golden of section 10: ten right of twelve, one cut and wrong, one wrong.
        *((t, each(rows([1] * 10 + [0, 0]), [10], finish="length"), c) for t, c in ((0.9, 3), (0.95, 1), (0.8, 0))),
        (0.8, each(rows([1] * 200), range(30), error="429"), 2),  # less than 90 % scored
        (0.97, each(rows([1] * 200), range(10), error="429"), 3),  # from 95 % to 100 %
        (0.94, each(rows([1] * 200), range(10), error="429"), 0),
    ],
)
def test_a_threshold(threshold: float, these: Rows, code: int, tmp_path: Path) -> None:
    file = write("promptfoo", tmp_path / "new", these)
    seen, out, _ = call("gate", file, "--threshold", threshold, at=tmp_path)
    assert seen == code
    if these is NEW:
        low, high = (f"{100 * one:.1f}" for one in proportion_confint(150, 200, method="wilson"))
        assert f"75% ({low}\u2013{high})" in out


@pytest.mark.parametrize(("lost", "won", "code"), [(40, 0, 1), (6, 0, 1), (5, 1, 3), (3, 3, 3), (0, 0, 0)])
def test_the_goldens_at_margin_0(lost: int, won: int, code: int, tmp_path: Path) -> None:
    before, after = planted(300 - lost - won, lost, won, 0)
    old, new = both("csv", tmp_path, before, [one | {"reply": f"{one['reply']}, then"} for one in after])
    assert gate(new, old, "--max-drop", 0) == code


@pytest.mark.parametrize(("lost", "won"), [(30, 4), (6, 6), (10, 20)])
def test_the_detectable_effect_is_found_four_times_in_five(lost: int, won: int, tmp_path: Path) -> None:
    """The exact McNemar test's power, where as many are won by chance as the rarer of both was seen."""
    (pair,), _ = compare(*both("csv", tmp_path, *planted(150, lost, won, 50 - lost - won)), at=tmp_path)
    chance = min(lost, won) / 200
    power = mcnemar_power(200, chance + pair["detectable"], chance)
    assert power == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("form", ["inspect-json", "hosted", "jsonl"])
def test_false_verdicts_of_the_tools_scorer_are_listed(form: str, tmp_path: Path) -> None:
    wrong = [one | {"score": 1 - one["score"] if n < 7 else one["score"]} for n, one in enumerate(NEW)]
    compare(*both(form, tmp_path, OLD, wrong), "--verify", "exact_match", at=tmp_path)
    first, second = json.loads((tmp_path / "seen.json").read_text(encoding="utf-8"))["verified"]
    assert (len(first["differing"]), len(second["differing"])) == (0, 7)
    assert (second["stated"], second["ours"]) == pytest.approx((0.715, 0.75))


def test_the_shared_logs_compare_in_one_command(shared: Path, tmp_path: Path) -> None:
    logs = shared / "exchange"
    (pair,), out = compare(logs / "lm_eval_samples_gsm8k_100.jsonl", logs / "inspect_gsm8k_100.eval", at=tmp_path)
    check(pair, 100, 0, 0)
    assert (pair["mean_a"], pair["mean_b"]) == (0.58, 0.58)
    assert out.startswith("No difference")


def test_ids_of_a_log_may_have_a_slash(tmp_path: Path) -> None:
    old, new = ([one | {"id": f"HumanEval/{n}"} for n, one in enumerate(these)] for these in (OLD, NEW))
    (pair,), _ = compare(*both("inspect-eval", tmp_path, old, new), at=tmp_path)
    check(pair, 200, 30, 4)
