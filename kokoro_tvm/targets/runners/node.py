"""Runner of WebAssembly in Node, with the JavaScript runtime of pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.targets.runners.served import Serving, javascript_digest, version_of_runner
from kokoro_tvm.web import WEB

if TYPE_CHECKING:
    from kokoro_tvm.targets.runners.process import RunnerProcess

_SERVER = Path(__file__).with_name("server.mjs")
_FILES = (_SERVER, _SERVER.with_name("serving.mjs"))
_OLDEST = 18
_RELAXED = "--experimental-wasm-relaxed-simd"  # Node 21 has it by default and refuses the option
_WITH_RELAXED = 21


class NodeRunner(Serving):
    """Node with the server `server.mjs`."""

    way = "in Node"
    packages = ("nodejs",)

    def version(self) -> str:
        """Return Node's version. Raises BuildError if it is missing or too old."""
        printed = self._printed_version()
        if _major(printed) < _OLDEST:
            raise BuildError(f"Node {printed} is too old to run the code with: install {_OLDEST} or newer")
        return f"Node {printed}"

    def options(self) -> list[str]:
        """Return the options that give this Node all of WebAssembly that browsers have."""
        return [_RELAXED] if _major(self._printed_version()) < _WITH_RELAXED else []

    def _printed_version(self) -> str:
        """Return Node's version without the leading v. Raises BuildError if it is not installed."""
        return version_of_runner("node", *self.packages).removeprefix("v")

    def facts(self) -> dict[str, Any]:
        """Return versions, and the digest of the server."""
        server = javascript_digest(*_FILES)
        return {"node": self.version(), "server": server}

    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        """Start a server with the runtime libtvm.wasm."""
        from kokoro_tvm.targets.runners.process import RunnerProcess

        (runtime,) = libraries
        words = [*self.options(), str(_SERVER), str(WEB), str(runtime), str(threads)]
        server = RunnerProcess(["node", *words], self.version())
        server.features()  # an answer means that it has read the file
        return server


def _major(version: str) -> int:
    """Return the major version, 0 if the text is not a version."""
    major = version.split(".")[0]
    return int(major) if major.isdigit() else 0


NODE = NodeRunner()
