"""A comparison of runs as Markdown and as one self-contained HTML page."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import itemgetter
from typing import Any

from markupsafe import Markup, escape

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis.pairs import Comparison, Grouping
from basic_control.tasks.compare.runs import RunComparison, shorten
from basic_control.tasks.compare.sides import list_stated_differences
from basic_control.tasks.exchange.tables import Side
from basic_control.tasks.report.language import say, say_reason, speaking
from basic_control.tasks.report.pages import still
from basic_control.tasks.report.regressions import size
from basic_control.tasks.report.remarks import notes
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import escape_markdown, fence_code, format_number, p_value, percent, points
from basic_control.tasks.report.words import describe_count, suite_title
from basic_control.tasks.report.words import remarks as conditions

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

    Undecided too, unless it shows a difference, on too few of the earlier side's questions. Untested: a TOTAL that
    was asked in rounds.
    """
    if pair.difference is not None and pair.test.p_value is None:
        return "untested"
    if pair.missing.hangs:
        return "undecided"
    if pair.difference is None or not pair.significant:
        return "undecided" if pair.is_partial else "same"
    return "better" if pair.difference > 0 else "worse"


def remarks(pair: Comparison) -> list[str]:
    """Return the qualifications of a comparison, and on how few of the earlier side's questions it rests."""
    listed = conditions(pair)
    if pair.is_partial:
        total = pair.missing.n_before
        listed.append(say("compare.partial", n=total - pair.missing.n_unasked, total=total))
    return listed


def conclusion(pair: Comparison) -> str:
    """Return the outcome of a comparison with its qualifications."""
    outcome = outcome_of(pair)
    # Where so few questions could show nothing, that alone is said.
    first = [] if _is_too_small(pair, outcome) else [say(f"compare.{outcome}")]
    return "; ".join([*first, *remarks(pair)])


def _is_too_small(pair: Comparison, outcome: str) -> bool:
    """Return whether nothing that so few questions show could tell the two apart."""
    return outcome == "same" and not pair.test.reachable and not pair.missing.hangs


def answers(found: RunComparison, most: int | None = None) -> Iterator[str]:
    """Yield a sentence for each of the first `most` comparisons of whole scores: who is better, and by how much.

    With several suites the overall score comes first; the metrics that together make a score have none.
    """
    told = [pair for pair in found.pairs if pair.scope == "overall" or found.is_listed(pair)]
    shown = sorted(told, key=lambda pair: pair.scope != "overall")[:most]
    for pair in shown:
        yield _answer(pair)
    if more := len(found.pairs) - len(shown):
        yield say("compare.more_answers", n=more)


def _answer(pair: Comparison) -> str:
    outcome = "none" if pair.difference is None else outcome_of(pair)
    more = remarks(pair)
    if _is_too_small(pair, outcome):
        outcome = "few"
        more = [remark for remark in more if remark != say("compare.too_few")]
    said = say(
        f"compare.answer_{outcome}",
        after=pair.model_a,
        before=pair.model_b,
        what=headline(pair),
        by=size(pair),
        p=p_value(pair.test.p_adjusted),
        n=pair.n,
        questions=describe_count(pair),
    )
    if outcome in {"same", "equal"} and pair.test.detectable is not None:
        more.append(say("compare.found_from", detectable=points(pair.test.detectable).lstrip("+")))
    return "; ".join([said, *more])


def outcome_of(pair: Comparison) -> str:
    """Return the outcome of a comparison, or equal if no question tells the two apart."""
    alike = pair.n and not (pair.only_a or pair.only_b or pair.missing.hangs or pair.is_partial)
    return "equal" if alike and not pair.difference else verdict(pair)


def bounds(found: RunComparison) -> Iterator[str]:
    """Yield the bounds of the difference for each pair with missing or truncated replies."""
    for pair in found.pairs:
        low, high = pair.missing.low, pair.missing.high
        if low is not None and low != high:
            ends = {"low": points(low), "high": points(high)}
            yield say("compare.bounds", what=heading(pair), **ends)


def headline(one: Comparison | Grouping) -> str:
    """Return the suite and the metric compared, as a heading."""
    suite = suite_title(one.suite) if one.suite else say("common.overall")
    return f"{suite}: {_name_score(one)}"


def _name_score(result: Comparison | Grouping) -> str:
    names = {"metric": result.metric, "total": "TOTAL"}
    return names.get(result.scope) or say("compare.score")


def heading(pair: Comparison) -> str:
    """Return a pair and its suite and metric, as a heading."""
    return f"{headline(pair)}: {pair.model_b} → {pair.model_a}"


def interval(pair: Comparison) -> str:
    """Format a difference in percentage points, with its interval, corrected like its p-value."""
    low, high = pair.test.interval.low, pair.test.interval.high
    return points(pair.difference) + (f" [{points(low)}, {points(high)}]" if low is not None else "")


def table(found: RunComparison) -> Table:
    """Return a row for each pair, with the colour of its outcome."""
    column = column_maker("compare")
    tones = [{"better": "green", "worse": "red"}.get(verdict(pair), "") for pair in found.pairs]
    made = Table.of(
        found.pairs,
        column("what", headline),
        column("before_after", lambda pair: f"{pair.model_b} → {pair.model_a}"),
        column("n", _count, numeric=True),
        column("before", lambda pair: percent(pair.mean_b), numeric=True),
        column("after", lambda pair: percent(pair.mean_a), numeric=True),
        column("difference", interval, numeric=True),
        column("lost_won", lambda pair: f"{pair.only_b} / {pair.only_a}", numeric=True),
        column("p", lambda pair: p_value(pair.test.p_adjusted), numeric=True),
        column("detectable", lambda pair: points(pair.test.detectable).lstrip("+"), numeric=True),
        column("verdict", conclusion),
    )
    return replace(made, tones=tones)


def _count(pair: Comparison) -> str:
    return f"{pair.n} ({pair.n_units})" if pair.n_units < pair.n else str(pair.n)


def screen_table(found: RunComparison) -> Table:
    """Return the table for a screen: no intervals, p, or detectable effect; a model beside itself is named once."""
    whole = table(found)
    omitted = {say("compare.p"), say("compare.detectable")}
    columns = [number for number, column in enumerate(whole.columns) if column.name not in omitted]
    rows = []
    for pair, row in zip(found.pairs, whole.rows, strict=True):
        before, after = (label.rpartition(" @ ")[0] for label in (pair.model_b, pair.model_a))
        cells = dict(enumerate(row))
        cells[1] = before if before and before == after else row[1]
        cells[5] = points(pair.difference)
        rows.append([cells[number] for number in columns])
    return replace(whole, columns=[whole.columns[number] for number in columns], rows=rows)


def title(found: RunComparison) -> str:
    """Say which runs are compared."""
    return say("compare.title", runs=", ".join(run.name for run in found.runs))


def asked(found: RunComparison) -> Iterator[str]:
    """Yield a line for each suite: how many questions each run asked, and how many were common to all."""
    for suite, (own, shared) in found.shared.items():
        counts = ", ".join(f"{run.name}: {n}" for run, n in zip(found.runs, own, strict=True))
        yield say("compare.asked", suite=suite_title(suite), n=shared, counts=counts)


def groups(found: RunComparison) -> Iterator[str]:
    """Yield the indistinguishable models, a line for each metric with three or more."""
    for one in found.groups:
        said = "; ".join(" = ".join(group) for group in one.groups)
        yield say("compare.groups", what=headline(one), groups=said)


def verified(found: RunComparison, most: int) -> Iterator[str]:
    """Yield our metric's results on replies from files, compared with their own scores, and the differences."""
    for side in found.runs:
        prompts = dict(side.items.select("item_id", "prompt").iter_rows()) if side.verified else {}
        for one in side.verified:
            told = {"name": side.name, "metric": one.metric, "n": one.n, "k": len(one.differing)}
            ends = {"ours": percent(one.ours), "stated": percent(one.stated)}
            yield say("compare.verified", **told, **ends)
            for each in one.differing[:most]:
                reply = side.replies.filter(item_id=each.item_id, model=one.model, repeat=each.repeat)["text"][0]
                said = {"question": shorten(prompts[each.item_id]), "stated": percent(each.stated)}
                text = shorten(reply or "")
                yield say("compare.unlike", **said, ours=percent(each.ours), reply=text)


def correction(found: RunComparison) -> str:
    """Return the family of tests over which p-values and intervals are corrected."""
    n = sum(pair.test.p_value is not None for pair in found.pairs)
    return say("compare.correction", n=n)


def cut(found: RunComparison) -> int:
    """Return the maximum length of a text at which all texts fit the page together."""
    names = ("prompt", "before_text", "after_text")
    lengths = [len(row[name] or "") for *_, rows in _sections(found) for row in rows for name in names]
    longest = LONGEST
    while longest > SHORTEST and sum(min(length, longest) for length in lengths) > ROOM:
        longest //= 2
    return max(longest, SHORTEST)


def clip(text: str | None, longest: int) -> str:
    """Return the beginning of a text and how much is left out."""
    text = text or ""
    if len(text) <= longest:
        return text
    return f"{text[:longest]}\n{say('compare.more', n=len(text) - longest)}"


def place_of(row: Mapping[str, Any]) -> str:
    """Return a change's item: family, level, language, id, repeat."""
    parts = [row["family"], row["level"], row["language"], row["item_id"]]
    repeat = [say("compare.repeat", n=row["repeat"])] if row["repeat"] else []
    return " · ".join([part for part in parts if part] + repeat)


def change_of(row: Mapping[str, Any]) -> str:
    """Return the kind of a change in words."""
    return say(f"compare.{row['change'].replace(' ', '_')}")


def outcome(row: Mapping[str, Any], side: str) -> str:
    """Describe one side of a change: its value and reason."""
    reason = say_reason(row[f"{side}_reason"] or "")
    return percent(row[f"{side}_value"]) + (f", {reason}" if reason else "")


def markdown(found: RunComparison) -> str:
    """Return the whole comparison as Markdown."""
    with speaking(found.language):
        return "\n".join(_markdown_lines(found)) + "\n"


def _markdown_lines(found: RunComparison) -> list[str]:
    longest = cut(found)
    lines = [
        "# " + escape_markdown(title(found)),
        "",
        *(f"**{escape_markdown(line)}.**  " for line in answers(found)),
        "",
    ]
    looked = verified(found, LISTED)
    lines += [f"* {escape_markdown(line)}" for line in (*asked(found), *looked, *notes(found), *bounds(found))]
    lines += ["", f"## {say('compare.differences')}", ""]
    lines += table(found).markdown()
    lines += ["", *(f"* {escape_markdown(line)}" for line in (correction(found), *groups(found)))]
    lines += ["", f"## {say('compare.changed_head')}"]
    for _, pair, height, rows in _sections(found):
        said = say("compare.changed", k=height, n=pair.n)
        lines += ["", f"### {escape_markdown(heading(pair))}", "", said]
        for row in rows:
            lines += _markdown_change(row, pair, longest)
    differing = configurations(found)
    if differing.rows:
        lines += ["", f"## {differing.title}", "", *differing.markdown()]
    return lines


def configurations(found: RunComparison) -> Table:
    """Return the keys on which the runs' configurations differ."""
    heads = [Column(say("compare.key"), itemgetter(0))]
    heads += [Column(run.name, lambda row, n=n: shorten(row[1][n])) for n, run in enumerate(found.runs)]
    return Table.of(list_stated_differences(found.runs), *heads, title=say("compare.configurations"))


def _markdown_change(row: Mapping[str, Any], pair: Comparison, longest: int) -> Iterator[str]:
    yield from ("", f"#### {change_of(row)}: {escape_markdown(place_of(row))}")
    for head, name in (
        (say("compare.question"), "prompt"),
        (say("compare.expected"), "answer"),
        (f"{escape_markdown(pair.model_b)} ({escape_markdown(outcome(row, 'before'))})", "before_text"),
        (f"{escape_markdown(pair.model_a)} ({escape_markdown(outcome(row, 'after'))})", "after_text"),
    ):
        yield from ("", f"{head}:", "", *fence_code(clip(row[name], longest)))


def marked(before: str, after: str) -> tuple[Markup, Markup]:
    """Return two texts, escaped, with the words marked that the other lacks at that place."""
    from rapidfuzz.distance import Indel

    sides = [_WORD.findall(make_visible(text)) for text in (before, after)]
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


def html(found: RunComparison, lines: Sequence[str] = (), tables: Sequence[Table] = ()) -> str:
    """Return the whole comparison as one page: no script, no network; all text from models is escaped.

    `lines` take the place of its answers; `tables` follow them.
    """
    with speaking(found.language):
        return _page(found, lines, tables)


def _page(found: RunComparison, lines: Sequence[str], tables: Sequence[Table]) -> str:
    longest = cut(found)
    return still(
        "comparison.html.j2",
        found=found,
        title=title(found),
        section="compare",
        answers=list(lines or answers(found)),
        tables=tables,
        table=(made := table(found)),
        pairs=[
            (row, verdict(pair), found.is_listed(pair)) for row, pair in zip(made.rows, found.pairs, strict=True)
        ],
        configurations=configurations(found),
        asked=[*asked(found), *verified(found, LISTED), *bounds(found)],
        notes=notes(found),
        groups=list(groups(found)),
        correction=correction(found),
        shorten=shorten,
        heading=heading,
        shown=partial(_shown, longest=longest),
        sections=_sections(found),
        first=next((number for number, _, height, _ in _sections(found) if height), 0),
        longest=format_number(longest),
    )


def _sections(found: RunComparison) -> Iterator[tuple[int, Comparison, int, Iterator[Mapping[str, Any]]]]:
    """Yield each pair whose changes can be listed: number, pair, number of changes, and the changes."""
    for number, (pair, frame) in enumerate(zip(found.pairs, found.changed, strict=True)):
        if found.is_listed(pair):
            yield number + 1, pair, frame.height, frame.iter_rows(named=True)


def _shown(row: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    before, after = marked(*(clip(row[f"{side}_text"], longest) for side in ("before", "after")))
    return {
        "change": change_of(row),
        "gain": row["gain"],
        "place": place_of(row),
        "prompt": clip(row["prompt"], longest),
        "question": clip(row["question"], longest),
        "answer": clip(row["answer"], longest),
        "sides": [
            (text, percent(row[f"{side}_value"]), say_reason(row[f"{side}_reason"] or ""))
            for side, text in (("before", before), ("after", after))
        ],
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "stated": {**side.provenance.tested}, "kinds": {**side.kinds}}


def document(found: RunComparison) -> str:
    """Return the whole comparison as JSON."""
    from basic_control.metrics.analysis.document import record_json  # slow import: half of the statistics

    whole = {
        "compared": [_side_json(side) for side in found.runs],
        "questions": {suite: {"each": own, "shared": n} for suite, (own, n) in found.shared.items()},
        "notes": notes(found),
        "verified": [{"name": side.name, **asdict(one)} for side in found.runs for one in side.verified],
        "differing": [{"key": key, "values": values} for key, values in list_stated_differences(found.runs)],
        "pairs": [
            {**record_json(pair), "verdict": verdict(pair), "conclusion": conclusion(pair),
             "changed": [*frame.iter_rows(named=True)]}
            for pair, frame in zip(found.pairs, found.changed, strict=True)
        ],
        "groups": [asdict(one) for one in found.groups],
    }  # fmt: skip
    return json.dumps(whole, ensure_ascii=False, indent=2, default=str) + "\n"


def junit(found: RunComparison) -> str:
    """Return JUnit XML with a case for each difference, which fails if the later side is worse."""
    from basic_control.tasks.report.junit import case_of, text_of

    outcomes = {"worse": "fail", "better": "pass", "same": "pass"}
    cases = [
        case_of(
            # Files call a suite by its own name.
            f"{pair.suite or say('common.overall')}: {_name_score(pair)}",
            f"{pair.model_b} → {pair.model_a}",
            outcomes.get(verdict(pair), "undecided") if pair.n else "undecided",
            f"{interval(pair)}, p {p_value(pair.test.p_adjusted)}, n {pair.n}: {conclusion(pair)}",
            counts=True,
            passes=True,
        )
        for pair in found.pairs
    ]
    return text_of(cases, title(found))
