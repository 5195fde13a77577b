"""What YAML does not read as a text is told with how to write it; Azure's address of a deployment is read."""

import json
from pathlib import Path

import pytest

from basic_control.config.models import Model
from basic_control.config.reading import read
from basic_control.data.errors import InputError

SUITE = "models: [{{name: m}}]\nsuites:\n  - name: {name}\n    items: {{data: x.jsonl}}\n    metrics: {{contains: {{texts: [{text}]}}}}\n"  # noqa: E501 - a file


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("2024-01-05", "YAML reads it as a date: quote it: '2024-01-05'"),
        ("2024-01-05 10:00:00", "YAML reads it as a date: quote it"),
        ("yes", "quote it: 'yes'"),
        ("no", "quote it: 'no'"),
        ("off", "quote it: 'no'"),
        ("12:30", "or '12:30' if that is what stands there"),
        ("9:05", "or '9:05' if that is what stands there"),
        ("7", "quote it: '7'"),
        ("3.10", "quote it: '3.1'"),
    ],
)
def test_what_yaml_takes_for_something_else_is_told(tmp_path: Path, written: str, advice: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(SUITE.format(name="s", text=written))
    with pytest.raises(InputError, match=r"line 5: suites\.0\.metrics\.contains\.texts\.0") as caught:
        read(path)
    assert advice in str(caught.value)
    path.write_text(SUITE.format(name="s", text=json.dumps(written)))
    read(path)


@pytest.mark.parametrize("written", ["[a]", "{a: 1}", "null"])
def test_what_no_quotation_marks_would_mend_gets_no_such_advice(tmp_path: Path, written: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(SUITE.format(name=written, text="x"))
    with pytest.raises(InputError) as caught:
        read(path)
    assert "quote it" not in str(caught.value)


TARGET = "https://res.openai.azure.com/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01"


@pytest.mark.parametrize("key", ["base_url", "url"])
def test_azures_address_of_a_deployment_is_read(key: str) -> None:
    model = Model.model_validate({"name": "m", "provider": "azure", key: TARGET})
    assert (model.base_url, model.model, model.api_version) == (
        "https://res.openai.azure.com",
        "gpt-4o",
        "2024-06-01",
    )


def test_what_the_entry_says_itself_goes_before_the_address() -> None:
    entry = {"name": "m", "provider": "azure", "url": TARGET, "model": "mine", "api_version": "2025-01-01"}
    model = Model.model_validate(entry)
    assert (model.model, model.api_version) == ("mine", "2025-01-01")


def test_other_addresses_stay() -> None:
    entry = {"name": "m", "provider": "azure", "url": "https://res.openai.azure.com", "api_version": "2024-06-01"}
    assert Model.model_validate(entry).base_url == "https://res.openai.azure.com"
    assert Model.model_validate({"name": "m", "provider": "openai", "url": TARGET}).base_url == TARGET


@pytest.mark.parametrize("name", ["v3.1", "gpt-4.1.mini", "plain"])
def test_an_assignment_keeps_the_dots_in_the_name_of_a_suite(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(SUITE.format(name=json.dumps(name), text="x"))
    settings = read(path, [f"{name}.threshold=0.4"])
    assert settings.suite(name).threshold == 0.4
