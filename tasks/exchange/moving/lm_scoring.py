"""How a task of lm-evaluation-harness reads and compares replies: its filters and metrics as metrics of ours.

Source: lm-evaluation-harness' guide to tasks, its filters and its `exact_match`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from basic_control.metrics._patterns import compile_pattern
from basic_control.tasks.exchange.moving.conversions import Account
from basic_control.tasks.exchange.moving.foreign_files import PROGRAM_TAG
from basic_control.tasks.exchange.moving.variables import UntakenError, is_number, list_of, mapping_of, wrap

NO_PROGRAM = "a program, which is not run"
NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
PUNCTUATION = r"[!-/:-@\[-`{-~]"
"""The harness's punctuation, ASCII's: Washington, D.C. is Washington DC."""
DIGITS = "[0-9]"
WHOLE_REPLY = r"\A([\s\S]*)\Z"
_INVALID = "[invalid]"
_DEFAULT_PATTERN = r"#### (\-?[0-9\.\,]+)"
_OF_METRIC = {"metric", "aggregation", "higher_is_better", "hf_evaluate"}
_OF_MATCH = {"ignore_case", "ignore_punctuation", "ignore_numbers", "regexes_to_ignore"}
_OF_REGEX = {"function", "regex_pattern", "group_select", "fallback"}
_VOTES = ("majority_vote", "take_first_k")
_HINTS = {
    "multi_choice_regex": "no equal; the metric choice reads an option from a reply",
    "majority_vote": "no equal: each reply counts, there is no vote of several",
    "take_first_k": "no equal: each reply counts, there is no vote of several",
}
_METRIC_HINTS = dict.fromkeys(("bleu", "chrf", "ter", "f1", "rouge"), "no equal; see similarity, of words")


def _build_metric(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metric with these options of `regex`; without a pattern it compares the whole reply."""
    # `exact_match` ignores case together with how signs are written, which the harness does not.
    if {"pattern", "case_sensitive"}.isdisjoint(options):
        return {"exact_match": {"raw": True, **options}}
    return {"regex": {"pattern": WHOLE_REPLY, "group": 1, **options}}


def list_metrics(raw: Mapping[str, Any], account: Account) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the metrics of each filter, with its name; of no filter once, without a name."""
    filters = raw.get("filter_list")
    if isinstance(filters, Mapping):
        filters = [*filters.values()]
    entries = [entry for entry in list_of(filters) if isinstance(entry, dict)]
    shared = read_comparison(raw.get("metric_list"), account)
    n_taken = 0
    for entry in entries:
        name = NO_NAME.sub("-", str(entry.get("name", "filter"))).strip("-.")[:20]
        try:
            reading = read_filter(name, entry, raw.get("repeats", 1), account)
        except UntakenError as error:
            step, _, reason = str(error).partition(": ")
            account.add(f"filter {name}: {step}", "left out", reason)
            continue
        # A filter may have metrics of its own.
        comparison = shared
        if entry.get("metric_list"):
            comparison = read_comparison(entry["metric_list"], account)
        n_taken += 1
        account.add(f"filter {name}", "taken")
        yield (name if len(entries) > 1 else ""), _build_metric(comparison | reading)
    if n_taken:
        return
    if entries:
        account.add("filter_list", "changed", "none could be taken over; the whole reply is compared")
    yield "", _build_metric(shared)


def read_comparison(metrics: Any, account: Account) -> dict[str, Any]:
    """Return how exact_match of a list compares: what is ignored on both sides; other metrics are left out."""
    entries = [mapping_of(entry) for entry in list_of(metrics)]
    matches = []
    for entry in entries:
        name = str(entry.get("metric"))[:60]
        if name == "exact_match":
            matches.append(entry)
        elif name.startswith(PROGRAM_TAG):
            account.add(f"metric {name.removeprefix(PROGRAM_TAG)}", "left out", NO_PROGRAM)
        else:
            account.add(f"metric {name}", "left out", _METRIC_HINTS.get(name, "no equal"))
    if not matches:
        if entries:
            account.add("metric_list", "changed", "none could be taken over; exact_match stands in")
        return {}
    if len(matches) > 1:
        account.add("exact_match", "left out", "listed more than once: the last one counts, as there")
    return _read_match(matches[-1], account)


def _read_match(entry: Mapping[str, Any], account: Account) -> dict[str, Any]:
    """Return the comparison of an entry of exact_match."""
    comparison: dict[str, Any] = {}
    ignored: list[Any] = []
    patterns = entry.get("regexes_to_ignore")
    if patterns and _are_patterns(wrap(patterns)):
        ignored += wrap(patterns)
        account.add("exact_match.regexes_to_ignore", "taken")
    elif patterns:
        account.add("exact_match.regexes_to_ignore", "left out", "not regular expressions")
    # After the user's own patterns, as there.
    for key, pattern in (("ignore_punctuation", PUNCTUATION), ("ignore_numbers", DIGITS)):
        if entry.get(key):
            ignored.append(pattern)
            account.add(f"exact_match.{key}", "taken", f"as a pattern to ignore: {pattern}")
    if ignored:
        comparison["ignore"] = ignored
    if entry.get("ignore_case"):
        comparison["case_sensitive"] = False
        account.add("exact_match.ignore_case", "taken")
    account.add("exact_match", "taken")
    aggregation = str(entry.get("aggregation", "mean"))
    if aggregation != "mean":
        account.add(f"exact_match.aggregation: {aggregation[:40]}", "left out", "a suite's score is the mean")
    if entry.get("higher_is_better") is False:
        account.add("exact_match.higher_is_better", "left out", "a higher score is better")
    for key in sorted(map(str, entry.keys() - _OF_METRIC - _OF_MATCH)):
        account.add(f"exact_match.{key}", "left out", "no equal")
    return comparison


def _are_patterns(values: list[Any]) -> bool:
    """Return whether all values are regular expressions."""
    try:
        return all(isinstance(value, str) and compile_pattern(value) for value in values)
    except ValueError:
        return False


def read_filter(name: str, entry: Mapping[str, Any], repeats: Any, account: Account) -> dict[str, Any]:
    """Return what a filter reads from a reply: the whole, or a group of a pattern's match; in lower case.

    Raises:
        UntakenError: a step has no equal.
    """
    reading: dict[str, Any] = {}
    for step in map(mapping_of, list_of(entry.get("filter"))):
        function = str(step.get("function"))[:40]
        if function == "regex":
            if reading:
                raise UntakenError("regex: no equal after another step")
            reading |= _read_regex(name, step, account)
        elif function in ("lowercase", "uppercase"):
            reading["case_sensitive"] = False
            account.add(f"filter {name}: {function}", "changed", "case counts on neither side, the expected too")
        elif function in _VOTES and repeats not in (None, 0, 1):
            raise UntakenError(f"{function}: {_HINTS[function]}")
        elif function.startswith(PROGRAM_TAG) or function == "custom":
            raise UntakenError(f"{function.removeprefix(PROGRAM_TAG)}: {NO_PROGRAM}")
        # Of one reply the first is itself, and replies are read without white space around them.
        elif function not in ("take_first", "remove_whitespace", *_VOTES):
            raise UntakenError(f"{function}: {_HINTS.get(function, 'no equal')}")
    return reading


def _read_regex(name: str, step: Mapping[str, Any], account: Account) -> dict[str, Any]:
    """Return the pattern and the group of a step: of the first or the last match.

    Raises:
        UntakenError: it takes another match, or is no regular expression.
    """
    pattern, which = step.get("regex_pattern", _DEFAULT_PATTERN), step.get("group_select", 0)
    if which not in (0, -1):
        raise UntakenError(f"regex: no equal of group_select {which!s:.10}, only of the first or last match")
    try:
        n_groups = compile_pattern(str(pattern)).groups
    except ValueError as error:
        raise UntakenError("regex: not a regular expression") from error
    if not n_groups:
        pattern = f"({pattern})"
    # The metric reads the last match; one from the reply's beginning is the first.
    if which == 0:
        pattern = rf"\A[\s\S]*?(?:{pattern})"
    if step.get("fallback", _INVALID) != _INVALID:
        account.add(f"filter {name}: fallback", "left out", "a reply without a match counts as wrong")
    for key in sorted(map(str, step.keys() - _OF_REGEX)):
        account.add(f"filter {name}: {key}", "left out", "no equal")
    # Of several groups the harness takes the first that is not empty.
    return {"pattern": pattern, "group": "any" if n_groups > 1 else 1}


def read_generation(raw: Mapping[str, Any], account: Account) -> dict[str, Any]:
    """Return the request settings of a task as keys of a suite, with the harness's own defaults."""
    generation = {**mapping_of(raw.get("generation_kwargs"))}
    settings: dict[str, Any] = {"temperature": 0, "max_tokens": 256}
    extra: dict[str, Any] = {}
    ends = generation.pop("until", None)
    if ends is None:
        ends = raw.get("fewshot_delimiter", "\n\n")
        reason = f"the task names none; a reply ends at the delimiter of examples, {ends!r}, as there"
        account.add("generation_kwargs.until", "taken", reason)
    else:
        account.add("generation_kwargs.until", "taken", "as extra: stop")
    stops = [text for text in wrap(ends) if isinstance(text, str) and text]
    if stops:
        extra["stop"] = stops
    # Without do_sample the harness's models take the likeliest token each time.
    is_drawn = generation.pop("do_sample", None)
    if is_drawn is True and "temperature" not in generation:
        settings["temperature"] = 1
    for key, value in generation.items():
        if is_number(value) and key in _LIMITS:
            settings["max_tokens"] = value
        elif is_number(value) and key == "temperature":
            settings["temperature"] = value
        elif is_number(value) and key in _SAMPLING:
            extra[key] = value
        else:
            account.add(f"generation_kwargs.{str(key)[:40]}", "left out", "no equal")
            continue
        account.add(f"generation_kwargs.{key}", "taken")
    if is_drawn is False and settings["temperature"]:
        settings["temperature"] = 0
        account.add("generation_kwargs.temperature", "changed", "0, as do_sample is false")
    if not _LIMITS & generation.keys():
        account.add("generation_kwargs.max_gen_toks", "taken", "the task names none; 256 tokens, as there")
    return settings | ({"extra": extra} if extra else {})


_LIMITS = {"max_gen_toks", "max_new_tokens", "max_tokens"}
_SAMPLING = {"top_p", "top_k", "min_p", "seed", "presence_penalty", "frequency_penalty", "repetition_penalty"}
