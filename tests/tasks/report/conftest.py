"""One run and one browser for all tests of the reports."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.runs import build, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

Open = Callable[..., "Page"]
UNFOLD = "for (const one of document.querySelectorAll('details')) one.open = true"


@pytest.fixture(scope="session")
def data() -> ReportData:
    """Return a run of three models, four suites, every status."""
    return build(4)


@pytest.fixture(scope="session")
def page_file(data: ReportData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run's report."""
    return write_page(data, tmp_path_factory.mktemp("report"))


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


@pytest.fixture(scope="package")
def tab(chromium: "Browser") -> Iterator["Page"]:
    """Return one page for many tests: each context of its own would start a process that draws."""
    with chromium.new_context() as context:
        yield context.new_page()


@pytest.fixture
def visit(chromium: "Browser", tab: "Page") -> Iterator[Open]:
    """Return a function that opens a report, with its samples unpacked unless `samples=False`.

    At the end of the test nothing may have been said on the console, raised, asked of the network, or shown as a
    dialog. `tab` is opened first, further pages beside it; what is to be set for a context gets one of its own.
    """
    used: list[Page] = []
    heard: list[str] = []
    opened: list[str] = []
    hear: dict[Any, Callable[[Any], None]] = {
        "console": lambda message: heard.append(f"console: {message.text}"),
        "pageerror": lambda error: heard.append(f"error: {error}"),
        "dialog": lambda dialog: heard.append(f"dialog: {dialog.message}"),
        "request": lambda request: opened.append(request.url),
    }
    own: list[str] = []

    def open_(
        path: Path,
        *,
        samples: bool = True,
        viewport: "ViewportSize | None" = None,
        color_scheme: Any = "light",
        **options: Any,
    ) -> "Page":
        if options:
            page = chromium.new_context(**options).new_page()
        else:
            page = tab.context.new_page() if tab in used else tab
        page.goto("about:blank")
        page.set_viewport_size(viewport or {"width": 1280, "height": 900})
        page.emulate_media(media="null", color_scheme=color_scheme)
        page.set_default_timeout(20_000)
        if page not in used:
            used.append(page)
            for event, listener in hear.items():
                page.on(event, listener)
        own.append(path.as_uri())
        page.goto(path.as_uri())
        if samples:
            page.locator("#samples").scroll_into_view_if_needed()
            page.wait_for_selector("#browser[data-ready]")
        return page

    yield open_
    for page in used:
        for event, listener in hear.items():
            page.remove_listener(event, listener)
        _leave(page, tab)
    assert not heard
    assert {url.partition("#")[0] for url in opened} <= {*own}, "something was asked of the network"


def _leave(page: "Page", tab: "Page") -> None:
    """Close a page, or leave the one that stays as it was found."""
    if page is tab:
        page.evaluate("localStorage.clear()")
        page.context.clear_permissions()
    elif page.context is tab.context:
        page.close()
    else:
        page.context.close()
