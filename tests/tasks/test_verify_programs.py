"""What becomes of an item whose language nothing runs here, whatever its reply holds."""

from dataclasses import asdict
from pathlib import Path

import pytest

from data.draw import canonical, draw
from data.records import Item
from generators.code_gen.code_gen import UNIT, reference
from tasks.verify import ReplyToVerify, verify_all


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment in which no Kotlin compiler is found."""
    monkeypatch.setenv("BASIC_CONTROL_KOTLINC", str(tmp_path / "nowhere"))


def replied(item: Item, text: str | None) -> ReplyToVerify:
    row = {**asdict(item), "facts": canonical(dict(item.facts))}
    return ReplyToVerify(
        row, "m", 0, text, None if text is not None else "refused", None if text is not None else "network"
    )


@pytest.mark.usefixtures("without_compiler")
def test_without_a_compiler_every_kotlin_item_is_not_applicable() -> None:
    """With code, with none, empty, or without a reply at all; the same replies to Python items are decided."""
    statuses = {}
    for language in ("kotlin", "python"):
        (item,) = draw(UNIT, level="easy", language="en", seed=1, count=1, options={"languages": [language]})
        replies = [replied(item, text) for text in (reference(item), "I cannot.", "", None)]
        rows = verify_all(replies)
        statuses[language] = [(row["status"], row["correct"]) for row in rows]
    assert statuses["kotlin"] == [("not_applicable", None)] * 4
    assert statuses["python"] == [("scored", True), ("no_answer", None), ("no_answer", None), ("model_error", None)]
