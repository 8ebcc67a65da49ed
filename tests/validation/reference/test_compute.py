"""Freed memory is kept within the block, and malloc is as before afterwards."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import pytest

from kokoro_tvm.validation.reference.compute import reuse_memory


def test_malloc_is_as_before_also_after_an_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[int, int] = {}
    trimmed: list[int] = []
    libc = SimpleNamespace(mallopt=options.__setitem__, malloc_trim=trimmed.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: libc)
    with pytest.raises(KeyboardInterrupt), reuse_memory():
        assert options == {-4: 0, -1: 2**31 - 1}, "M_MMAP_MAX, M_TRIM_THRESHOLD"
        assert not trimmed
        raise KeyboardInterrupt
    assert options == {-4: 65536, -1: 128 * 1024}, "glibc's defaults"
    assert trimmed == [0]


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    with reuse_memory():
        pass
