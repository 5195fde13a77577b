"""Questions with passages and gold answers: the shipped sample, Natural Questions in its forms, NQ-open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items
from basic_control.data.draw import source as random_source
from basic_control.data.errors import InputError
from basic_control.data.files import Row, convert_text, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.public_sets import SAMPLES, find_data_file, locate
from basic_control.data.records import Item

SAMPLE = SAMPLES / "nq.jsonl"
"""The shipped sample: facts in the project's own words, English and Russian."""
DISTRACTORS = 9
"""Number of other paragraphs given with the gold one, for data with whole pages."""
_FEWEST_TOKENS, _MOST_TOKENS = 20, 300
_FORMS = (
    "columns question, short_answers, passages or contexts (the shipped sample, nq_dev.parquet); "
    "question, answers, ctxs (retrieved passages, as `nq`); "
    "question_text, annotations (original Natural Questions); or question, answer (NQ-open)"
)


class Options(Frozen):
    """Which questions, and whether passages are given."""

    data: str = Field("sample", description="`sample` (shipped), `nq` (fetched), or a file")
    language: Literal["", "en", "ru", "zh"] = Field("", description="only rows of this language; default: all")
    mode: Literal["passages", "closed_book"] = Field("passages", description="whether numbered passages are given")
    sample: Sampling = Sampling(n=5)


def read_questions(
    source: str | Path = "sample", *, language: str = "", passages: bool = True, seed: int = 50
) -> list[Item]:
    """Read a data set: `sample`, a fetched one, or a Parquet, JSONL or JSONL.gz file in one of the known forms.

    `language` keeps only the rows of that language ('' keeps all). From the original data only questions with an
    answer are kept. `passages`: include them, and refuse a data set without; a passage's number is its position
    from 1, `gold_number` is None if unknown. Retrieved passages, with the gold one first in the file, are shuffled
    by `seed` and question.

    Raises:
        InputError: no such file, an unknown form, a broken line, or nothing left.
    """
    path = locate(source, SAMPLE)
    items: list[Item] = []
    for number, raw in enumerate(read_file_rows(path), 1):
        item = _convert_row(raw, f"{path}, row {number}", seed)
        if item is not None and language in {"", item.language}:
            items.append(item)
    if not items:
        scope = language and f" in language {language!r}"
        raise InputError(f"{path}: no question with an answer{scope}; expected {_FORMS}.")
    if not passages:
        return [replace(item, facts={**item.facts, "passages": []}) for item in items]
    n_without = sum(not item.facts["passages"] for item in items)
    if n_without:
        raise InputError(
            f"{path}: {n_without} of {len(items)} questions have no passages "
            "(NQ-open has none). Use `mode: closed_book`, or data with passages."
        )
    return items


def _convert_row(raw: Row, where: str, seed: int) -> Item | None:
    """Convert one row to the common form; None if the question has no answer."""
    if "annotations" in raw and ("question_text" in raw or "question_tokens" in raw):
        try:
            return _read_original(raw)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{where}: not the original form; {error} is missing or wrong.") from error
    # Each form has a column that no other has.
    form = next(filter(raw.__contains__, ("short_answers", "ctxs", "answer")), None)
    if form is None or "question" not in raw:
        raise InputError(f"{where}: found columns {', '.join(map(str, raw))}; expected {_FORMS}.")
    question = _read_text(raw, "question", where)
    if not question.strip():
        raise InputError(f"{where}: empty question. Fill it in, or delete the row.")
    if form == "answer":
        return _build_item(question, _read_texts(raw, "answer", where), language=_read_text(raw, "language", where))
    if form == "ctxs":
        return _read_retrieved(raw, question, where, seed)
    return _read_prepared(raw, question, where)


def _build_item(
    question: str,
    short_answers: list[str],
    passages: Sequence[Mapping[str, str]] = (),
    *,
    long_answer: str = "",
    gold_number: int | None = None,
    language: str = "",
) -> Item:
    facts = {
        "question": question,
        "passages": [*passages],
        "short_answers": short_answers,
        "long_answer": long_answer,
        "gold_number": gold_number,
    }
    answer = "; ".join(short_answers) or long_answer
    return Item("", answer, facts, language=language or "en", stated_language=language)


def _read_list(raw: Row, name: str, where: str) -> list[Any]:
    """Return a column's list; a single text is a list of one, and a missing value an empty list."""
    value = raw.get(name)
    if value is None or isinstance(value, list):
        return [member for member in value or () if member is not None]
    if isinstance(value, str | Mapping):
        return [value] if value else []
    raise InputError(f"{where}, {name}: expected a list, found a {type(value).__name__}.")


def _read_text(raw: Row, name: str, where: str) -> str:
    return convert_text(raw.get(name), f"{where}, {name}") or ""


def _read_texts(raw: Row, name: str, where: str) -> list[str]:
    return [convert_text(text, f"{where}, {name}") or "" for text in _read_list(raw, name, where)]


def _read_passage(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        value = {"text": value}
    return {part: convert_text(value.get(part), where) or "" for part in ("title", "text")}


def _read_prepared(raw: Row, question: str, where: str) -> Item:
    """Read the sample's form and nq_dev's: passages or contexts, the gold one by its number or its index from 0."""
    name = "passages" if raw.get("passages") else "contexts"
    gold_column, offset = "gold_number", 0
    if raw.get(gold_column) is None:
        gold_column, offset = "gold_index", 1
    gold, gold_number = raw.get(gold_column), None
    try:
        if gold is not None:
            gold_number = int(gold) + offset
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}, {gold_column}: expected a number, found {gold!r}.") from error
    return _build_item(
        question,
        _read_texts(raw, "short_answers", where),
        [_read_passage(passage, f"{where}, {name}") for passage in _read_list(raw, name, where)],
        long_answer=_read_text(raw, "long_answer", where),
        gold_number=gold_number,
        language=_read_text(raw, "language", where),
    )


def _read_retrieved(raw: Row, question: str, where: str, seed: int) -> Item:
    """Read a question with retrieved passages, one of them gold; they are shuffled, since gold is first."""
    contexts = _read_list(raw, "ctxs", where)
    if not all(isinstance(context, Mapping) for context in contexts):
        raise InputError(f"{where}, ctxs: expected passages with title and text.")
    random_source("nq passages", seed, question).shuffle(contexts)
    passages = [_read_passage(context, f"{where}, ctxs") for context in contexts]
    # Without an annotated long answer, the gold passage is the long answer.
    annotated, long_answer = raw.get("nq_annotated_gold"), ""
    if isinstance(annotated, Mapping):
        long_answer = _read_text(annotated, "long_answer", where)
    gold_number = next((number for number, context in enumerate(contexts, 1) if context.get("isgold")), None)
    if gold_number and not long_answer:
        long_answer = passages[gold_number - 1]["text"]
    return _build_item(
        question,
        _read_texts(raw, "answers", where),
        passages,
        long_answer=long_answer,
        gold_number=gold_number,
        language=_read_text(raw, "language", where),
    )


def _read_original(raw: Row) -> Item | None:
    """Read the original form: the gold paragraph of the first annotator who gave one, every short answer.

    The other paragraphs of the page, nearest to the gold one first, are its distractors; none holds an answer.
    """
    annotations = [annotation for annotation in raw["annotations"] if _has_tokens(annotation["long_answer"])]
    if not annotations:
        return None
    if "document_text" in raw:
        tokens = str(raw["document_text"]).split(" ")
    else:
        tokens = list(map(str, map(itemgetter("token"), raw["document_tokens"])))
    gold = next(filter(itemgetter("short_answers"), annotations), annotations[0])["long_answer"]
    answers, verdicts = list[str](), list[str]()
    for annotation in annotations:
        answers += [_join_span(tokens, span) for span in annotation["short_answers"] if _has_tokens(span)]
        if annotation["yes_no_answer"] in {"YES", "NO"}:
            verdicts.append(annotation["yes_no_answer"].lower())
    # A paragraph with the word `no` in it gives nothing away.
    revealing = [answer.lower() for answer in answers if answer not in {"yes", "no"}]
    start = int(gold["start_token"])
    candidates = sorted(raw["long_answer_candidates"], key=lambda span: abs(int(span["start_token"]) - start))
    distractors = filter(lambda span: _is_distractor(span, tokens, gold, revealing), candidates)
    spans = sorted([*islice(distractors, DISTRACTORS), gold], key=lambda span: int(span["start_token"]))
    title = str(raw.get("document_title") or _read_title(str(raw.get("document_url") or "")))
    return _build_item(
        str(raw.get("question_text") or " ".join(raw["question_tokens"])),
        list(dict.fromkeys([*answers, *verdicts])),
        [{"title": title, "text": _join_span(tokens, span)} for span in spans],
        long_answer=_join_span(tokens, gold),
        gold_number=spans.index(gold) + 1,
    )


def _has_tokens(span: Row) -> bool:
    return int(span.get("start_token", -1)) >= 0 and int(span["end_token"]) > int(span["start_token"])


def _join_span(tokens: Sequence[str], span: Row) -> str:
    """Join a span's tokens, without HTML tags and the tokenizer's spaces."""
    inside = tokens[span["start_token"] : span["end_token"]]
    text = " ".join(token for token in inside if not (token[:1] == "<" and token[-1:] == ">"))
    for sign in (",", ".", ";", ":", "!", "?", ")", "'s", "n't", "%"):
        text = text.replace(f" {sign}", sign)
    return text.replace("( ", "(").replace("`` ", '"').replace(" ''", '"').strip()


def _is_distractor(span: Row, tokens: Sequence[str], gold: Row, answers: Sequence[str]) -> bool:
    """Return whether a span is a paragraph that does not overlap the gold one and holds no short answer."""
    start, end = int(span["start_token"]), int(span["end_token"])
    if start < int(gold["end_token"]) and end > int(gold["start_token"]):
        return False
    # Not every span of a page is a paragraph: lists and tables are, too.
    if not span.get("top_level", True) or not _FEWEST_TOKENS <= end - start <= _MOST_TOKENS:
        return False
    if tokens[start].upper() != "<P>":
        return False
    text = _join_span(tokens, span).lower()
    return not any(answer in text for answer in answers)


def _read_title(url: str) -> str:
    from urllib.parse import parse_qs, unquote, urlsplit

    parts = urlsplit(url)
    title = parse_qs(parts.query).get("title", [parts.path.rsplit("/", 1)[-1]])[0]
    return unquote(title).replace("_", " ")


@loader(options=Options, files=lambda options: [find_data_file(options["data"], SAMPLE)])
def natural_questions(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield questions: facts `question`, `passages`, `short_answers`, `long_answer`, `gold_number`."""
    sample, has_passages = options["sample"], options["mode"] == "passages"
    items = read_questions(
        options["data"], language=options["language"], passages=has_passages, seed=sample["seed"]
    )
    return select_items(items, sample)
