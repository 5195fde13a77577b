"""What reading goes by stands in one table: no file besides has words of its own for it."""

from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]
ROOMS = ("basic_control", "flows", "tasks", "config", "generators", "metrics", "data")
WORDS = "data/reading/words.yaml"
# Words that a second table of the kind would hold.
PLACES = {
    "cue": (WORDS, ("정답", "vastaus")),
    "denial": (WORDS, ("вряд ли", "едва ли")),
    "idiom of denial": (WORDS, ("none other than", "нет сомнений")),
    "withdrawal": (WORDS, ("scratch that", "my mistake", "я ошиб")),
    "supposition": (WORDS, ("допустим", "angenommen", "假如")),
    "attribution": (WORDS, ("students?", "частый")),
    "refusal": (WORDS, ("не зна(?:ю", "无解", "unable to|")),
    "sentence end": ("data/sentences.py", ("۔",)),
    "thinking": ("data/reading/thinking.yaml", ("begin_of_thought", "mm:think", "◁think")),
    "turn end": ("data/reading/ends.yaml", ("im_end", "start_of_turn", "end_of_turn")),
}


def read_rooms() -> dict[str, str]:
    paths = [path for room in ROOMS for kind in ("py", "yaml") for path in (TOP / room).rglob(f"*.{kind}")]
    return {str(path.relative_to(TOP)): path.read_text("utf-8").lower() for path in paths}


@pytest.mark.parametrize("kind", PLACES)
def test_each_kind_of_word_has_one_place(kind: str) -> None:
    place, words = PLACES[kind]
    texts = read_rooms()
    holders = {word: [name for name, text in texts.items() if word in text] for word in words}
    elsewhere = {word: names for word, names in holders.items() if set(names) - {place}}
    assert not elsewhere
    assert any(holders.values())  # the words are still those of the table
