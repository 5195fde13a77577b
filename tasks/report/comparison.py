"""A comparison of runs as Markdown and as one self-contained HTML page."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any

from markupsafe import Markup, escape

from basic_control.data.characters import make_visible
from basic_control.metrics.analysis.pairs import Comparison, Grouping
from basic_control.tasks.compare.comparison import RunComparison, shorten
from basic_control.tasks.compare.sides import list_stated_differences
from basic_control.tasks.exchange.frames import Side
from basic_control.tasks.report.language import say, say_reason, use_language
from basic_control.tasks.report.pages import still
from basic_control.tasks.report.regressions import size
from basic_control.tasks.report.remarks import notes
from basic_control.tasks.report.tables import Column, Table, column_maker
from basic_control.tasks.report.text import (
    add_interval,
    date_in_words,
    escape_markdown,
    fence_code,
    format_number,
    join_names,
    p_value,
    percent,
    points,
    points_around,
)
from basic_control.tasks.report.words import describe_count, suite_title
from basic_control.tasks.report.words import remarks as conditions

LONGEST, SHORTEST = 20_000, 200
"""Maximum characters shown of a text; and the minimum if there are many texts."""

ROOM = 20_000_000
"""Maximum characters of all texts together: a page that a browser opens at once."""

BRIEF = 60
"""Characters of a reply where both stand on one line."""

LISTED = 50
"""Maximum number of replies listed where another tool and we differ; JSON has all."""

# A word with what ends it, as a comparison word by word takes it: "cat ", "cat.\n", "cat".
_WORD = re.compile(r"[^ \n]* |[^ \n]*\n|[^ \n]+")
_OUTCOMES = ("worse", "better", "undecided", "few", "same", "equal", "untested", "none")
"""What a comparison can come to, in the order in which it is said."""
_WORDS = 2_000
"""Maximum words of texts compared word by word: the cost grows with the product of both lengths."""


def classify(pair: Comparison) -> str:
    """Return what a comparison comes to, one of `_OUTCOMES`.

    A difference that so few questions do not confirm, or could not confirm at all, is of too few. It is undecided
    if missing or truncated replies decide it, or it rests on too few of the earlier side's questions and shows
    nothing. A TOTAL that was asked in rounds is not tested.
    """
    if pair.difference is None:
        return "none"
    is_open = pair.missing.hangs or pair.is_partial
    if pair.n and not (pair.only_a or pair.only_b or is_open or pair.difference):
        return "equal"
    if pair.test.p_value is None:
        return "untested"
    if pair.significant and not pair.missing.hangs:
        # The later side is the first of a pair.
        return "better" if pair.difference > 0 else "worse"
    if is_open:
        return "undecided"
    # What is equal so far, more questions may still tell apart.
    is_too_small = bool(pair.difference) or not pair.test.reachable
    return "few" if is_too_small else "same"


def verdict(pair: Comparison) -> str:
    """Return the outcome of a comparison as files have it: better, worse, same, undecided or untested."""
    outcome = classify(pair)
    if outcome == "none" and (pair.missing.hangs or pair.is_partial):
        return "undecided"
    return {"none": "same", "equal": "same", "few": "same"}.get(outcome, outcome)


def remarks(pair: Comparison) -> list[str]:
    """Return the qualifications of a comparison, and on how few of the earlier side's questions it rests."""
    qualifications = conditions(pair)
    if pair.is_partial:
        total = pair.missing.n_before
        qualifications.append(say("compare.partial", n=total - pair.missing.n_unasked, total=total))
    return qualifications


def conclusion(pair: Comparison) -> str:
    """Return the outcome of a comparison with its qualifications."""
    outcome = classify(pair)
    words = {"few": "too_few", "none": verdict(pair)}
    return "; ".join(dict.fromkeys([say(f"compare.{words.get(outcome, outcome)}"), *remarks(pair)]))


def lead(comparison: RunComparison) -> Iterator[str]:
    """Yield what is said first: what the scores of two models come to, or the worst of all pairs.

    What became worse comes first, then the overall score; the metrics that together make a score have none.
    """
    whole = _list_whole(comparison)
    if len(whole) > 1 and _is_of_two(whole):
        yield _summarize(whole)
        return
    yield from map(_answer, whole[:1])
    n_omitted = len(comparison.pairs) - len(whole[:1])
    if n_omitted:
        yield say("compare.more_answers", n=n_omitted)


def _list_whole(comparison: RunComparison) -> list[Comparison]:
    """Return the pairs of whole scores: what became worse, then the overall one, then the others, losses first."""
    whole = [pair for pair in comparison.pairs if pair.scope == "overall" or comparison.is_listed(pair)]

    def rank_change(pair: Comparison) -> tuple[bool, bool, int, float]:
        kind = classify(pair)
        return kind != "worse", pair.scope != "overall", _OUTCOMES.index(kind), pair.difference or 0.0

    return sorted(whole, key=rank_change)


def _is_of_two(pairs: Sequence[Comparison]) -> bool:
    """Return whether all pairs are of the same two models."""
    return len({(pair.model_a, pair.model_b) for pair in pairs}) == 1


def _summarize(pairs: Sequence[Comparison]) -> str:
    """Return on which scores the later of two models is worse or better, and on which it is not known."""
    names: dict[str, list[str]] = {outcome: [] for outcome in _OUTCOMES}
    suites = {pair.suite for pair in pairs}
    for pair in pairs:
        name = headline(pair)
        if len(suites) == 1:
            name = _name_score(pair)
        outcome = classify(pair)
        if outcome in {"better", "worse"}:
            name = f"{name} {points(pair.difference)}"
        names[outcome].append(name)
    parts = [say(f"compare.on_{outcome}", names=join_names(scores)) for outcome, scores in names.items() if scores]
    return say("compare.summary", after=pairs[0].model_a, before=pairs[0].model_b, parts="; ".join(parts))


def _answer(pair: Comparison) -> str:
    outcome = classify(pair)
    qualifications = remarks(pair)
    if outcome == "few":
        # The sentence itself says then that the questions are too few.
        too_few = say("compare.too_few")
        qualifications = [remark for remark in qualifications if remark != too_few]
    sentence = say(
        f"compare.answer_{outcome}",
        after=pair.model_a,
        before=pair.model_b,
        what=headline(pair),
        by=size(pair),
        p=p_value(pair.test.p_adjusted),
        n=pair.n,
        questions=describe_count(pair),
    )
    is_open = outcome in {"same", "equal"} or (outcome == "few" and pair.test.reachable)
    if is_open and pair.test.detectable is not None:
        qualifications.append(say("compare.found_from", detectable=points(pair.test.detectable).lstrip("+")))
    return "; ".join([sentence, *qualifications])


def bounds(comparison: RunComparison) -> Iterator[str]:
    """Yield the bounds of the difference for each pair with missing or truncated replies."""
    for pair in comparison.pairs:
        low, high = pair.missing.low, pair.missing.high
        if low is not None and low != high:
            ends = {"low": points(low), "high": points(high)}
            yield say("compare.bounds", what=heading(pair), **ends)


def headline(result: Comparison | Grouping) -> str:
    """Return the suite and the metric compared, as a heading."""
    suite = suite_title(result.suite) if result.suite else say("common.overall")
    return f"{suite}: {_name_score(result)}"


def _name_score(result: Comparison | Grouping) -> str:
    names = {"metric": result.metric, "total": "TOTAL"}
    return names.get(result.scope) or say("compare.score")


def heading(pair: Comparison) -> str:
    """Return a pair and its suite and metric, as a heading."""
    return f"{headline(pair)}: {pair.model_b} → {pair.model_a}"


def interval(pair: Comparison) -> str:
    """Format a difference in percentage points, with its interval, corrected like its p-value."""
    return add_interval(points(pair.difference), points_around(pair.test.interval))


def table(comparison: RunComparison) -> Table:
    """Return a row for each pair, with the colour of its outcome."""
    column = column_maker("compare")
    tones = [{"better": "green", "worse": "red"}.get(verdict(pair), "") for pair in comparison.pairs]
    differences = Table.of(
        comparison.pairs,
        column("what", headline),
        column("before_after", _name_sides),
        column("n", _format_count, numeric=True),
        column("before", lambda pair: percent(pair.mean_b), numeric=True),
        column("after", lambda pair: percent(pair.mean_a), numeric=True),
        column("difference", interval, numeric=True),
        column("lost_won", lambda pair: f"{pair.only_b} / {pair.only_a}", numeric=True),
        column("p", lambda pair: p_value(pair.test.p_adjusted), numeric=True),
        column("detectable", lambda pair: points(pair.test.detectable).lstrip("+"), numeric=True),
        column("verdict", conclusion),
    )
    return replace(differences, tones=tones)


def _format_count(pair: Comparison) -> str:
    """Return the number of questions, and of independent units if there are fewer."""
    return f"{pair.n} ({pair.n_units})" if pair.n_units < pair.n else str(pair.n)


def screen_table(comparison: RunComparison) -> Table:
    """Return the table for a screen: no p, or detectable effect.

    What the sentence above it says it does not repeat: which two models, and of a single score the verdict.
    """
    full_table = table(comparison)
    omitted = {"p", "detectable"}
    if _is_of_two(comparison.pairs):
        omitted.add("before_after")
    if len(comparison.pairs) == 1:
        omitted.add("verdict")
    titles = {say(f"compare.{name}") for name in omitted}
    select = itemgetter(*(number for number, title in enumerate(full_table.names) if title not in titles))
    return replace(full_table, columns=select(full_table.columns), rows=[*map(select, full_table.rows)])


def title(comparison: RunComparison) -> str:
    """Say which runs are compared."""
    return say("compare.title", runs=", ".join(run.name for run in comparison.runs))


def describe_questions(comparison: RunComparison) -> Iterator[str]:
    """Yield a line for each suite: how many questions each run asked, and how many were common to all."""
    for suite, (run_counts, n_shared) in comparison.shared.items():
        counts = ", ".join(f"{run.name}: {n}" for run, n in zip(comparison.runs, run_counts, strict=True))
        yield say("compare.asked", suite=suite_title(suite), n=n_shared, counts=counts)


def groups(comparison: RunComparison) -> Iterator[str]:
    """Yield the indistinguishable models, a line for each metric with three or more."""
    for grouping in comparison.groups:
        models = "; ".join(map(" = ".join, grouping.groups))
        yield say("compare.groups", what=headline(grouping), groups=models)


def describe_verified(comparison: RunComparison, limit: int) -> Iterator[str]:
    """Yield our metrics' results on replies from files beside the files' scores, and `limit` differences each."""
    for side in comparison.runs:
        if not side.verified:
            continue
        prompts = dict(side.items.select("item_id", "prompt").iter_rows())
        for metric in side.verified:
            counts = {"name": side.name, "metric": metric.metric, "n": metric.n, "k": len(metric.differing)}
            yield say("compare.verified", **counts, ours=percent(metric.ours), stated=percent(metric.stated))
            for row in metric.differing[:limit]:
                reply = side.replies.filter(item_id=row.item_id, model=metric.model, repeat=row.repeat)["text"][0]
                texts = {"question": shorten(prompts[row.item_id]), "reply": shorten(reply or "")}
                yield say("compare.unlike", **texts, ours=percent(row.ours), stated=percent(row.stated))


def correction(comparison: RunComparison) -> str:
    """Return the family of tests over which p-values and intervals are corrected."""
    n = sum(pair.test.p_value is not None for pair in comparison.pairs)
    return say("compare.correction", n=n)


def cut(comparison: RunComparison) -> int:
    """Return the maximum length of a text at which all texts fit the page together."""
    lengths: list[int] = []
    for *_, rows in _sections(comparison):
        for row in rows:
            lengths += (len(row[name] or "") for name in ("prompt", "before_text", "after_text"))
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


def describe_place(row: Mapping[str, Any]) -> str:
    """Return a change's item: family, level, language, id, repeat."""
    parts = [row["family"], row["level"], row["language"], row["item_id"]]
    if row["repeat"]:
        parts.append(say("compare.repeat", n=row["repeat"]))
    return " · ".join(filter(None, parts))


def describe_change(row: Mapping[str, Any]) -> str:
    """Return the kind of a change in words."""
    return say(f"compare.{row['change'].replace(' ', '_')}")


def outcome(row: Mapping[str, Any], side: str) -> str:
    """Describe one side of a change: its value and reason."""
    reason = say_reason(row[f"{side}_reason"] or "")
    return ", ".join(filter(None, (percent(row[f"{side}_value"]), reason)))


def markdown(comparison: RunComparison) -> str:
    """Return the whole comparison as Markdown."""
    with use_language(comparison.language):
        return "\n".join(_markdown_lines(comparison)) + "\n"


def _markdown_lines(comparison: RunComparison) -> list[str]:
    # Who is better comes first, then what that rests on, the differences, and each changed reply.
    longest = cut(comparison)
    lines = ["# " + escape_markdown(title(comparison)), ""]
    lines += [f"**{escape_markdown(sentence)}.**  " for sentence in lead(comparison)]
    verified_lines = describe_verified(comparison, LISTED)
    remark_lines = chain(describe_questions(comparison), verified_lines, notes(comparison), bounds(comparison))
    lines += ["", *_list_markdown(remark_lines)]
    lines += ["", f"## {say('compare.differences')}", ""]
    lines += table(comparison).markdown()
    lines += ["", *_list_markdown(chain([correction(comparison)], groups(comparison)))]
    lines += ["", f"## {say('compare.changed_head')}"]
    for _, pair, height, rows in _sections(comparison):
        count = say("compare.changed", k=height, n=pair.n)
        lines += ["", f"### {escape_markdown(heading(pair))}", "", count]
        for row in rows:
            lines += _markdown_change(row, pair, longest)
    differing = configurations(comparison)
    if differing.rows:
        lines += ["", f"## {differing.title}", "", *differing.markdown()]
    return lines


def _list_markdown(lines: Iterable[str]) -> list[str]:
    return [f"* {escape_markdown(line)}" for line in lines]


def configurations(comparison: RunComparison) -> Table:
    """Return the keys on which the runs' configurations differ."""
    heads = [Column(say("compare.key"), itemgetter(0))]
    heads += [Column(run.name, lambda row, n=n: shorten(row[1][n])) for n, run in enumerate(comparison.runs)]
    return Table.of(list_stated_differences(comparison.runs), *heads, title=say("compare.configurations"))


def _markdown_change(row: Mapping[str, Any], pair: Comparison, longest: int) -> Iterator[str]:
    yield from ("", f"#### {describe_change(row)}: {escape_markdown(describe_place(row))}")
    for head, name in (
        (say("compare.question"), "prompt"),
        (say("compare.expected"), "answer"),
        (f"{escape_markdown(pair.model_b)} ({escape_markdown(outcome(row, 'before'))})", "before_text"),
        (f"{escape_markdown(pair.model_a)} ({escape_markdown(outcome(row, 'after'))})", "after_text"),
    ):
        yield from ("", f"{head}:", "", *fence_code(clip(row[name], longest)))


def mark_differences(before: str, after: str) -> tuple[Markup, Markup]:
    """Return two texts, escaped, with the words marked that the other lacks at that place."""
    from rapidfuzz.distance import Indel

    sides = [_WORD.findall(make_visible(text)) for text in (before, after)]
    if max(map(len, sides)) > _WORDS:
        return escape("".join(sides[0])), escape("".join(sides[1]))
    marked_texts: tuple[list[Markup], list[Markup]] = ([], [])
    for step in Indel.opcodes(*sides):
        for out, words, start, end in (
            (marked_texts[0], sides[0], step.src_start, step.src_end),
            (marked_texts[1], sides[1], step.dest_start, step.dest_end),
        ):
            text = escape("".join(words[start:end]))
            if text and step.tag != "equal":
                text = Markup("<mark>{}</mark>").format(text)
            out.append(text)
    return Markup("").join(marked_texts[0]), Markup("").join(marked_texts[1])


def html(comparison: RunComparison, lines: Sequence[str] = (), tables: Sequence[Table] = ()) -> str:
    """Return the whole comparison as one page: no script, no network; all text from models is escaped.

    `lines` take the place of its answers; `tables` follow them.
    """
    with use_language(comparison.language):
        return _page(comparison, lines, tables)


def _page(comparison: RunComparison, lines: Sequence[str], tables: Sequence[Table]) -> str:
    longest = cut(comparison)
    full_table = table(comparison)
    ranks = {id(pair): rank for rank, pair in enumerate(_list_whole(comparison))}
    # Those with the greatest loss come first; the first changes of the first are open when the page is.
    sections = [section for section in _sections(comparison) if section[2]]
    sections.sort(key=lambda section: ranks.get(id(section[1]), len(ranks)))
    with_changes = {number for number, *_ in sections}
    pairs = []
    for number, (row, pair) in enumerate(zip(full_table.rows, comparison.pairs, strict=True), 1):
        pairs.append((row, verdict(pair), number in with_changes))
    verified_lines = describe_verified(comparison, LISTED)
    return still(
        "comparison.html.j2",
        found=comparison,
        title=_title_page(comparison),
        section="compare",
        answers=list(lines or lead(comparison)),
        tables=tables,
        table=full_table,
        pairs=pairs,
        configurations=configurations(comparison),
        asked=[*_describe_runs(comparison), *describe_questions(comparison), *verified_lines, *bounds(comparison)],
        notes=notes(comparison),
        groups=list(groups(comparison)),
        correction=correction(comparison),
        shorten=shorten,
        heading=lambda pair: f"{headline(pair)}: {_name_sides(pair)}",
        shown=partial(_build_change, longest=longest),
        sections=sections,
        longest=format_number(longest),
    )


def _name_sides(pair: Comparison) -> str:
    """Return the two models of a pair; one that is compared with itself, in another run, once."""
    before, after = (label.rpartition(" @ ")[0] for label in (pair.model_b, pair.model_a))
    if before and before == after:
        return before
    return f"{pair.model_b} → {pair.model_a}"


def _name_runs(comparison: RunComparison) -> dict[str, str]:
    """Return the names that people gave to the runs, by their ids; '' for none."""
    names = {}
    for side in comparison.runs:
        report = side.run.configuration.get("report") if side.run else {}
        names[side.name] = str((report or {}).get("name") or "")
    return names


def _title_page(comparison: RunComparison) -> str:
    """Return which runs are compared: by their names where these tell them apart, else by their ids."""
    names = [*_name_runs(comparison).values()]
    if len(names) > 1 and all(names) and len({*names}) == len(names):
        return " → ".join(names)
    return title(comparison)


def _describe_runs(comparison: RunComparison) -> Iterator[str]:
    """Yield each run's id with its name and its date."""
    names = _name_runs(comparison)
    for side in comparison.runs:
        if side.run:
            date = date_in_words(datetime.fromisoformat(str(side.run.manifest["started"])))
            yield f"{side.name}: {', '.join(filter(None, (names[side.name], date)))}"


def _sections(comparison: RunComparison) -> Iterator[tuple[int, Comparison, int, Iterator[Mapping[str, Any]]]]:
    """Yield each pair whose changes can be listed: number, pair, number of changes, and the changes."""
    for number, (pair, frame) in enumerate(zip(comparison.pairs, comparison.changed, strict=True)):
        if comparison.is_listed(pair):
            yield number + 1, pair, frame.height, frame.iter_rows(named=True)


def _build_change(row: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    short_texts = [shorten(" ".join((row[name] or "–").split()), BRIEF) for name in ("before_text", "after_text")]
    before, after = mark_differences(clip(row["before_text"], longest), clip(row["after_text"], longest))
    return {
        "change": describe_change(row),
        "gain": row["gain"],
        "replies": " → ".join(short_texts),
        "place": describe_place(row),
        "prompt": clip(row["prompt"], longest),
        "question": clip(row["question"], longest),
        "answer": clip(row["answer"], longest),
        "sides": [
            (before, percent(row["before_value"]), say_reason(row["before_reason"] or "")),
            (after, percent(row["after_value"]), say_reason(row["after_reason"] or "")),
        ],
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {"name": side.name, "stated": {**side.provenance.tested}, "kinds": {**side.kinds}}


def document(comparison: RunComparison) -> str:
    """Return the whole comparison as JSON."""
    from basic_control.metrics.analysis.document import record_json  # slow import: half of the statistics

    questions = {}
    for suite, (run_counts, n_shared) in comparison.shared.items():
        questions[suite] = {"each": run_counts, "shared": n_shared}
    verified = []
    for side in comparison.runs:
        verified += [{"name": side.name, **asdict(metric)} for metric in side.verified]
    pairs = []
    for pair, frame in zip(comparison.pairs, comparison.changed, strict=True):
        ends = {"verdict": verdict(pair), "conclusion": conclusion(pair)}
        pairs.append({**record_json(pair), **ends, "changed": [*frame.iter_rows(named=True)]})
    contents = {
        "compared": [_side_json(side) for side in comparison.runs],
        "questions": questions,
        "notes": notes(comparison),
        "verified": verified,
        "differing": [{"key": key, "values": values} for key, values in list_stated_differences(comparison.runs)],
        "pairs": pairs,
        "groups": [asdict(grouping) for grouping in comparison.groups],
    }
    return json.dumps(contents, ensure_ascii=False, indent=2, default=str) + "\n"


def junit(comparison: RunComparison) -> str:
    """Return JUnit XML with a case for each difference, which fails if the later side is worse."""
    from basic_control.tasks.report.junit import text_of
    from basic_control.tasks.report.junit_cases import Gate

    outcomes = {"worse": "fail", "better": "pass", "same": "pass"}
    gates = []
    for pair in comparison.pairs:
        # Files call a suite by its own name.
        name = f"{pair.suite or say('common.overall')}: {_name_score(pair)}"
        outcome = outcomes.get(verdict(pair), "undecided") if pair.n else "undecided"
        figures = f"{interval(pair)}, p {p_value(pair.test.p_adjusted)}, n {pair.n}"
        models = f"{pair.model_b} → {pair.model_a}"
        gates.append(Gate(name, models, outcome, f"{figures}: {conclusion(pair)}", undecided_passes=True))
    return text_of(gates, title(comparison))
