"""Which columns a prompt reads: told from its text, without filling it."""

import pytest

from data.errors import InputError
from data.questions import WHOLE
from prompts import reads


@pytest.mark.parametrize(
    ("prompt", "columns"),
    [
        ("How are you?", set()),
        ("{{ ticket }} of {{ tier | upper }}", {"ticket", "tier"}),
        ("{% for one in passages %}{{ loop.index }} {{ one.text }}{% endfor %}", {"passages"}),
        ("{% set x = question %}{{ x }}", {"question"}),
        ("{% if hint %}a hint{% endif %}", {"hint"}),
        ("{{ row.ticket }} {{ row['the tier'] }}", {"ticket", "the tier"}),
        ("{% for name in row %}{{ name }}{% endfor %} {{ row.ticket }}", {WHOLE, "ticket"}),
        ("{% set row = question %}{{ row.ticket }}", {"question"}),
        ("citation/passages", {"question", "passages"}),
        ("rag/answer", {"question", "retrieved_contexts"}),
    ],
)
def test_a_prompt_reads_the_columns_that_it_names(prompt: str, columns: set[str]) -> None:
    assert reads(prompt) == columns


def test_a_prompt_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="not valid Jinja2"):
        reads("{{ question")
