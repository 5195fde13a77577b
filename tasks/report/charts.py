"""Charts of the HTML report: static SVG in the colours of the page's theme, which need no engine and no script.

A row of data is a mapping; what names it holds is said by each chart. All texts are escaped here.
"""

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from markupsafe import Markup

from data.characters import visible
from tasks.report.words import say

SERIES = 8
"""Colours that can be told apart; the page's style sheet has them as --series-1 and so on."""

INK, SOFT, LINE = "var(--ink)", "var(--ink-2)", "var(--line)"
FONT = 11
LETTER = 0.56
"""The width of a letter in font sizes, a little more than the mean; a wide one (Chinese) takes a whole."""
WIDEST_NAME = 260.0
"""Pixels that a name beside a bar may take; longer ones are cut."""
GAP = 8.0

Row = Mapping[str, Any]
Ticks = Sequence[tuple[float, str]]

SHARES: Ticks = [(n / 5, f"{20 * n}%") for n in range(6)]


def _shape(name: str, inside: str = "", **looks: object) -> Markup:
    """Return an element; an attribute's `_` is a hyphen, numbers have one place."""
    written = {key.replace("_", "-"): f"{v:.1f}" if isinstance(v, float) else v for key, v in looks.items()}
    attributes = Markup("").join(Markup(' {}="{}"').format(key, value) for key, value in written.items())
    return Markup("<{0}{1}>{2}</{0}>").format(name, attributes, inside)


def _joined(shapes: Iterable[Markup]) -> Markup:
    return Markup("").join(shapes)


def _length(text: str) -> float:
    """Estimate how wide a text is, in pixels."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return FONT * (wide + LETTER * (len(text) - wide))


def _cut(text: str, most: float) -> str:
    """Return a text on one line that takes no more than `most` pixels."""
    line = visible(" ".join(text.split()))
    if _length(line) <= most:
        return line
    lengths = accumulate(map(_length, line))
    return line[: sum(length <= most - FONT for length in lengths)] + "…"


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = SOFT) -> Markup:
    return _shape(
        "text", text, x=x, y=y, font_size=FONT, dominant_baseline="central", text_anchor=anchor, fill=fill
    )


def _line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = LINE, **looks: float) -> Markup:
    return _shape("line", "", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **looks)


def _moved(shapes: Iterable[Markup], x: float, y: float) -> Markup:
    return _shape("g", _joined(shapes), transform=f"translate({x:.1f},{y:.1f})")


def _picture(label: str, shapes: Iterable[Markup], width: float, height: float) -> Markup:
    size = {"width": width, "height": height, "viewBox": f"0 0 {width:.1f} {height:.1f}"}
    named = {"role": "img", "aria_label": label, "class": "chart", "xmlns": "http://www.w3.org/2000/svg"}
    return _shape("svg", _joined(shapes), **size, **named)


def series(number: int) -> str:
    """Return the colour of a model, by its place among those shown."""
    return f"var(--series-{number % SERIES + 1})"


def _legend(names: Mapping[str, str], width: float) -> tuple[list[Markup], float]:
    """Return the entries of a legend (name -> colour), wrapped at `width`, and their height."""
    shapes = []
    x, y = 0.0, FONT / 2
    for name, colour in names.items():
        told = _cut(name, min(320.0, width - 2 * FONT))
        if x and x + 2 * FONT + _length(told) > width:
            x, y = 0.0, y + 1.6 * FONT
        shapes.append(_shape("circle", cx=x + FONT / 2, cy=y, r=4.5, fill=colour))
        shapes.append(_text(x + 1.5 * FONT, y, told, fill=INK))
        x += 4 * FONT + _length(told)
    return shapes, y + 1.5 * FONT


def _below(ticks: Ticks, title: str, width: float, height: float, *, grid: bool = True) -> list[Markup]:
    """Return an axis below a plot; a tick's place is a share of the width."""
    lines = [_line(at * width, 0.0, at * width, height) for at, _ in ticks if grid]
    names = [_text(at * width, height + FONT, name, anchor="middle") for at, name in ticks]
    return [*lines, *names, _text(width / 2, height + 2.5 * FONT, _cut(title, width), anchor="middle")]


def _left_axis(ticks: Ticks, title: str, width: float, height: float) -> list[Markup]:
    """Return an axis to the left of a plot; a tick's place is a share of the height, from below."""
    lines = [_line(0.0, (1 - at) * height, width, (1 - at) * height) for at, _ in ticks]
    names = [_text(-GAP, (1 - at) * height, name, anchor="end") for at, name in ticks]
    return [*lines, *names, _text(-GAP, -1.4 * FONT, title, anchor="start")]


def _rows(names: Sequence[str], height: float) -> tuple[list[Markup], float]:
    """Return the names of rows that are `height` high, and the width that they take."""
    told = [_cut(name, WIDEST_NAME) for name in names]
    shapes = [_text(-GAP, (n + 0.5) * height, name, anchor="end") for n, name in enumerate(told)]
    return shapes, max([28.0, *(GAP + _length(name) for name in told)])


def _wide(
    label: str,
    names: Sequence[str],
    shapes: Sequence[Markup],
    *,
    width: float,
    step: float,
    legend: Mapping[str, str] | None = None,
) -> Markup:
    """Return a chart of rows: their names, what is drawn of them, and the legend above."""
    written, left = _rows(names, step)
    top, above = _legend(legend, left + width) if legend else ([], FONT)
    height = step * len(names)
    return _picture(
        label,
        [*top, _moved([*shapes, *written], left, above)],
        left + width + 2 * FONT,
        above + height + 3.5 * FONT,
    )


def profile(rows: Sequence[Row], models: Sequence[str], language: str) -> Markup:
    """Draw means and intervals by category; a row has model, category, its threshold, mean, low, high."""
    width, step = 560.0, max(11.0 * len(models) + 8, 24.0)
    limits = {row["category"]: row["threshold"] for row in rows}
    categories = list(limits)
    shapes = _below(SHARES, say("score", language), width, step * len(categories))
    for n, limit in enumerate(limits.values()):
        x, y = limit * width, n * step
        shapes.append(_line(x, y + 3, x, y + step - 3, stroke=SOFT, stroke_width=1.5))
    for row in rows:
        number = models.index(row["model"])
        y = categories.index(row["category"]) * step + 4 + (step - 8) * (number + 0.5) / len(models)
        colour = series(number)
        shapes.append(
            _line(row["low"] * width, y, row["high"] * width, y, stroke=colour, stroke_width=2, opacity=0.55)
        )
        shapes.append(_shape("circle", cx=row["mean"] * width, cy=y, r=4.4, fill=colour))
    legend = {model: series(n) for n, model in enumerate(models)}
    return _wide(say("profile", language), categories, shapes, legend=legend, width=width, step=step)


def falling(
    band: Sequence[Row], points: Sequence[Row], ends: Sequence[float], values: Sequence[str],
    *, label: str, x: str, y: str,
) -> Markup:  # fmt: skip
    """Draw a curve over the rungs of a scale, with its band, observed shares, and the interval of one half.

    A row of `band` has rung, mean, low, high; of `points` rung, share and n, its area. `ends` are the interval's;
    `values` name the rungs.
    """
    width, height, left, above = 320.0, 180.0, 44.0, 2.2 * FONT

    def at(rung: float, share: float) -> tuple[float, float]:
        return (rung - 0.5) / len(values) * width, (1 - share) * height

    def path(corners: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{across:.1f},{down:.1f}" for across, down in corners)

    names = [((n + 0.5) / len(values), _cut(value, width / len(values))) for n, value in enumerate(values)]
    shapes = [*_left_axis(SHARES, y, width, height), *_below(names, x, width, height, grid=False)]
    corners = [at(one["rung"], one["high"]) for one in band] + [at(one["rung"], one["low"]) for one in band[::-1]]
    shapes.append(_shape("polygon", points=path(corners), fill=series(0), opacity=0.22))
    mean = path(at(one["rung"], one["mean"]) for one in band)
    shapes.append(_shape("polyline", points=mean, fill="none", stroke=series(0), stroke_width=2))
    (low, middle), (high, _) = (at(end, 0.5) for end in ends)
    shapes.append(_line(low, middle, high, middle, stroke=series(1), stroke_width=4, opacity=0.8))
    most = max((one["n"] for one in points), default=1)
    for one in points:
        across, down = at(one["rung"], one["share"])
        area = 12 + 148 * one["n"] / most
        shapes.append(_shape("circle", cx=across, cy=down, r=math.sqrt(area / math.pi), fill=INK, opacity=0.75))
    return _picture(label, [_moved(shapes, left, above)], left + width + FONT, above + height + 3.5 * FONT)
