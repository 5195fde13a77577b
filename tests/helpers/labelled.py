"""Small files in the forms of the sets that people labelled, in words of our own; and judges of them."""

import json
from pathlib import Path
from typing import Any

from basic_control.data.records import Item
from basic_control.metrics.judging import JudgeRequest
from tests.helpers.exam import perfect, say

BAKERY = ["The bakery on Mill Lane opens at six.", "It sells rye bread only."]
STATION = ["The station has two platforms.", "Trains to the coast leave from the second."]
WICE = {
    "wice_dev.jsonl": [
        ("d1", "supported", "The bakery opens at six.", STATION),
        ("d1", "supported", "The bakery opens at six.", BAKERY),
        ("d2", "partially_supported", "The bakery sells rye and wheat bread.", BAKERY),
    ],
    "wice_test.jsonl": [("t1", "not_supported", "The station has nine platforms.", STATION)],
}
BEGIN = {
    "begin_dev.tsv": [
        ("Fully attributable", '"Blue Door" is a cafe.', "Where to?", "Blue Door is a cafe."),
        ("Generic", "The lake is deep.", "Do you swim?", "I like that too!"),
    ],
    "begin_test.tsv": [("Not fully attributable", "The lake is deep.", "Do you swim?", "The lake is warm.")],
}
LLMBAR = ("natural", "manual", "neighbor", "gptinst", "gptout")
VOTES = [
    ("Все лампы горят.", "Часть ламп горит.", "entailment"),
    ("Все лампы горят.", "Часть ламп горит.", "not_entailment"),
    ("Все лампы горят.", "Часть ламп горит.", "entailment"),
    ("Часть ламп горит.", "Все лампы горят.", "not_entailment"),
    ("Кот спит; пёс ест.", 'Пёс ест "корм".', "entailment"),
    ("Кот спит; пёс ест.", 'Пёс ест "корм".', "not_entailment"),
]


def written(folder: Path) -> Path:
    """Write every set's files where fetched ones are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, claims in WICE.items():
        rows = (
            {
                "label": label,
                "claim": claim,
                "evidence": evidence,
                "meta": {"id": one, "chunk_idx": [], "oracle_idx": []},
            }
            for one, label, claim, evidence in claims
        )
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for name, turns in BEGIN.items():
        lines = ["model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label"]
        lines += [f"t5\twow\t{knows}\t{asked}\t{said}\t{label}" for label, knows, asked, said in turns]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for place, name in enumerate(LLMBAR):
        pair = {
            "input": f"Name {place + 2} trees.",
            "output_1": "Oak, elm.",
            "output_2": f"Stone {place}.",
            "label": 1,
        }
        if place % 2:
            pair |= {"output_1": pair["output_2"], "output_2": pair["output_1"], "label": 2}
        (folder / f"llmbar_{name}.json").write_text(json.dumps([pair], indent=2), encoding="utf-8")
    lines = ["INPUT:sent1;INPUT:sent2;OUTPUT:result;HINT:text;ASSIGNMENT:worker_id"]
    lines += [";".join(map(_cell, (*vote, "", f"w{place}"))) for place, vote in enumerate(VOTES)]
    (folder / "lidirus.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {";", '"'} & set(text) else text


def honest(item: Item, ask: JudgeRequest) -> str:
    """Say what people said, in the step's own verdicts; of several texts only one supports the claim."""
    truth: Any = item.facts["truth"]
    if item.facts["exam"] == "entails":
        fits = truth["1"] == "SUPPORTED" and STATION[0] not in ask.question.values["source"]
        return json.dumps({"verdicts": [{"id": "1", "reason": "", "verdict": "SUPPORTED" if fits else "NEUTRAL"}]})
    if item.facts["exam"] == "groundedness":
        return say("groundedness", "2" if truth == "2" else "1")
    return perfect(item, ask)


def gullible(item: Item, ask: JudgeRequest) -> str:
    """Call everything supported, grounded, and the first better."""
    del ask
    if item.facts["exam"] == "entails":
        return json.dumps({"verdicts": [{"id": "1", "reason": "", "verdict": "SUPPORTED"}]})
    return say(str(item.facts["exam"]), "2" if item.facts["exam"] == "groundedness" else "first")
