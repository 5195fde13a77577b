"""Wiring only: which task feeds which. Each flow runs as `python -m flows.<name>`."""

import sys

if sys.argv[:1] == ["-m"]:  # a file of flows that Prefect runs by itself finds flows/basic_control.py by that name
    from basic_control.interrupts import leave_while_starting

    leave_while_starting()
