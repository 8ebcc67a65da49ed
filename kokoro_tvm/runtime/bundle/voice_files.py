"""Voices of one's own: style tables from .pt, .npy, .bin and .safetensors files, read as data and checked."""

from __future__ import annotations

import io
import re
import stat
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.common.words import shorten
from kokoro_tvm.runtime.bundle.tensors import read_safetensors
from kokoro_tvm.runtime.bundle.torch_file import read_tensor, write_tensor

__all__ = [
    "SUFFIXES",
    "VOICE_ROWS",
    "Table",
    "check_voice_name",
    "encode_voice",
    "is_voice_file",
    "read_voice",
    "read_voices",
]

Table = NDArray[np.float32]

VOICE_ROWS = 510
"""Rows of a style table: one for each number of phonemes, from 1."""

SUFFIXES = (".pt", ".npy", ".bin", ".safetensors")
_MOST_AXES = 32
_MOST_BYTES = 64 << 20  # the 54 voices of Kokoro-82M are 28 MB
# What numpy raises for headers of .npy: it reads them by Python's own grammar.
_DAMAGED_HEADER = (
    *(ValueError, TypeError, LookupError, AttributeError, SyntaxError, RecursionError, MemoryError),
    tokenize.TokenError,
)
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


def is_voice_file(name: str) -> bool:
    """Whether a voice is named by its file, by the suffix."""
    return Path(name).suffix in SUFFIXES


def read_voices(path: Path, width: int) -> dict[str, Table]:
    """Voices of a file, or of all such files in a folder: name to style table, float32 (510 or 1, width).

    A voice is called as its file is, without the suffix; of a .safetensors file with several, as its tensors
    are.

    Raises:
        InputError: there is no such file, a folder has none, two voices have one name, or what `read_voice`
            raises it for.
    """
    if not path.exists():
        raise InputError(f"There is no {path}. Name a file of a voice, or a folder of such.")
    if not path.is_dir():
        return dict(_named(path, width))
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise InputError(f"The folder {path} has no voice: no file that ends in {', '.join(SUFFIXES)}.")
    found: dict[str, Table] = {}
    places: dict[str, Path] = {}
    for file in files:
        for name, table in _named(file, width):
            if name in found:
                raise InputError(
                    f"Two voices are called {name}, in {places[name]} and in {file}. Rename one of the files."
                )
            found[name], places[name] = table, file
    return found


def read_voice(path: Path, width: int) -> Table:
    """The one voice of a file: float32 (510, width), or (1, width), a style for every number of phonemes.

    Shapes (510, 1, width), (510, width) and (width,) of float16, float32 or float64; .bin are float32,
    little-endian.

    Raises:
        InputError: it cannot be read, is larger than 64 MiB, of another shape, has several voices, or NaN or
            infinity in it.
    """
    tables = dict(_named(path, width))
    if len(tables) > 1:
        raise InputError(f"{path} has {len(tables)} voices. Save the one that is wanted on its own.")
    (table,) = tables.values()
    return table


def check_voice_name(path: Path) -> None:
    """Raises InputError unless a voice can be called as its file is, and the suffix is one of SUFFIXES."""
    _check_suffix(path)
    _check_name(path, path.stem)


def encode_voice(table: Table, suffix: str, name: str = "voice") -> bytes:
    """A style table (rows, width) as the file of a suffix, one of SUFFIXES."""
    whole = np.ascontiguousarray(table, "<f4")
    if suffix == ".pt":
        return write_tensor(whole[:, np.newaxis])  # as Kokoro's are
    if suffix == ".bin":
        return whole.tobytes()
    if suffix == ".npy":
        made = io.BytesIO()
        np.save(made, whole)
        return made.getvalue()
    return _safetensors(name, whole)


def _safetensors(name: str, table: Table) -> bytes:
    import json

    entry = {"dtype": "F32", "shape": list(table.shape), "data_offsets": [0, table.nbytes]}
    header = json.dumps({name: entry}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + table.tobytes()


def _named(path: Path, width: int) -> Iterator[tuple[str, Table]]:
    """Names and tables of a file."""
    data = _content(path)
    try:
        tensors = _tensors(path, data)
        for name, tensor in tensors.items():
            _check_name(path, name)
            yield name, _table(tensor, width)
    except ValueError as error:
        raise InputError(f"The voice {path} {error}.") from error


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path} is no file of a voice: these end in {', '.join(SUFFIXES)}.")


def _check_name(path: Path, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{path}: a voice cannot be called {shorten(name)!r}, because signs such as - and + make mixes. "
            "Rename it: letters, digits and _, at most 64."
        )


def _content(path: Path) -> bytes:
    _check_suffix(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"The voice {path} is not a regular file.")
        if status.st_size > _MOST_BYTES:
            raise InputError(
                f"The voice {path} has {status.st_size / 1e6:,.0f} MB, and no voice has more than "
                f"{_MOST_BYTES / 1e6:.0f}. Is it the right file? It was not read."
            )
        with path.open("rb") as file:
            return file.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(f"The voice {path} cannot be read: {error.strerror}.") from error


def _tensors(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    """Tensors by the names of their voices. Raises ValueError."""
    if path.suffix == ".safetensors":
        found = read_safetensors(data)
        if not found:
            raise ValueError("has no tensor in it")
        return {path.stem: next(iter(found.values()))} if len(found) == 1 else found
    readers = {".pt": read_tensor, ".npy": _array, ".bin": _floats}
    return {path.stem: readers[path.suffix](data)}


def _floats(data: bytes) -> NDArray[Any]:
    if data.startswith(b"PK"):
        raise ValueError("is an archive of several; save each on its own, with numpy.save")
    if len(data) % 4:
        raise ValueError(f"has {len(data)} bytes, and float32 values have 4 each")
    return np.frombuffer(data, "<f4")


def _array(data: bytes) -> NDArray[Any]:
    """The array of an .npy file, whose header alone decides how much memory it takes."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        read = (
            np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        )
        shape, transposed, dtype = read(stream)
    except _DAMAGED_HEADER as error:
        raise ValueError("is no .npy file, or a damaged one; write it with numpy.save") from error
    rest = data[stream.tell() :]
    if dtype.hasobject:
        raise ValueError("holds objects of Python's, which are not read; save an array of float32")
    count = int(np.prod([int(size) for size in shape], dtype=object))
    if dtype.itemsize == 0 or len(shape) > _MOST_AXES or min(shape, default=0) < 0:
        raise ValueError("has an array that no voice is; save one of float32")
    if len(rest) != count * dtype.itemsize:
        raise ValueError(f"has {len(rest)} bytes of values where {count * dtype.itemsize} should be")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if transposed else "C")


def _table(tensor: NDArray[Any], width: int) -> Table:
    """A style table (510 or 1, width) float32 of a tensor. Raises ValueError."""
    if tensor.dtype.kind != "f":
        raise ValueError(f"has values of {tensor.dtype}, not float32")
    rows, flat = VOICE_ROWS, tensor.ndim == 1
    shapes = {(rows, 1, width), (rows, width), (1, 1, width), (1, width), (width,)}
    if flat and tensor.size == rows * width:  # of a .bin
        shapes.add(tensor.shape)
    if tensor.shape not in shapes:
        raise ValueError(
            f"has the shape {_written(tensor.shape)}, not {rows} x 1 x {width}, {rows} x {width} or {width}"
        )
    with np.errstate(over="ignore"):
        table = np.ascontiguousarray(tensor, np.float32).reshape(-1, width)
    if not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise ValueError(f"has NaN or infinity in it, first in row {row}: export it again")
    return table


def _written(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of one value"
