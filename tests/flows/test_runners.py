"""Clusters that are not there, or whose package is not; those that are run in tests/basic_control/test_wheel.py."""

import json
import sys
import time

import pytest

from basic_control.config.reading import read
from basic_control.data.errors import InputError
from basic_control.flows.runners import ANSWER_S, open_runner
from basic_control.tasks.plan import resolve


@pytest.mark.parametrize(
    ("runner", "address", "said"),
    [
        ("dask", "127.0.0.1:1", "expected a Dask scheduler"),
        ("dask", "nonsense", "expected a Dask scheduler"),
        ("ray", "127.0.0.1:1", "expected a Ray cluster"),
        ("ray", "ray://127.0.0.1:1", "expected a Ray cluster"),
        ("ray", "nonsense", "expected a Ray cluster"),
    ],
)
def test_an_address_where_no_cluster_answers_is_one_message(runner: str, address: str, said: str) -> None:
    pytest.importorskip("distributed" if runner == "dask" else "ray")
    settings = read(None, [f"runner={runner}", f"runner_address={json.dumps(address)}"])
    started = time.monotonic()
    with pytest.raises(InputError, match=said), open_runner(resolve(settings).means.runner):
        pass
    assert time.monotonic() - started < 20 * ANSWER_S, "where nobody listens, Ray itself would try without end"


@pytest.mark.parametrize(("runner", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_extra_is_named(runner: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python itself refuses to import what is None in `sys.modules`."""
    monkeypatch.setitem(sys.modules, package, None)
    settings = read(None, [f"runner={runner}"])
    with (
        pytest.raises(InputError, match=rf"Run: pip install .*prefect-{runner}<"),
        open_runner(resolve(settings).means.runner),
    ):
        pass
