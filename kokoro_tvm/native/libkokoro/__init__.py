"""libkokoro: a bundle speaks from C, and from whatever calls C. Its sources, and how they are compiled."""

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
    """Of the library and of the program `speak`; sources: what each is made of on its system alone."""

    library: str
    program: str
    sources: tuple[str, ...]


LINUX = Names("libkokoro.so", "speak", ("os/os_posix.c", "os/os_linux.c"))
MACOS = Names("libkokoro.dylib", "speak", ("os/os_posix.c", "os/os_darwin.c"))
WINDOWS = Names("kokoro.dll", "speak.exe", ("os/os_windows.c",))

_PROGRAM = FOLDER / "speak.c"
_STACK = 1 << 20


def names_of(compiler: CCompiler | None) -> Names:
    """Of what a compiler makes."""
    if compiler == MACOS_COMPILER:
        return MACOS
    return WINDOWS if compiler == MINGW else LINUX


def sources() -> list[Path]:
    """Every file that the library and its program are made of, on any platform, headers too; but for what is
    generated."""
    return sorted(path for path in FOLDER.rglob("*.[ch]") if path.parent.name != "wasm")


def text_sources() -> list[Path]:
    """Every file that the front end of pages is made of, headers too; but for what is generated."""
    found = [path for name in ("base/*.c", "text/*.c", "wasm/*.[ch]") for path in FOLDER.glob(name)]
    for path in found:  # which grows
        for name in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
            headers = [header for folder in (path.parent, FOLDER) if (header := folder / name).exists()]
            found += [header.resolve() for header in headers[:1] if header.resolve() not in found]
    return sorted(found)


def library_sources(names: Names) -> list[Path]:
    """What is compiled to a library of one of these names."""
    others = {"speak.c", *LINUX.sources, *MACOS.sources, *WINDOWS.sources} - {*names.sources}
    return [path for path in sources() if path.suffix == ".c" and path.relative_to(FOLDER).as_posix() not in others]


def compile_sources(compiler: CCompiler, sources: Sequence[Path], out: Path, *options: str) -> None:
    """Makes a library or a program of sources, with the tables that those of the library include.

    Raises BuildError."""
    with TemporaryDirectory() as folder:
        for name, content in tables().items():
            Path(folder, name).write_text(content, encoding="ascii")
        made = [path for path in sorted(Path(folder).iterdir()) if path.suffix == ".c"]
        compiler.compile([*sources, *made], out, f"-I{FOLDER}", f"-I{folder}", *options)


def compile_text(compiler: CCompiler, out: Path, *options: str) -> None:
    """Makes the front end of pages, as `wasm/module.c` describes it: WebAssembly that imports nothing; for
    another platform a library. Raises BuildError."""
    made_of = [path for path in text_sources() if path.suffix == ".c"]
    if compiler == WASI:
        web = [f"-I{FOLDER / 'wasm'}", "-s", "-msimd128", "-mexec-model=reactor"]
        options = (*web, "-Wl,--export=__stack_pointer", f"-Wl,-z,stack-size={_STACK}", *options)
    compile_sources(compiler, made_of, out, *options)


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
    elif names == MACOS:
        both = ["-s"]
        shared = ["-fPIC", "-fvisibility=hidden", f"-Wl,-install_name,@rpath/{names.library}"]
        place, libraries = ["-Wl,-rpath,@loader_path"], []
    else:
        both = []
        shared = ["-fPIC", "-fvisibility=hidden", f"-Wl,-soname,{names.library}"]
        place = ["-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN"]
        # glibc before 2.34 has libraries of their own for threads and for loading others.
        libraries = ["-lpthread", "-ldl", "-lm"]
    made = out / names.library
    library = library_sources(names)
    compile_sources(compiler, library, made, "-shared", *shared, *both, *options, *libraries)
    link = [str(made), *libraries, *place]
    needed = [_PROGRAM, *(FOLDER / name for name in names.sources)]
    compiler.compile(needed, out / names.program, *both, *options, *link)
