"""Replies in the terminal: at the end of a run, by `show`, and in `compare last`."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.helpers.first_runs import PIPE, SCREENS, expect, settle
from tests.helpers.runs import at, latest
from tests.servers.running import serve_openai

PROMPT = "You sort tickets. Answer with the name of one team and nothing else.\n\n{{ ticket }}"
ROWS = {
    "My invoice is wrong": "Billing",
    "The page is blank": "Web",
    "Refund me twice": "Billing",
    "I cannot log in": "Access",
    "Reset my key": "Access",
}
REPLIES = {
    "My invoice is wrong": "billing",
    "The page is blank": "Let me think.\n\nAccess",
    "Refund me twice": "\x1b[31mWeb\x1b[0m",
    "I cannot log in": "Access",
    "Reset my key": "",
}


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    rows = [{"ticket": ticket, "answer": team} for ticket, team in ROWS.items()]
    (tmp_path / "tickets.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    suite = {
        "name": "tickets",
        "items": {"data": str(tmp_path / "tickets.jsonl")},
        "prompt": PROMPT,
        "metrics": ["exact_match", "contains"],
        "threshold": 0.5,
    }
    file = tmp_path / "eval.yaml"
    file.write_text(json.dumps({"suites": [suite], "gate": "point"}), encoding="utf-8")
    return file


def test_no_screen_is_longer_than_a_terminal() -> None:
    for path in SCREENS.glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 24, path.name
        width = 120 if path.stem.endswith("120") else 80
        assert max(map(len, lines)) <= width, path.name


def test_a_screen_in_a_pipe_is_80_characters_wide_and_its_commands_are_whole(
    run: Run, configuration: Path, tmp_path: Path
) -> None:
    """Only a word that is longer, such as a path, has a longer line, by itself."""
    settings = json.loads(configuration.read_text(encoding="utf-8"))
    (suite,) = settings["suites"]
    suite["metrics"] = {"exact_match": {}, "rubric": {"criteria": "It names the right team, and no other."}}
    suite["threshold"] = 0.9
    with serve_openai(lambda body: answer_ticket(body) if "sort tickets" in json.dumps(body) else "?") as server:
        settings["judges"] = [{"name": "a-judge", "provider": "openai", "base_url": server.base_url, "exam": 2}]
        configuration.write_text(json.dumps(settings), encoding="utf-8")
        words = (str(configuration), "--set", at(server, name="a-model"))
        screens = [run(*words, extra=PIPE)]
        name = latest(tmp_path).name
        run(*words, "--fresh")
        for command, *arguments in (
            ("run", *words, "--dry-run"),
            ("run", *words),
            ("show", "--failed"),
            ("compare", "last"),
            ("gate", name, "--threshold", "0.9"),
            ("gate", latest(tmp_path).name, "--baseline", name),
            ("exam", "--run", name),
            ("rejudge", name, "--judge", "a-judge"),
        ):
            screens.append(run(*arguments, command=command, extra=PIPE))
    for screen in screens:
        assert screen.stdout, screen.stderr
        assert "Traceback" not in screen.stderr
        without_paths = [re.sub(r"\S*/\S*", "", line) for line in screen.stdout.splitlines()]
        assert max(map(len, without_paths)) <= 80, screen.args
    assert f"python -m basic_control label {name}" in screens[0].stdout


def answer_ticket(body: dict[str, object]) -> str:
    text = json.dumps(body["messages"])
    return next(reply for ticket, reply in REPLIES.items() if ticket in text)


def test_the_screen_show_and_compare_name_rows_by_their_questions(
    run: Run,
    configuration: Path,
) -> None:
    with serve_openai(answer_ticket) as server:
        words = (str(configuration), "--set", at(server, name="m"))
        first = run(*words)
        assert first.returncode == 1, first.stderr
        # The worst first, one line each: no template, no control character, the last line of a long reply.
        (report,) = latest(configuration.parent).glob("reports/*.md")
        table = report.read_text(encoding="utf-8").partition("## Replies that lost points")[2]
        assert "| tickets | m | exact\\_match | Reset my key | (empty) | 0% | expected Access |" in table
        lines = [line for line in first.stdout.splitlines() if " → " in line]
        assert lines == [
            "The page is blank → … Access (expected Web) ✗ exact_match, contains",
            "Refund me twice → ⟦U+001B⟧[31mWeb⟦U+001B⟧[0m (expected Billing) ✗ exact_match, contains",
            "Reset my key → (empty) (expected Access) ✗ exact_match, contains",
        ]
        alone = run("last", command="compare")
        assert alone.returncode == 2
        assert "found 1 finished evaluation" in alone.stderr

        REPLIES["I cannot log in"] = "Web"
        try:
            again = run(*words, "--fresh")
        finally:
            REPLIES["I cannot log in"] = "Access"
    assert again.returncode == 1, again.stderr
    (advised,) = re.findall(
        r"1 row changed since \d{8}_\d{6}\w*: python -m basic_control (compare .*)", again.stdout
    )
    assert "changed since" not in first.stdout
    assert "I cannot log in" in run(*advised.split()[1:], command="compare").stdout
    compared = run("last", command="compare", extra=PIPE)
    assert re.search(r"right to wrong.*: I cannot log in", compared.stdout), compared.stdout
    # Where a line breaks depends on the runs' names, which may have a suffix.
    assert settle(compared.stdout).split() == expect("compare last", compared.stdout).split()
    replies = run(command="show", extra=PIPE)
    assert settle(replies.stdout) == expect("show", replies.stdout)
    assert "You sort tickets" not in compared.stdout


def test_rows_of_own_tests_are_named_by_their_ids(run: Run, configuration: Path) -> None:
    rows = [{"id": f"case {n}", "ticket": ticket, "answer": team} for n, (ticket, team) in enumerate(ROWS.items())]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (configuration.parent / "tickets.jsonl").write_text(text, encoding="utf-8")
    with serve_openai(answer_ticket) as server:
        ended = run(str(configuration), "--set", at(server, name="m"))
    assert (
        "case 1: The page is blank → … Access (expected Web) ✗ exact_match, contains" in ended.stdout.splitlines()
    )
    assert (
        "  case 4: Reset my key → (empty) (expected Access) ✗ exact_match, contains"
        in run(command="show").stdout.splitlines()
    )
    (report,) = latest(configuration.parent).glob("reports/*.md")
    assert "| case 4: Reset my key | (empty) | 0%" in report.read_text(encoding="utf-8")


def test_a_russian_runs_replies_are_shown_in_russian(run: Run, configuration: Path) -> None:
    with serve_openai(answer_ticket) as server:
        run(str(configuration), "--set", at(server, name="m"), "--set", "report.language=ru")
    replies = run("--failed", "-n", "4", command="show", extra=PIPE)
    assert settle(replies.stdout) == expect("show in Russian", replies.stdout)
    for word in ("Run", "more", "expected", "points", "empty"):
        assert not re.search(rf"\b{word}\b", replies.stdout), word


@pytest.mark.parametrize(
    ("text", "tickets"),
    [
        ("ACCESS", {"The page is blank", "I cannot log in"}),
        ("think. access", {"The page is blank"}),
        ("[31m", {"Refund me twice"}),
        (".*", set()),
        ("Refund me", set()),
    ],
)
def test_show_lists_the_replies_that_hold_a_text(
    run: Run, configuration: Path, text: str, tickets: set[str]
) -> None:
    """In any case, over lines, and never as a pattern; what was asked is not searched."""
    with serve_openai(answer_ticket) as server:
        run(str(configuration), "--set", at(server, name="m"))
    replies = run("--grep", text, command="show")
    assert replies.returncode == 0, replies.stderr
    assert {line.partition(" → ")[0].strip() for line in replies.stdout.splitlines() if " → " in line} == tickets
    assert (f"None of these replies holds: {text}" in replies.stdout) == (not tickets)
    combined = run("--grep", text, "--failed", "--metric", "contains", command="show")
    assert combined.stdout.count(" → ") == len(tickets - {"I cannot log in"})


def test_show_filters_rows_and_says_what_it_does_not_know(run: Run, configuration: Path) -> None:
    with serve_openai(answer_ticket) as server:
        run(str(configuration), "--set", at(server, name="m"))
    every = run(command="show")
    assert every.returncode == 0, every.stderr
    assert every.stdout.count(" → ") == len(ROWS)
    assert "5 replies, 3 with less than the full score" in every.stdout
    failed = run("last", "--failed", "-n", "2", "--metric", "contains", command="show")
    assert failed.stdout.count(" → ") == 2
    assert "My invoice is wrong" not in failed.stdout
    for words, message in (
        (("--metric", "rubric"), "no such scores; expected some of all, contains, exact_match"),
        (("--model", "n"), "has no reply of it; expected one of m"),
        (("nowhere",), "nowhere: no such run"),
    ):
        wrong = run(*words, command="show")
        assert wrong.returncode == 2
        assert message in wrong.stderr
        assert "Traceback" not in wrong.stderr
