"""Files of the user's voices: style tables in .pt, .npy, .bin and .safetensors files."""

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

Table = NDArray[np.float32]

VOICE_ROWS = 510
"""Rows of a style table: one per number of phonemes, from 1."""

SUFFIXES = (".pt", ".npy", ".bin", ".safetensors")
_MAX_AXES = 32
_MAX_BYTES = 64 << 20  # the 54 voices of Kokoro-82M are 28 MB
# numpy raises these for damaged headers of .npy files, which it parses as Python.
_DAMAGED_HEADER = (
    *(ValueError, TypeError, LookupError, AttributeError, SyntaxError, RecursionError, MemoryError),
    tokenize.TokenError,
)
_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


def is_voice_file(name: str) -> bool:
    """Return whether a name has the suffix of a voice's file."""
    return Path(name).suffix in SUFFIXES


def read_voices(path: Path, width: int) -> dict[str, Table]:
    """Read the voices of a file, or of all files in a folder.

    Returns:
        Name -> style table, float32 (510 or 1, width). The name is that of the file without its suffix, or of
        the tensor if a .safetensors file has several.

    Raises:
        InputError: there is no such file, a folder has none, two voices have one name, or a file is invalid.
    """
    if not path.exists():
        raise InputError(f"There is no {path}. Name a file of a voice, or a folder of such.")
    if not path.is_dir():
        return dict(_read_tables(path, width))
    files = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
    if not files:
        raise InputError(f"The folder {path} has no voice: no file that ends in {', '.join(SUFFIXES)}.")
    tables: dict[str, Table] = {}
    places: dict[str, Path] = {}
    for file in files:
        for name, table in _read_tables(file, width):
            if name in tables:
                raise InputError(
                    f"Two voices are called {name}, in {places[name]} and in {file}. Rename one of the files."
                )
            tables[name], places[name] = table, file
    return tables


def read_voice(path: Path, width: int) -> Table:
    """Read a file with one voice.

    Accepted shapes are (510, 1, width), (510, width) and (width,) of float16, float32 or float64; .bin files
    are float32, little-endian.

    Returns:
        float32 (510, width), or (1, width), one style for every number of phonemes.

    Raises:
        InputError: the file cannot be read, exceeds 64 MiB, has another shape, several voices, NaN or
            infinity.
    """
    tables = dict(_read_tables(path, width))
    if len(tables) > 1:
        raise InputError(f"{path} has {len(tables)} voices. Save the one that is wanted on its own.")
    (table,) = tables.values()
    return table


def check_voice_name(path: Path) -> None:
    """Check the name and the suffix of a voice's file; raises InputError."""
    _check_suffix(path)
    _check_name(path, path.stem)


def encode_voice(table: Table, suffix: str, name: str = "voice") -> bytes:
    """Return the file of a style table (rows, width) in the format of a suffix, one of SUFFIXES."""
    whole = np.ascontiguousarray(table, "<f4")
    if suffix == ".pt":
        return write_tensor(whole[:, np.newaxis])  # as Kokoro's are
    if suffix == ".bin":
        return whole.tobytes()
    if suffix == ".npy":
        file = io.BytesIO()
        np.save(file, whole)
        return file.getvalue()
    return _encode_safetensors(name, whole)


def _encode_safetensors(name: str, table: Table) -> bytes:
    import json

    entry = {"dtype": "F32", "shape": list(table.shape), "data_offsets": [0, table.nbytes]}
    header = json.dumps({name: entry}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + table.tobytes()


def _read_tables(path: Path, width: int) -> Iterator[tuple[str, Table]]:
    """Yield names and tables of a file."""
    data = _read_content(path)
    try:
        for name, tensor in _parse_tensors(path, data).items():
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


def _read_content(path: Path) -> bytes:
    _check_suffix(path)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"The voice {path} is not a regular file.")
        if status.st_size > _MAX_BYTES:
            raise InputError(
                f"The voice {path} has {status.st_size / 1e6:,.0f} MB, and no voice has more than "
                f"{_MAX_BYTES / 1e6:.0f}. Is it the right file? It was not read."
            )
        with path.open("rb") as file:
            return file.read(_MAX_BYTES)
    except OSError as error:
        raise InputError(f"The voice {path} cannot be read: {error.strerror}.") from error


def _parse_tensors(path: Path, data: bytes) -> dict[str, NDArray[Any]]:
    """Return tensors by name of voice; raises ValueError."""
    if path.suffix == ".safetensors":
        tensors = read_safetensors(data)
        if not tensors:
            raise ValueError("has no tensor in it")
        return {path.stem: next(iter(tensors.values()))} if len(tensors) == 1 else tensors
    readers = {".pt": read_tensor, ".npy": _parse_npy, ".bin": _parse_floats}
    return {path.stem: readers[path.suffix](data)}


def _parse_floats(data: bytes) -> NDArray[Any]:
    if data.startswith(b"PK"):
        raise ValueError("is an archive of several; save each on its own, with numpy.save")
    if len(data) % 4:
        raise ValueError(f"has {len(data)} bytes, and float32 values have 4 each")
    return np.frombuffer(data, "<f4")


def _parse_npy(data: bytes) -> NDArray[Any]:
    """Parse an .npy file; numpy's own reader would allocate what a hostile header asks for."""
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
    if dtype.itemsize == 0 or len(shape) > _MAX_AXES or min(shape, default=0) < 0:
        raise ValueError("has an array that no voice is; save one of float32")
    if len(rest) != count * dtype.itemsize:
        raise ValueError(f"has {len(rest)} bytes of values where {count * dtype.itemsize} should be")
    return np.frombuffer(rest, dtype).reshape(shape, order="F" if transposed else "C")


def _table(tensor: NDArray[Any], width: int) -> Table:
    """Return a tensor as a style table, float32 (510 or 1, width); raises ValueError."""
    if tensor.dtype.kind != "f":
        raise ValueError(f"has values of {tensor.dtype}, not float32")
    rows, flat = VOICE_ROWS, tensor.ndim == 1
    shapes = {(rows, 1, width), (rows, width), (1, 1, width), (1, width), (width,)}
    if flat and tensor.size == rows * width:  # of a .bin
        shapes.add(tensor.shape)
    if tensor.shape not in shapes:
        raise ValueError(
            f"has the shape {_format_shape(tensor.shape)}, not {rows} x 1 x {width}, {rows} x {width} "
            f"or {width}"
        )
    with np.errstate(over="ignore"):
        table = np.ascontiguousarray(tensor, np.float32).reshape(-1, width)
    if not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise ValueError(f"has NaN or infinity in it, first in row {row}: export it again")
    return table


def _format_shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "of one value"
