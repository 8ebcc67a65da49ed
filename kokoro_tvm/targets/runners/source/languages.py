"""Differences between the languages of kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kokoro_tvm.common.errors import BuildError

if TYPE_CHECKING:  # it imports numpy, which a build with nothing to do does not need
    from kokoro_tvm.runtime.bundle.device_code import DeviceCode, DeviceFunction

POINTER = 3  # DLPack's number


@dataclass(frozen=True)
class ShaderLanguage:
    """A language of kernels.

    Attributes:
        header: The header that defines the language's functions.
        head: Start of a kernel's definition or declaration, with its name.
        shared: The word before a declaration of shared memory.
        waits: Calls in which a thread waits for others.
        text: Returns the source of kernels by name, with the line numbers of its print.
        arguments: Returns the values of a kernel's parameters from their text.
    """

    header: str
    head: re.Pattern[str]
    shared: str
    waits: re.Pattern[str]
    text: Callable[[DeviceCode, Sequence[str]], str]
    arguments: Callable[[list[str], DeviceFunction], list[str]]


def _argument_expression(kind: str, number: int) -> str:
    """Return the C++ expression of a kernel's argument `number`, as a value of a type."""
    return f"group::As<{kind}>::from(given[{number}])"


def _cuda_arguments(parameters: list[str], function: DeviceFunction) -> list[str]:
    """Return the C++ expressions of a CUDA kernel's arguments, one for each parameter."""
    kinds = [p.rpartition(" ")[0].replace("__restrict__", "").strip() for p in parameters]
    return [_argument_expression(kind, number) for number, kind in enumerate(kinds)]


_BUFFER = re.compile(r"(device|constant) (.+?)([*&]) \w+ \[\[ buffer\((\d+)\) \]\]")
_POSITION = re.compile(r"\w+ \w+ \[\[(\w+)\]\]")


def _metal_arguments(parameters: list[str], function: DeviceFunction) -> list[str]:
    """Return the values of buffers in order, then a struct of all other values, eight bytes each.

    Raises BuildError for a parameter of an unknown kind.
    """
    types = function.arguments
    buffers = [i for i, (code, _, _) in enumerate(types) if code == POINTER]
    values = [i for i, (code, _, _) in enumerate(types) if code != POINTER]
    fields = ", ".join(
        f"{{{_argument_expression('float' if types[i][0] == 2 else 'int', i)}}}" for i in values
    )
    result = []
    for parameter in parameters:
        if position := _POSITION.fullmatch(parameter):
            result.append(f"{position[1]}(here)")
        elif (buffer := _BUFFER.fullmatch(parameter)) and buffer[3] == "*":
            result.append(_argument_expression(f"{buffer[2]}*", buffers[int(buffer[4])]))
        elif buffer:
            result.append(f"{buffer[2]}{{{fields}}}")
        else:
            raise BuildError(f"{function.name}: no value for its parameter {parameter}")
    return result


def _metal_text(code: DeviceCode, names: Sequence[str]) -> str:
    """Join the Metal sources of kernels, each in a namespace of its own."""
    parts = []
    for name in names:
        text = code.code[name].decode().replace("#include <metal_stdlib>", "")
        parts.append(f'#line 1 "metal source of {name}"\nnamespace metal::of_{name} {{{text}}}')
    return "\n".join(parts)


LANGUAGES = {
    "cuda": ShaderLanguage(
        header="cuda.h",
        head=re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\('),
        shared="__shared__",
        waits=re.compile(r"__syncthreads|__shfl_|multiply_m16n8k16"),
        text=lambda code, names: f'#line 1 "cuda source"\n{code.source}',
        arguments=_cuda_arguments,
    ),
    "metal": ShaderLanguage(
        header="metal.h",
        head=re.compile(r"kernel void (\w+)\(\s*"),
        shared="threadgroup",
        waits=re.compile(r"threadgroup_barrier|simd_"),
        text=_metal_text,
        arguments=_metal_arguments,
    ),
}
"""Languages by kind of GPU."""
