"""Read a configuration: YAML, `--set` overrides, and the form that seed 001 used."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError

from config.settings import Settings
from data.errors import InputError

SHIPPED = Path(__file__).parent
DEFAULT = SHIPPED / "default.yaml"
LARGEST = 1_000_000
"""Bytes: a larger configuration file is a mistake (a data file, most likely)."""

PASSWORD = re.compile(r"(://[^/@\s:]{0,500}:)[^@\s]{1,500}@")

SHOWN = 5
"""Errors shown at once: enough to start with."""

SEED_KEYS = ("models_to_test", "tests_to_run", "runs_per_test")

Path_ = tuple[str | int, ...]


def _lines(node: yaml.Node | None, path: Path_ = ()) -> Iterator[tuple[Path_, int]]:
    """Yield (path, line) of every key and list entry below a YAML node; lines count from 1."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            yield here, key.start_mark.line + 1
            yield from _lines(value, here)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            here = (*path, index)
            yield here, value.start_mark.line + 1
            yield from _lines(value, here)


def _parse(text: str, origin: str) -> tuple[dict[str, Any], dict[Path_, int]]:
    """Return a YAML mapping and the line of each of its paths."""
    try:
        raw = yaml.safe_load(text)
        if isinstance(raw, dict) and "&" in text and "*" in text:
            raise InputError(f"{origin}: found YAML anchors and aliases; write the values out.")
        lines = dict(_lines(yaml.compose(text, Loader=yaml.SafeLoader)))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{origin}, line {mark.line + 1}" if mark else origin
        what = getattr(error, "problem", None) or str(error) or type(error).__name__
        raise InputError(f"{where}: not valid YAML: {what}.") from error
    if not isinstance(raw, dict):
        raise InputError(
            f"{origin}: expected `key: value` lines, found {type(raw).__name__ if raw else 'nothing'}."
        )
    return raw, lines


def _from_seed(raw: dict[str, Any], origin: str) -> dict[str, Any]:
    """Rewrite seed 001's form: its models are Ollama's, its prompts and report Russian, its level easy."""
    rest = {key: value for key, value in raw.items() if key not in SEED_KEYS}
    if clash := sorted({"models"} & set(rest)):
        raise InputError(f"{origin}: found {clash[0]!r} beside {SEED_KEYS[0]!r}; use one form or the other.")
    listed = {key: raw.get(key, []) for key in SEED_KEYS[:2]}
    for key, value in listed.items():
        if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
            raise InputError(f"{origin}: {key}: expected a list of names, found {value!r}.")
    basic = rest.get("basic_control", {})
    return {
        "suites": ["basic_control"],
        "report": {"language": "ru"},
        **rest,
        "models": [{"name": name, "provider": "ollama"} for name in listed["models_to_test"]],
        "basic_control": {
            "languages": ["ru"],
            "levels": ["easy"],
            "families": listed["tests_to_run"],
            "n_items": raw.get("runs_per_test", 10),
            **(basic if isinstance(basic, dict) else {}),
        },
    }


def _assign(raw: dict[str, Any], assignment: str) -> Path_:
    """Carry out one `path.to.key=value`; the value is read as YAML. Return the path."""
    dotted, equals, text = assignment.partition("=")
    if not equals or not dotted.strip():
        raise InputError(f"--set {assignment}: expected path.to.key=value, for example --set cot.n_samples=10.")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"--set {assignment}: the value is not valid YAML; quote it.") from error
    steps = [int(step) if step.isdigit() else step for step in dotted.strip().split(".")]
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
            if not last:
                here.setdefault(str(step), {})
        else:
            raise InputError(f"--set {assignment}: {'.'.join(map(str, steps[:depth]))} has no keys below it.")
        key = step if isinstance(here, list) else str(step)
        if last:
            here[key] = value
        else:
            here = here[key]
    return tuple(steps)


def _allowed(path: Sequence[str | int]) -> list[str]:
    """Return the keys that the settings have below a path."""
    model: Any = Settings
    for step in path:
        if isinstance(step, int):
            continue
        field = model.model_fields.get(step) if isinstance(model, type) and issubclass(model, BaseModel) else None
        if field is None:
            return []
        model = field.annotation
        while get_args(model) and not (isinstance(model, type) and issubclass(model, BaseModel)):
            model = get_args(model)[0]
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _explain(
    error: Mapping[str, Any], origin: str, lines: Mapping[Path_, int], set_paths: Mapping[Path_, str]
) -> str:
    path: Path_ = tuple(error["loc"])
    where = origin
    for length in range(len(path), 0, -1):
        if path[:length] in set_paths:
            where = f"--set {set_paths[path[:length]]}"
            break
        if path[:length] in lines:
            where = f"{origin}, line {lines[path[:length]]}"
            break
    dotted = ".".join(map(str, path))
    if error["type"] == "extra_forbidden":
        allowed = _allowed(path[:-1])
        near = difflib.get_close_matches(str(path[-1]), allowed, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{where}: unknown key {dotted!r}; expected one of {', '.join(allowed)}.{hint}"
    if error["type"] == "missing":
        return f"{where}: {dotted!r} is missing."
    message = str(error["msg"]).removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    found = error.get("input")
    said = "" if isinstance(found, dict | list | tuple | BaseModel) else f", found {found!r}"
    return f"{where}: {dotted + ': ' if dotted else ''}{message}{said}."


def _check_units(settings: Settings, where: str) -> None:
    """Refuse names of families, levels, languages and options that do not exist."""
    from data.plugins import family

    if "basic_control" not in settings.suites:
        return
    part = settings.basic_control
    units = []
    for name in part.families:
        try:
            units.append(family(name))
        except InputError as error:
            raise InputError(f"{where}: basic_control.families: {error}") from error
    for unit in units:
        for kind, asked, known in (
            ("levels", part.levels, tuple(unit.levels)),
            ("languages", part.languages, unit.languages),
        ):
            if missing := [value for value in asked if value not in known]:
                raise InputError(
                    f"{where}: basic_control.{kind}: family {unit.name} has no {missing[0]!r}; "
                    f"expected one of {', '.join(known)}."
                )
    names = {unit.name: unit for unit in units}
    for name, options in part.options.items():
        try:
            unit = names.get(name) or family(name)
        except InputError as error:
            raise InputError(f"{where}: basic_control.options: {error}") from error
        if unknown := sorted(set(options) - set(unit.options)):
            raise InputError(
                f"{where}: basic_control.options.{name}: unknown option {unknown[0]!r}; "
                f"expected one of {', '.join(unit.options) or 'none'}."
            )


def parse(raw: dict[str, Any], origin: str, lines: Mapping[Path_, int], sets: Sequence[str] = ()) -> Settings:
    """Check a configuration that was read already.

    Raises:
        InputError: it has a wrong key or value; the message names file, line, path and what is allowed.
    """
    if any(key in raw for key in SEED_KEYS):
        raw = _from_seed(raw, origin)
    set_paths = {_assign(raw, assignment): assignment for assignment in sets}
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as error:
        # A password in an address is what may be wrong with it; it need not stand in a log as well.
        said = [PASSWORD.sub(r"\1***@", _explain(e, origin, lines, set_paths)) for e in error.errors()]
        raise InputError(
            "\n".join(said[:SHOWN] + ([f"… and {len(said) - SHOWN} more"] if len(said) > SHOWN else []))
        ) from error
    _check_units(settings, origin)
    return settings


def read(file: str | Path | None = None, sets: Sequence[str] = ()) -> Settings:
    """Read a configuration file (the shipped default unless given) and apply `--set` assignments.

    Raises:
        InputError: the file cannot be read, or has a wrong key or value.
    """
    path = Path(file) if file else DEFAULT
    origin = str(path) if file else "config/default.yaml"
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(
                f"{origin}: expected a configuration of at most {LARGEST} bytes; this is a larger file."
            )
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{origin}: expected UTF-8 text; byte {error.start} is not.") from error
    except OSError as error:
        shipped = ", ".join(sorted(f"config/{p.name}" for p in SHIPPED.glob("*.yaml")))
        raise InputError(f"{origin}: cannot be read ({error.strerror}). Shipped are {shipped}.") from error
    raw, lines = _parse(text, origin)
    return parse(raw, origin, lines, sets)
