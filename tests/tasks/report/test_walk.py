"""One walk through the report as a reader takes it, at three widths, light or dark, over one page for all."""

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request

from basic_control.flows.cli import viewing
from basic_control.tasks.compare.comparison import compare_runs
from basic_control.tasks.report import comparison
from basic_control.tasks.store.tables import write_atomically
from tests.helpers.recorded import recorded_run, suite, written
from tests.tasks.report.conftest import Open
from tests.tasks.report.runs import prompts_run, write_page

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZES = {"telephone": (390, 844), "laptop": (1280, 900), "screen": (1920, 1080)}
TARGETS = ["large [steps]", "large [plain]", "small [steps]", "small [plain]"]
WHOLE = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of two models by two prompts."""
    folder = tmp_path_factory.mktemp("walk")
    return write_page(prompts_run(folder), folder)


def settled(page: "Page", act: str, *arguments: Any) -> None:
    """Do something and wait until the list follows."""
    before = page.get_attribute("#browser", "data-ready")
    getattr(page, act)(*arguments)
    page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)


def column(page: "Page", name: str) -> list[str]:
    """Return what the list's first rows have in a column."""
    heads = page.locator(".head [role=columnheader]").evaluate_all("all => all.map(one => one.dataset.name)")
    cells = page.locator(f".row [role=gridcell]:nth-child({heads.index(name) + 1})").all_inner_texts()
    return [cell.strip() for cell in cells]


IN_SIGHT = """() => [...document.querySelectorAll('#desk .criterion, #desk .chips, #desk pre')].every(one => {
  const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; })"""


@pytest.mark.parametrize(("size", "scheme"), [*zip(SIZES, ("dark", "light", "dark"), strict=True)])
def test_a_reader_walks_from_the_answer_to_the_samples(visit: Open, walked: Path, size: str, scheme: str) -> None:
    width, height = SIZES[size]
    page = visit(walked, samples=False, viewport={"width": width, "height": height}, color_scheme=scheme)
    answers = page.locator(".answers li").all_inner_texts()
    assert "'steps'" in answers[0], "prompts are compared first"
    assert page.locator(".standings tbody th").all_inner_texts() == TARGETS, "no model whose prompts are under test"
    page.keyboard.press("/")
    page.wait_for_function("() => document.activeElement.id === 'f-search'")
    assert page.evaluate(WHOLE)
    the_list(page)
    keys(page)
    the_grid(page)
    assert page.evaluate(WHOLE)
    labels(page, all_in_sight=size != "telephone")


def the_list(page: "Page") -> None:
    """Columns, filters, a metric, texts, and reasons."""
    settled(page, "fill", "#f-search", "what is 17 + 2?")
    assert page.locator(".row").count() == 4, "the questions are searched as well"
    settled(page, "click", ".filters > button")
    page.locator(".columns summary").click()
    for name in ("number", "outcome", "model", "question", "expected", "response", "value", "reason"):
        page.set_checked(f".columns input[value={name}]", name not in {"model", "reason"})
    page.locator(".columns summary").click()
    assert column(page, "number")[:3] == ["1", "2", "3"]
    assert column(page, "question")[0] == "What is 0 + 2?"
    assert column(page, "expected")[0] == "2"
    page.click(".head [data-name=question] button")
    page.wait_for_function("() => location.hash.includes('sort=question')")
    assert column(page, "number")[:5] == ["1"] * 4 + ["2"]
    settled(page, "select_option", "#f-metric", "rubric")
    settled(page, "select_option", "#f-model", TARGETS[0])
    settled(page, "select_option", "#f-outcome", "partial")
    assert set(column(page, "value")) <= {"25%", "50%", "75%"}
    assert re.search(r"rating · [234]: A bare number <b>is</b> not friendly\.", page.inner_text(".sample"))
    assert '{"' not in page.inner_text(".sample")
    assert "Think step by step." in page.inner_text(".sample pre >> nth=0"), "of its own prompt, not the first"
    settled(page, "click", ".filters > button")
    settled(page, "select_option", "#f-differs", "yes")
    assert column(page, "number")
    settled(page, "select_option", "#f-differs", "")


def keys(page: "Page") -> None:
    """Keys work wherever the focus is, but where something is typed."""
    page.locator("body").evaluate("one => { document.activeElement.blur(); }")
    chosen = ".row[aria-selected=true]"
    first = page.get_attribute(chosen, "aria-rowindex")
    page.keyboard.press("j")
    page.wait_for_function(
        "n => document.querySelector('.row[aria-selected=true]').getAttribute('aria-rowindex') !== n", arg=first
    )
    page.keyboard.press("k")
    page.wait_for_function(
        "n => document.querySelector('.row[aria-selected=true]').getAttribute('aria-rowindex') === n", arg=first
    )
    shown = page.inner_text(".sample .facts-line >> nth=0")
    page.keyboard.press("n")
    page.wait_for_function(
        "old => document.querySelector('.sample .facts-line')?.innerText !== old"
        " && document.querySelector('.sample .chips')",
        arg=shown,
    )
    outcomes = page.locator(".sample .chips button, .sample h3").all_inner_texts()
    assert len(outcomes) == 4


def the_grid(page: "Page") -> None:
    """Texts in the cells, whole heads, a row that unfolds, differences marked."""
    settled(page, "click", "#view-matrix")
    heads = page.locator(".mline.head [role=columnheader]").all_inner_texts()
    assert [head.split("\n")[:2] for head in heads[1:]] == [
        [prompt, model] for model in ("large", "small") for prompt in ("steps", "plain")
    ]
    assert "Think step by step." in heads[1]
    assert "%" in heads[1]
    page.wait_for_function("() => document.querySelector('.mline.row').innerText.includes('First I add.')")
    row = page.locator(".mline.row").first
    folded = row.evaluate("one => one.offsetHeight")
    row.click()
    page.wait_for_selector(".mline.row.open")
    assert page.locator(".mline.row.open").evaluate("one => one.offsetHeight") > folded
    tops = "all => all.map(one => [one.offsetTop, one.offsetTop + one.offsetHeight])"
    places = page.locator(".mline.row").evaluate_all(tops)
    assert all(one[1] <= other[0] + 1 for one, other in pairwise(places)), "none lies on another"
    assert page.locator(".mline.differs").count() > 0
    page.locator("body").evaluate("one => { document.activeElement.blur(); }")
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('.sample h3')?.innerText === 'A and B differ'")
    settled(page, "click", "#view-list")


def labels(page: "Page", *, all_in_sight: bool) -> None:
    """What is asked, the question and the reply are seen at once, and keys label."""
    page.click(".side a[href='#label']")
    page.click("#desk button")
    page.wait_for_selector("#desk[data-at]")
    assert "It is friendly." in page.inner_text("#desk .criterion")
    if all_in_sight:
        page.wait_for_function(IN_SIGHT)
    page.keyboard.press("u")
    for n in range(10):
        page.keyboard.press("yn"[n % 2])
    assert "10 labelled" in page.inner_text("#desk .status")
    assert "30 more: ±" in page.inner_text("#desk .card")


@pytest.fixture(scope="module")
def still_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the pages of two runs: the one that compares them, and the index."""
    folder = tmp_path_factory.mktemp("still")
    parts: dict[str, Any] = {"metrics": {"exact_match": {}, "contains": {}}, "score": ["exact_match", "contains"]}
    for name, wrong in (("20260101_before", 0), ("20260102_after", 8)):
        rows = [
            {"question": f"What is {n}?", "answer": f"It is {n}.", "response": "no" if n < wrong else f"It is {n}."}
            for n in range(20)
        ]
        report = {"report": {"name": "a name that is as long as names are"}}
        recorded_run(folder, name, [suite(written(folder / f"{name}.jsonl", rows), **parts)], **report)
    runs = folder / "runs"
    found = compare_runs(["20260101_before", "20260102_after"], runs=runs)
    index = bytes(viewing.Pages(runs).index(Request({"type": "http", "query_string": b""})).body).decode()
    made = {"comparison": comparison.html(found), "index": index}
    return {name: write_atomically(folder / f"{name}.html", text) for name, text in made.items()}


@pytest.mark.parametrize(("size", "scheme"), [*zip(SIZES, ("dark", "light", "light"), strict=True)])
def test_the_pages_beside_the_report_are_read_at_every_width(
    visit: Open, still_pages: dict[str, Path], size: str, scheme: str
) -> None:
    width, height = SIZES[size]
    look = {"samples": False, "viewport": {"width": width, "height": height}, "color_scheme": scheme}
    page = visit(still_pages["comparison"], **look)
    assert page.evaluate(WHOLE)
    first = page.locator(".answer").first.bounding_box()
    assert first, "the answer is seen first"
    assert first["y"] < height / 2
    assert page.locator("details").count() == 8, "what changed is listed once, by the score"
    sides = page.locator("details[open] .contrast").first.locator("> div")
    (left, right) = (sides.nth(n).bounding_box() for n in range(2))
    assert left
    assert right
    assert (left["y"] == right["y"]) == (size != "telephone"), "side by side where there is room"
    assert max(left["x"] + left["width"], right["x"] + right["width"]) <= width
    assert "exact_match: another text; contains: a text is missing" in sides.nth(1).inner_text()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(20, 23, 26)" if scheme == "dark" else "rgb(251, 251, 250)")
    page = visit(still_pages["index"], **look)
    assert page.evaluate(WHOLE)
    assert all("a name that is as long as names are" in row for row in page.locator(".run").all_inner_texts())
    for side, name in (("before", "20260101_before"), ("after", "20260102_after")):
        page.check(f"input[name={side}][value='{name}']")
    button = page.locator(".comparing button").first.bounding_box()
    assert button, "the button is on the page, whatever its width"
    assert button["x"] + button["width"] <= width
