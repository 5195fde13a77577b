"""Logs of the open-source `evals`: a line of the specification, then events of samples, then the final report.

Source: openai/evals, `evals/record.py` (`LocalRecorder`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from metrics.stats.missing import UNSTATED
from tasks.exchange.records import (
    UNNAMED_JUDGE,
    Found,
    Recorded,
    conversation,
    expected,
    mapped,
    stated,
    stated_facts,
    text_of,
    within,
)
from tasks.exchange.source import Source

TOOL = "OpenAI evals (open source)"


def fits(source: Source) -> bool:
    """Return whether a file begins with a specification."""
    return not mapped(source.head.get("spec")).keys().isdisjoint({"completion_fns", "eval_name"})


def read(source: Source) -> Iterator[Found]:
    """Read a log: each sample with its last reply."""
    spec: Mapping[str, Any] = {}
    samples: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for row in source.rows():
        spec = mapped(row.get("spec")) or spec
        if "sample_id" in row and isinstance(row.get("data"), Mapping):
            samples.setdefault(str(row["sample_id"]), {}).setdefault(str(row.get("type")), []).append(row["data"])
    model = ", ".join(map(text_of, spec.get("completion_fns") or ())) or "model"
    for name, events in samples.items():
        asked, matched, failed = (
            mapped((events.get(kind) or events.get(other) or [{}])[-1])
            for kind, other in (("sampling", "raw_sample"), ("match", ""), ("error", ""))
        )
        scores = {"match": stated(matched.get("correct"))} if "match" in events else {}
        for one in events.get("metrics", ()):
            judge = UNNAMED_JUDGE if "choice" in one else ""
            scores |= {str(name): stated(value, judge=judge) for name, value in one.items()
                       if isinstance(value, bool | int | float)}  # fmt: skip
        if "error" in events:
            scores = {"match": stated(None, error=failed.get("message") or UNSTATED)}
        question = conversation(asked.get("prompt"))
        said = asked.get("sampled") or matched.get("sampled")
        reply = said[0] if isinstance(said, list) and said else said
        yield Recorded(
            "" if question else name,  # which is only the split and a number
            question,
            expected(matched.get("expected")),
            None if reply is None else text_of(reply),
            scores,
            model,
            text_of(spec.get("base_eval") or spec.get("eval_name")),
            error=text_of(failed.get("message")),
        )
    seed = within(spec, "run_config", "seed")
    yield stated_facts(tool=TOOL, model=model, task=spec.get("eval_name"), seed=seed)
