"""Memory for compiled code: mapped safetensors files, arrays on 64-byte boundaries."""

from __future__ import annotations

import json
import math
import mmap
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime.bundle.files import OpenFile
from kokoro_tvm.runtime.bundle.quantized import METADATA, dequantize

ALIGNMENT = 64  # bytes; compiled kernels load whole vectors and may assume this much
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "U16": "<u2",
    "I8": "|i1",
    "U8": "|u1",
}


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """Return an uninitialised C-contiguous array on a 64-byte boundary (numpy guarantees only 16)."""
    item = np.dtype(dtype).itemsize
    raw = np.empty(math.prod(shape) * item + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + math.prod(shape) * item].view(dtype).reshape(shape)


def aligned(array: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array as C-contiguous `dtype` on a 64-byte boundary; it is copied only if needed."""
    values = np.asarray(array, dtype=dtype)
    if values.flags.c_contiguous and values.ctypes.data % ALIGNMENT == 0:
        return values
    copy = aligned_empty(values.shape, dtype)
    copy[...] = values
    return copy


def map_safetensors(path: Path, opened: OpenFile | None = None) -> dict[str, NDArray[Any]]:
    """Map a safetensors file; tensors are read-only arrays over the mapping, except quantized ones.

    Pages are read at their first use, and shared between processes.

    Args:
        path: of the file.
        opened: the file if it is open already; `path` is for messages then.

    Raises:
        BundleError: it is no safetensors file, has an unknown dtype, or a tensor outside the file.
    """
    with ExitStack() as stack:
        stream = stack.enter_context(path.open("rb")) if opened is None else opened
        try:
            mapped = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as error:  # an empty file cannot be mapped
            raise BundleError(f"{path} is empty. Copy or build the bundle again.") from error
    try:
        return read_safetensors(mapped)
    except ValueError as error:
        raise BundleError(f"{path} {error}. Copy or build the bundle again.") from error


def read_safetensors(data: bytes | mmap.mmap) -> dict[str, NDArray[Any]]:
    """Tensors of a safetensors file's bytes, as arrays over them.

    Raises:
        ValueError: it is none; the message goes on after the file's name.
    """
    header_size = int.from_bytes(data[:8], "little")
    if not 2 <= header_size <= len(data) - 8:
        raise ValueError(f"is no safetensors file: its header would be {header_size} bytes long")
    try:
        header = json.loads(data[8 : 8 + header_size])
        metadata = header.pop("__metadata__", {})
        entries = [_entry(name, entry) for name, entry in header.items()]
        quantized = json.loads(metadata.get(METADATA, "{}"))
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"has an unreadable safetensors header ({error})") from error
    try:
        tensors = {entry[0]: _tensor(data, 8 + header_size, *entry) for entry in entries}
        return tensors | {
            name: dequantize(tensors[name], **described) for name, described in quantized.items()
        }
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"describes quantized weights that it does not have ({error})") from error


def _entry(name: str, entry: dict[str, Any]) -> tuple[str, str, tuple[int, ...], int, int]:
    start, end, *shape = _whole([*entry["data_offsets"], *entry["shape"]])
    return name, str(entry["dtype"]), tuple(shape), start, end


def _whole(values: list[Any]) -> list[int]:
    """Values that are whole numbers of at most 63 bits. Raises ValueError."""
    if not all(type(value) is int and abs(value) < 1 << 63 for value in values):
        raise ValueError("a size or an offset is no whole number")
    return values


def _tensor(
    data: bytes | mmap.mmap, base: int, name: str, kind: str, shape: tuple[int, ...], start: int, end: int
) -> NDArray[Any]:
    if kind not in _DTYPES:
        raise ValueError(f"has {name} of dtype {kind}, not one of {', '.join(_DTYPES)}")
    dtype = np.dtype(_DTYPES[kind])
    count = math.prod(shape)
    if (
        end - start != count * dtype.itemsize
        or start < 0
        or min(shape, default=0) < 0
        or base + end > len(data)
    ):
        raise ValueError(
            f"has {name} of shape {shape}, which takes {count * dtype.itemsize} bytes, but the header gives "
            f"it {start}..{end} of {len(data) - base}"
        )
    return np.frombuffer(data, dtype, count, base + start).reshape(shape)
