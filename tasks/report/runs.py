"""The page of all runs, as `view` serves it: their outcomes, a search, and a choice of two to compare."""

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from data.exits import OUTCOMES
from prompts.phrases import phrase, section
from tasks.report.pages import still
from tasks.report.text import percent, speaking
from tasks.report.words import money
from tasks.store.history import HistoryEntry

EACH = 200
"""Runs per page."""

STYLES = ("comparison.css", "runs.css")


def verdict(one: HistoryEntry) -> str:
    """Return a run's outcome: pass, fail, error, undecided; its status if it has none."""
    return one.verdict or one.status


def _outcome_name(outcome: str, language: str) -> str:
    if outcome in OUTCOMES:
        return phrase(f"common.{outcome}", language)
    return section("view", language).get(f"status_{outcome}", outcome)


def chosen(entries: Sequence[HistoryEntry], words: str) -> list[HistoryEntry]:
    """Return the runs that contain all words, in their order."""
    wanted = words.casefold().split()

    def fits(one: HistoryEntry) -> bool:
        told = (one.name, one.title, one.file, one.started, one.status, verdict(one), one.note, one.commit)
        text = "\n".join((*told, one.baseline, *one.models, *one.suites, *one.tags)).casefold()
        return all(word in text for word in wanted)

    return [one for one in entries if fits(one)]


@speaking(lambda *given: given[3])  # its language
def index(
    entries: Sequence[HistoryEntry],
    query: Mapping[str, str],
    address: Callable[[str], str],
    language: str,
    path: Callable[[str], str],
) -> str:
    """Return the page of the runs that a `query` (`words` and `page`) asks for.

    `address` returns the link to a run's report, '' if none; `path` the file's path, for sending it; '' if not
    shown.
    """
    words, number = query.get("words", "")[:200], query.get("page", "")
    page = int(number) if number.isdecimal() and 0 < len(number) < 7 else 1  # noqa: PLR2004 - digits
    found = chosen(entries, words)
    start = max(page - 1, 0) * EACH
    listed = found[start : start + EACH]
    rows = [
        {
            "run": one,
            "address": address(one.name),
            "path": path(one.name),
            "cost": money(one.cost, one.currency, language) if one.cost is not None else "–",
            "verdict": verdict(one),
            "said": _outcome_name(verdict(one), language),
            "scores": [
                (name, percent(score), told, _outcome_name(told, language) if told else "")
                for name, score in one.scored.items()
                for told in [one.verdicts.get(name, "")]
            ],
        }
        for one in listed
    ]
    return still(
        "runs.html.j2",
        STYLES,
        form=True,
        script="runs.js",
        section="view",
        language=language,
        words=words,
        rows=rows,
        n=len(found),
        total=len(entries),
        first=start + 1,
        earlier=_turned(words, page - 1) if start else "",
        later=_turned(words, page + 1) if start + EACH < len(found) else "",
    )


def _turned(words: str, page: int) -> str:
    return f"/?{urlencode({'words': words, 'page': page} if words else {'page': page})}"


def message(text: str, language: str) -> str:
    """Return a page with one message, such as an error, and a link back."""
    return still("message.html.j2", STYLES, section="view", language=language, text=text)
