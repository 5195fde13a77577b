"""Keys: where they come from, and how they are kept out of everything that is written down."""

import json
import logging
import os
import re
from base64 import b64encode
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

from config.settings import Model
from data.characters import visible
from data.errors import InputError
from tasks.models.masking import HIDDEN, hide, know


class _Bare(logging.Filter):
    """Takes user, password and query off the addresses that HTTP packages log with every call."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass, its addresses shortened."""
        if isinstance(record.args, tuple):
            record.args = tuple(bare(str(arg)) if type(arg).__name__ == "URL" else arg for arg in record.args)
        return True


_BARE = _Bare()
for _name in ("httpx", "httpx2"):
    logging.getLogger(_name).addFilter(_BARE)

_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=*-]{4,}", re.IGNORECASE)
_LONGEST = 400


def find_key(model: Model, usual: str, *, needed: bool) -> str:
    """Return the model's key from the environment: its `api_key_env`, else the provider's usual variable.

    Raises:
        InputError: the variable that is named is not set, or a key is needed and the usual one is not set.
    """
    variable = model.api_key_env or (usual if needed else "")
    key = os.environ.get(variable, "").strip() if variable else ""
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(
            f"model {model.name!r}: the key in {variable} holds characters that no header can carry; set it again, "
            "without line breaks or quotation marks of a text editor"
        )
    know(key)
    if key or not variable:
        return key
    named = "api_key_env names" if model.api_key_env else "provider " + model.provider + " reads its key from"
    raise InputError(
        f"model {model.name!r}: {named} the environment variable {variable}, which is not set; set it "
        f"(export {variable}=…)"
        + ("" if model.api_key_env else ", or name another one with `api_key_env`")
        + "; the key itself is never written in the configuration"
    )


def placed(model: Model, key: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return (headers, query) that carry the key where the configuration wants it; empty where it does not say."""
    return (
        {model.api_key_header: key} if model.api_key_header else {},
        {model.api_key_query: key} if model.api_key_query else {},
    )


def bare(url: str) -> str:
    """Return an address without user, password, query and fragment: what may be written down."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def read_address(model: Model, url: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Split an address into itself without credentials and query, the header that its user means, and its query.

    Raises:
        InputError: it is no address.
    """
    parts = urlsplit(url)
    try:
        wrong = bool(url) and (parts.scheme not in {"", "http", "https"} or not parts.hostname or parts.port == 0)
    except ValueError:
        wrong = True
    if wrong:
        found = url.rpartition("@")[2].partition("?")[0]
        raise InputError(
            f"model {model.name!r}: found base_url {found!r}, expected an address such as http://127.0.0.1:8000/v1"
        )
    headers = {"Authorization": f"Basic {_pair(parts)}"} if parts.password or parts.username else {}
    return bare(url), headers, dict(parse_qsl(parts.query, keep_blank_values=True))


def _pair(parts: SplitResult) -> str:
    """Return user and password as HTTP's basic scheme spells them."""
    return b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()).decode()


def _quoted(secret: str) -> tuple[str, ...]:
    """Return a secret as it may stand in a query: packages differ in what they escape."""
    return secret, quote(secret, safe=""), quote(secret), quote_plus(secret), quote(secret, safe="!$'()*,:;@/?")


class Secrets:
    """What must never be written down: a key, and what an address hides (user:password, query values)."""

    def __init__(self, key: str = "", url: str = "") -> None:
        parts = urlsplit(url)
        hidden = {key, *(part.partition("=")[2] for part in parts.query.split("&"))}
        for one in hidden:
            know(one)
        if parts.password:
            hidden |= {parts.password, unquote(parts.password), _pair(parts)}
        spelt = {form for one in hidden for form in (*_quoted(one), json.dumps(one)[1:-1])}
        self._spelt = sorted((form for form in spelt if len(form) > 3), key=len, reverse=True)  # noqa: PLR2004 - a shorter one is no secret, and would tear words apart

    def __repr__(self) -> str:
        return f"Secrets({len(self._spelt)} hidden)"

    def clean(self, text: str) -> str:
        """Return an error's text without secrets and control characters, in one line of bounded length."""
        for spelt in self._spelt:
            text = text.replace(spelt, "[key]")
        text = hide(text)[0].replace(HIDDEN, "[key]")
        text = visible(" ".join(_BEARER.sub(r"\1 [key]", text[: 64 * _LONGEST]).split()))
        return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
