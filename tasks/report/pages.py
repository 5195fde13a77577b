"""HTML pages from this folder's templates, with autoescaping and a content-security policy."""

import base64
import hashlib
import re
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from basic_control.data.characters import make_visible
from basic_control.tasks.report.language import current, say
from basic_control.tasks.report.text import (
    around,
    format_number,
    p_value,
    percent,
    points,
    points_around,
    total_percent,
)

# Code in a caption, as in: the file `results.json`.
_CODE = re.compile("`([^`]+)`")
HERE = Path(__file__).parent
STYLES = "page.css"
"""The one style sheet of all pages."""


def _make_visible(value: Any) -> Any:
    """Return a template value for the page: text with its invisible characters shown."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return make_visible(value) if is_text else value


def _mark_code(text: str) -> Markup:
    """Return a text of ours, such as a caption, which may have code in backticks as in Markdown."""
    escaped = str(escape(_make_visible(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", escaped))  # noqa: S704 - escaped


class _Bytecode(FileSystemBytecodeCache):
    """A cache of the templates' bytecode beside Python's own, created at first use if writable."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def environment() -> Environment:
    """Return the template environment: everything is escaped, and an undefined name is an error."""
    # A template's bytecode depends on its compiler: Jinja, and the options below.
    compiler = hashlib.sha256(version("jinja2").encode() + Path(__file__).read_bytes()).hexdigest()[:12]
    templates = Environment(
        bytecode_cache=_Bytecode(str(HERE / "__pycache__"), f"{compiler}-%s.jinja"),
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.finalize = _make_visible
    intervals = {"around": around, "points_around": points_around}
    formats = {
        "percent": percent,
        "p_value": p_value,
        "points": points,
        "total_percent": total_percent,
        **intervals,
    }
    templates.filters |= {**formats, "coded": _mark_code, "number": format_number}
    return templates


def read(name: str) -> str:
    """Return a file of this folder for inlining, with the plain line ends that the browser reads."""
    return (HERE / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def inline_text(text: str) -> tuple[Markup, str]:
    """Return our own text as an element's content, and its hash for the policy."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{digest}'"  # noqa: S704 - our own files


def policy(style: str, script: str = "", form: str = "'none'") -> str:
    """Return the content-security policy of a page: only its own style sheets and scripts."""
    directives = f"default-src 'none'; style-src {style}; base-uri 'none'; form-action {form}"
    if script:
        directives += f"; script-src {script}"
    return directives


def still(
    template: str,
    *,
    section: str,
    form: bool = False,
    script: str = "",
    sheet: str = STYLES,
    **values: Any,
) -> str:
    """Return a page without a network: only its own style `sheet`, and its `script`, if any, are allowed.

    Its `t` formats the phrases of a section. A `form` may post to its own server.
    """

    def t(name: str, /, **gaps: object) -> str:
        return say(f"{section}.{name}", **gaps)

    style, digest = inline_text(read(sheet))
    code, script_digest = Markup(), ""
    if script:
        code, script_digest = inline_text(read(script))
    allowed = policy(digest, script_digest, "'self'" if form else "'none'")
    context = {"t": t, "language": current(), "style": style, "policy": allowed, "script": code}
    return environment().get_template(template).render(values, **context)
