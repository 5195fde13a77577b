"""`view`: a folder of runs in a browser of this machine."""

import secrets
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from flows.cli.completers import RUN
from flows.cli.console import say, show
from flows.cli.options import Where

_TWO = 2


def view(
    *named: Annotated[str, RUN],
    port: Annotated[int, Parameter(metavar="PORT", validator=Number(gte=0, lte=65535))] = 0,
    open_: Annotated[bool, Parameter(name="--open")] = False,
    host: Annotated[str, Parameter(metavar="ADDRESS")] = "",
    language: str = "",
    at: Where | None = None,
) -> None:
    """Serve the runs to this machine's browser: an index, reports, trends, and any two runs or files compared.

    Only 127.0.0.1 is listened at unless --host says otherwise, nothing can be changed, and nothing is asked of a
    model. Ctrl-C ends it.

    Args:
        named: a run's id or folder, whose report is the page to open first; or files of other tools, as `compare`
            reads them, which stand beside the runs: of two, the page to open first compares them
        port: where to listen (default: a free one)
        open_: open the page in a browser
        host: listen at this address instead, such as 0.0.0.0, for whoever has the password that is printed; it and
            the pages are sent unencrypted
        language: of what is said, such as en or ru (default: that of the runs' reports; for all runs, the newest's)
    """
    from flows.cli import viewing
    from prompts.phrases import catalogue

    if language:
        catalogue(language)
    where, page = at or Where(), "/"
    folder, files = where.runs, viewing.files_of(named)
    if len(files) == _TWO:
        page = viewing.comparison_address(*files)
    elif named and not files:
        folder, page = viewing.report_path(folder, named[0])
    elif not files:
        where.existing_runs()
    password = secrets.token_urlsafe(12) if host else ""
    with viewing.bind(port, host) as listening:
        taken = listening.getsockname()[1]
        address = f"http://{viewing.name_of(host)}:{taken}{page}"
        show(f"The runs of {folder} are at {address} until Ctrl-C.")
        if password:
            show(f"Whoever opens them gives any name and the password {password}")
        if open_:
            import webbrowser

            webbrowser.open(address)
        try:
            viewing.server(folder, taken, language, files, password).run(sockets=[listening])
        except KeyboardInterrupt:
            say("Stopped.")
