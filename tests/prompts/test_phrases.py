"""The catalogues of phrases: the shipped ones lack nothing, another language is its catalogue and its prompts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from basic_control.config.reading import read
from basic_control.config.settings import Report
from basic_control.data import plugins
from basic_control.data.errors import InputError, plural
from basic_control.data.plugins import families, metrics
from basic_control.data.shown import Crossing, Distribution, Shown, Text
from basic_control.data.suites import Suite
from basic_control.flows.cli.estimate import list_parts
from basic_control.prompts import languages as languages_of
from basic_control.prompts import phrases, render
from basic_control.tasks.report import markdown
from basic_control.tasks.report.language import use_language
from basic_control.tasks.report.screen import screen
from tests.conftest import TOP
from tests.helpers.estimates import estimate
from tests.helpers.judges import judged_by
from tests.helpers.runs import at
from tests.helpers.suites import shipped
from tests.servers.running import serve_openai
from tests.tasks.report.runs import build, page_of

SHIPPED = ("en", "ru")
SUITES = [shipped(path.stem) for path in sorted((TOP / "config" / "suites").glob("*.yaml"))]
LETTERS = {ord("a") + n: 0x10D0 + n for n in range(26)} | {ord("A") + n: 0x10D0 + n for n in range(26)}
"""Latin letters in Georgian ones."""


PRODUCT = "Basic Control"
CONFIGURATION = re.compile(r'<pre tabindex="0">\{.*?</pre>', re.DOTALL)
"""What the page shows as it stands in the run's files, titles in every language among it."""


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget at the end which plug-ins a test has used."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    yield
    plugins.forget()


def texts(suites: Sequence[Suite]) -> dict[str, Text]:
    """Return every text that families, metrics and suites declare, by the keys of a catalogue's `units`."""
    found: dict[str, Text] = {name: unit.titles for name, unit in families().items()}
    found |= {suite.name: suite.title for suite in suites}
    for name, unit in metrics().items():
        found |= {name: unit.title, **{f"{name}.{key}": text for key, text in shown_texts(unit.shown).items()}}
    return {key: text for key, text in found.items() if text}


def shown_texts(shown: Shown) -> dict[str, Text]:
    """Return every text that a metric declares, by the key under which a catalogue of phrases may hold it."""
    found = {name: text for name, text in shown.titles.items() if text}
    found |= {f"band {name}": text for name, text in shown.meanings.items()}
    listed: list[tuple[Distribution | Crossing, Mapping[str, Text]]] = [
        *((one, one.labels) for one in shown.distributions),
        *((one, {**one.rows, **one.columns}) for one in shown.crossings),
    ]
    for one, labels in listed:
        found |= {f"{one.name} {label}": text for label, text in labels.items()}
        found |= {f"{one.name} title": one.title, f"{one.name} note": one.note}
    return {key: text for key, text in {**found, "note": shown.note}.items() if text}


def foreign(text: str) -> str:
    """Write a phrase in letters that no shipped language has; its gaps stay."""
    parts = text.replace("{", "\0{").replace("}", "}\0").split("\0")
    return "".join(part if part.startswith("{") else part.translate(LETTERS) for part in parts)


def write(folder: Path, sections: dict[str, dict[str, str]], language: str = "xx") -> Path:
    """Write a catalogue as a plug-in."""
    (folder / language).mkdir(parents=True, exist_ok=True)
    path = folder / language / "phrases.yaml"
    path.write_text(yaml.safe_dump(sections, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def whole() -> dict[str, dict[str, str]]:
    """Return a catalogue that lacks nothing: every phrase, every text of the units, every reason."""
    sections: dict[str, dict[str, str]] = {}
    for name, text in phrases.catalogue("en").phrases.items():
        section, _, key = name.partition(".")
        sections.setdefault(section, {})[key] = foreign(text)
    sections["units"] = {key: foreign(text["en"]) for key, text in texts(SUITES).items()}
    sections["reasons"] = {reason: foreign(reason) for reason in phrases.catalogue("ru").reasons}
    return sections


def test_the_shipped_languages_lack_no_phrase_and_have_the_same_gaps() -> None:
    english = phrases.catalogue("en").phrases
    assert len(english) > 200
    for language in SHIPPED:
        own = phrases.catalogue(language).phrases
        assert own.keys() == english.keys()
        assert all(own.values())
        wrong = [name for name, text in own.items() if phrases.gaps(text) != phrases.gaps(english[name])]
        assert not wrong


def test_the_units_say_what_they_are_in_the_shipped_languages() -> None:
    declared = texts(SUITES)
    assert {"simple_logic", "cot", "cot.l1", "citation.support title", "factual_correctness.band good"} <= {
        *declared
    }
    assert not [key for key, text in declared.items() if not {*SHIPPED} <= {*text}]


def test_a_reason_has_no_gap_that_its_translation_does_not_have() -> None:
    for pattern, text in phrases.catalogue("ru").reasons.items():
        assert phrases.gaps(text) <= phrases.gaps(pattern), pattern


@pytest.mark.usefixtures("plugged")
def test_another_language_is_a_folder_with_a_catalogue_and_prompts(tmp_path: Path) -> None:
    write(tmp_path, whole())
    prompt = tmp_path / "xx" / "cot" / "task.j2"
    prompt.parent.mkdir()
    prompt.write_text("Ξ: {{ question }}", encoding="utf-8")
    plugins.use([tmp_path])
    assert phrases.languages() == ["en", "ru", "xx"]
    assert "xx" in languages_of("cot/task")
    assert render("cot/task", "xx", question="2 + 2") == "Ξ: 2 + 2"
    data = build(2, report=Report(language="xx"))
    written = {
        "markdown": markdown.compose(data),
        "page": CONFIGURATION.sub("", page_of(data)),
    }
    with use_language("xx"):
        shown_screen = screen(data.results, data.verdict, data.plan, data.manifest["requests"], wall_s=7.0)
        written["screen"] = "\n".join(shown_screen.markdown())
    said = [text for text in phrases.catalogue("en").phrases.values() if " " in text and "{" not in text]
    said += [text["en"] for text in texts(SUITES).values() if " " in text["en"] and text["en"] != PRODUCT]
    said += [one for one in data.scores["reason"].unique() if one and " " in one]
    shown = page_of(build(2))
    assert sum(text in shown for text in said) > 100, "English phrases that a page in English has"
    script = shown[shown.index("<script>") :]
    for name, text in written.items():
        assert not [one for one in said if one in text and one not in script], name
        assert any(foreign(one) in text for one in said), name


@pytest.mark.usefixtures("plugged")
def test_a_dry_run_speaks_another_language_too(tmp_path: Path) -> None:
    """No Latin word is in what it says but names: of suites, models, metrics, paths, languages and the currency."""
    write(tmp_path, whole())
    plugins.use([tmp_path])
    with serve_openai("4") as server:
        priced = at(server, price_in=1.0, price_out=2.0, batch="wait")
        words = [priced, judged_by(server, exam=6), "suites=[basic_control,rag]", "repeats=2"]
        words += [
            "basic_control.gate_on=pass_at_k",
            "basic_control.weight=0",
            "report.language=xx",
            f"store.root={tmp_path}/store",
        ]
        found = estimate(read(None, words))
    shown = StringIO()
    with use_language("xx"):
        Console(file=shown, width=400).print(*list_parts(found))
    text = re.sub(r"\[[^\n]*?\]", "", shown.getvalue().replace(f"{tmp_path}/store", ""))
    named = {"acme", "tiny", "b", "basic_control", "en", "exam",
             "factual_correctness", "judge", "rag", "response_groundedness", "ru", "USD", "zh"}  # fmt: skip
    assert set(re.findall(r"[A-Za-z][A-Za-z_]*", text)) == named
    for name in ("title", "basis_most", "basis_stand_in"):
        assert foreign(phrases.phrase(f"estimate.{name}", "en")) in text, name


@pytest.mark.usefixtures("plugged")
def test_english_stands_in_phrase_by_phrase(tmp_path: Path) -> None:
    write(tmp_path, {"common": {"verdict": "Βερδικτ"}, "reasons": {"a date": "δατε"}})
    plugins.use([tmp_path])
    assert phrases.phrase("common.verdict", "xx") == "Βερδικτ"
    assert phrases.phrase("common.score", "xx") == "Score"
    assert phrases.list_phrases("common", "xx")["category"] == "Category"
    assert phrases.translate_reason("missed a date", "xx") == "missed a date"
    assert "Βερδικτ" in markdown.compose(build(1, report=Report(language="xx")))


@pytest.mark.usefixtures("plugged")
@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"common": {"verdikt": "x"}}, "common.verdikt: there is no such phrase"),
        ({"common": {"of": "{k} von {total}"}}, "unknown gap 'total', expected among k, n"),
        ({"common": {"of": "{k von {n}"}}, "common.of"),
        ({"common": "x"}, "common: expected texts by name"),
    ],
)
def test_a_catalogue_that_is_wrong_says_where(
    tmp_path: Path, sections: dict[str, dict[str, str]], said: str
) -> None:
    path = write(tmp_path, sections)
    plugins.use([tmp_path])
    with pytest.raises(InputError) as raised:
        phrases.catalogue("xx")
    assert str(path) in str(raised.value)
    assert said in str(raised.value)


def test_a_language_without_a_catalogue_is_refused() -> None:
    with pytest.raises(ValueError, match="no catalogue of phrases in 'zh'; expected one of en, ru"):
        Report(language="zh")


@pytest.mark.usefixtures("plugged")
def test_the_catalogue_of_the_documents_is_one(tmp_path: Path) -> None:
    page = (TOP / "docs" / "report.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    write(tmp_path, yaml.safe_load(block), "de")
    plugins.use([tmp_path])
    shown = page_of(build(2, report=Report(language="de")))
    for said in (">Kategorien</h2>", ">Urteil<", "Rechnen", "L1 Endergebnis"):
        assert said in shown, said
    assert phrases.translate_reason("wrong sign", "de") == "falsches Vorzeichen"
    assert phrases.translate_reason("missed a date", "de") == "übersehen: a date"
    assert phrases.phrase("common.of", "de", k=1, n=2) == "1 von 2"


def test_an_english_count_of_one_has_its_noun_and_verb_in_the_singular() -> None:
    said = phrases.phrase
    assert said("regression.equal", "en", n=1, outcome="held") == "held: no difference on 1 question"
    assert said("regression.equal", "en", n=2, outcome="held") == "held: no difference on 2 questions"
    assert said("regression.n_pairs", "en", n=1) == "1 question"
    cut = said("screen.cut", "en", n=1, models="m", command="x")
    assert cut == "1 reply was truncated at the token limit (m); ask them again: x"
    assert said("estimate.counted", "en", n=1, cached=1, fresh=0) == "1 call: 1 from the cache, 0 to ask."
    assert said("compare.by", "en", points="1") == "1 point"
    assert said("compare.by", "en", points="1.5") == "1.5 points"
    assert said("common.cut", "en", n=1) == "1 truncated reply"
    assert said("screen.read", "en", n=1) == "1 rating"
    assert said("estimate.basis_here", "en", n=1) == "1 cached reply here"
    assert "own: 1 question is enough" in said("estimate.effect", "en", suite="own", n=1, between="a", alone="b")
    assert "log: 1 reply was truncated at the token limit without being right" in said(
        "compare.cut", "en", name="log", n=1
    )
    assert said("compare.alike", "en", n=1).endswith(
        "1 question failed on both sides for one cause, which counts as equal"
    )
    assert plural(1, "call") == "1 call"
