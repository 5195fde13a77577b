"""The curve of a deciding judge's confidence, in a real browser."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.helpers.deciding import configure
from tests.helpers.runs import latest
from tests.servers.deciding import DecidingServer
from tests.servers.running import serve
from tests.tasks.report.conftest import UNFOLD, Open


def lean(state: str, instructions: str, labels: list[str]) -> Mapping[str, float]:
    """Be as sure as the hash of the question says, and right or wrong by it."""
    digest = hashlib.sha256(f"{state} {instructions}".encode()).digest()
    sure = 0.4 + 0.6 * digest[1] / 255
    remainder = (1 - sure) / (len(labels) - 1)
    return {label: sure if n == digest[0] % len(labels) else remainder for n, label in enumerate(labels)}


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_the_curve_fits_and_says_what_it_shows(run: Run, tmp_path: Path, visit: Open, width: int) -> None:
    server = DecidingServer(lean)
    with serve(server.build()) as url:
        file = configure(tmp_path, url, "decisions")
        run(str(file), "--judge", "small", "--n", "20", command="exam", apart=True)
        run(str(file), apart=True)
    (report,) = (latest(tmp_path) / "reports").glob("*.html")
    page = visit(report, samples=False, viewport={"width": width, "height": 900})
    page.evaluate(UNFOLD)
    chart = page.locator("#judges svg.chart.small").first
    chart.scroll_into_view_if_needed()
    labels = chart.locator("text").all_text_contents()
    assert {"confidence", "right", "0%", "50%", "100%"} <= {*labels}
    frame = chart.bounding_box()
    assert frame is not None
    for mark in chart.locator("circle, text").all():
        box = mark.bounding_box()
        assert box is not None
        assert frame["x"] - 1 <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1, "nothing is cut off"
        assert frame["y"] - 1 <= box["y"]
    assert chart.locator("circle").count() == 10
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
