"""What becomes of an item whose language nothing runs here, and of one whose verifier fails."""

from dataclasses import asdict
from pathlib import Path

import pytest

from basic_control.data import plugins
from basic_control.data.draw import draw, format_canonical
from basic_control.data.errors import InputError
from basic_control.data.records import Item
from basic_control.generators.code_gen.code_gen import code_gen, reference
from basic_control.tasks.verify import ReplyToVerify, verify_all


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment in which no Kotlin compiler is found."""
    monkeypatch.setenv("BASIC_CONTROL_KOTLINC", str(tmp_path / "nowhere"))


def replied(item: Item, text: str | None) -> ReplyToVerify:
    row = {**asdict(item), "facts": format_canonical(dict(item.facts))}
    return ReplyToVerify(
        row, "m", 0, text, None if text is not None else "refused", None if text is not None else "network"
    )


@pytest.mark.usefixtures("without_compiler")
def test_without_a_compiler_every_kotlin_item_is_not_applicable() -> None:
    """With code, with none, empty, or without a reply at all; the same replies to Python items are decided."""
    statuses = {}
    for language in ("kotlin", "python"):
        (item,) = draw(code_gen, level="easy", language="en", seed=1, count=1, options={"languages": [language]})
        replies = [replied(item, text) for text in (reference(item), "I cannot.", "", None)]
        rows = verify_all(replies)
        statuses[language] = [(row["status"], row["correct"]) for row in rows]
    assert statuses["kotlin"] == [("not_applicable", None)] * 4
    assert statuses["python"] == [("scored", True), ("no_answer", None), ("no_answer", None), ("model_error", None)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ('{}["gone"]', "its verifier raised KeyError ('gone') on item f"),
        ("True", "its verifier raised AttributeError ('bool' object has no attribute 'details') on item f"),
    ],
)
def test_a_verifier_that_raises_or_gives_no_verdict_is_told_with_its_family(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "from basic_control.data.records import Family, Item\n"
        'UNIT = Family("coins", 1, {"easy": {}}, lambda rng: Item("?", "1"), lambda item, reply: ' + said + ")\n",
        encoding="utf-8",
    )
    monkeypatch.setenv(plugins.VARIABLE, str(path))
    plugins.forget()
    try:
        with pytest.raises(InputError) as error:
            verify_all([replied(Item("?", "1", item_id="f", family="coins"), "2")])
    finally:
        monkeypatch.undo()
        plugins.forget()
    assert str(error.value).startswith(f"family coins: {told}")
