"""Wiring only: which task feeds which. Each flow runs as `python -m flows.<name>`."""

import sys

if sys.argv[:1] == ["-m"]:  # Prefect runs a file of flows/ and looks for flows/basic_control.py by that name
    from basic_control.interrupts import leave_while_starting

    leave_while_starting()
