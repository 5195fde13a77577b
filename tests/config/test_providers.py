"""A model's entry: its provider is one that is there, and the keys that only it has are checked as all are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from basic_control.config.models import Judge, Model
from basic_control.config.reading import read
from basic_control.data import plugins
from basic_control.data.errors import InputError
from basic_control.data.plugins import discover
from basic_control.data.records import Provider

pytestmark = pytest.mark.usefixtures("parrot")

PLUGIN = """
from typing import Any

from basic_control.data.options import Frozen
from basic_control.data.records import Provider
from pydantic import Field


class Options(Frozen):
    voice: str
    loudness: int = Field(5, ge=1, le=10, description="how loud")


UNIT = Provider(
    name="parrot",
    version=1,
    open=lambda model: None,
    options=Options,
    at_once=lambda model: 1,
    check=lambda model: "" if model.base_url else "provider parrot needs `base_url`",
)
"""


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A provider of one's own, in a file."""
    (tmp_path / "parrot.py").write_text(PLUGIN)
    monkeypatch.setenv(plugins.VARIABLE, "")
    plugins.use([tmp_path / "parrot.py"])
    yield
    plugins.forget()


def refusal(tmp_path: Path, entry: str) -> str:
    path = tmp_path / "c.yaml"
    path.write_text(f"models:\n  - name: m\n{entry}")
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def test_every_provider_is_found_in_its_folder_by_its_files_name() -> None:
    folder = Path(__file__).parents[2] / "tasks" / "models" / "providers"
    assert set(discover(Provider)) - {"parrot"} == {path.stem for path in folder.glob("[a-z]*.py")}


def test_a_provider_of_ones_own_has_its_keys_beside_the_others() -> None:
    model = Model.model_validate({"name": "m", "provider": "parrot", "base_url": "http://x", "voice": "deep"})
    assert model.options == {"voice": "deep", "loudness": 5}
    assert model.concurrency == 1
    dumped = model.model_dump()
    assert (dumped["voice"], dumped["loudness"]) == ("deep", 5)
    assert "options" not in dumped
    assert Model.model_validate(dumped) == model
    assert Model.model_validate_json(model.model_dump_json()) == model
    judge = Judge.model_validate({"name": "j", "provider": "parrot", "url": "http://x", "voice": "deep"})
    assert (judge.base_url, judge.options["voice"]) == ("http://x", "deep")


def test_a_model_without_such_keys_is_written_as_ever() -> None:
    assert "options" not in Model(name="m").model_dump()
    unwritten = {"options", "structured"}
    assert list(Model(name="m").model_dump()) == [name for name in Model.model_fields if name not in unwritten]


def test_an_unknown_provider_is_told_with_those_that_there_are(tmp_path: Path) -> None:
    said = refusal(tmp_path, "    provider: parot\n    voice: deep\n")
    providers = ", ".join(map(repr, sorted(discover(Provider))))
    assert {"'openai'", "'parrot'", "'rules'"} <= {*providers.split(", ")}
    where = f"{tmp_path}/c.yaml, line 3: models.0.provider"
    assert said == f"{where}: expected one of {providers}, found 'parot'."


def test_a_mistyped_key_names_its_line_and_what_is_allowed(tmp_path: Path) -> None:
    said = refusal(tmp_path, "    provider: parrot\n    base_url: http://x\n    voice: deep\n    loudnes: 3\n")
    assert f"{tmp_path}/c.yaml, line 6: unknown key 'models.0.loudnes'; expected one of name, provider" in said
    assert said.endswith("voice, loudness. Did you mean 'loudness'?")
    assert "options" not in said


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "    voice: deep\n    loudness: 11\n",
            "line 6: models.0.loudness: input should be less than or equal to 10",
        ),
        ("    loudness: 3\n", "'models.0.voice' is missing."),
        ("    voice: deep\n    loudness: yes\n", "line 6: models.0.loudness: expected a number, found True."),
        ("    voice: deep\n    options: 5\n", "line 6: unknown key 'models.0.options'"),
    ],
)
def test_a_providers_own_key_is_checked_with_its_line(tmp_path: Path, entry: str, said: str) -> None:
    assert said in refusal(tmp_path, f"    provider: parrot\n    base_url: http://x\n{entry}")


def test_an_entry_as_a_whole_is_checked_by_its_provider(tmp_path: Path) -> None:
    assert "provider parrot needs `base_url`" in refusal(tmp_path, "    provider: parrot\n    voice: deep\n")


def test_another_providers_key_is_unknown(tmp_path: Path) -> None:
    said = refusal(tmp_path, "    provider: openai\n    voice: deep\n")
    assert "line 4: unknown key 'models.0.voice'" in said


def test_a_provider_may_not_declare_a_key_that_every_entry_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.py").write_text(PLUGIN.replace("voice:", "temperature:").replace('"parrot"', '"odd"'))
    monkeypatch.setenv(plugins.VARIABLE, "")
    plugins.use([tmp_path / "odd.py"])
    assert "provider odd declares 'temperature'" in refusal(tmp_path, "    provider: odd\n")
    plugins.forget()
