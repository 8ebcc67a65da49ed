"""Libraries for Windows on x86-64, linked by LLVM's linker without an SDK."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kokoro_tvm.native.toolchains import link_with
from kokoro_tvm.native.toolchains.lld import IMPORTED, Lld

_DLLS = {  # DLL -> functions; on Windows, the C library contains libm
    "ucrtbase.dll": (*IMPORTED["libc"], *IMPORTED["libm"]),
    "tvm_ffi.dll": IMPORTED["tvm_ffi"],
    "ntdll.dll": ("__chkstk",),  # called by functions with more than a page of stack
}
_AMD64 = 0x8664
_BY_NAME = 1 << 2  # the function is looked up by its name in the object


class Coff(Lld):
    """The linker for Windows."""

    program = "lld-link"
    suffix = ".dll"

    def link(self, objects: Sequence[Path], out: Path) -> None:
        """Link objects to a DLL without initialization and time stamp."""
        # Every function that the code imports is listed, so that the linker names an unknown symbol.
        options = ["/nologo", "/dll", "/noentry", "/machine:x64", "/Brepro", "/opt:ref"]
        # Every object defines the conversions of half floats as weak symbols, which needs GNU's rules.
        # Objects with floats refer to _fltused, a mark of Microsoft's C library without a use here.
        options += ["/lldmingw", "/alternatename:_fltused=memcpy"]
        with tempfile.TemporaryDirectory(prefix="kokoro-tvm-") as folder:
            library = Path(folder, "imports.lib")
            library.write_bytes(import_library(_DLLS))
            command = [self.command, *options, *map(str, objects), str(library)]
            link_with(self.version(), command, out, lambda path: [f"/out:{path}"])

    def probe(self, folder: Path) -> None:
        """Link an empty library."""
        self.link([], folder / "probe.dll")


COFF = Coff()


def import_library(dlls: Mapping[str, Sequence[str]]) -> bytes:
    """Return an import library of functions by the name of their DLL.

    It is an archive with an index, whose members are short import objects: PE format, "Import Library
    Format" and
    "Archive (Library) File Format".
    """
    members = [(name, _import_object(name, dll)) for dll, names in dlls.items() for name in names]
    index_size = 4 + 4 * 2 * len(members) + sum(2 * len(name) + len("__imp_") + 2 for name, _ in members)
    at, offsets, names = len(_MAGIC) + _HEADER + index_size + index_size % 2, [], []
    for name, content in members:
        offsets += [at, at]
        names += [name, f"__imp_{name}"]
        at += _HEADER + len(content) + len(content) % 2
    index = struct.pack(f">I{len(offsets)}I", len(offsets), *offsets)
    index += b"".join(name.encode() + b"\0" for name in names)
    return _MAGIC + b"".join(_archive_member(n, c) for n, c in [("", index), *members])


_MAGIC = b"!<arch>\n"
_HEADER = 60  # bytes of a member's header


def _import_object(name: str, dll: str) -> bytes:
    """Return a short import object: it imports a function of a DLL by name."""
    data = f"{name}\0{dll}\0".encode()
    return struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, _AMD64, 0, len(data), 0, _BY_NAME) + data


def _archive_member(name: str, content: bytes) -> bytes:
    """Return a member of an archive: header, content and padding."""
    header = f"{name[:15] + '/':16}{0:<12}{0:<6}{0:<6}{0:<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)
