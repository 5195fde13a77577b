"""A SOCKS5 proxy, byte by byte: it notes where it was asked to connect, and connects every name to one server."""

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

PASSWORD = 2
DOMAIN = 3


@dataclass(slots=True)
class SocksProxy:
    """The proxy: its `address`, where it was asked to connect, and the users who asked."""

    address: str = ""
    targets: list[str] = field(default_factory=list)
    users: list[bytes] = field(default_factory=list)


@contextmanager
def serve_socks(port: int) -> Iterator[SocksProxy]:
    """Run a SOCKS5 proxy on loopback that leads to the server on `port`, whatever name is asked for."""
    proxy = SocksProxy()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            methods = self.rfile.read(self.rfile.read(2)[1])
            if PASSWORD in methods:
                self.wfile.write(b"\x05\x02")
                user = self.rfile.read(self.rfile.read(2)[1])
                proxy.users.append(user + b":" + self.rfile.read(self.rfile.read(1)[0]))
                self.wfile.write(b"\x01\x00")
            else:
                self.wfile.write(b"\x05\x00")
            # What is asked for is a name or an IPv4 address.
            size = 4
            if self.rfile.read(4)[3] == DOMAIN:
                size = self.rfile.read(1)[0]
            host = self.rfile.read(size).decode("latin-1")
            (target_port,) = struct.unpack(">H", self.rfile.read(2))
            proxy.targets.append(f"{host}:{target_port}")
            with socket.create_connection(("127.0.0.1", port)) as server, suppress(OSError):
                self.wfile.write(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
                back = threading.Thread(target=self._copy, args=(server,), daemon=True)
                back.start()
                while content := self.connection.recv(65536):
                    server.sendall(content)

        def _copy(self, server: socket.socket) -> None:
            with suppress(OSError):
                while content := server.recv(65536):
                    self.connection.sendall(content)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        proxy.address = f"127.0.0.1:{listening.server_address[1]}"
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield proxy
        finally:
            listening.shutdown()
