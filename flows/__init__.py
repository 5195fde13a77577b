"""Wiring only: which task feeds which. Each flow runs as `python -m flows.<name>`."""

from basic_control.interrupts import leave_while_starting

leave_while_starting()
