"""Charts of the HTML report: Vega-Lite to static SVG, cleaned to plain shapes in the colours of the page's theme.

The specifications are written as Vega-Lite reads them: importing a layer over it costs more than drawing.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from markupsafe import Markup

from data.characters import visible
from tasks.report.drawing import painting
from tasks.report.words import say
from tasks.runtime.storage import cache_folder

SERIES = 8
"""Colours that can be told apart; the page's style sheet has them as --series-1 and so on."""

MOST_KEPT = 200
"""Charts that are remembered for later reports, in the user's cache folder; some 10 kB each."""

_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle"})
_ATTRIBUTES = frozenset(
    """width height viewBox transform d x y x1 x2 y1 y2 dx dy cx cy r rx fill fill-opacity stroke stroke-width
    stroke-opacity stroke-dasharray stroke-linecap stroke-miterlimit opacity text-anchor dominant-baseline
    font-size font-weight""".split()  # noqa: SIM905 - names read as words
)

Row = Mapping[str, Any]
Spec = dict[str, Any]


def clean(svg: str, label: str) -> Markup:
    """Return an SVG with nothing left but shapes, texts and their looks, as an image with a label.

    Raises:
        ValueError: the text is no SVG.
    """
    try:
        root = ET.fromstring(svg)  # noqa: S314 - written by vl-convert a moment ago
    except ET.ParseError as error:
        raise ValueError(f"a chart that is no SVG: {error}") from error
    if root.tag != f"{{{_SVG}}}svg":
        raise ValueError(f"a chart that is no SVG: <{root.tag}>")
    kept = _kept(root)
    kept.attrib.update({"role": "img", "aria-label": label, "class": "chart"})
    return Markup(ET.tostring(kept, encoding="unicode"))  # noqa: S704 - elements and attributes of a short list only


def _kept(element: ET.Element) -> ET.Element:
    name = element.tag.removeprefix(f"{{{_SVG}}}")
    looks = {key: value for key, value in element.attrib.items() if key in _ATTRIBUTES and "url(" not in value}
    copy = ET.Element(name, looks)
    copy.text = element.text
    for child in element:
        if isinstance(child.tag, str) and child.tag.removeprefix(f"{{{_SVG}}}") in _ELEMENTS:
            copy.append(_kept(child))
    return copy


def missing() -> str:
    """Name the package that charts need where it is not installed; '' when they can be drawn."""
    from importlib.util import find_spec

    return "" if find_spec("vl_convert") else "vl-convert-python"


_BARE = {"ticks": False, "domain": False}
_LOOKS: Spec = {
    "background": "transparent",
    "padding": {"left": 28, "right": 12, "top": 4, "bottom": 4},
    "axis": {
        "labelColor": "var(--ink-2)",
        "titleColor": "var(--ink-2)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line-2)",
        "tickColor": "var(--line-2)",
        "labelLimit": 260,
        "titleFontWeight": "normal",
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink-2)",
        "orient": "top",
        "labelLimit": 320,
        "columns": 4,
        "titleFontWeight": "normal",
        "columnPadding": 24,
    },
    "header": {"labelColor": "var(--ink)", "titleColor": "var(--ink-2)", "labelFontWeight": "bold"},
    "view": {"stroke": None},
}


def _render(chart: Spec, label: str) -> Markup:
    """Draw a chart, or take it from those drawn before; raises ValueError where Vega cannot.

    Starting Vega costs half a second, more than all stages of a cached run.
    """
    spec = {**_readable(chart), "config": _LOOKS}
    name = hashlib.sha256(f"{version('vl-convert-python')} {json.dumps(spec)}".encode()).hexdigest()
    kept = cache_folder() / "charts" / f"{name}.svg"
    with suppress(OSError, ValueError):
        return clean(kept.read_text(encoding="utf-8"), label)
    with painting() as painter:
        svg = painter.draw(spec)
    drawn = clean(svg, label)
    with suppress(OSError):
        _keep(svg, kept)
    return drawn


def _keep(svg: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(svg, encoding="utf-8")
    fresh.replace(path)
    for old in sorted(path.parent.glob("*.svg"), key=lambda one: one.stat().st_mtime)[:-MOST_KEPT]:
        old.unlink(missing_ok=True)


def _readable(value: Any) -> Any:
    """Return a specification whose texts Vega's own language can hold: it cannot read U+2028 and its like."""
    if isinstance(value, Mapping):
        return {key: _readable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(entry) for entry in value]
    return visible(value) if isinstance(value, str) else value


def _data(rows: Sequence[Row]) -> Spec:
    return {"data": {"values": list(rows)}}


def _amount(name: str, **more: Any) -> Spec:
    return {"field": name, "type": "quantitative", **more}


def _names(name: str, order: Sequence[str], **more: Any) -> Spec:
    return {"field": name, "type": "nominal", "sort": list(order), **more}


def _colours(name: str, order: Sequence[str], palette: Sequence[str] = ()) -> Spec:
    listed = list(palette) or [f"var(--series-{n % SERIES + 1})" for n in range(len(order))]
    return _names(name, order, title=None, scale={"domain": list(order), "range": listed})


def profile(rows: Sequence[Row], models: Sequence[str], language: str) -> Markup:
    """Draw means and intervals by category; a row has model, category, its threshold, mean, low, high."""
    categories = list(dict.fromkeys(row["category"] for row in rows))
    scale = {"scale": {"domain": [0, 1]}}
    axis = {"format": "%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
    common = {
        "y": _names("category", categories, title=None, axis={**_BARE, "labelPadding": 8}),
        "yOffset": _names("model", models),
        "color": _colours("model", models),
    }
    limit = {
        **_data([{"category": c, "at": at} for c, at in {r["category"]: r["threshold"] for r in rows}.items()]),
        "mark": {"type": "tick", "thickness": 1.5, "color": "var(--ink-2)"},
        "encoding": {"x": _amount("at", **scale), "y": common["y"]},
    }
    lines = {
        **_data(rows),
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
        "encoding": {
            "x": _amount("low", **scale, title=say("score", language), axis=axis),
            "x2": {"field": "high"},
            **common,
        },
    }
    points = {
        **_data(rows),
        "mark": {"type": "circle", "size": 60, "opacity": 1},
        "encoding": {"x": _amount("mean", **scale), **common},
    }
    height = {"step": max(11 * len(models) + 8, 24), "for": "position"}
    return _render({"layer": [limit, lines, points], "width": 560, "height": height}, say("profile", language))


_GRADES = {1: ("good",), 2: ("good", "bad"), 3: ("good", "fair", "bad"), 4: ("good", "fair", "bad", "none")}
"""What so few parts are drawn as, by their number."""


def bars(rows: Sequence[Row], *, label: str, parts: Sequence[str], share: str) -> Markup:
    """Draw, for each row's `model`, how its `n` divide among `label`s: one bar each, to 100 %."""
    colours = [f"var(--{grade})" for grade in _GRADES.get(len(parts), ())]
    models = list(dict.fromkeys(row["model"] for row in rows))
    chart = {
        **_data([{**row, "rank": list(parts).index(row["label"])} for row in rows]),
        "mark": {"type": "bar", "size": 18},
        "encoding": {
            "x": _amount("n", stack="normalize", title=share, axis={"format": "%", "tickCount": 5}),
            "y": _names("model", models, title=None, axis=_BARE),
            "color": _colours("label", parts, colours),
            "order": _amount("rank"),
        },
        "width": 360,
        "height": {"step": 30},
    }
    return _render(chart, label)


def counts(rows: Sequence[Row], models: Sequence[str], *, label: str, x: str, y: str) -> Markup:
    """Draw counts `n` at each `label`, side by side for each `model`."""
    places = list(dict.fromkeys(row["label"] for row in rows))
    chart = {
        **_data(rows),
        "mark": {"type": "bar"},
        "encoding": {
            "x": _names("label", places, title=x, axis={"labelAngle": 0}),
            "xOffset": _names("model", models),
            "y": _amount("n", title=y, axis={"tickMinStep": 1, "format": "d"}),
            "color": _colours("model", models),
        },
        "width": 560,
        "height": 200,
    }
    return _render(chart, label)


def ranges(rows: Sequence[Row], *, label: str, title: str) -> Markup:
    """Draw p5 to p95 as a line, the middle half as a bar and the median as a tick, for each row's `model`."""
    y = {"y": _names("model", [row["model"] for row in rows], title=None, axis=_BARE)}
    whole = {
        "mark": {"type": "rule", "color": "var(--series-1)", "strokeWidth": 1.5},
        "encoding": {
            "x": _amount("p5", title=title, scale={"zero": True, "nice": True}, axis={"tickCount": 6}),
            "x2": {"field": "p95"},
            **y,
        },
    }
    half = {
        "mark": {"type": "bar", "color": "var(--series-1)", "size": 12, "opacity": 0.45},
        "encoding": {"x": _amount("p25"), "x2": {"field": "p75"}, **y},
    }
    middle = {
        "mark": {"type": "tick", "color": "var(--ink)", "thickness": 2, "size": 16},
        "encoding": {"x": _amount("p50"), **y},
    }
    chart = {**_data(rows), "layer": [whole, half, middle], "width": 520, "height": {"step": 30}}
    return _render(chart, label)


def falling(
    band: Sequence[Row], points: Sequence[Row], ends: Sequence[float], values: Sequence[str],
    *, label: str, x: str, y: str,
) -> Markup:  # fmt: skip
    """Draw a curve over the rungs of a scale, with its band, observed shares, and the interval of one half.

    A row of `band` has rung, mean, low, high; of `points` rung, share and n, its area. `ends` are the interval's;
    `values` name the rungs.
    """
    names = json.dumps(list(values), ensure_ascii=True)
    across = {
        "title": x,
        "scale": {"domain": [0.5, len(values) + 0.5], "nice": False},
        "axis": {
            "values": list(range(1, len(values) + 1)),
            "labelExpr": f"{names}[datum.value - 1]",
            "grid": False,
        },
    }
    up = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    half = [{"low": ends[0], "high": ends[1], "at": 0.5}]
    layers = [
        {
            **_data(band),
            "mark": {"type": "area", "color": "var(--series-1)", "opacity": 0.22, "interpolate": "monotone"},
            "encoding": {
                "x": _amount("rung", **across), "y": _amount("low", title=y, **up), "y2": {"field": "high"},
            },
        },
        {
            **_data(band),
            "mark": {"type": "line", "color": "var(--series-1)", "strokeWidth": 2, "interpolate": "monotone"},
            "encoding": {"x": _amount("rung", **across), "y": _amount("mean", **up)},
        },
        {
            **_data(half),
            "mark": {"type": "rule", "color": "var(--series-2)", "strokeWidth": 4, "opacity": 0.8},
            "encoding": {"x": _amount("low", **across), "x2": {"field": "high"}, "y": _amount("at", **up)},
        },
        {
            **_data(points),
            "mark": {"type": "circle", "color": "var(--ink)", "opacity": 0.75},
            "encoding": {
                "x": _amount("rung", **across),
                "y": _amount("share", **up),
                "size": _amount("n", scale={"range": [12, 160]}, legend=None),
            },
        },
    ]  # fmt: skip
    return _render({"layer": layers, "width": 320, "height": 180}, label)
