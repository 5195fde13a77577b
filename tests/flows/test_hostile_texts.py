"""What servers and names hold reaches neither a terminal nor Prefect's pages in a way that either would act on."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest
from markdown_it import MarkdownIt

from data.characters import inert, visible
from flows.cli import console
from tests.conftest import Run
from tests.helpers.runs import latest
from tests.servers import Fault, serve_ollama, serve_openai

OBEYED = "\x1b]52;c;b3duZWQ=\x07\x1b[2J\x9b31m\u202e\x00\r"
LOADED = "<img src=http://evil.example/1.png> ![x](http://evil.example/2.png) [l](javascript:alert(1)) </td>"
HOSTILE = f"m{OBEYED} {LOADED} [/red]"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Tags(HTMLParser):
    """Collects what a page would load, run or lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note tags that act."""
        if tag in {"img", "script", "iframe", "object", "embed", "svg", "style", "link", "a", "video", "audio"}:
            self.found.append((tag, attrs))


def acting(markdown: str) -> list[Any]:
    """Return what acts in a text that a page renders as Markdown with HTML in it."""
    tags = Tags()
    tags.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    return tags.found


def test_the_test_sees_what_acts() -> None:
    assert [tag for tag, _ in acting(LOADED)] == ["img", "img"], "a link to JavaScript is no link already"
    assert acting("[l](http://evil.example)")


@pytest.mark.parametrize("text", [HOSTILE, "![a][b]\n\n[b]: http://evil.example/3.png", "<svg/onload=alert(1)>"])
def test_inert_text_does_nothing(text: str) -> None:
    assert not acting(inert(text))
    assert not ACTS.search(inert(text))
    assert inert("org/model_7b [short]") == "org/model_7b [short]", "what is harmless stays as it is"
    assert visible("a\tb\nc é 漢 \U0001f600") == "a\tb\nc é 漢 \U0001f600"


def test_the_console_shows_what_it_is_given_and_obeys_none_of_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    from rich.table import Table
    from rich.text import Text

    table = Table()
    table.add_column(Text(HOSTILE))
    table.add_row(Text(HOSTILE))
    console.show(HOSTILE, Text(HOSTILE, style="bold"), table)
    console.say(HOSTILE)
    console.complain(HOSTILE)
    heard = capsys.readouterr()
    for said in (heard.out, heard.err):
        assert "⟦U+001B⟧" in said
        assert not ACTS.search(said)
    assert "[/red]" in heard.err


def test_a_run_with_hostile_names_and_servers_ends_as_any_other(run: Run, tmp_path: Path, prefect_api: str) -> None:
    refused = Fault("status", 400, f"no {OBEYED} {LOADED}")
    gone = Fault("status", 500, raw=json.dumps({"error": f"out of {OBEYED}"}))
    with (
        serve_openai("ANSWER: 12", faults=lambda number, _: refused if number % 2 else None) as server,
        serve_ollama("x", faults=lambda *_: gone, version=f"1{OBEYED}") as other,
    ):
        models = [
            {"name": HOSTILE, "provider": "openai", "base_url": server.base_url, "deadline_s": 20},
            {"name": f"o{HOSTILE}", "provider": "ollama", "base_url": other.base_url, "deadline_s": 1},
        ]
        sets = [
            f"models={json.dumps(models)}",
            "suites=[basic_control]",
            "basic_control.families=[simple_logic]",
            "basic_control.n_items=4",
        ]
        done = run(*(word for one in sets for word in ("--set", one)), extra={"PREFECT_API_URL": prefect_api})
    for said in (done.stdout, done.stderr):
        assert not ACTS.search(said), said
        assert "defect" not in said
    assert "⟦U+001B⟧" in done.stdout
    name = latest(tmp_path).name
    artifacts = httpx.post(f"{prefect_api}/artifacts/filter", json={"limit": 200}, timeout=60).json()
    ours = [one for one in artifacts if one["description"] == name]
    assert {one["key"] for one in ours} == {"report", "summary"}
    for one in ours:
        cells = json.loads(one["data"]) if one["type"] == "table" else [{"": one["data"]}]
        texts = [one["description"], *(text for row in cells for text in row.values())]
        assert any("evil.example" in text for text in texts)
        assert not [found for text in texts for found in acting(text)]
