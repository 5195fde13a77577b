"""The tables beside a report's verdict, each built once: the page and the Markdown file show the same."""

from collections.abc import Iterable, Iterator

from tasks.report import operations, passports, spending, stated, stopping, twins
from tasks.report.report_data import ReportData
from tasks.report.tables import Table, columns
from tasks.report.text import estimated, grouped, plain
from tasks.report.titles import where
from tasks.report.words import say


def sections(data: ReportData) -> list[Table]:
    """Return the tables that a run has something for: judges, how it was stopped, other tools' scores, repeats."""
    language = data.settings.report.language
    found = [
        passports.corrected(data.results, language),
        *passports.passport_tables(data.results, language),
        *twins.tables(data.results, language),
        stopping.table(data.results, language),
        *stated.tables(data),
        _repeats(data, language),
    ]
    return [one for one in found if one is not None and one.rows]


def _repeats(data: ReportData, language: str) -> Table:
    names = (say("model", language), say("category", language))
    numbers = ("n", "k", "pass@k", "pass^k", say("agreement", language))
    rows = [
        (
            one["model"],
            where(data, one["suite"], one["metric"]),
            str(one["n_items"]),
            str(one["k"]),
            *(
                estimated(one[name]["mean"], one[name]["interval"]["low"], one[name]["interval"]["high"])
                for name in ("pass_at", "pass_all", "agreement")
            ),
        )
        for one in data.results.get("repeats", ())
    ]
    return Table(columns(*names, *numbers, numeric=numbers), rows, say("repeats", language), name="repeats")


_COUNTS = ("n", "cached", "failed", "cut")
_SECONDS = ("p50", "p95", "max")
_TOKENS = ("tokens_in", "tokens_cached", "tokens_out", "tokens_thinking")
_COSTS = ("cost_now", "cost")


def usage(data: ReportData) -> Table:
    """Return what was asked of each model and judge: replies, waits, tokens and cost."""
    language, currency = data.settings.report.language, data.settings.currency
    latency = say("latency", language)
    heads = [say(name, language) for name in ("asked_of", "role")]
    numbers = [say(name, language) for name in ("replies", "from_cache", "errors_n", "cut_off")]
    numbers += [f"{latency} p50", f"{latency} p95", say("latency_max", language)]
    numbers += [say(name, language) for name in (*_TOKENS, "speed", "cost_now", "cost_all")]

    def number(value: float | None, places: int = 0) -> str:
        return "–" if value is None else grouped(value, places)

    rows = [
        (
            one["model"],
            say(f"role_{one['role']}", language),
            *(number(one[name]) for name in _COUNTS),
            *(number(one[name], 2) for name in _SECONDS),
            *(number(one[name]) for name in _TOKENS),
            number(one["speed"], 1),
            *(spending.money(one[name], currency, language) for name in _COSTS),
        )
        for one in operations.usage(data)
    ]
    title = say("operations", language)
    return Table(columns(*heads, *numbers, numeric=numbers), rows, title, name="operations")


def stages(data: ReportData) -> Table:
    """Return how often each stage ran, how often of that it came from the cache, and for how long."""
    language = data.settings.report.language
    numbers = [say(name, language) for name in ("runs", "cached_runs", "seconds")]
    rows = [
        (one["stage"], str(one["n"]), str(one["cached"]), grouped(one["wall_s"], 2))
        for one in operations.stages(data)
    ]
    return Table(columns(say("name", language), *numbers, numeric=numbers), rows, say("stages", language))


def markdown(made: Iterable[Table]) -> Iterator[str]:
    """Yield the lines of tables with their headings and notes, which are ours and may be Markdown."""
    for one in made:
        yield from (f"## {plain(one.title)}", "", *one.markdown(), "")
        if one.caption:
            yield from (one.caption, "")
