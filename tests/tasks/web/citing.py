"""Answers that cite pages, policies that lead to the tests' server, and a certificate for its names."""

import datetime as dt
import json
import ssl
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from basic_control.tasks.store.samples import SampleRow
from basic_control.tasks.web import Limits, NetworkPolicy
from tests.tasks.web.site import HOST, Site, lookup

LIMITS = Limits(connect_s=2, read_s=1, total_s=4, delay_s=0)
CLAIM = "The ship sank on 15 April 1912, four days into her maiden voyage"


def net(site: Site, *names: str, limits: Limits = LIMITS, more: Mapping[str, Any] | None = None) -> NetworkPolicy:
    """Return a policy by which the names lead to the test's server, and nothing else is allowed."""
    known: dict[str, str | Sequence[str]] = dict.fromkeys((*names, "iana.org"), HOST)
    return NetworkPolicy(
        resolve=lookup(known | dict(more or {})),
        allows=lambda address: address == ip_address(HOST),
        ports={80: site.port},
        limits=limits,
    )


def answered(*sources: Mapping[str, Any], item: str = "item", model: str = "model", text: str = "") -> SampleRow:
    """Return an answer that cites sources by their numbers from 1."""
    body = text or " ".join(f"{CLAIM} [{n}]." for n in range(1, len(sources) + 1))
    response = json.dumps({"answer": body, "citations": [{"number": n, **s} for n, s in enumerate(sources, 1)]})
    return SampleRow(item, model, 0, "en", {"question": "?", "response": response}, None, None)


def certificate(folder: Path, *names: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return contexts of a server with a certificate for names, and of a client that trusts it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = folder / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = made.public_bytes(serialization.Encoding.PEM)
    pem.write_bytes(secret + public)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cadata=public.decode())
