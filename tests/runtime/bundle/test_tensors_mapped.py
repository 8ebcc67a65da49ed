"""Mapped safetensors files and aligned arrays."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from toy_bundle import write_safetensors

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.tensors import aligned, aligned_empty, map_safetensors


def test_map_safetensors_returns_the_tensors(tmp_path: Path) -> None:
    tensors = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(1, np.float32)}
    write_safetensors(tmp_path / "x.safetensors", tensors)
    mapped = map_safetensors(tmp_path / "x.safetensors")
    assert mapped.keys() == tensors.keys()
    assert all(np.array_equal(mapped[name], tensors[name]) for name in tensors)
    assert mapped["a"].ctypes.data % 64 == 0
    with pytest.raises(ValueError, match="read-only"):
        mapped["a"][0] = 1


def test_map_safetensors_reads_files_of_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    tensors = {
        "f": np.random.default_rng(0).standard_normal((3, 5)),
        "i": np.arange(4),
        "h": np.ones(3, np.float16),
    }
    save_file(tensors, tmp_path / "x.safetensors", metadata={"who": "library"})
    mapped = map_safetensors(tmp_path / "x.safetensors")
    assert all(
        np.array_equal(mapped[name], tensors[name]) and mapped[name].dtype == tensors[name].dtype
        for name in tensors
    )


def _raw(header: object) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(16)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\xff" * 64, "no safetensors file"),
        (
            _raw({"a": {"dtype": "F32", "shape": [5], "data_offsets": [0, 20]}}),
            r"a of shape \(5,\), which takes 20 bytes",
        ),
        (_raw({"a": {"dtype": "F32", "shape": [5], "data_offsets": [0, 16]}}), "takes 20 bytes"),
        (_raw({"a": {"dtype": "F32", "shape": [4], "data_offsets": [-16, 0]}}), "takes 16 bytes"),
        (_raw({"a": {"dtype": "F8", "shape": [4], "data_offsets": [0, 4]}}), "dtype F8"),
        (_raw({"a": {"shape": [4]}}), "unreadable safetensors header"),
        (_raw([1]), "unreadable safetensors header"),
    ],
)
def test_map_safetensors_refuses_damaged_files(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.safetensors").write_bytes(data)
    with pytest.raises(BundleError, match=message):
        map_safetensors(tmp_path / "x.safetensors")


@pytest.mark.parametrize("shape", [(1,), (3, 5), (1, 7, 9)])
def test_aligned_returns_aligned_arrays(shape: tuple[int, ...]) -> None:
    for _ in range(20):
        assert aligned_empty(shape).ctypes.data % 64 == 0
    off = np.arange(101, dtype=np.float32)[1:]
    moved = aligned(off, np.float32)
    assert moved.ctypes.data % 64 == 0
    assert np.array_equal(moved, off)
    assert aligned(moved, np.float32) is moved
    assert aligned(moved[::2], np.float32).flags.c_contiguous
