"""The rows of a task of lm-evaluation-harness: its data files, its templates, and the examples before a question.

Source: lm-evaluation-harness' guide to tasks.
"""

import difflib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from basic_control.data.notations import parse_list
from basic_control.prompts import fill
from basic_control.tasks.exchange.moving.arranging import ANSWER
from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import PROGRAM_TAG, Folder, read_rows
from basic_control.tasks.exchange.moving.variables import UntakenError, is_number, mapping_of, wrap, write_text

MOST_ROWS = 100_000
QUESTION, ID, DESCRIPTION, PREFIX = "question", "id", "description", "gen_prefix"
PROMPT = "{{ question }}"
_LOADERS = ("json", "csv", "parquet", "text")
_OPENER = re.compile(r"\{(?=[{%#])")  # the first sign of {{, {% or {#
_BETWEEN, _AFTER = " ", "\n\n"
"""The harness's delimiters, which are those of our examples as text."""
_OF_EXAMPLES = {"samples", "sampler", "num_fewshot", "split"}


@dataclass(slots=True)
class Questions:
    """The rows of a task and what stands before them: in the prompt, or as examples that are drawn."""

    rows: list[dict[str, Any]]
    prompt: str = PROMPT
    examples: list[dict[str, Any]] = field(default_factory=list)
    n_examples: int = 0


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """What reading a task's documents needs: the task, its folder, and the account."""

    raw: Mapping[str, Any]
    folder: Folder
    account: Account

    def read(self) -> Questions:
        """Return the questions of a task.

        Raises:
            UntakenError: its data or its templates cannot be read, or there are too few examples.
            InputError: a template cannot be filled.
        """
        split = self.raw.get("test_split") or self.raw.get("validation_split") or "test"
        documents = list(itertools.islice(self._read_split(split), MOST_ROWS + 1))
        if len(documents) > MOST_ROWS:
            raise UntakenError(f"more than {MOST_ROWS:,} rows")
        questions = Questions([*map(self._convert, documents)])
        texts = [""] * len(documents)
        if self.raw.get(DESCRIPTION):
            texts = [self._fill(DESCRIPTION, document) for document in documents]
        description = texts[0] if texts else ""
        # A description that differs by row is a column; another stands in the prompt.
        if len({*texts}) > 1:
            for row, text in zip(questions.rows, texts, strict=True):
                row[DESCRIPTION] = text
            head = "{{ description }}"
        else:
            head = _escape(description)
        _keep_ids(questions.rows, documents)
        self._add_examples(questions, split, head)
        if self.raw.get(PREFIX):
            self.account.add(PREFIX, "changed", "ends the question, and does not begin the reply")
        return questions

    def _convert(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document as a row of question and answer."""
        question, answers = self._fill("doc_to_text", document), self._read_answers(document)
        if self.raw.get("doc_to_choice") is not None and any(map(str.isdecimal, answers)):
            raise UntakenError("found a number of doc_to_choice; expected the answers themselves in doc_to_target")
        if self.raw.get(PREFIX):
            question += write_text(self.raw.get("target_delimiter", _BETWEEN)) + self._fill(PREFIX, document)
        if len(answers) == 1:
            return {QUESTION: question, ANSWER: answers[0]}
        return {QUESTION: question, ANSWER: answers}

    def _fill(self, key: str, document: Mapping[str, Any]) -> str:
        """Return a row's text: of a column that the key names, or of its template."""
        template = self.raw.get(key)
        if isinstance(template, str) and template in document:
            return write_text(document[template])
        if is_number(template):
            return str(template)
        if template is None:
            close = difflib.get_close_matches(key, map(str, self.raw), n=1, cutoff=0.7)
            hints = [f"; {name} is no key of a task" for name in close]
            raise UntakenError(f"{key} is missing{''.join(hints)}")
        if not isinstance(template, str) or template.startswith(PROGRAM_TAG):
            raise UntakenError(f"{key} is no template; a program is not run")
        text = fill(template, "en", document, may_print_lists=True)
        # Jinja drops one line break at the end, which the harness keeps.
        return text + "\n" * template.endswith("\n")

    def _read_answers(self, document: Mapping[str, Any]) -> list[str]:
        """Return what is expected: any of a list, as for the harness."""
        target = self.raw.get("doc_to_target")
        if isinstance(target, list):
            return [*map(write_text, target)]
        return _read_list(self._fill("doc_to_target", document))

    def _read_split(self, split: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a split's files."""
        files = mapping_of(self.raw.get("dataset_kwargs")).get("data_files")
        if self.raw.get("dataset_path") not in _LOADERS or not files:
            name = str(self.raw.get("dataset_path"))[:60]
            raise UntakenError(
                f"data set {name!r} is not fetched; save it beside the task, and name it in data_files"
            )
        chosen = files.get(str(split)) if isinstance(files, dict) else files
        for reference in wrap(chosen):
            if not isinstance(reference, str):
                raise UntakenError(f"no file of the split {split!r} is named")
            try:
                paths = self.folder.find(reference)
                for path in paths:
                    yield from map(_require_row, read_rows(path))
            except UntakenError as error:
                raise UntakenError(f"{reference[:100]}: {error}") from error

    def _add_examples(self, questions: Questions, split: Any, head: str) -> None:
        """Add the examples before each question: written into the prompt, or drawn for it."""
        number, documents, is_drawn = self._find_examples(split)
        questions.prompt = head + PROMPT
        if not documents:
            return
        shots = [*map(self._convert, documents)]
        if is_drawn and not head and self._is_plain(shots):
            questions.examples, questions.n_examples = shots, number
            # Where rows have ids, those of examples have them too.
            if any(ID in row for row in questions.rows):
                questions.examples = [{**row, ID: f"example-{n}"} for n, row in enumerate(shots, start=1)]
            self.account.add("num_fewshot", "changed", "`examples`, drawn once, and not anew for each question")
            return
        if is_drawn and self._find_source(split) == split:
            self.account.add("num_fewshot", "left out", "the rows that are asked would be examples of themselves")
            return
        between = write_text(self.raw.get("target_delimiter", _BETWEEN))
        if self.raw.get(PREFIX):
            # The delimiter stands before the prefix then.
            between = _BETWEEN
        after = write_text(self.raw.get("fewshot_delimiter", _AFTER))
        texts = [f"{row[QUESTION]}{between}{wrap(row[ANSWER])[0]}{after}" for row in shots[:number]]
        questions.prompt = head + _escape("".join(texts)) + PROMPT
        if is_drawn:
            reason = "the first rows of their split before every question, not drawn for each"
            self.account.add("num_fewshot", "changed", reason)
        else:
            self.account.add("num_fewshot", "taken", "in the prompt")

    def _find_examples(self, split: Any) -> tuple[int, list[dict[str, Any]], bool]:
        """Return how many examples a task has, their documents, and whether they are drawn among these.

        Raises:
            UntakenError: there are too few.
        """
        config = mapping_of(self.raw.get("fewshot_config"))
        number = self.raw.get("num_fewshot") or config.get("num_fewshot")
        if not isinstance(number, int) or isinstance(number, bool) or number <= 0:
            return 0, [], False
        for key in sorted(map(str, config.keys() - _OF_EXAMPLES)):
            self.account.add(f"fewshot_config.{key}", "left out", "no equal")
        samples, sampler = config.get("samples"), config.get("sampler", "default")
        if isinstance(samples, list) and not self._find_named_split():
            documents, source = [*map(_require_row, samples)], "fewshot_config.samples"
        elif isinstance(samples, str) and not self._find_named_split():
            reason = "fewshot_config.samples is a program, which is not run: no example stands before a question"
            self.account.add("num_fewshot", "left out", reason)
            return 0, [], False
        else:
            source = self._find_source(split)
            documents = [*itertools.islice(self._read_split(source), MOST_ROWS)]
            source = f"the split {source!r}"
        # A row that is asked is not an example of itself, so that one more is needed.
        has_asked = source == f"the split {split!r}" and sampler != "first_n"
        is_drawn = sampler != "first_n" and len(documents) > number
        if len(documents) < number + has_asked:
            raise UntakenError(f"num_fewshot: found {number}, and {len(documents)} rows of {source}")
        if sampler not in ("default", "first_n"):
            self.account.add("fewshot_config.sampler", "changed", f"{str(sampler)[:40]!r} has no equal")
        return number, documents, is_drawn

    def _find_named_split(self) -> Any:
        """Return the split that is named for examples; what else has rows stands in for it."""
        return self.raw.get("fewshot_split") or mapping_of(self.raw.get("fewshot_config")).get("split")

    def _find_source(self, split: Any) -> Any:
        """Return the split of the examples, as the harness finds it; at last that of the rows which are asked."""
        sources = (self._find_named_split(), self.raw.get("training_split"), self.raw.get("validation_split"))
        return next(filter(None, sources), split)

    def _is_plain(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether our examples as text give the harness's text."""
        delimiters = self.raw.get("target_delimiter", _BETWEEN), self.raw.get("fewshot_delimiter", _AFTER)
        has_end = any(row[QUESTION] != row[QUESTION].rstrip() for row in rows)
        has_answers = all(str(wrap(row[ANSWER])[0]).strip() for row in rows)
        return delimiters == (_BETWEEN, _AFTER) and has_answers and not has_end


def _escape(text: str) -> str:
    """Return a text that a template prints as it is."""
    return _OPENER.sub('{{ "{" }}', text)


def _keep_ids(rows: Sequence[dict[str, Any]], documents: Sequence[Mapping[str, Any]]) -> None:
    """Give rows the ids of their documents, if each has its own."""
    ids = [write_text(document.get(ID)).strip() for document in documents]
    if not all(ids) or len({*ids}) < len(ids):
        return
    for row, row_id in zip(rows, ids, strict=True):
        row[ID] = row_id


def _read_list(text: str) -> list[str]:
    """Return the texts of a list such as `['Rome', 'Roma']`; another text alone."""
    text = text.strip()
    values = parse_list(text) or text
    return [*map(write_text, wrap(values))]


def _require_row(row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise UntakenError("expected rows with named columns")
    return {str(name): value for name, value in row.items()}
