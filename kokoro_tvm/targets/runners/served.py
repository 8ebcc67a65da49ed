"""Runs code in a program of another platform, compiled from `server.c` and started by what can run it."""

from __future__ import annotations

import hashlib
import shutil
from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native import libkokoro
from kokoro_tvm.native.toolchains import version_of
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.targets.runners import Runner, Start
from kokoro_tvm.web import WEB

if TYPE_CHECKING:
    from kokoro_tvm.runtime.bundle.manifest import Bundle
    from kokoro_tvm.targets.runners.process import ProcessSession, RunnerProcess

__all__ = ["Served", "Serving", "javascript_digest", "version_of_runner"]

_FEATURES = libkokoro.FOLDER / "bundle" / "cpu_features.h"
_PURPOSE = "run the code with", ", or say `run: false` in the recipe's target"


class Serving(Runner):
    """Runs code in a server, a program of its own."""

    needs_runtime = True

    @abstractmethod
    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        """A server that runs. libraries: of the TVM runtime that it runs code with, for its own platform.

        Raises BuildError where the compiler, or what runs the server, is not installed.
        """

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> ProcessSession:
        from kokoro_tvm.targets.runners.process import ProcessSession

        return ProcessSession(bundle, self.serve(libraries, threads))


class Served(Serving):
    """A server compiled of C, and what it runs in."""

    @property
    def way(self) -> str:
        return f"under {self}"

    sources: ClassVar[tuple[str, ...]] = ("server.c",)
    """Of its program, beside this file; they include `_FEATURES`."""
    others: ClassVar[tuple[str, ...]] = ()
    """What decides about results besides, beside this file: headers, and what runs programs."""

    package: ClassVar[str]
    """Debian's, of what the server runs in."""

    @property
    def packages(self) -> tuple[str, ...]:
        return (self.package, *self.compiler.packages)

    @property
    @abstractmethod
    def compiler(self) -> CCompiler:
        """Of the server's platform."""

    @abstractmethod
    def _options(self, libraries: Sequence[Path]) -> list[str]:
        """What the compiler is given besides the sources; libraries: of the TVM runtime."""

    @abstractmethod
    def _start(self, program: Path) -> Start:
        """How a compiled program is started."""

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start | None:
        return self._start(program)

    def facts(self) -> dict[str, Any]:
        contents = [path.read_bytes() for path in (*_paths(self.sources), *_paths(self.others), _FEATURES)]
        return {
            "emulator": self.version(),
            "compiler": self.compiler.version(*_PURPOSE),
            "server": hashlib.sha256(b"".join(contents)).hexdigest(),
        }

    def session(
        self,
        bundle: Bundle,
        threads: int,
        libraries: Sequence[Path] = (),
        compile_kernels: Callable[[bytes, Path], None] | None = None,
    ) -> ProcessSession:
        """compile_kernels: see ProcessSession."""
        from kokoro_tvm.targets.runners.process import ProcessSession

        self.refuse(bundle)
        return ProcessSession(bundle, self.serve(libraries, threads), self.prepare, compile_kernels)

    def refuse(self, bundle: Bundle) -> None:
        """Raises BundleError for a bundle that its platform would refuse, where the server would not."""

    def prepare(self, library: Path) -> tuple[Path, str]:
        """What the server loads for a bundle's library, and the prefix of a system library; "" for none."""
        return library, ""

    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        from kokoro_tvm.targets.runners.process import RunnerProcess

        name = self.version()
        with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
            start = self._start(self._make(self.sources, Path(folder, "server"), libraries))
            environment = {"TVM_NUM_THREADS": str(threads), **start.environment}
            server = RunnerProcess(start.command, name, environment, start.afterwards)
            server.features()  # once it answers, it has read the folder
            return server

    def _make(self, sources: Sequence[str], program: Path, libraries: Sequence[Path]) -> Path:
        """A program, with copies of libraries of the TVM runtime beside it. Raises BuildError."""
        self.compiler.version(*_PURPOSE)
        copies = [Path(shutil.copyfile(path, program.with_name(path.name))) for path in libraries]
        self.compiler.compile(_paths(sources), program, f"-I{_FEATURES.parent}", *self._options(copies))
        return program


def _paths(names: Sequence[str]) -> list[Path]:
    return [Path(__file__).with_name(name) for name in names]


def javascript_digest(*files: Path) -> str:
    """SHA-256 of a server's files, and of the JavaScript of pages that it runs code with. Raises BuildError
    where that is missing."""
    if not (WEB / "runtime").is_dir():
        raise BuildError(f"{WEB} lacks the JavaScript that runs the code: install kokoro-tvm again")
    contents = [path.read_bytes() for path in (*files, *sorted((WEB / "runtime").glob("*.js")))]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def version_of_runner(program: str, package: str) -> str:
    """What `--version` prints first. Raises BuildError where there is no such program; package: Debian's."""
    return version_of(program, package, *_PURPOSE)
