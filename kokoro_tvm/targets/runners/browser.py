"""A browser without a window, whose page runs code: it takes requests from a server of this process."""

from __future__ import annotations

import queue
import secrets
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, Literal
from urllib.parse import unquote, urlsplit

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.targets.runners.process import CPU, RunnerProcess
from kokoro_tvm.web import WEB

__all__ = ["FILES", "Browser"]

_HERE = Path(__file__).parent
FILES = ("chromium.html", "chromium.mjs", "serving.mjs")
"""The files of the page that runs code."""
_SWITCHES = (
    *("--headless=new", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),
    *("--disable-gpu-watchdog", "--disable-extensions", "--disable-dev-shm-usage", "--log-level=3"),
    # Root has no sandbox, nor has a user where AppArmor or a container forbids user namespaces. The page is
    # this package's own, and no other is opened.
    "--no-sandbox",
)
# Memory is shared between threads where these come with every file.
_ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
# Ends the browser, whose profile is $0, with the process that reads from it: that may end without a word.
_ENDING = """
"$@" & browser=$!
exec 3<&0
{ cat <&3 >/dev/null; kill $browser; } 2>/dev/null &
wait $browser
status=$?
rm -rf "$0"
exit $status
"""
_PAUSE_S = 1.0  # between looks at whether the browser is still there
_POLL_S = 20.0  # that it waits for a request before it asks again
_TYPES = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"}


class Browser(RunnerProcess):
    """A browser whose page runs code."""

    def __init__(self, program: str, name: str, runtime: Path, settings: str) -> None:
        self._exchanges = _Exchanges(runtime)
        self._http = _serve(self._exchanges)
        profile = mkdtemp(prefix="kokoro-tvm-chromium-")
        host, port = self._http.server_address[:2]
        page = f"http://{host!s}:{port}/{self._exchanges.secret}/chromium.html?{settings}"
        command = [program, *_SWITCHES, f"--user-data-dir={profile}", page]

        def afterwards(http: ThreadingHTTPServer = self._http) -> None:
            http.shutdown()
            http.server_close()

        super().__init__(["sh", "-c", _ENDING, profile, *command], name, afterwards=afterwards)

    def open(
        self,
        path: Path,
        kind: Literal["vm", "module"],
        device: str = CPU,
        kernels: Path | None = None,
        prefix: str = "",
    ) -> int:
        self._exchanges.files = {str(each) for each in (path, kernels) if each is not None}
        return super().open(path, kind, device, kernels, prefix)

    def _exchange(self, parts: Sequence[bytes | memoryview]) -> IO[bytes]:
        self._exchanges.requests.put(b"".join(parts))
        while True:
            try:
                reply = self._exchanges.replies.get(timeout=_PAUSE_S)
            except queue.Empty:
                if self._process.poll() is not None:
                    raise OSError("the browser has ended") from None
                continue
            if isinstance(reply, str):
                raise BundleError(f"{self.name} failed: {reply}")
            return BytesIO(reply)


class _Exchanges:
    """What the page and this process hand each other. files: that the page may read by their paths now."""

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self.secret = secrets.token_hex(16)  # no other page knows the address
        self.files: set[str] = set()
        self.requests: queue.Queue[bytes] = queue.Queue()
        self.replies: queue.Queue[bytes | str] = queue.Queue()

    def get(self, path: str, query: str) -> bytes | None:
        """What an address below the secret has; None for nothing."""
        if path == "request":
            try:
                return self.requests.get(timeout=_POLL_S)
            except queue.Empty:
                return b""
        if path == "runtime":
            return self.runtime.read_bytes()
        if path == "file":
            name = unquote(query)
            return Path(name).read_bytes() if name in self.files else None
        found = WEB / path.removeprefix("web/") if path.startswith("web/") else _HERE / path
        is_served = path in FILES or (path.startswith("web/") and found.resolve().is_relative_to(WEB))
        return found.read_bytes() if is_served and found.is_file() else None

    def post(self, path: str, content: bytes) -> None:
        if path == "reply":
            self.replies.put(content)
        elif path == "failure":
            self.replies.put(content.decode(errors="replace"))


def _serve(exchanges: _Exchanges) -> ThreadingHTTPServer:
    """A server on this machine alone, which runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            secret, _, path = urlsplit(self.path).path.lstrip("/").partition("/")
            found = exchanges.get(path, urlsplit(self.path).query) if secret == exchanges.secret else None
            self._answer(404 if found is None else 200 if found or path != "request" else 204, found or b"")

        def do_POST(self) -> None:
            secret, _, path = self.path.lstrip("/").partition("/")
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if secret == exchanges.secret:
                exchanges.post(path, content)
            self._answer(204, b"")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            kind = _TYPES.get(Path(urlsplit(self.path).path).suffix, "application/octet-stream")
            for name, value in {**_ISOLATION, "Content-Type": kind, "Cache-Control": "no-store"}.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
