"""The linker of WebAssembly libraries."""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from elsewhere import library_of
from small_kernels import scaled

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.zig import ZIG, Zig

pytestmark = pytest.mark.slow("links for other machines")

needs_zig = pytest.mark.skipif(ZIG.check() is not None, reason=str(ZIG.check()))


@needs_zig
def test_zig_links_a_loadable_library(tmp_path: Path) -> None:
    library = library_of("wasm", scaled(), tmp_path).read_bytes()
    assert library[:8] == b"\0asm\1\0\0\0"
    assert b"\x08dylink.0" in library[:32], "the section of what it needs comes first"
    for used in (b"__memory_base", b"__table_base", b"expf", b"__tvm_ffi_scaled"):
        assert used in library


@needs_zig
def test_zig_refuses_a_file_that_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "text.o").write_text("no object", encoding="utf-8")
    with pytest.raises(BuildError, match=r"zig \S+ could not link small.wasm: exit status 1: .*text.o"):
        ZIG.link([tmp_path / "text.o"], tmp_path / "small.wasm")
    assert not (tmp_path / "small.wasm").exists()


@needs_zig
def test_zig_reports_the_compilers_message(tmp_path: Path) -> None:
    (tmp_path / "wrong.cc").write_text("not C++\n", encoding="utf-8")
    with pytest.raises(BuildError, match=r"zig \S+ could not compile wrong.cc: (?s:.*)error: "):
        ZIG.run(["-c", str(tmp_path / "wrong.cc"), "-o", str(tmp_path / "wrong.o")], "wrong.cc")


def test_zig_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> Any:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for attempt in (Zig().version, lambda: Zig().link([], tmp_path / "none.wasm")):
        with pytest.raises(BuildError, match=r"pip install 'kokoro-tvm\[wasm\]'") as caught:
            attempt()
        assert caught.value.exit_code == 3
    assert "kokoro-tvm[wasm]" in str(Zig().check())
