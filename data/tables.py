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
        if lacks := [name for name in self.added if name not in frame.columns]:
            order = [name for name in expected if name in {*frame.columns, *lacks}]
            frame = frame.with_columns(pl.lit(None, expected[name]).alias(name) for name in lacks).select(order)
        found = dict(frame.schema)
        here = f"table {self.name}{where and f' in {where}'}"
        if found != expected:
            wrong = [
                f"{name}: {found.get(name, 'missing')} instead of {expected.get(name, 'nothing')}"
                for name in {**expected, **found}
                if found.get(name) != expected.get(name)
            ]
            raise InputError(f"{here}: {'; '.join(wrong)}.")
        if self.key and frame.select(pl.struct(self.key).is_duplicated().any()).item():
            raise InputError(f"{here}: duplicate rows by {', '.join(self.key)}.")
        return frame


def _declared(told: Mapping[str, Any]) -> dict[str, TableSchema]:
    """Return the tables that the YAML file declares."""
    types = {name: getattr(pl, kind)() for kind, names in told["types"].items() for name in names.split()}
    found = {}
    for table, parts in told["tables"].items():
        listed = {part: tuple(names.split()) for part, names in parts.items()}
        columns = {name: types[name] for name in listed.pop("columns")}
        found[table] = TableSchema(table, columns, **listed)
    return found


TABLES: Mapping[str, TableSchema] = _declared(read_beside(__file__))
ITEMS, REQUESTS, RESPONSES = TABLES["items"], TABLES["requests"], TABLES["responses"]
VERDICTS, JUDGEMENTS, EVIDENCE = TABLES["verdicts"], TABLES["judgements"], TABLES["evidence"]
SCORES, SUMMARY = TABLES["scores"], TABLES["summary"]
