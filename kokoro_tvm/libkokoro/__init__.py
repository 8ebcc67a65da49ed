"""libkokoro: a bundle speaks from C, and from whatever calls C. Its sources, and how they are compiled."""

from __future__ import annotations

from pathlib import Path

from kokoro_tvm.toolchains.cc import CCompiler

__all__ = ["FOLDER", "HEADER", "LIBRARY", "PROGRAM", "compile_libkokoro", "sources"]

HEADER, LIBRARY, PROGRAM = "kokoro.h", "libkokoro.so", "speak"
FOLDER = Path(__file__).parent


def sources() -> list[Path]:
    """Every file that the library and its program are made of, headers too."""
    return sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])


def compile_libkokoro(compiler: CCompiler, out: Path, *options: str) -> None:
    """Writes the library and the program `speak`, which finds it in its own folder, into a folder.

    options: more of the compiler's. Raises BuildError.
    """
    program = FOLDER / f"{PROGRAM}.c"
    library = [path for path in sources() if path.suffix == ".c" and path != program]
    shared = ("-shared", "-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{LIBRARY}")
    # glibc before 2.34 has libraries of their own for threads and for loading others.
    compiler.compile(library, out / LIBRARY, *shared, *options, "-lpthread", "-ldl", "-lm")
    place = (f"-L{out}", "-lkokoro", "-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN")
    compiler.compile([program], out / PROGRAM, *options, *place)
