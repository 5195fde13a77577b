"""Charts are plain shapes at the places that their values say, and whatever is named in them is text."""

import math
from xml.etree import ElementTree as ET

import pytest

from tasks.report import charts

HOSTILE = '<script>x()</script>" onload="x()\x07\u202e\n&amp;'


def drawn(svg: str) -> ET.Element:
    """Return the picture; it is well-formed, and holds nothing but shapes and texts."""
    root = ET.fromstring(svg)  # noqa: S314 - drawn a line above
    names = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()}
    assert names <= {"svg", "g", "rect", "line", "circle", "text", "polygon", "polyline"}
    assert not any(key.startswith("on") or key in {"href", "style"} for one in root.iter() for key in one.attrib)
    return root


def looks(root: ET.Element, name: str) -> list[dict[str, str]]:
    return [dict(one.attrib) for one in root.iter(f"{{http://www.w3.org/2000/svg}}{name}")]


def written(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter("{http://www.w3.org/2000/svg}text")]


def test_a_profile_puts_each_mean_and_interval_where_its_share_lies() -> None:
    rows = [
        {"model": m, "category": c, "threshold": 0.8, "mean": mean, "low": mean - 0.25, "high": mean + 0.25}
        for m, c, mean in (("a", "x", 0.5), ("b", "x", 0.25), ("a", "y", 0.75))
    ]
    root = drawn(charts.profile(rows, ["a", "b"], "en"))
    means = [one for one in looks(root, "circle") if one["r"] == "4.4"]
    assert [(one["cx"], one["fill"]) for one in means] == [
        ("280.0", "var(--series-1)"), ("140.0", "var(--series-2)"), ("420.0", "var(--series-1)"),
    ]  # fmt: skip
    intervals = [one for one in looks(root, "line") if one.get("opacity")]
    assert [(one["x1"], one["x2"]) for one in intervals] == [
        ("140.0", "420.0"),
        ("0.0", "280.0"),
        ("280.0", "560.0"),
    ]
    assert {one["x1"] for one in looks(root, "line") if one["stroke"] == "var(--ink-2)"} == {"448.0"}, "thresholds"


def test_a_curve_marks_the_observed_shares_by_their_number() -> None:
    band = [{"rung": n, "mean": 1 - n / 4, "low": 0.8 - n / 4, "high": 1.0} for n in (1, 2, 3)]
    points = [{"rung": 1, "share": 1.0, "n": 4}, {"rung": 3, "share": 0.0, "n": 1}]
    root = drawn(charts.falling(band, points, [1.0, 3.0], ["1", "2", "4"], label="l", x="steps", y="Share"))
    first, last = looks(root, "circle")
    assert (first["cy"], last["cy"]) == ("0.0", "180.0")
    assert float(first["r"]) == pytest.approx(math.sqrt(160 / math.pi), abs=0.05)
    (half,) = [one for one in looks(root, "line") if one["stroke"] == "var(--series-2)"]
    assert half["y1"] == half["y2"] == "90.0"


def test_names_are_text_on_one_line_and_long_ones_are_cut() -> None:
    long = "模型" * 60
    mean = {"threshold": 0.8, "mean": 0.5, "low": 0.25, "high": 0.75}
    rows = [{"model": m, "category": m, **mean} for m in (HOSTILE, long)]
    root = drawn(charts.profile(rows, [HOSTILE, long], "en"))
    said = written(root)
    assert any("<script>x()</script>" in one for one in said)
    assert not any(letter in one for one in said for letter in "\x07\u202e\n")
    cut = [one for one in said if one.startswith("模型")]
    assert [one.endswith("…") and len(one) < 30 for one in cut] == [True, True], "of the row, and of the legend"
    assert float(root.attrib["width"]) < 900
