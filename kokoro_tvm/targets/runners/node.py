"""Runs WebAssembly in Node, by the JavaScript runtime that pages have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.targets.runners.served import Serving, javascript_digest, version_of_runner
from kokoro_tvm.web import WEB

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners.process import RunnerProcess

__all__ = ["NODE"]

_SERVER = Path(__file__).with_name("server.mjs")
_FILES = (_SERVER, _SERVER.with_name("serving.mjs"))
_OLDEST = 18
_RELAXED = "--experimental-wasm-relaxed-simd"  # which Node 21 has without it, and refuses to know
_WITH_RELAXED = 21


class NodeRunner(Serving):
    """node, for a program of our own."""

    way = "in Node"
    packages = ("nodejs",)

    def version(self) -> str:
        printed = self._printed()
        if _major(printed) < _OLDEST:
            raise BuildError(f"Node {printed} is too old to run the code with: install {_OLDEST} or newer")
        return f"Node {printed}"

    def options(self) -> list[str]:
        """What this Node is started with, to have all of WebAssembly that browsers have."""
        return [_RELAXED] if _major(self._printed()) < _WITH_RELAXED else []

    def _printed(self) -> str:
        return version_of_runner("node", *self.packages).removeprefix("v")

    def facts(self) -> dict[str, Any]:
        server = javascript_digest(*_FILES)
        return {"node": self.version(), "server": server}

    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        """libraries: libtvm.wasm."""
        from kokoro_tvm.targets.runners.process import RunnerProcess

        (runtime,) = libraries
        words = [*self.options(), str(_SERVER), str(WEB), str(runtime), str(threads)]
        server = RunnerProcess(["node", *words], self.version())
        server.features()  # once it answers, it has read the file
        return server


def _major(version: str) -> int:
    """0 for what is no version."""
    major = version.split(".")[0]
    return int(major) if major.isdigit() else 0


NODE = NodeRunner()
