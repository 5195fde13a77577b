"""Questions that two runs have in common, row by row, and what else changed between them.

Rows are paired by question, whatever else differs: equal items first, then those with equal expected answers, then
by count. A declared id with a different text is not a common question.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

_IDENTITY = ("item_id", "question_id", "text_digest", "answer_digest")
_COLUMNS = (*_IDENTITY, "prompt", "answer")
SHOWN = 10
"""Maximum number of questions listed for each kind of change."""


@dataclass(frozen=True, slots=True)
class QuestionPrompt:
    """A question by its id; `prompt` is its text, '' if no longer known."""

    question_id: str
    prompt: str


@dataclass(frozen=True, slots=True)
class RelabelledQuestion(QuestionPrompt):
    """A question whose expected answer changed; an answer is None if no longer known."""

    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class QuestionChanges:
    """Changes in a suite's questions; `before` is the earlier run, or the baseline.

    All numbers count distinct questions. The first of each kind are listed: `relabelled` have another expected
    answer, `reworded` another text under the same declared id (not counted as common), `only_before` and
    `only_after` are on one side only.
    """

    suite: str
    n_before: int
    n_after: int
    n_common: int
    n_relabelled: int = 0
    n_reworded: int = 0
    n_only_before: int = 0
    n_only_after: int = 0
    relabelled: tuple[RelabelledQuestion, ...] = ()
    reworded: tuple[QuestionPrompt, ...] = ()
    only_before: tuple[QuestionPrompt, ...] = ()
    only_after: tuple[QuestionPrompt, ...] = ()

    @property
    def share(self) -> float:
        """The share of the earlier run's questions that the later run also has, in [0, 1]."""
        return self.n_common / self.n_before if self.n_before else 1.0


def pair_questions(suite: str, before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, QuestionChanges]:
    """Pair the rows of a suite in two items tables; each row has at most one partner.

    Return the paired ids, `before` and `after`, and the changes. Questions are identified by declared ids if both
    sides have them, else by the digests of their texts.
    """
    old, new = keyed = _keyed(before, after)
    pairs: list[pl.DataFrame] = []
    for by in (["item_id"], ["key", "text_digest", "answer_digest"], ["key", "text_digest"]):
        if pairs and (old.is_empty() or new.is_empty()):
            break
        left, right = (side.with_columns(nth=pl.int_range(pl.len()).over(by)) for side in (old, new))
        found = left.join(right, on=[*by, "nth"], how="inner", maintain_order="left", coalesce=False)
        pairs.append(found.drop("nth", "nth_right"))
        old, new = (
            side.join(found.select(item_id=name), on="item_id", how="anti", maintain_order="left")
            for side, name in ((old, "item_id"), (new, "item_id_right"))
        )
    both = pl.concat(pairs)
    return both.select(before="item_id", after="item_id_right"), _moved(suite, *keyed, both)


def _keyed(before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add the question key to the rows of both sides."""
    sides = [side.select(_COLUMNS).unique("item_id", keep="first", maintain_order=True) for side in (before, after)]
    declared = all((side["question_id"] != side["text_digest"]).any() for side in sides)
    key = pl.col("question_id" if declared else "text_digest")
    old, new = (side.with_columns(key=key, answer_digest=pl.col("answer_digest").fill_null("")) for side in sides)
    return old, new


def _moved(suite: str, old: pl.DataFrame, new: pl.DataFrame, both: pl.DataFrame) -> QuestionChanges:
    common = both["key"].unique()
    left, right = (
        side.filter(~pl.col("key").is_in(common.implode())).unique("key", maintain_order=True)
        for side in (old, new)
    )
    reworded = right.join(left, on="key", how="semi", maintain_order="left")
    relabelled = both.filter(pl.col("answer_digest") != pl.col("answer_digest_right"))
    gone = left.join(reworded, on="key", how="anti", maintain_order="left")
    new_ones = right.join(reworded, on="key", how="anti", maintain_order="left")
    return QuestionChanges(
        suite,
        n_before=old["key"].n_unique(),
        n_after=new["key"].n_unique(),
        n_common=len(common),
        n_relabelled=relabelled["key"].n_unique(),
        n_reworded=reworded.height,
        n_only_before=gone.height,
        n_only_after=new_ones.height,
        relabelled=tuple(
            RelabelledQuestion(
                row["question_id_right"], row["prompt_right"] or "", row["answer"], row["answer_right"]
            )
            for row in relabelled.unique("key", maintain_order=True).head(SHOWN).iter_rows(named=True)
        ),
        reworded=_names(reworded),
        only_before=_names(gone),
        only_after=_names(new_ones),
    )


def _names(rows: pl.DataFrame) -> tuple[QuestionPrompt, ...]:
    return tuple(
        QuestionPrompt(one, prompt or "")
        for one, prompt in rows.select("question_id", "prompt").head(SHOWN).iter_rows()
    )


@dataclass(frozen=True, slots=True)
class AlignedItems:
    """Several runs' items under common ids: a later run's item has the id of its partner in an earlier run.

    `ids` renames a run's items (own id -> common id), `items` is one table for all runs, `moved` holds each suite's
    changes in each run relative to the first run with this suite.
    """

    ids: Mapping[str, Mapping[str, str]]
    items: pl.DataFrame
    moved: Mapping[str, tuple[QuestionChanges, ...]]


def align(runs: Mapping[str, pl.DataFrame]) -> AlignedItems:
    """Assign common ids to the items of several runs (run -> items table), in order, by their questions."""
    known: dict[str, pl.DataFrame] = {}
    first: dict[str, pl.DataFrame] = {}
    ids: dict[str, dict[str, str]] = {}
    moved: dict[str, tuple[QuestionChanges, ...]] = {}
    for run, items in runs.items():
        ids[run], told = {}, []
        for (name,), own in items.unique("item_id", maintain_order=True).group_by("suite", maintain_order=True):
            suite = str(name)
            if suite not in known:
                known[suite] = first[suite] = own
                ids[run] |= {one: one for one in own["item_id"]}
                continue
            rows, changes = pair_questions(suite, known[suite], own)
            partner = dict(rows.select("after", "before").iter_rows())
            ids[run] |= {one: partner.get(one, one) for one in own["item_id"]}
            told.append(changes if known[suite] is first[suite] else pair_questions(suite, first[suite], own)[1])
            known[suite] = pl.concat([known[suite], own.filter(~pl.col("item_id").is_in([*partner]))])
        moved[run] = tuple(told)
    empty = next(iter(runs.values())).clear() if runs else pl.DataFrame()
    return AlignedItems(ids, pl.concat([empty, *known.values()]), moved)
