"""Result files of other tools, written as these tools write them, from plain rows."""

import csv
import io
import json
import os
import unicodedata
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tests.helpers import inside

Row = Mapping[str, Any]
"""id, question, answer, reply, score; where they matter: finish, error, epoch, more (further scores), model."""


def rows(
    scores: Sequence[Any], words: str = "How many legs have {} crabs?", first: int = 0, reply: str = ""
) -> list[dict[str, Any]]:
    """Make a row for each score; the first has the number `first`."""
    return [
        {
            "id": f"case-{n}",
            "question": words.format(n),
            "answer": str(10 * n),
            "reply": reply or (str(10 * n) if score == 1 else f"about {10 * n + 1}"),
            "score": score,
        }
        for n, score in enumerate(scores, first)
    ]


def planted(both: int, lost: int, won: int, neither: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Make the rows of two files: so many questions right in both, only before, only after, in neither."""
    cells = [(1, 1)] * both + [(1, 0)] * lost + [(0, 1)] * won + [(0, 0)] * neither
    return rows([old for old, _ in cells]), rows([new for _, new in cells])


def each(these: Sequence[Row], which: Sequence[int] | range, **change: Any) -> list[dict[str, Any]]:
    """Change some rows."""
    return [{**one, **change} if n in which else {**one} for n, one in enumerate(these)]


def reworded(these: Sequence[Row], which: range) -> list[dict[str, Any]]:
    """Ask something else in some rows."""
    return [{**one, "question": f"Quite another, {n}?"} if n in which else {**one} for n, one in enumerate(these)]


def decomposed(these: Sequence[Row]) -> list[dict[str, Any]]:
    """Write questions in the other normal form, and with wider gaps."""
    return [{**one, "question": unicodedata.normalize("NFD", one["question"]).replace(" ", "  ")} for one in these]


def epochs(right: Sequence[int]) -> list[dict[str, Any]]:
    """Make three rows for each question, of which so many are right."""
    made = zip(right, rows([1] * len(right)), strict=True)
    return [one | {"epoch": epoch, "score": int(epoch <= n)} for n, one in made for epoch in (1, 2, 3)]


def write(form: str, path: Path, these: Sequence[Row]) -> Path:
    """Write rows in a form, to a file with that form's ending."""
    ending, text = FORMS[form]
    path = path.with_name(path.name + ending)
    made = text(these)
    path.write_bytes(made if isinstance(made, bytes) else made.encode())
    return path


def _finish(row: Row, stop: str = "stop", cut: str = "length") -> str:
    return cut if row.get("finish") == "length" else stop


def _inspect_sample(row: Row) -> dict[str, Any]:
    value = next((letter for one, letter in ((1, "C"), (0, "I"), (0.5, "P")) if row["score"] is one), row["score"])
    scores = {"match": value} | row.get("more", {})
    return {
        "id": row["id"],
        "epoch": row.get("epoch", 1),
        "input": row["question"],
        "target": row["answer"],
        "messages": [{"role": "user", "content": row["question"], "source": "input"}],
        "output": {
            "model": row.get("model", "m"),
            "choices": [
                {
                    "message": {"role": "assistant", "content": row["reply"], "source": "generate"},
                    "stop_reason": _finish(row, cut="max_tokens"),
                }
            ],
            "completion": row["reply"],
        },
        "scores": {}
        if row.get("error")
        else {name: {"value": one, "answer": row["reply"], "history": []} for name, one in scores.items()},
        "metadata": {},
        "store": {},
        "events": [],
        **({"error": {"message": row["error"], "traceback": "", "traceback_ansi": ""}} if row.get("error") else {}),
    }


def _inspect_header(these: Sequence[Row]) -> dict[str, Any]:
    names = ["match", *next((one["more"] for one in these if "more" in one), {})]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": "r",
            "created": "2026-11-23T15:19:00+00:00",
            "task": "crabs",
            "task_id": "t",
            "task_version": 0,
            "dataset": {"samples": len(these), "sample_ids": [*dict.fromkeys(one["id"] for one in these)]},
            "model": these[0].get("model", "openai/m") if these else "openai/m",
            "config": {"epochs": max((one.get("epoch", 1) for one in these), default=1)},
            "packages": {"inspect_ai": "0.3.285"},
            "scorers": [{"name": name, "options": {}, "metrics": []} for name in names],
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}},
        "results": {"total_samples": len(these), "completed_samples": len(these), "scores": []},
        "stats": {"started_at": "2026-11-23T15:19:00+00:00", "completed_at": "2026-11-23T15:19:01+00:00"},
    }


def _inspect_json(these: Sequence[Row]) -> str:
    return json.dumps(_inspect_header(these) | {"samples": [_inspect_sample(one) for one in these]})


def _inspect_eval(these: Sequence[Row]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2} | _inspect_header(these)))
        for one in these:
            archive.writestr(
                f"samples/{one['id']}_epoch_{one.get('epoch', 1)}.json", json.dumps(_inspect_sample(one))
            )
        archive.writestr("header.json", json.dumps(_inspect_header(these)))
    return made.getvalue()


def _lm_eval(these: Sequence[Row]) -> str:
    """Write a line a row; `more` are further filters' values, which lm-eval writes as further lines."""
    return lines(
        {
            "doc_id": n,
            "doc": {"question": one["question"], "answer": one["answer"]},
            "target": one["answer"],
            "arguments": {"gen_args_0": {"arg_0": [f"Q: {one['question']}\nA:"], "arg_1": {"until": ["\n\n"]}}},
            "resps": [[one["reply"]]],
            "filtered_resps": [one["reply"]],
            "filter": name,
            "metrics": ["exact_match"],
            "doc_hash": f"{n:064x}",
            "exact_match": value,
        }
        for n, one in enumerate(these)
        for name, value in ({"strict-match": one["score"]} | one.get("more", {})).items()
    )


def _promptfoo(these: Sequence[Row]) -> str:
    results = [
        {
            "gradingResult": None
            if one.get("error")
            else {
                "pass": one["score"] == 1,
                "score": one["score"],
                "reason": "",
                "namedScores": one.get("more", {}),
                "componentResults": [
                    {"pass": one["score"] == 1, "score": one["score"], "reason": "", "assertion": {"type": kind}}
                    for kind in [one.get("assertion", "contains")]
                ],
            },
            "id": f"uuid-{n}",
            "namedScores": one.get("more", {}),
            "prompt": {"raw": one["question"], "label": "{{question}}"},
            "promptIdx": 0,
            "provider": {"id": one.get("model", "openai:chat:m"), "label": ""},
            "response": {"error": one["error"]}
            if one.get("error")
            else {"output": one["reply"], "finishReason": _finish(one)},
            "score": 0 if one.get("error") else one["score"],
            "success": not one.get("error") and one["score"] == 1,
            "testCase": {"vars": {"question": one["question"], "expected": one["answer"]}, "assert": []},
            "testIdx": n,
            "vars": {"question": one["question"], "expected": one["answer"]},
            **({"error": one["error"]} if one.get("error") else {}),
            "failureReason": 2 if one.get("error") else int(one["score"] != 1),
        }
        for n, one in enumerate(these)
    ]
    prompts = [{"raw": "{{question}}", "label": "{{question}}", "provider": "openai:chat:m"}]
    return json.dumps(
        {
            "evalId": "eval-LNI-2026-11-23T15:19:17",
            "results": {"version": 3, "prompts": prompts, "results": results, "stats": {}},
            "config": {"prompts": ["{{question}}"], "providers": ["openai:chat:m"]},
            "shareableUrl": None,
            "metadata": {"promptfooVersion": "0.121.20"},
        }
    )


def _passed(score: float) -> tuple[str, str]:
    return "PASS" if score == 1 else "FAIL", f"{score:.2f}"


def _promptfoo_csv(these: Sequence[Row]) -> str:
    head = ["question", "expected", "[openai:chat:m] {{question}}"]
    head += ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]
    body = [[one["question"], one["answer"], one["reply"], *_passed(one["score"]), "", "", ""] for one in these]
    return comma([head, *body])


def _deepeval(these: Sequence[Row]) -> str:
    def metric(name: str, value: object, row: Row) -> dict[str, Any]:
        made = {
            "name": name,
            "threshold": 0.5,
            "success": value == 1,
            "score": value,
            "reason": "so",
            "flaky": False,
        }
        if row.get("error"):
            made |= {"score": None, "success": False, "error": row["error"]}
        return made | ({"evaluationModel": row["judge"]} if row.get("judge") else {})

    cases = [
        {
            "name": one["id"],
            "input": one["question"],
            "actualOutput": one["reply"],
            "expectedOutput": one["answer"],
            "success": one["score"] == 1,
            "metricsData": [
                metric(name, value, one)
                for name, value in ({"Exact Match": one["score"]} | one.get("more", {})).items()
            ],
            "runDuration": 0.0,
            "order": n,
        }
        for n, one in enumerate(these)
    ]
    return json.dumps(
        {
            "testCases": cases,
            "conversationalTestCases": [],
            "metricsScores": [],
            "hyperparameters": {"model": "m"},
            "testPassed": 0,
            "testFailed": 0,
        }
    )


def _ragas(these: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {
            "user_input": one["question"],
            "retrieved_contexts": "['a crab']",
            "response": one["reply"],
            "reference": one["answer"],
            "exact_match": one["score"],
            **one.get("more", {}),
        }
        for one in these
    ]


def _hosted(these: Sequence[Row]) -> str:
    def item(n: int, one: Row) -> dict[str, Any]:
        return {
            "object": "eval.run.output_item",
            "id": f"outputitem_{n}",
            "created_at": 1743092076,
            "run_id": "evalrun_1",
            "eval_id": "eval_1",
            "status": "pass" if one["score"] == 1 else "fail",
            "datasource_item_id": n,
            "datasource_item": {"input": one["question"], "ground_truth": one["answer"]},
            "results": [
                {"name": name, "sample": None, "passed": value == 1, "score": value}
                for name, value in ({"String check-a2486074": float(one["score"])} | one.get("more", {})).items()
            ],
            "sample": {
                "input": [
                    {"role": "developer", "content": "Be short."},
                    {"role": "user", "content": one["question"]},
                ],
                "output": [{"role": "assistant", "content": one["reply"]}],
                "finish_reason": _finish(one),
                "model": one.get("model", "gpt-4o-mini-2024-07-18"),
                "error": {"code": "x", "message": one["error"]} if one.get("error") else None,
                "temperature": 1.0,
                "seed": 42,
            },
        }

    return json.dumps({"object": "list", "data": [item(n, one) for n, one in enumerate(these)], "has_more": False})


def _every(these: Sequence[Row]) -> str:
    return lines(
        {
            "schema_version": "0.3.0",
            "evaluation_id": "crabs/m/1",
            "model_id": one.get("model", "m"),
            "evaluation_name": "crabs",
            "sample_id": one["id"],
            "interaction_type": "single_turn",
            "answer_attribution": [],
            "input": {"raw": one["question"], "reference": [one["answer"]]},
            "output": {"raw": [one["reply"]]},
            "evaluation": {"score": float(one["score"]), "is_correct": one["score"] == 1},
        }
        for one in these
    )


def _plain(these: Sequence[Row]) -> list[dict[str, Any]]:
    return [
        {"id": one["id"], "question": one["question"], "expected": one["answer"], "response": one["reply"]}
        | {"score": one["score"]}
        | {name: one[name] for name in ("model", "finish_reason") if name in one}
        | one.get("more", {})
        for one in these
    ]


def lines(these: Any) -> str:
    """Write values as JSON, one a line."""
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in these)


def comma(cells: Sequence[Sequence[Any]]) -> str:
    """Write cells as CSV."""
    made = io.StringIO()
    csv.writer(made).writerows(cells)
    return made.getvalue()


def columns(these: Sequence[Mapping[str, Any]]) -> str:
    """Write mappings as CSV under their keys."""
    return comma([[*these[0]], *([*one.values()] for one in these)])


def _parquet(these: Sequence[Row]) -> bytes:
    made = io.BytesIO()
    pl.DataFrame(_plain(these)).write_parquet(made)
    return made.getvalue()


FORMS: dict[str, tuple[str, Callable[[Sequence[Row]], str | bytes]]] = {
    "inspect-eval": (".eval", _inspect_eval),
    "inspect-json": (".json", _inspect_json),
    "lm-eval": (".jsonl", _lm_eval),
    "promptfoo": (".json", _promptfoo),
    "promptfoo-csv": (".csv", _promptfoo_csv),
    "deepeval": (".json", _deepeval),
    "ragas-csv": (".csv", lambda these: columns(_ragas(these))),
    "ragas-jsonl": (".jsonl", lambda these: lines(_ragas(these))),
    "hosted": (".json", _hosted),
    "every": (".jsonl", _every),
    "csv": (".csv", lambda these: columns(_plain(these))),
    "jsonl": (".jsonl", lambda these: lines(_plain(these))),
    "json": (".json", lambda these: json.dumps(_plain(these))),
    "parquet": (".parquet", _parquet),
}


def merged(these: Sequence[Row], *forms: str) -> str:
    """Write one JSON object that has the keys of several forms."""
    made = [json.loads(FORMS[form][1](these)) for form in forms]
    return json.dumps({key: value for one in made for key, value in one.items()})


def bomb() -> bytes:
    """Write an Inspect log whose one sample says that it is 2 GB large."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
        archive.writestr("samples/1_epoch_1.json", b"0" * 1_000_000)
        archive.infolist()[-1].file_size = 2 * 10**9  # as it would say, if it were that large
    return made.getvalue()


def call(*words: object, at: Path) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it said on lines as wide as they need."""
    return inside.call([str(word) for word in words], {**os.environ, "COLUMNS": "1000"}, at)


def compare(*words: object, at: Path) -> tuple[list[dict[str, Any]], str]:
    """Return the pairs that `compare` found, which must succeed, and what it said."""
    code, out, err = call("compare", *words, "--json", "seen.json", "--show", "0", at=at)
    assert code == 0, err
    seen = json.loads((at / "seen.json").read_text(encoding="utf-8"))
    assert all(note in out for note in seen["notes"])
    return seen["pairs"], out


def both(form: str, folder: Path, old: Sequence[Row], new: Sequence[Row]) -> tuple[Path, Path]:
    """Write two files of a form."""
    return write(form, folder / "old", old), write(form, folder / "new", new)


def gate(new: Path, old: Path, *words: object) -> int:
    """Return the exit code of a gate."""
    return call("gate", new, "--baseline", old, *words, at=new.parent)[0]
