"""Registries on this machine: Debian's docker-registry, and one in this process that can misbehave."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kokoro_tvm.builder.stages.provenance import statement
from kokoro_tvm.runtime.bundle.manifest import read_bundle

__all__ = ["REGISTRY", "FakeRegistry", "debian_registry", "fake_registry", "state_provenance"]

REGISTRY = shutil.which("docker-registry")
"""Debian's, if it is installed."""

_CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: error}}
"""


def state_provenance(folder: Path, recipe: str = "toy") -> Path:
    """Writes the provenance of a bundle that `write_bundle` made."""
    bundle = read_bundle(folder)
    made = statement(
        files={f.path.name: f.sha256 for f in bundle.files()} | {"bundle.json": bundle.sha256},
        recipe={"name": recipe},
        checkpoint={"config.json": "d" * 64, "voices.safetensors": bundle.voices.sha256},
        weights="e" * 64,
        front_end={},
        reports={"bert-64/validation.json": ("f" * 64, {"passed": True, "gates": {}})},
        toolchain={"python": "3.11.9", "torch": "2.13.0+cpu", "apache-tvm": "0.27.0.post1"},
        compiler={"llvm": "22"},
    )
    (folder / "provenance.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


@contextmanager
def debian_registry(folder: Path) -> Iterator[str]:
    """Debian's registry with an empty store; its HOST:PORT."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "registry.yml"
    config.write_text(_CONFIG.format(folder=folder / "store", port=port), encoding="utf-8")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(REGISTRY), "serve", str(config)], **quiet)
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@dataclass
class FakeRegistry:
    """What a registry holds, and how it misbehaves.

    blobs: by SHA-256; requests: METHOD PATH RANGE of all that came; spoil: called with a handler, the content
    it would send and the offset it would send it from, if it is given; it sends something else, and returns
    whether it did.
    """

    host: str = ""
    blobs: dict[str, bytes] = field(default_factory=dict)
    tags: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    ranges: bool = True
    token: str = ""
    spoil: Callable[[BaseHTTPRequestHandler, bytes, int], bool] | None = None


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """A registry in this process, by the OCI distribution specification as far as pushing and pulling go."""
    state = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._note()
            if self.path.startswith("/token"):
                self._send(200, json.dumps({"token": state.token}).encode())
            elif not self._allowed():
                return
            elif found := re.search(r"/manifests/(.+)$", self.path):
                name = found[1]
                content = state.tags.get(name) or state.blobs.get(name.removeprefix("sha256:"))
                self._content(content, b"MANIFEST_UNKNOWN", "manifest unknown")
            else:
                content = state.blobs.get(self.path.rpartition("/sha256:")[2])
                self._content(content, b"BLOB_UNKNOWN", "blob unknown to registry")

        do_HEAD = do_GET  # noqa: N815

        def do_POST(self) -> None:
            self._note()
            if self._allowed():
                self._send(202, b"", Location="/v2/upload?state=1")

        def do_PUT(self) -> None:
            self._note()
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if not self._allowed():
                return None
            if "/manifests/" in self.path:
                state.tags[self.path.rpartition("/")[2]] = content
                state.blobs[sha256(content).hexdigest()] = content
            elif self.path.endswith(sha256(content).hexdigest()):
                state.blobs[sha256(content).hexdigest()] = content
            else:
                return self._error(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
            return self._send(201, b"")

        def _note(self) -> None:
            state.requests.append(
                " ".join(filter(None, [self.command, self.path, self.headers.get("Range")]))
            )

        def _allowed(self) -> bool:
            if not state.token or self.headers.get("Authorization") == f"Bearer {state.token}":
                return True
            challenge = f'Bearer realm="http://{state.host}/token",service="fake",scope="all"'
            self._send(401, b"{}", **{"WWW-Authenticate": challenge})
            return False

        def _content(self, content: bytes | None, code: bytes, message: str) -> None:
            if content is None:
                return self._error(404, code.decode(), message)
            offset = int(re.sub(r"\D", "", self.headers.get("Range", "0"))) if state.ranges else 0
            if state.spoil is not None and state.spoil(self, content, offset):
                return None
            if not offset:
                return self._send(200, content)
            span = f"bytes {offset}-{len(content) - 1}/{len(content)}"
            return self._send(206, content[offset:], **{"Content-Range": span})

        def _error(self, status: int, code: str, message: str) -> None:
            self._send(status, json.dumps({"errors": [{"code": code, "message": message}]}).encode())

        def _send(self, status: int, content: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        state.host = f"127.0.0.1:{server.server_port}"
        # It looks 50 times a second whether it is to end.
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()
