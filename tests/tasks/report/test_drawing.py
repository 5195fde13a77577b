"""Charts are drawn in a process of its own."""

import json
import subprocess
import sys

import pytest

from tasks.report import drawing
from tests.conftest import TOP

BARS = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a", "type": "quantitative"}}}


def test_one_process_draws_all_charts_of_a_page_and_tells_what_it_cannot_draw() -> None:
    with drawing.painting() as painter:
        assert painter.draw(BARS).startswith("<svg")
        with pytest.raises(ValueError, match="conversion failed"):
            painter.draw({**BARS, "mark": "circus"})
        with drawing.painting() as inner:
            assert inner is painter
        assert painter.draw(BARS).startswith("<svg"), "it goes on after one that cannot be drawn"
    with drawing.painting() as another:
        assert another is not painter


def test_a_process_that_ends_is_said_and_the_next_chart_has_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with drawing.painting() as painter:
        with monkeypatch.context() as patch:
            patch.setattr(drawing, "__file__", "/nowhere/drawing.py")
            with pytest.raises(ValueError, match="the process that draws charts ended"):
                painter.draw(BARS)
        assert painter.draw(BARS).startswith("<svg")


def test_the_engine_stays_out_of_the_runs_own_process() -> None:
    code = (
        "import sys, json; from tasks.report import charts; from tasks.report.drawing import painting\n"
        f"with painting() as painter: painter.draw(json.loads({json.dumps(json.dumps(BARS))}))\n"
        "print('vl_convert' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
