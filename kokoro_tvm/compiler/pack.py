"""The pack stage: a component's weights, each in the layout its kernels read, in one file that can be mapped.

A safetensors file whose tensors are flat and zero-padded to whole cache lines, so that every one of them
starts on a boundary of 64 bytes in the file, and so in memory once the file is mapped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from kokoro_tvm.compiler.lower import Parameter
from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.packed import PackedWeight

__all__ = ["ALIGNMENT", "Storage", "pack_weights", "packed_weights"]

ALIGNMENT = 64  # bytes
# What packings may give, and safetensors' word for it.
_DTYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "U16"}

Storage = Literal["float32", "float16"]


def pack_weights(
    parameters: Sequence[Parameter],
    state: Mapping[str, np.ndarray],
    out_path: Path,
    storage: Storage = "float32",
) -> Path:
    """Writes the weights of one component; arguments and errors as those of `packed_weights`.

    storage: what float32 is rounded to in the file; whoever loads it makes float32 of it again. Raises
    BuildError for a weight that float16 does not reach, besides.
    """
    packed = packed_weights(parameters, state)
    if storage == "float16":
        packed = {name: _half(name, array) for name, array in packed.items()}
    _write(packed, out_path)
    return out_path


def _half(name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype != np.float32:
        return array
    if (largest := float(np.abs(array).max(initial=0))) > np.finfo(np.float16).max:
        raise BuildError(
            f"{name} has {largest:g}, more than float16 reaches: leave it out of float16_weights"
        )
    return array.astype(np.float16)


def packed_weights(parameters: Sequence[Parameter], state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights of one component by name, in the order and the layout its code takes them.

    parameters: what the component's modules take; state: the folded state dict, float32. Raises BuildError
    for a parameter the checkpoint does not have, or has in another shape or dtype than the module wants.
    """
    packed: dict[str, np.ndarray] = {}
    for parameter in parameters:
        if parameter.parts:
            parts = [_packed(name, packing, state) for name, packing in parameter.parts]
            array = np.concatenate([part.ravel() for part in parts])
        else:
            array = _packed(parameter.name, parameter.packing, state)
        if (array.shape, str(array.dtype)) != (parameter.shape, parameter.dtype):
            raise BuildError(
                f"{parameter.name} is {array.dtype} of shape {array.shape} after packing, the compiled model "
                f"takes {parameter.dtype} of shape {parameter.shape}"
            )
        if parameter.dtype not in _DTYPES:
            raise BuildError(
                f"{parameter.name} is packed as {parameter.dtype}, which no bundle holds: a packing gives "
                f"{' or '.join(_DTYPES)}"
            )
        packed[parameter.name] = array
    return packed


def _packed(name: str, packing: PackedWeight | None, state: Mapping[str, np.ndarray]) -> np.ndarray:
    if name not in state:
        raise BuildError(f"the checkpoint has no {name}, which the compiled model takes")
    array = np.ascontiguousarray(state[name], np.float32)
    return packing.pack(array) if packing is not None else array


def _write(tensors: Mapping[str, np.ndarray], path: Path) -> None:
    header: dict[str, object] = {}
    offset = 0
    for name, array in tensors.items():
        size = -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        header[name] = {
            "dtype": _DTYPES[str(array.dtype)],
            "shape": [size // array.itemsize],
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in tensors.values():
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
            file.write(bytes(-array.nbytes % ALIGNMENT))
    partial.replace(path)
