"""Answers that no server should give, drawn by a seed: malformed HTTP, bodies of nonsense, two answers at once."""

import gzip
import json
import random
import zlib
from collections.abc import Callable
from typing import Any

from tests.servers.bytes import response

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json"
BANNERS = (
    b"SSH-2.0-OpenSSH_9.6\r\n",
    b"220 mail.example ESMTP\r\n",
    b"* OK IMAP4 ready\r\n",
    b"-ERR unknown command\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x15\x03\x01\x00\x02\x02\x28",
    b"RFB 003.008\n",
    b"<html><body>502</body></html>",
    b"\x00" * 64,
    b"ICY 200 OK\r\n\r\n",
)
COUNTS = (2**63, 2**64, 10**30, -1, 1.5e308, "12", None, True, [], {}, float("nan"), float("inf"))
CONTENTS = (5, 1.5, True, {"text": "nobody asked"}, {}, [5], [{"type": "text", "text": {}}], [[]])

Draw = random.Random
Forge = Callable[[Draw, str], bytes]


def answer_of(text: Any, **fields: Any) -> dict[str, Any]:
    """Return a body that every provider reads as an answer."""
    message = {"role": "assistant", "content": text}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "model": "m", "message": message}
    return body | {"done": True, "done_reason": "stop", "answer": text} | fields


def sent(text: str) -> bytes:
    """Return the bytes of an answer as it should be."""
    return response(json.dumps(answer_of(text)).encode())


def _noise(draw: Draw, length: int) -> bytes:
    return bytes(draw.randrange(256) for _ in range(length))


def _forge_status(draw: Draw, text: str) -> bytes:
    line = draw.choice([
        b"HTTP/1.1", b"HTTP/1.1 OK", b"HTTP/1.1 20 OK", b"HTTP/1.1 2000 OK", b"HTTP/9.9 200 OK", b"HTTP/1.1 -1 OK",
        b"http/1.1 200 ok", b"HTTP/1.1  200  OK", b" HTTP/1.1 200 OK", b"HTTP/1.1 200 OK" + b"x" * 100_000,
        b"HTTP/1.1 999 Strange", b"HTTP/1.1 000 Nothing", b"HTTP/1.1 101 Switching Protocols",
        b"HTTP/1.1 204 No Content", b"HTTP/1.1 304 Not Modified", b"HTTP/1.1 \xff\xfe OK",
    ])  # fmt: skip
    return response(json.dumps(answer_of(text)).encode(), line)


def _forge_header(draw: Draw, text: str) -> bytes:
    header = draw.choice([
        b"Set-Cookie: " + b"c" * draw.choice([9_000, 60_000, 70_000, 2_000_000]),
        b"\r\n".join(b"X-%d: y" % number for number in range(draw.choice([200, 40_000]))),
        b"nonsense", b": no name", b"X A: b", b"X: \x00", b"X: a\rb", b"\xff\xfe: x", b" folded", b"X\t: y",
        b"Content-Length: 5", b"Content-Length: -5", b"Content-Length: 1e9", b"Content-Length: +7",
        b"Content-Length: 99999999999999999999999", b"Content-Length:", b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked, chunked", b"Content-Encoding: br",
        b"Content-Encoding: zstd", b"Content-Encoding: gzip, gzip", b"Content-Encoding: \xff", b"Location: http://[",
        b"Connection: upgrade", b"Content-Type: \xff\xff; charset=nonsense", b"Retry-After: nan",
    ])  # fmt: skip
    return response(json.dumps(answer_of(text)).encode(), OK + b"\r\n" + header)


def _forge_chunks(draw: Draw, text: str) -> bytes:
    body = json.dumps(answer_of(text)).encode()
    size = b"%x" % len(body)
    chunks = draw.choice([
        size + b"\r\n" + body,
        size + b"\r\n" + body + b"\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\nnobody asked",
        b"zz\r\n" + body + b"\r\n0\r\n\r\n",
        b"-5\r\n" + body + b"\r\n0\r\n\r\n",
        b"ffffffffffffffffffffff\r\n" + body,
        b"5\r\n" + body + b"\r\n0\r\n\r\n",
        size + b";" + b"x" * 100_000 + b"\r\n" + body + b"\r\n0\r\n\r\n",
        size + b"\r\n" + body + b"\r\n0\r\ntrailer without colon\r\n\r\n",
        b"\r\n" * 50,
    ])  # fmt: skip
    return OK + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks


def _forge_length(draw: Draw, text: str) -> bytes:
    body = json.dumps(answer_of(text)).encode()
    surplus = draw.choice([
        b"\r\n\r\n", b"x", sent("nobody asked"), b"HTTP/1.1 500 Broken\r\n\r\n", _noise(draw, 2000), b"\x00", b"}",
    ])  # fmt: skip
    # Too long, too short, or two of them.
    cut = draw.randrange(1, len(body))
    return draw.choice([
        response(body) + surplus,
        OK + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:cut],
        OK + b"\r\nContent-Length: %d\r\n\r\n" % cut + body,
        OK + b"\r\n\r\n" + body[:cut],
        (OK + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)[: draw.randrange(1, 40)],
        sent("nobody asked") + response(body),
    ])  # fmt: skip


def _forge_encoding(draw: Draw, text: str) -> bytes:
    body = json.dumps(answer_of(text)).encode()
    packed = gzip.compress(body)
    return draw.choice([
        response(packed[: len(packed) // 2], OK + b"\r\nContent-Encoding: gzip"),
        response(packed[:-8] + _noise(draw, 8), OK + b"\r\nContent-Encoding: gzip"),
        response(body, OK + b"\r\nContent-Encoding: gzip"),
        response(gzip.compress(b" " * 60_000_000), OK + b"\r\nContent-Encoding: gzip"),
        response(zlib.compress(body)[:-6], OK + b"\r\nContent-Encoding: deflate"),
        response(_noise(draw, 500), OK + b"\r\nContent-Encoding: deflate"),
        response(packed, OK),
    ])  # fmt: skip


def _forge_text(draw: Draw, text: str) -> bytes:
    body = json.dumps(answer_of(text))
    return response(
        draw.choice([
            b"", b"null", b"[]", b"5", b'"text"', b"{}", b"{", b"[" * 200_000, b'{"a":' * 100_000, b"1" * 100_000,
            body.encode("utf-16"), body.encode() + body.encode(), body.encode()[:-1] + b"\xff\xfe}",
            body.replace(text, "\xff\xfe").encode("latin-1"), b"\xff" * 100, b"data: {}\n\ndata: [DONE]\n\n",
            b"data: " + body.encode() + b"\n\ndata: [DONE]\n\n", b"<html>Bad gateway</html>", _noise(draw, 300),
            b'{"error": true}', b'{"error": {"message": {"a": [1]}, "code": 5}}', b'{"error": [[]]}', b"NaN",
            json.dumps(answer_of(text)).replace("{", "{" + '"x": 1e999, ').encode(),
        ])
    )  # fmt: skip


def _forge_fields(draw: Draw, text: str) -> bytes:
    # Each damages one field, of every provider's form.
    count = draw.choice(COUNTS)
    usage = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
    body = answer_of(text)
    damage = draw.choice(["usage", "details", "counts", "content", "choices", "message", "finish", "status"])
    if damage == "usage":
        body["usage"] = draw.choice([usage, [usage], "many", count])
    elif damage == "details":
        body["usage"] = {"completion_tokens_details": count, "prompt_tokens_details": {"cached_tokens": count}}
    elif damage == "counts":
        body |= {"prompt_eval_count": count, "eval_count": count, "timings": {"prompt_n": count, "cache_n": count}}
    elif damage == "content":
        body = answer_of(draw.choice(CONTENTS))
    elif damage == "choices":
        body["choices"] = draw.choice([[], {}, "x", [None], [5], [[]], 7])
        body["message"] = body["answer"] = None
    elif damage == "message":
        message = draw.choice([None, "x", 5, [], {"content": None}, {"role": "assistant"}, {}])
        body |= {"choices": [{"message": message}], "message": message, "answer": {}}
    elif damage == "finish":
        reason = draw.choice([5, [], {}, "x" * 100_000, "\ud800"])
        body["choices"][0]["finish_reason"] = body["done_reason"] = reason
    else:
        line = draw.choice(
            [b"500 Broken", b"503 Busy", b"400 Bad", b"403 Forbidden", b"302 Moved", b"404 Not Found"]
        )
        return response(json.dumps(body).encode(), b"HTTP/1.1 " + line)
    return response(json.dumps(body).encode())


def _forge_protocol(draw: Draw, _text: str) -> bytes:
    return draw.choice([*BANNERS, _noise(draw, 1), _noise(draw, 5000), b""])


FORGES: tuple[Forge, ...] = (
    _forge_status,
    _forge_header,
    _forge_chunks,
    _forge_length,
    _forge_encoding,
    _forge_text,
    _forge_fields,
    _forge_protocol,
)


def forge(seed: int, text: str) -> bytes:
    """Return the bytes of a malformed answer whose text, if any is read, is `text`."""
    draw = random.Random(seed)
    return FORGES[seed % len(FORGES)](draw, text)
