"""Judges' passports in the store: a JSON document for each judge, step and language, under its identity."""

import json
from collections.abc import Mapping
from typing import Any

from tasks.store.tables import Store


def keep(store: Store, key: str, document: Mapping[str, Any]) -> None:
    """Write a passport; an earlier one of the same judge gives way.

    Raises:
        InputError: the store cannot be written.
    """
    store.put_document(f"passports/{key}.json", json.dumps(document, ensure_ascii=False, indent=1).encode())


def find(store: Store, key: str) -> dict[str, Any] | None:
    """Return a passport; None where there is none, or it cannot be read."""
    content = store.document(f"passports/{key}.json")
    try:
        found = json.loads(content) if content else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
