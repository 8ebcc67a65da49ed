"""Runner of WebAssembly and WebGPU kernels in headless Chromium, with the JavaScript of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kokoro_tvm.targets.runners.served import PAGE_FILES, Serving, javascript_digest, version_of_runner

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.targets.runners.process import ProcessSession, RunnerProcess

_HERE = Path(__file__).parent
_PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


class Chromium(Serving):
    """Debian's Chromium, or Chrome, with SwiftShader as its GPU."""

    way = "in Chromium, with its kernels on SwiftShader"
    packages = ("chromium",)

    @property
    def program(self) -> str:
        """Return the program that CHROMIUM names, or the installed one."""
        return os.environ.get("CHROMIUM") or next(filter(shutil.which, _PROGRAMS), _PROGRAMS[0])

    def version(self) -> str:
        """Return the browser's version. Raises BuildError if it is not installed."""
        printed = version_of_runner(self.program, *self.packages)
        name, _, rest = printed.partition(" built on ")[0].rpartition(" ")
        return f"{name} {rest}".strip() + ", SwiftShader"

    def facts(self) -> dict[str, Any]:
        """Return the browser's version, and the digest of the page's files."""
        server = javascript_digest(*map(_HERE.joinpath, PAGE_FILES))
        return {"browser": self.version(), "server": server}

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> ProcessSession:
        """Start a browser and load a bundle into its page."""
        from kokoro_tvm.targets.runners.process import ProcessSession

        server = self.serve(libraries, threads, float16=bundle.precision == "float16")
        # The browser compiles kernels as they are.
        return ProcessSession(bundle, server, compile_kernels=lambda text, out: out.write_bytes(text))

    def serve(self, libraries: Sequence[Path], threads: int, float16: bool = False) -> RunnerProcess:
        """Start a browser with the runtime libtvm.wasm; `float16` asks for a GPU that stores it."""
        from kokoro_tvm.targets.runners.browser import Browser

        (runtime,) = libraries
        server = Browser(self.program, self.version(), runtime, f"threads={threads}" + "&float16" * float16)
        server.features()  # an answer means that it has a GPU and the runtime
        return server


CHROMIUM = Chromium()
