"""What a server's failures mean: the kind of each, and its text without secrets."""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from basic_control.data.characters import make_visible
from basic_control.tasks.models.access import find_credentials, strip_secrets
from basic_control.tasks.models.protocol import BrokenResponse, CallError, ErrorKind
from basic_control.tasks.runtime.secrets import HIDDEN, hide, list_patterns

# Where a status does not say what is meant, words of the code or the message do.
_EXHAUSTED = re.compile(
    r"insufficient_quota|billing_hard_limit|billing_not_active|insufficient balance|credit balance"
)
# Of 400 and 403, as providers word a filter's refusal: content_filter and "content management policy" (Azure),
# "flagged" (OpenAI, OpenRouter), data_inspection_failed (Alibaba), "Content Exists Risk" (DeepSeek).
_FILTERED = re.compile(
    r"content[ _-]?filter|content[ _-](?:management[ _-])?policy|content exists risk|responsibleaipolicy"
    r"|data_?inspection_?failed|moderation|safety_check|prohibited_content|guardrail"
    r"|violat\w{0,3} (?:our |the |its )?(?:usage|safety|acceptable use|content) (?:polic|guideline)"
    r"|(?:input|prompt|request|content|output|text|message|response)s? (?:(?:was|were|is|has been|may be) )?"
    r"(?:flagged|blocked by|deemed|considered high risk|rejected because it was considered high risk)"
    r"|sensitive (?:content|information|words?)|inappropriate content"
)
# "The model `gpt-9` does not exist or you do not have access to it."
_UNKNOWN = re.compile(
    r"model_not_found|deploymentnotfound|not a valid model|model not found|unknown model"
    r"|\bmodel\b.{0,200}\b(?:does not exist|not found|not exist|unknown)\b",
    re.DOTALL,
)
_FILTERING = {400, 403, 422, 451}
"""Statuses with which servers refuse what a content filter stopped."""
USED_UP = "max_tokens or model output limit was reached"
"""OpenAI's refusal, with 400, of a reply whose thinking used up its token limit."""
# A day's or a month's limit does not pass within a call: "Rate limit reached for requests per day (RPD)",
# "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "free-models-per-day", "tokens per day (TPD)".
_DAILY = re.compile(
    r"(?:requests|tokens|calls|models|quota|limit)\w*[ _-]*(?:per[ _-]?(?:day|month)|daily|monthly)"
    r"|\b(?:daily|monthly)[ _-]+(?:\w+[ _-]+)?(?:quota|limit)|\((?:rpd|tpd)\)"
)
# As in: Rate limit reached on tokens per min (TPM): Limit 30,000, Requested 41,234.
_BEYOND = re.compile(r"limit:? *(\d[\d,]{0,15})\b.{0,80}?requested:? *(\d[\d,]{0,15})", re.DOTALL)
# As in: 7m12.5s, 20 seconds
_PART_OF_WAIT = re.compile(r"(\d{1,6}(?:\.\d{1,9})?) *([a-z]{1,12})", re.IGNORECASE)
# As in: please try again in 7m12.5s, retry after 20 seconds, available in 1 hour and 5 minutes
_WORDS_OF_WAIT = re.compile(
    rf"(?:try again|retry|available)(?: in| after)? +((?:{_PART_OF_WAIT.pattern},? *(?:and +)?){{1,4}})",
    re.IGNORECASE,
)
_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60}
_UNITS |= {"h": 3600, "hr": 3600, "hour": 3600, "d": 86_400, "day": 86_400}
# Gemini's `"retryDelay": "34.5s"`
_RETRY_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"')
# The token of an echoed header, as in: Bearer abcd1234
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=*-]{4,}", re.IGNORECASE)
# As in: [SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)
_UNTRUSTED = re.compile(r"certificate verify failed: ([^('\"]{1,200})")
# As in: [SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)
_HANDSHAKE = re.compile(r"\[SSL: ?([A-Z0-9_]{1,80})\]")
# What aiohttp adds, also for http: Cannot connect to host 127.0.0.1:8000 ssl:default [Connect call failed …]
_TRANSPORT = re.compile(r" ssl:(?:default|True|False|None)(?= \[)")
_LONGEST = 400
_READ = 20_000
"""Characters of a body that are searched for what it means."""
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
    text = f"{code} {message[:_READ]}".lower()
    if status == HTTPStatus.PAYMENT_REQUIRED or (status in {403, 429} and _EXHAUSTED.search(text)):
        return "quota"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return _classify_limit(text)
    kind: ErrorKind = "invalid"
    if status in _FILTERING and _FILTERED.search(text):
        kind = "filtered"
    elif status in {401, 403, 407}:
        kind = "auth"
    elif status in {408, 409, 425} or not HTTPStatus.OK <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        kind = "server"
    elif status == HTTPStatus.NOT_FOUND or _UNKNOWN.search(text):
        kind = "unknown_model"
    return kind


def _classify_limit(text: str) -> ErrorKind:
    """Return what a 429 means: a limit that passes, one of a day, or a request that is larger than it."""
    beyond = _BEYOND.search(text)
    if beyond:
        limit, size = (int(number.replace(",", "")) for number in beyond.groups())
        if size > limit:
            return "invalid"
    return "quota" if _DAILY.search(text) else "rate_limit"


def _wait_in_words(text: str) -> float | None:
    """Return the seconds that a message asks to wait; None if it names none."""
    match = _WORDS_OF_WAIT.search(text)
    total_s, is_wait = 0.0, False
    for number, unit in _PART_OF_WAIT.findall(match[1] if match else ""):
        seconds = _UNITS.get(unit.lower(), 0) or _UNITS.get(unit.lower().rstrip("s"), 0)
        is_wait = is_wait or bool(seconds)
        total_s += float(number) * seconds
    return total_s if is_wait else None


def read_retry_after(headers: Mapping[str, str], body: str = "") -> float | None:
    """Return how many seconds the server asks to wait: never negative, None if it does not say.

    Reads `retry-after-ms`, `retry-after` (seconds or an HTTP date), Gemini's `retryDelay` in the body, and words.
    """
    date = headers.get("retry-after", "")
    waits = [(headers.get("retry-after-ms", ""), 1000.0), (date, 1.0)]
    waits += [(delay, 1.0) for delay in _RETRY_DELAY.findall(body[:_READ])]
    for text, unit in waits:
        try:
            wait_s = float(text) / unit
        except ValueError:
            continue
        if math.isfinite(wait_s):
            return max(0.0, wait_s)
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return _wait_in_words(body[:_READ])


def clean_error(text: str, secrets: re.Pattern[str] | None = None) -> str:
    """Return an error's text without keys, `secrets` and control characters, as one line of bounded length."""
    if secrets:
        text = secrets.sub(HIDDEN, text)
    # Keys are hidden first, as half of one that a cut left would not be found.
    beginning = hide(text)[0][: 64 * _LONGEST]
    text = _BEARER.sub(rf"\1 {HIDDEN}", beginning)
    line = make_visible(" ".join(text.split()))
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return line


def _secrets_of(key: str, url: str) -> re.Pattern[str]:
    """Return a pattern of what no message shows: the key, and an address's password and query values."""
    parts = urlsplit(url)
    values = [key, unquote(parts.password or ""), find_credentials(parts)]
    values += [value for _, value in parse_qsl(parts.query)]
    longest_first = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
    return re.compile("|".join("".join(list_patterns(value)) for value in longest_first))


class Refusal(CallError):  # noqa: N818 - said of a server
    """An HTTP status that is no success, with the body that came with it."""

    def __init__(self, kind: ErrorKind, message: str, retry_after_s: float | None, status: int, body: str) -> None:
        super().__init__(kind, message, retry_after_s)
        self.status = status
        self.body = body


class ServerErrors:
    """The errors of one server, with its address (`where`) and without its secrets.

    `advice` ends the messages of a kind.
    """

    def __init__(self, where: str, *, url: str, key: str, variable: str) -> None:
        self.where = where
        self.advice: dict[ErrorKind, str] = {
            "auth": "the server requires a key: name its variable in `api_key_env`"
        }
        if variable:
            self.advice["auth"] = f"check the key in {variable}"
        self._secrets = _secrets_of(key, url)
        self._proxy = ""

    def clean(self, text: str) -> str:
        """Return an error's text without secrets and control characters, as one line of bounded length."""
        return clean_error(text, self._secrets)

    def refusal(self, status: int, headers: Mapping[str, str], body: str) -> Refusal:
        """Return the error for an HTTP status and body."""
        message, code, _ = read_error(body)
        # Which limit was reached stands in the details of some bodies.
        kind = classify_error(status, body if status == HTTPStatus.TOO_MANY_REQUESTS else message, code)
        text = f"HTTP {status}: {self.clean(message) or 'no message'}"
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and self._proxy:
            return Refusal(kind, self._say_proxy(status), None, status, body)
        return Refusal(kind, self._advise(kind, text), read_retry_after(headers, body), status, body)

    def hide_credentials(self, proxy: str) -> None:
        """Keep the user and password of a proxy out of all messages, and name it in those of connections."""
        self._proxy = strip_secrets(proxy)
        if "@" in proxy:
            patterns = (self._secrets.pattern, _secrets_of("", proxy).pattern)
            self._secrets = re.compile("|".join(filter(None, patterns)))

    def refuse_proxy(self, proxy: str, advice: str) -> CallError:
        """Return the error of a proxy that cannot be used."""
        text = f"{self.where} cannot be asked through the environment's proxy {strip_secrets(proxy)}"
        return CallError("invalid", self.clean(f"{text}: {advice}; NO_PROXY names what is asked directly"))

    def redirect(self, status: int, location: str) -> CallError:
        """Return the error of a redirect that is not followed."""
        target = self.clean(f"redirects to {strip_secrets(location)}, and redirects are not followed")
        return CallError("invalid", f"HTTP {status}: {target}; set `base_url` to the final address")

    def build_connection_error(self, error: BaseException) -> CallError:
        """Return the error of a connection that failed or broke, or on which malformed HTTP came.

        An untrusted certificate is permanent: it fails the endpoint at once.
        """
        text = str(error)
        untrusted, handshake = _UNTRUSTED.search(text), _HANDSHAKE.search(text)
        if untrusted:
            advice = "if your own certificate authority signed it, name its certificate's file in SSL_CERT_FILE"
            reason = f"its certificate is not trusted ({untrusted[1].strip()}); {advice}"
            return CallError("auth", f"TLS with {self.where} failed: {reason}")
        if handshake:
            advice = "a server without TLS has an address that begins with http://"
            reason = f"the handshake failed ({handshake[1]}); {advice}"
            return BrokenResponse("connection", f"TLS with {self.where} failed: {reason}")
        # What a proxy answers to CONNECT is a status of its own.
        status = getattr(error, "status", 0)
        if type(error).__name__ == "ClientHttpProxyError":
            kind: ErrorKind = "connection"
            if status in {HTTPStatus.PROXY_AUTHENTICATION_REQUIRED, HTTPStatus.FORBIDDEN}:
                kind = "auth"
            return CallError(kind, self._say_proxy(status))
        # aiohttp's `message` is what is wrong with a response; its text repeats the address too. It may also be the
        # half of a response after which the connection ended.
        message = getattr(error, "message", "")
        is_half = not isinstance(message, str)
        if is_half:
            message, text = "", "the connection ended within the response"
        reason = self.clean(_TRANSPORT.sub("", message or text)) or type(error).__name__
        route = f" (through the proxy {self._proxy})" if self._proxy else ""
        text = f"no answer from {self.where}: {reason}{route}"
        advised = self._advise("connection", text)
        is_silent = isinstance(error, OSError) or type(error).__name__ == "ServerDisconnectedError"
        if is_half or not is_silent:
            return BrokenResponse("connection", advised)
        return CallError("connection", advised)

    def _say_proxy(self, status: int) -> str:
        """Return what it means that the proxy itself answers with a status."""
        advice = "name what is asked directly in NO_PROXY"
        if status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
            advice = "set user and password in the proxy's address, or " + advice
        return f"the proxy {self._proxy} answered HTTP {status} for {self.where}: {advice}"

    def _advise(self, kind: ErrorKind, text: str) -> str:
        return "; ".join(filter(None, (text, self.advice.get(kind))))

    def quote(self, body: bytes) -> str:
        """Return the start of a body, for messages."""
        return self.clean(body[:20_000].decode("utf-8", "replace")) or "nothing"

    def parse(self, body: bytes) -> Any:
        """Return the JSON of a body.

        Raises:
            CallError: it is not JSON.
        """
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise CallError("server", f"{self.where} sent a body that is not JSON: {self.quote(body)}") from None
