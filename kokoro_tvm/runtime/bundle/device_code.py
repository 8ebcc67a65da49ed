"""A component's GPU kernels: source or machine code, and launch parameters.

TVM writes one block of bytes per kind of GPU, which its runtime for that kind reads. Format:
apache/tvm, SaveToBytes of cuda_module.cc, metal_module.mm and webgpu_runtime.cc.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from kokoro_tvm.runtime.bundle.executable import LittleEndianReader


@dataclass(frozen=True)
class DeviceFunction:
    """A kernel.

    Attributes:
        name: of the function.
        arguments: DLPack's (type code, bits, lanes) of each; type code 3 is a pointer.
        launch: tags of what follows the arguments in a call: extents ("blockIdx.x", ...) and others.
        special: TVM's marks of arguments that are passed in another form.
    """

    name: str
    arguments: tuple[tuple[int, ...], ...]
    launch: tuple[str, ...]
    special: tuple[int, ...]


@dataclass(frozen=True)
class DeviceCode:
    """The kernels of a component.

    Attributes:
        kind: "cuda", "metal" or "webgpu".
        form: of `code`, such as "cuda" for source, or "cubin"; "" if the kind has only one.
        functions: by name.
        code: of all kernels under "", or by kernel.
    """

    kind: str
    form: str
    functions: Mapping[str, DeviceFunction]
    code: Mapping[str, bytes]

    @property
    def source(self) -> str:
        """The source of all kernels; raises UnicodeDecodeError for machine code."""
        return "\n".join(part.decode() for part in self.code.values())

    @classmethod
    def from_bytes(cls, kind: str, data: bytes) -> DeviceCode:
        """Parse TVM's block of a kind; raises ValueError."""
        reader = LittleEndianReader(data, "their text")
        try:
            form = reader.text() if kind != "webgpu" else ""
            functions = {}
            for _ in range(reader.number()):
                reader.text()
                name = reader.text()
                arguments = tuple(reader.fields("<BBH") for _ in range(reader.number()))
                launch = tuple(reader.text() for _ in range(reader.number()))
                special = tuple(reader.fields("<i")[0] for _ in range(reader.number()))
                functions[name] = DeviceFunction(name, arguments, launch, special)
            if kind == "cuda":
                return cls(kind, form, functions, {"": reader.block()})
            code = {reader.text(): reader.block() for _ in range(reader.number())}
            return cls(kind, form, functions, code)
        except ValueError as error:
            raise ValueError(f"these are not kernels for {kind}: {error}") from error

    def to_bytes(self) -> bytes:
        """Return the bytes that `from_bytes` and TVM's runtime read."""
        parts = [_text(self.form)] if self.kind != "webgpu" else []
        parts.append(_number(len(self.functions)))
        for name, function in self.functions.items():
            parts += [_text(name), _text(name), _number(len(function.arguments))]
            parts += [struct.pack("<BBH", *argument) for argument in function.arguments]
            parts.append(_number(len(function.launch)))
            parts += [_text(tag) for tag in function.launch]
            parts.append(_number(len(function.special)))
            parts += [struct.pack("<i", mark) for mark in function.special]
        if self.kind == "cuda":
            return b"".join([*parts, _block(self.code[""])])
        parts.append(_number(len(self.code)))
        return b"".join([*parts, *(_text(name) + _block(part) for name, part in self.code.items())])


def _number(value: int) -> bytes:
    return struct.pack("<Q", value)


def _block(data: bytes) -> bytes:
    return _number(len(data)) + data


def _text(value: str) -> bytes:
    return _block(value.encode())
