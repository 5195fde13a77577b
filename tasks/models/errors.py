"""What a server's failures mean: the kind of each, and its text without secrets."""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote, urlsplit

from data.characters import visible
from tasks.models.access import credentials_of, strip_secrets
from tasks.models.protocol import CallError, ErrorKind
from tasks.runtime.secrets import HIDDEN, hide, spell

_EXHAUSTED = (
    "insufficient_quota", "billing_hard_limit", "billing_not_active", "insufficient balance", "credit balance",
)  # fmt: skip
_FLAGGED = ("moderation", "content_policy", "content policy", "content_filter")
_UNKNOWN = ("model_not_found", "deploymentnotfound", "not a valid model", "model not found", "unknown model")
# "The model `gpt-9` does not exist or you do not have access to it."
_UNKNOWN_NAMED = re.compile(
    r"\bmodel\b.{0,200}\b(?:does not exist|not found|not exist|unknown)\b", re.IGNORECASE | re.DOTALL
)
USED_UP = "max_tokens or model output limit was reached"
"""OpenAI's refusal, with 400, of a reply whose thinking used up its token limit."""
_CAUSES = 20
# Gemini's `"retryDelay": "34.5s"`
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')
# The token of an echoed header, as in: Bearer abcd1234
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=*-]{4,}", re.IGNORECASE)
_LONGEST = 400
_SHORTEST = 4
"""Characters of a value that is hidden in errors: a shorter one is no secret, and would tear words apart."""


def read_error(body: str) -> tuple[str, str, str]:
    """Return (message, code, param) of an error body, whatever its form.

    Known forms: {"error": {"message", "code" or "type", "param"}}, {"error": "…"}, {"detail": "…"},
    {"message": "…"}, a list of one of these (Gemini's); anything else is the message itself.
    """
    try:
        content: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body, "", ""
    if isinstance(content, list) and content:
        content = content[0]
    if not isinstance(content, dict):
        return body, "", ""
    error = content.get("error", content.get("detail", content))
    if not isinstance(error, dict):
        return str(error), "", ""
    code = " ".join(str(error[name]) for name in ("code", "type", "status") if error.get(name))
    return str(error.get("message") or body), code, str(error.get("param") or "")


def classify_error(status: int, message: str, code: str) -> ErrorKind:
    """Return the kind of error for a status and its message."""
    text = f"{code} {message}".lower()
    is_exhausted = any(mark in text for mark in _EXHAUSTED)
    if status == HTTPStatus.PAYMENT_REQUIRED or (status in {403, 429} and is_exhausted):
        return "quota"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limit"
    if status in {401, 403, 407}:
        return "invalid" if any(mark in text for mark in _FLAGGED) else "auth"
    if status in {408, 409, 425} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server"
    is_unknown = any(mark in text for mark in _UNKNOWN) or _UNKNOWN_NAMED.search(message[:2000])
    return "unknown_model" if is_unknown or status == HTTPStatus.NOT_FOUND else "invalid"


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Return how many seconds the server asks to wait: never negative, None if it does not say.

    Reads `retry-after-ms`, `retry-after` (seconds or an HTTP date) and Gemini's `retryDelay` in the body.
    """
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            wait_s = float(headers.get(header, "")) / unit
        except ValueError:
            continue
        if math.isfinite(wait_s):
            return max(0.0, wait_s)
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        pass
    match = _RETRY_DELAY.search(body[:20_000])
    return float(match[1]) if match else None


def clean(text: str, secrets: re.Pattern[str] | None = None) -> str:
    """Return an error's text without keys, `secrets` and control characters, as one line of bounded length."""
    if secrets:
        text = secrets.sub(HIDDEN, text)
    text = _BEARER.sub(rf"\1 {HIDDEN}", hide(text)[0][: 64 * _LONGEST])
    line = visible(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _secrets_of(key: str, url: str) -> re.Pattern[str] | None:
    """Return a pattern of what no message shows: the key, and an address's password and query values, if any."""
    parts = urlsplit(url)
    values = {key, *(part.partition("=")[2] for part in parts.query.split("&"))}
    if parts.password:
        values |= {parts.password, credentials_of(parts)}
    values |= {unquote(value) for value in values}
    longest_first = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
    return re.compile("|".join("".join(spell(value)) for value in longest_first)) if longest_first else None


def _tls_error(error: BaseException, where: str) -> CallError | None:
    """Return the error of a failed TLS handshake; None for a connection that failed otherwise.

    An untrusted certificate is permanent: it fails the endpoint at once.
    """
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and len(chain) < _CAUSES:
        chain.append(cause)
    text = next((str(link) for link in chain if "[SSL" in str(link)), "")
    if not text:
        return None
    # As in: [SSL: WRONG_VERSION_NUMBER] wrong version number
    kind: ErrorKind = "connection"
    reason, failure = r"\[SSL: ?([A-Z0-9_]{1,80})\]", "the handshake failed"
    advice = "a server without TLS has an address that begins with http://"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        # As in: certificate verify failed: self-signed certificate (_ssl.c:1006)
        kind, reason, failure = "auth", r"verify failed: ([^('\"]{1,200})", "its certificate is not trusted"
        advice = "if your own certificate authority signed it, name its certificate's file in SSL_CERT_FILE"
    match = re.search(reason, text)
    shown = match[1].strip() if match else "no reason given"
    return CallError(kind, f"TLS with {where} failed: {failure} ({shown}); {advice}")


class Refusal(CallError):  # noqa: N818 - said of a server
    """An HTTP status that is no success, with the body that came with it."""

    def __init__(self, kind: ErrorKind, message: str, retry_after_s: float | None, status: int, body: str) -> None:
        super().__init__(kind, message, retry_after_s)
        self.status = status
        self.body = body


class ServerErrors:
    """The errors of one server, with its address (`where`) and without its secrets.

    `variable` is the one that the key comes from, if any.
    """

    def __init__(self, where: str, *, url: str, key: str, variable: str) -> None:
        self.where = where
        self._secrets = _secrets_of(key, url)
        self._advice: dict[ErrorKind, str] = {
            "auth": "the server requires a key: name its variable in `api_key_env`"
        }
        if variable:
            self._advice["auth"] = f"check the key in {variable}"

    def advise(self, kind: ErrorKind, advice: str) -> None:
        """Say in the errors of a kind what to do."""
        self._advice[kind] = advice

    def _with_advice(self, kind: ErrorKind, text: str) -> str:
        return f"{text}; {self._advice[kind]}" if kind in self._advice else text

    def clean(self, text: str) -> str:
        """Return an error's text without secrets and control characters, as one line of bounded length."""
        return clean(text, self._secrets)

    def refusal(self, status: int, headers: Mapping[str, str], body: str) -> Refusal:
        """Return the error for an HTTP status and body."""
        message, code, _ = read_error(body)
        kind = classify_error(status, message, code)
        text = self._with_advice(kind, f"HTTP {status}: {self.clean(message) or 'no message'}")
        return Refusal(kind, text, retry_after(headers, body), status, body)

    def redirected(self, status: int, location: str) -> CallError:
        """Return the error of a redirect that is not followed."""
        target = self.clean(f"redirects to {strip_secrets(location)}, and redirects are not followed")
        return CallError("invalid", f"HTTP {status}: {target}; set `base_url` to the final address")

    def silent(self, seconds: float) -> CallError:
        """Return the error of a server that sent nothing for some time."""
        return CallError("timeout", f"no data from {self.where} for {seconds:g} s")

    def broken(self, error: BaseException) -> CallError:
        """Return the error of a connection that failed or broke, or on which malformed HTTP came."""
        # aiohttp's `message` is what is wrong with a response; its text repeats the address too.
        reason = self.clean(getattr(error, "message", "") or str(error)) or type(error).__name__
        text = self._with_advice("connection", f"no answer from {self.where}: {reason}")
        return _tls_error(error, self.where) or CallError("connection", text)

    def quoted(self, body: str | bytes) -> str:
        """Return the start of a body, for messages."""
        start = body[:20_000]
        return self.clean(start if isinstance(start, str) else start.decode("utf-8", "replace")) or "nothing"

    def parsed(self, body: str | bytes) -> Any:
        """Return the JSON of a body.

        Raises:
            CallError: it is not JSON.
        """
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise CallError("server", f"{self.where} sent a body that is not JSON: {self.quoted(body)}") from None
