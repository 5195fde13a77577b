"""Code blocks of the project's own pages, which tests run as they stand, and the files that they name."""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from basic_control.config.declared import load_declarations
from basic_control.config.reading import SEED_KEYS
from basic_control.config.settings import Settings
from tests.conftest import TOP

_BLOCK = re.compile(r"^(?P<in> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=in)```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"`(?P<name>[\w./-]+\.\w+)`[^`\n]*:\n+\Z")
"""What stands before a block that is a file: its name, and a colon."""
_TITLED = re.compile(r"# (?P<name>[\w./-]+\.\w+)(?:,|$)", re.MULTILINE)
"""What such a block may begin with instead."""

FILES: Mapping[str, str | list[dict[str, Any]]] = {
    "tickets.jsonl": [
        {"ticket": "The network is down.", "expected": ["restart", "router"]},
        {"ticket": "I was charged twice.", "expected": "refund"},
    ],
    "tickets.csv": "ticket,team\nThe network is down.,network\nI was charged twice.,billing\n",
    "capitals.csv": "question,expected,language\nFrance,Paris,en\nИталия,Рим,ru\nSpain,Madrid,en\nCuba,Havana,en\n",
    "sums.jsonl": [{"question": "Total in EUR of 2.50 and 3.20?", "answer": 5.7}],
    "steps.j2": "{{ question }} Show your steps.\n",
    "orders.jsonl": [
        {"question": "Two teas, please.", "answer": {"item": "tea", "count": 2}},
        {"question": "No cakes, please.", "answer": {"item": "cake", "count": 0}},
    ],
    "quiz.csv": "question,A,B,key\nWhich is a planet?,Mars,Pluto,A\nWhich is a moon?,Sirius,Titan,B\n",
    "answers.jsonl": [{"question": "Q?", "reference": "A.", "response": "A.", "retrieved_contexts": ["A."]}],
    "programs.jsonl": [{"question": "It doubles.", "entry": "twice", "tests": ["assert twice(2) == 4"]}],
    "letters.jsonl": [{"question": "to a friend"}, {"question": "to a bank"}],
    "recorded.jsonl": [{"output": "yes", "expected": "yes"}, {"output": "no", "expected": "yes"}],
    "plugins/greetings.yaml": (
        "items: {data: greetings.jsonl}\nprompt: 'Greet {{ question }}.'\nmetrics: {contains: {texts: [hello]}}\n"
    ),
    "chats.jsonl": [
        {"team": "sales", "messages": [{"role": "user", "content": "Are you there?"}], "calls": []},
        {"team": "help", "messages": [{"role": "user", "content": "Weather?"}], "calls": [{"name": "get_weather"}]},
    ],
    "greetings.jsonl": [{"question": "Anna"}],
}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its page, language, the file that the page makes of it ('' for none), and its text."""

    page: str
    language: str
    file: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}: {self.text.strip().splitlines()[0]}"


def pages() -> Iterator[str]:
    """Yield the pages whose blocks a reader may try, from the top of the project."""
    yield "README.md"
    yield from sorted(path.relative_to(TOP).as_posix() for path in (TOP / "docs").rglob("*.md"))


def blocks_of(page: str) -> list[Block]:
    """Return all fenced blocks of a page, in order."""
    text = (TOP / page).read_text(encoding="utf-8")
    found = []
    for each in _BLOCK.finditer(text):
        named = _NAMED.search(text[: each.start()]) or _TITLED.match(each["text"])
        language = each["language"] or "sh"
        found.append(Block(page, language, named["name"] if named else "", textwrap.dedent(each["text"])))
    return found


def is_configuration(one: Block) -> bool:
    """Tell whether a block is a configuration, or a part of one: YAML with no other keys."""
    return one.language == "yaml" and {*yaml.safe_load(one.text)} <= {
        *Settings.model_fields,
        *SEED_KEYS,
        *load_declarations(),
    }


def blocks(page: str, language: str) -> list[str]:
    """Return a page's code blocks in a language, in order."""
    return [one.text for one in blocks_of(page) if one.language == language]


def block(page: str, language: str, holding: str) -> str:
    """Return the page's code block that holds a text."""
    return next(one for one in blocks(page, language) if holding in one)


def write_files(folder: Path, page: str = "") -> None:
    """Write the files that blocks name into a folder, the tutorial's metric among them, and a page's own ones."""
    files = {**FILES, "plugins/brief.py": block("docs/tutorial.md", "python", "def brief")}
    own = {one.file: one.text for one in (blocks_of(page) if page else ()) if one.file}
    for name, content in {**files, **own}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
        path.write_text(text, encoding="utf-8")
