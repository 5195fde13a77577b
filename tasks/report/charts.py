"""Charts of the HTML report: altair to static SVG, cleaned to plain shapes in the colours of the page's theme."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as ET

from markupsafe import Markup

from tasks.report.html_phrases import say
from tasks.report.marks import visible

SERIES = 8
"""Colours that can be told apart; the page's style sheet has them as --series-1 and so on."""

_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = frozenset({"svg", "g", "path", "rect", "line", "text", "tspan", "circle"})
_ATTRIBUTES = frozenset(
    """width height viewBox transform d x y x1 x2 y1 y2 dx dy cx cy r rx fill fill-opacity stroke stroke-width
    stroke-opacity stroke-dasharray stroke-linecap stroke-miterlimit opacity text-anchor dominant-baseline
    font-size font-weight""".split()  # noqa: SIM905 - names read as words
)

Row = Mapping[str, Any]


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
    """Name the first package that charts need and that is not installed; '' when they can be drawn."""
    from importlib.util import find_spec

    return next((shown for module, shown in _NEEDED if find_spec(module) is None), "")


_NEEDED = (("altair", "altair"), ("vl_convert", "vl-convert-python"))


def _render(chart: Any, label: str) -> Markup:
    """Draw a chart; raises ValueError where Vega cannot."""
    import vl_convert

    styled = chart.configure(
        background="transparent",
        axis={
            "labelColor": "var(--ink-2)", "titleColor": "var(--ink-2)", "gridColor": "var(--line)",
            "domainColor": "var(--line-2)", "tickColor": "var(--line-2)", "labelLimit": 260,
            "titleFontWeight": "normal",
        },
        legend={
            "labelColor": "var(--ink)", "titleColor": "var(--ink-2)", "orient": "top", "labelLimit": 320,
            "columns": 4,
            "titleFontWeight": "normal",
            "columnPadding": 24,
        },
        padding={"left": 28, "right": 12, "top": 4, "bottom": 4},
        header={"labelColor": "var(--ink)", "titleColor": "var(--ink-2)", "labelFontWeight": "bold"},
        view={"stroke": None},
    )  # fmt: skip
    return clean(vl_convert.vegalite_to_svg(_readable(styled.to_dict())), label)


def _chart(rows: Sequence[Row]) -> Any:
    import altair as alt

    data: Any = alt.Data  # which has no types
    return alt.Chart(data(values=list(rows)))


def _readable(value: Any) -> Any:
    """Return a specification whose texts Vega's own language can hold: it cannot read U+2028 and its like."""
    if isinstance(value, dict):
        return {key: _readable(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_readable(entry) for entry in value]
    return visible(value) if isinstance(value, str) else value


def _colours(names: Sequence[str]) -> Any:
    import altair as alt

    palette = [f"var(--series-{n % SERIES + 1})" for n in range(len(names))]
    return alt.Scale(domain=list(names), range=palette)


def profile(rows: Sequence[Row], models: Sequence[str], language: str, threshold: float) -> Markup:
    """Draw each model's mean and interval in each category; a row has model, category, mean, low, high."""
    import altair as alt

    categories = list(dict.fromkeys(row["category"] for row in rows))
    height = max(11 * len(models) + 8, 24)
    y = alt.Y("category:N", sort=categories, title=None, axis=alt.Axis(ticks=False, domain=False, labelPadding=8))
    common = {
        "y": y,
        "yOffset": alt.YOffset("model:N", sort=list(models)),
        "color": alt.Color("model:N", scale=_colours(models), sort=list(models), title=None),
    }
    base = _chart(rows)
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    lines = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", scale=scale, title=say("score", language), axis=axis), x2="high:Q", **common
    )
    points = base.mark_circle(size=60, opacity=1).encode(x=alt.X("mean:Q", scale=scale), **common)
    limit = (
        _chart([{"at": threshold}])
        .mark_rule(strokeDash=[4, 3], color="var(--ink-2)")
        .encode(x=alt.X("at:Q", scale=scale))
    )
    chart = (limit + lines + points).properties(width=560, height=alt.Step(height, **{"for": "position"}))
    return _render(chart, say("profile", language))


def bars(rows: Sequence[Row], *, label: str, parts: Sequence[str], colours: Sequence[str], share: str) -> Markup:
    """Draw, for each row's `model`, how its `n` divide among `part`s: one bar each, to 100 %."""
    import altair as alt

    models = list(dict.fromkeys(row["model"] for row in rows))
    order = [{**row, "rank": list(parts).index(row["part"])} for row in rows]
    chart = (
        _chart(order)
        .mark_bar(size=18)
        .encode(
            x=alt.X("n:Q", stack="normalize", title=share, axis=alt.Axis(format="%", tickCount=5)),
            y=alt.Y("model:N", sort=models, title=None, axis=alt.Axis(ticks=False, domain=False)),
            color=alt.Color(
                "part:N", scale=alt.Scale(domain=list(parts), range=list(colours)), sort=list(parts), title=None
            ),
            order=alt.Order("rank:Q"),
        )
        .properties(width=360, height=alt.Step(30))
    )
    return _render(chart, label)


def counts(rows: Sequence[Row], models: Sequence[str], *, label: str, x: str, y: str) -> Markup:
    """Draw counts `n` at each `at`, side by side for each `model`."""
    import altair as alt

    places = list(dict.fromkeys(row["at"] for row in rows))
    chart = (
        _chart(rows)
        .mark_bar()
        .encode(
            x=alt.X("at:N", sort=places, title=x, axis=alt.Axis(labelAngle=0)),
            xOffset=alt.XOffset("model:N", sort=list(models)),
            y=alt.Y("n:Q", title=y, axis=alt.Axis(tickMinStep=1, format="d")),
            color=alt.Color("model:N", scale=_colours(models), sort=list(models), title=None),
        )
        .properties(width=560, height=200)
    )
    return _render(chart, label)


def ranges(rows: Sequence[Row], *, label: str, title: str) -> Markup:
    """Draw p5 to p95 as a line, the middle half as a bar and the median as a tick, for each row's `model`."""
    import altair as alt

    order = [row["model"] for row in rows]
    base = _chart(rows)
    y = alt.Y("model:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False))
    scale = alt.Scale(zero=True, nice=True)
    whole = base.mark_rule(color="var(--series-1)", strokeWidth=1.5).encode(
        x=alt.X("p5:Q", title=title, scale=scale, axis=alt.Axis(tickCount=6)), x2="p95:Q", y=y
    )
    half = base.mark_bar(color="var(--series-1)", size=12, opacity=0.45).encode(x="p25:Q", x2="p75:Q", y=y)
    middle = base.mark_tick(color="var(--ink)", thickness=2, size=16).encode(x="p50:Q", y=y)
    return _render((whole + half + middle).properties(width=520, height=alt.Step(30)), label)
