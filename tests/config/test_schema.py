"""The schema of configurations holds all that the project shows, and refuses slips; so does the page of keys."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from basic_control.data.tables import TABLES
from tests.conftest import TOP
from tests.docs.reference import meanings
from tests.helpers.pages import block, blocks
from tests.helpers.runs import SEED

KEYS = {"models", "judges", "suites", "models_to_test", "gate", "store", "telemetry", "basic_control", "cot", "rag"}


def printed(*words: str) -> str:
    """Return what a module prints, in a process of its own: other tests' plug-ins may be in use in this one."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=TOP, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def plain() -> Draft202012Validator:
    """Return the schema without plug-ins."""
    found = json.loads(printed("basic_control", "schema"))
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Draft202012Validator:
    """Return the schema that knows the plug-ins of the examples and pages."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "brief.py").write_text(block("docs/tutorial.md", "python", "def brief"), encoding="utf-8")
    greetings = "items: {data: greetings.jsonl}\nprompt: Hi\nmetrics: {contains: {}}\n"
    (folder / "greetings.yaml").write_text(greetings, encoding="utf-8")
    own = sorted(str(path) for path in (TOP / "docs" / "examples").glob("own-*/*.py"))
    return Draft202012Validator(json.loads(printed("basic_control", "schema", str(folder), *own)))


def wrong(schema: Draft202012Validator, text: str) -> list[str]:
    return [f"{one.json_path}: {one.message}" for one in schema.iter_errors(yaml.safe_load(text))]


def configurations() -> Iterator[tuple[str, str]]:
    """Yield the YAML blocks of pages that are configurations."""
    for page in sorted([TOP / "README.md", *(TOP / "docs").rglob("*.md")]):
        name = str(page.relative_to(TOP))
        for text in blocks(name, "yaml"):
            whole = "\n".join(line for line in text.splitlines() if line.strip() != "…")
            if KEYS & set(yaml.safe_load(whole)):
                yield name, whole


def test_what_ships_and_what_pages_show_fits(plain: Draft202012Validator, extended: Draft202012Validator) -> None:
    for path in sorted((TOP / "config").glob("*.yaml")):
        assert not wrong(plain, path.read_text(encoding="utf-8")), path
    for path in sorted((TOP / "docs" / "examples").glob("*/run.yaml")):
        assert not wrong(extended, path.read_text(encoding="utf-8")), path
    shown = list(configurations())
    assert len(shown) > 10
    assert not [(page, found, text) for page, text in shown if (found := wrong(extended, text))]
    assert not wrong(plain, SEED)


def test_what_a_manifest_holds_fits(plain: Draft202012Validator) -> None:
    code = "from basic_control.config.reading import read; print(read().model_dump_json())"
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    assert not wrong(plain, done.stdout)


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("gaet: point", "$.gaet"),
        ("gate: pointed", "$.gate"),
        ("threshold: 2", "$.threshold"),
        ("repeats: 0", "$.repeats"),
        ("models: [{nam: x}]", "$.models[0]"),
        ("models: [{name: x, provider: ollma}]", "$.models[0]"),
        ("models: [{name: x, temperatur: 1}]", "$.models[0]"),
        ("suites: [cots]", "$.suites[0]"),
        ("suites: [{name: own, item: {data: x}}]", "$.suites[0]"),
        ("suites: [{name: own, metrics: {contains: {mod: any}}}]", "$.suites[0]"),
        ("suites: [{name: own, metrics: {contains: {mode: many}}}]", "$.suites[0]"),
        ("suites: [{name: own, items: {data: x, colums: {}}}]", "$.suites[0]"),
        ("cot: {n_sample: 3}", "$.cot"),
        ("cot: {weights: {l5: 1}}", "$.cot.weights"),
        ("basic_control: {n_items: 0}", "$.basic_control.n_items"),
        ("store: {rot: x}", "$.store"),
        ("runs_per_test: many", "$.runs_per_test"),
    ],
)
def test_a_slip_is_found_where_it_is(plain: Draft202012Validator, text: str, where: str) -> None:
    (found, *_) = wrong(plain, text)
    assert found.startswith(f"{where}: ")


@pytest.mark.parametrize(
    "text",
    [
        "gate: off",
        "suites: [{name: cot, weight: 0.5}, rag]\nrag: {factual_correctness: {enabled: false, mode: recall}}",
        "suites: [{name: own, title: Own, items: {data: x.csv}, prompts: [a b, c d], metrics: [contains]}]",
        "suites: [{name: own, items: {data: x.csv}, metrics: {contains: }}]\nown: {threshold: 0.5}",
        "models: [{name: x, provider: http, url: 'http://127.0.0.1/', text: a}]",
        "weights: {cot: 1}",
        "suites: [{name: my-own.1, items: {data: x.csv}, metrics: [contains]}]\nweights: {my-own.1: 1, cot: 2}",
        "models: [{name: x, provider: http, options: {text: a}, batch: off}]",
    ],
)
def test_short_forms_fit(plain: Draft202012Validator, text: str) -> None:
    assert not wrong(plain, text)


def test_every_unit_fits_with_its_own_defaults(plain: Draft202012Validator) -> None:
    """And what is left to a declaration below: a part of an option's keys, a metric's name alone."""
    code = (
        "import json; from basic_control.data.plugins import discover, metrics;"
        "from basic_control.data.records import Loader;"
        "from basic_control.data.options import model_of;"
        "told = lambda units: {n: model_of(u.options).model_construct().model_dump(mode='json', by_alias=True)"
        " for n, u in units.items() if not getattr(u, 'internal', False)};"
        "print(json.dumps([told(metrics()), told(discover(Loader))]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=True)
    measured, loaders = json.loads(done.stdout)
    suites = [{"name": name, "metrics": {name: options}} for name, options in measured.items()]
    suites += [{"name": name, "metrics": {name: None}} for name in measured]
    suites += [{"name": name, "items": {"loader": name, **options}} for name, options in loaders.items()]
    assert len(suites) > 30
    for suite in suites:
        assert not wrong(plain, yaml.safe_dump({"suites": [suite]})), suite
    assert not wrong(plain, "cot: {items: {sample: {n: 3}}, metrics: {cot: {weights: {l1: 1}}}}")


def test_the_page_of_keys_is_that_of_the_code_and_each_key_says_what_it_means() -> None:
    page = (TOP / "docs" / "reference.md").read_text(encoding="utf-8")
    assert page == printed("tests.docs.reference"), "make reference"
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) > 150
    assert not [row for row in rows if row.endswith("|  |")], "give the field a description"
    assert set(meanings()) == {name for table in TABLES.values() for name in table.columns}


def test_a_plug_in_that_is_not_there_is_one_message(tmp_path: Path) -> None:
    words = ["basic_control", "schema", f"{tmp_path}/none.py"]
    done = subprocess.run([sys.executable, "-m", *words], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no such file or folder" in done.stderr
    assert "Traceback" not in done.stderr
