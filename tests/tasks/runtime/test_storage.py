"""What was downloaded stays where it is: the folders of the XDG specification, on Linux."""

import sys
from pathlib import Path

import pytest

from basic_control.data import public_sets
from basic_control.tasks.runtime.storage import find_cache_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have folders of their own")


@pytest.mark.parametrize(
    ("named", "cache", "data"),
    [
        ({}, "home/.cache", "home/.local/share"),
        ({"XDG_CACHE_HOME": "c", "XDG_DATA_HOME": "d"}, "c", "d"),
        ({"XDG_CACHE_HOME": "", "XDG_DATA_HOME": ""}, "home/.cache", "home/.local/share"),
    ],
)
def test_folders_are_those_of_the_xdg_specification(
    named: dict[str, str], cache: str, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "BASIC_CONTROL_DATA"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, value in named.items():
        monkeypatch.setenv(variable, str(tmp_path / value) if value else "")
    assert find_cache_folder() == tmp_path / cache / "basic-control"
    assert public_sets.folder() == tmp_path / data / "basic-control"
