"""A verdict from a summary table made by hand."""

from collections.abc import Mapping, Sequence

import polars as pl

from data.suites import Suite
from metrics.analysis.judged import Labels, Withheld
from metrics.analysis.policy import Gate, Policy
from metrics.analysis.results import Results
from metrics.analysis.scores import Circumstances, model_scores
from metrics.analysis.stopping import ConfidenceSequence
from metrics.analysis.verdict import RunVerdict, verdict_of


def finalise(
    summary: pl.DataFrame,
    *,
    models: Sequence[str],
    suites: Sequence[Suite],
    threshold: float | None = None,
    gate: Gate = "point",
    undecided: Mapping[str, str] | None = None,
    unjudged: Mapping[str, str] | None = None,
    stopping: Sequence[ConfidenceSequence] = (),
    waiting: Mapping[str, int] | None = None,
    repeated: pl.DataFrame | None = None,
    labels: Labels | None = None,
) -> RunVerdict:
    """Decide on models that all took part in the same suites.

    `undecided` says of suites why no score decides them, `unjudged` why their judges are not to be believed.
    """
    flagged = {name: Withheld(why) for name, why in (undecided or {}).items()}
    flagged |= {name: Withheld(why, measured=False) for name, why in (unjudged or {}).items()}
    known = Circumstances(
        suites,
        dict.fromkeys(models, suites),
        withheld={(model, name): one for model in models for name, one in flagged.items()},
        stopping=stopping,
        waiting=waiting or {},
        labels=labels or {},
    )
    found = model_scores(summary, known, repeated=repeated)
    policy = Policy(gate, threshold, {suite.name: suite.threshold for suite in suites})
    return verdict_of(Results({}, found, waiting or {}), policy)
