"""Writing of safetensors files whose bytes depend on their content alone.

The library's own writer orders metadata differently in every process, which would change digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

_DTYPES = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "int8": "I8", "uint8": "U8"}


def write_safetensors(path: Path, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> None:
    """Write float32 tensors in the order of the mapping. Raises TypeError for another dtype."""
    for name, tensor in tensors.items():
        if str(tensor.dtype) != "torch.float32":
            raise TypeError(f"{name}: float32 expected, got {tensor.dtype}")
    arrays = {name: tensor.detach().cpu().contiguous().numpy() for name, tensor in tensors.items()}
    write_arrays(path, arrays, metadata)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
    """Write float64, float32, int64, int32 and uint8 arrays in the order of the mapping.

    The format is described at huggingface.co/docs/safetensors, "Format". Raises TypeError for another dtype.
    """
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))}
    offset = 0
    for name, array in arrays.items():
        dtype = _DTYPES.get(array.dtype.name)
        if dtype is None:
            raise TypeError(f"{name}: {', '.join(_DTYPES)} expected, got {array.dtype}")
        end = offset + array.nbytes
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays.values():
            file.write(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
