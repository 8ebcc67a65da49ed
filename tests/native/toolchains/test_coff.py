"""The linker of libraries for Windows."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elsewhere import library_of
from small_kernels import beyond, scaled

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import coff
from kokoro_tvm.native.toolchains.coff import COFF

pytestmark = pytest.mark.slow("links for other machines")

RECIPE = "windows-x86-64"
needs_lld = pytest.mark.skipif(COFF.check() is not None, reason=str(COFF.check()))


def tables(library: bytes) -> tuple[list[str], dict[str, list[str]]]:
    """Return the exports of a PE library, and its imports by DLL."""
    header = struct.unpack_from("<I", library, 0x3C)[0]
    assert library[header : header + 4] == b"PE\0\0"
    machine, count = struct.unpack_from("<HH", library, header + 4)
    assert machine == 0x8664, "IMAGE_FILE_MACHINE_AMD64"
    optional = header + 24
    (size,) = struct.unpack_from("<H", library, header + 20)
    sections = [struct.unpack_from("<II", library, optional + size + 40 * i + 12) for i in range(count)]
    sizes = [struct.unpack_from("<II", library, optional + size + 40 * i + 16) for i in range(count)]

    def at(address: int) -> int:
        return next(
            raw + address - start
            for (start, _), (length, raw) in zip(sections, sizes, strict=True)
            if start <= address < start + length
        )

    def text(address: int) -> str:
        return library[at(address) : library.index(b"\0", at(address))].decode()

    export, _, imports, _ = struct.unpack_from("<4I", library, optional + 112)
    names, (named,) = (
        struct.unpack_from("<I", library, at(export) + 32)[0],
        struct.unpack_from("<I", library, at(export) + 24),
    )
    exported = [text(struct.unpack_from("<I", library, at(names) + 4 * i)[0]) for i in range(named)]
    imported: dict[str, list[str]] = {}
    entry = at(imports)
    while (lookup := struct.unpack_from("<I", library, entry)[0]) != 0:
        dll, place = text(struct.unpack_from("<I", library, entry + 12)[0]), at(lookup)
        imported[dll] = []
        while (hint := struct.unpack_from("<Q", library, place)[0]) != 0:
            imported[dll].append(text(hint + 2))
            place += 8
        entry += 20
    return exported, imported


@needs_lld
def test_coff_links_functions_and_imports(tmp_path: Path) -> None:
    exported, imported = tables(library_of(RECIPE, scaled(), tmp_path).read_bytes())
    assert exported == ["__TVMBackendParallelLaunch", "__tvm_ffi_scaled"]
    assert imported == {"ucrtbase.dll": ["expf"], "tvm_ffi.dll": ["TVMFFIErrorSetRaisedFromCStrParts"]}


@needs_lld
def test_coff_links_several_objects(tmp_path: Path) -> None:
    """All objects define the same weak functions."""
    for kernel in (scaled(), beyond()):
        library_of(RECIPE, kernel, tmp_path)
    COFF.link([tmp_path / "scaled.o", tmp_path / "beyond.o"], tmp_path / "both.dll")
    exported, _ = tables((tmp_path / "both.dll").read_bytes())
    assert {"__tvm_ffi_scaled", "__tvm_ffi_beyond"} < set(exported)


@needs_lld
def test_coff_names_an_undefined_symbol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(coff, "_DLLS", {"ucrtbase.dll": ("memcpy",), "tvm_ffi.dll": ()})
    with pytest.raises(BuildError, match=r"could not link scaled.dll: (.|\n)*undefined symbol: expf"):
        library_of(RECIPE, scaled(), tmp_path)
    assert not (tmp_path / "scaled.dll").exists()
