"""`view`: runs served to a browser of this machine, over real HTTP, and to nobody else."""

import csv
import html as html_text
import http.client
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from starlette.requests import Request

from basic_control.data.errors import InputError
from basic_control.data.exits import GateOutcome
from basic_control.flows.cli import viewing
from basic_control.flows.cli.application import main
from basic_control.metrics.analysis.spending import Spending, Spent
from basic_control.metrics.stats.intervals import Interval
from basic_control.tasks.report import comparison
from basic_control.tasks.store.history import write_note
from tests.benchmarks.report import many
from tests.conftest import TOP
from tests.helpers.finished import HOSTILE, finished
from tests.helpers.suites import headline, model_of
from tests.helpers.verdicts import write_results
from tests.tasks.report.runs import write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

EVIL = "r03 <img src=x onerror=window.ran=1>"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, page_file: Path) -> Path:
    """Return two runs that can be compared, a hostile name, three broken ones."""
    there = tmp_path_factory.mktemp("view")
    finished(there, "r01")
    finished(there, "r02", right=lambda _, n: float(n % 3))
    finished(there, EVIL, ["<b>bold</b>"], seed=7)
    found = there / "runs"
    for at, name in enumerate(("r01", "r02", EVIL), 1):
        manifest = json.loads((found / name / "manifest.json").read_text(encoding="utf-8"))
        manifest["started"] = f"2026-01-0{at}T10:00:00+00:00"
        (found / name / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        model = manifest["configuration"]["models"][0]["name"]
        outcome: GateOutcome = ("pass", "fail", "error")[at - 1]
        around = Interval(at / 4 - 0.1, at / 4 + 0.1)
        score = model_of(model, headline("basic_control", at / 4, around, 1.0, outcome=outcome))
        run = {"items": {"basic_control": {"digest": "other" if name == "r02" else "same"}}}
        spent = Spent("model", model, 1, 1, 1, 1, 0, 0, 1.5 * at, 1.5 * at)
        spending = Spending("USD", [spent]) if name != EVIL else None
        # Its gate is off: what it came to is no less for it.
        write_results(found / name, score, run=run, spending=spending, gate="off")
        (found / name / "reports").mkdir()
        if name != "r02":
            shutil.copy(page_file, found / name / "reports" / page_file.name)
    made = many(40, words=8)
    write_page(made, found / "r02", size=4)
    write_note(found / "r01", "nightly, the <i>first</i>")
    (found / "broken").mkdir()
    (found / "broken" / "manifest.json").write_text('{"configuration": [1]}', encoding="utf-8")
    (found / "torn").mkdir()
    (found / "torn" / "manifest.json").write_text("{", encoding="utf-8")
    (found / "torn" / "labels.json").write_text("[]", encoding="utf-8")
    (found / "empty").mkdir()
    (there / "secret.html").write_text("secret", encoding="utf-8")
    (found / "r02" / "reports" / "report_9_away.html").symlink_to(there / "secret.html")
    return found


@pytest.fixture(scope="module")
def port(runs: Path) -> Iterator[int]:
    """Return the port at which the folder is served by a thread of this process."""
    with viewing.bind(0) as listening:
        taken = listening.getsockname()[1]
        server = viewing.server(runs, taken)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield taken
        server.should_exit = True
        thread.join()


def ask(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, http.client.HTTPMessage, str]:
    """Ask for a path as it is given, dots and all; return status, headers and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers, body


def places_of(page: str, *names: str) -> list[str]:
    """Return the names of runs that have a card, in the order of their cards."""
    cards = {name: page.find(f'title="{name}') for name in names}
    return sorted((name for name in names if cards[name] >= 0), key=lambda name: cards[name])


def test_the_index_has_every_run_the_broken_ones_too(port: int) -> None:
    status, _, page = ask(port, "/")
    assert status == 200
    assert places_of(page, "r03", "r02", "r01", "torn") == ["r03", "r02", "r01", "torn"]
    assert page.count(">damaged<") == 3
    assert page.count('type="radio"') == 6, "only what has finished can be compared"
    for told in (
        "1.50 USD",
        ">25%<",
        'title="15–35"',
        "nightly, the &lt;i&gt;first",
        "&lt;b&gt;bold&lt;/b&gt;",
        ">Fail<",
        "2 January 2026, 10:00",
        ">Basic tasks</a>",
    ):
        assert told in page, told
    assert "<img" not in page
    assert "<b>bold" not in page


def test_pages_of_all_runs_speak_the_newest_ones_language(tmp_path: Path) -> None:
    """Unless they are told another; one that is not known here is English."""

    def title(language: str = "") -> str:
        page = viewing.Pages(tmp_path / "runs", language).index(Request({"type": "http", "query_string": b""}))
        return bytes(page.body).decode().partition("<title>")[2].partition("<")[0]

    for at, language in enumerate(("en", "ru", "xx"), 1):
        folder = finished(tmp_path, f"r0{at}", language=language)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        started = {"started": f"2026-01-0{at}T10:00:00+00:00"}
        (folder / "manifest.json").write_text(json.dumps({**manifest, **started}), encoding="utf-8")
        assert title().startswith("Запуски" if language == "ru" else "Runs"), language
    assert title("ru").startswith("Запуски")


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("words=R01", ["r01"]),
        ("words=first+nightly", ["r01"]),
        ("words=2026-01-02+fail", ["r02"]),
        ("words=nothing+of+it", []),
    ],
)
def test_runs_are_searched_by_words_verdict_and_day_among_them(port: int, query: str, left: list[str]) -> None:
    _, _, page = ask(port, f"/?{query}")
    assert places_of(page, "r01", "r02", "r03", "torn") == left
    assert ("None of 6 runs matches." in page) is (not left)


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", ["r03", "r02", "r01"]),
        ("sort=-started", ["r01", "r02", "r03"]),
        ("sort=scores", ["r03", "r02", "r01"]),
        ("sort=-scores", ["r01", "r02", "r03"]),
        ("sort=cost", ["r02", "r01", "r03"]),
        ("sort=-cost", ["r01", "r02", "r03"]),
        ("sort=verdict", ["r03", "r02", "r01"]),
        ("sort=%3Cscript%3E", ["r03", "r02", "r01"]),
    ],
)
def test_runs_are_sorted_by_a_click_on_a_head(port: int, query: str, order: list[str]) -> None:
    """The worst verdict first; a cost that is not known comes last."""
    _, _, page = ask(port, f"/?{query}")
    assert places_of(page, *order, "torn") == [*order, "torn"]
    assert ("↓</a>" in page) == (query in {"sort=scores", "sort=cost", "sort=verdict"})
    assert ("&lt;script&gt;" in page, "<script>x" in page) == ("script" in query, False)


def test_a_click_on_their_code_leaves_the_runs_of_the_same_questions_best_first(port: int) -> None:
    _, _, page = ask(port, "/")
    links = re.findall(r'href="(/\?words=[0-9a-f]{7}&amp;sort=scores)"', page)
    assert [links.count(link) for link in dict.fromkeys(links)] == [2, 1]
    _, _, ranking = ask(port, html_text.unescape(links[0]))
    assert places_of(ranking, "r01", "r02", "r03") == ["r03", "r01"]


def test_reports_and_comparisons_are_the_pages_that_the_commands_write(
    port: int, runs: Path, page_file: Path
) -> None:
    from basic_control.tasks.compare.comparison import compare_runs

    assert ask(port, f"/runs/r01/{page_file.name}")[2] == page_file.read_text(encoding="utf-8")
    both = [str(runs / name) for name in ("r01", "r02")]
    assert ask(port, "/compare?before=r01&after=r02")[2] == comparison.html(compare_runs(both, runs=runs))


def test_files_of_other_tools_stand_beside_the_runs_and_open_compared(runs: Path, tmp_path: Path) -> None:
    def asked(query: bytes) -> Request:
        return Request({"type": "http", "query_string": query})

    rows = [json.dumps({"question": f"Is {n} a number?", "score": n % 2, "response": HOSTILE}) for n in range(20)]
    for name in ("old.jsonl", "new.jsonl"):
        (tmp_path / name).write_text("\n".join(rows), encoding="utf-8")
    files = viewing.find_foreign_files([str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")])
    assert [*files] == ["old.jsonl", "new.jsonl"]
    for folder, beside in ((runs, 6), (tmp_path / "none", 0)):
        pages = viewing.Pages(folder, files=files)
        index = bytes(pages.index(asked(b"")).body).decode()
        assert index.count('type="radio"') == beside + 4
        address = viewing.comparison_address(*files)
        page = bytes(pages.compare(asked(address.partition("?")[2].encode())).body).decode()
        assert "No difference: " in page
        assert "<script" not in page.replace("&lt;script", "")
    assert viewing.find_foreign_files(["r01"]) == {}
    with pytest.raises(InputError, match=r"nosuch\.csv is not a file"):
        viewing.find_foreign_files([str(tmp_path / "old.jsonl"), "nosuch.csv"])


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../secret.html",
        "/runs/r01/../../../secret.html",
        "/runs/r01/..%2f..%2f..%2fsecret.html",
        "/runs/..%2f/secret.html",
        "/runs/r02/report_9_away.html",
        "/runs/r01/manifest.json",
        "/runs/r01//etc/passwd",
        "/runs/none/report.html",
        "/runs/empty/report.html",
        "/secret.html",
    ],
)
def test_nothing_but_reports_of_the_folder_is_sent(port: int, path: str) -> None:
    status, _, page = ask(port, path)
    assert status == 404
    assert "secret" not in page


@pytest.mark.parametrize(
    "query",
    ["", "?before=r01", "?before=r01&after=../r02", "?before=r01&after=r01", "?before=r01&after=torn",
     "?before=r01&after=broken", "?before=r01&after=empty", f"?before=r01&after={EVIL.replace(' ', '%20')}"],
)  # fmt: skip
def test_what_cannot_be_compared_is_said_on_a_page(port: int, query: str) -> None:
    status, headers, page = ask(port, f"/compare{query}")
    assert status == 400
    assert headers["content-type"].startswith("text/html")
    assert 'href="/"' in page
    assert "<img" not in page


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("HEAD", {}, 200),
        ("GET", {"Sec_Fetch_Site": "none"}, 200),
        ("GET", {"Sec_Fetch_Site": "same-origin"}, 200),
        ("POST", {}, 405),
        ("PUT", {}, 405),
        ("DELETE", {}, 405),
        ("OPTIONS", {}, 405),
        ("GET", {"Host": "evil.example"}, 421),
        ("GET", {"Host": "evil.example:PORT"}, 421),
        ("GET", {"Host": "127.0.0.1:1"}, 421),
        ("GET", {"Origin": "https://evil.example"}, 403),
        ("GET", {"Origin": "null"}, 403),
        ("GET", {"Origin": "http://127.0.0.1:1"}, 403),
        ("GET", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("GET", {"Sec_Fetch_Site": "same-site"}, 403),
    ],
)
def test_only_readers_of_this_machine_are_answered(
    port: int, method: str, headers: dict[str, str], status: int
) -> None:
    """A name that points here (DNS rebinding), another site's request, and what would change a thing is refused."""
    given = {name: value.replace("PORT", str(port)) for name, value in headers.items()}
    answered, told, page = ask(port, "/", method, **given)
    assert answered == status
    assert ("r01" in page) is (status == 200 and method == "GET")
    assert "frame-ancestors 'none'" in told["content-security-policy"]
    assert told["x-content-type-options"] == "nosniff"
    assert told["cross-origin-resource-policy"] == "same-origin"


def test_another_address_of_this_machine_is_not_listened_at(port: int) -> None:
    with pytest.raises(OSError, match="refused"):
        http.client.HTTPConnection("127.0.0.2", port, timeout=5).connect()


def test_a_port_in_use_and_a_run_without_report_are_one_message(
    port: int, runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in (
        (
            ["--port", str(port), "--set", f"store.runs={runs}"],
            f"--port {port}: Address already in use",
        ),
        (["--port", "99999"], "--port"),
        (["none", "--set", f"store.runs={runs}"], "no such run; the latest are"),
        (["--set", f"store.runs={runs / 'none'}"], "there is no such folder of runs"),
    ):
        assert main(["view", *words]) == 2
        assert said in capsys.readouterr().err
    with pytest.raises(InputError, match="found no HTML report"):
        viewing.report_path(runs, str(finished(runs.parent / "other", "bare")))


def test_it_says_where_it_is_and_ends_cleanly_at_ctrl_c(runs: Path, page_file: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-m", "basic_control", "view", "r01", "--set", f"store.runs={runs}"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http://127.0.0.1:"))
        assert address.endswith(f"/runs/r01/{page_file.name}")
        taken = int(address.split(":")[2].split("/")[0])
        assert ask(taken, "/")[0] == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "Stopped.\n")


def test_a_browser_walks_from_the_index_to_a_comparison_a_report_and_a_sample(
    chromium: "Browser", port: int, page_file: Path
) -> None:
    page = chromium.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(f"http://127.0.0.1:{port}/")
    page.fill("input[name=words]", "r0")
    page.click("form.finder button")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click(".run:has(input[value=r01]) button")
    page.wait_for_selector("button:text-is('Path copied')")
    sent = Path(page.evaluate("navigator.clipboard.readText()"))
    assert sent.is_absolute()
    assert sent.read_bytes() == page_file.read_bytes(), "what is sent is the report's file"
    page.check("input[name=before][value=r01]")
    page.check("input[name=after][value=r02]")
    page.click(".comparing button")
    assert page.locator("h1").inner_text().endswith("r01, r02")
    page.locator("details summary").first.click()
    assert HOSTILE.split("\x1b", maxsplit=1)[0] in page.locator("details[open] pre").last.inner_text()
    page.go_back()
    page.click(".run[title=r02] h2 a")
    assert page.url.endswith(f"/runs/r02/{page_file.name}")
    page.locator("#samples").scroll_into_view_if_needed()
    page.wait_for_selector("#browser[data-ready]")
    page.focus(".grid")
    page.keyboard.press("End")
    page.wait_for_function("() => document.querySelector('.sample').innerText.includes('Response')")
    assert page.locator(".row[aria-selected=true]").get_attribute("aria-rowindex") == "41"
    assert page.evaluate("window.ran") is None
    assert wrong == []
    page.close()


READER = """
<!DOCTYPE html><title>r</title><p id=out>waiting</p><button>go</button><script>
const out = document.getElementById("out");
const tell = (text) => { out.textContent += ` | ${text}`; };
const read = async () => {
  for (const [name, act] of Object.entries({
    fetch: async () => (await fetch("/")).status,
    frame: async () => { const f = document.createElement("iframe"); f.src = "/"; document.body.append(f);
      await new Promise((done) => setTimeout(done, 300)); return f.contentDocument.body.innerText; },
    window: async () => { const w = window.open("/"); await new Promise((done) => setTimeout(done, 300));
      return w.document.body.innerText; },
    store: async () => localStorage.length,
    cookie: async () => document.cookie,
  })) { try { tell(`${name} READ ${await act()}`); } catch (error) { tell(`${name} refused`); } }
  tell("done");
};
document.querySelector("button").addEventListener("click", read);
</script>"""


def test_the_page_of_a_run_that_somebody_sent_reads_no_other_run(
    chromium: "Browser", runs: Path, tmp_path: Path
) -> None:
    place = tmp_path / "runs"
    shutil.copytree(runs, place)
    (report,) = (place / "r01" / "reports").glob("report_*.html")
    report.write_text(READER, "utf-8")
    with viewing.bind(0) as listening:
        port = listening.getsockname()[1]
        server = viewing.server(place, port)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            _, headers, _ = ask(port, f"/runs/r01/{report.name}")
            policy = headers["Content-Security-Policy"]
            page = chromium.new_page()
            page.goto(f"http://127.0.0.1:{port}/runs/r01/{report.name}")
            page.click("button")
            page.wait_for_function("() => document.getElementById('out').textContent.endsWith('done')")
            text = page.inner_text("#out")
            page.close()
        finally:
            server.should_exit = True
            thread.join()
    assert policy.startswith("sandbox allow-scripts allow-downloads; default-src 'none'")
    assert "READ" not in text
    assert text.count("refused") == 5


def test_under_view_labels_are_given_and_saved_and_what_is_not_kept_is_said(
    chromium: "Browser", port: int, page_file: Path
) -> None:
    page = chromium.new_page()
    page.set_default_timeout(9_000)
    page.goto(f"http://127.0.0.1:{port}/runs/r01/{page_file.name}")
    page.click(".side a[href='#label']")
    page.locator("#desk button").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#desk[data-at='0']")
    assert "save them before you close" in page.inner_text("#desk .unkept")
    for key in ("y", "n"):
        page.keyboard.press(key)
    with page.expect_download() as waiting:
        page.keyboard.press("s")
    text = Path(waiting.value.path()).read_text("utf-8-sig")
    assert [row["label"] for row in csv.DictReader(io.StringIO(text))][:2] == ["1", "0"]
    # Its addresses lead to the same sample again.
    page.locator("#samples").scroll_into_view_if_needed()
    page.wait_for_selector("#browser[data-ready]")
    page.focus(".grid")
    page.keyboard.press("End")
    page.wait_for_function("() => location.hash.includes('item=')")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("#browser[data-ready]")
    page.wait_for_function("() => document.querySelector('.sample').innerText.includes('Response')")
    page.close()
