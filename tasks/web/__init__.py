"""The only code that fetches a cited page, and only if the metric's option `network` allows it."""

from basic_control.tasks.web.checking import check
from basic_control.tasks.web.network_policy import HostRefused, Limits, NetworkPolicy

__all__ = ["HostRefused", "Limits", "NetworkPolicy", "check"]
