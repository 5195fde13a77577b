"""Questions that two runs have in common, row by row, and what else changed between them.

Rows are paired by question, whatever else differs: equal items first, then those with equal expected answers, then
by count. A declared id with a different text is not a common question.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl

from basic_control.data.prefixes import cut_shared_beginnings

_IDENTITY = ("item_id", "question_id", "text_digest", "answer_digest")
_COLUMNS = (*_IDENTITY, "prompt", "answer")
SHOWN = 10
"""Maximum number of questions listed for each kind of change."""


@dataclass(frozen=True, slots=True)
class MovedQuestion:
    """A question by its id; `prompt` is its text without what it begins with like others, '' if that is not kept.

    Of a relabelled one, `before` and `after` are the expected answers; None if they are not kept. `name` is the id
    from its author, or else the data's name with the number of the row.
    """

    question_id: str
    prompt: str
    before: str | None = None
    after: str | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class MovedQuestions:
    """The questions of one kind of change: how many distinct ones, and the first of them."""

    n: int = 0
    first: tuple[MovedQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionChanges:
    """Changes in a suite's questions; `before` is the earlier run, or the baseline.

    All numbers count distinct questions. `relabelled` have another expected answer, `reworded` another text under
    the same declared id (not counted as common), `only_before` and `only_after` are on one side only. `regrouped`
    are of another template, or of none on one side.
    """

    suite: str
    n_before: int
    n_after: int
    n_common: int
    relabelled: MovedQuestions = MovedQuestions()
    reworded: MovedQuestions = MovedQuestions()
    only_before: MovedQuestions = MovedQuestions()
    only_after: MovedQuestions = MovedQuestions()
    regrouped: MovedQuestions = MovedQuestions()

    @property
    def share(self) -> float:
        """The share of the earlier run's questions that the later run also has, in [0, 1]."""
        if not self.n_before:
            return 1.0
        return self.n_common / self.n_before


def pair_questions(suite: str, before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, QuestionChanges]:
    """Pair the rows of a suite in two items tables; each row has at most one partner.

    Return the paired ids, `before` and `after`, and the changes. Questions are identified by declared ids if both
    sides have them, else by the digests of their texts.
    """
    old, new = keyed = _add_keys(before, after)
    pairs: list[pl.DataFrame] = []
    for by in (["item_id"], ["key", "text_digest", "answer_digest"], ["key", "text_digest"]):
        if pairs and (old.is_empty() or new.is_empty()):
            break
        # Equal rows are paired by count: the first with the first, and so on.
        nth = pl.int_range(pl.len()).over(by)
        first, second = old.with_columns(nth=nth), new.with_columns(nth=nth)
        matches = first.join(second, on=[*by, "nth"], how="inner", maintain_order="left", coalesce=False)
        pairs.append(matches.drop("nth", "nth_right"))
        old = old.join(matches, on="item_id", how="anti", maintain_order="left")
        new = new.join(matches, left_on="item_id", right_on="item_id_right", how="anti", maintain_order="left")
    partners = pl.concat(pairs)
    return partners.select(before="item_id", after="item_id_right"), _list_changes(suite, *keyed, partners)


def _add_keys(before: pl.DataFrame, after: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add the question key to the rows of both sides."""
    sides = [
        add_names(_with_template(side))
        .select(*_COLUMNS, "template", "name")
        .unique("item_id", keep="first", maintain_order=True)
        for side in (before, after)
    ]
    is_declared = all((side["question_id"] != side["text_digest"]).any() for side in sides)
    key = pl.col("question_id" if is_declared else "text_digest")
    old, new = (side.with_columns(key=key, answer_digest=pl.col("answer_digest").fill_null("")) for side in sides)
    return old, new


def _list_changes(suite: str, old: pl.DataFrame, new: pl.DataFrame, partners: pl.DataFrame) -> QuestionChanges:
    common = partners.select("key").unique()
    # What has no partner stands on one side only, unless its id stands on the other with another text.
    before, after = (side.join(common, on="key", how="anti", maintain_order="left") for side in (old, new))
    # Listed questions have no others beside them to show what all begin with.
    prompts = pl.concat([side["prompt"] for side in (old, new)]).drop_nulls().unique().to_list()
    cut = dict(zip(prompts, cut_shared_beginnings(prompts), strict=True))
    _list_questions = partial(_list_with_texts, cut)
    relabelled = partners.filter(pl.col("answer_digest") != pl.col("answer_digest_right"))
    later = {"question_id": "question_id_right", "prompt": "prompt_right", "name": "name_right"}
    answers = {"before": "answer", "after": "answer_right"}
    return QuestionChanges(
        suite,
        n_before=old["key"].n_unique(),
        n_after=new["key"].n_unique(),
        n_common=common.height,
        relabelled=_list_questions(relabelled.with_columns(**later), **answers),
        reworded=_list_questions(after.join(before, on="key", how="semi", maintain_order="left")),
        only_before=_list_questions(before.join(after, on="key", how="anti", maintain_order="left")),
        only_after=_list_questions(after.join(before, on="key", how="anti", maintain_order="left")),
        regrouped=_list_questions(
            partners.filter(pl.col("template") != pl.col("template_right")).with_columns(**later)
        ),
    )


def _with_template(items: pl.DataFrame) -> pl.DataFrame:
    """Return items with their templates; null where nothing says whether they have one."""
    return items if "template" in items.columns else items.with_columns(template=pl.lit(None, pl.String))


def with_templates(items: pl.DataFrame, partners: pl.DataFrame) -> pl.DataFrame:
    """Return items with the templates of their partners where these state any: those of one question are one fact.

    A row of `partners` is an item with its `item_id` among `items`, and its template.
    """
    stated = partners.filter(pl.col("template").fill_null("") != "").unique("item_id", keep="first")
    joined = _with_template(items).join(
        stated.select("item_id", _stated="template"), on="item_id", how="left", maintain_order="left"
    )
    return joined.with_columns(template=pl.coalesce("_stated", "template")).drop("_stated")


def add_names(items: pl.DataFrame) -> pl.DataFrame:
    """Add how an item is told from others: the id from its author, or its data's name and the row's number."""
    number = pl.lit("")
    if {"family", "index"} <= {*items.columns}:
        number = pl.concat_str("family", pl.col("index") + 1, separator=" ")
    is_declared = pl.col("question_id") != pl.col("text_digest")
    name = pl.when(is_declared).then(pl.col("question_id")).otherwise(number)
    return items.with_columns(name=name.fill_null(""))


def _list_with_texts(cut: Mapping[str, str], rows: pl.DataFrame, **answers: str) -> MovedQuestions:
    """Count the distinct questions of rows, and list the first; `answers` are the columns of expected answers.

    `cut` are the prompts as they are shown.
    """
    questions = rows.unique("key", maintain_order=True)
    columns = questions.head(SHOWN).select("question_id", pl.col("prompt").fill_null(""), "name", **answers)
    listed_questions = []
    for row in columns.iter_rows(named=True):
        prompt = cut.get(row["prompt"], row["prompt"])
        listed_questions.append(MovedQuestion(**{**row, "prompt": prompt}))
    return MovedQuestions(questions.height, tuple(listed_questions))


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
    aligned: dict[str, pl.DataFrame] = {}
    first: dict[str, pl.DataFrame] = {}
    ids: dict[str, dict[str, str]] = {}
    moved: dict[str, tuple[QuestionChanges, ...]] = {}
    for run, items in runs.items():
        ids[run], changed = {}, []
        for (name,), own_items in items.unique("item_id", maintain_order=True).group_by(
            "suite", maintain_order=True
        ):
            suite = str(name)
            names = own_items["item_id"].to_list()
            if suite not in aligned:
                aligned[suite] = first[suite] = own_items
                ids[run].update(zip(names, names, strict=True))
                continue
            rows, changes = pair_questions(suite, aligned[suite], own_items)
            partner = dict(rows.select("after", "before").iter_rows())
            ids[run].update((item_id, partner.get(item_id, item_id)) for item_id in names)
            # Changes are told from the first run with the suite, whatever runs came between.
            if aligned[suite] is not first[suite]:
                _, changes = pair_questions(suite, first[suite], own_items)
            changed.append(changes)
            later = _with_template(own_items).with_columns(pl.col("item_id").replace(partner))
            former = with_templates(aligned[suite], later)
            additions = _with_template(own_items).filter(~pl.col("item_id").is_in([*partner]))
            aligned[suite] = pl.concat([former, additions])
        moved[run] = tuple(changed)
    empty = next(iter(runs.values())).clear() if runs else pl.DataFrame()
    return AlignedItems(ids, pl.concat([empty, *aligned.values()]), moved)
