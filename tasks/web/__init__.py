"""The only code that fetches a cited page, and only where the metric's option `network` says so."""

from tasks.web.checking import check
from tasks.web.policy import HostRefused, Limits, Net

__all__ = ["HostRefused", "Limits", "Net", "check"]
