"""`results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json` for those who publish how a model reasons and cites."""

from pathlib import Path
from typing import Any

from metrics.analysis.document import document
from metrics.analysis.results import Results
from metrics.analysis.verdict import RunVerdict
from tasks.report.raw import slugs
from tasks.store.tables import write_json


def write(results: Results, verdict: RunVerdict, folder: Path) -> dict[str, Any]:
    """Write `results.json`, and `FINAL_RESULTS_<YYYYMMDD>.json` where it applies; return the first's document."""
    found = document(results, verdict)
    write_json(folder / "results.json", found)
    write_explained(results, folder)
    return found


def write_explained(results: Results, folder: Path) -> None:
    """Write `FINAL_RESULTS_<YYYYMMDD>.json`; of several models, `FINAL_RESULTS_<YYYYMMDD>_<model>.json` of each.

    Where one model reasoned and another cited, the file of several has both their names.
    """
    day = str(results.run["started"])[:10].replace("-", "")
    listed = results.explainability
    for one, name in zip(listed, slugs([one.name for one in listed]), strict=True):
        suffix = f"_{name}" if len(listed) > 1 else ""
        write_json(folder / f"FINAL_RESULTS_{day}{suffix}.json", one.published, indent=2)
