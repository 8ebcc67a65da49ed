"""libkokoro, the C library that speaks with a bundle: its sources and how they are compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kokoro_tvm.native.libkokoro.generated import tables
from kokoro_tvm.native.toolchains.cc import MINGW, CCompiler
from kokoro_tvm.native.toolchains.zig import MACOS as MACOS_COMPILER
from kokoro_tvm.native.toolchains.zig import WASI

__all__ = [
    "FOLDER",
    "HEADER",
    "LINUX",
    "MACOS",
    "WINDOWS",
    "Names",
    "compile_libkokoro",
    "compile_sources",
    "compile_text",
    "library_sources",
    "names_of",
    "sources",
    "text_sources",
]

HEADER = "kokoro.h"
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Names:
    """File names of the library and of the program `speak`, and the sources of their system."""

    library: str
    program: str
    sources: tuple[str, ...]


LINUX = Names("libkokoro.so", "speak", ("os/os_posix.c", "os/os_linux.c"))
MACOS = Names("libkokoro.dylib", "speak", ("os/os_posix.c", "os/os_darwin.c"))
WINDOWS = Names("kokoro.dll", "speak.exe", ("os/os_windows.c",))

_PROGRAM = FOLDER / "speak.c"
_STACK = 1 << 20


def names_of(compiler: CCompiler | None) -> Names:
    """Return the names of what a compiler makes."""
    if compiler == MACOS_COMPILER:
        return MACOS
    return WINDOWS if compiler == MINGW else LINUX


def sources() -> list[Path]:
    """List the sources and headers of library and program for every platform, without generated ones."""
    return sorted(path for path in FOLDER.rglob("*.[ch]") if path.parent.name != "wasm")


def text_sources() -> list[Path]:
    """List the sources and headers of the front end of pages, without generated ones."""
    paths = [path for name in ("base/*.c", "text/*.c", "wasm/*.[ch]") for path in FOLDER.glob(name)]
    for path in paths:  # the list grows
        for name in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            headers = [header for folder in (path.parent, FOLDER) if (header := folder / name).exists()]
            paths += [header.resolve() for header in headers[:1] if header.resolve() not in paths]
    return sorted(paths)


def library_sources(names: Names) -> list[Path]:
    """List the sources that are compiled to a library of these names."""
    others = {"speak.c", *LINUX.sources, *MACOS.sources, *WINDOWS.sources} - {*names.sources}
    return [
        path
        for path in sources()
        if path.suffix == ".c" and path.relative_to(FOLDER).as_posix() not in others
    ]


def compile_sources(compiler: CCompiler, sources: Sequence[Path], out: Path, *options: str) -> None:
    """Compile sources and the generated tables to a library or a program. Raises BuildError."""
    with TemporaryDirectory() as folder:
        for name, content in tables().items():
            Path(folder, name).write_text(content, encoding="ascii")
        generated = [path for path in sorted(Path(folder).iterdir()) if path.suffix == ".c"]
        compiler.compile([*sources, *generated], out, f"-I{FOLDER}", f"-I{folder}", *options)


def compile_text(compiler: CCompiler, out: Path, *options: str) -> None:
    """Compile the front end of pages, `wasm/module.c`. Raises BuildError.

    The result is WebAssembly that imports nothing, or a library for another platform.
    """
    sources = [path for path in text_sources() if path.suffix == ".c"]
    if compiler == WASI:
        web = [f"-I{FOLDER / 'wasm'}", "-s", "-msimd128", "-mexec-model=reactor"]
        options = (*web, "-Wl,--export=__stack_pointer", f"-Wl,-z,stack-size={_STACK}", *options)
    compile_sources(compiler, sources, out, *options)


def compile_libkokoro(compiler: CCompiler, out: Path, *options: str) -> None:
    """Compile the library, and the program `speak` that loads it from its own folder.

    Args:
        compiler: The C compiler of the platform.
        out: The folder for both files.
        options: More options of the compiler.

    Raises:
        BuildError: The compiler is missing or fails.
    """
    names = names_of(compiler)
    if names == WINDOWS:
        # Static: the user's machine has no MinGW-w64. The output depends on no time and no folder.
        both = ["-static", "-s", "-Wl,--no-insert-timestamp", "-Wl,--disable-auto-image-base"]
        shared, place = ["-DKOKORO_API=__declspec(dllexport)"], []
        libraries = ["-lpthread"]
    elif names == MACOS:
        both = ["-s"]
        shared = ["-fPIC", "-fvisibility=hidden", f"-Wl,-install_name,@rpath/{names.library}"]
        place, libraries = ["-Wl,-rpath,@loader_path"], []
    else:
        both = []
        shared = ["-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{names.library}"]
        place = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        # glibc before 2.34 has separate libraries for threads and for loading libraries.
        libraries = ["-lpthread", "-ldl", "-lm"]
    target = out / names.library
    library = library_sources(names)
    compile_sources(compiler, library, target, "-shared", *shared, *both, *options, *libraries)
    link = [str(target), *libraries, *place]
    needed = [_PROGRAM, *(FOLDER / name for name in names.sources)]
    compiler.compile(needed, out / names.program, *both, *options, *link)
