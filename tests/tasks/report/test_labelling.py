"""Replies are labelled in the page from the keyboard, and what it saves is the sheet's own file."""

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from basic_control.tasks.judges.labels import estimates, join_judged, read_labels
from basic_control.tasks.report.exports import write_csv
from basic_control.tasks.report.labelling import draw_rows, list_judged_replies
from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.conftest import Open

if TYPE_CHECKING:
    from playwright.sync_api import Page


def begun(visit: Open, page_file: Path) -> "Page":
    page = visit(page_file, samples=False)
    page.click(".side a[href='#label']")
    page.locator("#desk button").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#desk[data-at='0']")
    return page


def saved(page: "Page") -> bytes:
    with page.expect_download() as waiting:
        page.keyboard.press("s")
    assert waiting.value.suggested_filename == "labels.csv"
    return Path(waiting.value.path()).read_bytes()


def test_an_unlabelled_page_saves_the_sheet_to_the_byte(
    visit: Open, page_file: Path, data: ReportData, tmp_path: Path
) -> None:
    sheet = draw_rows(list_judged_replies(data))
    assert sheet is not None
    assert saved(begun(visit, page_file)) == write_csv(sheet, tmp_path / "labels.csv").read_bytes()


def test_labels_are_given_from_the_keyboard_and_read_back(
    visit: Open, page_file: Path, data: ReportData, tmp_path: Path
) -> None:
    page = begun(visit, page_file)
    assert page.evaluate("document.activeElement.className") == "desk"
    for key in ("y", "n", "h", "y", "ArrowLeft", "Backspace", "ArrowRight", "n"):
        page.keyboard.press(key)
    assert "4 labelled" in page.inner_text("#desk .status")
    page.fill("#label-number", "0.25")
    page.keyboard.press("Enter")
    rows = list(csv.DictReader(io.StringIO(saved(page).decode("utf-8-sig"))))
    assert [row["label"] for row in rows[:7]] == ["1", "0", "0.5", "", "0", "0.25", ""]
    (tmp_path / "labels.csv").write_bytes(saved(page))
    texts = data.replies.select("item_id", "model", "repeat", response="text")
    found = join_judged(data.scores, data.items, texts)
    assert sum(one.powered.n_labels for one in estimates(found, read_labels(tmp_path / "labels.csv"))) == 5
    kept = [
        *map(json.loads, page.evaluate("JSON.parse(localStorage[`labels ${document.title}`]).map(([one]) => one)"))
    ]
    first = rows[0]
    assert kept[0] == [first["suite"], first["model"], first["metric"], first["item_id"], int(first["repeat"])]
    page.reload()
    page.click("#desk button")
    page.wait_for_selector("#desk[data-at='3']")
    assert "5 labelled" in page.inner_text("#desk .status")


def test_the_page_shows_what_the_row_is_about(visit: Open, page_file: Path, data: ReportData) -> None:
    page = begun(visit, page_file)
    sheet = draw_rows(list_judged_replies(data))
    assert sheet is not None
    row = sheet.row(0, named=True)
    shown = page.inner_text("#desk .card")
    assert row["metric"] in shown
    assert " ".join(row["response"].split())[:40] in " ".join(shown.split())
