"""A judge whose server holds it to the schema that was sent: what does not fit is cut off."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

# The part of a text that is asked about, as in <part-ab12>…</part-ab12>, else the whole text.
PART = re.compile(r"<(part|text)-\w+>\n(.*?)\n</\1-\w+>", re.DOTALL)
# A claim asked about, as in <claim-3-ab12>…</claim-3-ab12>.
CLAIM = re.compile(r"<claim-(\d+)-\w+>\n(.*?)\n</claim", re.DOTALL)
# The end of a sentence, or of a line.
SENTENCE = re.compile(r"(?<=[.。])\s*|\n+")

Split = Callable[[str], Sequence[str]]


def split_sentences(text: str) -> list[str]:
    """Return a claim for each sentence."""
    return [claim.strip() for claim in SENTENCE.split(text) if claim.strip()]


def enforce(schema: Mapping[str, Any], value: Any) -> Any:
    """Return what a server lets a judge write of a value."""
    if schema.get("type") == "array":
        entries = value[: schema.get("maxItems", len(value))]
        return [enforce(schema["items"], entry) for entry in entries]
    if schema.get("type") == "object":
        return {name: enforce(part, value[name]) for name, part in schema["properties"].items()}
    if "maxLength" in schema:
        return value[: schema["maxLength"]]
    return value


def judge(prompt: str, split: Split = split_sentences) -> dict[str, Any]:
    """Answer as a careful judge would: a claim for each sentence; whatever says `wrong` is contradicted."""
    if claims := CLAIM.findall(prompt):
        labels = {number: "CONTRADICTED" if "wrong" in text else "SUPPORTED" for number, text in claims}
        return {"verdicts": [{"id": n, "reason": "as it says", "verdict": label} for n, label in labels.items()]}
    passages = dict(PART.findall(prompt))
    return {"claims": [*split(passages.get("part", passages["text"]))]}


def answer(body: Mapping[str, Any], split: Split = split_sentences) -> str:
    """Answer a request to a chat server, within the schema that it sends."""
    form = body.get("response_format", {})
    schema = form.get("json_schema", {}).get("schema", {})
    return json.dumps(enforce(schema, judge(body["messages"][1]["content"], split)), ensure_ascii=False)
