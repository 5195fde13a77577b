"""A run's rows as lines for a terminal: `question → reply (expected …)`."""

from collections.abc import Iterator, Sequence

from basic_control.tasks.compare.rows import ShownRow
from basic_control.tasks.report.language import say, say_reason


def line_of(row: ShownRow, width: int) -> str:
    """Return a row as one line of at most `width` characters: `question → reply (expected …)`."""
    question, reply, expected = map(_join_lines, (row.question, find_ending(row.reply), row.expected))
    ending = ""
    if expected:
        ending = f" ({say('screen.expected', answer=cut(expected, width // 4))})"
    elif row.reason:
        ending = f" ({cut(say_reason(row.reason), width // 4)})"
    room = max(width - len(ending) - len(" → "), 8)
    # The question takes what the reply leaves of the line, and at least a third.
    shown_reply = cut(reply, max(room - len(question), 2 * room // 3)) or f"({say('screen.empty_reply')})"
    return f"{cut(question, max(room - len(shown_reply), room // 3))} → {shown_reply}{ending}"


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


def lines_of(rows: Sequence[ShownRow], n: int, width: int) -> Iterator[str]:
    """Yield the lines of the first `n` rows; a line that comes again, as of repeats, is counted in its first."""
    counts: dict[str, int] = {}
    for row in rows:
        line = line_of(row, width - len(" (× 99)"))
        if line not in counts and len(counts) == n:
            break
        counts[line] = counts.get(line, 0) + 1
    for line, count in counts.items():
        yield f"{line} (× {count})" if count > 1 else line
