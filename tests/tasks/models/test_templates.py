"""What a configuration's template of a body lacks is named, with what there is."""

from typing import Any

import pytest

from basic_control.tasks.models.templates import BodyError, fill_body

VALUES = {"item": {"question": "q", "facts": {"city": "Oslo"}}, "prompt": "p"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"q": "{{ item.questoin }}"}, "q: found no 'questoin'; expected one of question, facts"),
        ({"q": "Say {{ item['town'] }}."}, "q: found no 'town'; expected one of question, facts"),
        ("{{ item.facts.town }}", "found no 'town'; expected one of city"),
        ({"q": ["{{ item.question }}", "{{ item.nothing.at_all }}"]}, "q.1: found no 'nothing'; expected"),
    ],
)
def test_a_key_that_there_is_not_is_named_with_those_that_there_are(body: Any, said: str) -> None:
    with pytest.raises(BodyError) as told:
        fill_body(body, VALUES)
    assert str(told.value).startswith(said)
    assert "dict object" not in str(told.value)
