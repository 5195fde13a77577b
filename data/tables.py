"""Table schemas, checked at every read and write."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from basic_control.data.beside import read_beside
from basic_control.data.errors import InputError


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table's name, its columns in order, and the key that makes its rows unique.

    Later stages do not depend on the `volatile` columns, which describe one run only. Tables of earlier versions
    may lack the `added` columns.
    """

    name: str
    columns: Mapping[str, pl.DataType]
    key: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    added: tuple[str, ...] = ()

    def frame(self, rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
        """Build a frame of this table from rows; a missing column is null."""
        return pl.DataFrame(list(rows), schema=dict(self.columns), orient="row", infer_schema_length=None)

    def check(self, frame: pl.DataFrame, *, where: str = "") -> pl.DataFrame:
        """Return the frame if it has exactly this table's columns, types and a unique key.

        Raises:
            InputError: it does not; the message names the columns.
        """
        expected = dict(self.columns)
        if not frame.schema.keys() >= {*self.added}:
            frame = self._add_missing(frame)
        schema = dict(frame.schema)
        location = f"table {self.name}{where and f' in {where}'}"
        if schema != expected:
            problems = []
            for name in {**expected, **schema}:
                actual, declared = schema.get(name, "missing"), expected.get(name, "nothing")
                if actual != declared:
                    problems.append(f"{name}: {actual} instead of {declared}")
            raise InputError(f"{location}: {'; '.join(problems)}.")
        if self.key and frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise InputError(f"{location}: duplicate rows by {', '.join(self.key)}.")
        return frame

    def _add_missing(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Add the columns that tables of earlier versions lack, in their places."""
        for name in self.added:
            if name not in frame.columns:
                frame = frame.with_columns(pl.lit(None, self.columns[name]).alias(name))
        # Columns that are not this table's stay out: its other columns are still compared.
        return frame.select([name for name in self.columns if name in frame.columns])


def _read_tables(document: Mapping[str, Any]) -> dict[str, TableSchema]:
    """Return the tables that the YAML file declares."""
    types: dict[str, pl.DataType] = {}
    for kind, columns in document["types"].items():
        types |= dict.fromkeys(columns.split(), getattr(pl, kind)())
    tables = {}
    for table, texts in document["tables"].items():
        parts = {part: tuple(names.split()) for part, names in texts.items()}
        columns = {name: types[name] for name in parts.pop("columns")}
        tables[table] = TableSchema(table, columns, **parts)
    return tables


TABLES: Mapping[str, TableSchema] = _read_tables(read_beside(__file__))
ITEMS, REQUESTS, RESPONSES = TABLES["items"], TABLES["requests"], TABLES["responses"]
VERDICTS, JUDGEMENTS, EVIDENCE = TABLES["verdicts"], TABLES["judgements"], TABLES["evidence"]
SCORES, SUMMARY = TABLES["scores"], TABLES["summary"]
