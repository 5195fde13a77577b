"""The exam from the command line: a passport is earned, kept, and asked for once."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from basic_control.config.exam import plan_short_exams, settings_of_exam
from basic_control.config.reading import read
from basic_control.data.exam import PARTS, STEPS, edition
from basic_control.data.labelled_sets import read_set
from basic_control.metrics.analysis.passports import ExamResult, passports
from basic_control.tasks.generate import items_of
from basic_control.tasks.plan import resolve
from basic_control.tasks.store.frames import read_scores, tabulate_judgements
from tests.conftest import TOP, Run
from tests.helpers.exam import exam_items, perfect, spoken
from tests.helpers.first_runs import PIPE
from tests.helpers.judges import kind
from tests.helpers.labelled import gullible, written
from tests.helpers.runs import latest
from tests.servers.running import Server, serve_openai
from tests.servers.script import Fault

N = 3


def arguments(server: Server, tmp_path: Path, **changes: Any) -> list[str]:
    judge = {"name": "judge", "provider": "openai", "base_url": server.base_url, "deadline_s": 20, **changes}
    words = [
        f"judges=[{json.dumps(judge)}]",
        "models=[]",
        f"store.root={tmp_path}/store",
        f"store.runs={tmp_path}/runs",
    ]
    return [word for one in words for word in ("--set", one)] + ["--set", "judges_exam.items.levels=[easy]"]


def _join(screen: str) -> str:
    """Return a screen in one line."""
    return " ".join(screen.split())


def test_a_judge_earns_a_passport_once(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the exam's own questions it errs nowhere; of two sets that people labelled it believes all, kept apart."""
    monkeypatch.setenv("BASIC_CONTROL_DATA", str(written(tmp_path / "data")))
    replies = {
        **spoken(exam_items("en", N, levels=["easy"]), perfect),
        **spoken([item for name in ("wice", "lidirus") for item in read_set(name)], gullible),
    }

    def speak(body: dict[str, Any]) -> str:
        return replies[body["messages"][-1]["content"]]

    with serve_openai(speak) as server:
        words = ["--n", str(N), "--data", "wice,lidirus", *arguments(server, tmp_path)]
        fetched = {"BASIC_CONTROL_DATA": str(tmp_path / "data")}
        done = run(*words, command="exam", extra=fetched)
        asked = len(server.requests)
        again = run(*words, command="exam", extra=fetched)
        after = len(server.requests)
    assert done.returncode == 0, done.stderr
    assert "Passport of judge" in done.stdout
    assert asked == after, "a passport is asked for once"
    assert again.returncode == 0
    kept = [json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "store" / "passports").iterdir()]
    assert {one["exam"]: one["right"]["share"] for one in kept if not one["domain"]} == dict.fromkeys(STEPS, 1.0)
    assert all(one["of"]["prompts"] and one["of"]["language"] == one["language"] for one in kept)
    assert all(one["of"]["questions"] == edition(one["exam"]) for one in kept)
    assert len({one["of"]["questions"] for one in kept}) == len(PARTS)
    apart = {one["domain"]: one for one in kept if one["domain"]}
    assert {name: (one["exam"], one["right"]["k"], one["right"]["n"]) for name, one in apart.items()} == {
        "wice": ("entails", 1, 3),
        "lidirus": ("entails", 1, 2),
    }
    assert "judge on human-labelled data" in done.stdout
    shown = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["passports"]
    assert sorted(one["domain"] for one in shown) == [*[""] * len(STEPS), "lidirus", "wice"]


def test_long_reasons_of_several_steps_break_no_word_in_a_line_of_80(run: Run, tmp_path: Path) -> None:
    judges = [{"name": f"rules-{'of-overlap-' * 4}{end}", "provider": "rules"} for end in "ab"]
    words = [
        "--n",
        "3",
        "--set",
        f"judges=[{json.dumps(judges[0])}, {json.dumps(judges[1])}]",
        "--set",
        "models=[]",
    ]
    words += ["--set", f"store.root={tmp_path}/store", "--set", f"store.runs={tmp_path}/runs"]
    words += ["--set", "judges_exam.items.steps=[entails, groundedness, correctness]"]
    done = run(*words, command="exam", extra=PIPE)
    assert done.returncode == 0, done.stderr
    passports = done.stdout.split(f"{tmp_path}")[0]
    assert max(map(len, passports.splitlines())) <= 80
    for judge in judges:
        assert f"Passport of {judge['name']}\n" in passports
    assert passports.count("Step         ") == 6
    assert "\nVerdict      it cannot tell right replies from wrong ones\n" in passports
    assert re.search(r"\nSensitivity  \d/3 = \d+(\.\d)?% \([\d.–]+\)\n", passports)


def test_a_judge_that_there_is_not_is_one_message(run: Run, tmp_path: Path) -> None:
    with serve_openai("x") as server:
        done = run("--judge", "nobody", *arguments(server, tmp_path), command="exam")
    assert done.returncode == 2
    assert "nobody" in done.stderr
    assert "expected one of judge" in done.stderr
    assert "Traceback" not in done.stderr


def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    rows = [
        {
            "question": f"Who wrote book {n}?",
            "response": f"Anna wrote book {n}.",
            "reference": f"Anna wrote book {n}, in 1900.",
            "retrieved_contexts": [f"Book {n} is Anna's."],
        }
        for n in range(12)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_run_is_corrected_by_its_judges_passport_and_undecided_without(run: Run, tmp_path: Path) -> None:
    """The judge calls every third reply fully grounded; on its exam it made no error."""
    drawn = exam_items("en", 4, levels=["easy"], steps=["groundedness"])
    replies = spoken(drawn, perfect)

    def speak(body: dict[str, Any]) -> str:
        text = body["messages"][-1]["content"]
        told = sum(
            map(int, "".join(c if c.isdigit() else " " for c in text.split("Anna wrote book")[-1][:4]).split()[:1])
        )
        return replies.get(text) or json.dumps({"reason": "", "rating": 2 if told % 3 == 0 else 0})

    with serve_openai(speak) as server:
        words = arguments(server, tmp_path)
        rag = [*words[:-2], "--data", str(answers(tmp_path)), "--set", "rag.factual_correctness.enabled=false"]
        rag += ["--set", "judges_must_have=passport", "--set", "gate=point", "--set", "rag.threshold=0.2"]
        rag += ["--set", "threshold=0.2"]
        before = run(*rag, flow="rag")
        found = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        words += ["--set", "judges_exam.items.steps=[groundedness]"]
        unmeasured = run(*rag, "--dry-run", flow="rag")
        exam = run("--n", "4", *words, command="exam")
        passed = run(*rag, "--dry-run", flow="rag")
        after = run(*rag, flow="rag")
        document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        stop = ["--set", "rag.stop={first: 12, most: 12}", "--set", "rag.threshold=0.95"]
        stopped = run(*rag, *stop, flow="rag")
        watched = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    assert exam.returncode == 0, exam.stderr
    assert "Judge judge: nobody has measured its errors" in _join(unmeasured.stdout)
    assert "Judge judge: it passed its exam (groundedness: 100% right)." in _join(passed.stdout)
    assert found["final"]["models"][0]["suites"][0]["outcome"] == "undecided"
    assert "judges_must_have: passport, and judge has none for groundedness (en)" in " ".join(before.stdout.split())
    row = document["corrected"][0]
    assert (row["metric"], row["judge"], row["n_verdicts"]) == ("response_groundedness", "judge", 12)
    assert row["raw"] == 4 / 12
    assert abs(row["value"] - 4 / 12) < 0.01
    assert row["interval"]["low"] < 0.25
    assert row["interval"]["high"] > 0.45
    assert document["final"]["models"][0]["suites"][0]["outcome"] == "pass"
    assert after.returncode == 0, after.stderr
    assert document["final"]["models"][0]["suites"][0]["corrected"] == pytest.approx(4 / 12, abs=0.01)
    # As the judge has it, it is below 95 %; an exam of four questions a rating does not settle that.
    (suite,) = watched["final"]["models"][0]["suites"]
    assert suite["stopping"]["looks"][-1]["high"] < 0.95 < suite["stopping"]["corrected"][1]
    assert (suite["outcome"], suite["stopping"]["decided"]) == ("undecided", None), stopped.stdout
    assert "with the errors that its exam showed of the judge" in suite["reason"]


def test_a_judge_without_a_passport_takes_a_short_form_in_the_run(run: Run, tmp_path: Path) -> None:
    """It calls everything fully grounded: of eighteen questions, six of each rating, six are right."""
    with serve_openai(json.dumps({"reason": "", "rating": 2})) as server:
        words = [*arguments(server, tmp_path, name="judge-70b", exam=6)[:-2], "--data", str(answers(tmp_path))]
        words += ["--set", "rag.factual_correctness.enabled=false", "--set", "gate=point"]
        planned = run(*words, "--dry-run", flow="rag")
        assert "Judge judge-70b: it takes its exam first, in 18 calls." in _join(planned.stdout)
        done = run(*words, "--junit", str(tmp_path / "junit.xml"), flow="rag")
        document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
        asked = len(server.requests)
        again = run(*words, flow="rag")
        after = len(server.requests)
    (model,) = document["final"]["models"]
    (suite,) = model["suites"]
    figures = "100% of 6 right replies recognised, 0% of 12 wrong replies recognised"
    reason = f"judge-70b: it cannot tell right replies from wrong ones: groundedness (en), {figures}"
    assert (done.returncode, suite["outcome"], suite["measured"]) == (3, "undecided", False)
    assert (suite["reason"], suite["score"]) == (reason, None)
    assert "not measured" in done.stdout
    assert reason in " ".join(done.stdout.split())
    assert "no measured score" in (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert asked == 18, "the questions of the exam, and none of the twelve replies"
    assert (again.returncode, after) == (3, asked), "the passport is asked for once"
    pages = [path for path in (latest(tmp_path) / "reports").iterdir() if path.suffix in {".md", ".html"}]
    assert len(pages) == 2
    assert all("not measured" in path.read_text(encoding="utf-8") for path in pages)


def test_what_a_judge_said_before_it_failed_its_exam_stays_readable_and_costs_nothing(
    run: Run, tmp_path: Path
) -> None:
    """It is examined after a run; the next run has one reply more, about which it is not asked."""

    def speak(body: dict[str, Any]) -> str:
        if kind(body) == "claims":
            return json.dumps({"claims": ["Anna wrote it."]})
        if kind(body) == "rating":
            return json.dumps({"reason": "half of it stands there", "rating": 1})
        return json.dumps({"verdicts": [{"id": "1", "reason": "says more", "verdict": "NEUTRAL"}]})

    path = answers(tmp_path)
    first_rows = path.read_text(encoding="utf-8").splitlines(keepends=True)[:4]
    with serve_openai(speak) as server:
        words = [*arguments(server, tmp_path, name="judge-70b")[:-2], "--data", str(path)]
        words += ["--set", "gate=point", "--set", "rag.factual_correctness.mode=precision"]
        path.write_text("".join(first_rows[:3]), encoding="utf-8")
        before = run(*words, flow="rag")
        of_exam = [*arguments(server, tmp_path, name="judge-70b"), "--n", "4"]
        run(*of_exam, "--set", "judges_exam.items.steps=[groundedness]", command="exam")
        n_calls = len(server.requests)
        path.write_text("".join(first_rows), encoding="utf-8")
        planned = run(*words, "--dry-run", flow="rag")
        assert "Judge judge-70b: it failed its exam and is not counted (it cannot tell right" in _join(
            planned.stdout
        )
        after = run(*words, flow="rag")
        rows = run("last", "--metric", "response_groundedness", command="show")
        n_after = [kind(request.body) for request in server.requests[n_calls:]]
    assert "not counted" not in before.stdout
    assert "rating" not in n_after, "nothing is asked of a judge that does not count"
    assert after.returncode == 3, after.stderr
    lines = [line.strip() for line in rows.stdout.splitlines()]
    mark = "not counted: the judge failed its exam (it cannot tell right replies from wrong ones: groundedness (en)"
    assert sum(line.startswith(mark[:60]) for line in lines) == 3
    assert lines.count("rated PARTLY_GROUNDED: half of it stands there") == 3
    screen = " ".join(after.stdout.split())
    name = latest(tmp_path).name
    assert f"Next: your own labels: python -m basic_control label {name}" in screen
    assert f"Or another judge: python -m basic_control rejudge {name} --judge PROVIDER/NAME" in screen
    assert run(name, command="label").returncode == 0
    judgements = tabulate_judgements(read_scores(latest(tmp_path))).filter(metric="response_groundedness")
    assert judgements["verdict"].to_list() == ["PARTLY_GROUNDED"] * 3
    assert all(why.startswith("it cannot tell right replies") for why in judgements["excluded"])
    (report,) = latest(tmp_path).glob("reports/*.md")
    assert "rated PARTLY" in report.read_text(encoding="utf-8")
    document = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))
    (suite,) = document["final"]["models"][0]["suites"]
    assert (suite["score"], suite["measured"]) == (None, False)


def test_a_judge_that_says_yes_to_all_is_left_out_of_the_metrics_of_retrieval(run: Run, tmp_path: Path) -> None:
    """It finds every reply to answer fully, and every context useful: a third, and a half, of its exam is right."""

    def praise(body: dict[str, Any]) -> str:
        is_answer = "FULLY" in body["messages"][-1]["content"]
        return json.dumps({"reason": "", "verdict": "FULLY" if is_answer else "yes"})

    with serve_openai(praise) as server:
        place = {"provider": "openai", "base_url": server.base_url}
        suite = {
            "name": "retrieval",
            "items": {"data": str(answers(tmp_path))},
            "responses_of": "bot",
            "threshold": 0.5,
            "metrics": {"answers_question": {}, "context_precision": {}},
        }
        settings = tmp_path / "run.yaml"
        judges = [{"name": "judge-70b", **place, "exam": 12}]
        settings.write_text(json.dumps({"judges": judges, "suites": [suite], "gate": "point"}), encoding="utf-8")
        done = run(str(settings))
        n_calls = len(server.requests)
    assert done.returncode == 3, done.stderr
    assert n_calls == 12 * 3 + 12 * 2, "the questions of the exam, and none of the twelve replies"
    screen = " ".join(done.stdout.split())
    reason = "judge-70b: it cannot tell right replies from wrong ones"
    shares = "100% of 12 right replies recognised, 0% of {} wrong replies recognised"
    assert f"{reason}: answers_question (en), {shares.format(24)}" in screen
    assert f"{reason}: useful (en), {shares.format(12)}" in screen


def test_a_raised_exam_is_taken_though_a_passport_is_there(run: Run, tmp_path: Path) -> None:
    """Two questions of each of three ratings, then six; asked for fewer again, or as many, none."""
    with serve_openai(json.dumps({"reason": "", "rating": 2})) as server:
        counts = [0]
        for n in (2, 6, 6, 2):
            words = [*arguments(server, tmp_path, name="judge-70b", exam=n)[:-2], "--data", str(answers(tmp_path))]
            words += ["--set", "rag.factual_correctness.enabled=false", "--set", "gate=point"]
            run(*words, flow="rag")
            counts.append(len(server.requests))
    (passport,) = (json.loads(path.read_text("utf-8")) for path in (tmp_path / "store" / "passports").iterdir())
    assert [sum(row) for row in passport["confusion"]] == [6, 6, 6]
    assert counts[1] == 6
    # Of the easy questions the first are those of the shorter exam, whose replies are kept.
    assert counts[1] < counts[2] <= counts[1] + 18
    assert counts[3] == counts[4] == counts[2]


@pytest.mark.parametrize(("failed", "n"), [(0, 4), (6, 4), (11, 4)])
def test_questions_that_a_judge_did_not_answer_were_asked_all_the_same(failed: int, n: int) -> None:
    """Twelve questions of three ratings, four of each, of which some had no readable reply."""
    results = [
        ExamResult("j", "groundedness", "en", f"i{k}", "judge_failed" if k < failed else "scored", _rated(k % 3))
        for k in range(12)
    ]
    (passport,) = passports(results)
    assert passport.n_of_each == n


def _rated(truth: int) -> dict[str, Any]:
    return {"pairs": [(str(truth), "2")]}


def labelled(sheet: Path, name: str, label: Any) -> str:
    """Fill a sheet as a person would; return its path."""
    rows = list(csv.DictReader(sheet.read_text(encoding="utf-8-sig").splitlines()))
    path = sheet.with_name(name)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows({**row, "label": label(int(row["prompt"].split()[-1]))} for row in rows)
    return str(path)


def test_labels_bring_back_a_judge_that_does_not_count(run: Run, tmp_path: Path) -> None:
    """Its exam excludes it, so that nobody is asked; people label all 40 replies, and the next run asks it."""
    path = tmp_path / "many.jsonl"
    rows = [{"question": f"Who {n}", "response": f"Anna, {n}.", "retrieved_contexts": ["Anna."]} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai(json.dumps({"reason": "", "rating": 2})) as server:
        words = [*arguments(server, tmp_path, name="judge-70b", exam=6)[:-2], "--data", str(path)]
        words += ["--set", "rag.factual_correctness.enabled=false", "--set", "gate=point"]
        before = run(*words, flow="rag")
        of_exam = len(server.requests)
        done = latest(tmp_path)
        run(str(done), "--n", "40", command="label")
        sheet = labelled(done / "labels.csv", "ann.csv", lambda n: "yes" if n % 2 else "no")
        kept = run(str(done), "--labels", sheet, command="label")
        planned = run(*words, "--dry-run", flow="rag")
        after = run(*words, flow="rag")
        asked = len(server.requests) - of_exam
    assert (before.returncode, of_exam) == (3, 18)
    assert kept.returncode == 0, kept.stderr
    screen = _join(kept.stdout)
    assert "judge-70b does not count and was not asked about 40 of these replies" in screen
    assert f"the next run asks it: about {asked} calls" in screen
    assert "40" in planned.stdout
    assert asked == len(rows)
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    (suite,) = model["suites"]
    assert (suite["score"], suite["n_labels"]) == (0.5, 40)
    assert (after.returncode, suite["outcome"]) == (1, "fail"), after.stderr


def test_a_gate_that_wants_labels_goes_by_what_people_said(run: Run, tmp_path: Path) -> None:
    """The judge calls all 40 replies grounded; two labellers call half of them so, and differ on none of them."""
    path = tmp_path / "many.jsonl"
    rows = [{"question": f"Who {n}", "response": f"Anna, {n}.", "retrieved_contexts": ["Anna."]} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serve_openai(json.dumps({"reason": "", "rating": 2})) as server:
        words = [*arguments(server, tmp_path, name="judge-70b")[:-2], "--data", str(path)]
        words += ["--set", "rag.factual_correctness.enabled=false", "--set", "gate=interval"]
        before = run(*words, "--set", "judges_must_have=labels", flow="rag")
        done = latest(tmp_path)
        sheet = done / "labels.csv"
        asked = len(server.requests)
        drawn = run(str(done), "--n", "40", command="label")
        sheets = [labelled(sheet, f"{name}.csv", lambda n: "yes" if n % 2 else "no") for name in ("ann", "bob")]
        joined = run(str(done), "--labels", sheets[0], "--labels", sheets[1], command="label")
        after = run(*words, "--set", "judges_must_have=labels", flow="rag")
        assert len(server.requests) == asked
        assert latest(tmp_path) != done, "the next run, of the same replies, knows the labels"
    assert before.returncode == 3, before.stderr
    assert "judges_must_have: labels, and fewer than 30 replies as they are were labelled" in " ".join(
        before.stdout.split()
    )
    assert (drawn.returncode, joined.returncode) == (0, 0), joined.stderr
    assert "alpha 1.00 [0.9" in joined.stdout
    assert "on 40 replies" in joined.stdout
    (model,) = json.loads((latest(tmp_path) / "results.json").read_text(encoding="utf-8"))["final"]["models"]
    (suite,) = model["suites"]
    assert (suite["score"], suite["as_judged"], suite["n_labels"]) == (0.5, 1.0, 40)
    assert (after.returncode, suite["outcome"]) == (1, "fail"), "all of its interval lies below 0.8"
    assert suite["interval"]["low"] < 0.5 < suite["interval"]["high"] < 0.8
    assert "50% by 40 labels (as judged 100%)" in after.stdout


@pytest.mark.parametrize("language", ["en", "ru", "zh"])
def test_the_short_form_asks_as_many_of_each_truth(language: str) -> None:
    """Ten of each of three truths, at each step that `make eval` judges: claims come three to a question."""
    settings = read("config/default.yaml")
    steps = {(step, language) for step in ("entails", "support", "correctness", "groundedness")}
    judged = next(suite for suite in resolve(settings).suites if suite.judges)
    (form,) = plan_short_exams(judged.judges, {settings.judges[0].name: steps}, store=settings.store, batch_size=10)
    items = list(items_of(form.suite("judges_exam"), ()))
    assert len(items) == 10 + 3 * 10 * 3
    truths: dict[str, Counter[str]] = {}
    for item in items:
        truth = item["facts"] if isinstance(item["facts"], dict) else json.loads(item["facts"])
        said = truth["truth"]
        truths.setdefault(truth["exam"], Counter()).update(said.values() if isinstance(said, dict) else [said])
    assert all(len(counts) == 3 for counts in truths.values())
    assert all({*counts.values()} == {10} for counts in truths.values())


def test_an_exam_is_configured_without_prefect() -> None:
    """Prefect reads its settings when it is imported, so nothing may import it before a run has set them."""
    script = (
        "import sys\n"
        "import basic_control.flows.cli.commands.evaluate\n"
        "from basic_control.flows.cli.options import RunOptions, read_settings\n"
        "from basic_control.config.exam import SUITE, settings_of_exam\n"
        "settings_of_exam(read_settings(SUITE, RunOptions())[0], ())\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'prefect']\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=TOP, check=True)


def test_an_exam_is_compared_with_no_baseline() -> None:
    given = read("config/default.yaml", ["baseline=main", "fail_on=regression"], "judges_exam")
    settings = settings_of_exam(given, ())
    assert (settings.baseline, settings.fail_on) == ("", "threshold")


def test_an_exam_that_no_call_answered_is_an_error(run: Run, tmp_path: Path) -> None:
    refused = Fault("status", status=400, message="not now")
    with serve_openai("x", faults=lambda _number, _body: refused) as server:
        words = [*arguments(server, tmp_path), "--set", "judges_exam.items.steps=[groundedness]"]
        done = run("--n", "1", *words, command="exam")
    assert done.returncode == 2, done.stdout
    assert "no call to judge was answered" in done.stderr
    assert not [*(tmp_path / "store").glob("passports/*.json")]


def test_more_questions_than_there_are_are_refused_before_any_is_asked(run: Run, tmp_path: Path) -> None:
    with serve_openai("x") as server:
        done = run("--n", "41", *arguments(server, tmp_path), command="exam")
        assert (done.returncode, len(server.requests)) == (2, 0)
    assert "judges_exam.items.n_items: found 41, expected at most 40" in done.stderr


def test_a_key_of_before_is_told_what_replaces_it(run: Run, tmp_path: Path) -> None:
    with serve_openai("x") as server:
        done = run(*arguments(server, tmp_path), "--set", "judges_exam.families=[exam_rubric]", command="exam")
    assert done.returncode == 2
    assert "the key 'judges_exam.families' was removed; judges_exam.items.steps names judged steps" in done.stderr


def test_what_a_screen_advises_examines_the_runs_own_judge_in_the_steps_that_it_used(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"question": "1 + 1?", "answer": "2"}\n' * 2, encoding="utf-8")
    with serve_openai('{"reason": "r", "rating": 3}') as server:
        place = {"provider": "openai", "base_url": server.base_url}
        suite = {
            "name": "own",
            "items": {"data": str(tmp_path / "rows.jsonl")},
            "prompt": "{{ question }}",
            "metrics": {"rubric": {"criteria": "Right.", "scale": [1, 5]}},
            "threshold": 0.5,
        }
        configuration = {
            "models": [{"name": "m", **place}],
            "judges": [{"name": "mine", **place}],
            "suites": [suite],
            "gate": "off",
        }
        (tmp_path / "eval.yaml").write_text(json.dumps(configuration), encoding="utf-8")
        done = run(str(tmp_path / "eval.yaml"))
        assert done.returncode == 0, done.stderr
        (advised,) = re.findall(
            r"the errors of \S+; this does: python -m basic_control exam (--run \w+)", " ".join(done.stdout.split())
        )
        whole = run("--set", f"judges=[{json.dumps(configuration['judges'][0])}]", "--dry-run", command="exam")
        for words in ([str(tmp_path / "eval.yaml")], advised.split()):
            planned = run(*words, "--dry-run", command="exam")
            assert planned.returncode == 0, planned.stderr
            assert "judge mine, exam" in planned.stdout
            assert 0 < 3 * calls_of(planned.stdout) < calls_of(whole.stdout), "one step of several"


def calls_of(screen: str) -> int:
    """Return how many calls a dry run counts."""
    return int(re.findall(r"(\d+) calls: ", screen)[0])
