"""What the package `ziglang` holds: for WebAssembly clang with a C and a C++ library, and wasm-ld; for macOS
clang with the headers and the symbols of its C library, to compile and link C without an SDK."""

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

__all__ = ["MACOS", "MOST_MEMORY", "WASI", "ZIG", "Zig", "ZigC"]

MOST_MEMORY = (1 << 32) - (1 << 16)
"""Bytes that code of 32-bit addresses may have; what takes shared memory from outside has to name a limit."""

_MISSING = "no ziglang to {purpose}: pip install 'kokoro-tvm[wasm]'{otherwise}"
_WEB = "compile and link WebAssembly with"


@dataclass(frozen=True)
class Zig(Toolchain):
    """zig, of the installed package."""

    command = "zig"
    suffix: ClassVar[str] = ".wasm"

    @property
    def folder(self) -> Path:
        """Where the package lies; it is not imported. Raises BuildError where it is not installed."""
        self.version()
        return find_package_folder("ziglang")

    def version(self, purpose: str = _WEB, otherwise: str = "") -> str:
        """Of the package, which is the program's. Raises BuildError where it is not installed; purpose and
        otherwise: see `version_of`."""
        try:
            return f"zig {metadata.version('ziglang')}"
        except metadata.PackageNotFoundError as error:
            raise BuildError(_MISSING.format(purpose=purpose, otherwise=otherwise)) from error

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """A library that is loaded beside others, at a place in memory that is chosen then: what it takes
        from outside is looked up by `kokoro_tvm/web/runtime/library.js`."""
        options = ["-shared", "--experimental-pic", "--unresolved-symbols=import-dynamic", "--export-dynamic"]
        options += ["-Bsymbolic", "--gc-sections", "--strip-all", f"--max-memory={MOST_MEMORY}"]
        link_with(
            self.version(), [str(self.folder / self.command), "wasm-ld", *options, *map(str, objects)], out
        )
        out.write_bytes(with_offsets(out.read_bytes()))

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Compiles C++, or links a program; see `CCompiler.run`."""
        run_compiler([str(self.folder / self.command), "c++", *arguments], self.version(), what)

    def probe(self, folder: Path) -> None:
        source, made = folder / "probe.cc", folder / "probe.o"
        source.write_text('extern "C" int probe(int x) { return x; }\n', encoding="utf-8")
        self.run(["-target", "wasm32-wasi", "-c", str(source), "-o", str(made)], source.name)
        self.link([made], folder / "probe.wasm")


ZIG = Zig()


@dataclass(frozen=True)
class ZigC(CCompiler):
    """zig as a C compiler for one of its targets."""

    target: str

    @property
    def packages(self) -> tuple[str, ...]:
        return ()  # ziglang is one of Python

    def version(self, purpose: str = "compile C with", otherwise: str = "") -> str:
        return ZIG.version(purpose, otherwise)

    def run(self, arguments: Sequence[str], what: str) -> None:
        command = [str(ZIG.folder / ZIG.command), "cc", "-target", self.target, *arguments]
        run_compiler(command, self.version(), what)


MACOS = ZigC("zig cc", "ziglang", f"aarch64-macos.{OLDEST['macos']}")
"""For macOS on arm64. It signs what it links ad hoc."""

WASI = ZigC("zig cc", "ziglang", "wasm32-wasi")
"""For WebAssembly, with a C library that asks for WASI where it needs a system."""
