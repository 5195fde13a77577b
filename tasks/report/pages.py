"""Pages for a browser: this folder's templates, in which no value becomes markup, under a policy of their own."""

import base64
import hashlib
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from data.characters import visible
from prompts.phrases import phrase
from tasks.report.text import grouped, p_value, percent, points, shortened, total_percent

HERE = Path(__file__).parent


def _finished(value: Any) -> Any:
    """Return what stands in the page for a value of the template: text with its unseen characters shown."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class _Bytecode(FileSystemBytecodeCache):
    """The templates' bytecode beside Python's own: made at first use, where that may be written."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)


@cache
def environment() -> Environment:
    """Return what fills the templates: everything is escaped, and a name without a value is an error."""
    # A template's bytecode hangs on what compiles it: Jinja, and the options below.
    compiler = hashlib.sha256(version("jinja2").encode() + Path(__file__).read_bytes()).hexdigest()[:12]
    made = Environment(
        bytecode_cache=_Bytecode(str(HERE / "__pycache__"), f"{compiler}-%s.jinja"),
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.finalize = _finished
    written = {"percent": percent, "p_value": p_value, "points": points, "total_percent": total_percent}
    made.filters |= {**written, "number": grouped, "shortened": shortened}
    return made


def read(name: str) -> str:
    """Return a file of this folder that is written into a page, with the plain line ends that the browser reads."""
    return (HERE / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def inlined(text: str) -> tuple[Markup, str]:
    """Return our own text as it stands in an element, and its hash as a policy names it."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{digest}'"  # noqa: S704 - our own files


def policy(style: str, script: str = "", form: str = "'none'") -> str:
    """Return the content-security policy of a page: nothing but its own style sheets and script is let in."""
    runs = f"; script-src {script}" if script else ""
    return f"default-src 'none'; style-src {style}; base-uri 'none'; form-action {form}{runs}"


def still(
    template: str,
    styles: tuple[str, ...] = ("comparison.css",),
    *,
    section: str,
    language: str,
    form: bool = False,
    script: str = "",
    **values: Any,
) -> str:
    """Return a page without a network: nothing but its own style sheets, and its `script`, if any, is let in.

    Its `t` says the phrases of a section. A `form` asks its own server.
    """

    def t(name: str, /, **said: object) -> str:
        return phrase(f"{section}.{name}", language, **said)

    style, digest = inlined("".join(map(read, styles)))
    run, hashed = inlined(read(script)) if script else (Markup(), "")
    allowed = policy(digest, hashed, "'self'" if form else "'none'")
    own = {"t": t, "language": language, "style": style, "policy": allowed, "script": run}
    return environment().get_template(template).render(values, **own)
