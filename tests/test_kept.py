"""What tests compile is compiled once, and again when what it is made of has changed: kept.py."""

from __future__ import annotations

import os
from pathlib import Path

import kept
import numpy as np
import pytest
import tvm_ffi
from kernels.support import NATIVE
from small_kernels import scaled


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """An empty folder, and the libraries that were linked."""
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    linked: list[Path] = []
    link = kept.GNU.link

    def counted(objects: list[Path], out: Path) -> None:
        linked.append(out)
        link(objects, out)

    monkeypatch.setattr(type(kept.GNU), "link", lambda self, objects, out: counted(objects, out))
    return linked


def twice(x: np.ndarray) -> np.ndarray:
    """What the kernel makes of it."""
    y = np.full_like(x, np.nan)
    kept.native_kernel(scaled(), NATIVE)(*map(tvm_ffi.from_dlpack, (x, y)))
    return y


def test_a_kernel_is_compiled_once(made: list[Path]) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    first = twice(x)
    assert np.isfinite(first).all()
    assert twice(x).tobytes() == first.tobytes()
    assert len(made) == 1


def test_another_version_of_a_tool_compiles_it_again(
    made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.native_kernel(scaled(), NATIVE)
    monkeypatch.setattr(kept, "_tools", lambda: {"linker": "g++ 99"})
    kept.native_kernel(scaled(), NATIVE)
    assert len(made) == 2


def test_what_is_not_finished_is_not_kept() -> None:
    def half(out: Path) -> None:
        out.write_bytes(b"half")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        kept.kept({"a": 1}, half)
    assert [path for path in kept.FOLDER.iterdir() if path.suffix != ".lock"] == []
    assert kept.kept({"a": 1}, lambda out: out.write_bytes(b"whole")).read_bytes() == b"whole"


def test_what_nobody_uses_goes() -> None:
    old, used = (kept.kept({"a": n}, lambda out: out.write_bytes(b"x")) for n in (1, 2))
    for path in (old, used):
        os.utime(path, (0, 0))
    assert kept.kept({"a": 2}, lambda out: pytest.fail("made again")) == used
    kept.kept({"a": 3}, lambda out: out.write_bytes(b"x"))
    assert (old.exists(), used.exists()) == (False, True)
