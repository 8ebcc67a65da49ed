"""libkokoro: a bundle speaks from C, and from whatever calls C. Its sources, and how they are compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kokoro_tvm.toolchains.cc import MINGW, CCompiler

__all__ = [
    "FOLDER",
    "HEADER",
    "LINUX",
    "WINDOWS",
    "Names",
    "compile_libkokoro",
    "library_sources",
    "names_of",
    "sources",
]

HEADER = "kokoro.h"
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Names:
    """Of the library and of the program `speak`."""

    library: str
    program: str


LINUX = Names("libkokoro.so", "speak")
WINDOWS = Names("kokoro.dll", "speak.exe")

_PROGRAM = FOLDER / "speak.c"
_SYSTEMS = {LINUX: FOLDER / "os_posix.c", WINDOWS: FOLDER / "os_windows.c"}


def names_of(compiler: CCompiler | None) -> Names:
    """Of what a compiler makes."""
    return WINDOWS if compiler == MINGW else LINUX


def sources() -> list[Path]:
    """Every file that the library and its program are made of, on any platform, headers too."""
    return sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])


def library_sources(names: Names) -> list[Path]:
    """What is compiled to a library of one of these names."""
    others = {_PROGRAM, *_SYSTEMS.values()} - {_SYSTEMS[names]}
    return [path for path in sources() if path.suffix == ".c" and path not in others]


def compile_libkokoro(compiler: CCompiler, out: Path, *options: str) -> None:
    """Writes the library and the program `speak`, which finds it in its own folder, into a folder.

    options: more of the compiler's. Raises BuildError.
    """
    names = names_of(compiler)
    if names == WINDOWS:
        # Nothing of MinGW-w64's has to be there where it speaks, and what is made does not depend on the time
        # and the folder.
        both = ["-static", "-s", "-Wl,--no-insert-timestamp", "-Wl,--disable-auto-image-base"]
        shared, place = ["-DKOKORO_API=__declspec(dllexport)"], []
        libraries = ["-lpthread"]
    else:
        both = []
        shared = ["-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{names.library}"]
        place = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        # glibc before 2.34 has libraries of their own for threads and for loading others.
        libraries = ["-lpthread", "-ldl", "-lm"]
    made = out / names.library
    compiler.compile(library_sources(names), made, "-shared", *shared, *both, *options, *libraries)
    link = [str(made), *libraries, *place]
    compiler.compile([_PROGRAM, _SYSTEMS[names]], out / names.program, *both, *options, *link)
