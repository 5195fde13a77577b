"""The questions of a report's samples for people: as they were sent, with system message and examples."""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.errors import InputError
from basic_control.data.messages import write_transcript
from basic_control.data.questions import format_expected, format_question
from basic_control.prompts import fill
from basic_control.tasks.models.requests import build_row_messages
from basic_control.tasks.plan import Plan, SuitePlan

Row = Mapping[str, Any]
FIRST = "prompt"
"""The column of the prompt with which items are stored; that of another one is `prompt [name]`."""


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """A prompt of a suite: `template` is None for the first; `system` is that of all targets asked with it."""

    suite: SuitePlan
    template: str | None
    system: str

    def write(self, row: Row, facts: Row) -> str | None:
        """Return an item's question as it was sent; None if it cannot be filled any more."""
        # The rules may have changed since: then the grid has the prompt's own text.
        with suppress(InputError):
            if self.system or self.suite.around.examples:
                messages = build_row_messages(row, facts, self.template, self.suite.around, self.system)
                return write_transcript(messages)
            if self.template is not None:
                return fill(self.template, row["language"], facts)
        return None


Prompts = Mapping[tuple[str, str], SentPrompt]
"""Prompts by suite and the column that they are shown in."""


def list_prompts(plan: Plan) -> Prompts:
    """Return the prompts of all suites."""
    prompts = dict[tuple[str, str], SentPrompt]()
    for suite in plan.suites:
        for target in suite.live_targets:
            column = FIRST
            if target.template is not None:
                column = f"prompt [{target.prompt}]"
            key, system = (suite.name, column), target.model.system
            # Models with system prompts of their own share none.
            if key in prompts and prompts[key].system != system:
                system = ""
            prompts[key] = SentPrompt(suite, target.template, system)
    return prompts


def write_questions(items: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return items with texts for people: the row's own question, each prompt, and the expected answer."""
    prompts = list_prompts(plan)
    columns = sorted({column for _, column in prompts if column != FIRST})
    texts: dict[str, list[str | None]] = {name: [] for name in ("question", FIRST, "answer", *columns)}
    for row in items.select("suite", "language", "prompt", "answer", "facts", "text_digest").iter_rows(named=True):
        facts = json.loads(row["facts"] or "{}")
        item_text = format_question(row["prompt"] or "", facts)
        sent = _write(prompts, FIRST, row, facts)
        question = facts.get("question")
        if not isinstance(question, str):
            # The list shows what a question begins with: not the examples, which all share.
            question = None if sent is None else item_text
        texts["question"].append(question)
        texts[FIRST].append(sent or item_text)
        texts["answer"].append(format_expected(row["answer"] or "", facts))
        for column in columns:
            texts[column].append(_write(prompts, column, row, facts))
    return items.with_columns(pl.Series(name, column, dtype=pl.String) for name, column in texts.items())


def _write(prompts: Prompts, column: str, row: Row, facts: Row) -> str | None:
    """Return an item's question by its suite's prompt for a column; None if there is none."""
    prompt = prompts.get((row["suite"], column))
    return None if prompt is None else prompt.write(row, facts)
