"""The name of a data set is its file's, less its ending alone."""

import pytest

from basic_control.data.public_sets import name_set


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("v3.1.jsonl", "v3.1"),
        ("folder/v3.2.csv", "v3.2"),
        ("gpt-4.1-mini.parquet", "gpt-4.1-mini"),
        ("2024.01.05.json.gz", "2024.01.05"),
        ("answers.jsonl", "answers"),
        ("answers.CSV", "answers"),
        ("rows.tsv.gz", "rows"),
        ("sample", "sample"),
        ("gsm8k", "gsm8k"),
        (".jsonl", ".jsonl"),
    ],
)
def test_a_name_keeps_its_dots(source: str, name: str) -> None:
    assert name_set(source) == name
