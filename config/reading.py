"""Read a configuration: YAML, `--set` overrides, and seed 001's form."""

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from basic_control.config.addresses import mask
from basic_control.config.declared import (
    DeclarationError,
    Resolved,
    Steps,
    known,
    lay_out,
    replacement_of,
    settle_options,
)
from basic_control.config.prices import KEYS as PRICES
from basic_control.config.settings import Settings, StoreSettings
from basic_control.data.errors import InputError, propose_name
from basic_control.data.loading import responses_of
from basic_control.data.yaml_depth import check_depth

SHIPPED = Path(__file__).parent
DEFAULT = SHIPPED / "default.yaml"
LARGEST = 1_000_000
"""Bytes: a larger configuration file is a mistake (probably a data file)."""
INDEX = re.compile(r"[0-9]{1,6}")
SHOWN = 5
"""Errors shown at once."""
SEED_KEYS = ("models_to_test", "tests_to_run", "runs_per_test")
SEED_PATHS = {"tests_to_run": "families", "runs_per_test": "n_items"}
"""Keys of the seed's form, and their names in the suite's section."""
SECRET = re.compile(r"api_?key|password|secret", re.IGNORECASE)
"""A key whose value messages do not repeat: somebody may have written the secret itself there."""
SAID = {
    "tuple_type": "expected a list",
    "dict_type": "expected `key: value` pairs",
    "model_type": "expected `key: value` pairs",
}
"""YAML terms for pydantic's messages in Python terms."""
_BASE = 60


def _lines(node: yaml.Node | None, path: Steps = ()) -> Iterator[tuple[Steps, int]]:
    """Yield (path, line) of every key and list entry below a YAML node; lines count from 1."""
    if isinstance(node, yaml.MappingNode):
        seen: dict[str | int, int] = {}
        for key, value in node.value:
            here, line = (*path, str(key.value)), key.start_mark.line + 1
            # YAML forbids duplicates, but PyYAML silently takes the last.
            if here[-1] in seen:
                problem = f"the key {'.'.join(map(str, here))!r} occurs twice (first on line {seen[here[-1]]})"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen[here[-1]] = line
            yield here, line
            yield from _lines(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*path, index)
            yield here, value.start_mark.line + 1
            yield from _lines(value, here)


def _load(text: str, read: Callable[..., Any] = yaml.load) -> Any:
    check_depth(text)
    try:
        return read(text, yaml.CSafeLoader)
    except yaml.YAMLError:  # the slower parser says better what is wrong, and where
        return read(text, yaml.SafeLoader)


def _parse(text: str, origin: str) -> tuple[dict[str, Any], dict[Steps, int]]:
    """Return a YAML mapping and the line of each of its paths."""
    try:
        if "&" in text and "*" in text and any(isinstance(e, yaml.AliasEvent) for e in yaml.parse(text)):
            raise InputError(f"{origin}: found YAML anchors and aliases; write the values out.")
        raw = _load(text)
        lines = dict(_lines(_load(text, yaml.compose)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{origin}, line {mark.line + 1}" if mark else origin
        what = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise InputError(f"{where}: not valid YAML: {what}.{_unquoted(text, error)}") from error
    if not isinstance(raw, dict):
        raise InputError(
            f"{origin}: expected `key: value` lines, found {type(raw).__name__ if raw else 'nothing'}."
        )
    return raw, lines


def _unquoted(text: str, error: Exception) -> str:
    """Return a hint to quote a template if YAML failed on a line with one; else ''."""
    marks = (getattr(error, name, None) for name in ("problem_mark", "context_mark"))
    lines = text.splitlines()
    for number in dict.fromkeys(mark.line for mark in marks if mark):
        key, colon, value = (lines[number] if number < len(lines) else "").strip().partition(":")
        if colon and "{{" in value and value.strip()[:1] not in {"'", '"'}:
            value = value.strip().replace("\\", "\\\\").replace('"', '\\"')
            return f' Quote a text with {{{{ … }}}}: {key}: "{value}"'
    return ""


def _from_seed(raw: dict[str, Any], origin: str) -> dict[str, Any]:
    """Convert seed 001's form: its models are Ollama's, its prompts and report Russian, its level easy."""
    rest = {key: value for key, value in raw.items() if key not in SEED_KEYS}
    if "models" in rest:
        raise InputError(f"{origin}: found 'models' beside {SEED_KEYS[0]!r}; use one form or the other.")
    if missing := [key for key in SEED_KEYS[:2] if key not in raw]:
        raise InputError(f"{origin}: {missing[0]!r} is missing; expected it beside {next(iter(raw))!r}.")
    for key in SEED_KEYS[:2]:
        value = raw[key]
        if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
            raise InputError(f"{origin}: {key}: expected a list of names, found {value!r}.")
    suite = _seed_suite()
    section = rest.get(suite, {})
    if not isinstance(section, dict):
        raise InputError(f"{origin}: {suite}: expected `key: value` pairs, found {section!r}.")
    report = rest.get("report", {})
    return {
        "suites": [suite],
        **rest,
        "report": {"language": "ru", **report} if isinstance(report, dict) else report,
        "models": [{"name": name, "provider": "ollama"} for name in raw["models_to_test"]],
        suite: {
            "languages": ["ru"],
            "levels": ["easy"],
            "families": raw["tests_to_run"],
            "n_items": raw.get("runs_per_test", 10),
            **section,
        },
    }


def _seed_suite() -> str:
    return next(name for name, one in known().items() if one.default)


def _seeded(path: Steps) -> Steps:
    """Return the path in our form for a path of seed 001's form."""
    first, *rest = path
    if first == SEED_KEYS[0]:
        return ("models", *rest)
    return (_seed_suite(), SEED_PATHS[str(first)], *rest) if first in SEED_PATHS else path


def _steps(dotted: str) -> Steps:
    return tuple(int(step) if INDEX.fullmatch(step) else step for step in dotted.split("."))


def _split_path(dotted: str, raw: Mapping[str, Any]) -> Steps:
    """Split a path at its dots, but for those in the name of a suite, such as `v3.1`."""
    suites = raw.get("suites")
    names = [suite.get("name") for suite in suites if isinstance(suite, dict)] if isinstance(suites, list) else []
    dotted_names = [name for name in names if isinstance(name, str) and "." in name]
    for name in dotted_names:
        if dotted.startswith(f"{name}."):
            return (name, *_steps(dotted.removeprefix(f"{name}.")))
    return _steps(dotted)


def _shown(assignment: str) -> str:
    """Return an assignment for a message, without secrets and shortened."""
    dotted, _, value = assignment.partition("=")
    return f"{dotted}=…" if SECRET.search(dotted) else mask(f"{dotted}={value}")[:500]


def _assign(raw: dict[str, Any], assignment: str) -> Steps:
    """Apply one `path.to.key=value`, with the value read as YAML, and return the path."""
    dotted, equals, text = assignment.partition("=")
    if not equals or not dotted.strip():
        raise InputError(
            f"--set {mask(assignment)}: expected path.to.key=value, for example --set cot.n_samples=10."
        )
    assignment = _shown(assignment)
    try:
        value = _load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # a ValueError: a nonexistent date
        raise InputError(f"--set {assignment}: the value is not valid YAML; quote it.") from error
    steps = _split_path(dotted.strip(), raw)
    here: Any = raw
    for depth, step in enumerate(steps):
        last = depth == len(steps) - 1
        if isinstance(here, list):
            if not isinstance(step, int) or step >= len(here):
                raise InputError(
                    f"--set {assignment}: {'.'.join(map(str, steps[:depth]))} is a list of {len(here)}; "
                    f"expected an index from 0 to {len(here) - 1}, found {step!r}."
                )
        elif isinstance(here, dict):
            if not last and here.get(str(step)) is None:
                here[str(step)] = {}
        else:
            raise InputError(f"--set {assignment}: {'.'.join(map(str, steps[:depth]))} has no keys below it.")
        key = step if isinstance(here, list) else str(step)
        if last:
            here[key] = value
        if depth == 1 and isinstance(here, dict):
            here[key] = here.pop(key)  # of two keys of a suite for one option, the one assigned last counts
        here = here[key]
    return steps


def _expected(error: Mapping[str, Any], path: Steps) -> Sequence[str]:
    """Return the keys allowed in place of an unknown one, from the error or from the settings."""
    if told := error.get("allowed") or error.get("ctx", {}).get("allowed"):
        return tuple(told)
    model: Any = Settings
    for step in path[:-1]:
        if isinstance(step, str):
            field = getattr(model, "model_fields", {}).get(step)
            model = field and field.annotation
            while not hasattr(model, "model_fields") and get_args(model):
                model = get_args(model)[0]
    return list(getattr(model, "model_fields", ()))


def _where(path: Steps, origin: str, lines: Mapping[Steps, int], set_paths: Mapping[Steps, str]) -> str:
    """Return where a path of the configuration was written: in a `--set`, on a line, or somewhere in the file."""
    above = [path[:length] for length in range(len(path), 0, -1)]
    below = [steps for steps in set_paths if path and steps[: len(path)] == path]
    if assigned := [steps for steps in (*above, *reversed(below)) if steps in set_paths]:
        return f"--set {_shown(set_paths[assigned[0]])}"
    return next((f"{origin}, line {lines[steps]}" for steps in above if steps in lines), origin)


def _explain(error: Mapping[str, Any], where: Callable[[Steps], str]) -> str:
    path: Steps = tuple(error["loc"])
    message = str(error["msg"]).removeprefix("Value error, ")
    # The message of a whole-model check begins with the path concerned.
    here = where(path or _steps(re.split(r"[:\s]", message, maxsplit=1)[0]))
    shown = path[:-1] if error["type"] in {"unit", "unknown"} and isinstance(path[-1], int) else path
    dotted = ".".join(map(str, shown))
    if error["type"] == "extra_forbidden" and (instead := replacement_of(path)):
        return f"{here}: the key {dotted[:200]!r} was removed; {instead}."
    if error["type"] == "extra_forbidden":
        allowed = _expected(error, path)
        hint = propose_name(str(path[-1]), allowed)
        return f"{here}: unknown key {dotted[:200]!r}; expected one of {', '.join(allowed)}.{hint}"
    if error["type"] == "missing":
        return f"{here}: {dotted!r} is missing."
    message = SAID.get(error["type"], message[:1].lower() + message[1:]).replace("tuple should", "list should")
    found = error.get("input")
    hidden = "input" not in error or isinstance(found, dict | list | tuple | BaseModel) or SECRET.search(dotted)
    said = "" if hidden else f", found {found!r}"[:500]
    if not hidden and error["type"] == "string_type":
        said += _advise_quoting(found)
    told = f"{here}: {dotted + ': ' if dotted else ''}{message.removesuffix('.') if not said else message}{said}"
    return told if told.endswith("?") else f"{told}."


def _advise_quoting(value: object) -> str:
    """Return how to write what YAML does not read as a text; '' for values that no quotation marks would mend."""
    if isinstance(value, bool):
        return f"; YAML reads yes, no, on and off as {value}: quote it: '{'yes' if value else 'no'}'"
    if isinstance(value, dt.date):
        return f"; YAML reads it as a date: quote it: '{value.isoformat()}'"
    if isinstance(value, int) and value >= _BASE:
        # Colons separate digits of base 60: 12:30 is 750.
        return f"; quote it: '{value}', or '{value // _BASE}:{value % _BASE:02}' if that is what stands there"
    return f"; quote it: '{value}'" if isinstance(value, int | float) else ""


def _error_message(error: Mapping[str, Any], origins: Resolved, where: Callable[[Steps], str]) -> str:
    """Return an error's message and its place: in the configuration, or in a file that declares a suite."""
    path: Steps = tuple(error["loc"])
    declared = origins.source(path)
    if declared is None:
        return _explain({**error, "loc": origins.origin(path)}, where)
    lines = _parse(declared.text, declared.origin)[1]
    here = {**error, "loc": path[2:], "allowed": _expected(error, path)}
    return _explain(here, lambda steps: _where(steps, declared.origin, lines, {}))


def parse(
    raw: dict[str, Any], origin: str, lines: Mapping[Steps, int], sets: Sequence[str] = (), only: str = ""
) -> Settings:
    """Check a parsed configuration; `only` keeps that suite alone, even if it is not listed.

    Raises:
        InputError: it has a wrong key or value; the message names file, line, path and what is allowed.
    """
    set_paths: dict[Steps, str] = {}
    if any(key in raw for key in SEED_KEYS):
        own = [assignment for assignment in sets if re.split("[.=]", assignment, maxsplit=1)[0] in SEED_KEYS]
        sets = [assignment for assignment in sets if assignment not in own]
        written = {_assign(raw, assignment): assignment for assignment in own}
        raw = _from_seed(raw, origin)
        set_paths = {_seeded(path): assignment for path, assignment in written.items()}
        lines = {_seeded(path): line for path, line in lines.items()}

    def where(path: Steps) -> str:
        return _where(path, origin, lines, set_paths)

    set_paths |= {_assign(raw, assignment): assignment for assignment in sets}
    index = _place(raw, only) if only else None
    if only:
        raw = {**_without_others(raw, only), "suites": [only if index is None else raw["suites"][index]]}
    origins = Resolved({})
    try:
        origins = lay_out(raw)
        _check_keys(origins.raw)
        settle_options(origins)
        settings = Settings.model_validate(origins.raw)
    except (ValidationError, DeclarationError) as error:
        errors: list[Any] = list(error.errors if isinstance(error, DeclarationError) else error.errors())
        # A list without valid entries counts as empty; the entries' own errors are enough.
        errors = [e for e in errors if e["type"] != "too_short"
                  or not any(o["loc"][: len(e["loc"])] == e["loc"] for o in errors if o is not e)]  # fmt: skip
        if index is not None:
            origins.written.setdefault(("suites", 0), ("suites", index))
        said = [mask(_error_message(e, origins, where)) for e in errors]
        more = [f"… and {len(said) - SHOWN} more"] if len(said) > SHOWN else []
        raise InputError("\n".join([*said[:SHOWN], *more])) from error
    if not settings.models and (asking := next((s.name for s in settings.suites if not responses_of(s)), "")):
        lacking = "models: expected at least 1, found []" if "models" in raw else "'models' is missing"
        raise InputError(f"{where(('models',))}: {lacking}; suite {asking} asks a model.")
    _check_prices(settings, where)
    return settings


def _check_keys(raw: Mapping[str, Any]) -> None:
    """Refuse unknown top-level and section keys, before anything is imported for the others."""
    wrong: list[Steps] = [(key,) for key in raw if key not in Settings.model_fields]
    for name, field in Settings.model_fields.items():
        section, given = field.annotation, raw.get(name)
        if isinstance(section, type) and issubclass(section, BaseModel) and isinstance(given, Mapping):
            wrong += [(name, key) for key in given if key not in section.model_fields]
    if wrong:
        raise DeclarationError(*({"loc": path, "type": "extra_forbidden", "msg": ""} for path in wrong))


def _check_prices(settings: Settings, where: Callable[[Steps], str]) -> None:
    """Refuse half a price, whose costs would look complete. Not a rule of `Model`: recorded runs may have one."""
    for place, one in settings.entries():
        given = [name for name in PRICES if getattr(one, name) is not None]
        lacking = [name for name in ("price_in", "price_out") if name not in given]
        if given and lacking:
            raise InputError(
                f"{where((*_steps(place), given[0]))}: {place}: found {given[0]} without {lacking[0]}; give "
                "price_in and price_out (0 if nothing is charged), or neither."
            )


def _place(raw: Mapping[str, Any], name: str) -> int | None:
    """Return the index of the entry of `suites` that declares the named suite; None if none does."""
    listed = raw.get("suites")
    entries = enumerate(listed if isinstance(listed, list) else ())
    return next((n for n, one in entries if isinstance(one, Mapping) and one.get("name") == name), None)


def _without_others(raw: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a configuration without the sections and weights of the other suites that it declares."""
    listed = raw.get("suites")
    entries = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    others = {str(one.get("name")) for one in entries} - {name, *known(), *Settings.model_fields}
    kept = {key: value for key, value in raw.items() if key not in others}
    if isinstance(weights := raw.get("weights"), Mapping):
        kept["weights"] = {key: value for key, value in weights.items() if key not in others}
    return kept


def fallback(file: str | Path) -> Path | None:
    """Return the shipped file, for example `config/ollama.yaml`, if there is none of that name here."""
    name = Path(file)
    own = SHIPPED / name.name
    return own if name.parent == Path("config") and own.is_file() and not name.exists() else None


def read(file: str | Path | None = None, sets: Sequence[str] = (), only: str = "") -> Settings:
    """Read a configuration file (by default the shipped one) and apply `--set` assignments.

    A local file takes precedence over a shipped one of the same name.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value.
    """
    raw, origin, lines = _written(file)
    return parse(raw, origin, lines, sets, only)


def read_store(file: str = "", sets: Sequence[str] = ()) -> StoreSettings:
    """Read where a configuration keeps its runs and tables, for commands about finished runs.

    Nothing else in the file is checked; `--set` may only name keys of `store`.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value there; or another key is set.
    """
    raw, origin, lines = _written(file) if file else ({}, "config/default.yaml", {})
    for one in sets:
        if not one.startswith("store."):
            keys = ", ".join(f"store.{name}" for name in StoreSettings.model_fields)
            raise InputError(f"--set {_shown(one)}: this command reads finished runs; expected one of {keys}.")
    kept = {"store": raw.get("store", {})}
    set_paths = {_assign(kept, one): one for one in sets}
    try:
        return StoreSettings.model_validate(kept["store"])
    except ValidationError as error:
        found = [{**one, "loc": ("store", *one["loc"])} for one in error.errors()]
        said = [mask(_explain(one, lambda path: _where(path, origin, lines, set_paths))) for one in found]
        raise InputError("\n".join(said)) from error


def _written(file: str | Path | None) -> tuple[dict[str, Any], str, dict[Steps, int]]:
    """Return the contents of a configuration file, its name in messages, and the lines of its keys."""
    path = (fallback(file) or Path(file)) if file else DEFAULT
    origin = str(path) if file else "config/default.yaml"
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
        shipped = ", ".join(sorted(f"config/{p.name}" for p in SHIPPED.glob("*.yaml")))
        raise InputError(f"{origin}: cannot be read ({error.strerror}). Shipped are {shipped}.") from error
    raw, lines = _parse(text, origin)
    return raw, origin, lines
