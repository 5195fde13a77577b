"""Read a configuration: YAML, `--set` overrides, and seed 001's form."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, ValidationError

from basic_control.config.addresses import mask_secrets
from basic_control.config.assignments import SECRET, format_assignment
from basic_control.config.declared import (
    DeclarationError,
    Resolved,
    Steps,
    lay_out,
    load_declarations,
    merge_mappings,
    replacement_of,
    settle_options,
)
from basic_control.config.elsewhere import explain_level
from basic_control.config.prices import KEYS as PRICES
from basic_control.config.settings import Settings, StoreSettings
from basic_control.data.errors import InputError, propose_name
from basic_control.data.loading import responses_of
from basic_control.data.suites import TABLE, Suite
from basic_control.data.yaml_depth import check_depth

SHIPPED = Path(__file__).parent
DEFAULT, DEFAULT_NAME = SHIPPED / "default.yaml", "config/default.yaml"
LARGEST = 1_000_000
"""Bytes: a larger configuration file is a mistake (probably a data file)."""
INDEX = re.compile(r"[0-9]{1,6}")
SHOWN = 5
"""Errors shown at once."""
SEED_KEYS = ("models_to_test", "tests_to_run", "runs_per_test")
SEED_PATHS = {"tests_to_run": "families", "runs_per_test": "n_items"}
"""Keys of the seed's form, and their names in the suite's section."""
SAID = {
    "tuple_type": "expected a list",
    "dict_type": "expected `key: value` pairs",
    "model_type": "expected `key: value` pairs",
}
"""YAML terms for pydantic's messages in Python terms."""
_LABEL = ("fresh",)
_BASE = 60
T = TypeVar("T")


def _list_lines(node: yaml.Node | None, path: Steps = ()) -> Iterator[tuple[Steps, int]]:
    """Yield (path, line) of every key and list entry below a YAML node; lines count from 1."""
    if isinstance(node, yaml.MappingNode):
        first_lines: dict[str, int] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            # YAML forbids duplicates, but PyYAML silently takes the last.
            if name in first_lines:
                dotted = ".".join(map(str, (*path, name)))
                problem = f"the key {dotted!r} occurs twice (first on line {first_lines[name]})"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            first_lines[name] = line
            yield (*path, name), line
            yield from _list_lines(value, (*path, name))
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*path, index), value.start_mark.line + 1
            yield from _list_lines(value, (*path, index))


def _load_yaml(text: str, read: Callable[..., Any] = yaml.load) -> Any:
    check_depth(text)
    try:
        return read(text, yaml.CSafeLoader)
    except yaml.YAMLError:  # the slower parser says better what is wrong, and where
        return read(text, yaml.SafeLoader)


def _parse_yaml(text: str, origin: str) -> tuple[dict[str, Any], dict[Steps, int]]:
    """Return a YAML mapping and the line of each of its paths."""
    try:
        # Most files have no such signs, and to read the events of one takes as long as to read it.
        may_have_aliases = "&" in text and "*" in text
        if may_have_aliases and any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            raise InputError(f"{origin}: found YAML anchors and aliases; write the values out.")
        raw = _load_yaml(text)
        lines = dict(_list_lines(_load_yaml(text, yaml.compose)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        location = f"{origin}, line {mark.line + 1}" if mark else origin
        problem = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise InputError(f"{location}: not valid YAML: {problem}.{_advise_template(text, error)}") from error
    if not isinstance(raw, dict):
        content = type(raw).__name__ if raw else "nothing"
        raise InputError(f"{origin}: expected `key: value` lines, found {content}.")
    return raw, lines


def _advise_template(text: str, error: Exception) -> str:
    """Return a hint to quote a template if YAML failed on a line with one; else ''."""
    lines = text.splitlines()
    for name in ("problem_mark", "context_mark"):
        mark = getattr(error, name, None)
        if mark is None or mark.line >= len(lines):
            continue
        key, colon, value = lines[mark.line].strip().partition(":")
        if colon and "{{" in value and value.strip()[:1] not in {"'", '"'}:
            value = value.strip().replace("\\", "\\\\").replace('"', '\\"')
            return f' Quote a text with {{{{ … }}}}: {key}: "{value}"'
    return ""


def _convert_seed(raw: dict[str, Any], origin: str) -> dict[str, Any]:
    """Convert seed 001's form: its models are Ollama's, its prompts and report Russian, its level easy."""
    if "models" in raw:
        raise InputError(f"{origin}: found 'models' beside {SEED_KEYS[0]!r}; use one form or the other.")
    for key in SEED_KEYS[:2]:
        if key not in raw:
            raise InputError(f"{origin}: {key!r} is missing; expected it beside {next(iter(raw))!r}.")
        if not isinstance(raw[key], list) or {*map(type, raw[key])} != {str}:
            raise InputError(f"{origin}: {key}: expected a list of names, found {raw[key]!r}.")
    suite = _find_seed_suite()
    # What the seed's files did not say is as its program had it.
    below = {
        "suites": [suite],
        "report": {"language": "ru"},
        suite: {
            "languages": ["ru"],
            "levels": ["easy"],
            "families": raw["tests_to_run"],
            "n_items": raw.get("runs_per_test", 10),
        },
    }
    remaining = {key: value for key, value in raw.items() if key not in SEED_KEYS}
    models = [{"name": name, "provider": "ollama"} for name in raw["models_to_test"]]
    return {**merge_mappings(below, remaining), "models": models}


def _find_seed_suite() -> str:
    return next(name for name, declaration in load_declarations().items() if declaration.default)


def _convert_path(path: Steps) -> Steps:
    """Return the path in our form for a path of seed 001's form."""
    first, *inner = path
    if first == SEED_KEYS[0]:
        return ("models", *inner)
    if first in SEED_PATHS:
        return (_find_seed_suite(), SEED_PATHS[str(first)], *inner)
    return path


def _convert_paths(values: Mapping[Steps, T]) -> dict[Steps, T]:
    return {_convert_path(path): value for path, value in values.items()}


def _parse_path(dotted: str) -> Steps:
    return tuple(map(_parse_step, dotted.split(".")))


def _parse_step(text: str) -> str | int:
    return int(text) if INDEX.fullmatch(text) else text


def _split_path(dotted: str, raw: Mapping[str, Any]) -> Steps:
    """Split a path at its dots, but for those in the name of a suite, such as `v3.1`."""
    for _, suite in _list_suites(raw):
        name = suite.get("name")
        if isinstance(name, str) and "." in name and dotted.startswith(f"{name}."):
            return (name, *_parse_path(dotted.removeprefix(f"{name}.")))
    return _parse_path(dotted)


def _list_suites(raw: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """Return the declarations among the entries of `suites`, each with its index."""
    entries = raw.get("suites")
    if not isinstance(entries, list):
        return []
    return [(index, entry) for index, entry in enumerate(entries) if isinstance(entry, Mapping)]


def _read_value(path: Steps, text: str, written: str) -> Any:
    """Return an assignment's value, which is YAML, or a label as it stands."""
    try:
        value = _load_yaml(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a ValueError: a nonexistent date
        raise InputError(f"{written}: the value is not valid YAML; quote it.") from error
    # The release 1.20 is not 1.2, and a build's number is no number.
    if path == _LABEL and not isinstance(value, str):
        return text.strip()
    return value


def _expand(path: Steps, value: Any) -> Any:
    """Return what stands at a section's path as the mapping whose keys an assignment below it sets.

    A section may have a short form, as `budget: 5` is of `budget: {usd: 5}`.
    """
    if value is None:
        return {}
    field = Settings.model_fields.get(str(path[0]))
    is_scalar = not isinstance(value, dict | list)
    if field is None or len(path) > 1 or not is_scalar:
        return value
    for model in (field.annotation, *get_args(field.annotation)):
        if isinstance(model, type) and issubclass(model, BaseModel):
            try:
                return model.model_validate(value).model_dump(exclude_unset=True)
            except ValidationError:
                return value  # which the assignment's own message names
    return value


def _assign(raw: dict[str, Any], assignment: str) -> Steps:
    """Apply one `path.to.key=value`, with the value read as YAML, and return the path."""
    dotted, equals, text = assignment.partition("=")
    if not equals or not dotted.strip():
        raise InputError(
            f"--set {mask_secrets(assignment)}: expected path.to.key=value, for example --set cot.n_samples=10."
        )
    written = format_assignment(assignment)
    steps = _split_path(dotted.strip(), raw)
    value = _read_value(steps, text, written)
    parent: Any = raw
    for depth, step in enumerate(steps):
        is_last = depth == len(steps) - 1
        above = ".".join(map(str, steps[:depth]))
        # What is on the way to the key: an entry of a list, which must be there, or a key, which need not.
        if isinstance(parent, list):
            key: Any = step
            if not isinstance(step, int) or step >= len(parent):
                raise InputError(
                    f"{written}: {above} is a list of {len(parent)}; "
                    f"expected an index from 0 to {len(parent) - 1}, found {step!r}."
                )
        elif isinstance(parent, dict):
            key = str(step)
            if not is_last:
                parent[key] = _expand(steps[: depth + 1], parent.get(key))
        else:
            raise InputError(f"{written}: {above} has no keys below it.")
        if is_last:
            parent[key] = value
        if depth == 1 and isinstance(parent, dict):
            parent[key] = parent.pop(key)  # of two keys of a suite for one option, the one assigned last counts
        parent = parent[key]
    return steps


def _list_allowed(error: Mapping[str, Any], path: Steps) -> Sequence[str]:
    """Return the keys allowed in place of an unknown one, from the error or from the settings."""
    allowed = error.get("allowed") or error.get("ctx", {}).get("allowed")
    if allowed:
        return tuple(allowed)
    model: Any = Settings
    for step in path[:-1]:
        if isinstance(step, str):
            field = getattr(model, "model_fields", {}).get(step)
            model = field and field.annotation
            while not hasattr(model, "model_fields") and get_args(model):
                model = get_args(model)[0]
    return list(getattr(model, "model_fields", ()))


def _locate(path: Steps, origin: str, lines: Mapping[Steps, int], set_paths: Mapping[Steps, str]) -> str:
    """Return where a path of the configuration was written: in a `--set`, on a line, or somewhere in the file."""
    above = [path[:length] for length in range(len(path), 0, -1)]
    below = [steps for steps in set_paths if path and steps[: len(path)] == path]
    # The nearest to the path itself, and of the paths below it the one assigned last.
    for steps in (*above, *reversed(below)):
        if steps in set_paths:
            return format_assignment(set_paths[steps])
    for steps in above:
        if steps in lines:
            return f"{origin}, line {lines[steps]}"
    return origin


def _explain_error(error: Mapping[str, Any], where: Callable[[Steps], str]) -> str:
    path: Steps = tuple(error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    # The message of a whole-model check begins with the path concerned.
    location = where(path or _parse_path(re.split(r"[:\s]", message, maxsplit=1)[0]))
    dotted = ".".join(map(str, path))
    if error["type"] in {"unit", "unknown"} and isinstance(path[-1], int):
        dotted = ".".join(map(str, path[:-1]))
    if error["type"] == "missing":
        return f"{location}: {dotted!r} is missing."
    if error["type"] == "extra_forbidden":
        replacement = replacement_of(path)
        if replacement:
            return f"{location}: the key {dotted[:200]!r} was removed; {replacement}."
        allowed = _list_allowed(error, path)
        # A suite that ships is a key of the whole, too.
        names = allowed if len(path) > 1 else [*allowed, *load_declarations()]
        hint = explain_level(str(path[-1])) or propose_name(str(path[-1]), names)
        return f"{location}: unknown key {dotted[:200]!r}; expected one of {', '.join(allowed)}.{hint}"
    # Pydantic's sentence, the value unless it is long or secret, and how to write it.
    message = SAID.get(error["type"], message[:1].lower() + message[1:]).replace("tuple should", "list should")
    value = error.get("input")
    is_hidden = isinstance(value, dict | list | tuple | BaseModel) or SECRET.search(dotted)
    if "input" not in error or is_hidden:
        message = message.removesuffix(".")
    else:
        message += f", found {value!r}"[:500]
        if error["type"] == "string_type":
            message += _advise_quoting(value)
    if dotted:
        message = f"{dotted}: {message}"
    sentence = f"{location}: {message}"
    return sentence if sentence.endswith("?") else f"{sentence}."


def _advise_quoting(value: object) -> str:
    """Return how to write what YAML does not read as a text; '' for values that no quotation marks would mend."""
    if isinstance(value, bool):
        word = "yes" if value else "no"
        return f"; YAML reads yes, no, on and off as {value}: quote it: '{word}'"
    if isinstance(value, dt.date):
        return f"; YAML reads it as a date: quote it: '{value.isoformat()}'"
    if isinstance(value, int) and value >= _BASE:
        # Colons separate digits of base 60: 12:30 is 750.
        return f"; quote it: '{value}', or '{value // _BASE}:{value % _BASE:02}' if that is what stands there"
    if isinstance(value, int | float):
        return f"; quote it: '{value}'"
    return ""


def _format_error(error: Mapping[str, Any], origins: Resolved, where: Callable[[Steps], str]) -> str:
    """Return an error's message and its place: in the configuration, or in a file that declares a suite."""
    path: Steps = tuple(error["loc"])
    declared = origins.source(path)
    if declared is None:
        return _explain_error({**error, "loc": origins.origin(path)}, where)
    lines = _parse_yaml(declared.text, declared.origin)[1]
    located = {**error, "loc": path[2:], "allowed": _list_allowed(error, path)}
    return _explain_error(located, lambda steps: _locate(steps, declared.origin, lines, {}))


def parse(
    raw: dict[str, Any], origin: str, lines: Mapping[Steps, int], sets: Sequence[str] = (), only: str = ""
) -> Settings:
    """Check a parsed configuration; `only` keeps that suite alone, even if it is not listed.

    Raises:
        InputError: it has a wrong key or value; the message names file, line, path and what is allowed.
    """
    set_paths: dict[Steps, str] = {}
    if not raw.keys().isdisjoint(SEED_KEYS):
        # An assignment to a key of the seed's form belongs to that form, any other to ours.
        seed_sets = [assignment for assignment in sets if re.split("[.=]", assignment, maxsplit=1)[0] in SEED_KEYS]
        sets = [assignment for assignment in sets if assignment not in seed_sets]
        seed_paths = {_assign(raw, assignment): assignment for assignment in seed_sets}
        raw = _convert_seed(raw, origin)
        set_paths, lines = _convert_paths(seed_paths), _convert_paths(lines)

    where = partial(_locate, origin=origin, lines=lines, set_paths=set_paths)
    set_paths |= {_assign(raw, assignment): assignment for assignment in sets}
    index: int | None = None
    if only:
        index = _find_entry(raw, only)
        entry = only if index is None else raw["suites"][index]
        raw = {**_keep_suite(raw, only), "suites": [entry]}
    origins = Resolved({})
    try:
        origins = lay_out(raw)
        _check_keys(origins.raw)
        settle_options(origins)
        settings = Settings.model_validate(origins.raw)
    except (ValidationError, DeclarationError) as error:
        errors: list[Any] = list(error.errors if isinstance(error, DeclarationError) else error.errors())
        if index is not None:
            origins.written.setdefault(("suites", 0), ("suites", index))
        messages = [_format_error(part, origins, where) for part in _drop_empty_lists(errors)]
        raise _join_messages(messages) from error
    if not settings.models:
        _check_no_models(settings, where, is_empty="models" in raw)
    _check_prices(settings, where)
    return settings


def _join_messages(messages: Sequence[str]) -> InputError:
    """Return an error of the first messages, without secrets."""
    shown_messages = [*map(mask_secrets, messages[:SHOWN])]
    if len(messages) > SHOWN:
        shown_messages.append(f"… and {len(messages) - SHOWN} more")
    return InputError("\n".join(shown_messages))


def _drop_empty_lists(errors: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return errors without those of lists that are too short because their entries are not valid."""
    paths = [tuple(error["loc"]) for error in errors]
    remaining = []
    for error, path in zip(errors, paths, strict=True):
        same_or_below = [steps for steps in paths if steps[: len(path)] == path]
        if error["type"] != "too_short" or len(same_or_below) == 1:
            remaining.append(error)
    return remaining


def _check_no_models(settings: Settings, where: Callable[[Steps], str], *, is_empty: bool) -> None:
    """Refuse a configuration without models in which a suite asks some."""
    for suite in settings.suites:
        if not responses_of(suite):
            problem = "models: expected at least 1, found []" if is_empty else "'models' is missing"
            # Replies in a file of rows may be there under another name.
            hint = ""
            if suite.loader == TABLE:
                hint = " If a column of its rows holds replies, name it: columns: {response: NAME}."
            raise InputError(f"{where(('models',))}: {problem}; suite {suite.name} asks a model.{hint}")


def _check_keys(raw: Mapping[str, Any]) -> None:
    """Refuse unknown top-level and section keys, before anything is imported for the others."""
    wrong: list[Steps] = [(key,) for key in raw if key not in Settings.model_fields]
    for name, field in Settings.model_fields.items():
        section, values = field.annotation, raw.get(name)
        if isinstance(section, type) and issubclass(section, BaseModel) and isinstance(values, Mapping):
            wrong += [(name, key) for key in values if key not in section.model_fields]
    errors = [{"loc": path, "type": "extra_forbidden", "msg": ""} for path in wrong]
    if errors:
        raise DeclarationError(*errors)


def _check_prices(settings: Settings, where: Callable[[Steps], str]) -> None:
    """Refuse half a price, whose costs would look complete. Not a rule of `Model`: recorded runs may have one."""
    for entry_path, entry in settings.entries():
        prices = [name for name in PRICES if getattr(entry, name) is not None]
        lacking = sorted({"price_in", "price_out"}.difference(prices))
        if prices and lacking:
            location = where((*_parse_path(entry_path), prices[0]))
            raise InputError(
                f"{location}: {entry_path}: found {prices[0]} without {lacking[0]}; give "
                "price_in and price_out (0 if nothing is charged), or neither."
            )


def _find_entry(raw: Mapping[str, Any], name: str) -> int | None:
    """Return the index of the entry of `suites` that declares the named suite; None if none does."""
    for index, suite in _list_suites(raw):
        if suite.get("name") == name:
            return index
    return None


def _keep_suite(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a configuration without the sections and weights of the other suites that it declares."""
    declared = {str(suite.get("name")) for _, suite in _list_suites(raw)}
    dropped = declared - {name, *load_declarations(), *Settings.model_fields}
    configuration = {key: value for key, value in raw.items() if key not in dropped}
    weights = raw.get("weights")
    if isinstance(weights, Mapping):
        configuration["weights"] = {key: value for key, value in weights.items() if key not in dropped}
    return configuration


def find_fallback(file: str | Path) -> Path | None:
    """Return the shipped file, for example `config/ollama.yaml`, if there is none of that name here."""
    path = Path(file)
    shipped = SHIPPED / path.name
    if path.parent != Path("config") or path.exists() or not shipped.is_file():
        return None
    return shipped


def read(file: str | Path | None = None, sets: Sequence[str] = (), only: str = "") -> Settings:
    """Read a configuration file (by default the shipped one) and apply `--set` assignments.

    A local file takes precedence over a shipped one of the same name.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value.
    """
    raw, origin, lines = _read_file(file)
    settings = parse(raw, origin, lines, sets, only)
    _check_data_paths(settings.suites, Path(origin))
    return settings


def _check_data_paths(suites: Iterable[Suite], file: Path) -> None:
    """Refuse rows that are not where the run starts, but beside the configuration.

    Raises:
        InputError: it says from where to run.
    """
    for suite in suites:
        data = suite.source.get("data")
        if not isinstance(data, str) or Path(data).exists():
            continue
        if (file.parent / data).is_file():
            raise InputError(
                f"{file}: suite {suite.name}: {data} is not here, and exists beside {file.name}. Paths are "
                f"relative to where the run starts: run from {file.parent}, or write {file.parent / data}."
            )


def is_shipped(file: str | Path) -> bool:
    """Return whether a configuration comes with the program; '' is the default one."""
    return not file or find_fallback(file) is not None or Path(file).resolve().parent == SHIPPED.resolve()


def read_raw(file: str | Path) -> dict[str, Any]:
    """Return what a configuration file holds, unchecked.

    Raises:
        InputError: the file cannot be read.
    """
    return _read_file(file)[0]


def list_suite_names(file: str | Path | None = None) -> list[str]:
    """Return the names of a file's suites, unchecked; of a file without any the default ones.

    Raises:
        InputError: the file cannot be read.
    """
    raw = _read_file(file)[0]
    entries = raw.get("suites")
    if not isinstance(entries, list):
        return [name for name, declaration in load_declarations().items() if declaration.default]
    names = []
    for entry in entries:
        name = entry
        if isinstance(entry, Mapping):
            name = entry.get("name")
        if isinstance(name, str):
            names.append(name)
    return names


def read_store(file: str = "", sets: Sequence[str] = ()) -> StoreSettings:
    """Read where a configuration keeps its runs and tables, for commands about finished runs.

    Nothing else in the file is checked; `--set` may only name keys of `store`.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value there; or another key is set.
    """
    raw: dict[str, Any] = {}
    origin, lines = DEFAULT_NAME, dict[Steps, int]()
    if file:
        raw, origin, lines = _read_file(file)
    for assignment in sets:
        if not assignment.startswith("store."):
            keys = ", ".join(f"store.{name}" for name in StoreSettings.model_fields)
            raise InputError(
                f"{format_assignment(assignment)}: this command reads finished runs; expected one of {keys}."
            )
    configuration = {"store": raw.get("store", {})}
    set_paths = {_assign(configuration, assignment): assignment for assignment in sets}
    try:
        return StoreSettings.model_validate(configuration["store"])
    except ValidationError as error:
        where = partial(_locate, origin=origin, lines=lines, set_paths=set_paths)
        errors = [{**part, "loc": ("store", *part["loc"])} for part in error.errors()]
        raise _join_messages([_explain_error(part, where) for part in errors]) from error


def _read_file(file: str | Path | None) -> tuple[dict[str, Any], str, dict[Steps, int]]:
    """Return the contents of a configuration file, its name in messages, and the lines of its keys."""
    path, origin = DEFAULT, DEFAULT_NAME
    if file:
        path = find_fallback(file) or Path(file)
        origin = str(path)
    try:
        with path.open("rb") as opened:  # a pipe or a device does not report its size beforehand
            content = opened.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise InputError(
                f"{origin}: expected a configuration of at most {LARGEST} bytes; this is a larger file."
            )
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{origin}: expected UTF-8 text; byte {error.start} is not.") from error
    except OSError as error:
        shipped = ", ".join(sorted(f"config/{shipped.name}" for shipped in SHIPPED.glob("*.yaml")))
        raise InputError(f"{origin}: cannot be read ({error.strerror}). Shipped are {shipped}.") from error
    raw, lines = _parse_yaml(text, origin)
    return raw, origin, lines
