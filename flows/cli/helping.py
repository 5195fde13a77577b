"""How --help writes the names of an option: separated by commas, the short one first, the value once."""

from typing import TYPE_CHECKING, Any

from cyclopts.help import DefaultFormatter

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel


class NamesFormatter(DefaultFormatter):
    """The default form of --help, but for the names of an option: `-o, --json FILE`, of which one is typed."""

    def __call__(self, console: Any, options: Any, panel: "HelpPanel") -> None:
        """Print a panel of the help."""
        entries = [_join_names(entry) for entry in panel.entries]
        super().__call__(console, options, panel.copy(entries=entries))


def _join_names(entry: "HelpEntry") -> "HelpEntry":
    """Return an entry with the names of its option as one."""
    if not entry.positive_shorts or not entry.positive_names:
        return entry
    names = ", ".join((*entry.positive_shorts, *entry.positive_names))
    return entry.copy(positive_names=(names,), positive_shorts=())
