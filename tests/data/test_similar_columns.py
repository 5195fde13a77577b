"""A wrong column's name is answered with the similar one that the rows have, wherever it was written."""

from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.loaders.retrieved import read_questions
from basic_control.data.loaders.table import Options, table_rows
from basic_control.metrics._replies import require_column
from basic_control.prompts import fill

ROW = {"question": "1 + 1?", "anser": "2", "context": "a"}


@pytest.mark.parametrize(
    ("columns", "required", "similar"),
    [({}, ["answer"], "anser"), ({"answer": "answr"}, [], "anser"), ({"topic": "contxt"}, [], "context")],
)
def test_of_a_suites_rows(columns: dict[str, str], required: list[str], similar: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("question,anser,context\n1 + 1?,2,a\n", encoding="utf-8")
    options = Options(data=str(path), columns=columns).model_dump()
    with pytest.raises(InputError, match=f"Did you mean '{similar}'"):
        [*table_rows.load(options, required)]


def test_of_rows_with_contexts(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("questoin,response\n1 + 1?,2\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"missing: question.*Did you mean 'questoin'\?"):
        read_questions(path, required=["question"])


@pytest.mark.parametrize("prompt", ["{{ questoin }}", "{{ row.questoin }}", "{% if questoin %}a{% endif %}"])
def test_of_a_prompt(prompt: str) -> None:
    with pytest.raises(InputError, match=r"cannot be filled .*; the row has .*\. Did you mean 'question'\?"):
        fill(prompt, "en", ROW)
    with pytest.raises(InputError) as raised:
        fill("{{ zzz }}", "en", ROW)
    assert str(raised.value).endswith("the row has anser, context, question.")


def test_of_a_metrics_column() -> None:
    rows: list[dict[str, Any]] = [ROW]
    with pytest.raises(InputError, match=r"Did you mean 'context'\?"):
        require_column(rows, "contexts", "rubric")
