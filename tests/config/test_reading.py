"""A wrong configuration says where it is wrong and what is allowed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from basic_control.config.reading import SHIPPED, parse, read
from basic_control.data.errors import InputError
from basic_control.data.public_sets import locate
from tests.helpers.runs import SEED
from tests.helpers.suites import rows_of


def write(folder: Path, text: str) -> Path:
    path = folder / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(folder: Path, text: str, *sets: str) -> str:
    with pytest.raises(InputError) as caught:
        read(write(folder, text), sets)
    return str(caught.value)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_file_reads(path: Path) -> None:
    assert read(path).models


def test_the_seeds_own_form_reads_as_it_stands(tmp_path: Path) -> None:
    settings = read(write(tmp_path, SEED))
    assert [(m.name, m.provider) for m in settings.models] == [
        ("llama3:8b", "ollama"),
        ("phi3", "ollama"),
        ("janhq/Jan-v1-4B-GGUF", "ollama"),
    ]
    assert settings.suite_names == ("basic_control",)
    items = settings.suites[0].items
    assert items["families"][5] == "t06_mathematics"
    assert (items["n_items"], items["languages"], items["levels"]) == (10, ("ru",), ("easy",))
    assert settings.report.language == "ru"


def test_a_wrong_key_names_file_line_path_and_what_is_allowed(tmp_path: Path) -> None:
    said = refusal(tmp_path, "models:\n  - name: m\n    provder: openai\n")
    assert f"{tmp_path}/c.yaml, line 3" in said
    assert "'models.0.provder'" in said
    assert "api_key_env" in said
    assert "Did you mean 'provider'?" in said


def test_a_wrong_value_names_line_and_the_allowed_ones(tmp_path: Path) -> None:
    said = refusal(tmp_path, "models:\n  - name: m\ngate: maybe\n")
    assert "line 3: gate" in said
    assert "'point', 'interval' or 'off'" in said
    assert "found 'maybe'" in said


OWN = """\
models: [{name: m}]
suites:
  - name: own
    items: {data: rows.jsonl}
    metrics:
      contains: {}
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: [{name: m}]\nbasic_control: {n_items: -3}", ["basic_control.n_items", "greater than", "-3"]),
        ("models: [{name: m}]\nbasic_control: {families: [nonsense]}", ["unknown family 'nonsense'", "arithmetic"]),
        ("models: [{name: m}]\nbasic_control: {levels: [brutal]}", ["no 'brutal'", "easy"]),
        ("models: [{name: m}]\nbasic_control: {languages: [fr]}", ["no 'fr'", "en"]),
        ("models: [{name: m}]\nbasic_control: {options: {arithmetic: {x: 1}}}", ["unknown option 'x'"]),
        ("models: [{name: m, provider: acme}]", ["provider", "'ollama'", "found 'acme'"]),
        ("models: [{name: m}, {name: m}]", ["'m' is used twice"]),
        ("models: [{name: m, provider: replay}]", ["needs `file`"]),
        ("models: [{name: m}]\nrag: {aggregate: majority}", ["rag", "not possible", "factual_correctness.enabled"]),
        ("models: []", ["models", "at least 1"]),
        ("suites: [cot]", ["'models' is missing"]),
        ("models: [", ["line 1", "not valid YAML"]),
        ("", ["found nothing"]),
        ("- a\n- b", ["found list"]),
        ("a: &x [1]\nb: *x", ["anchors"]),
        ("models_to_test: phi3\ntests_to_run: [t01_simple_logic]", ["models_to_test", "list of names"]),
        ("models_to_test: [phi3]\ntests_to_run: [t01_simple_logic]\nruns_per_test: 0", ["greater than"]),
        ("models_to_test: [phi3]\ntests_to_run: [t09_magic]", ["line 2", "unknown family 't09_magic'"]),
        ("models_to_test: [phi3]\ntests_to_run: [t01_simple_logic]\nruns_per_test: -1", ["line 3", "found -1"]),
        ("models_to_test: [phi3]\ntest_to_run: [t01_simple_logic]", ["'tests_to_run' is missing"]),
        ("models_to_test: [phi3]\ntests_to_run: [t01_simple_logic]\nbasic_control: 5", ["found 5"]),
        ("gate: off\nmodels: [{name: m}]\ngate: point", ["line 3", "'gate' occurs twice (first on line 1)"]),
        ("models: [{name: m}]\nsuites: [cot, cot]", ["line 2", "suites: 'cot' is listed twice"]),
        ("models: [{name: m}]\nbasic_control: {levels: [easy, easy]}", ["'easy' is listed twice"]),
        ("models: [{name: m}]\nbasic_control: {n_items: yes}", ["expected a number, found True"]),
        ("models: [{name: m}]\nthreshold: off", ["line 2: threshold", "expected a number, found False"]),
        ("models: [{name: m}]\nbasic_control: {threshold: yes}", ["basic_control.threshold", "found True"]),
        ("models: [{name: m}]\nbasic_control: {seed: 99999999999999999999}", ["basic_control.seed", "less than"]),
        ("models: [{name: m, deadline_s: .inf}]", ["models.0.deadline_s", "finite"]),
        ("models: [{name: m, extra: {since: 2024-01-01}}]", ["models.0.extra", "JSON", "quote dates"]),
        ("models: [{name: m, extra: {stream: true}}]", ["models.0.extra", "'stream'"]),
        ("models: [{name: m}]\nstore: {root: ''}", ["store.root", "at least 1"]),
        ("models: [m]", ["line 1: models.0: expected `key: value` pairs, found 'm'"]),
        ("models: m", ["models: expected a list, found 'm'"]),
        ("when: 2024-13-45", ["not valid YAML"]),
        (f"{OWN}    models: [m, n]", ["line 7: suites.0.models: own names 'n', which is not among models (m)"]),
        (f"{OWN}    judges: [j]", ["line 7: suites.0.judges: own names 'j', which is not among judges (none)"]),
        (f"{OWN}      rubric: {{criteria: x, judges: [j]}}", ["line 7: suites.0.metrics.rubric.judges: own"]),
        (f"{OWN}      exact_mach: {{}}", ["line 7", "unknown metric 'exact_mach'", "Did you mean 'exact_match'?"]),
        (f"{OWN}      chain: {{}}", ["line 7", "'chain' was removed; cot names the first wrong step by rules"]),
        (f"{OWN}      llm-rubric: polite", ["line 7", "unknown metric 'llm-rubric'", "Did you mean 'rubric'?"]),
        (f"{OWN}    prompt: {{{{ question }}}}", ["line 7", 'Quote a text with {{ … }}: prompt: "{{ question }}"']),
        (f"{OWN}    prompt: {{{{ question }}}} in a word", ['prompt: "{{ question }} in a word"']),
        (f"{OWN}    prompt: Well. {{{{ q }}}}: so", ["line 7", 'Quote a text with {{ … }}: prompt: "Well. {{ q']),
        (OWN.replace("own", "baseline"), ["suites.0.name: 'baseline' is a key of the configuration"]),
        (f"{OWN}      correct: {{}}", ["line 7: suites.0.metrics.correct", "the loader table does not have"]),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_message(tmp_path: Path, text: str, words: list[str]) -> None:
    said = refusal(tmp_path, text)
    assert "c.yaml" in said
    assert "\n" not in said
    for word in words:
        assert word in said


def test_a_metric_that_is_not_for_own_suites_is_not_offered(tmp_path: Path) -> None:
    said = refusal(tmp_path, f"{OWN}      contans: {{}}")
    assert all(f"{name}, " in said for name in ("contains", "correct", "exact_match"))
    assert not [name for name in ("exam_", "stated") if name in said]


def test_of_one_suite_alone_the_lines_stay_its_own(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(f"{OWN}  - name: second\n    items: {{data: rows.jsonl}}\n    metrics: [contans]\n", "utf-8")
    with pytest.raises(InputError, match=r"c\.yaml, line 9: suites\.1\.metrics\.contans: unknown metric 'contans'"):
        read(path, only="second")


def test_a_prompt_may_hold_what_looks_like_anchors(tmp_path: Path) -> None:
    path = write(tmp_path, 'models:\n  - name: m\n    system: "Q&A: list with * or -"\n')
    assert read(path).models[0].system == "Q&A: list with * or -"


@pytest.mark.parametrize("key", ["api_key", "api_key_env"])
def test_a_key_in_the_configuration_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    in_file = refusal(tmp_path, f"models: [{{name: m, {key}: sk-hunter2}}]")
    in_set = refusal(tmp_path, "models: [{name: m}]", f"models.0.{key}=sk-hunter2")
    for said in (in_file, in_set):
        assert f"models.0.{key}" in said
        assert "api_key_env" in said
        assert "hunter2" not in said


def test_the_seeds_own_keys_can_be_set(tmp_path: Path) -> None:
    assert read(write(tmp_path, SEED), ["runs_per_test=3"]).suites[0].items["n_items"] == 3
    assert "--set runs_per_test=-3: " in refusal(tmp_path, SEED, "runs_per_test=-3")


def test_set_reaches_keys_lists_and_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, "models: [{name: m}]")
    settings = read(path, ["models.0.temperature=0.3", "basic_control.n_items=3", "suites=[basic_control]"])
    assert settings.models[0].temperature == 0.3
    assert settings.suites[0].items["n_items"] == 3


def test_an_unquoted_off_is_off(tmp_path: Path) -> None:
    assert read(write(tmp_path, "models: [{name: m}]\ngate: off")).gate == "off"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("n", ["expected path.to.key=value"]),
        ("models.7.name=x", ["list of 1", "0 to 0"]),
        ("models.0.name.x=1", ["no keys below"]),
        ("colour=red", ["--set colour=red", "unknown key 'colour'"]),
        ("basic_control.n_items=many", ["--set basic_control.n_items=many", "integer"]),
        ("basic_control.families=[x]", ["--set basic_control.families=[x]: ", "unknown family 'x'"]),
        ("colour.dark.red=1", ["--set colour.dark.red=1: unknown key 'colour'"]),
        ("models.².name=x", ["expected an index"]),
        ("basic_control.n_items=2026-13-45", ["not valid YAML"]),
        ("models=" + "[" * 5000, ["not valid YAML"]),
    ],
)
def test_a_wrong_set_names_itself(tmp_path: Path, assignment: str, words: list[str]) -> None:
    said = refusal(tmp_path, "models: [{name: m}]", assignment)
    for word in words:
        assert word in said


def test_a_missing_file_says_what_ships() -> None:
    with pytest.raises(InputError, match=r"config/default\.yaml"):
        read("nowhere.yaml")


def test_what_never_ends_is_refused() -> None:
    with pytest.raises(InputError, match="larger file"):
        read("/dev/zero")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read().threshold = 0.1  # pyrefly: ignore[read-only] # what the test is about


@pytest.mark.parametrize("arguments", [["--help"], ["--set", "colour=red"], ["--config", "nowhere.yaml"]])
def test_help_and_errors_answer_before_prefect_is_imported(arguments: list[str]) -> None:
    script = (
        "import sys\nfrom basic_control.flows.cli.application import main\n"
        f"try:\n    code = main({['run', *arguments]!r})\nexcept SystemExit as end:\n    code = end.code\n"
        "assert not {'prefect', 'polars', 'scipy', 'openai'} & set(sys.modules), sorted(sys.modules)\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == (0 if arguments == ["--help"] else 2), done.stderr
    assert "Traceback" not in done.stderr


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    """The configuration stands in every manifest."""
    with pytest.raises(InputError, match="PGPASSWORD") as caught:
        read(None, ["store.cache=postgresql+psycopg://me:hunter2@db.example/replies"])
    assert "hunter2" not in str(caught.value)
    with pytest.raises(
        InputError, match=r"--set models\.0\.base_url=.*: .*contains a user or a password"
    ) as caught:
        read(None, ["models.0.base_url=http://me:hunter2@127.0.0.1:8000/v1"])
    assert "hunter2" not in str(caught.value)
    settings = read(None, ["store.cache=postgresql+psycopg://me@db.example/replies"])
    assert settings.store.cache == "postgresql+psycopg://me@db.example/replies"
    assert read(None, ["store.root=s3://bucket/a@b"]).store.root == "s3://bucket/a@b"


@pytest.mark.parametrize("mode", ["F1", "PRECISION", "RECALL", "f1"])
def test_the_seeds_modes_are_taken_as_they_are_spelt_there(mode: str) -> None:
    metrics = read(None, [f"rag.factual_correctness.mode={mode}"]).suite("rag").metrics
    assert metrics["factual_correctness"]["mode"] == mode.lower()


@pytest.mark.parametrize(
    "zero",
    [
        "explainability={weight_cot: 0, weight_citation: 0}",
        "cot.weights={l1: 0, l2: 0, l3: 0, l4: 0}",
        "citation={weight_interpretability: 0, weight_correctness: 0}",
    ],
)
def test_weights_of_which_none_weighs_anything_are_refused(zero: str) -> None:
    with pytest.raises(InputError, match="are all 0; give one of them a weight"):
        read(None, [zero])


def test_one_family_under_two_names_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"basic_control\.families: code_gen is listed twice, once as t03_code_gen"
    ):
        read(None, ["basic_control.families=[code_gen, t03_code_gen]"])
    options = "basic_control.options={code_gen: {languages: [kotlin]}, t03_code_gen: {languages: [python]}}"
    with pytest.raises(InputError, match="'t03_code_gen' and 'code_gen' are the same family"):
        read(None, [options])


def test_options_under_a_seed_id_are_the_familys() -> None:
    kotlin = {"languages": ["kotlin"]}
    drawn = {
        name: rows_of("basic_control", families=["code_gen"], n_items=3, options=options)
        for name, options in (("seed", {"t03_code_gen": kotlin}), ("own", {"code_gen": kotlin}), ("none", {}))
    }
    assert drawn["seed"] == drawn["own"]
    assert drawn["seed"] != drawn["none"]


def test_a_judges_temperature_is_the_metrics_unless_it_is_given() -> None:
    judges = read(None, ["judges=[{name: a}, {name: b, temperature: 0.0, system: Be strict.}]"]).judges
    assert [judge.temperature for judge in judges] == [None, 0.0]
    again = read(None, [f"judges={json.dumps([judge.model_dump(mode='json') for judge in judges])}"]).judges
    assert again == judges, "as a manifest holds them"


def test_a_prompt_may_stand_in_a_file_whose_text_is_what_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "ask.j2").write_text("Say {{ question }}.\n", encoding="utf-8")
    (tmp_path / "run.yaml").write_text(
        "models: [{name: m}]\n"
        "suites:\n"
        "  - name: own\n"
        "    items: {data: rows.csv}\n"
        f"    prompts: [{tmp_path}/ask.j2, 'Now say {{{{ question }}}}.']\n"
        "    metrics: [exact_match]\n",
        encoding="utf-8",
    )
    (suite,) = read(tmp_path / "run.yaml").suites
    assert suite.prompts == {"ask": "Say {{ question }}.\n", "prompt 2": "Now say {{ question }}."}
    (tmp_path / "ask.j2").unlink()
    with pytest.raises(InputError, match=r"run\.yaml, line 5: suites.*ask\.j2 cannot be read \(No such"):
        read(tmp_path / "run.yaml")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        ({"gate_on": "pass_at_k"}, "asked once (repeats: 1); set basic_control.repeats to 2 or more"),
        (
            {"gate_on": "pass_all_k", "repeats": 3, "k": 4},
            "k is 4, expected at most the number of repeats, 3",
        ),
        (
            {"gate_on": "mean", "k": 2},
            "k is 2, and basic_control.gate_on is mean; k goes with pass_at_k and pass_all_k",
        ),
        (
            {"gate_on": "pass_at_k", "repeats": 3, "stop": {}},
            "gate_on is pass_at_k, and basic_control.stop asks until a mean is decided",
        ),
        ({"gate_on": "best", "repeats": 3}, "'mean', 'pass_at_k' or 'pass_all_k', found 'best'"),
    ],
)
def test_a_gate_on_k_answers_needs_as_many(sets: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as caught:
        read(None, [f"basic_control.{key}={json.dumps(value)}" for key, value in sets.items()])
    assert words in str(caught.value)
    assert str(caught.value).startswith("--set basic_control.")


@pytest.mark.parametrize("key", ["batch_poll_s", "batch_price"])
def test_a_removed_key_of_a_model_says_what_is_done_instead(tmp_path: Path, key: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"models:\n  - {{name: m, provider: openai, {key}: 1}}\n")
    with pytest.raises(InputError, match=rf"line 2: the key 'models.0.{key}' was removed; a "):
        read(path)


def test_a_gate_on_k_answers_needs_answers_that_are_right_or_wrong() -> None:
    with pytest.raises(InputError, match=r"cot\.gate_on is pass_at_k, which needs answers .* and cot grades them"):
        read(None, ["cot.gate_on=pass_at_k", "cot.repeats=3"])
    programs = {"name": "own", "items": {"data": "rows.jsonl"}, "metrics": ["code_tests"], "gate_on": "pass_at_k"}
    settings = read(None, [f"suites={json.dumps([programs])}", "repeats=5"])
    assert settings.times(settings.suites[0]) == 5


def test_what_is_gated_on_k_answers_is_asked_whole() -> None:
    settings = read(
        None, ["basic_control.gate_on=pass_all_k", "basic_control.repeats=3", "basic_control.weight=0"]
    ).until_decided()
    assert settings.suite("basic_control").stop is None
    assert all(suite.stop for suite in settings.suites if suite.name != "basic_control")


@pytest.mark.parametrize(
    "assignment", ["suites=[{name: rag, metrics: [response_groundedness]}]", "rag.metrics=[response_groundedness]"]
)
def test_a_list_of_metrics_replaces_those_of_a_shipped_suite(assignment: str) -> None:
    settings = read(None, [assignment])
    assert settings.suite("rag").metric_names == ("response_groundedness",)
    deployed = parse(settings.model_dump(mode="json", exclude_unset=True), "parameters", {})
    assert deployed.suite("rag").metric_names == ("response_groundedness",)


@pytest.mark.parametrize("only", ["second", "judges_exam"])
def test_of_one_suite_alone_the_others_sections_and_weights_do_not_matter(tmp_path: Path, only: str) -> None:
    second = "  - name: second\n    items: {data: rows.jsonl}\n    metrics: [contains]\n"
    more = "own: {threshold: 0.5}\nweights: {own: 0.7, second: 0.3}\n"
    assert read(write(tmp_path, f"{OWN}{second}{more}"), only=only).suite_names == (only,)


def test_the_seeds_form_stays_russian_beside_a_section_of_the_report(tmp_path: Path) -> None:
    report = read(write(tmp_path, f"{SEED}report: {{html: false}}\n")).report
    assert (report.language, report.html) == ("ru", False)


def test_of_two_keys_for_one_option_the_one_given_last_counts() -> None:
    found = read(None, ["rag.items.sample.n=5", "rag.n_samples=2", "rag.items.sample.n=7"])
    assert found.suite("rag").items["sample"]["n"] == 7


@pytest.mark.parametrize(
    ("key", "value", "instead"),
    [
        ("currency", "EUR", "a table of prices states its own"),
        ("report.file", "a.yaml", "`report.name`, or --name, names a run"),
        ("report.junit_items", "true", "JUnit has a case for each gate"),
        ("cot.stop", "{share: 0.01}", "every sequence of a run has an equal share of `stop.alpha`"),
    ],
)
def test_a_key_of_before_is_one_message_that_says_what_replaces_it(key: str, value: str, instead: str) -> None:
    with pytest.raises(InputError) as caught:
        read(None, [f"{key}={value}"])
    message = str(caught.value)
    assert message.startswith(f"--set {key}={value}: the key ")
    assert f"was removed; {instead}" in message
    assert len(message.splitlines()) == 1


def test_rows_that_are_beside_the_configuration_or_above_say_from_where_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "moved"
    folder.mkdir()
    (folder / "rows.jsonl").write_text('{"question": "Q?", "answer": "A"}\n', encoding="utf-8")
    path = folder / "eval.yaml"
    suite = "{name: s, items: {data: rows.jsonl}, prompt: '{{ question }}', metrics: {contains: {}}}"
    path.write_text(f"models: [{{name: m}}]\nsuites: [{suite}]\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        InputError, match=r"exists beside eval\.yaml.*run from .*moved, or write .*moved/rows\.jsonl"
    ):
        read(path)
    monkeypatch.chdir(folder)
    assert read("eval.yaml").suites
    with pytest.raises(
        InputError, match=r"relative to where the run starts, .*moved\. It exists from .*: run from"
    ):
        locate("moved/rows.jsonl")
    with pytest.raises(InputError, match=r"no such file\. Give a file, or one of"):
        locate("nothing")


def test_metrics_are_a_list_of_names_and_of_names_with_options() -> None:
    """As from Python: each entry is a name, or a mapping of names to options."""
    settings = parse(
        {
            "models": [{"name": "m"}],
            "suites": [
                {
                    "name": "own",
                    "items": {"data": "sample"},
                    "prompt": "{{ question }}",
                    "metrics": ["exact_match", {"contains": {"mode": "all"}, "number": {}}],
                }
            ],
        },
        "here",
        {},
    )
    assert {name: options.get("mode") for name, options in settings.suites[0].metrics.items()} == {
        "exact_match": None,
        "contains": "all",
        "number": None,
    }


@pytest.mark.parametrize(
    ("before", "assignments", "budget"),
    [
        (1, ["budget.calls=10"], {"usd": 1, "calls": 10}),
        (1, ["budget.usd=2"], {"usd": 2}),
        ({"calls": 5}, ["budget.minutes=3"], {"calls": 5, "minutes": 3}),
        (None, ["budget=0.5", "budget.calls=2"], {"usd": 0.5, "calls": 2}),
        (1, ["budget.calls=2", "budget=3"], {"usd": 3}),
    ],
)
def test_a_number_is_the_short_form_of_a_budget_whose_keys_may_be_set(
    before: object, assignments: list[str], budget: dict[str, float]
) -> None:
    raw = {"models": [{"name": "m"}], "suites": ["basic_control"], "budget": before}
    parsed = parse(raw, "run.yaml", {}, assignments).budget
    assert parsed is not None
    assert parsed.model_dump(exclude_none=True) == budget
