"""`completion`: what a shell needs to complete commands, options, runs and keys."""

from typing import Literal

from flows.cli.console import show

_UNSPACED = """
_basic_control_unspaced() {
  _basic_control "$@"
  [[ "${COMPREPLY[*]}" == *= ]] && compopt -o nospace
}
complete -F _basic_control_unspaced basic-control
"""
"""A value follows a key of --set at once, without the space that bash writes behind a whole word."""


def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
    """Print the script with which a shell completes basic-control: docs/commands.md says where it goes.

    Args:
        shell: the shell that is to read it
    """
    from flows.cli.application import whole

    show(whole().generate_completion(shell=shell) + (_UNSPACED if shell == "bash" else ""))
