"""The flow of an installed copy's deployments, in a module that needs no file of the project."""

from basic_control.flows.full_eval import full_eval

__all__ = ["full_eval"]
