"""The pack stage: packs a component's weights in the layouts of its kernels, in one file that can be mapped.

It is a safetensors file. Tensors are flat and zero-padded to whole cache lines, so that each starts at a
multiple of 64 bytes in the file, and so in mapped memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.lower import Parameter
from kokoro_tvm.compiler.quantize import quantize_weight, select_bits
from kokoro_tvm.kernels.base.semantic import PackedWeight
from kokoro_tvm.runtime.bundle.quantized import METADATA

ALIGNMENT = 64  # bytes
# Dtypes of packed weights, and safetensors' names for them.
_DTYPES = {"float32": "F32", "float16": "F16", "int32": "I32", "uint16": "U16"}
_FILE_DTYPES = _DTYPES | {"uint8": "U8"}  # uint8 holds quantized weights


def pack_weights(
    parameters: Sequence[Parameter],
    state: Mapping[str, np.ndarray],
    out_path: Path,
    bits: Mapping[str, int] = MappingProxyType({}),
) -> Path:
    """Write the packed weights of one component.

    Args:
        parameters: Weights that the component's modules take.
        state: The folded state dict, float32.
        out_path: The file.
        bits: Name prefix to bits, see `select_bits`: weights with a packing are quantized so, others are
            stored as they are.

    Returns:
        `out_path`.

    Raises:
        BuildError: No weight's name begins with a prefix, or see `compute_packed_weights`.
    """
    for prefix in bits:
        if not any(select_bits(name, {prefix: bits[prefix]}) for name in state):
            raise BuildError(f"weight_bits has {prefix}, and the checkpoint no weight whose name begins so")
    packed = compute_packed_weights(parameters, state)
    described: dict[str, object] = {}
    for parameter in parameters:
        depth = select_bits(parameter.name, bits)
        if depth is None or parameter.packing is None or parameter.dtype != "float32":
            continue
        weight = quantize_weight(state[parameter.name], parameter.packing.packing, depth)
        packed[parameter.name] = np.frombuffer(weight.content(), np.uint8)
        described[parameter.name] = weight.description()
    _write(packed, described, out_path)
    return out_path


def compute_packed_weights(
    parameters: Sequence[Parameter], state: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Pack the weights of one component in memory.

    Args:
        parameters: Weights that the component's modules take.
        state: The folded state dict, float32.

    Returns:
        Packed arrays by name, in the order of the arguments.

    Raises:
        BuildError: The checkpoint lacks a weight, or has another shape or dtype than the module takes.
    """
    packed: dict[str, np.ndarray] = {}
    for parameter in parameters:
        if parameter.parts:
            parts = [_pack(name, packing, state) for name, packing in parameter.parts]
            array = np.concatenate([part.ravel() for part in parts])
        else:
            array = _pack(parameter.name, parameter.packing, state)
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


def _pack(name: str, packing: PackedWeight | None, state: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a weight's packed array, or the weight itself. Raises BuildError if the checkpoint lacks it."""
    if name not in state:
        raise BuildError(f"the checkpoint has no {name}, which the compiled model takes")
    array = np.ascontiguousarray(state[name], np.float32)
    return packing.pack(array) if packing is not None else array


def _write(tensors: Mapping[str, np.ndarray], described: Mapping[str, object], path: Path) -> None:
    """Write tensors as a safetensors file, aligned and little-endian, with `described` as its metadata."""
    header: dict[str, object] = {}
    if described:
        header["__metadata__"] = {METADATA: json.dumps(described, separators=(",", ":"))}
    offset = 0
    for name, array in tensors.items():
        size = -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        header[name] = {
            "dtype": _FILE_DTYPES[str(array.dtype)],
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
