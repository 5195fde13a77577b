"""The HTML report as a file: its policy, its charts, what it leaves out, and how samples are packed."""

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from markupsafe import escape

from basic_control.metrics.analysis.judged import CorrectedMean
from basic_control.metrics.analysis.other_tools import StatedDifference, StatedScore
from basic_control.metrics.stats.agreement import Repeats
from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.report import explained, markdown, overview, samples, sections
from basic_control.tasks.report.language import say_on_page
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import percent
from basic_control.tasks.report.warnings import notes
from tests.tasks.report.runs import MODELS, Row, build, page_of, settings, write_page


class Reader(HTMLParser):
    """Collects the page's scripts, style sheets, policy and addresses."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.inlined: dict[str, list[str]] = {"script": [], "style": []}
        self.policy = ""
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self._at = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.addresses += [given[name] for name in ("src", "href", "action", "srcset") if name in given]
        self.handlers += [name for name in given if name.startswith("on") or name == "style"]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self._at = tag if tag in self.inlined and given.get("type") != "application/json" else ""
        if self._at:
            self.inlined[tag].append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - as the parser calls it
        self._at = ""

    def handle_data(self, data: str) -> None:
        if self._at:
            self.inlined[self._at][-1] += data


def test_the_policy_names_exactly_what_is_inlined(page_file: Path) -> None:
    page = Reader(page_file.read_text(encoding="utf-8"))
    rules = dict(rule.strip().split(" ", 1) for rule in page.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in page.policy
    for kind in ("script", "style"):
        hashes = {
            "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
            for text in page.inlined[kind]
        }
        assert len(page.inlined[kind]) == 1
        assert hashes == set(rules[f"{kind}-src"].split())


def test_the_page_points_nowhere_but_into_itself(page_file: Path) -> None:
    page = Reader(page_file.read_text(encoding="utf-8"))
    assert page.addresses
    assert all(address.startswith("#") for address in page.addresses)
    assert page.handlers == [], "neither handlers nor style attributes, which the policy would stop"


def test_a_run_without_judges_or_facts_has_a_page(data: ReportData) -> None:
    named = {name: data.manifest[name] for name in ("run", "started")}
    bare = replace(data, manifest=named, judged=data.judged.clear())
    assert "<main" in page_of(bare)


def test_it_says_what_held_models_programs(data: ReportData) -> None:
    page = page_of(data)
    held = "<span>landlock <code>off</code></span> <span>kotlin <code>off (no Java for Kotlin)</code></span>"
    assert held in page


def test_a_run_without_samples_has_a_page(data: ReportData) -> None:
    empty = replace(
        data,
        items=data.items.clear(),
        replies=data.replies.clear(),
        judged=data.judged.clear(),
        scores=data.scores.clear(),
        summary=data.summary.clear(),
    )
    assert "<main" in page_of(empty)


@pytest.mark.parametrize("gate", ["point", "interval", "off"])
def test_the_verdict_is_the_worst_of_the_models(gate: str) -> None:
    data = build(2, gate=gate, suites=["basic_control"])
    verdict = overview.verdict_of_run(data.verdict, data.results, data.titles)
    ranks = ["pass", "undecided", "fail", "error"]
    assert verdict["concluded"].outcome == ranks[max(ranks.index(model.verdict) for model in data.verdict.models)]
    assert verdict["exit_code"] == data.verdict.exit_code
    page = page_of(data)
    assert f"Gate {say_on_page(f'gate_{gate}')}" in page
    assert 'id="suite-' not in page


def test_what_to_be_wary_of_is_said(data: ReportData) -> None:
    said = " ".join(one.text for one in notes(data.results, data.verdict, data.plan, data))
    failed = data.replies.filter(model=MODELS[1])["error"].count()
    assert f"{MODELS[1]}: {failed} of {data.replies.filter(model=MODELS[1]).height} calls failed" in said


def test_replies_that_go_on_after_their_end_are_counted_once_a_model(data: ReportData) -> None:
    assert "stop tokens" not in str(notes(data.results, data.verdict, data.plan, data))
    is_even = pl.int_range(pl.len()) % 2 == 0
    ends = pl.when(is_even).then(pl.lit("</s>\n<eos>")).otherwise(pl.lit("\nQuestion: What is next?"))
    tokens = pl.when(pl.col("model") == MODELS[0]).then(ends)
    leaked = replace(data, replies=data.replies.with_columns(stop_tokens=tokens))
    n = data.replies.filter(model=MODELS[0]).height
    told = notes(data.results, data.verdict, data.plan, leaked)
    (said,) = [one.text for one in told if "stop tokens" in one.text]
    assert f"{MODELS[0]}: {n} of {n} replies go on after their end, with stop tokens" in said
    assert "(</s>, Question:)" in said


def test_cost_is_tokens_times_price(data: ReportData) -> None:
    row = next(row for row in sections.replies(data) if row["model"] == MODELS[0])
    own = data.replies.filter(model=MODELS[0])
    cost = (1.0 * int(own["tokens_in"].sum()) + 4.0 * int(own["tokens_out"].sum())) / 1e6
    assert row["cost"] == pytest.approx(cost)
    assert 0 < row["cost_now"] < row["cost"]
    assert next(r for r in sections.replies(data) if r["model"] == MODELS[1])["cost"] is None, "never 0"


def test_latency_percentiles_are_those_of_the_replies(data: ReportData) -> None:
    row = next(row for row in sections.replies(data) if row["model"] == MODELS[2])
    latencies = sorted(v for v in data.replies.filter(model=MODELS[2])["latency_s"] if v is not None)
    assert row["max"] == latencies[-1]
    middle = len(latencies) // 2
    median = latencies[middle] if len(latencies) % 2 else (latencies[middle - 1] + latencies[middle]) / 2
    assert row["p50"] == pytest.approx(median)


def test_a_judges_reply_is_about_the_system_that_its_columns_name(data: ReportData) -> None:
    judged = data.judged.head(2).with_columns(
        subject=pl.Series(["a", "a/0"]), subject_repeat=pl.Series([0, 1]), key=pl.Series(["claim", "claim/x"])
    )
    found = samples._askings(judged)
    assert found.select("model", "repeat", "key").rows() == [("a", 0, "claim"), ("a/0", 1, "claim/x")]


def test_the_page_and_the_markdown_file_show_the_same_tables(data: ReportData) -> None:
    """Each is built once: a column or a row added there stands in both."""
    estimate = MeanEstimate(0.5, Interval(0.25, 0.75))
    cell = ("cot", "<b>m|", "cot")
    corrected = CorrectedMean(*cell, "j", "en", 9, 7, replace(estimate, mean=0.6), estimate, None, 0)
    item = StatedDifference(str(data.items["item_id"][0]), 0, 1.0, 0.0)
    results = replace(
        data.results,
        judged=replace(data.results.judged, corrected=[corrected]),
        stated=[StatedScore(*cell, 4, 0.75, 0.5, (item,))],
        repeats=[Repeats(*cell, 2, 3, estimate, estimate, estimate)],
    )
    data = replace(data, results=results)
    page, text = page_of(data), markdown.compose(data)
    shown = sections.sections(data)
    assert [one.name for one in shown] == ["judged", "stated", "differing", "repeats"]
    for made in shown:
        assert f'<section id="{made.name}"' in page
        assert [line for line in made.markdown() if line not in text] == []
        for row in made.rows:
            assert all(f">{escape(cell)}</t" in page for cell in row)
    assert all(f">{escape(cell)}</t" in page for row in sections.usage(data).rows for cell in row)


def test_a_first_run_says_nothing_of_calls_that_were_already_answered(data: ReportData) -> None:
    is_cached = pl.col("cached").is_null() & pl.col("cached").is_not_null()
    first = replace(
        data, replies=data.replies.with_columns(cached=is_cached), judged=data.judged.with_columns(cached=is_cached)
    )
    assert "Already answered" in sections.usage(data).names
    assert "Already answered" not in sections.usage(first).names


def test_equal_runs_have_equal_pages(data: ReportData) -> None:
    assert page_of(data) == page_of(data)


def test_the_cells_of_answer_and_chain_count_every_response(data: ReportData) -> None:
    (page,) = [one for one in explained.suites(data, MODELS) if one["name"] == "cot"]
    (shown,) = page["metrics"]
    (crossed,) = shown["crossings"]
    scores = data.scores.filter(metric="cot").filter(pl.col("status").is_in(["scored", "no_answer"]))
    for model in MODELS:
        own = scores.filter(model=model)
        assert sum(n for (name, _), n in crossed["n"].items() if name == model) == own.height
        for cell, reason in crossed["reasons"].items():
            assert crossed["n"][model, cell] == own.filter(pl.col("reason").str.starts_with(reason)).height, cell
    told = [json.loads(details)["first_wrong_step"] for details in scores["details"]]
    (first,) = [table for table in shown["tables"] if table.title.startswith("Step of the first")]
    assert (
        sum(int(cell.split()[0]) for row in first.rows for cell in row[1:])
        == sum(step is not None for step in told)
        > 0
    )
    assert [title for _, title in shown["parts"]][:2] == ["right answer and steps", "L1 final answer"]


def test_what_judges_said_of_citations_is_counted_by_judge(data: ReportData) -> None:
    (page,) = [one for one in explained.suites(data, MODELS) if one["name"] == "citation"]
    (shown,) = page["metrics"]
    right = next(table for table in shown["tables"] if table.title == "Is the answer right?")
    said: Counter[str] = Counter()
    for details in data.scores.filter(metric="citation", status="scored")["details"]:
        for own in json.loads(details)["judges"].values():
            said[(own.get("details") or {}).get("correctness") or ""] += 1
    labels = [column.name for column in right.columns[1:]]
    assert labels == ["CORRECT", "PARTIALLY_CORRECT", "INCORRECT"]
    counted = [sum(int(row[at].split()[0]) for row in right.rows) for at in (1, 2, 3)]
    assert counted == [said[label] for label in labels]
    for row in right.rows:
        own = [int(cell.split()[0]) for cell in row[1:]]
        assert [cell.split()[1] for cell in row[1:]] == [f"({percent(n / sum(own))})" for n in own]
    assert any("points nowhere" in table.caption for table in shown["tables"])


def _judges(data: ReportData) -> list[Row]:
    return explained.judges(data.results.judged.agreement, data.scores, data.items)


def test_a_judges_mean_is_over_what_it_was_asked_and_not_over_what_a_shortcut_settled(data: ReportData) -> None:
    settled = pl.col("details").str.replace_all(r'"n_calls": ?\d+', '"n_calls": 0')
    others = replace(data, scores=data.scores.with_columns(details=settled))
    before, after = ([row["n"] for page in _judges(one) for row in page["rows"]] for one in (data, others))
    assert min(before) > 0
    assert after == [0] * len(before)


def test_a_question_that_occurs_twice_counts_once_in_a_judges_mean(data: ReportData) -> None:
    def doubled(frame: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([frame, frame.with_columns(item_id=pl.col("item_id") + "x")])

    twice = replace(data, items=doubled(data.items), scores=doubled(data.scores))
    before, after = ([row["n"] for page in _judges(one) for row in page["rows"]] for one in (data, twice))
    assert after == before


@pytest.mark.parametrize("turned", [False, True])
def test_models_are_compared_as_configured_the_later_minus_the_earlier(tmp_path: Path, *, turned: bool) -> None:
    listed = settings().models[:: -1 if turned else 1]
    names = [model.name for model in listed]
    page = write_page(build(4, models=listed), tmp_path).read_text(encoding="utf-8")
    shown = page[page.index('<section id="comparison"') :]
    assert "B − A, points" in shown
    side = r'<td role="cell" data-label="[AB]">([^<]+) <span class="sub">([\d.]+)%</span></td>'
    found = re.findall(rf'{side}{side}\s*<td [^>]*class="num" data-v="([-\d.e]+)"', shown)
    assert {(a, b) for a, _, b, _, _ in found} == {(a, b) for n, a in enumerate(names) for b in names[n + 1 :]}
    for _, before, _, after, difference in found:
        assert 100 * float(difference) == pytest.approx(float(after) - float(before), abs=0.11)


def test_the_page_says_which_models_and_judges_there_were(data: ReportData) -> None:
    page = page_of(data)
    assert page.count("<li>digest: <code>c0ffee</code></li>") == len(MODELS)
    assert page.count("<li>digest: <code>decade</code></li>") == len(data.plan.judges)


def test_judged_scores_stand_by_metric_and_by_model_as_these_are_configured(data: ReportData) -> None:
    estimate = MeanEstimate(0.5, Interval(0.25, 0.75))
    means = [
        CorrectedMean("s", model, metric, "j", "en", 9, 7, estimate, estimate, None, 0)
        for metric in ("citation.support", "citation", "rubric")
        for model in reversed(MODELS)
    ]
    results = replace(data.results, judged=replace(data.results.judged, corrected=means))
    tables = sections.sections(replace(data, results=results))
    rows = next(table.rows for table in tables if table.name == "judged")
    names = [(model, metric) for model, _, metric, *_ in rows]
    cited = [(model, metric) for model in MODELS for metric in ("citation.support", "citation")]
    assert names == [*cited, *((model, "rubric") for model in MODELS)]
