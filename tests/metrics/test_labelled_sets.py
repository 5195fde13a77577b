"""Sets that people labelled are fetched, read in their own forms, and tell of a judge apart from the exam."""

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from basic_control.data.errors import InputError
from basic_control.data.fetch import fetch
from basic_control.data.labelled_sets import SETS, list_set_files, read_set
from basic_control.data.loaders import exam
from basic_control.data.plugins import loader
from basic_control.data.public_sets import SOURCES
from basic_control.data.public_sets import local_path as kept_at
from basic_control.metrics.analysis.passports import read_passport
from basic_control.tasks.report.passports import tables_of
from tests.helpers.exam import exam_items, perfect
from tests.helpers.labelled import LLMBAR, gullible, honest, written
from tests.metrics.judges import earned


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def translate_path(self, path: str) -> str:
        """Serve each pinned address from the file that is kept for it."""
        name = next(name for name, source in SOURCES.items() if source.url.endswith(path))
        return str(Path(self.directory) / kept_at(name).name)

    def log_message(self, *_: Any, **__: Any) -> None:
        """Stay silent."""


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve small files in the real sets' forms at their addresses, pinned by their own hashes."""
    there = written(tmp_path / "served")
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(tmp_path / "data"))
    for name in {one for found in SETS for one in (path.name.partition(".")[0] for path in list_set_files(found))}:
        body = (there / kept_at(name).name).read_bytes()
        pinned = replace(SOURCES[name], sha256=hashlib.sha256(body).hexdigest(), size=len(body))
        monkeypatch.setitem(SOURCES, name, pinned)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(there)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetched(mirror: str) -> None:
    for name in SETS:
        fetch(name, base=mirror)


def test_each_set_has_its_licence_and_is_fetched_by_its_name(mirror: str) -> None:
    for name in SETS:
        assert [path.is_file() for path in fetch(name, base=mirror)] == [True] * len(list_set_files(name))
        assert all(SOURCES[path.name.partition(".")[0]].licence for path in list_set_files(name))
    kept_at("wice_dev").unlink()
    with pytest.raises(InputError, match=r"'wice' has not been fetched to .*fetch wice"):
        read_set("wice")


@pytest.mark.usefixtures("fetched")
def test_labels_become_the_verdicts_of_a_step() -> None:
    truths = {name: [item.answer for item in read_set(name)] for name in SETS}
    assert truths["wice"] == ["SUPPORTED", "not SUPPORTED", "not SUPPORTED"], "partial support is none"
    assert truths["begin"] == ["2", "less than 2"], "a generic reply states nothing"
    assert truths["llmbar"] == ["better", "worse", "better", "worse", "better"]
    assert truths["lidirus"] == ["SUPPORTED", "not SUPPORTED"], "the majority, and a draw is none"
    assert [len(item.facts["questions"]) for item in read_set("wice")] == [2, 1, 1], "each evidence set is asked"
    assert {item.language for item in read_set("lidirus")} == {"ru"}
    assert [item.facts["kind"] for item in read_set("llmbar")] == [f"llmbar_{name}" for name in LLMBAR]
    quoted = read_set("begin")[0].facts["questions"][0]["values"]
    assert quoted["contexts"] == ['"Blue Door" is a cafe.'], "a quotation mark is a character of it"


@pytest.mark.usefixtures("fetched")
def test_a_judge_that_says_what_people_said_is_right_and_a_gullible_one_is_found() -> None:
    """Of WiCE's claim with two evidence sets, one that supports it is enough."""
    items = [item for name in SETS for item in read_set(name)]
    found = {one.domain: one for one in earned(items, honest)}
    assert {name: (one.right.k, one.right.n) for name, one in found.items()} == {
        "wice": (3, 3), "begin": (2, 2), "llmbar": (5, 5), "lidirus": (2, 2),
    }  # fmt: skip
    assert found["wice"].labels == ("SUPPORTED", "not SUPPORTED")
    fooled = {one.domain: one for one in earned(items, gullible)}
    assert (fooled["wice"].sensitivity.k, fooled["wice"].specificity.k, fooled["wice"].specificity.n) == (1, 0, 2)
    assert (fooled["begin"].right.k, fooled["begin"].confusion) == (1, ((1, 0), (1, 0)))
    assert (fooled["llmbar"].right.k, fooled["llmbar"].right.n) == (0, 5)


@pytest.mark.usefixtures("fetched")
def test_figures_of_a_set_stand_apart_from_the_exams_own_and_name_their_domain() -> None:
    drawn = exam_items("en", 2, steps=["groundedness"], levels=["easy"])
    found = earned([*drawn, *read_set("begin")], lambda i, ask: (honest if i.family in SETS else perfect)(i, ask))
    assert [(one.domain, one.right.n) for one in found] == [("", 6), ("begin", 2)]
    assert read_passport(found[1].as_dict()) == found[1]
    *_, table = tables_of(found[1].judge, found)
    (row,) = table.rows
    assert len(row) == len(table.columns)
    assert row[0] == f"begin: {SETS['begin'].domain}"
    assert row[3] == "2/2 = 100% (34.2–100)"


@pytest.mark.usefixtures("fetched")
def test_the_exam_asks_of_the_sets_that_are_named() -> None:
    unit = loader("exam")
    options = exam.Options.model_validate(
        {
            "data": "lidirus, llmbar",
            "n_data": 3,
            "steps": ["groundedness"],
            "n_items": 1,
            "levels": ["easy"],
        }
    ).model_dump()
    assert [item.family for item in unit.load(options, ())] == [
        *["groundedness"] * 3,
        *["lidirus"] * 2,
        *["llmbar"] * 3,
    ]
    assert len(list(unit.files(options))) == 1 + 6
    ((_, said),) = exam.check({**options, "data": ("glue",)})
    assert said == "unknown labelled set 'glue'; expected some of wice, begin, llmbar, lidirus"


OTHER = {
    "wice_dev.jsonl": [
        (
            '{"label": "maybe", "claim": "c", "evidence": ["e"], "meta": {"id": "1"}}',
            "row 1: not as published .*'maybe'",
        ),
        ('{"label": "supported", "claim": "c", "evidence": ["e"]}', "row 1: not as published .*'meta'"),
    ],
    "begin_dev.tsv": [("model_name\tknowledge\nt5", "line 2: found 1 columns, expected 2")],
    "llmbar_natural.json": [
        ('{"input": "i"}', "row 1: not as published .*'output_1'"),
        ('[{"input": "i", "output_1": "a", "output_2": "b", "label": 3}]', "row 1: not as published .*'3'"),
    ],
    "lidirus.tsv": [
        ("INPUT:sent1;INPUT:sent2;OUTPUT:result\na;b;maybe", "row 1: not as published .*'maybe'"),
    ],
}


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in OTHER for place in range(len(OTHER[name]))])
def test_another_form_is_one_message(
    name: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, said = OTHER[name][place]
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(written(tmp_path)))
    (tmp_path / name).write_text(content + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=said):
        read_set(name.partition(".")[0].partition("_")[0])
