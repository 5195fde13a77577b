"""Samples in chunks: how they are cut and packed, and that the page does with many what it does with one."""

import base64
import csv
import gzip
import io
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from basic_control.tasks.report import chunks, samples
from basic_control.tasks.report.report_data import ReportData
from tests.benchmarks.report import MODELS, many
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import outcomes, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ALL, SIZE = 240, 40
"""Samples of the run here and of its chunks: six of samples, two of its 60 questions."""
_RIGHT = {"value": 1.0, "status": "scored"}
NEEDLE = "() => document.querySelector('.sample').innerText.includes('the needle in the')"


@pytest.fixture(scope="module")
def run() -> ReportData:
    """Return a run of four models with short replies, the last of which stands out."""
    data = many(ALL, words=12)
    last = pl.int_range(pl.len()) == pl.len() - 1
    said = pl.when(last).then(pl.lit("the needle in the last chunk")).otherwise("text").alias("text")
    # Right ones: those that are wrong come first in the list.
    key = ["item_id", "model", "repeat"]
    scores = data.scores.join(
        data.replies.tail(2).select(*key, is_last=True), on=key, how="left", maintain_order="left"
    )
    right = [pl.when("is_last").then(pl.lit(value)).otherwise(name).alias(name) for name, value in _RIGHT.items()]
    scores = scores.with_columns(right).drop("is_last")
    return replace(data, replies=data.replies.with_columns(said), scores=scores)


@pytest.fixture(scope="module")
def pages(run: ReportData, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the run's report in chunks, and in one."""
    there = tmp_path_factory.mktemp("chunks")
    return {
        "page": write_page(run, there / "page", size=SIZE),
        "one": write_page(run, there / "one"),
    }


def cut(data: ReportData, size: int = chunks.SIZE) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the index and the chunks by name, as the page's script sees them."""
    found = chunks.Chunks(samples.frames(data), size=size)
    read = {}
    for one in found:
        text = gzip.decompress(base64.b64decode(one.text)).decode() if one.encoding == "gzip" else one.text
        read[one.name] = json.loads(text)
    index: dict[str, Any] = json.loads(chunks.inline(found.index()))
    return index, read


def test_every_sample_is_packed_with_its_scores(data: ReportData) -> None:
    """Whatever the chunks: no sample, score or judge's reply is lost, or told of another sample."""
    index, found = cut(data, 50)
    rows, starts = index["rows"], index["starts"]
    assert len(rows["item"]) == data.replies.height
    assert starts["rows"][:3] == [0, 50, 100]
    assert len(starts["rows"]) == sum(name.startswith("rows-") for name in found) > 2
    replies = {(row["item_id"], row["model"]): row for row in data.replies.iter_rows(named=True)}
    values = {(r["item_id"], r["model"], r["metric"]): r["value"] for r in data.scores.iter_rows(named=True)}
    n_scores = n_judged = 0
    for number, start in enumerate(starts["rows"]):
        chunk = found[f"rows-{number}"]

        def key(row: int, start: int = start) -> tuple[str, str]:
            at = start + row
            return index["items"]["id"][rows["item"][at]], rows["model"]["of"][rows["model"]["at"][at]]

        for row, text in enumerate(chunk["text"]):
            assert text == replies[key(row)]["text"]
        for metric in chunk["metrics"]:
            for row, value in zip(metric["row"], metric["value"], strict=True):
                assert value == pytest.approx(values[(*key(row), metric["name"])], abs=1e-6)
                n_scores += 1
        n_judged += len(chunk["judged"]["row"])
    assert n_scores == data.scores.height
    assert n_judged == data.judged.height, "each judge's reply is about a sample"


def test_packed_text_cannot_end_its_element() -> None:
    text = chunks.inline({"a": "</script><!--<script>\u2028\u2029"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--<script>\u2028\u2029"}


def test_a_chunk_of_long_texts_holds_fewer_and_a_text_that_is_cut_says_so(run: ReportData) -> None:
    long = pl.lit("a" * (chunks.WEIGHT // 4)).alias("text")
    longest = pl.lit("b" * (chunks.LONGEST + 7)).alias("reasoning")
    first = pl.int_range(pl.len()) == 0
    changed = run.replies.with_columns(long, pl.when(first).then(longest).otherwise(None).alias("reasoning"))
    index, found = cut(replace(run, replies=changed))
    sizes = [b - a for a, b in zip(index["starts"]["rows"], index["starts"]["rows"][1:], strict=False)]
    assert set(sizes[1:]) == {3}, "four of them and what stands beside are more than a chunk's weight"
    assert len(found["rows-0"]["reasoning"][0]) == chunks.LONGEST
    assert found["rows-0"]["reasoning_whole"][0] == chunks.LONGEST + 7
    assert sum(len(one["text"]) for name, one in found.items() if name.startswith("rows-")) == ALL


def test_questions_are_told_apart_without_the_instructions_that_they_share(run: ReportData) -> None:
    """What is skipped counts as the page's script counts, which takes an emoji for two."""
    prompts = pl.concat_str(pl.lit("Answer in a word. 🙂\nThe question:\n"), pl.lit("What  is "), "item_id")
    _, found = cut(replace(run, items=run.items.with_columns(prompt=prompts)))
    asked = found["items-0"]
    told = [
        text.encode("utf-16-le")[2 * begins :].decode("utf-16-le")
        for text, begins in zip(asked["prompt"], asked["begins"], strict=True)
    ]
    assert told == [f"What  is {item}" for item in run.items["item_id"]]


def settled(page: "Page", act: Callable[[], object]) -> None:
    """Do something to the samples and wait until the list follows."""
    before = page.get_attribute("#browser", "data-ready")
    act()
    page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)


@pytest.mark.slow
def test_many_chunks_do_what_one_does(visit: Open, pages: dict[str, Path], run: ReportData) -> None:
    """Filter, sort, search, step, link, matrix and export go over all chunks."""
    page = visit(pages["page"])
    assert page.evaluate("document.querySelectorAll('[id^=rows-], [id^=items-]').length") in (0, 8)
    assert page.inner_text(".found") == f"{ALL} of {ALL} samples"
    page.focus(".grid")
    page.keyboard.press("End")
    page.wait_for_function(NEEDLE)
    assert page.locator(".row[aria-selected=true]").get_attribute("aria-rowindex") == str(ALL + 1)
    page.wait_for_function("() => document.querySelector('.row[aria-selected=true]').innerText.includes('needle')")
    assert page.locator(".row").count() < 60, "only what can be seen is in the page"
    page.wait_for_function("() => location.hash.includes('item=')")
    last = page.url
    settled(page, lambda: page.fill("#f-search", "NEEDLE in the last"))
    assert page.inner_text(".found") == f"1 of {ALL} samples"
    assert page.locator(".sample mark").first.inner_text() == "needle in the last"
    settled(page, lambda: page.click(".filters button"))
    texts = run.replies["text"] + "\n" + run.replies["prompt"]
    for part in (run.replies["text"][0][3:9], run.items["prompt"][0][:12].upper()):
        settled(page, partial(page.fill, "#f-search", part))
        n = texts.str.to_lowercase().str.contains(part.lower(), literal=True).sum()
        assert n < ALL
        assert page.inner_text(".found") == f"{n} of {ALL} samples"
        settled(page, lambda: page.click(".filters button"))
    right = outcomes(run).filter(outcome="right").height
    settled(page, lambda: page.select_option("#f-outcome", "right"))
    assert page.inner_text(".found") == f"{right} of {ALL} samples"
    page.click(".columns summary")
    page.check(".columns input[value=latency]")
    page.click(".columns summary")
    page.locator(".head [role=columnheader] button", has_text="Seconds").click()
    with page.expect_download() as started:
        page.click(".exports button:text-is('CSV')")
    saved = Path(started.value.path()).read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(saved, newline="")))
    times = [float(row["latency_s"]) for row in rows]
    assert times == sorted(times)
    shown = ("prompt", "text", "request_id")
    replies = {(r["item_id"], r["model"]): [r[name] for name in shown] for r in run.replies.iter_rows(named=True)}
    assert len(rows) == right
    said = ("prompt", "response", "request_id")
    assert all([row[name] for name in said] == replies[row["item_id"], row["model"]] for row in rows)
    page.goto(last)
    page.reload()
    page.wait_for_selector("#browser[data-ready]")
    assert "the needle in the last chunk" in page.inner_text(".sample")
    page.focus(".sample .steps button:text-is('Previous')")
    page.keyboard.press("Enter")
    before = run.replies.row(-2, named=True)["text"]
    page.wait_for_function("text => document.querySelector('.sample').innerText.includes(text)", arg=before)


def test_an_address_that_is_asked_for_right_after_a_click_is_shown(visit: Open, pages: dict[str, Path]) -> None:
    """What was clicked is written into the address a moment later: not over one that was asked for meanwhile."""
    page = visit(pages["page"])
    page.focus(".grid")
    page.keyboard.press("End")
    page.wait_for_function("() => location.hash.includes('item=')")
    last = page.evaluate("location.hash")
    settled(page, lambda: page.select_option("#f-outcome", "right"))
    page.evaluate("() => { window.due = []; window.setTimeout = (act) => due.push(act); }")
    page.locator(".head [role=columnheader] button").first.click()
    page.wait_for_function("() => due.length")
    page.evaluate("hash => { location.hash = hash; for (const act of due) act(); }", last)
    page.wait_for_function(NEEDLE)
    assert page.evaluate("location.hash") == last


@pytest.mark.slow
def test_every_disagreement_is_reached_over_all_chunks(
    visit: Open, pages: dict[str, Path], run: ReportData
) -> None:
    page = visit(pages["page"])
    settled(page, lambda: page.click("#view-matrix"))
    ours = outcomes(run).filter(pl.col("model").is_in(MODELS[:2])).pivot("model", index="item_id", values="value")
    apart = set(ours.filter(pl.col(MODELS[0]) != pl.col(MODELS[1]))["item_id"])
    page.select_option("#side-a", label=MODELS[0])
    page.select_option("#side-b", label=MODELS[1])
    page.focus(".matrix")
    replies = {(r["item_id"], r["model"]): r["text"] for r in run.replies.iter_rows(named=True)}
    seen = set()
    for _ in apart:
        shown = page.inner_text(".sample .facts-line >> nth=0")
        page.keyboard.press("n")
        page.wait_for_function(
            "old => document.querySelector('.contrast')"
            " && document.querySelector('.sample .facts-line').innerText !== old",
            arg=shown,
        )
        item = page.inner_text(".sample .facts-line >> nth=0")
        both_texts = page.locator(".contrast > div > pre").all_inner_texts()
        assert both_texts == [replies[item, model] for model in MODELS[:2]]
        seen.add(item)
    assert seen == apart
    page.wait_for_function("() => document.querySelector('.mline.row .asked').innerText.includes(' ')")


def test_samples_are_looked_at_while_the_rest_of_the_page_is_read(
    chromium: "Browser", pages: dict[str, Path]
) -> None:
    """The first samples are shown before the last are there: the list does not wait for the page's end."""
    go_on = threading.Event()
    text = pages["page"].read_bytes()
    half = text.index(b'id="rows-3"')

    class Slow(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text[:half])
            self.wfile.flush()
            go_on.wait(60)
            self.wfile.write(text[half:])

        def log_message(self, *_: Any, **__: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=partial(server.serve_forever, 0.05), daemon=True).start()
    page = chromium.new_page()
    page.goto(f"http://127.0.0.1:{server.server_port}/#samples?", wait_until="commit")
    page.wait_for_selector("#browser[data-ready]")
    assert page.evaluate("document.readyState") == "loading"
    page.focus(".grid")
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.sample').innerText.startsWith('Reading')")
    go_on.set()
    page.wait_for_function(NEEDLE)
    page.close()
    server.shutdown()
    server.server_close()
