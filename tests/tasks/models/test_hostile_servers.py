"""Servers that put callers off, change their model, echo keys or cannot be trusted: each is told, and no more."""

import base64
import datetime as dt
import ipaddress
import logging
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from basic_control.config.settings import Model, StoreSettings
from basic_control.data.batches import Cell
from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError, find_server_digest
from basic_control.tasks.query import ask, identify_model
from tests.helpers.requests import NUMBERS, model_at, prompts_seen, requests_of
from tests.servers import Fault, serve, serve_ollama, serve_openai
from tests.servers.service import Service
from tests.tasks.models.asking import error_of, reply_of, using

KEY = "sk-0123456789abcdef-Secret_of+ours/x"
DAY = Fault("status", status=429, message="come back tomorrow", headers={"Retry-After": "86400"})
GOOD = {
    "choices": [{"message": {"content": "well"}}],
    "message": {"role": "assistant", "content": "well"},
    "done": True,
    "answer": "well",
}
PROVIDERS = ("openai", "azure", "ollama", "http")


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, KEY)


def at(provider: str, url: str, **fields: Any) -> Model:
    given: dict[str, Any] = {"name": "m", "provider": provider, "base_url": url, "deadline_s": 20}
    given |= {"text": "answer"} if provider == "http" else {}
    given |= {"api_version": "1"} if provider == "azure" else {}
    return Model.model_validate(given | fields)


def test_one_answer_that_asks_to_wait_for_a_day_fails_its_call_alone(tmp_path: Path) -> None:
    with serve_openai("yes", faults=lambda number, _: DAY if number == 5 else None) as server:
        model = model_at(server, deadline_s=30, max_concurrency=8)
        responses, tally = ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"))
        assert len(server.requests) == len(NUMBERS), "each is asked, and none twice"
    assert (tally.answered, tally.failed) == (len(NUMBERS) - 1, 1)
    (error,) = responses["error"].drop_nulls()
    assert "come back tomorrow; the server asks to wait 86400 s, longer than 30 s (deadline_s)" in error


def test_a_few_such_answers_in_a_row_close_the_endpoint_with_the_reason_and_the_rest_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serve_openai("yes", faults=lambda number, _: DAY if number >= 10 else None) as server:
        model = model_at(server, deadline_s=30, max_concurrency=2)
        with caplog.at_level(logging.WARNING, logger="tasks"):
            responses, tally = ask(requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"))
        assert 13 <= len(server.requests) <= 15, "three, and what was in flight beside them"
    assert tally.answered == 10
    assert tally.failed == len(NUMBERS) - 10
    assert sum("not sent: the last 3 responses said" in error for error in responses["error"].drop_nulls()) >= 25
    said = [record.getMessage() for record in caplog.records if "closed" in record.getMessage()]
    assert len(said) == 1
    assert "come back tomorrow" in said[0]


class Exchanged:
    """An Ollama server whose model becomes another one with its `after`th answer."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.answered = 0
        self.lock = threading.Lock()
        self.digests = {"m:latest": "a" * 64}

    def reply(self, _body: dict[str, Any]) -> str:
        """Answer, and exchange the model when it is time."""
        with self.lock:
            self.answered += 1
            if self.answered == self.after:
                self.digests["m:latest"] = "b" * 64
        return "yes"


def test_a_model_that_is_exchanged_during_the_run_is_noticed_and_its_replies_are_not_kept(tmp_path: Path) -> None:
    place, changing = StoreSettings(root=str(tmp_path)), Exchanged(after=20)
    with serve_ollama(changing.reply, models={"m:latest": "a" * 64}) as server:
        server.script.models = changing.digests
        model = Model.model_validate({"name": "m", "base_url": server.base_url, "max_concurrency": 2})
        old = identify_model(model)
        first = requests_of(model, NUMBERS[:10])
        kept, _ = ask(first, model, place, Cell("x"), digest=find_server_digest(old))
        responses, tally = ask(
            requests_of(model, NUMBERS[10:]), model, place, Cell("x"), digest=find_server_digest(old)
        )
        assert kept["error"].null_count() == 10, "what was answered before the last look is sound"
        assert (tally.answered, tally.failed) == (0, len(NUMBERS) - 10)
        assert set(responses["error_kind"]) == {"unknown_model"}
        assert (
            "replaced on its server during the run (digest aaaaaaaaaaaa, now bbbbbbbbbbbb)" in responses["error"][0]
        )
        new = identify_model(model)
        assert new != old
        before = len(server.requests)
        again, tally = ask(first, model, place, Cell("x"), digest=find_server_digest(new))
        assert (tally.cached, len(server.requests)) == (10, before)
        assert not again["error"].drop_nulls().len()
        _, tally = ask(requests_of(model, NUMBERS[10:12]), model, place, Cell("x"), digest=find_server_digest(new))
        assert tally.cached == 0, "nothing of the exchanged model's was remembered"


def test_a_model_that_stays_costs_a_look_a_batch_and_nothing_else(tmp_path: Path) -> None:
    with serve_ollama("yes", models={"m:latest": "a" * 64}) as server:
        model = Model.model_validate({"name": "m", "base_url": server.base_url})
        digest = find_server_digest(identify_model(model))
        before = len(server.lookups)
        _, tally = ask(
            requests_of(model, NUMBERS), model, StoreSettings(root=str(tmp_path)), Cell("x"), digest=digest
        )
        assert len(server.lookups) - before == 2, "its version, and its list"
        assert set(prompts_seen(server).values()) == {1}
    assert tally.answered == len(NUMBERS)


@pytest.mark.parametrize("spelt", ["", "key: ", "Bearer ", "my-user:", "{"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_that_comes_back_in_base64_is_in_no_error(provider: str, spelt: str) -> None:
    inner = f"{spelt}{KEY}, and more".encode()
    echoed = f"bad: {base64.b64encode(inner).decode()} or {base64.urlsafe_b64encode(inner).decode()}"
    service = Service(lambda *_: web.json_response({"error": {"message": echoed}}, status=400))
    with serve(service.build()) as url:
        error = error_of(at(provider, url, api_key_env="MY_KEY"))
    assert "[key hidden]" in error.message
    # The characters whose bits are the key's alone.
    first, past = -(-8 * len(spelt) // 6), 8 * (len(spelt) + len(KEY)) // 6
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        own = encode(inner).decode()[first:past]
        assert not [own[n : n + 6] for n in range(len(own) - 5) if own[n : n + 6] in error.message]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a certificate for 127.0.0.1 that nobody has signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(address, critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


def secured(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_certificate_that_is_not_trusted_is_said_to_be_that(
    provider: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(Service(lambda *_: GOOD).build(), secured(certificate)) as url:
        errors = [error_of(at(provider, url))]
        if provider in {"openai", "ollama"}:
            with pytest.raises(CallError) as caught:
                using(at(provider, url), lambda client: client.identity())
            errors.append(caught.value)
        for error in errors:
            assert error.message.startswith(f"TLS with {url}"), error.message
            assert "its certificate is not trusted (self-signed certificate)" in error.message
            assert "SSL_CERT_FILE" in error.message
            assert error.kind == "auth", "it stays so: nothing is tried again"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert isinstance(reply_of(at(provider, url)), Reply), "as the message advises"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_without_tls_at_an_https_address_is_said_to_be_that(provider: str) -> None:
    with serve(Service(lambda *_: GOOD).build()) as url:
        error = error_of(at(provider, url.replace("http:", "https:")))
    assert error.message.startswith("TLS with https://127.0.0.1"), error.message
    assert "begins with http://" in error.message
    assert error.kind == "connection"
