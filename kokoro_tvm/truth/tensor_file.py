"""Arrays and their metadata in one safetensors file, whole or not at all (numpy only)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from kokoro_tvm.errors import ValidationError
from kokoro_tvm.model.safetensors_file import write_arrays

__all__ = ["read_tensors", "write_tensors"]

_FORMAT = "1"

T = TypeVar("T")
Tensors = Mapping[str, NDArray[Any]]


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str]) -> None:
    """Write arrays by name; `path`, in a folder made for it, appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=f".{path.stem}-") as folder:
        partial = Path(folder) / path.name
        arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
        write_arrays(partial, arrays, {"format": _FORMAT, **metadata})
        partial.replace(path)


def read_tensors(path: Path, what: str, made_of: Callable[[Tensors, Mapping[str, str]], T]) -> T:
    """What `made_of(tensors, metadata)` makes of a file that `write_tensors` wrote.

    Raises ValidationError, in which the file was to be `what`, when it is missing, damaged, of another
    version, or `made_of` finds something lacking (KeyError, ValueError, TypeError).
    """
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if metadata.get("format") != _FORMAT:
            raise ValueError(f"it has format {metadata.get('format')}, {_FORMAT} is known")
        return made_of(tensors, metadata)
    except (OSError, SafetensorError, KeyError, ValueError, TypeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ValidationError(
            f"{path} cannot be read as {what} ({reason}). Delete it and run this again."
        ) from error
