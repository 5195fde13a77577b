"""One run and one browser for all tests of the reports."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tasks.report import html
from tasks.report.report_data import ReportData
from tests.tasks.report.runs import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Page"]
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="session")
def data() -> ReportData:
    """Return a run of three models, four suites, every status."""
    return build(4)


@pytest.fixture(scope="session")
def page_file(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run's report."""
    return html.write(data, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    """Return a browser; skip where none is installed.

    Of this package only: Playwright keeps an event loop running in the thread, and no other test could run one.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not path:
        pytest.skip("no Chromium is installed here (apt-get install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: "Browser") -> Iterator[Open]:
    """Return a function that opens a report, with its samples unpacked unless `samples=False`.

    At the end of the test nothing may have been said on the console, raised, asked of the network, or shown as a
    dialog.
    """
    contexts = []
    heard: list[str] = []
    opened: list[str] = []

    def open_(path: Path, *, samples: bool = True, **options: Any) -> "Page":
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("dialog", lambda dialog: heard.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: opened.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        if samples:
            page.locator("#samples").scroll_into_view_if_needed()
            page.wait_for_selector("#browser[data-ready]")
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not heard
    assert not opened, "something was asked of the network"
