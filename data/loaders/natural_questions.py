"""Questions with passages and gold answers: the shipped sample, Natural Questions in its forms, NQ-open."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from basic_control.data.decorators import loader
from basic_control.data.draw import Sampling, select_items
from basic_control.data.draw import source as random_source
from basic_control.data.errors import InputError
from basic_control.data.files import Row, convert_text, read_file_rows
from basic_control.data.options import Frozen
from basic_control.data.records import Item
from basic_control.data.sources import SAMPLES, given_file, locate

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


def questions(
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
    path = SAMPLE if str(source) == "sample" else locate(source)
    converted = (_convert(raw, f"{path}, row {n}", seed) for n, raw in enumerate(read_file_rows(path), 1))
    kept = [one for one in converted if one is not None and language in {"", one.language}]
    if not kept:
        wanted = f" in language {language!r}" if language else ""
        raise InputError(f"{path}: no question with an answer{wanted}; expected {_FORMS}.")
    if not passages:
        return [replace(one, facts={**one.facts, "passages": []}) for one in kept]
    if without := sum(not one.facts["passages"] for one in kept):
        raise InputError(
            f"{path}: {without} of {len(kept)} questions have no passages "
            "(NQ-open has none). Use `mode: closed_book`, or data with passages."
        )
    return kept


def _convert(raw: Row, where: str, seed: int) -> Item | None:
    """Convert one row to the common form; None if the question has no answer."""
    if "annotations" in raw and ("question_text" in raw or "question_tokens" in raw):
        try:
            return _original(raw)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{where}: not the original form; {error} is missing or wrong.") from error
    form = next((name for name in ("short_answers", "ctxs", "answer") if name in raw and "question" in raw), "")
    if not form:
        raise InputError(f"{where}: found columns {', '.join(map(str, raw))}; expected {_FORMS}.")
    question = _text(raw, "question", where)
    if not question.strip():
        raise InputError(f"{where}: empty question. Fill it in, or delete the row.")
    if form == "answer":
        return _item(question, _texts(raw, "answer", where), language=_text(raw, "language", where))
    return _retrieved(raw, question, where, seed) if form == "ctxs" else _prepared(raw, question, where)


def _item(
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


def _list(raw: Row, name: str, where: str) -> list[Any]:
    """Return a column's list; a single text is a list of one, and a missing value an empty list."""
    value = raw.get(name)
    if value is None or isinstance(value, list):
        return [one for one in value or () if one is not None]
    if isinstance(value, str | Mapping):
        return [value] if value else []
    raise InputError(f"{where}, {name}: expected a list, found a {type(value).__name__}.")


def _text(raw: Row, name: str, where: str) -> str:
    return convert_text(raw.get(name), f"{where}, {name}") or ""


def _texts(raw: Row, name: str, where: str) -> list[str]:
    return [convert_text(one, f"{where}, {name}") or "" for one in _list(raw, name, where)]


def _passage(one: Any, where: str) -> dict[str, str]:
    given = one if isinstance(one, Mapping) else {"text": one}
    return {part: convert_text(given.get(part), where) or "" for part in ("title", "text")}


def _prepared(raw: Row, question: str, where: str) -> Item:
    """Read the sample's form and nq_dev's: passages or contexts, the gold one by its number or its index from 0."""
    name = "passages" if raw.get("passages") else "contexts"
    named, first = ("gold_index", 1) if raw.get("gold_number") is None else ("gold_number", 0)
    try:
        gold = None if raw.get(named) is None else int(raw[named]) + first
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}, {named}: expected a number, found {raw[named]!r}.") from error
    return _item(
        question,
        _texts(raw, "short_answers", where),
        [_passage(one, f"{where}, {name}") for one in _list(raw, name, where)],
        long_answer=_text(raw, "long_answer", where),
        gold_number=gold,
        language=_text(raw, "language", where),
    )


def _retrieved(raw: Row, question: str, where: str, seed: int) -> Item:
    """Read a question with retrieved passages, one of them gold; they are shuffled, since gold is first."""
    listed = _list(raw, "ctxs", where)
    if not all(isinstance(one, Mapping) for one in listed):
        raise InputError(f"{where}, ctxs: expected passages with title and text.")
    random_source("nq passages", seed, question).shuffle(listed)
    gold = next((n for n, one in enumerate(listed, 1) if one.get("isgold")), None)
    annotated = raw.get("nq_annotated_gold")
    passages = [_passage(one, f"{where}, ctxs") for one in listed]
    told = _text(annotated, "long_answer", where) if isinstance(annotated, Mapping) else ""
    return _item(
        question,
        _texts(raw, "answers", where),
        passages,
        long_answer=told or (passages[gold - 1]["text"] if gold else ""),
        gold_number=gold,
        language=_text(raw, "language", where),
    )


def _original(raw: Row) -> Item | None:
    """Read the original form: the gold paragraph of the first annotator who gave one, every short answer.

    The other paragraphs of the page, nearest to the gold one first, are its distractors; none holds an answer.
    """
    annotated = [one for one in raw["annotations"] if _has(one["long_answer"])]
    if not annotated:
        return None
    if "document_text" in raw:
        tokens = str(raw["document_text"]).split(" ")
    else:
        tokens = [str(one["token"]) for one in raw["document_tokens"]]
    gold = next((one for one in annotated if one["short_answers"]), annotated[0])["long_answer"]
    answers = [_joined(tokens, span) for one in annotated for span in one["short_answers"] if _has(span)]
    wanted = [one.lower() for one in answers if one not in {"yes", "no"}]
    answers += [one["yes_no_answer"].lower() for one in annotated if one["yes_no_answer"] in {"YES", "NO"}]
    start = int(gold["start_token"])
    nearest = sorted(raw["long_answer_candidates"], key=lambda one: abs(int(one["start_token"]) - start))
    others = islice((span for span in nearest if _distracts(span, tokens, gold, wanted)), DISTRACTORS)
    spans = sorted([*others, gold], key=lambda span: int(span["start_token"]))
    title = str(raw.get("document_title") or _title(str(raw.get("document_url") or "")))
    return _item(
        str(raw.get("question_text") or " ".join(raw["question_tokens"])),
        list(dict.fromkeys(answers)),
        [{"title": title, "text": _joined(tokens, span)} for span in spans],
        long_answer=_joined(tokens, gold),
        gold_number=spans.index(gold) + 1,
    )


def _has(span: Row) -> bool:
    return int(span.get("start_token", -1)) >= 0 and int(span["end_token"]) > int(span["start_token"])


def _joined(tokens: Sequence[str], span: Row) -> str:
    """Join a span's tokens, without HTML tags and the tokenizer's spaces."""
    inside = tokens[span["start_token"] : span["end_token"]]
    text = " ".join(one for one in inside if not (one[:1] == "<" and one[-1:] == ">"))
    for sign in (",", ".", ";", ":", "!", "?", ")", "'s", "n't", "%"):
        text = text.replace(f" {sign}", sign)
    return text.replace("( ", "(").replace("`` ", '"').replace(" ''", '"').strip()


def _distracts(span: Row, tokens: Sequence[str], gold: Row, wanted: Sequence[str]) -> bool:
    """Return whether a span is a paragraph that does not overlap the gold one and holds no short answer."""
    start, end = int(span["start_token"]), int(span["end_token"])
    return (
        (end <= int(gold["start_token"]) or start >= int(gold["end_token"]))
        and span.get("top_level", True)
        and _FEWEST_TOKENS <= end - start <= _MOST_TOKENS
        and tokens[start].upper() == "<P>"
        and not any(one in _joined(tokens, span).lower() for one in wanted)
    )


def _title(url: str) -> str:
    from urllib.parse import parse_qs, unquote, urlsplit

    parts = urlsplit(url)
    named = parse_qs(parts.query).get("title", [parts.path.rsplit("/", 1)[-1]])[0]
    return unquote(named).replace("_", " ")


@loader(options=Options, files=lambda options: [given_file(options["data"], SAMPLE)])
def natural_questions(options: Mapping[str, Any], _required: Sequence[str]) -> Iterator[Item]:
    """Yield questions: facts `question`, `passages`, `short_answers`, `long_answer`, `gold_number`."""
    sample, given = options["sample"], options["mode"] == "passages"
    found = questions(options["data"], language=options["language"], passages=given, seed=sample["seed"])
    return select_items(found, sample)
