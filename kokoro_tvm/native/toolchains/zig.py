"""zig of the package `ziglang`: clang, a C and a C++ library and wasm-ld for WebAssembly; clang for macOS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.common.packages import find_package_folder
from kokoro_tvm.native.toolchains import Toolchain, link_with
from kokoro_tvm.native.toolchains.cc import CCompiler, run_compiler
from kokoro_tvm.native.toolchains.macho import OLDEST
from kokoro_tvm.native.toolchains.wasm_offsets import with_offsets

MOST_MEMORY = (1 << 32) - (1 << 16)
"""Bytes of memory for 32-bit addresses; imported shared memory has to have a limit."""

_MISSING = "no ziglang to {purpose}: pip install 'kokoro-tvm[wasm]'{otherwise}"
_WEB = "compile and link WebAssembly with"


@dataclass(frozen=True)
class Zig(Toolchain):
    """zig, of the installed package."""

    command = "zig"
    suffix: ClassVar[str] = ".wasm"

    @property
    def folder(self) -> Path:
        """Return the package's folder without importing it. Raises BuildError if it is not installed."""
        self.version()
        return find_package_folder("ziglang")

    def version(self, purpose: str = _WEB, otherwise: str = "") -> str:
        """Return the package's version; see `version_of`. Raises BuildError if it is not installed."""
        try:
            return f"zig {metadata.version('ziglang')}"
        except metadata.PackageNotFoundError as error:
            raise BuildError(_MISSING.format(purpose=purpose, otherwise=otherwise)) from error

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link a WebAssembly library that `web/runtime/library.js` loads at any place in memory."""
        options = ["-shared", "--experimental-pic", "--unresolved-symbols=import-dynamic", "--export-dynamic"]
        options += ["-Bsymbolic", "--gc-sections", "--strip-all", f"--max-memory={MOST_MEMORY}"]
        link_with(
            self.version(), [str(self.folder / self.command), "wasm-ld", *options, *map(str, objects)], out
        )
        out.write_bytes(with_offsets(out.read_bytes()))

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Compile C++ or link a program; see `CCompiler.run`."""
        run_compiler([str(self.folder / self.command), "c++", *arguments], self.version(), what)

    def probe(self, folder: Path) -> None:
        """Compile and link a small library."""
        source, object_file = folder / "probe.cc", folder / "probe.o"
        source.write_text('extern "C" int probe(int x) { return x; }\n', encoding="utf-8")
        self.run(["-target", "wasm32-wasi", "-c", str(source), "-o", str(object_file)], source.name)
        self.link([object_file], folder / "probe.wasm")


ZIG = Zig()


@dataclass(frozen=True)
class ZigC(CCompiler):
    """zig as a C compiler for one target."""

    target: str

    @property
    def packages(self) -> tuple[str, ...]:
        """Return no Debian packages: pip installs ziglang."""
        return ()  # ziglang is one of Python

    def version(self, purpose: str = "compile C with", otherwise: str = "") -> str:
        """Return zig's version."""
        return ZIG.version(purpose, otherwise)

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Run the compiler, see `CCompiler.run`."""
        command = [str(ZIG.folder / ZIG.command), "cc", "-target", self.target, *arguments]
        run_compiler(command, self.version(), what)


MACOS = ZigC("zig cc", "ziglang", f"aarch64-macos.{OLDEST['macos']}")
"""zig for macOS on arm64. It signs its output ad hoc."""

WASI = ZigC("zig cc", "ziglang", "wasm32-wasi")
"""zig for WebAssembly, with a C library on WASI."""
