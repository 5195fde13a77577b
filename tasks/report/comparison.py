"""Runs side by side, as Markdown and as one HTML page that needs nothing else."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from artifacts.store import write_atomically
from metrics.stats.pairs import Comparison
from tasks.compare.runs import RunComparison, shorten
from tasks.report.text import fenced, p_value, percent, plain, points, table, visible

LONGEST, SHORTEST = 20_000, 200
"""Signs of a text that are shown, at most; and where there are many texts, at least."""

ROOM = 20_000_000
"""Signs of all texts together: a page that a browser opens at once."""

_WORDS = 2_000
"""Words up to which two texts are marked word by word: the work grows with the product of both."""

HEADER = ("suite", "metric", "before", "after", "n", "mean before", "mean after", "difference", "lost / won",
          "p (Holm)", "detectable", "verdict")  # fmt: skip


def verdict(pair: Comparison) -> str:
    """Say in words what a comparison came to."""
    if pair.difference is None or not pair.significant:
        return "cannot be told apart"
    return "better" if pair.difference > 0 else "worse"


def interval(pair: Comparison) -> str:
    """Write a difference in percentage points, with its interval, corrected as its p-value is."""
    low, high = pair.interval_adjusted.low, pair.interval_adjusted.high
    return points(pair.difference) + (f" [{points(low)}, {points(high)}]" if low is not None else "")


def cells(pair: Comparison) -> list[str]:
    """Return a pair's row under `HEADER`."""
    return [
        pair.suite,
        pair.metric,
        pair.model_b,
        pair.model_a,
        str(pair.n),
        percent(pair.mean_b),
        percent(pair.mean_a),
        interval(pair),
        f"{pair.only_b} / {pair.only_a}",
        p_value(pair.p_adjusted),
        points(pair.detectable).lstrip("+"),
        verdict(pair),
    ]


def asked(found: RunComparison) -> Iterator[str]:
    """Yield a line for each suite: how many questions each run asked, and how many all of them did."""
    for suite, (own, shared) in found.shared.items():
        counts = ", ".join(f"{run.name}: {n}" for run, n in zip(found.runs, own, strict=True))
        yield f"{suite}: {shared} questions in all runs ({counts})"


def groups(found: RunComparison) -> Iterator[str]:
    """Yield a line for each metric of a field of three or more: which cannot be told apart."""
    for one in found.groups:
        said = "; ".join(" = ".join(group) for group in one.groups)
        yield f"{one.suite}: {one.metric}: cannot be told apart (best first): {said}"


def correction(found: RunComparison) -> str:
    """Say over what the p-values and intervals are corrected."""
    n = sum(pair.p_value is not None for pair in found.pairs)
    return (
        f"p is corrected by Holm over all {n} tests here, metrics and pairs together; each interval is at the "
        "level of its step there (95 % where there is one test, more where there are several), and holds 0 exactly "
        "where the two cannot be told apart."
    )


def cut(found: RunComparison) -> int:
    """Return how long a text may be, so that all texts fit the room together."""
    lengths = [
        length
        for frame in found.changed
        for name in ("prompt", "before_text", "after_text")
        for length in frame[name].str.len_chars().fill_null(0).to_list()
    ]
    longest = LONGEST
    while longest > SHORTEST and sum(min(length, longest) for length in lengths) > ROOM:
        longest //= 2
    return max(longest, SHORTEST)


def clip(text: str | None, longest: int) -> str:
    """Return the beginning of a text, and say how much is left out."""
    text = text or ""
    return text if len(text) <= longest else f"{text[:longest]}\n… {len(text) - longest} signs more"


def place_of(row: Mapping[str, Any]) -> str:
    """Name a change's item: family, level, language, id, repeat."""
    parts = [row["family"], row["level"], row["language"], row["item_id"]]
    return " · ".join([part for part in parts if part] + ([f"repeat {row['repeat']}"] if row["repeat"] else []))


def outcome(row: Mapping[str, Any], side: str) -> str:
    """Say what one side of a change came to: its value and reason."""
    reason = row[f"{side}_reason"] or ""
    return percent(row[f"{side}_value"]) + (f", {reason}" if reason else "")


def markdown(found: RunComparison) -> str:
    """Return the whole comparison as Markdown."""
    longest = cut(found)
    lines = ["# " + plain("Runs compared: " + ", ".join(run.name for run in found.runs)), ""]
    lines += [f"* {plain(line)}" for line in (*asked(found), *found.notes)]
    if found.differences:
        lines += ["", "## What differs in the configurations", ""]
        rows = [[plain(key), *(plain(shorten(v)) for v in values)] for key, values in found.differences]
        lines += table(["key", *(plain(run.name) for run in found.runs)], rows)
    lines += ["", "## Differences", ""]
    lines += table(HEADER, [[plain(cell) for cell in cells(pair)] for pair in found.pairs], left=4)
    lines += ["", *(f"* {plain(line)}" for line in (correction(found), *groups(found)))]
    lines += ["", "## What changed"]
    for pair, frame in zip(found.pairs, found.changed, strict=True):
        said = plain(f"{pair.suite}: {pair.metric}: {pair.model_b} → {pair.model_a}")
        lines += ["", f"### {said}", "", f"{frame.height} of {pair.n} changed."]
        for row in frame.iter_rows(named=True):
            lines += _markdown_change(row, pair, longest)
    return "\n".join(lines) + "\n"


def _markdown_change(row: Mapping[str, Any], pair: Comparison, longest: int) -> Iterator[str]:
    yield from ("", f"#### {plain(row['change'])}: {plain(place_of(row))}", "", "Question:", "")
    yield from fenced(clip(row["prompt"], longest))
    yield from ("", "Expected:", "", *fenced(clip(row["answer"], longest)))
    for side, label in (("before", pair.model_b), ("after", pair.model_a)):
        yield from ("", f"{plain(label)} ({plain(outcome(row, side))}):", "")
        yield from fenced(clip(row[f"{side}_text"], longest))


def marked(before: str, after: str) -> tuple[Markup, Markup]:
    """Return two texts, escaped, with the words marked that the other does not have there."""
    from rapidfuzz.distance import Indel

    sides = [_words(visible(text)) for text in (before, after)]
    if any(len(words) > _WORDS for words in sides):
        return escape("".join(sides[0])), escape("".join(sides[1]))
    done: tuple[list[Markup], list[Markup]] = ([], [])
    for step in Indel.opcodes(*sides):
        for out, words, start, end in (
            (done[0], sides[0], step.src_start, step.src_end),
            (done[1], sides[1], step.dest_start, step.dest_end),
        ):
            text = escape("".join(words[start:end]))
            out.append(text if step.tag == "equal" or not text else Markup("<mark>{}</mark>").format(text))
    return Markup("").join(done[0]), Markup("").join(done[1])


def _words(text: str) -> list[str]:
    """Split a text into words with the white space after them."""
    found: list[str] = []
    for part in text.splitlines(keepends=True):
        words = part.split(" ")
        found += [word + " " for word in words[:-1]] + ([words[-1]] if words[-1] else [])
    return found


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.finalize = lambda value: (
        visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )
    return environment


def html(found: RunComparison) -> str:
    """Return the whole comparison as one page: no script, no network; everything from a model is escaped."""
    longest = cut(found)
    style = (Path(__file__).parent / "contrasted.css").read_text(encoding="utf-8").replace("\r\n", "\n")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template("contrasted.html.j2")
        .render(
            found=found,
            header=HEADER,
            rows=[(cells(pair), verdict(pair)) for pair in found.pairs],
            asked=list(asked(found)),
            groups=list(groups(found)),
            correction=correction(found),
            shorten=shorten,
            sections=_sections(found, longest),
            longest=longest,
            style=Markup(style),  # noqa: S704 - our own file
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        )
    )


def _sections(found: RunComparison, longest: int) -> Iterator[tuple[Comparison, int, Iterator[Mapping[str, Any]]]]:
    for pair, frame in zip(found.pairs, found.changed, strict=True):
        yield pair, frame.height, (_shown(row, longest) for row in frame.iter_rows(named=True))


def _shown(row: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    before, after = marked(*(clip(row[f"{side}_text"], longest) for side in ("before", "after")))
    return {
        "change": row["change"],
        "gain": row["gain"],
        "place": place_of(row),
        "prompt": clip(row["prompt"], longest),
        "answer": clip(row["answer"], longest),
        "sides": [(before, outcome(row, "before")), (after, outcome(row, "after"))],
    }


def write(text: str, path: Path) -> Path:
    """Write a report where the user wants it."""
    write_atomically(path, text.encode("utf-8", "replace"))
    return path
