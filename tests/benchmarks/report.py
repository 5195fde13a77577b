"""Measure the HTML report over many samples: time to write, size, and how quick its browser is.

`python -m tests.benchmarks.report [samples]` (100 000 unless given). Wanted: a first view in 1 s, at most
1 GB of memory.
The samples are made up: four models, replies of some 900 signs of different words, chains of thought with details.
"""

import json
import pickle
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from basic_control.config.settings import Model, Settings
from basic_control.data.tables import ITEMS, REQUESTS, RESPONSES, SCORES, VERDICTS
from basic_control.tasks.report.report_data import ReportData
from tests.tasks.report.runs import complete, write_page

MODELS = ("acme/large:70b", "acme/small:8b", "other-model", "fourth")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _words(rng: Random, count: int) -> str:
    return " ".join("".join(rng.choices(_LETTERS, k=rng.randint(2, 9))) for _ in range(count))


def _item(rng: Random, number: int) -> dict[str, Any]:
    cot = number % 5 == 0
    return {
        "item_id": f"{number:016x}",
        "suite": "cot" if cot else "basic_control",
        "family": "gsm8k" if cot else ("simple_logic", "arithmetic", "summarization", "instructions")[number % 4],
        "version": 1,
        "level": "" if cot else ("easy", "medium", "hard")[number % 3],
        "language": "en",
        "template": "",
        "seed": 7,
        "index": number,
        "prompt": _words(rng, 60),
        "answer": _words(rng, 8),
        "facts": json.dumps({"note": _words(rng, 12), "n": number}),
    }


def _details(rng: Random, cot: bool) -> str:  # noqa: FBT001 - one of two kinds
    if not cot:
        return json.dumps({"found": _words(rng, 2), "precision": rng.random()})
    steps = [{"step": n, "text": f"{n}*{n + 1}={n * n + n}", "right": n % 3 > 0} for n in range(1, 7)]
    wrong = rng.randint(1, 9)
    return json.dumps({"calculations": steps, "first_wrong_step": wrong, "n_calculations": 6, "rule": "marker"})


def many(samples: int, *, words: int = 150) -> ReportData:
    """Return a run of so many samples, each reply of so many words; the same for equal arguments."""
    rng = Random(20261105)
    items = [_item(rng, number) for number in range(samples // len(MODELS))]
    asked, verdicts, scores = [], [], []
    for model in MODELS:
        for item in items:
            cot = item["suite"] == "cot"
            value = float(rng.random() < 0.7)
            key = {"item_id": item["item_id"], "model": model, "repeat": 0}
            reason = "right" if value else f"names another one ({rng.randint(1, 40)})"
            told = {"status": "scored", "reason": reason, "details": _details(rng, cot)}
            reply = {"text": _words(rng, words), "reasoning": "", "finish_reason": "stop", "tokens_in": 90}
            call = {"request_id": f"{rng.getrandbits(256):064x}", "step": "answer", "key": "", "cached": False}
            asked.append({**key, **reply, **call, "tokens_out": 200, "latency_s": rng.random() * 4})
            if not cot:
                verdicts.append({**key, **told, "correct": value == 1})
            scores.append({**key, **told, "metric": "cot" if cot else "correct", "version": 1, "value": value})
    columns = {**REQUESTS.columns, **RESPONSES.columns}
    columns.pop("payload")
    models = [Model(name=name, provider="ollama") for name in MODELS]
    given = Settings(models=tuple(models), suites=("basic_control", "cot"))
    return complete(
        given,
        ITEMS.frame(items),
        pl.DataFrame(asked, schema=columns),
        verdicts=VERDICTS.frame(verdicts),
        scores=SCORES.frame(scores),
        judged=pl.DataFrame(schema=columns),
    )


def kept(samples: int, path: Path) -> None:
    """Make the run and put it down in a file: what making it takes is no part of what writing its page takes."""
    path.write_bytes(pickle.dumps(many(samples)))


def browse(path: Path, chromium: str) -> None:
    """Print what a reader waits for in a browser."""
    from playwright.sync_api import Page, sync_playwright

    def listed(page: Page, act: Callable[[], object]) -> float:
        before = page.get_attribute("#browser", "data-ready")
        start = time.perf_counter()
        act()
        page.wait_for_function("n => document.getElementById('browser').dataset.ready !== n", arg=before)
        return time.perf_counter() - start

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        page.goto("about:blank")
        for state in ("browser just started", "and again"):
            start = time.perf_counter()
            page.goto(path.as_uri(), wait_until="commit")
            page.wait_for_selector("#theme:visible")
            print(f"  first view, {state:20}{time.perf_counter() - start:7.2f} s")
            page.wait_for_load_state()
            print(f"  page read to its end            {time.perf_counter() - start:7.2f} s")
            page.goto("about:blank")
        for name, after in (
            ("list of samples, from a link", "#samples?"),
            ("matrix, from a link", "#samples?view=matrix"),
        ):
            page.goto("about:blank")
            start = time.perf_counter()
            page.goto(f"{path.as_uri()}{after}", wait_until="commit")
            page.wait_for_selector("#browser[data-ready]")
            print(f"  {name:32}{time.perf_counter() - start:7.2f} s")
        acts: dict[str, Callable[[], object]] = {
            "back to the list": lambda: page.click("#view-list"),
            "filter by model": lambda: page.select_option("#f-model", MODELS[1]),
            "filter by outcome": lambda: page.select_option("#f-outcome", "wrong"),
            "no filter": lambda: page.click(".filters button"),
            "search, all texts": lambda: page.fill("#f-search", "qzx"),
            "and another text": lambda: page.fill("#f-search", "qzxa"),
        }
        for name, act in acts.items():
            print(f"  {name:32}{listed(page, act):7.2f} s   ({page.inner_text('.found')})")
        listed(page, lambda: page.click(".filters button"))
        start = time.perf_counter()
        with page.expect_download() as download:
            page.click(".exports button >> nth=1")
        saved = Path(download.value.path()).stat().st_size / 1e6
        print(f"  all samples as JSONL            {time.perf_counter() - start:7.2f} s   ({saved:.0f} MB)")
        browser.close()


def resident() -> float:
    """Return the most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Write a report and print its figures."""
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.pickle"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
            other.submit(kept, samples, file).result()
        data: ReportData = pickle.loads(file.read_bytes())  # noqa: S301 - written a moment ago
        file.unlink()
        before = resident()
        start, cpu = time.perf_counter(), time.process_time()
        path = write_page(data, Path(folder))
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"{samples} samples in {wall:.1f} s ({cpu:.1f} s of CPU), {path.stat().st_size / 1e6:.1f} MB")
        print(f"  memory at most {resident():.0f} MiB, of which the run itself {before:.0f}")
        if chromium := shutil.which("chromium"):
            browse(path, chromium)
        else:
            print("  no chromium here: the browser was not measured")


if __name__ == "__main__":
    main()
