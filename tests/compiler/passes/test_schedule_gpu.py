from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tvm
import tvm_ffi
from kernels.on_gpu import AS_CPP, GPUS, on_gpu
from lowering import lowered

from .on_gpu import GPU, kernels, phases

_LAUNCH = re.compile(r'(?:thread_binding\(|launch_thread\("threadIdx.x", )(\d+)(?:, thread="threadIdx.x")?\)')


@pytest.mark.parametrize("policy", ["exact", "masked"])
@pytest.mark.parametrize("component", ["bert", "duration", "text_encoder", "f0n", "decoder"])
def test_schedule_gpu_adds_launches(component: str, policy: str) -> None:
    """Check hand-written and plain kernels: threads fit a workgroup, and no index is int64."""
    workgroup = GPU.features.workgroup
    assert workgroup is not None
    modules = kernels(phases(component, policy)["plan_memory"])
    assert modules
    for name, function in modules.items():
        text = function.script()
        threads = [int(number) for number in _LAUNCH.findall(text)]
        assert threads, f"{name} has no launch"
        assert max(threads) <= workgroup.threads, name
        assert not re.search(r"\b(int64|float64)\b", text), name


def test_schedule_gpu_leaves_cpu_modules() -> None:
    before, after = (lowered("text_encoder")[1][phase] for phase in ("fuse", "schedule_gpu"))
    assert after.same_as(before)


def arguments(function: Any) -> list[np.ndarray]:
    """Return numbers for what a kernel reads and NaN for its last parameter, which it writes."""
    generator = np.random.default_rng(1)
    arrays: list[np.ndarray] = []
    for parameter in function.params:
        shape = tuple(int(extent) for extent in parameter.ty.shape)
        wide = str(parameter.ty.dtype) == "float32"
        arrays.append(
            generator.standard_normal(shape, np.float32)
            if wide
            else generator.integers(0, 2, shape, np.int32)
        )
    if arrays[-1].dtype == np.float32:
        arrays[-1][...] = np.nan
    return arrays


@AS_CPP
def test_schedule_gpu_keeps_results() -> None:
    """Compare each function, compiled for this machine before the pass, with its launch from CUDA's text."""
    modules = phases("duration", "masked")
    before, after = kernels(modules["fuse"]), kernels(modules["schedule_gpu"])
    assert before.keys() == after.keys()
    for name in before:
        plain, launch = (module[name].with_attr("global_symbol", name) for module in (before, after))
        inputs = arguments(plain)
        expected, actual = [a.copy() for a in inputs], [a.copy() for a in inputs]
        on_host = tvm.compile(tvm.IRModule({name: plain}), target="llvm")
        on_host[name](*map(tvm_ffi.from_dlpack, expected))
        executed = on_gpu(GPUS["cuda"], launch)
        assert executed is not None
        executed(*actual)
        np.testing.assert_allclose(actual[-1], expected[-1], rtol=1e-6, atol=1e-6, err_msg=name)
