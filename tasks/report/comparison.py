"""A comparison of runs as Markdown and as one self-contained HTML page."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from typing import Any

from markupsafe import Markup, escape

from data.characters import visible
from metrics.analysis.document import record_json
from metrics.analysis.pairs import Comparison, Grouping
from prompts.phrases import phrase, translated
from tasks.compare.runs import RunComparison, shorten
from tasks.compare.sides import stated_differences
from tasks.exchange.tables import Side
from tasks.report.pages import still
from tasks.report.regressions import size
from tasks.report.remarks import notes
from tasks.report.tables import Column, Table, column_maker
from tasks.report.text import fenced, grouped, p_value, percent, plain, points, speaking
from tasks.report.words import remarks

LONGEST, SHORTEST = 20_000, 200
"""Maximum characters shown of a text; and the minimum if there are many texts."""

ROOM = 20_000_000
"""Maximum characters of all texts together: a page that a browser opens at once."""

LISTED = 50
"""Maximum number of replies listed where another tool and we differ; JSON has all."""

_WORD = re.compile(r"[^ \n]* |[^ \n]*\n|[^ \n]+")
_WORDS = 2_000
"""Maximum words of texts compared word by word: the cost grows with the product of both lengths."""


def verdict(pair: Comparison) -> str:
    """Return the outcome of a comparison: better, worse, same; undecided if missing or truncated replies decide it.

    Untested if results were inspected in between.
    """
    if pair.difference is not None and pair.test.p_value is None:
        return "untested"
    if pair.missing.hangs:
        return "undecided"
    if pair.difference is None or not pair.significant:
        return "same"
    return "better" if pair.difference > 0 else "worse"


def conclusion(pair: Comparison, language: str) -> str:
    """Return the outcome of a comparison with its qualifications."""
    return "; ".join([phrase(f"compare.{outcome_of(pair)}", language), *remarks(record_json(pair), language)])


def answers(found: RunComparison, most: int | None = None) -> Iterator[str]:
    """Yield a sentence for each of the first `most` comparisons of whole scores: who is better, and by how much.

    With several suites the overall score comes first; the metrics that together make a score have none.
    """
    told = [pair for pair in found.pairs if pair.scope == "overall" or found.listed(pair)]
    shown = sorted(told, key=lambda pair: pair.scope != "overall")[:most]
    for pair in shown:
        yield _answer(pair, found.language)
    if more := len(found.pairs) - len(shown):
        yield phrase("compare.more_answers", found.language, n=more)


def _answer(pair: Comparison, language: str) -> str:
    outcome = "none" if pair.difference is None else outcome_of(pair)
    said = phrase(
        f"compare.answer_{outcome}",
        language,
        after=pair.model_a,
        before=pair.model_b,
        what=headline(pair, language),
        by=size(pair, language),
        p=p_value(pair.test.p_adjusted),
        n=pair.n,
    )
    more = remarks(record_json(pair), language)
    if outcome in {"same", "equal"} and pair.test.detectable is not None:
        more.append(phrase("compare.found_from", language, detectable=points(pair.test.detectable).lstrip("+")))
    return "; ".join([said, *more])


def outcome_of(pair: Comparison) -> str:
    """Return the outcome of a comparison, or equal if no question tells the two apart."""
    alike = pair.n and not (pair.only_a or pair.only_b or pair.missing.hangs)
    return "equal" if alike and not pair.difference else verdict(pair)


def bounds(found: RunComparison) -> Iterator[str]:
    """Yield the bounds of the difference for each pair with missing or truncated replies."""
    for pair in found.pairs:
        low, high = pair.missing.low, pair.missing.high
        if low is not None and low != high:
            ends = {"low": points(low), "high": points(high)}
            yield phrase("compare.bounds", found.language, what=heading(pair, found.language), **ends)


def headline(one: Comparison | Grouping, language: str) -> str:
    """Return the suite and the metric compared, as a heading."""
    named = {"metric": one.metric, "total": "TOTAL"}.get(one.scope) or phrase("compare.score", language)
    return f"{one.suite or phrase('common.overall', language)}: {named}"


def heading(pair: Comparison, language: str) -> str:
    """Return a pair and its suite and metric, as a heading."""
    return f"{headline(pair, language)}: {pair.model_b} → {pair.model_a}"


def interval(pair: Comparison) -> str:
    """Format a difference in percentage points, with its interval, corrected like its p-value."""
    low, high = pair.test.interval.low, pair.test.interval.high
    return points(pair.difference) + (f" [{points(low)}, {points(high)}]" if low is not None else "")


def table(found: RunComparison) -> Table:
    """Return a row for each pair, with the colour of its outcome."""
    language = found.language
    column = column_maker("compare", language)
    tones = [{"better": "green", "worse": "red"}.get(verdict(pair), "") for pair in found.pairs]
    made = Table.of(
        found.pairs,
        column("what", lambda pair: headline(pair, language)),
        column("before_after", lambda pair: f"{pair.model_b} → {pair.model_a}"),
        column("n", lambda pair: str(pair.n), numeric=True),
        column("before", lambda pair: percent(pair.mean_b), numeric=True),
        column("after", lambda pair: percent(pair.mean_a), numeric=True),
        column("difference", interval, numeric=True),
        column("lost_won", lambda pair: f"{pair.only_b} / {pair.only_a}", numeric=True),
        column("p", lambda pair: p_value(pair.test.p_adjusted), numeric=True),
        column("detectable", lambda pair: points(pair.test.detectable).lstrip("+"), numeric=True),
        column("verdict", lambda pair: conclusion(pair, language)),
    )
    return replace(made, tones=tones)


def title(found: RunComparison) -> str:
    """Say which runs are compared."""
    return phrase("compare.title", found.language, runs=", ".join(run.name for run in found.runs))


def asked(found: RunComparison) -> Iterator[str]:
    """Yield a line for each suite: how many questions each run asked, and how many were common to all."""
    for suite, (own, shared) in found.shared.items():
        counts = ", ".join(f"{run.name}: {n}" for run, n in zip(found.runs, own, strict=True))
        yield phrase("compare.asked", found.language, suite=suite, n=shared, counts=counts)


def groups(found: RunComparison) -> Iterator[str]:
    """Yield the indistinguishable models, a line for each metric with three or more."""
    for one in found.groups:
        said = "; ".join(" = ".join(group) for group in one.groups)
        yield phrase("compare.groups", found.language, what=headline(one, found.language), groups=said)


def verified(found: RunComparison, most: int) -> Iterator[str]:
    """Yield our metric's results on replies from files, compared with their own scores, and the differences."""
    for side in found.runs:
        prompts = dict(side.items.select("item_id", "prompt").iter_rows()) if side.verified else {}
        for one in side.verified:
            told = {"name": side.name, "metric": one.metric, "n": one.n, "k": len(one.differing)}
            ends = {"ours": percent(one.ours), "stated": percent(one.stated)}
            yield phrase("compare.verified", found.language, **told, **ends)
            for each in one.differing[:most]:
                reply = side.replies.filter(item_id=each.item_id, model=one.model, repeat=each.repeat)["text"][0]
                said = {"question": shorten(prompts[each.item_id]), "stated": percent(each.stated)}
                text = shorten(reply or "")
                yield phrase("compare.unlike", found.language, **said, ours=percent(each.ours), reply=text)


def correction(found: RunComparison) -> str:
    """Return the family of tests over which p-values and intervals are corrected."""
    n = sum(pair.test.p_value is not None for pair in found.pairs)
    return phrase("compare.correction", found.language, n=n)


def cut(found: RunComparison) -> int:
    """Return the maximum length of a text at which all texts fit the page together."""
    names = ("prompt", "before_text", "after_text")
    lengths = [len(row[name] or "") for *_, rows in _sections(found) for row in rows for name in names]
    longest = LONGEST
    while longest > SHORTEST and sum(min(length, longest) for length in lengths) > ROOM:
        longest //= 2
    return max(longest, SHORTEST)


def clip(text: str | None, longest: int, language: str) -> str:
    """Return the beginning of a text and how much is left out."""
    text = text or ""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n{phrase('compare.more', language, n=len(text) - longest)}"


def place_of(row: Mapping[str, Any], language: str) -> str:
    """Return a change's item: family, level, language, id, repeat."""
    parts = [row["family"], row["level"], row["language"], row["item_id"]]
    repeat = [phrase("compare.repeat", language, n=row["repeat"])] if row["repeat"] else []
    return " · ".join([part for part in parts if part] + repeat)


def change_of(row: Mapping[str, Any], language: str) -> str:
    """Return the kind of a change in words."""
    return phrase(f"compare.{row['change'].replace(' ', '_')}", language)


def outcome(row: Mapping[str, Any], side: str, language: str) -> str:
    """Describe one side of a change: its value and reason."""
    reason = translated(row[f"{side}_reason"] or "", language)
    return percent(row[f"{side}_value"]) + (f", {reason}" if reason else "")


@speaking(lambda found: found.language)
def markdown(found: RunComparison) -> str:
    """Return the whole comparison as Markdown."""
    longest, language = cut(found), found.language
    lines = ["# " + plain(title(found)), "", *(f"**{plain(line)}.**  " for line in answers(found)), ""]
    looked = verified(found, LISTED)
    lines += [f"* {plain(line)}" for line in (*asked(found), *looked, *notes(found), *bounds(found))]
    lines += ["", f"## {phrase('compare.differences', language)}", ""]
    lines += table(found).markdown()
    lines += ["", *(f"* {plain(line)}" for line in (correction(found), *groups(found)))]
    lines += ["", f"## {phrase('compare.changed_head', language)}"]
    for _, pair, height, rows in _sections(found):
        said = phrase("compare.changed", language, k=height, n=pair.n)
        lines += ["", f"### {plain(heading(pair, language))}", "", said]
        for row in rows:
            lines += _markdown_change(row, pair, longest, language)
    differing = configurations(found)
    if differing.rows:
        lines += ["", f"## {differing.title}", "", *differing.markdown()]
    return "\n".join(lines) + "\n"


def configurations(found: RunComparison) -> Table:
    """Return the keys on which the runs' configurations differ."""
    heads = [Column(phrase("compare.key", found.language), itemgetter(0))]
    heads += [Column(run.name, lambda row, n=n: shorten(row[1][n])) for n, run in enumerate(found.runs)]
    return Table.of(stated_differences(found.runs), *heads, title=phrase("compare.configurations", found.language))


def _markdown_change(row: Mapping[str, Any], pair: Comparison, longest: int, language: str) -> Iterator[str]:
    yield from ("", f"#### {change_of(row, language)}: {plain(place_of(row, language))}")
    for head, name in (
        (phrase("compare.question", language), "prompt"),
        (phrase("compare.expected", language), "answer"),
        (f"{plain(pair.model_b)} ({plain(outcome(row, 'before', language))})", "before_text"),
        (f"{plain(pair.model_a)} ({plain(outcome(row, 'after', language))})", "after_text"),
    ):
        yield from ("", f"{head}:", "", *fenced(clip(row[name], longest, language)))


def marked(before: str, after: str) -> tuple[Markup, Markup]:
    """Return two texts, escaped, with the words marked that the other lacks at that place."""
    from rapidfuzz.distance import Indel

    sides = [_WORD.findall(visible(text)) for text in (before, after)]
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


@speaking(lambda found: found.language)
def html(found: RunComparison) -> str:
    """Return the whole comparison as one page: no script, no network; all text from models is escaped."""
    longest = cut(found)
    return still(
        "comparison.html.j2",
        found=found,
        language=found.language,
        title=title(found),
        section="compare",
        answers=list(answers(found)),
        table=(made := table(found)),
        pairs=[(row, verdict(pair), found.listed(pair)) for row, pair in zip(made.rows, found.pairs, strict=True)],
        configurations=configurations(found),
        asked=[*asked(found), *verified(found, LISTED), *bounds(found)],
        notes=notes(found),
        groups=list(groups(found)),
        correction=correction(found),
        shorten=shorten,
        heading=partial(heading, language=found.language),
        shown=partial(_shown, longest=longest, language=found.language),
        sections=_sections(found),
        first=next((number for number, _, height, _ in _sections(found) if height), 0),
        longest=grouped(longest),
    )


def _sections(found: RunComparison) -> Iterator[tuple[int, Comparison, int, Iterator[Mapping[str, Any]]]]:
    """Yield each pair whose changes can be listed: number, pair, number of changes, and the changes."""
    for number, (pair, frame) in enumerate(zip(found.pairs, found.changed, strict=True)):
        if found.listed(pair):
            yield number + 1, pair, frame.height, frame.iter_rows(named=True)


def _shown(row: Mapping[str, Any], longest: int, language: str) -> Mapping[str, Any]:
    before, after = marked(*(clip(row[f"{side}_text"], longest, language) for side in ("before", "after")))
    return {
        "change": change_of(row, language),
        "gain": row["gain"],
        "place": place_of(row, language),
        "prompt": clip(row["prompt"], longest, language),
        "answer": clip(row["answer"], longest, language),
        "sides": [
            (text, percent(row[f"{side}_value"]), translated(row[f"{side}_reason"] or "", language))
            for side, text in (("before", before), ("after", after))
        ],
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "stated": {**side.provenance.tested}, "kinds": {**side.kinds}}


def document(found: RunComparison) -> str:
    """Return the whole comparison as JSON."""
    whole = {
        "compared": [_side_json(side) for side in found.runs],
        "questions": {suite: {"each": own, "shared": n} for suite, (own, n) in found.shared.items()},
        "notes": notes(found),
        "verified": [{"name": side.name, **asdict(one)} for side in found.runs for one in side.verified],
        "differing": [{"key": key, "values": values} for key, values in stated_differences(found.runs)],
        "pairs": [
            {**record_json(pair), "verdict": verdict(pair), "conclusion": conclusion(pair, found.language),
             "changed": [*frame.iter_rows(named=True)]}
            for pair, frame in zip(found.pairs, found.changed, strict=True)
        ],
        "groups": [asdict(one) for one in found.groups],
    }  # fmt: skip
    return json.dumps(whole, ensure_ascii=False, indent=2, default=str) + "\n"


def junit(found: RunComparison) -> str:
    """Return JUnit XML with a case for each difference, which fails if the later side is worse."""
    from tasks.report.junit import case_of, text_of

    outcomes = {"worse": "fail", "better": "pass", "same": "pass"}
    cases = [
        case_of(
            headline(pair, found.language),
            f"{pair.model_b} → {pair.model_a}",
            outcomes.get(verdict(pair), "undecided") if pair.n else "undecided",
            f"{interval(pair)}, p {p_value(pair.test.p_adjusted)}, n {pair.n}: {conclusion(pair, found.language)}",
            counts=True,
            passes=True,
        )
        for pair in found.pairs
    ]
    return text_of(cases, title(found))
