"""A server that answers with bytes, whatever they are: what no HTTP library would send."""

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Answer = Callable[[int, bytes], bytes]
"""(the request's number, the request) -> what is sent; b"" closes the connection."""
Closes = Callable[[bytes], bool]
"""The request -> whether the connection is closed after its answer."""


def response(body: bytes, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Type: application/json") -> bytes:
    """Return a whole response."""
    return head + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@dataclass(slots=True)
class ByteServer:
    """The server: its `url`, the heads of the requests so far, and its open connections."""

    answer: Answer
    url: str = ""
    heads: list[bytes] = field(default_factory=list)
    connections: list[socketserver.StreamRequestHandler] = field(default_factory=list)

    def send(self, content: bytes) -> None:
        """Send bytes that nobody asked for on every connection that the client has not closed meanwhile."""
        for connection in [*self.connections]:
            with suppress(ConnectionError, ValueError):  # a closed file raises ValueError
                connection.wfile.write(content)
                connection.wfile.flush()


@contextmanager
def serve_bytes(answer: Answer, *, port: int = 0, closes: Closes = lambda _: False) -> Iterator[ByteServer]:
    """Run a server on loopback that answers each request with bytes; on a free port, if none is given."""
    server, counting = ByteServer(answer), threading.Lock()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            server.connections.append(self)
            with suppress(ConnectionError):
                while request := self._read_request():
                    head, _, _ = request.partition(b"\r\n\r\n")
                    with counting:
                        number = len(server.heads)
                        server.heads.append(head)
                    content = answer(number, request)
                    self.wfile.write(content)
                    if not content or closes(request):
                        break
            server.connections.remove(self)

        def _read_request(self) -> bytes:
            lines, length = [], 0
            while (line := self.rfile.readline()) not in {b"", b"\r\n"}:
                lines.append(line)
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not lines:
                return b""
            return b"".join([*lines, b"\r\n", self.rfile.read(length)])

    with socketserver.ThreadingTCPServer(("127.0.0.1", port), Handler) as listening:
        listening.daemon_threads = True
        server.url = f"http://127.0.0.1:{listening.server_address[1]}"
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            listening.shutdown()
