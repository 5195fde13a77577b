"""Metrics of an evaluation from Python: names with options, units of a file, and functions of this process.

A metric of an importable file is a plug-in of the run. Any other function (of a cell, a script, a test, inside
another function) stays here: the run is given a plug-in that calls it (`tasks.models.served_metric`).
"""

import hashlib
import inspect
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from basic_control.function_server import ServedFunction
from basic_control.plain_values import as_plain
from basic_control.targets import choose_name

if TYPE_CHECKING:
    from basic_control.data.records import Metric

_FOLDER = ".metrics"
"""The folder of generated plug-ins, among the runs."""
_PLUGIN = '''"""Metrics that are functions of the Python process which started a run."""

from basic_control.tasks.models.served_metric import build_served_metric

UNITS = [
{units}]
IDENTITY = {identity!r}
'''


def _write_score(value: Any) -> dict[str, Any]:
    """Return what a metric's function returned as a message: a score, or what there is in place of one."""
    from basic_control.data.decorators import read_score
    from basic_control.data.errors import ReturnedError

    try:
        score = read_score(value)
    except ReturnedError as error:
        return {"returned": str(error)}
    fields = {
        "value": score.value,
        "status": score.status,
        "reason": score.reason,
        "details": dict(score.details),
        "parts": dict(score.parts),
    }
    return {"score": json.loads(json.dumps(fields, default=str))}


class EvaluationMetrics:
    """The metrics of an evaluation: their options by name, their plug-ins, and the functions that are served."""

    def __init__(self, metrics: Any, columns: Sequence[str] = ()) -> None:
        self.options: dict[str, Any] = {}
        self.functions: dict[str, ServedFunction] = {}
        self._files: list[str] = []
        self._units: list[str] = []
        self._columns = columns
        if isinstance(metrics, str | Mapping) or not isinstance(metrics, Iterable):
            metrics = [metrics]
        for metric in metrics:
            self._add(metric)

    def _add(self, metric: Any) -> None:
        """Add a name, a mapping of names (or functions) to options, a metric, or a function.

        Raises:
            InputError: it is none of these.
        """
        from basic_control.data.errors import InputError
        from basic_control.data.records import Metric

        if isinstance(metric, str):
            self.options[metric] = {}
        elif isinstance(metric, Mapping):
            for key, options in metric.items():
                name = key if isinstance(key, str) else self._add_unit(key)
                self.options[name] = as_plain(options, f"metrics.{name}")
        elif isinstance(metric, Metric) or callable(metric):
            self.options[self._add_unit(metric)] = {}
        else:
            raise InputError(
                f"metrics: found a {type(metric).__name__}, expected a name, a function, or a name with its "
                "options, such as {'rubric': {'criteria': '…'}}."
            )

    def _add_unit(self, metric: Any) -> str:
        """Add a metric or a function; return its name."""
        from basic_control.data import decorators
        from basic_control.data.records import Metric

        unit = metric
        # A plain function becomes a metric as the decorator makes one, which no plug-in holds.
        if not isinstance(metric, Metric):
            unit = decorators.metric.build(metric, name=choose_name(metric, self.options))
        function = inspect.unwrap(unit.score)
        if isinstance(metric, Metric) and _is_importable(function):
            self._files.append(function.__code__.co_filename)
        else:
            self._serve(unit, function)
        return str(unit.name)

    def _serve(self, unit: "Metric", function: Callable[..., Any]) -> None:
        """Have a metric's function called here.

        Raises:
            InputError: it takes what no row has.
        """
        from basic_control.data.decorators import call_metric, list_columns
        from basic_control.data.errors import InputError, propose_name
        from basic_control.data.usual_columns import find_column
        from basic_control.tasks.models.served_metric import name_function

        columns = list_columns(function)
        needs = unit.needs
        if callable(needs):
            needs = needs({})
        missing = [column for column in needs if find_column(column, self._columns) is None]
        if self._columns and missing:
            raise InputError(
                f"metric {unit.name}: its parameter {missing[0]!r} is no column; expected response (the reply), "
                f"sample (all of a row), {', '.join(self._columns)}, or a default."
                f"{propose_name(missing[0], self._columns)}"
            )
        keywords = getattr(unit.score, "keywords", None) or {}
        scores_empty = bool(keywords.get("scores_empty"))

        def call(offered: Mapping[str, Any]) -> Any:
            sample, options = offered["sample"], offered["options"]
            return call_metric(function, columns, sample, options, scores_empty=scores_empty)

        self.functions[name_function(unit.name)] = ServedFunction(function, call, _write_score)
        options = {}
        if isinstance(unit.options, Mapping):
            # Defaults that are no plain values stay the function's own.
            options = {name: value for name, value in unit.options.items() if _is_plain(value)}
        self._units.append(
            f"    build_served_metric({unit.name!r}, version={unit.version}, needs={tuple(needs)!r}, "
            f"yes_no={unit.yes_no}, options={options!r}),\n"
        )

    def write_plugins(self, runs: Path, version: str) -> list[str]:
        """Return the files of plug-ins; the one that calls functions of this process is written among the runs.

        Without a version such functions are new in each run, as those that answer are.
        """
        if not self._units:
            return self._files
        from basic_control.tasks.store.tables import write_atomically

        identity = version or secrets.token_hex(8)
        text = _PLUGIN.format(units="".join(self._units), identity=identity).encode()
        path = runs / _FOLDER / f"functions_{hashlib.sha256(text).hexdigest()[:16]}.py"
        write_atomically(path, text)
        return [*self._files, str(path)]


def _is_importable(function: Any) -> bool:
    """Return whether a run can load a function from its file, which is neither this program nor a cell."""
    code = getattr(function, "__code__", None)
    path = Path(code.co_filename if code else "")
    is_program = getattr(function, "__module__", "") == "__main__"
    is_inner = "<locals>" in getattr(function, "__qualname__", "")
    return not is_program and not is_inner and path.suffix == ".py" and path.is_file()


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
