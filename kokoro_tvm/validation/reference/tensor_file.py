"""Atomic reading and writing of arrays with metadata as one safetensors file. Needs only numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.model.safetensors_file import write_arrays

_FORMAT = "1"

T = TypeVar("T")
Tensors = Mapping[str, NDArray[Any]]


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write arrays by name atomically, and create the folder of `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.stem}-") as folder:
        partial = Path(folder) / path.name
        arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        write_arrays(partial, arrays, {"format": _FORMAT, **metadata})
        partial.replace(path)


def read_tensors(path: Path, what: str, build: Callable[[Tensors, Mapping[str, str]], T]) -> T:
    """Read a file that `write_tensors` wrote, and return `build(tensors, metadata)`.

    Args:
        path: The file.
        what: What the error message calls the content.
        build: May raise KeyError, ValueError or TypeError if something is missing.

    Raises:
        ValidationError: The file is missing, damaged, of another version, or `build` failed.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if metadata.get("format") != _FORMAT:
            raise ValueError(f"it has format {metadata.get('format')}, expected {_FORMAT}")
        return build(tensors, metadata)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ValidationError(
            f"{path} cannot be read as {what} ({reason}). Delete it and run this again."
        ) from error
