"""Kernels for a GPU as a library that TVM loads in the place of the GPU's own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kokoro_tvm.errors import BuildError
from kokoro_tvm.runtime.device_code import DeviceCode, DeviceFunction

__all__ = ["load", "translated"]

_FOLDER = Path(__file__).parent
_AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x")
_TYPES = {(0, 32): "int32_t", (1, 32): "uint32_t", (2, 32): "float"}
_SHARED = re.compile(r"__shared__\s+(?:alignas\(\d+\)\s+)?(\w+)\s+(\w+)\[(\d+)\];")


def load(code: DeviceCode) -> Any:
    """The kernels as a TVM module. Raises BuildError where the compiler refuses them."""
    import tvm_ffi

    with TemporaryDirectory(prefix="kokoro-tvm-") as folder:
        source, library = Path(folder, "kernels.cc"), Path(folder, "kernels.so")
        source.write_text(translated(code), encoding="utf-8")
        include = Path(tvm_ffi.__file__).parent / "include"
        command = ["g++", "-std=c++17", "-O2", "-march=native", "-ffp-contract=off", "-fPIC", "-shared", "-w"]
        done = subprocess.run(
            [*command, f"-I{_FOLDER}", f"-I{include}", str(source), "-o", str(library)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise BuildError(f"the kernels do not compile as C++: {done.stderr[:2000]}")
        return tvm_ffi.load_module(str(library))


def translated(code: DeviceCode) -> str:
    """The C++ text: the kernels as they are, and for each a function that TVM can call."""
    text = code.source.rpartition("#endif")[2] if code.kind == "cuda" else code.source
    text = re.sub(r"#define u\w+ unsigned \w+", "", text)
    offset = 0

    def shared(match: re.Match[str]) -> str:
        nonlocal offset
        kind, name, count = match.groups()
        place, offset = offset, offset + -(-int(count) * 8 // 64) * 64
        return f"{kind}* {name} = reinterpret_cast<{kind}*>(group::here().shared + {place});"

    parts = []
    for part in re.split(r"(?=^extern \"C\" __global__)", text, flags=re.MULTILINE):
        offset = 0
        parts.append(_SHARED.sub(shared, part))
    text = "".join(parts).replace("threadIdx.x", "group::here().current")
    calls = "\n".join(_caller(f, "__syncthreads" in _body(text, f.name)) for f in code.functions.values())
    return f'#include <tvm/ffi/c_api.h>\n#include "{code.kind}.h"\n{text}\n{calls}'


def _body(text: str, name: str) -> str:
    start = text.rindex(f" {name}(")
    end = text.find('extern "C"', start)
    return text[start : end if end >= 0 else len(text)]


def _caller(function: DeviceFunction, waits: bool) -> str:
    name, count = function.name, len(function.arguments)
    arguments = []
    for i, (kind, bits, _) in enumerate(function.arguments):
        value = f"call->given[{i}]"
        if kind == 3:
            arguments.append(f"(decltype(argument_of<{i}>({name}))){value}.v_ptr")
        else:
            field = "v_float64" if kind == 2 else "v_int64"
            arguments.append(f"({_TYPES[kind, bits]}){value}.{field}")
    extents = {tag: f"given[{count + i}].v_int64" for i, tag in enumerate(function.launch) if tag in _AXES}
    x, y, z, threads = (extents.get(axis, "1") for axis in _AXES)
    body = f"static void body_{name}(void* p, int) {{ auto* call = (Call_{name}*)p; {name}({', '.join(arguments)}); }}"
    run = (
        f"group::run(threads, body_{name}, &call);"
        if waits
        else f"for (int t = 0; t < threads; ++t) {{ group::here().current = t; body_{name}(&call, t); }}"
    )
    return f"""
struct Call_{name} {{ const TVMFFIAny* given; }};
{body}
extern "C" __attribute__((visibility("default"))) int __tvm_ffi_{name}(void*, const TVMFFIAny* given, int32_t count,
                                                                   TVMFFIAny* result) {{
  Call_{name} call{{given}};
  int threads = (int){threads};
  for (blockIdx.z = 0; blockIdx.z < {z}; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < {y}; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < {x}; ++blockIdx.x) {{ {run} }}
  result->type_index = kTVMFFINone;
  return 0;
}}"""
