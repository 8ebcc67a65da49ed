"""The part of a compiled module that a GPU executes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from tvm.runtime import _ffi_api as runtime_api

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runtime.bundle.device_code import DeviceCode

__all__ = ["device_code", "merged"]

_KERNEL = b'extern "C" __global__'
_OWN = b"_lib"  # how TVM marks the module itself among those that it packs


def device_code(module: Any) -> DeviceCode | None:
    """The kernels that a host's module imports, as TVM would pack them with it; None where it imports none.

    Raises BuildError where they are of several kinds of GPU.
    """
    if not module.imports:
        return None
    if len(module.imports) > 1:
        raise BuildError(f"{len(module.imports)} modules for GPUs were generated, not one")
    packed = runtime_api.ModulePackImportsToTensor(module).numpy().tobytes()
    at = packed.find(_OWN)
    kind, at = _block(packed, at + len(_OWN))
    content, _ = _block(packed, at)
    return DeviceCode.from_bytes(kind.decode(), content)


def merged(parts: Sequence[DeviceCode]) -> DeviceCode:
    """The kernels of several modules as one: what stands before CUDA's kernels stands there once.

    Raises BuildError where no module has all of that: it has more where kernels use float16.
    """
    first = parts[0]
    functions = {name: function for part in parts for name, function in part.functions.items()}
    if first.kind != "cuda":
        code = {name: text for part in parts for name, text in part.code.items()}
        return DeviceCode(first.kind, first.form, functions, code)
    heads, bodies = zip(*(_split(part.code[""]) for part in parts), strict=True)
    head = max(heads, key=len)
    if any(set(other.splitlines()) - set(head.splitlines()) for other in heads):
        raise BuildError("kernels for CUDA have different preambles, so they cannot be compiled as one")
    return DeviceCode(first.kind, first.form, functions, {"": b"".join([head, *bodies])})


def _split(text: bytes) -> tuple[bytes, bytes]:
    """CUDA's preamble, and the kernels."""
    at = text.index(_KERNEL)
    return text[:at], text[at:]


def _block(data: bytes, at: int) -> tuple[bytes, int]:
    """A block of bytes that follows its size, and where it ends."""
    (size,) = struct.unpack_from("<Q", data, at)
    return data[at + 8 : at + 8 + size], at + 8 + size
