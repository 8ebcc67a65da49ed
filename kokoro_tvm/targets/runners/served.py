"""Base classes of runners that execute code in a server process of another platform."""

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

PAGE_FILES = ("chromium.html", "chromium.mjs", "serving.mjs")
"""Files of the page that runs code in a browser."""

_FEATURES = libkokoro.FOLDER / "bundle" / "cpu_features.h"
_PURPOSE = "run the code with", ", or say `run: false` in the recipe's target"


class Serving(Runner):
    """Runner that executes code in a server process."""

    needs_runtime = True

    @abstractmethod
    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        """Start a server.

        Args:
            libraries: The TVM runtime for the server's platform.
            threads: Threads that compute together.

        Raises:
            BuildError: The compiler, or what runs the server, is not installed.
        """

    def session(self, bundle: Bundle, threads: int, libraries: Sequence[Path] = ()) -> ProcessSession:
        """Start a server and load a bundle into it."""
        from kokoro_tvm.targets.runners.process import ProcessSession

        return ProcessSession(bundle, self.serve(libraries, threads))


class Served(Serving):
    """Runner whose server is a C program, which an emulator starts."""

    @property
    def way(self) -> str:
        """Return how the code is run."""
        return f"under {self}"

    sources: ClassVar[tuple[str, ...]] = ("server.c",)
    """The server's sources in this folder; they include `_FEATURES`."""
    others: ClassVar[tuple[str, ...]] = ()
    """Other files in this folder that decide about results."""

    package: ClassVar[str]
    """Debian's package of the emulator."""

    @property
    def packages(self) -> tuple[str, ...]:
        """Return Debian's packages of emulator and compiler."""
        return (self.package, *self.compiler.packages)

    @property
    @abstractmethod
    def compiler(self) -> CCompiler:
        """Return the compiler for the server's platform."""

    @abstractmethod
    def _compiler_options(self, libraries: Sequence[Path]) -> list[str]:
        """Return the compiler's options besides the sources; `libraries` is the TVM runtime."""

    @abstractmethod
    def _start(self, program: Path) -> Start:
        """Return how a compiled program is started."""

    def start(self, program: Path, libraries: Sequence[Path] = ()) -> Start | None:
        """Return how a program of the platform is started; `libraries` are not used."""
        return self._start(program)

    def facts(self) -> dict[str, Any]:
        """Return versions, and the digest of the server's sources."""
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
        compile_kernels: Callable[[bytes, Path], object] | None = None,
    ) -> ProcessSession:
        """Start a server and load a bundle into it; see `ProcessSession` for `compile_kernels`."""
        from kokoro_tvm.targets.runners.process import ProcessSession

        self.refuse(bundle)
        return ProcessSession(bundle, self.serve(libraries, threads), self.prepare, compile_kernels)

    def refuse(self, bundle: Bundle) -> None:
        """Raise BundleError for a bundle that its platform would refuse although the server would not."""

    def prepare(self, library: Path) -> tuple[Path, str]:
        """Return the file that the server loads for a library, and the prefix of a system library or ""."""
        return library, ""

    def serve(self, libraries: Sequence[Path], threads: int) -> RunnerProcess:
        """Compile the server and start it."""
        from kokoro_tvm.targets.runners.process import RunnerProcess

        name = self.version()
        with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
            start = self._start(self._compile(self.sources, Path(folder, "server"), libraries))
            environment = {"TVM_NUM_THREADS": str(threads), **start.environment}
            server = RunnerProcess(start.command, name, environment, start.afterwards)
            server.features()  # an answer means that it has read the folder
            return server

    def _compile(self, sources: Sequence[str], program: Path, libraries: Sequence[Path]) -> Path:
        """Compile a program, with copies of the TVM runtime beside it.

        Raises BuildError if the compiler fails.
        """
        self.compiler.version(*_PURPOSE)
        copies = [Path(shutil.copyfile(path, program.with_name(path.name))) for path in libraries]
        self.compiler.compile(
            _paths(sources), program, f"-I{_FEATURES.parent}", *self._compiler_options(copies)
        )
        return program


def _paths(names: Sequence[str]) -> list[Path]:
    """Return the paths of sources in this folder."""
    return [Path(__file__).parent / name for name in names]


def javascript_digest(*files: Path) -> str:
    """Return the SHA-256 of a server's files and of the JavaScript of pages that it executes code with.

    Raises:
        BuildError: The JavaScript is not installed.
    """
    if not (WEB / "runtime").is_dir():
        raise BuildError(f"{WEB} lacks the JavaScript that runs the code: install kokoro-tvm again")
    contents = [path.read_bytes() for path in (*files, *sorted((WEB / "runtime").glob("*.js")))]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def version_of_runner(program: str, package: str) -> str:
    """Return the first line of `PROGRAM --version`. Raises BuildError that names the Debian package."""
    return version_of(program, package, *_PURPOSE)
