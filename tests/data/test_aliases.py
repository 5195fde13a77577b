"""Plug-ins that import our rooms by their former names, and plug-ins with packages named like our rooms."""

import subprocess
import sys
from pathlib import Path

PLUGIN = """
from data.records import Metric, Score
{imports}

def score(sample, _evidence, _options):
    return Score({value})


UNIT = Metric(name="own", version=1, bounds=(0.0, 1.0), score=score)
"""
PROGRAM = """
import sys
from basic_control.data import plugins, records

plugins.use([sys.argv[1]])
unit = plugins.metric("own")
print(isinstance(unit, records.Metric), unit.score({}, {}, {}).value, sys.modules["data.records"] is records)
print(records.__spec__.name, records.__name__)
"""


def printed(folder: Path, where: Path) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_a_plugin_of_before_gets_the_same_classes(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text(PLUGIN.format(imports="", value=1.0), encoding="utf-8")
    names = "basic_control.data.records basic_control.data.records"
    assert printed(tmp_path, tmp_path) == ["True 1.0 True", names]
    assert printed(tmp_path, Path(__file__).parents[2]) == ["True 1.0 True", names]


def test_a_plugin_may_have_packages_named_like_ours(tmp_path: Path) -> None:
    for name, text in {"data/__init__.py": "", "data/own.py": "HALF = 0.5\n", "config.py": "MORE = 0.25\n"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    imports = "import config\nfrom data.own import HALF\n"
    (tmp_path / "metric.py").write_text(
        PLUGIN.format(imports=imports, value="HALF + config.MORE"), encoding="utf-8"
    )
    assert printed(tmp_path, tmp_path)[0] == "True 0.75 True"


def test_a_folder_of_data_where_the_run_starts_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins/metric.py").write_text(PLUGIN.format(imports="", value=1.0), encoding="utf-8")
    assert printed(tmp_path / "plugins", tmp_path)[0] == "True 1.0 True"
