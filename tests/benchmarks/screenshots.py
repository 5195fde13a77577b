"""Take the pictures of the report that README.md and docs/report.md show, from what `basic-control demo` writes.

Run `python -m tests.benchmarks.screenshots` (Chromium is needed); writes docs/images/report-*.png.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from tests.conftest import TOP

if TYPE_CHECKING:
    from playwright.sync_api import Page

IMAGES = TOP / "docs" / "images"
WIDTH, HEIGHT = 1280, 1160
CATEGORY = "basic_control/code_gen"


def settle(page: "Page", control: str, value: str) -> None:
    """Choose a filter's value and wait until the list follows."""
    before = page.get_attribute("#browser", "data-ready")
    page.select_option(control, value)
    page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)


def take(page: "Page", report: Path) -> None:
    """Take the first screen, and a sample of those that were wrong."""
    page.goto(report.as_uri())
    page.screenshot(path=IMAGES / "report-overview.png")
    page.locator("#samples").scroll_into_view_if_needed()
    page.wait_for_selector("#browser[data-ready]")
    settle(page, "#f-category", CATEGORY)
    page.locator("#browser .row").filter(has_text="hasty").filter(has_text="wrong").first.click()
    page.locator("#samples").screenshot(path=IMAGES / "report-samples.png")


def main() -> None:
    """Run the demo and take the pictures."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [sys.executable, "-m", "basic_control", "demo", "--folder", folder]
        subprocess.run(command, cwd=TOP, check=True)
        (report,) = Path(folder).glob("runs/*/reports/*.html")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        take(browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}), report)
        browser.close()


if __name__ == "__main__":
    main()
