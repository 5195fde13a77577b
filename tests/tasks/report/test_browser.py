"""The HTML report in a real browser."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from basic_control.config.settings import Model
from basic_control.metrics.analysis.document import document as document_of
from basic_control.metrics.analysis.document import read
from basic_control.tasks.plan import resolve
from basic_control.tasks.report import html
from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.conftest import UNFOLD, Open
from tests.tasks.report.runs import MODELS, build, in_language, outcomes, settings, write_page
from tests.tasks.report.screens import tickets

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = (
    "<script>window.ran=1</script><img src=x onerror=window.ran=1><svg onload=window.ran=1>"
    '</script><script>window.ran=1</script><!-- --><a href="javascript:window.ran=1">x</a>'
    "\"'`{{ 7*7 }}${7*7} \u2028 \u2029 \u202egnp.exe\u202c \x1b[31mred\x1b[0m \x07 &lt;b&gt; \U000e0041 </pre>"
)


def settled(page: "Page", act: str, *arguments: str) -> None:
    """Do something to a filter and wait until the list follows."""
    before = page.get_attribute("#browser", "data-ready")
    getattr(page, act)(*arguments)
    page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)


def found(page: "Page") -> int:
    """Return the number of samples that the list says it holds."""
    shown = re.match(r"([\d,]+) of", page.inner_text(".found"))
    assert shown
    return int(shown[1].replace(",", ""))


def test_it_opens_without_a_word_on_the_console_or_a_request(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    assert "20261105_140233" in page.title()
    assert page.locator("h1").inner_text() == "Basic tasks, Chain of thought, Citations and RAG"
    assert page.locator(".banner").inner_text()
    assert page.locator("svg.chart").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_of_one_suite_a_score_stands_once(visit: Open, tmp_path: Path, scheme: str) -> None:
    """No table of categories, no chart of them: the verdict's table says it all; families have the seed's."""
    page = visit(write_page(build(4, suites=["citation"]), tmp_path / "one"), color_scheme=scheme)
    assert page.locator("#categories, a[href='#categories']").count() == 0
    score = page.locator(".standings .big").first.inner_text()
    assert page.locator("#verdict .standings").inner_text().count(score) == 1
    page = visit(write_page(build(4, suites=["basic_control"]), tmp_path / "families"), color_scheme=scheme)
    assert page.locator("#categories .heatmap").is_visible()
    assert page.locator("#categories svg").count() == 0
    assert "TOTAL" in page.locator("#categories .about").inner_text()


@pytest.mark.parametrize("score", [None, ["exact_match", "contains"]])
def test_the_categories_stand_where_they_say_more_than_the_scores(
    visit: Open, tmp_path: Path, score: list[str] | None
) -> None:
    """A mean of two metrics does not say what each came to; scores by their own thresholds say all."""
    metrics = ("exact_match", "contains")
    suite = {"metrics": {name: {} for name in metrics}, "threshold": 0.5, **({"score": score} if score else {})}
    shares = {(model, metric): 0.6 for model in ("a", "b") for metric in (*metrics, "all")}
    page = visit(write_page(tickets(tmp_path, suite, ["a", "b"], shares), tmp_path), samples=False)
    categories = page.locator("#categories")
    assert categories.count() == int(score is not None)
    assert categories.filter(has_text="TOTAL").count() == 0


def test_filters_leave_what_the_tables_say(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    every = outcomes(data).join(data.items.select("item_id", "suite", "family"), on="item_id")
    assert found(page) == every.height
    settled(page, "select_option", "#f-model", MODELS[1])
    own = every.filter(model=MODELS[1])
    assert found(page) == own.height
    settled(page, "select_option", "#f-category", "basic_control/arithmetic")
    arithmetic = own.filter(family="arithmetic")
    assert found(page) == arithmetic.height
    settled(page, "select_option", "#f-outcome", "wrong")
    assert found(page) == arithmetic.filter(outcome="wrong").height
    settled(page, "click", ".filters button")
    for outcome in every["outcome"].unique():
        settled(page, "select_option", "#f-outcome", outcome)
        assert found(page) == every.filter(outcome=outcome).height, outcome


def test_search_finds_texts_and_marks_them(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    settled(page, "fill", "#f-search", "MOON IS made of")
    said = data.replies.filter(pl.col("text").str.contains("moon is made of")).height
    assert found(page) == said > 0
    assert page.locator("#browser pre mark").first.inner_text() == "moon is made of"
    settled(page, "fill", "#f-search", "([nowhere")
    assert found(page) == 0
    assert page.locator(".rows").inner_text() == "No sample matches."


@pytest.mark.slow
def test_search_finds_what_judges_said(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    settled(page, "fill", "#f-search", "gpt-judge looked and found 3")
    said = data.scores.filter(pl.col("details").str.contains("gpt-judge looked and found 3"))
    about = data.judged.filter(pl.col("text").str.contains("gpt-judge looked and found 3"))
    models = about.select("item_id", model="subject")
    both = pl.concat([said.select("item_id", "model"), models]).unique()
    assert found(page) == both.height > 0


def test_the_list_sorts_by_its_heads(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.click(".columns summary")
    page.check(".columns input[value=latency]")
    page.click(".columns summary")
    head = page.locator(".head [role=columnheader]", has_text="Seconds")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    times = [float(t) for t in page.locator(".row").locator("[role=gridcell]:last-child").all_inner_texts()[:8]]
    assert times == sorted(times)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    latest = float(page.locator(".row [role=gridcell]:last-child").first.inner_text())
    assert latest >= max(times)


@pytest.mark.slow
def test_tables_sort_from_the_keyboard(visit: Open, page_file: Path) -> None:
    page = visit(page_file, samples=False)
    head = page.locator(".heatmap thead th").nth(1)
    head.locator("button").focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    shown = page.locator("#categories tbody tr td:nth-child(2)").evaluate_all("all => all.map(td => +td.dataset.v)")
    assert shown == sorted(shown, reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"


def test_a_cell_of_the_heat_map_leads_to_its_samples(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    link = f"#categories a[href='{html.address(model=MODELS[2], category='cot')}']"
    assert page.locator(link).count() == 2, "the score, and what stands beside it"
    settled(page, "click", f"{link} >> nth=0")
    assert page.input_value("#f-model") == MODELS[2]
    assert found(page) == data.scores.filter(model=MODELS[2], metric="cot").height


def test_a_sample_shows_everything_about_it(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file)
    settled(page, "select_option", "#f-category", "citation")
    settled(page, "select_option", "#f-model", MODELS[0])
    shown = page.locator(".sample")
    reply = data.replies.filter(model=MODELS[0], suite="citation").row(0, named=True)
    for text in (
        reply["item_id"],
        reply["text"][:60],
        "interpretability",
        "ENTAILMENT",
        "Judge gpt-judge",
        "looked",
    ):
        assert text in shown.inner_text(), text
    page.click(".sample summary:has-text('What the judges replied')")
    assert "verdict" in shown.locator("details:has-text('What the judges replied') dt").all_inner_texts()
    assert '{"' not in shown.inner_text(), "no raw dictionary"
    assert f"latency {reply['latency_s']:.3f} s" in shown.inner_text()
    assert page.locator(".chips button").count() == 2


@pytest.mark.slow
def test_the_contexts_of_a_reply_stand_beside_what_it_claims(
    visit: Open, page_file: Path, data: ReportData
) -> None:
    page = visit(page_file)
    settled(page, "select_option", "#f-category", "rag")
    facts = json.loads(data.items.filter(suite="rag").row(0, named=True)["facts"])
    first_context, *_ = facts["retrieved_contexts"]
    text = first_context if isinstance(first_context, str) else first_context["text"]
    contrast = page.locator(".sample .contrast").inner_text()
    assert "context 1" in contrast.casefold()
    assert text[:40] in contrast


@pytest.mark.slow
def test_of_several_scores_the_lowest_is_called_so(visit: Open, tmp_path: Path, data: ReportData) -> None:
    plan = data.plan
    changed = [
        replace(suite, suite=suite.suite.model_copy(update={"score": None, "threshold": 0.5}))
        for suite in plan.suites
    ]
    page = visit(write_page(replace(data, plan=replace(plan, suites=tuple(changed))), tmp_path))
    assert "lowest score" in page.locator(".line.head").inner_text().casefold()
    settled(page, "select_option", "#f-category", "rag")
    heading = page.locator(".sample h3").inner_text()
    assert "factual_correctness" in heading or "response_groundedness" in heading


@pytest.mark.slow
def test_the_first_wrong_step_of_a_chain_is_marked_and_told(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    settled(page, "select_option", "#f-category", "cot")
    settled(page, "fill", "#f-search", "Two and two")
    shown = page.locator(".sample .first-error")
    assert shown.locator("mark").inner_text().startswith("Two and two")
    assert re.search(r"step \d: 2 \+ 2 = 5, which should be 4", shown.inner_text())


def drench(data: ReportData, text: str) -> ReportData:
    """Return the run with a text wherever a model, judge or data set writes, and in a model's name."""
    name = f"evil {text}"

    def over(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
        return frame.with_columns(pl.when(pl.col(n).is_not_null()).then(pl.lit(text)).alias(n) for n in names)

    def renamed(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.with_columns(pl.col("model").replace(MODELS[1], name))

    facts = json.dumps({text: text})
    details = json.dumps({"judges": {text: {"value": 0.5, "reason": text, "details": {text: [{text: text}]}}}})
    scores = renamed(over(data.scores, "reason")).with_columns(details=pl.lit(details))
    given = settings(models=[Model(name=n, provider="ollama") for n in (MODELS[0], name, MODELS[2])])
    document = json.dumps(document_of(data.results, data.verdict)).replace(json.dumps(MODELS[1]), json.dumps(name))
    results, verdict = read(json.loads(document))
    return replace(
        data,
        plan=resolve(given),
        items=over(data.items, "prompt", "answer", "template").with_columns(facts=pl.lit(facts)),
        replies=renamed(over(data.replies, "text", "reasoning", "error_kind", "finish_reason")),
        judged=over(data.judged, "text", "step"),
        scores=scores,
        summary=renamed(data.summary),
        results=results,
        verdict=verdict,
        manifest={
            **data.manifest,
            "run": f"run {text}",
            "commit": text,
            "identities": {name: {text: text}},
            "versions": {text: text},
        },
    )


def test_hostile_texts_run_nothing_and_show_as_text(visit: Open, data: ReportData, tmp_path: Path) -> None:
    path = write_page(drench(data, HOSTILE), tmp_path)
    written = path.read_text(encoding="utf-8").lower()
    chunks = re.findall('<script type="application/json" id="(?:rows|items)-[0-9]+"', written)
    assert written.count("<script") - len(chunks) == 4, "words, index, labels, and what runs"
    page = visit(path)
    for line in range(3):
        page.locator(".row").nth(line).click()
        page.evaluate(UNFOLD)
    shown = page.locator(".sample pre").first.inner_text()
    assert "<script>window.ran=1</script><img src=x onerror=window.ran=1>" in shown
    assert "{{ 7*7 }}${7*7}" in shown
    assert "⟦U+202E⟧gnp.exe⟦U+202C⟧" in shown
    assert "⟦U+001B⟧[31mred" in shown
    assert "⟦U+2028⟧" in shown
    assert "⟦U+E0041⟧" in shown
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, a[href^='javascript'], .sample script, main svg[onload]").count() == 0
    unseen = "[\\u202a-\\u202e\\u2066-\\u2069\\u2028\\u001b]"
    assert page.evaluate(f"new RegExp('{unseen}').test(document.querySelector('main').innerText)") is False
    settled(page, "fill", "#f-search", "<img src=x")
    assert found(page) == data.replies.height
    assert page.evaluate("window.ran") is None


def test_the_policy_stops_what_would_get_in(chromium: "object", page_file: Path) -> None:
    """A second line of defence: an element that did get in is not run, and not styled."""
    page = chromium.new_page()  # pyrefly: ignore[missing-attribute] # the browser, whose type comes late
    page.goto(page_file.as_uri())
    page.evaluate(
        """() => {
          const script = document.createElement('script'); script.textContent = 'window.ran = 1';
          const image = document.createElement('div');
          image.innerHTML = '<img src="http://127.0.0.1:9/x.png" onerror="window.ran=2">'
            + '<b style="color: red">x</b>';
          document.body.append(script, image);
        }"""
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") is None
    assert page.evaluate("getComputedStyle(document.querySelector('body > div > b')).color") != "rgb(255, 0, 0)"
    page.close()


@pytest.mark.slow
def test_everything_can_be_done_from_the_keyboard(visit: Open, page_file: Path, data: ReportData) -> None:
    page = visit(page_file, samples=False)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("#samples").scroll_into_view_if_needed()
    page.wait_for_selector("#browser[data-ready]")
    page.focus(".grid")
    for key, place in (
        ("ArrowDown", 1),
        ("ArrowDown", 2),
        ("ArrowUp", 1),
        ("End", data.replies.height - 1),
        ("Home", 0),
    ):
        page.keyboard.press(key)
        chosen = page.locator(".row[aria-selected=true]")
        assert chosen.get_attribute("aria-rowindex") == str(place + 2), key
        assert page.get_attribute(".grid", "aria-activedescendant") == chosen.get_attribute("id")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.className") == "sample"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Tab")
    assert page.evaluate(outline) != "none", "what has the focus is seen to have it"


def luminance(colour: str) -> float:
    """Return the relative luminance of a computed colour (WCAG 2)."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_either_theme(visit: Open, page_file: Path, scheme: str) -> None:
    """WCAG AA: 4.5 : 1 between a text and what lies behind it."""
    page = visit(page_file, color_scheme=scheme)
    page.evaluate(UNFOLD)
    ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (ground < 0.1) is (scheme == "dark")
    pairs = page.evaluate(
        """() => [...document.querySelectorAll('main *, header *, nav *')]
          .filter(e => e.offsetParent && !e.closest('svg') && !e.disabled)
          .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
          .map(e => {
            const none = 'rgba(0, 0, 0, 0)';
            let at = e, behind = none;
            while (at && behind === none) {
              behind = getComputedStyle(at).backgroundColor;
              at = at.parentElement;
            }
            return [getComputedStyle(e).color, behind, e.className, e.textContent.slice(0, 40)]; })"""
    )
    assert len(pairs) > 300
    for ink, behind, name, text in pairs:
        one, other = sorted((luminance(ink), luminance(behind)), reverse=True)
        assert (one + 0.05) / (other + 0.05) >= 4.5, (ink, behind, name, text)


@pytest.mark.slow
def test_the_theme_can_be_chosen_and_is_kept(visit: Open, page_file: Path) -> None:
    page = visit(page_file, samples=False, color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: dark"
    dark = page.evaluate(ground)
    assert luminance(dark) < 0.1 < luminance(light)
    page.click("#theme")
    assert page.evaluate(ground) == light
    page.click("#theme")
    assert page.locator("#theme").inner_text() == "Theme: auto"


@pytest.mark.slow
def test_it_fits_any_width(visit: Open, page_file: Path) -> None:
    page = visit(page_file, viewport={"width": 360, "height": 800})
    page.evaluate(UNFOLD)
    for width in (360, 800, 1280, 1900):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_on_a_telephone_cards_and_a_judges_details_end_within_it(visit: Open, page_file: Path) -> None:
    page = visit(page_file, viewport={"width": 360, "height": 800})
    settled(page, "select_option", "#f-category", "rag")
    page.evaluate(UNFOLD)
    boxes = "[...document.querySelectorAll('main .scroll:has(> .stack), .sample dd')]"
    cut = page.evaluate(f"{boxes}.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.innerText)")
    assert not cut
    heights = page.evaluate("[...document.querySelectorAll('.stack td > .big')].map(value => value.offsetHeight)")
    assert max(heights) < 30, "a number stands on one line"


@pytest.mark.slow
def test_in_russian_it_fits_a_telephone(visit: Open, data: ReportData, tmp_path: Path) -> None:
    page = visit(write_page(in_language(data, "ru"), tmp_path), viewport={"width": 360, "height": 800})
    page.evaluate(UNFOLD)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_a_screen_reader_finds_names_and_landmarks(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    for landmark in ("banner", "navigation", "main", "search"):
        assert page.get_by_role(landmark).count() == 1, landmark
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, a, [role=grid], [role=img], section')]
          .filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
          .filter(e => !e.getAttribute('aria-labelledby'))
          .map(e => e.outerHTML.slice(0, 100))"""
    )
    assert nameless == []
    assert page.evaluate("[...document.querySelectorAll('th')].filter(th => !th.scope).length") == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_without_scripts_every_number_is_there(visit: Open, page_file: Path) -> None:
    page = visit(page_file, samples=False, java_script_enabled=False)
    assert page.locator("#categories tbody tr").count() == 3
    assert "Scripts are off" in page.locator("noscript").first.inner_text()
    assert not page.locator("#browser").is_visible()


@pytest.mark.slow
def test_on_paper_there_are_no_controls(visit: Open, page_file: Path) -> None:
    page = visit(page_file)
    page.emulate_media(media="print")
    for gone in ("nav.side", "#samples", "#theme"):
        assert not page.locator(gone).is_visible()
    assert page.locator("#categories").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [False, True])
def test_on_paper_it_is_light_whatever_the_screen_is(visit: Open, page_file: Path, chosen: bool) -> None:  # noqa: FBT001 - a column
    page = visit(page_file, color_scheme="light" if chosen else "dark")
    if chosen:
        page.click("#theme")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert luminance(page.evaluate(ground)) < 0.1
    page.emulate_media(media="print")
    assert luminance(page.evaluate(ground)) > 0.9


@pytest.mark.slow
def test_in_russian_the_page_speaks_russian(visit: Open, data: ReportData, tmp_path: Path) -> None:
    page = visit(write_page(in_language(data, "ru"), tmp_path))
    assert page.get_attribute("html", "lang") == "ru"
    assert page.locator("h1").inner_text().startswith("Базовые задания, ")
    words = page.locator("h2, h3, thead th, label > :first-child, nav a").all_text_contents()
    assert sum(bool(re.search("[а-яё]", word.lower())) for word in words) > 0.6 * len(words)
    assert page.inner_text(".found").startswith("Примеров:")
    shown = page.locator("#verdict, #categories, .list").all_inner_texts()
    assert all(re.search(r"\d,\d%", text) for text in shown[:2])
    assert not any(re.search(r"\d\.\d%", text) for text in shown), "a decimal comma everywhere"
    assert "Ошибка" in shown[0]
    page.evaluate(UNFOLD)
    assert re.search(r"задержка \d+,\d{3} с ", page.inner_text(".sample"))
    assert "14,2 с" in page.inner_text("#facts")


@pytest.mark.slow
def test_a_link_to_a_suites_only_family_leads_to_that_suite(visit: Open, page_file: Path, data: ReportData) -> None:
    (family,) = data.items.filter(suite="cot")["family"].unique()
    page = visit(page_file)
    link = html.address(model=MODELS[2], category=f"cot/{family}")
    settled(page, "evaluate", "to => { location.hash = to }", link)
    assert page.input_value("#f-category") == "cot"
    assert found(page) == data.scores.filter(model=MODELS[2], metric="cot").height
