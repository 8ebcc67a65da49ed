"""The linker of libraries for macOS, and their signatures."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from elsewhere import library_of
from hypothesis import given
from hypothesis import strategies as st
from small_kernels import beyond, scaled

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import macho
from kokoro_tvm.native.toolchains.code_signature import check_signature
from kokoro_tvm.native.toolchains.macho import MACHO

pytestmark = pytest.mark.slow("links for other machines")

RECIPE = "macos-arm64"
needs_lld = pytest.mark.skipif(MACHO.check() is not None, reason=str(MACHO.check()))


def commands(library: bytes) -> dict[int, bytes]:
    """Return the last load command of every kind."""
    magic, cpu, _, kind, count = struct.unpack_from("<5I", library)
    assert (magic, cpu, kind) == (0xFEEDFACF, 0x100000C, 6), "a library for arm64"
    result, at = {}, 32
    for _ in range(count):
        command, size = struct.unpack_from("<2I", library, at)
        result[command] = library[at : at + size]
        at += size
    return result


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return library_of(RECIPE, scaled(), tmp_path_factory.mktemp("macho")).read_bytes()


@needs_lld
def test_macho_links_for_macos_11_with_the_c_library_alone(library: bytes) -> None:
    result = commands(library)
    platform, oldest = struct.unpack_from("<2I", result[0x32], 8)
    assert (platform, oldest) == (1, 11 << 16), "macOS 11.0"
    assert b"/usr/lib/libSystem.B.dylib\0" in result[0xC]
    assert b"@rpath/scaled.dylib\0" in result[0xD]
    assert b"libtvm_ffi" not in library, "who loads it has loaded that, from wherever it is"
    assert 0x80000034 not in result, "no chained fixups, which not every loader reads"


@needs_lld
def test_macho_links_several_objects(tmp_path: Path) -> None:
    for kernel in (scaled(), beyond()):
        library_of(RECIPE, kernel, tmp_path)
    MACHO.link([tmp_path / "scaled.o", tmp_path / "beyond.o"], tmp_path / "both.dylib")
    check_signature((tmp_path / "both.dylib").read_bytes())


@needs_lld
def test_macho_names_an_undefined_symbol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(macho, "_STUB", macho._STUB.replace(" _expf,", ""))
    with pytest.raises(BuildError, match=r"could not link scaled.dylib: (.|\n)*undefined symbol: _expf"):
        library_of(RECIPE, scaled(), tmp_path)
    assert not (tmp_path / "scaled.dylib").exists()


@needs_lld
def test_macho_refuses_an_unsigned_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "ld64.lld"
    program.write_text(f'#!/bin/sh\nexec {MACHO.command} "$@" -no_adhoc_codesign\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(MACHO, "command", str(program))
    with pytest.raises(BuildError, match=r"LLD \S+ linked scaled.dylib wrongly: it has no signature"):
        library_of(RECIPE, scaled(), tmp_path)
    assert not (tmp_path / "scaled.dylib").exists()


@needs_lld
@given(data=st.data())
def test_check_signature_finds_every_changed_bit(library: bytes, data: st.DataObject) -> None:
    (end,) = struct.unpack_from("<I", commands(library)[0x1D], 8)
    check_signature(library)
    at = data.draw(st.integers(0, end - 1))
    patched = bytearray(library)
    patched[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(
        ValueError, match=r"page \d+ of \d+ differs|no signature|damaged|Mach-O|cut short|bytes of"
    ):
        check_signature(bytes(patched))


@needs_lld
@given(data=st.data())
def test_check_signature_refuses_truncated_files(library: bytes, data: st.DataObject) -> None:
    (end,) = struct.unpack_from("<I", commands(library)[0x1D], 8)
    with pytest.raises(ValueError, match=r"\w"):
        check_signature(library[: data.draw(st.integers(0, end))])


def test_check_signature_refuses_other_files() -> None:
    for content in (b"", b"\x7fELF" + bytes(60), b"MZ" + bytes(62)):
        with pytest.raises(ValueError, match=r"no Mach-O|cut short"):
            check_signature(content)
