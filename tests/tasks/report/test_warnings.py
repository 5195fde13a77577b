"""What every report says of a run as a whole."""

import polars as pl
import pytest

from metrics.analysis.values import few_templates
from tasks.report.warnings import run_warnings


def items(suite: str, templates: list[str]) -> pl.DataFrame:
    ids = [f"{suite}{n}" for n in range(len(templates))]
    return pl.DataFrame({"item_id": ids, "suite": suite, "family": "", "template": templates})


def test_suites_of_a_few_shared_templates_are_named() -> None:
    """Four that are shared are few; five are units, and templates of one question each are questions."""
    few, enough = (items(name, [f"t{n % shared}" for n in range(20)]) for name, shared in (("few", 4), ("five", 5)))
    alone, none = items("alone", [f"t{n}" for n in range(20)]), items("none", [""] * 20)
    assert few_templates(pl.concat([few, enough, alone, none])) == ("few",)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "over these templates only"), ("ru", "только для этих шаблонов")]
)
def test_a_report_says_that_intervals_hold_over_these_templates_only(language: str, said: str) -> None:
    (line,) = run_warnings({"few_templates": ["few"]}, language)
    assert line.startswith("few: ")
    assert line.endswith(said)
