"""Capitals: four rows and who knows three of them, and a configuration of as many countries as needed."""

import json
from pathlib import Path
from typing import Any

ROWS = [
    {"question": "France", "answer": "Paris", "id": 1},
    {"question": "Norway", "answer": "Oslo", "id": 2},
    {"question": "Japan", "answer": "Tokyo", "id": 3},
    {"question": "Kenya", "answer": "Nairobi", "id": 4},
]
PROMPT = "What is the capital of {{ question }}?"
CAPITALS = {row["question"]: row["answer"] for row in ROWS}


def know_three(prompt: str) -> str:
    """Answer all but one."""
    country = prompt.removesuffix("?").rpartition(" ")[2]
    return "Rome" if country == "Kenya" else str(CAPITALS[country])


def write_countries(folder: Path, n: int, **suite: Any) -> str:
    """Write a configuration whose suite asks for the capitals of n countries; return its path."""
    rows = [{"question": f"Country {number}", "answer": "City"} for number in range(n)]
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = {"name": "capitals", "items": {"data": str(data)}, "prompt": "The capital of {{ question }}"}
    path = folder / "run.yaml"
    path.write_text(json.dumps({"suites": [{**asked, "metrics": {"exact_match": {}}, **suite}]}), encoding="utf-8")
    return str(path)
