"""`schema`: what a configuration may hold, for editors."""

import json

from flows.cli.console import show


def schema(*plugins: str) -> None:
    """Print the JSON schema of configuration files, with which editors complete and check them.

    Args:
        plugins: files and folders of your own, whose units and suites it is to know as well
    """
    from config.schema import schema as make

    show(json.dumps(make(plugins), ensure_ascii=False, indent=2))
