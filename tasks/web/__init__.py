"""The only code that fetches a cited page, and only where the metric's option `network` says so."""

from tasks.web.checking import check
from tasks.web.policy import HostRefused, Limits, NetworkPolicy

__all__ = ["HostRefused", "Limits", "NetworkPolicy", "check"]
