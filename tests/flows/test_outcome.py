"""What the terminal says of a run's verdict."""

from dataclasses import replace

from data.records import Ref
from flows.cli.outcome import verdict
from flows.runs import Outcome
from metrics.final import Final, ModelResult, SuiteResult
from metrics.stats.intervals import Interval


def test_what_is_undecided_says_how_many_answers_would_decide() -> None:
    around = Interval(0.7, 0.9, "wilson", 40)
    suite = SuiteResult("cot", 0.82, around, 0.8, 1.0, "undecided", n_asked=40, n_scored=40, n_deciding=1440)
    suite = replace(suite, beside={"cot.sound": 0.5})
    model = ModelResult("m", 0.82, around, 0.8, "undecided", (suite,), n_deciding=1440)
    results = {"final": Final("interval", (model,)).as_dict(), "totals": {}}
    counts = dict.fromkeys(("asked", "cached", "answered", "failed", "tokens_in", "tokens_out"), 0)
    ref = Ref("summary", "0" * 64, 0, "")
    lines = verdict(Outcome("r", "runs/r", [], ref, counts, results, [], 0))
    told = "  cot: 82%, threshold 80% – undecided: about 1440 scored answers would decide, did mean and spread stay"
    assert f"{told}; cot.sound 50%" in lines
    assert any("98.5 % of chains" in line for line in lines), "what the score is worth stands beside it"
