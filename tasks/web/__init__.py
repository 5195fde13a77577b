"""The only code that fetches a cited page, and only if the metric's option `network` allows it."""

from tasks.web.checking import check
from tasks.web.policy import HostRefused, Limits, NetworkPolicy

__all__ = ["HostRefused", "Limits", "NetworkPolicy", "check"]
