"""A static web server without headers of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any


class QuietHandler(SimpleHTTPRequestHandler):
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript"}

    def log_message(self, format: str, *values: Any) -> None:
        pass


@contextmanager
def listening(handler: Callable[..., Any]) -> Iterator[str]:
    """Start a server with a handler and yield its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.02,))  # 50 times a second it looks whether to end
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Host:
    """A folder on a host with recorded requests, whose answers a test may change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[str] = []
        self.answer: Callable[[str], bytes | None] = lambda path: None
        self.address = ""

    @contextmanager
    def running(self) -> Iterator[Host]:
        with listening(partial(_HostHandler, host=self)) as address:
            self.address = address
            yield self

    def pieces(self) -> list[str]:
        """Return the digests of the requested pieces."""
        return [path.removeprefix("/pieces/") for path in self.requests if path.startswith("/pieces/")]


class _HostHandler(QuietHandler):
    def __init__(self, *values: Any, host: Host) -> None:
        self.host = host
        super().__init__(*values, directory=str(host.folder))

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.host.requests.append(path)
        other = self.host.answer(path)
        if other is None:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Length", str(len(other)))
        self.end_headers()
        self.wfile.write(other)
        return None
