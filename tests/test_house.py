"""How the tree is laid out: what stands in which file, and what it is called."""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp

from basic_control import ROOMS
from tests.conftest import TOP


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{name.name}" for name in node.names)


def test_nothing_imports_from_a_test_file() -> None:
    hostile = TOP / "tests" / "fixtures"
    found = {
        f"{path.relative_to(TOP)}: {name}"
        for path in (TOP / "tests").rglob("*.py")
        if hostile not in path.parents
        for name in imported(path)
        if any(part.startswith("test_") for part in name.split(".")[:-1])
    }
    assert not found, "what tests share stands in tests/helpers"


HALVES = {"pydantic_core"}
"""What belongs to a package that is declared, and comes with it in the one version that fits."""


def test_what_is_imported_is_declared() -> None:
    """A package that another one happens to bring may go with its next version."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = (project["dependencies"], *project["optional-dependencies"].values())
    declared = {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for lines in lists for line in lines}
    brought = packages_distributions()
    found = {
        f"{path.relative_to(TOP)}: {top}"
        for room in PRODUCT
        for path in (TOP / room).rglob("*.py")
        for top in {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names - {*PRODUCT, *HALVES}
        if declared.isdisjoint(one.lower().replace("_", "-") for one in brought.get(top, ()))
    }
    assert not found


SUITES = sorted(path.stem for path in (TOP / "config" / "suites").glob("*.yaml"))
PRODUCT = ("flows", "tasks", "config", "generators", "metrics", "prompts", "data", "basic_control")
ROOMS_OF_NAMES = {
    *(f"flows/{suite}.py" for suite in SUITES if suite != "judges_exam"),  # the entry points
    "metrics/citation/citation.py",  # a metric's own name
    "metrics/analysis/explainability.py",  # the keys of FINAL_RESULTS (SPEC 5)
}
NO_SUITE = {
    ("config/exam.py", "judges_exam"),  # the exam's own
    ("config/declared.py", "judges_exam"),  # a section of earlier versions
    ("metrics/citation/source_lists.py", "citation"),  # a key that models write in their JSON
    ("tasks/runtime/logs.py", "basic_control"),  # the package's logger
    ("data/units.py", "basic_control"),  # the package
    ("data/commands.py", "basic_control"),  # the package and its command
    ("data/commands.py", "basic_control.__main__"),
    ("flows/deployment.py", "basic_control.deployed.full_eval"),  # the package's own module
    ("tasks/models/openai_batches.py", "basic_control"),  # the field of a batch that says whose it is
}


def named_suites(path: Path) -> Iterator[str]:
    """Yield what begins with a suite's name: texts in a file's code, words in back quotes in its docstrings."""
    first = re.compile(rf"(?:{'|'.join(SUITES)})(?![\w-])")
    quoted = re.compile(r"`([^`]+)`")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts = quoted.findall(node.value) if id(node) in told else [node.value]
            yield from (text for text in texts if first.match(text) and " " not in text)


def test_no_file_knows_a_suite_by_name() -> None:
    """`basic_control` is the package's name as well, and of its entry points' groups: `basic_control.suites`."""
    assert len(SUITES) >= 4
    group = re.compile(
        r"basic_control\.(?:$|<|generators|metrics|loaders|suites|providers|data|prompts|config|tasks|flows|api|"
        r"runs_apart)"
    )
    files = [path for room in PRODUCT for path in sorted((TOP / room).rglob("*.py"))]
    names = {str(path.relative_to(TOP)): [*named_suites(path)] for path in files}
    found = {
        f"{name}: {text}"
        for name, texts in names.items()
        if name not in ROOMS_OF_NAMES
        for text in texts
        if (name, text) not in NO_SUITE
        and not group.match(text)
        and not (TOP / "data" / "samples" / text).is_file()
    }
    assert not found, "a suite is a declaration (config/suites): read it from there"
    assert all(names.get(file) for file in ROOMS_OF_NAMES if file.startswith(("flows/", "metrics/")))


LONGEST = 600
TABLES = {"tests/fixtures/hostile/attacks.py"}
"""Files that are one table of data."""


def test_no_file_is_longer_than_a_reader_takes_in() -> None:
    rooms = [TOP / name for name in (*PRODUCT, "tests", "docs")]
    files = {str(path.relative_to(TOP)): path for room in rooms for path in room.rglob("*.py")}
    long = {name for name, path in files.items() if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST}
    assert long <= TABLES, "a file past some 600 lines wants to be two"


@cache
def imports_by_module() -> dict[str, set[str]]:
    """Return the modules of the rooms, and which of these they import."""
    graph = grimp.build_graph("basic_control", cache_dir=None)
    # The package's path takes in the whole checkout.
    modules = {name for name in graph.modules if name.startswith(tuple(f"basic_control.{room}" for room in ROOMS))}
    return {name: graph.find_modules_directly_imported_by(name) & modules for name in modules}


def test_no_files_import_each_other_in_a_circle() -> None:
    """Also inside of functions; modules that start the command line do so by name."""
    TopologicalSorter(imports_by_module()).prepare()


SHARED_NAMES = 2
CONVENTION = {"Options"}
"""What units, loaders and providers call the class of their own options, by the registry's convention."""


def test_a_class_name_means_one_thing() -> None:
    """A name is shared where two product modules define a class of it at their top level."""
    homes = defaultdict[str, set[str]](set)
    for room in (*PRODUCT, "docs"):
        for path in (TOP / room).rglob("*.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    homes[node.name].add(str(path.relative_to(TOP)))
    assert len(homes["Options"]) > 1, "the convention went: take it out of CONVENTION"
    shared = {name: sorted(files) for name, files in homes.items() if len(files) > 1 and name not in CONVENTION}
    assert len(shared) <= SHARED_NAMES, shared


RESOLVING = {"tasks/plan.py"}
"""The file of stages that sees settings: of these the plan is made."""


def test_stages_take_their_part_of_the_plan_and_no_settings() -> None:
    files = [TOP / "flows" / "suite.py", *(TOP / "tasks").glob("*.py"), *(TOP / "tasks" / "judges").glob("*.py")]
    seen = {
        str(path.relative_to(TOP))
        for path in files
        if "basic_control.config.settings.Settings" in set(imported(path))
    }
    assert seen == RESOLVING


SETTINGS_TAKEN = 20


def test_few_functions_take_the_whole_configuration() -> None:
    """A run's plan is made of it once; what follows takes the plan, or the part of it that it needs."""
    taking = [
        f"{path.relative_to(TOP)}: {node.name}"
        for room in ("flows", "tasks", "config")
        for path in (TOP / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for one in (*node.args.args, *node.args.kwonlyargs)
        if one.annotation and ast.unparse(one.annotation).strip("'") == "Settings"
    ]
    assert len(taking) <= SETTINGS_TAKEN, taking


SOLE_IMPORTERS = 40


def test_few_files_serve_one_file_of_another_folder() -> None:
    """Such a file mostly belongs beside the one that imports it, or in it; units and commands are found by name."""
    importers = defaultdict[str, set[str]](set)
    for importer, modules in imports_by_module().items():
        for module in modules:
            importers[module].add(importer)
    folders = {name: {one.rpartition(".")[0] for one in by} for name, by in importers.items() if len(by) == 1}
    apart = sorted(name for name, of in folders.items() if of != {name.rpartition(".")[0]})
    assert len(apart) <= SOLE_IMPORTERS, apart
