"""The pack stage: a component's weights, each in the layout its kernels read, in one file that can be mapped.

A safetensors file whose tensors are flat and zero-padded to whole cache lines, so that every one of them
starts on a boundary of 64 bytes in the file, and so in memory once the file is mapped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from kokoro_tvm.compiler.lower import Parameter
from kokoro_tvm.compiler.quantize import quantize_weight, select_bits
from kokoro_tvm.errors import BuildError
from kokoro_tvm.ops.base.semantic import PackedWeight
from kokoro_tvm.runtime.bundle.quantized import METADATA

__all__ = ["ALIGNMENT", "compute_packed_weights", "pack_weights"]

ALIGNMENT = 64  # bytes
# What packings may give, and safetensors' word for it.
_DTYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "U16"}
_WORDS = _DTYPES | {"uint8": "U8"}  # of what is quantized


def pack_weights(
    parameters: Sequence[Parameter],
    state: Mapping[str, np.ndarray],
    out_path: Path,
    bits: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Writes the weights of one component; arguments and errors as those of `compute_packed_weights`.

    bits: of each weight that a kernel has a packing for, by what its name begins with, see `select_bits`; others
    are stored as the code takes them. Raises BuildError for an entry that no weight's name begins with.
    """
    for prefix in bits:
        if not any(select_bits(name, {prefix: bits[prefix]}) for name in state):
            raise BuildError(f"weight_bits has {prefix}, and the checkpoint no weight whose name begins so")
    packed = compute_packed_weights(parameters, state)
    described: dict[str, object] = {}
    for parameter in parameters:
        found = select_bits(parameter.name, bits)
        if found is None or parameter.packing is None or parameter.dtype != "float32":
            continue
        made = quantize_weight(state[parameter.name], parameter.packing.packing, found)
        packed[parameter.name] = np.frombuffer(made.content(), np.uint8)
        described[parameter.name] = made.description()
    _write(packed, described, out_path)
    return out_path


def compute_packed_weights(
    parameters: Sequence[Parameter], state: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
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


def _write(tensors: Mapping[str, np.ndarray], described: Mapping[str, object], path: Path) -> None:
    header: dict[str, object] = {}
    if described:
        header["__metadata__"] = {METADATA: json.dumps(described, separators=(",", ":"))}
    offset = 0
    for name, array in tensors.items():
        size = -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        header[name] = {
            "dtype": _WORDS[str(array.dtype)],
            "shape": [size // array.itemsize],
            "data_offsets": [offset, offset + size],
        }
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in tensors.values():
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
            file.write(bytes(-array.nbytes % ALIGNMENT))
