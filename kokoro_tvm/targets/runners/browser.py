"""A headless browser whose page executes code. It polls an HTTP server of this process for requests."""

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
from kokoro_tvm.targets.runners.served import PAGE_FILES
from kokoro_tvm.web import WEB

_HERE = Path(__file__).parent
_SWITCHES = (
    *("--headless=new", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"),
    *("--disable-gpu-watchdog", "--disable-extensions", "--disable-dev-shm-usage", "--log-level=3"),
    # Root has no sandbox, nor has a user where AppArmor or a container forbids user namespaces. The page is
    # this package's own, and no other is opened.
    "--no-sandbox",
)
# Threads share memory only if every file comes with these headers.
_ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
# $0 is the profile. The browser ends with this process, even if that is killed: then stdin closes.
_ENDING = """
"$@" & browser=$!
exec 3<&0
{ cat <&3 >/dev/null; kill $browser; } 2>/dev/null &
wait $browser
status=$?
rm -rf "$0"
exit $status
"""
_CHECK_INTERVAL_S = 1.0  # between checks whether the browser has ended
_POLL_TIMEOUT_S = 20.0  # after which the page asks again
_TYPES = {".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript"}


class Browser(RunnerProcess):
    """Server process whose requests a page of a browser answers."""

    def __init__(self, program: str, name: str, runtime: Path, settings: str) -> None:
        """Serve the page on this machine, and start a browser that opens it with a new profile."""
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
        """Load a library and kernels, which the page may then fetch; see `RunnerProcess.open`."""
        self._exchanges.files = {str(file) for file in (path, kernels) if file is not None}
        return super().open(path, kind, device, kernels, prefix)

    def _exchange(self, parts: Sequence[bytes | memoryview]) -> IO[bytes]:
        """Pass a request to the page and wait for its reply.

        Raises BundleError if it failed, OSError if it ended.
        """
        self._exchanges.requests.put(b"".join(parts))
        while True:
            try:
                reply = self._exchanges.replies.get(timeout=_CHECK_INTERVAL_S)
            except queue.Empty:
                if self._process.poll() is not None:
                    raise OSError("the browser has ended") from None
                continue
            if isinstance(reply, str):
                raise BundleError(f"{self.name} failed: {reply}")
            return BytesIO(reply)


class _Exchanges:
    """Queues between the page and this process; `files` are the paths that the page may read now."""

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self.secret = secrets.token_hex(16)  # no other page knows the address
        self.files: set[str] = set()
        self.requests: queue.Queue[bytes] = queue.Queue()
        self.replies: queue.Queue[bytes | str] = queue.Queue()

    def get(self, path: str, query: str) -> bytes | None:
        """Return the content of an address below the secret, or None."""
        if path == "request":
            try:
                return self.requests.get(timeout=_POLL_TIMEOUT_S)
            except queue.Empty:
                return b""
        if path == "runtime":
            return self.runtime.read_bytes()
        if path == "file":
            name = unquote(query)
            return Path(name).read_bytes() if name in self.files else None
        file = WEB / path.removeprefix("web/") if path.startswith("web/") else _HERE / path
        is_served = path in PAGE_FILES or (path.startswith("web/") and file.resolve().is_relative_to(WEB))
        return file.read_bytes() if is_served and file.is_file() else None

    def post(self, path: str, content: bytes) -> None:
        """Queue a reply that the page posted, or as text the message of its failure; ignore other paths."""
        if path == "reply":
            self.replies.put(content)
        elif path == "failure":
            self.replies.put(content.decode(errors="replace"))


def _serve(exchanges: _Exchanges) -> ThreadingHTTPServer:
    """Start an HTTP server on a free port of the loopback interface, in a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Answer with a file, or with the next request; 404 without the secret, 204 if there is none."""
            secret, _, path = urlsplit(self.path).path.lstrip("/").partition("/")
            content = exchanges.get(path, urlsplit(self.path).query) if secret == exchanges.secret else None
            self._answer(
                404 if content is None else 200 if content or path != "request" else 204, content or b""
            )

        def do_POST(self) -> None:
            """Pass on a reply of the page that knows the secret."""
            secret, _, path = self.path.lstrip("/").partition("/")
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if secret == exchanges.secret:
                exchanges.post(path, content)
            self._answer(204, b"")

        def _answer(self, status: int, content: bytes) -> None:
            """Send a response that isolates the page from other origins."""
            self.send_response(status)
            kind = _TYPES.get(Path(urlsplit(self.path).path).suffix, "application/octet-stream")
            for name, value in {**_ISOLATION, "Content-Type": kind, "Cache-Control": "no-store"}.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
