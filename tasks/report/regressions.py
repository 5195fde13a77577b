"""A run against its baseline, in words: one line a suite, and the summary for a merge request."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from prompts.phrases import phrase
from tasks.report.moved import moved_lines
from tasks.report.report_data import ReportData
from tasks.report.text import code, percent, plain, table
from tasks.report.warnings import alarms
from tasks.report.words import parts, scored, shared, why
from tasks.store.tables import write_atomically

_POINTS = 100


def points(value: float | None) -> str:
    """Return a difference in percentage points with its sign."""
    return "–" if value is None else f"{_POINTS * value:+.1f}".replace("-", "−")


def _around(part: Mapping[str, Any]) -> str:
    low, high = part["interval"]["low"], part["interval"]["high"]
    return f"{points(low)} … {points(high)}"


def regression(part: Mapping[str, Any], language: str = "en") -> str:
    """Describe a suite's outcome against its baseline, and where it is undecided what could have been shown."""

    def say(name: str, **values: object) -> str:
        return phrase(f"regression.{name}", language, **values)

    few = ""
    if part["few"]:
        few = f"; {say('few', n=part['moved']['n_common'], total=part['moved']['n_before'])}"
    if part["difference"] is None:
        return say("nothing") + few
    said = say(
        "line",
        difference=points(part["difference"]),
        around=_around(part),
        tolerated=f"{_POINTS * part['max_drop']:g}",
        n=part["n"],
        outcome=say("improved" if part["improved"] else part["outcome"]),
    )
    if few:
        return said + few
    if part["hangs"]:
        return f"{said}; {say('hangs', low=points(part['low']), high=points(part['high']))}"
    if part["outcome"] != "undecided":
        return said
    shown, needed, tolerated = part["detectable"], part["n_needed"], f"{_POINTS * part['max_drop']:g}"
    told = say("blind", n=part["n"]) if shown is None else say("shown", n=part["n"], drop=f"{_POINTS * shown:.1f}")
    more = "" if needed is None else f"; {say('needed', n=needed, tolerated=tolerated)}"
    return f"{said}; {told}{more}"


def lines(held: Mapping[str, Any] | None, language: str) -> Iterator[str]:
    """Yield a run's outcome against its baseline, for the terminal."""
    if not held:
        return
    yield phrase("regression.head", language, name=held["name"], run=held["run"])
    yield from (f"  {line}" for line in apart(held, language))
    for model in held["models"]:
        for part in model["suites"]:
            yield f"  {part['suite']} {model['model']}: {regression(part, language)}"
            yield from (f"    {line}" for line in moved_lines(part["moved"], language))


def apart(held: Mapping[str, Any], language: str) -> Iterator[str]:
    """Yield what of the baseline is missing, and what else is not as it was."""
    for what in held["missing"]:
        yield phrase(f"regression.{'missing_allowed' if held['allowed'] else 'missing'}", language, what=what)
    for one in held["differences"]:
        spoken = {name: one[name] for name in ("what", "run", "baseline")}
        how = {"decides": "differs_allowed", "rescored": "rescored"}.get(one["kind"], "differs")
        yield phrase(f"regression.{how}", language, **spoken)


def summary(data: ReportData) -> str:
    """Return the Markdown for a merge request: the verdict, the baseline's table, what changed most, files."""
    language = data.settings.report.language
    final, held = data.results["final"], data.results.get("baseline")
    verdict = phrase(f"regression.exit_{final['exit_code']}", language)
    text = [*(f"**{plain(said)}**\n" for said in alarms(data.results, language))]
    text += [f"## Basic Control: {verdict}", ""]
    names = ("model", "suite", "score", "threshold_head", "outcome", "why")
    rows = [
        [
            plain(model["model"]),
            plain(part["suite"]),
            scored(part, language),
            percent(part["threshold"]),
            f"**{shared(part['outcome'], language)}**",
            plain(why(part, language)),
        ]
        for model in final["models"]
        for part in parts(model, language)
    ]
    text += [*table([shared(name, language) for name in names], rows, left=2), ""]
    if held:
        text += list(_against(held, language))
    files = ", ".join(code(name) for name in ("results.json", "reports/", "raw/"))
    text += [phrase("regression.files", language, run=code(data.run), files=files), ""]
    return "\n".join(text)


def _against(held: Mapping[str, Any], language: str) -> Iterator[str]:
    yield f"### {plain(phrase('regression.head', language, name=held['name'], run=held['run']))}"
    yield ""
    yield from (f"- {plain(line)}" for line in apart(held, language))
    moved = (part["moved"] for model in held["models"] for part in model["suites"])
    yield from dict.fromkeys(f"- {plain(line)}" for one in moved for line in moved_lines(one, language))
    names = ("baseline", "now", "difference", "interval", "lost_won", "outcome")
    header = [shared("model", language), shared("suite", language)]
    header += [phrase(f"regression.{name}", language) for name in names]
    rows = [
        [
            plain(model["model"]),
            plain(part["suite"]),
            percent(part["baseline"]),
            percent(part["mean"]),
            points(part["difference"]),
            _around(part),
            f"{part['lost']} / {part['won']}",
            f"**{plain(regression(part, language).partition(': ')[2] or regression(part, language))}**",
        ]
        for model in held["models"]
        for part in model["suites"]
    ]
    yield from ("", *table(header, rows, left=2), "")
    changed = [one for model in held["models"] for one in model["changed"]]
    if changed:
        yield f"### {phrase('regression.changed', language)}"
        yield ""
        header = [phrase(f"regression.{name}", language) for name in ("item", "baseline", "now", "prompt")]
        rows = [
            [
                f"{plain(one['suite'])} {code(one['item_id'])}",
                f"{one['before']:g}",
                f"{one['after']:g}" + ("" if one["status"] == "scored" else f" ({one['status']})"),
                plain(_clipped(one["prompt"])),
            ]
            for one in changed
        ]
        yield from (*table(header, rows, left=1), "")


def _clipped(text: str | None, longest: int = 120) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def write(data: ReportData, path: Path) -> Path:
    """Write the summary for a merge request."""
    write_atomically(path, summary(data).encode("utf-8", "replace"))
    return path
