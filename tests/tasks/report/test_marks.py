"""How numbers are written: once, from the unrounded value, halves upwards; colours go by the threshold."""

import re
import shutil
import subprocess
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.tasks.report import markdown, overview, pages
from basic_control.tasks.report.report_data import ReportData
from basic_control.tasks.report.text import percent, points, total_percent
from tests.tasks.report.runs import page_of


def on_paper(numerator: int, denominator: int) -> str:
    exact = Decimal(numerator) / Decimal(denominator) * 100
    return str(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))


@given(st.integers(1, 2000), st.floats(0, 1))
def test_a_share_is_rounded_as_on_paper(n: int, part: float) -> None:
    k = round(part * n)
    written = on_paper(k, n)
    assert percent(k / n) == written.removesuffix(".0") + "%"
    assert total_percent(100 * (k / n)) == f"{written}%"
    assert points(k / n) == (f"+{written}" if float(written) else "0")


def test_a_sixteenth_reads_the_same_everywhere() -> None:
    """6.25 %: half to even makes 6.2 of it, halves upwards 6.3."""
    assert (percent(0.0625), total_percent(6.25), points(0.0625)) == ("6.3%", "6.3%", "+6.3")
    assert points(-0.0625) == "−6.3"
    assert (percent(0.8125), percent(0.5625), percent(1.0), percent(0.0), percent(None)) == (
        "81.3%", "56.3%", "100%", "0%", "–",
    )  # fmt: skip


def test_the_goldens_have_one_decimal() -> None:
    listed = [(100, 90, 100, 100, 70, 100), (100, 100, 80, 90, 60, 90), (80, 70, 40, 80, 50, 70)]
    assert [total_percent(sum(one) / 6) for one in listed] == ["93.3%", "86.7%", "65.0%"]


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js here")
@pytest.mark.parametrize(("language", "point"), [("en", "."), ("ru", ",")])
def test_the_page_rounds_as_the_tables_do(language: str, point: str) -> None:
    text = pages.read("page.js") + pages.read("samples.js")
    found = re.findall(r"^const (?:shares|decimal) = .*;", text, re.MULTILINE)
    assert len(found) == 2
    page = f"const document = {{ documentElement: {{ lang: '{language}' }} }};"
    values = [k / n for n in (3, 7, 16, 32, 400, 2000) for k in range(n + 1)]
    script = f"{page} {' '.join(found)} console.log({values}.map((one) => shares(one)).join(' '))"
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [percent(value).replace(".", point) for value in values]


@given(st.floats(0, 1), st.floats(0.01, 1))
def test_a_cell_is_green_exactly_from_its_threshold_on(mean: float, threshold: float) -> None:
    number = int(overview.heat(mean, threshold)[1:])
    assert 0 <= number <= 10
    assert (number > overview.BELOW) == (mean >= threshold - 1e-9)


def test_colours_rise_with_the_mean() -> None:
    assert overview.heat(0.65, 0.8) == "h4"
    assert overview.heat(0.65, 0.6) == "h6"
    assert (overview.heat(1.0, 0.8), overview.heat(1.0, 1.0), overview.heat(0.0, 0.8)) == ("h10", "h10", "h0")
    assert (overview.heat(0.0, 0.0), overview.heat(None, 0.8)) == ("h6", "")
    order = [int(overview.heat(n / 200, 0.8)[1:]) for n in range(201)]
    assert order == sorted(order)


def test_each_total_is_the_same_in_both_reports(data: ReportData) -> None:
    text, page = markdown.compose(data), page_of(data)
    shown = [re.findall(r"\*\*([\d.]+%)\*\*", line) for line in text.splitlines() if line.startswith("| **")]
    totals = [found[-1] for found in shown if found]
    assert totals
    assert all(f'<b class="big">{one}</b>' in page for one in totals)
