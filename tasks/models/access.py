"""How a server is reached: its address, and the key that it wants."""

import hashlib
import os
import re
from base64 import b64encode
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from basic_control.config.settings import Model
from basic_control.data.draw import format_canonical
from basic_control.data.errors import InputError
from basic_control.tasks.runtime.secrets import know

_OLLAMA_PORT = 11434
# The port of 127.0.0.1:11500 and [::1]:11500; [::1] has none.
_WITH_PORT = re.compile(r":\d+$")
_USUAL = {"openai": "OPENAI_API_KEY", "azure": "AZURE_OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def find_key_variable(model: Model) -> str:
    """Return the environment variable of a model's key; '' if it needs none."""
    # OpenAI's own key is not for other servers, nor Anthropic's.
    if model.api_key_env or (model.provider in {"openai", "anthropic"} and model.base_url):
        return model.api_key_env
    return _USUAL.get(model.provider, "")


def find_key(model: Model) -> str:
    """Return the model's key from the environment; '' if it needs none.

    Raises:
        InputError: its variable is not set.
    """
    variable = find_key_variable(model)
    key = os.environ.get(variable, "").strip()
    if key and not (key.isascii() and key.isprintable()):
        raise InputError(
            f"model {model.name!r}: the key in {variable} contains characters not allowed in a header; "
            "set it again, without line breaks or typographic quotation marks"
        )
    know(key)
    if key or not variable:
        return key
    source, advice = f"provider {model.provider} reads its key from", ", or name another variable in `api_key_env`"
    if model.api_key_env:
        source, advice = "api_key_env names", ""
    raise InputError(
        f"model {model.name!r}: {source} the environment variable {variable}, which is not set; set it "
        f"(export {variable}=…){advice}; never write the key itself in the configuration"
    )


_ADDRESSES = {
    "openai": "; without base_url, OPENAI_BASE_URL is read",
    "ollama": "; without base_url, OLLAMA_HOST is read",
    "anthropic": "; without base_url, ANTHROPIC_BASE_URL is read",
}


def strip_secrets(url: str) -> str:
    """Return an address without user, password, query and fragment, safe to write down."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def read_address(model: Model, url: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """Split an address into its bare form, the header for its user info, and its query.

    Raises:
        InputError: the address is invalid.
    """
    host = url.rpartition("@")[2].partition("?")[0]
    text = f"model {model.name!r}: found base_url {host!r}, expected an address such as http://127.0.0.1:8000/v1"
    if "$" in host or "{{" in host:
        text += f". Variables are not filled in here{_ADDRESSES.get(model.provider, '')}"
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, brackets that do not close
        raise InputError(text) from None
    if not is_address:
        raise InputError(text)
    headers = {}
    if parts.password or parts.username:
        headers["Authorization"] = f"Basic {find_credentials(parts)}"
    return strip_secrets(url), headers, dict(parse_qsl(parts.query, keep_blank_values=True))


def find_credentials(parts: SplitResult) -> str:
    """Return an address's user and password as HTTP Basic credentials."""
    return b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()).decode()


def find_address(model: Model) -> str:
    """Return the address of a model's server; '' if its provider alone knows it."""
    return find_ollama(model) if model.provider == "ollama" else model.base_url


def digest_access(model: Model, source: str) -> str:
    """Return a hash of what decides which model an entry reaches; `source` is that of a plug-in's provider."""
    entry = [model.provider, model.server_name, find_address(model), model.file, model.api_version, model.options]
    return hashlib.sha256(format_canonical([*entry, source]).encode()).hexdigest()


def find_ollama(model: Model) -> str:
    """Return the address of a model's Ollama server: its own, else OLLAMA_HOST, else this machine."""
    host = model.base_url or os.environ.get("OLLAMA_HOST") or "127.0.0.1"
    parts = urlsplit(host if "://" in host else f"http://{host}")
    # Without a scheme Ollama's own port is meant, not 80.
    if "://" not in host and not _WITH_PORT.search(parts.netloc):
        parts = parts._replace(netloc=f"{parts.netloc}:{_OLLAMA_PORT}")
    # The address of its OpenAI-compatible API is often copied.
    return urlunsplit(parts._replace(path=parts.path.rstrip("/").removesuffix("/v1")))
