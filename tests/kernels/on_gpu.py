"""GPU kernels: compiled as a recipe's are, executed from their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from devices import on_device
from kept import kept

from kokoro_tvm.common.cpu_features import features_of_cpu
from kokoro_tvm.common.features import Features, Workgroup
from kokoro_tvm.compiler.codegen import extract_device_code
from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.native.toolchains.cc import NATIVE_CXX
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.runtime.threads import usable_cores
from kokoro_tvm.targets import Machine
from kokoro_tvm.targets.runners import wgpu_kernels
from kokoro_tvm.targets.runners.source import program
from kokoro_tvm.targets.runners.source.device import use_host_memory
from kokoro_tvm.targets.runners.source.program import headers_digest
from kokoro_tvm.targets.runners.wgpu import WGPU

__all__ = ["AS_CPP", "GPUS", "RACES", "GpuKernel", "on_gpu"]

AS_CPP = pytest.mark.slow("compiles kernels for GPUs as C++")

BARRIER = "__syncthreads();"  # CUDA's
_FEATURES = Features(1, 0, "float32", "gpu", workgroup=Workgroup(256, 16384))


def _from_source(code: DeviceCode, without: int | None = None, races: bool = False) -> Any:
    """without: the number of a barrier that is taken out; races: see program.load."""
    if without is not None:
        parts = code.source.split(BARRIER)
        if without >= len(parts) - 1:
            raise IndexError(f"{len(parts) - 1} barriers")
        text = BARRIER.join(parts[: without + 1]) + BARRIER.join(parts[without + 1 :])
        code = replace(code, code={"": text.encode()})
    options = ("-march=native", *(["-DGROUP_RACES"] if races else []))

    def make(out: Path) -> None:
        program.compile_kernels(code, out, NATIVE_CXX, *options)

    text = program.translate(code, [*code.functions])
    made_of = {
        "text": text,
        "options": options,
        "headers": headers_digest(),
        "features": sorted(features_of_cpu() or ()),
    }
    library = tvm_ffi.load_module(str(kept(made_of, make)))
    library["choose"](int(program.Order.EACH_LAUNCH_ANOTHER), usable_cores())
    return library


_LOADERS = {"cuda": _from_source, "metal": _from_source, "webgpu": wgpu_kernels.load}
GPUS: dict[str, Machine] = {kind: Machine(kind, {}, _FEATURES, ()) for kind in _LOADERS}
"""By kind; what differs between them is the text that TVM prints."""
RACES = Machine("cuda", {"races": True}, _FEATURES, ())
"""A GPU on which two threads at one element of shared memory, one of them writing it, are an error."""


def without_barrier(number: int) -> Machine:
    """Return kernels that lack one of their barriers."""
    return Machine("cuda", {"races": True, "without": number}, _FEATURES, ())


class GpuKernel:
    """A kernel whose arguments lie in emulated GPU memory."""

    def __init__(self, machine: Machine, function: Any) -> None:
        kind = machine.kind
        if kind == "webgpu" and (reason := WGPU.check()) is not None:
            pytest.skip(reason)
        use_host_memory(kind)
        self.kind = kind
        self.name = str(function.attrs["global_symbol"])
        target = tvm.target.Target(
            {"kind": kind} | ({"arch": "sm_90"} if kind == "cuda" else {}), {"kind": "llvm"}
        )
        built = tvm.tirx.build(tvm.IRModule({self.name: function}), target)
        self.code = extract_device_code(built)
        if kind == "cuda" and not machine.options and nvrtc.check() is None:
            usage = nvrtc.compile_cuda(self.code.source, "sm_90").resources
            assert not any(resources.spilled_bytes for resources in usage.values()), usage
        with TemporaryDirectory() as folder:
            parts, library = Path(folder, "host.o"), Path(folder, "host.so")
            built.write_to_file(str(parts))
            GNU.link([parts], library)
            self._host = tvm_ffi.load_module(str(library))
        self._host.import_module(_LOADERS[kind](self.code, **machine.options))

    def __call__(self, *arrays: np.ndarray) -> None:
        self._host[self.name](*(on_device(array, self.kind) for array in arrays))


def on_gpu(machine: Machine, function: Any) -> GpuKernel | None:
    """Return a kernel for a GPU, or None if it is for a CPU."""
    return GpuKernel(machine, function) if machine.kind != "llvm" else None


def arrays_for(kernel: GpuKernel, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cast int64 to int32 for GPUs."""
    return [array.astype(np.int32) if array.dtype == np.int64 else array for array in arrays]
