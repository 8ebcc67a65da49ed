"""Runs WebAssembly in Node, by the JavaScript runtime that pages have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.javascript import WEB
from kokoro_tvm.runners.served import Serving, version_of_runner

if TYPE_CHECKING:
    from kokoro_tvm.runners.process import Server

__all__ = ["NODE"]

_SERVER = Path(__file__).with_name("server.mjs")
_FILES = (_SERVER, _SERVER.with_name("serving.mjs"))
_OLDEST = 18


class Node(Serving):
    """node, for a program of our own."""

    @property
    def way(self) -> str:
        return "in Node"

    @property
    def packages(self) -> tuple[str, ...]:
        return ("nodejs",)

    def version(self) -> str:
        printed = version_of_runner("node", *self.packages).removeprefix("v")
        if not printed.split(".")[0].isdigit() or int(printed.split(".")[0]) < _OLDEST:
            raise BuildError(f"Node {printed} is too old to run the code with: install {_OLDEST} or newer")
        return f"Node {printed}"

    def facts(self) -> dict[str, Any]:
        if not (WEB / "runtime").is_dir():
            raise BuildError(f"{WEB} lacks the JavaScript that runs the code: install kokoro-tvm again")
        contents = [path.read_bytes() for path in (*_FILES, *sorted((WEB / "runtime").glob("*.js")))]
        return {"node": self.version(), "server": hashlib.sha256(b"".join(contents)).hexdigest()}

    def serve(self, libraries: Sequence[Path], threads: int) -> Server:
        """libraries: libtvm.wasm."""
        from kokoro_tvm.runners.process import Server

        (runtime,) = libraries
        server = Server(["node", str(_SERVER), str(WEB), str(runtime), str(threads)], self.version())
        server.features()  # once it answers, it has read the file
        return server


NODE = Node()
