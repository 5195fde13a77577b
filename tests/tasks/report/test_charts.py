"""Charts are plain shapes at the places that their values say, and whatever is named in them is text."""

from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

from basic_control.metrics.stats.intervals import Interval, MeanEstimate
from basic_control.tasks.report import overview, pages

HOSTILE = '<script>x()</script>" onload="x()\x07\u202e\n&amp;'


def drawn(name: str, *told: object) -> ET.Element:
    """Return what a macro draws; it is well-formed, and holds nothing but lists, shapes and texts."""
    made = str(getattr(pages.environment().get_template("charts.html.j2").module, name)(*told))
    root = ET.fromstring(f"<div>{made}</div>")  # noqa: S314 - drawn a line above
    names = {element.tag for element in root.iter()}
    assert names <= {"div", "ul", "li", "svg", "g", "line", "circle", "text"}
    assert not any(key.startswith("on") or key in {"href", "style"} for one in root.iter() for key in one.attrib)
    return root


def looks(root: ET.Element, name: str, **wanted: str) -> list[dict[str, str]]:
    found = (dict(one.attrib) for one in root.iter(name))
    return [one for one in found if all(one.get(key) == value for key, value in wanted.items())]


def heat_map(*titles: str) -> dict[str, Any]:
    """Return two suites' categories, in which two models have a mean of a half and of a quarter."""
    columns = [overview.HeatColumn(title, f"s{n}", "", "m", 0.8) for n, title in enumerate(titles)]
    rows = []
    for model, mean in (("a", 0.5), ("b", 0.25)):
        cell = SimpleNamespace(value=MeanEstimate(mean, Interval(mean - 0.25, mean + 0.25)))
        rows.append({"model": model, "cells": [cell] * len(titles)})
    return {"columns": columns, "rows": rows, "unmeasured": {("b", "s1", "m")}}


def test_a_profile_puts_each_mean_and_interval_where_its_share_lies() -> None:
    root = drawn("profile", overview.profile(heat_map("x", "y"), ["a", "b"]), "Profile", "Score")
    means = looks(root, "circle", r="4.4")
    assert [(one["cx"], one["fill"]) for one in means] == [
        ("280.0", "var(--series-1)"), ("140.0", "var(--series-2)"), ("280.0", "var(--series-1)"),
    ], "of y the second model's judges do not count"  # fmt: skip
    intervals = [(one["x1"], one["x2"], one["stroke"]) for one in looks(root, "line", **{"class": "around"})]
    assert intervals[:2] == [("140.0", "420.0", "var(--series-1)"), ("0.0", "280.0", "var(--series-2)")]
    assert {one["x1"] for one in looks(root, "line", **{"class": "limit"})} == {"448.0"}, "thresholds"
    assert [one.tail for one in root.iter("svg") if one.tail] == [" a", " b"]


def test_of_one_suite_there_is_no_profile() -> None:
    assert overview.profile(heat_map("x"), ["a", "b"]) is None


def test_names_are_text_on_one_line_and_long_ones_are_cut() -> None:
    long = "模型" * 60
    root = drawn("profile", overview.profile(heat_map(HOSTILE, long), ["a", "b"]), HOSTILE, "Score")
    said = [one.text or "" for one in root.iter("text")]
    assert any(one.startswith("<script>x") for one in said)
    assert not any(letter in one for one in said for letter in "\x07\u202e\n")
    (cut,) = [one for one in said if one.startswith("模型")]
    assert "…" in cut
    assert len(cut) < 30
    (picture,) = looks(root, "svg", **{"class": "chart"})
    assert float(picture["width"]) < 1000
