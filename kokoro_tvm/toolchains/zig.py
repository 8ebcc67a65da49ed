"""WebAssembly, by what the package `ziglang` holds of LLVM: clang with a C and a C++ library, and wasm-ld."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from kokoro_tvm.errors import BuildError
from kokoro_tvm.toolchains.base import Toolchain, link_with, problem_of
from kokoro_tvm.toolchains.cc import run_compiler

__all__ = ["MOST_MEMORY", "ZIG", "Zig"]

MOST_MEMORY = (1 << 32) - (1 << 16)
"""Bytes that code of 32-bit addresses may have; what takes shared memory from outside has to name a limit."""

_MISSING = "no ziglang to compile and link WebAssembly with: pip install 'kokoro-tvm[wasm]'"


@dataclass(frozen=True)
class Zig(Toolchain):
    """zig, of the installed package."""

    command = "zig"
    suffix: ClassVar[str] = ".wasm"

    @property
    def folder(self) -> Path:
        """Where the package lies; it is not imported. Raises BuildError where it is not installed."""
        found = importlib.util.find_spec("ziglang")
        if found is None or found.origin is None:
            raise BuildError(_MISSING)
        return Path(found.origin).parent

    def version(self) -> str:
        """Of the package, which is the program's. Raises BuildError where it is not installed."""
        try:
            return f"zig {metadata.version('ziglang')}"
        except metadata.PackageNotFoundError as error:
            raise BuildError(_MISSING) from error

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """A library that is loaded beside others, at a place in memory that is chosen then: what it takes
        from outside is looked up by `kokoro_tvm/web/runtime/library.js`."""
        options = ["-shared", "--experimental-pic", "--unresolved-symbols=import-dynamic", "--export-dynamic"]
        options += ["-Bsymbolic", "--gc-sections", "--strip-all", f"--max-memory={MOST_MEMORY}"]
        link_with(
            self.version(), [str(self.folder / self.command), "wasm-ld", *options, *map(str, objects)], out
        )

    def check(self) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            return problem_of(lambda: self._probe(Path(folder)))

    def run(self, arguments: Sequence[str], what: str) -> None:
        """Compiles C++, or links a program; see `CCompiler.run`."""
        run_compiler([str(self.folder / self.command), "c++", *arguments], self.version(), what)

    def _probe(self, folder: Path) -> None:
        source, made = folder / "probe.cc", folder / "probe.o"
        source.write_text('extern "C" int probe(int x) { return x; }\n', encoding="utf-8")
        self.run(["-target", "wasm32-wasi", "-c", str(source), "-o", str(made)], source.name)
        self.link([made], folder / "probe.wasm")


ZIG = Zig()
