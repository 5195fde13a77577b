"""A run held against a baseline: what they do not share, each suite's regression, the items that changed most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl

from data.errors import InputError
from data.records import VALUED
from metrics.stats.regression import KEY, Change, Pairs, Regression, pair, regressions

SHOWN = 10
_LEAST_COMMON = 0.5
"""The share of a baseline's questions that a run must have for a comparison of the two to mean anything."""
_NOTHING = 1e-12

Suites = Mapping[str, Sequence[str]]
"""The suites and the metrics that the score of each is made of."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not the same in run and baseline. `kind` `meaning`: the two cannot be compared in spite of it."""

    kind: Literal["meaning", "note"]
    what: str
    baseline: str
    run: str

    def __str__(self) -> str:
        return f"{self.what}: {self.run}, in the baseline {self.baseline}"


@dataclass(frozen=True, slots=True)
class Changed:
    """An item whose value in a suite changed; `before` is the baseline's."""

    suite: str
    model: str
    item_id: str
    repeat: int
    before: float
    after: float
    status: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Held:
    """A model of a run against one of the baseline, suite by suite."""

    model: str
    against: str
    suites: tuple[Regression, ...]
    changed: tuple[Changed, ...]


@dataclass(frozen=True, slots=True)
class Against:
    """A run against a baseline: `differences` first, then each model that the baseline has too."""

    name: str
    run: str
    differences: tuple[Difference, ...]
    models: tuple[Held, ...]

    @property
    def outcomes(self) -> tuple[Change, ...]:
        """What each suite of each model came to."""
        return tuple(suite.outcome for model in self.models for suite in model.suites)


def unlike(baseline: Mapping[str, Any], run: Mapping[str, Any]) -> list[Difference]:
    """List what differs in the facts behind two runs: `verifiers`, `judges`, `identities`, `sampling`.

    Another verifier or judge makes a comparison meaningless; another model, or another sampling of it, is what may
    be compared.
    """
    found: list[Difference] = []
    kinds: tuple[tuple[str, Literal["meaning", "note"], str], ...] = (
        ("verifiers", "meaning", "version of the verifier {}"),
        ("judges", "meaning", "judge {}"),
        ("identities", "note", "model {}"),
        ("sampling", "note", "sampling of {}"),
    )
    for key, kind, what in kinds:
        before, after = baseline.get(key) or {}, run.get(key) or {}
        # A judge that only one side has is another judge; a model that only one side has is not compared.
        shared = {*before, *after} if key == "judges" else {*before} & {*after}
        found += [
            Difference(kind, what.format(name), told, said)
            for name in sorted(shared)
            if (told := _told(before.get(name))) != (said := _told(after.get(name)))
        ]
    return found


def _told(value: Any) -> str:
    """Write a fact on one line; what marks a run as asked anew is no part of it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value[key]}" for key in sorted(value) if key != "fresh") or "nothing"
    return "none" if value is None else str(value)


def values_of(scores: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Return a suite's value of each model, item and repeat: the mean over its metrics, null where one has none.

    What is not applicable is left out. `upper` is the value had a cut reply been right; `status` the first that is
    not plainly scored.
    """
    kept = scores.filter(pl.col("metric").is_in(list(metrics)) & (pl.col("status") != "not_applicable"))
    plain = pl.col("status") == "scored"
    value = pl.when(plain).then("value").when(pl.col("status").is_in(VALUED)).then(pl.col("value").fill_null(0.0))
    upper = pl.when(pl.col("status") == "truncated").then(pl.lit(1.0)).otherwise(value)
    rows = kept.select("model", *KEY, "status", plain=plain, value=value, upper=upper)

    def joined(name: str) -> pl.Expr:
        return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name)

    return rows.group_by("model", *KEY, maintain_order=True).agg(
        joined("value"),
        joined("upper"),
        status=pl.coalesce(pl.col("status").filter(~pl.col("plain")).first(), pl.lit("scored")),
    )


def matched(run: Sequence[str], baseline: Sequence[str]) -> list[tuple[str, str]]:
    """Pair a run's models with the baseline's: by name, or the only one with the only one."""
    pairs = [(model, model) for model in run if model in baseline]
    return pairs or ([(run[0], baseline[0])] if len(run) == len(baseline) == 1 else [])


def hold(
    name: str,
    baseline_run: str,
    *,
    scores: pl.DataFrame,
    items: pl.DataFrame,
    baseline: pl.DataFrame,
    suites: Suites,
    max_drop: Mapping[str, float],
    known: Sequence[Difference] = (),
    allow_different: bool = False,
) -> Against:
    """Hold a run's scores against a baseline's, both rows of the scores table (the baseline's with its `suite`).

    Raises:
        InputError: the two cannot be compared; the message says by what they differ, and how to go on.
    """
    models = matched(
        scores["model"].unique(maintain_order=True).to_list(),
        baseline["model"].unique(maintain_order=True).to_list(),
    )
    if not models:
        there, here = (", ".join(frame["model"].unique().sort()) for frame in (baseline, scores))
        raise InputError(f"baseline {name}: it has the models {there}, the run has {here}: none in common.")
    clusters = _clusters(items)
    differences = list(known)
    held = []
    for model, against in models:
        pairs, changed = [], []
        for suite, metrics in suites.items():
            before = values_of(baseline.filter(suite=suite, model=against), metrics)
            own = scores.filter(model=model).join(clusters.filter(suite=suite), on="item_id", how="semi")
            after = values_of(own, metrics)
            if before.is_empty() and after.is_empty():
                continue
            differences += _questions(suite, model, before, after)
            placed = after.join(clusters.select("item_id", "cluster"), on="item_id", how="left")
            found = pair(suite, placed, before)
            pairs.append(_common(found, before, after))
            changed += list(_changes(suite, model, before, after, items))
        told = regressions(pairs, max_drop=max_drop)
        changed.sort(key=lambda one: (-abs(one.after - one.before), one.after > one.before, one.suite, one.item_id))
        held.append(Held(model, against, told, tuple(changed[:SHOWN])))
    different = tuple(dict.fromkeys(differences))
    refuse(name, different, allow_different=allow_different)
    return Against(name, baseline_run, different, tuple(held))


def refuse(name: str, differences: Sequence[Difference], *, allow_different: bool) -> None:
    """Refuse a comparison that would mean nothing.

    Raises:
        InputError: something that gives the numbers their meaning differs, and that was not allowed.
    """
    wrong = [str(one) for one in differences if one.kind == "meaning"]
    if wrong and not allow_different:
        raise InputError(
            f"baseline {name}: it was not made as this run is. {'; '.join(wrong)}. Set a new baseline, or give "
            "--allow-different to compare all the same."
        )


def _common(found: Pairs, before: pl.DataFrame, after: pl.DataFrame) -> Pairs:
    """Count as left out only what both were asked and one has not scored."""
    both = before.join(after, on=list(KEY), how="inner").height
    return replace(found, n_left_out=both - len(found.run))


def _clusters(items: pl.DataFrame) -> pl.DataFrame:
    """Give each item the number of its template in its family; -1 where it has none."""
    template = ["suite", "family", "template"]
    filled = items.select("item_id", pl.col(template).fill_null(""))
    there = filled.select(template).filter(pl.col("template") != "").unique().sort(template)
    return filled.join(there.with_row_index("cluster"), on=template, how="left").select(
        "item_id", "suite", pl.col("cluster").cast(pl.Int64).fill_null(-1)
    )


def _questions(suite: str, model: str, before: pl.DataFrame, after: pl.DataFrame) -> list[Difference]:
    """Say where the two were not asked the same questions."""
    common = before.join(after, on=list(KEY), how="inner").height
    if common == before.height == after.height:
        return []
    enough = common >= _LEAST_COMMON * max(before.height, 1)
    what = f"questions of {suite} ({model})"
    told = f"{after.height}, {common} of them in common"
    return [Difference("note" if enough else "meaning", what, str(before.height), told)]


def _changes(
    suite: str, model: str, before: pl.DataFrame, after: pl.DataFrame, items: pl.DataFrame
) -> list[Changed]:
    """Return the items that changed most, losses before gains of the same size."""
    joined = after.join(before.select(*KEY, before="value"), on=list(KEY), how="inner").drop_nulls(
        ["value", "before"]
    )
    gain = pl.col("value") - pl.col("before")
    moved = joined.filter(gain.abs() > _NOTHING).sort(
        gain.abs(), gain, *KEY, descending=[True, False, False, False]
    )
    told = moved.head(SHOWN).join(items.select("item_id", "prompt").unique("item_id"), on="item_id", how="left")
    return [
        Changed(
            suite, model, row["item_id"], row["repeat"], row["before"], row["value"], row["status"], row["prompt"]
        )
        for row in told.iter_rows(named=True)
    ]
