"""What servers and names hold reaches neither a terminal nor Prefect's pages in a way that either would act on."""

import pytest

from basic_control.data.characters import make_inert, make_visible
from basic_control.flows.cli import console
from tests.helpers.hostile_texts import ACTS, HOSTILE, LOADED, acting


def test_the_test_sees_what_acts() -> None:
    assert [tag for tag, _ in acting(LOADED)] == ["img", "img"], "a link to JavaScript is no link already"
    assert acting("[l](http://evil.example)")


@pytest.mark.parametrize("text", [HOSTILE, "![a][b]\n\n[b]: http://evil.example/3.png", "<svg/onload=alert(1)>"])
def test_inert_text_does_nothing(text: str) -> None:
    assert not acting(make_inert(text))
    assert not ACTS.search(make_inert(text))
    assert make_inert("org/model_7b [short]") == "org/model_7b [short]", "what is harmless stays as it is"
    assert make_visible("a\tb\nc é 漢 \U0001f600") == "a\tb\nc é 漢 \U0001f600"


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
