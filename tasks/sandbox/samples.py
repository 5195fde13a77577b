"""The programs that a metric has in replies, run all in one go."""

from collections.abc import Mapping, Sequence
from typing import Any

from data.records import Found, Metric, Sample
from tasks import sandbox


def run_programs(unit: Metric, samples: Sequence[Sample | None], options: Mapping[str, Any]) -> list[Found]:
    """Run the programs of each sample (None: there is no reply); return what each sample's came to."""
    if unit.programs is None:
        return [{}] * len(samples)
    asked = [unit.programs(sample, options) if sample is not None else {} for sample in samples]
    outcomes = iter(sandbox.run([program for each in asked for program in each.values()]))
    return [{"programs": {key: next(outcomes) for key in each}} for each in asked]
