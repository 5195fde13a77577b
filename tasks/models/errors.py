"""Map HTTP errors of model servers to the protocol's error kinds."""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from config.settings import Model
from tasks.models.protocol import CallError, ErrorKind
from tasks.models.secrets import Secrets

_EXHAUSTED = (
    "insufficient_quota", "billing_hard_limit", "billing_not_active", "insufficient balance", "credit balance",
)  # fmt: skip
_FLAGGED = ("moderation", "content_policy", "content policy", "content_filter")
_UNKNOWN = ("model_not_found", "deploymentnotfound", "not a valid model", "model not found", "unknown model")
_UNKNOWN_NAMED = re.compile(
    r"\bmodel\b.{0,200}\b(?:does not exist|not found|not exist|unknown)\b", re.IGNORECASE | re.DOTALL
)
USED_UP = "max_tokens or model output limit was reached"
"""OpenAI's refusal, with 400, of a reply whose thinking used up its token limit."""
_CAUSES = 20
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')


def read_error(body: str) -> tuple[str, str, str]:
    """Return (message, code, param) of an error body, whatever its form.

    Known forms: {"error": {"message", "code" or "type", "param"}}, {"error": "…"}, {"detail": "…"},
    {"message": "…"}, a list of one of these (Gemini's); anything else is the message itself.
    """
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):
        return body, "", ""
    if isinstance(told, list) and told:
        told = told[0]
    if not isinstance(told, dict):
        return body, "", ""
    error = told.get("error", told.get("detail", told))
    if not isinstance(error, dict):
        return str(error), "", ""
    code = " ".join(str(error[k]) for k in ("code", "type", "status") if error.get(k))
    return str(error.get("message") or body), code, str(error.get("param") or "")


def classify_error(status: int, message: str, code: str) -> ErrorKind:
    """Return the kind of error for a status and its message."""
    said = f"{code} {message}".lower()
    if status == HTTPStatus.PAYMENT_REQUIRED or (status in {403, 429} and any(mark in said for mark in _EXHAUSTED)):
        return "quota"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limit"
    if status in {401, 403, 407}:
        return "invalid" if any(mark in said for mark in _FLAGGED) else "auth"
    if status in {408, 409, 425} or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "server"
    unknown = any(mark in said for mark in _UNKNOWN) or _UNKNOWN_NAMED.search(message[:2000])
    return "unknown_model" if unknown or status == HTTPStatus.NOT_FOUND else "invalid"


def retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Return how many seconds the server asks to wait: never negative, None if it does not say.

    Reads `retry-after-ms`, `retry-after` (seconds or an HTTP date) and Gemini's `retryDelay` in the body.
    """
    for header, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            wait = float(headers.get(header, "")) / unit
        except ValueError:
            continue
        if math.isfinite(wait):
            return max(0.0, wait)
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        pass
    found = _RETRY_DELAY.search(body[:20_000])
    return float(found[1]) if found else None


def _tls_error(error: BaseException, where: str) -> CallError | None:
    """Return the error of a failed TLS handshake; None for a connection that failed otherwise.

    An untrusted certificate is permanent: it fails the endpoint at once.
    """
    chain: list[BaseException] = [error]
    while (more := chain[-1].__cause__ or chain[-1].__context__) and len(chain) < _CAUSES:
        chain.append(more)
    text = next((str(one) for one in chain if "[SSL" in str(one)), "")
    if not text:
        return None
    kind: ErrorKind = "connection"
    told, what = r"\[SSL: ?([A-Z0-9_]{1,80})\]", "the handshake failed"
    advice = "a server without TLS has an address that begins with http://"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        kind, told, what = "auth", r"verify failed: ([^('\"]{1,200})", "its certificate is not trusted"
        advice = "if your own certificate authority signed it, name its certificate's file in SSL_CERT_FILE"
    reason = found[1].strip() if (found := re.search(told, text)) else "no reason given"
    return CallError(kind, f"TLS with {where} failed: {what} ({reason}); {advice}")


class ServerErrors:
    """The errors of one server, with its address (`where`) and without its secrets.

    `variable` is the one that the key comes from, if any; `advice` ends the messages of a kind.
    """

    def __init__(
        self, model: Model, where: str, secrets: Secrets, *, variable: str, advice: Mapping[ErrorKind, str]
    ) -> None:
        no_key = "; the server requires a key: name its variable in `api_key_env`"
        self.where = where
        self.clean = secrets.clean
        self._deadline_s = model.deadline_s
        self._advice = {"auth": f"; check the key in {variable}" if variable else no_key, **advice}

    def refusal(self, status: int, headers: Mapping[str, str], body: str) -> CallError:
        """Return the error for an HTTP status and body."""
        message, code, _ = read_error(body)
        kind = classify_error(status, message, code)
        said = f"HTTP {status}: {self.clean(message) or 'no message'}{self._advice.get(kind, '')}"
        return CallError(kind, said, retry_after(headers, body))

    def silent(self) -> CallError:
        """Return the error of a call without an answer."""
        return CallError("timeout", f"no data from {self.where} for {self._deadline_s:g} s")

    def broken(self, error: BaseException) -> CallError:
        """Return the error of a connection that failed or broke."""
        said = self.clean(str(error)) or type(error).__name__
        failed = CallError("connection", f"no answer from {self.where}: {said}{self._advice.get('connection', '')}")
        return _tls_error(error, self.where) or failed

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
