"""What a team does with the report: links that show the same again, models side by side, samples taken along."""

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.conftest import UNFOLD, Open
from tests.tasks.report.runs import MODELS, build, outcomes, settings, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(os.environ.get("BASIC_CONTROL_AXE", "nowhere")) / "axe.min.js"
SHOWN = "document.querySelector('.sample').innerText"


def settled(page: "Page", act: Callable[[], object]) -> None:
    """Do something to the samples and wait until the list follows."""
    before = page.get_attribute("#browser", "data-ready")
    act()
    page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)


def copied(page: "Page", press: str) -> str:
    """Press a button that copies, and return what the clipboard then holds."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(press)
    page.wait_for_function("() => [...document.querySelectorAll('button')].some(b => b.textContent === 'Copied')")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_link_to_a_sample_shows_the_same_in_a_new_page(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    settled(page, lambda: page.select_option("#f-model", MODELS[1]))
    settled(page, lambda: page.select_option("#f-outcome", "wrong"))
    page.locator(".row").nth(3).click()
    shown = page.evaluate(SHOWN)
    link = copied(page, ".sample .steps button >> nth=0")
    assert link.startswith(page_file.as_uri() + "#samples?item=")
    other = visit(page_file, samples=False)
    other.goto(link)
    other.reload()
    other.wait_for_selector("#browser[data-ready]")
    assert other.evaluate(SHOWN).replace("\nCopied\n", "\nCopy link\n") == shown
    assert other.evaluate("document.activeElement.id") == "samples-h"


def test_filters_order_and_sample_stand_in_the_address_and_come_back(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    assert "#" not in page.url, "nothing was chosen yet"
    settled(page, lambda: page.select_option("#f-model", MODELS[2]))
    first = page.url
    settled(page, lambda: page.select_option("#f-category", "citation"))
    page.locator(".head [role=columnheader] button", has_text="Score").click()
    page.wait_for_function("() => location.hash.includes('sort=value')")
    page.locator(".row").nth(2).click()
    chosen, address = page.evaluate(SHOWN), page.url
    assert "category=citation" in address
    page.reload()
    page.wait_for_selector("#browser[data-ready]")
    assert (page.evaluate(SHOWN), page.url) == (chosen, address)
    head = page.locator(".head [role=columnheader]", has_text="Score")
    assert head.get_attribute("aria-sort") == "ascending"
    settled(page, page.go_back)
    settled(page, page.go_back)
    assert page.url == first
    assert page.input_value("#f-model") == MODELS[2]
    assert page.input_value("#f-category") == ""
    settled(page, page.go_back)
    assert page.input_value("#f-model") == "", "as it was opened"
    settled(page, page.go_forward)
    assert page.input_value("#f-model") == MODELS[2]


def test_a_link_to_a_sample_that_is_not_there_says_so(visit: Open, page_file: Path) -> None:
    page = visit(page_file, samples=False)
    page.goto(f"{page_file.as_uri()}#samples?item=0000&of=nobody&sort=nonsense&model=nobody")
    page.reload()
    page.wait_for_selector("#browser[data-ready]")
    assert "The linked sample is not on this page." in page.inner_text(".found")
    assert page.locator(".row").count() > 3


def test_prompt_and_reply_are_copied_as_they_are(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    settled(page, lambda: page.select_option("#f-category", "citation"))
    settled(page, lambda: page.select_option("#f-model", MODELS[0]))
    reply = data.replies.filter(model=MODELS[0], suite="citation").row(0, named=True)
    assert copied(page, "button[aria-label='Copy: Response']") == reply["text"]
    page.wait_for_function("() => ![...document.querySelectorAll('button')].some(b => b.textContent === 'Copied')")
    assert copied(page, "button[aria-label='Copy: Prompt']") == reply["prompt"]


def test_the_samples_that_are_listed_can_be_saved(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    settled(page, lambda: page.select_option("#f-model", MODELS[1]))
    settled(page, lambda: page.select_option("#f-outcome", "wrong"))
    wanted = outcomes(data).filter(model=MODELS[1], outcome="wrong")
    texts = {}
    for form in ("CSV", "JSONL"):
        with page.expect_download() as started:
            page.click(f".exports button:text-is('{form}')")
        assert started.value.suggested_filename == f"samples_20261105_140233.{form.lower()}"
        texts[form] = Path(started.value.path()).read_text(encoding="utf-8-sig")
    listed = [json.loads(line) for line in texts["JSONL"].splitlines()]
    rows = list(csv.DictReader(io.StringIO(texts["CSV"], newline="")))
    assert {row["item_id"] for row in listed} == set(wanted["item_id"])
    assert [row["item_id"] for row in rows] == [row["item_id"] for row in listed]
    replies = dict(data.replies.filter(model=MODELS[1]).select("item_id", "text").iter_rows())
    assert all(row["response"] == replies[row["item_id"]] for row in listed)
    assert [row["response"].lstrip("'") for row in rows] == [row["response"] for row in listed]
    assert {row["cut"] for row in listed} == {""}


def by_model(data: ReportData) -> pl.DataFrame:
    """Return each item's outcome and value by the first two models."""
    ours = outcomes(data).filter(pl.col("model").is_in(MODELS[:2]))
    return ours.pivot("model", index="item_id", values=["outcome", "value"])


@pytest.mark.slow
def test_two_models_stand_side_by_side_and_n_leads_to_the_next_disagreement(
    visit: Open, page_file: Path, data: ReportData
) -> None:
    page = visit(page_file)
    settled(page, lambda: page.click("#view-matrix"))
    for side, model in zip("ab", MODELS, strict=False):
        page.select_option(f"#side-{side}", label=model)
    assert page.get_attribute(".matrix", "aria-rowcount") == str(data.items.height + 1)
    wrong_counts = outcomes(data).group_by("item_id").agg(wrong=(~pl.col("outcome").is_in(["right"])).sum())
    worst = page.inner_text(".mline.row[aria-selected=true]")
    assert worst
    first = page.url
    names = [f"{side}_{model}" for side in ("outcome", "value") for model in MODELS[:2]]
    apart = {
        row["item_id"]
        for row in by_model(data).iter_rows(named=True)
        if (row[names[0]], row[names[2]]) != (row[names[1]], row[names[3]])
    }
    page.focus(".matrix")
    seen = []
    for _ in range(len(apart)):
        page.keyboard.press("n")
        assert page.inner_text(".sample h3") == "A and B differ"
        seen.append(page.inner_text(".sample .facts-line >> nth=0"))
    assert sorted(seen) == sorted(apart), "each once, then from the start"
    page.keyboard.press("p")
    assert page.inner_text(".sample .facts-line >> nth=0") == seen[-2]
    assert page.locator(".contrast mark").count() > 0
    n_wrong = dict(wrong_counts.iter_rows())
    order = [n_wrong[item] for item in seen[seen.index(max(seen, key=n_wrong.__getitem__)) :]]
    assert order == sorted(order, reverse=True), "wrong ones first"
    page.wait_for_function("address => location.href !== address", arg=first)
    link = copied(page, ".sample .steps button >> nth=0")
    other = visit(page_file, samples=False)
    other.goto(link)
    other.reload()
    other.wait_for_selector("#browser[data-ready]")
    assert other.inner_text(".sample .facts-line >> nth=0") == seen[-2]
    assert other.get_attribute("#view-matrix", "aria-pressed") == "true"
    settled(other, lambda: other.click(".contrast button:text-is('Open this sample') >> nth=1"))
    assert MODELS[1] in other.inner_text(".sample h3")


def test_a_comparison_leads_to_its_models_side_by_side(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.click(".side a[href='#comparison']")
    row = page.locator("#comparison tbody tr").nth(1)
    row.wait_for()  # the section unfolds
    pair = [row.locator("td").nth(at).inner_text().split("\n")[0].split(" ")[0] for at in (0, 1)]
    settled(page, row.locator("td a").last.click)
    chosen = [page.locator(f"#side-{side} option:checked").inner_text() for side in "ab"]
    assert chosen == pair


def test_a_model_of_one_has_no_one_to_stand_beside(visit: Open, tmp_path: Path) -> None:
    alone = build(1, models=settings().models[:1], suites=["basic_control"])
    page = visit(write_page(alone, tmp_path))
    assert page.locator("#view-matrix").count() == 0


@pytest.mark.parametrize("width", [1280, 360])
def test_the_total_comes_first_and_is_never_hidden(visit: Open, page_file: Path, width: int) -> None:
    page = visit(page_file, samples=False, viewport={"width": width, "height": 800})
    heads = page.locator(".headline thead th").all_inner_texts()
    assert heads[1].strip() == "TOTAL"
    assert "Overall" not in " ".join(heads), "it stands in the table of the verdict"
    box = page.locator("#categories .scroll").first
    if width == 1280:
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth"), "no horizontal scrolling"
    box.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    edge = box.evaluate("e => e.getBoundingClientRect().right")
    cell = page.locator(".headline tbody tr:first-child > :nth-child(2)")
    page.evaluate("scrollTo(0, 0)")
    cell.scroll_into_view_if_needed()
    assert cell.evaluate("e => e.getBoundingClientRect().right") <= edge
    on_top = """e => { const b = e.getBoundingClientRect();
      return document.elementFromPoint(b.x + b.width / 2, b.y + 12)?.closest('td') === e; }"""
    assert cell.evaluate(on_top), "in sight however far the table is scrolled"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "rules"), [("light", "{}"), ("dark", "{ runOnly: ['color-contrast', 'link-in-text-block'] }")]
)
def test_axe_finds_nothing_serious(visit: Open, page_file: Path, scheme: str, rules: str) -> None:
    """In the whole page with the samples as a list, and in the samples as a grid; dark, the colours differ."""
    if not AXE.is_file():
        pytest.skip("no axe-core is named in BASIC_CONTROL_AXE (.ci/run installs it)")
    page = visit(page_file, color_scheme=scheme, bypass_csp=True)
    page.evaluate(UNFOLD)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    run = f"where => axe.run(where, {{ resultTypes: ['violations'], ...{rules} }})"
    found = page.evaluate(run, "html")["violations"]
    settled(page, lambda: page.click("#view-matrix"))
    found += page.evaluate(run, "#samples")["violations"]
    serious = [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]
    assert not serious


def test_one_screen_comes_first_and_the_rest_unfolds_where_it_is_asked_for(visit: Open, page_file: Path) -> None:
    page = visit(page_file, samples=False)
    folds = "[...document.querySelectorAll('details.fold')]"
    assert page.evaluate(f"{folds}.length") > 6
    assert page.evaluate(f"{folds}.some(one => one.open)") is False
    for seen in ("#verdict .standings", "#categories .headline", "#categories svg.chart", "#samples"):
        assert page.locator(seen).first.is_visible(), seen
    table = page.locator("#judges table").first
    assert not table.is_visible()
    page.click(".side a[href='#judges']")
    table.wait_for(state="visible")
    page.click("#judges summary")
    table.wait_for(state="hidden")
    page.click(".side a[href='#judges']")  # also where the address is the same
    table.wait_for(state="visible")
    other = visit(page_file, samples=False)
    other.goto(f"{page_file.as_uri()}#operations")
    other.reload()
    other.locator("#operations table").first.wait_for(state="visible")
    other.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert other.evaluate(f"{folds}.every(one => one.open)"), "on paper nothing is folded"
    other.evaluate("dispatchEvent(new Event('afterprint'))")
    assert other.evaluate(f"{folds}.filter(one => one.open).length") == 1
