"""The stored names of compilers compared with the compilers."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.native.toolchains.compiler_names import FILE, compiler_names

# A program of its own: LLVM prints every word that is no feature of its.
ASK_LLVM = """
import json, re, sys
import tvm
from pathlib import Path
from tvm.target import codegen

def features(triple, **options):
    target = tvm.target.Target({"kind": "llvm", "mtriple": triple, **options})
    return {str(name) for name in codegen.llvm_get_cpu_features(target)}

# LLVM lists neither other names of CPUs nor features that none of them has, but can be asked about any word;
# a name is one in the library.
library = Path(tvm.__file__).with_name("lib") / "libtvm_compiler.so"
words = {w.decode() for w in re.findall(rb"(?<=\\0)[a-z0-9][a-z0-9.+_-]{0,47}(?=\\0)", library.read_bytes())}
found = {"cpus": {}, "features": {}}
for architecture in ("aarch64", "riscv64", "wasm32", "x86_64"):
    triple = f"{architecture}-unknown-unknown"
    listed = codegen.llvm_get_cpu_archlist(tvm.target.Target({"kind": "llvm", "mtriple": triple}))
    cpus = {*map(str, listed)} | {word for word in words if codegen.llvm_is_valid_cpu(word, triple)}
    names = features(triple, mattr=[f"+{word}" for word in sorted(words)])
    for cpu in cpus:
        names |= features(triple, mcpu=cpu)
    found["cpus"][architecture] = " ".join(sorted(cpus))
    found["features"][architecture] = " ".join(sorted(names))
json.dump(found, sys.stdout)
"""

# Passes whose name is not that of the function that makes them.
RENAMED = {"DataflowInsertInPlaceCalls", "DecomposeOps", "DefaultGPUSchedule", "relax.BindSymbolicVars"}
DECORATED = re.compile(
    r"^@.*_pass\(opt_level=\d(?:, name=\"([\w.]+)\")?\)\s+(?:class|def) (\w+)", re.MULTILINE
)


def passes() -> set[str]:
    """Return the passes that TVM registers, and those written in Python."""
    from tvm_ffi import registry

    spec = find_spec("tvm")
    assert spec is not None
    assert spec.origin is not None
    importlib.import_module("tvm")
    result = set(RENAMED)
    for function in registry.list_global_func_names():
        room, dot, name = function.partition(".transform.")
        if dot and "." not in name:
            result.add(name if room.startswith("relax") else f"{room}.{name}")
    for path in Path(spec.origin).parent.rglob("*.py"):
        named = DECORATED.findall(path.read_text(encoding="utf-8"))
        result |= {name or function for name, function in named}
    return result


def gpus() -> list[str]:
    library, count = nvrtc._load_library(nvrtc._NVRTC), ctypes.c_int()
    assert library.nvrtcGetNumSupportedArchs(ctypes.byref(count)) == 0
    numbers = (ctypes.c_int * count.value)()
    assert library.nvrtcGetSupportedArchs(numbers) == 0
    return [f"sm_{number}" for number in numbers]


@pytest.mark.skipif(nvrtc.check() is not None, reason="needs NVRTC")
def test_compiler_names_match_the_compilers() -> None:
    """GOLDEN=write in the environment writes the file."""
    process = subprocess.run([sys.executable, "-c", ASK_LLVM], capture_output=True, text=True, check=True)
    result = {**json.loads(process.stdout), "passes": " ".join(sorted(passes())), "gpus": " ".join(gpus())}
    text = json.dumps(result, indent=2) + "\n"
    if os.environ.get("GOLDEN") == "write":
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text


def test_compiler_names_has_every_kind() -> None:
    names = compiler_names()
    assert {"znver5", "x86-64-v3", "generic"} <= {*names.cpus["x86_64"]}
    assert {"avx512f", "fma4", "retpoline-external-thunk"} <= {*names.features["x86_64"]}
    assert {"neon", "reserve-x18"} <= {*names.features["aarch64"]}
    assert {"FuseOps", "FoldConstant", "tirx.CommonSubexprElim", "s_tir.LoopPartition"} <= {*names.passes}
    assert "sm_90" in names.gpus


def test_tvm_passes_have_the_names_that_tvm_skips() -> None:
    import tvm

    built = {tvm.relax.transform.FuseOps().info.name, tvm.tirx.transform.LowerIntrin().info.name}
    built |= {tvm.relax.transform.DecomposeOpsForInference().info.name}
    assert built <= {*compiler_names().passes}


@pytest.mark.skipif(nvrtc.check() is not None, reason="needs NVRTC")
def test_gpu_architectures_compile() -> None:
    kernel = 'extern "C" __global__ void __launch_bounds__(32) copy(float* x) { x[threadIdx.x] = 1; }'
    binary, parts = nvrtc.fat_binary(kernel, compiler_names().gpus)
    assert binary
    assert len(parts) == len(compiler_names().gpus) + 1
