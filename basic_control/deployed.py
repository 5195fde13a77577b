"""The flow of an installed copy's deployments, in a module name that no other package has.

When Prefect imports a flow, it puts the run's working directory first on the path.
"""

from basic_control import hold

hold()

from flows.full_eval import full_eval  # noqa: E402 - only now the rooms are ours, whatever lies in that folder

__all__ = ["full_eval"]
