"""A run's rows as lines for a terminal: `question → reply (expected …)`, and what its score says beside."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from basic_control.metrics.analysis.headlines import ModelResult
from basic_control.metrics.analysis.score_remarks import Remark
from basic_control.tasks.compare.rows import ShownRow
from basic_control.tasks.report.language import say, say_reason
from basic_control.tasks.report.text import shorten_name
from basic_control.tasks.report.words import headlines_of

NAME = 40
"""Characters of a question's own name."""
MOST_REMARKS = 6
"""Remarks on a row that are listed below it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a list of rows: its text, the first row that reads so, and how many rows do."""

    line: str
    row: ShownRow
    count: int

    @property
    def text(self) -> str:
        """The line, with its count if several rows read alike, as of repeats."""
        if self.count == 1:
            return self.line
        return f"{self.line} (× {self.count})"


def describe_remark(remark: Remark, *, is_panel: bool = False) -> str:
    """Return what a score says of a reply in a sentence; of several judges (`is_panel`) with who says it."""
    text, note = _join_lines(remark.text), _join_lines(remark.note)
    if remark.kind == "check":
        sentence = text
    elif remark.kind == "reason":
        sentence = say_reason(text)
    elif remark.kind == "excluded":
        sentence = say("script.not_counted", why=say_reason(text))
    elif remark.kind == "rated":
        sentence = _describe_rating(remark, text)
    elif remark.kind == "claim" and remark.label == "contradicted":
        sentence = say("screen.remark_contradicted", text=text)
    else:
        sentence = say(f"screen.remark_{remark.kind}", text=text, label=remark.label)
    if note:
        sentence = f"{sentence} ({note})"
    if is_panel and remark.judge:
        return f"{remark.judge}: {sentence}"
    return sentence


def _describe_rating(remark: Remark, reason: str) -> str:
    """Return a judge's rating or verdict: by which criterion, if it has a name, and why."""
    parts = [say("screen.remark_rated", label=remark.label), reason]
    if remark.name != "rating":
        parts.insert(0, remark.name)
    return ": ".join(filter(None, parts))


def describe_remarks(row: ShownRow) -> list[str]:
    """Return what a row's score says of its reply, sentence by sentence: failed checks, judges' reasons, claims."""
    judges = {remark.judge for remark in row.remarks if remark.judge}
    # That the expected answer is missing is said shortest by that answer.
    remarks = [remark for remark in row.remarks if remark.kind != "lacks" or remark.text != row.expected]
    return [describe_remark(remark, is_panel=len(judges) > 1) for remark in remarks]


def describe_ending(row: ShownRow) -> str:
    """Return what stands in parentheses after a reply: why it lost points, or what was expected."""
    sentences = describe_remarks(row)
    if row.is_imperfect and sentences:
        # On one line what a judge said says more than why it does not count.
        if row.remarks[0].kind == "excluded" and len(sentences) > 1:
            return say("screen.not_counted", told=sentences[1])
        return sentences[0]
    # What was expected explains no missing verdict.
    if row.is_unjudged and row.reason:
        return say_reason(row.reason)
    if row.expected:
        return say("screen.expected", answer=_join_lines(row.expected))
    return say_reason(row.reason)


def line_of(row: ShownRow, width: int, *, has_remarks: bool = False, model: str = "") -> str:
    """Return a row as one line of at most `width` characters: `question → reply (expected …) ✗ model: metric`.

    A row that nothing measured did not fail: it ends with `! model: not scored`. `has_remarks`: what the score says
    stands below, so that nothing of it is cut here. `model` is named if given.
    """
    question, reply = map(_join_lines, (add_name(row.name, row.question), find_ending(row.reply)))
    ending = describe_ending(row)
    if has_remarks and row.is_imperfect and len(ending) > width // 3 and describe_remarks(row):
        ending = ""
    if ending:
        ending = f" ({cut(ending, width // 3)})"
    mark, cause = "✗", ", ".join(row.failed_by)
    if row.is_unscored and not row.failed_by:
        mark, cause = "!", say("script.unscored")
    failure = ": ".join(filter(None, (model, cause)))
    if failure:
        ending += f" {mark} {cut(failure, width // 3)}"
    room = max(width - len(ending) - len(" → "), 8)
    # The question takes what the reply leaves of the line, and at least a third.
    shown_reply = cut(reply, max(room - len(question), 2 * room // 3)) or f"({say('screen.empty_reply')})"
    return f"{cut(question, max(room - len(shown_reply), room // 3))} → {shown_reply}{ending}"


def add_name(name: str, question: str) -> str:
    """Return a question after its own name, `refund twice: I was charged …`, unless it begins with it."""
    if not name or _join_lines(question).startswith(name):
        return question
    return f"{cut(name, NAME)}: {question}"


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def find_ending(reply: str) -> str:
    """Return the last line of a reply of several, where its answer stands, unless that line has no word."""
    *earlier_lines, last_line = [*filter(None, map(str.strip, reply.splitlines()))] or [""]
    has_word = any(map(str.isalnum, last_line))
    if not earlier_lines or not has_word:
        return reply
    return f"… {last_line}"


def cut(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters."""
    if len(text) <= longest:
        return text
    return f"{text[: max(longest - 1, 0)]}…"


def list_entries(rows: Sequence[ShownRow], n: int, width: int, *, has_remarks: bool = False) -> list[Entry]:
    """Return the first `n` lines of rows, as `line_of`; rows that read alike, as of repeats, are one.

    Of several models' rows each line names its model.
    """
    counts: dict[str, int] = {}
    first_rows: dict[str, ShownRow] = {}
    models = dict.fromkeys(row.model for row in rows)
    model_names = dict.fromkeys(models, "")
    if len(models) > 1:
        model_names = {model: shorten_name(model, among=models) for model in models}
    for row in rows:
        line = line_of(row, width - len(" (× 99)"), has_remarks=has_remarks, model=model_names[row.model])
        if line not in counts and len(counts) == n:
            break
        counts[line] = counts.get(line, 0) + 1
        first_rows.setdefault(line, row)
    return [Entry(line, first_rows[line], count) for line, count in counts.items()]


def choose_examples(rows: Iterable[ShownRow], models: Iterable[ModelResult]) -> list[ShownRow]:
    """Return rows without the full score, one of each suite in turn: first those of suites and models that failed.

    What is not scored comes last of its suite.
    """
    failing_parts = set()
    for headline in headlines_of(models):
        if headline.decided.outcome in {"fail", "error"}:
            failing_parts.add((headline.suite, headline.model))
    imperfect = [row for row in rows if row.is_imperfect]
    imperfect.sort(key=lambda row: (row.is_unscored, (row.suite, row.model) not in failing_parts))
    by_suite: dict[str, list[ShownRow]] = {}
    for row in imperfect:
        by_suite.setdefault(row.suite, []).append(row)
    turns = chain.from_iterable(zip_longest(*by_suite.values()))
    return [*filter(None, turns)]


def lines_of(rows: Sequence[ShownRow], n: int, width: int) -> list[str]:
    """Return the first `n` lines of rows."""
    return [entry.text for entry in list_entries(rows, n, width)]


def share_out(n: int, lengths: Sequence[int]) -> list[int]:
    """Return how many of each list are shown where all lists together have room for `n`: one of each in turn."""
    shares = [0] * len(lengths)
    while n > 0 and shares != [*lengths]:
        for position, length in enumerate(lengths):
            if n > 0 and shares[position] < length:
                shares[position] += 1
                n -= 1
    return shares


def list_unsaid(entry: Entry, width: int) -> Iterator[str]:
    """Yield what the score of a row without the full one says and its line has no room for, a line each."""
    sentences = describe_remarks(entry.row) if entry.row.is_imperfect else []
    unsaid = [sentence for sentence in sentences if f"({sentence})" not in entry.line]
    for sentence in unsaid[:MOST_REMARKS]:
        yield cut(sentence, width)
    if len(unsaid) > MOST_REMARKS:
        yield say("screen.folded", n=len(unsaid) - MOST_REMARKS)
