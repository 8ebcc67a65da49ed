"""A weight rounded to bfloat16, all the way: from its packing through the mapped file to its kernel."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tvm
import tvm_ffi
from bits import to_float32
from lowering import MACHINE, RECIPE, lowered_program, small_program

from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.compiler.lower import LoweredModule, Parameter
from kokoro_tvm.compiler.pack import pack_weights
from kokoro_tvm.kernels.base import semantic as _semantic
from kokoro_tvm.kernels.base.semantic import OpCall, OpImplementation, Packing, semantic_op
from kokoro_tvm.kernels.cpu.bfloat16 import pack_pairs, round_to_bfloat16
from kokoro_tvm.kernels.cpu.kernel import CpuKernel
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.runtime.bundle.tensors import map_safetensors

CHANNELS, STEPS = 4, 9


def _kernel(call: OpCall) -> Any:
    """Takes each pair apart with integer operations, so that it runs on any machine."""
    k = CpuKernel("scaled", call.features.lanes)
    with k:
        x = k.param("x", (1, STEPS, CHANNELS))
        weight = k.param("weight", (CHANNELS // 2,), "int32")
        y = k.param("y", (1, STEPS, CHANNELS))
        with k.loop(CHANNELS // 2) as c, k.loop(STEPS) as t:
            for half, bits in enumerate((weight[c] << 16, (weight[c] >> 16) << 16)):
                value = x[0, t, 2 * c + half] * tvm.tirx.reinterpret("float32", bits)
                k.store(y, value, 0, t, 2 * c + half)
    return k.build()


def _packings(call: OpCall) -> Mapping[str, Packing]:
    return {"weight": Packing("pairs", lambda weight: pack_pairs(weight[0::2], weight[1::2]))}


@pytest.fixture(scope="module")
def lowered() -> Iterator[LoweredModule]:
    """A program of one operation, x times a weight per channel; the operation is gone again afterwards."""

    kernel = OpImplementation(_kernel, _packings)

    @semantic_op(cpu=kernel, gpu=kernel)
    def scaled_by_pairs(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return x * weight

    program = small_program(lambda w, x: scaled_by_pairs(x, w["w"]), {"w": (CHANNELS,)})
    yield lowered_program(program, "small")
    del _semantic._REGISTRY["scaled_by_pairs"]


def test_a_parameter_has_its_packing_s_dtype(lowered: LoweredModule) -> None:
    (parameter,) = lowered.parameters
    assert (parameter.dtype, parameter.shape) == ("int32", (CHANNELS // 2,))
    assert str(lowered.module["small_forward"].params[-1].ty.dtype) == "int32"
    assert Parameter.from_json(json.loads(json.dumps(parameter.to_json()))) == parameter


def test_the_kernel_gets_the_rounded_weight(lowered: LoweredModule, tmp_path: Path) -> None:
    weight, x = (torch.randn(*shape).numpy() for shape in ((CHANNELS,), (1, STEPS, CHANNELS)))
    packed = map_safetensors(pack_weights(lowered.parameters, {"w": weight}, tmp_path / "w.safetensors"))["w"]
    assert packed.dtype == np.int32
    library = compile_module(lowered.module, MACHINE, GNU, tmp_path / "small.so", RECIPE["pass_context"])
    machine = tvm_ffi.load_module(str(library))
    machine = machine["vm_load_executable"]()
    machine["vm_initialization"](1, 0, 2)
    tensors = (tvm_ffi.from_dlpack(np.array(a)) for a in (x, packed[: CHANNELS // 2]))
    (result,) = machine["small_forward"](*tensors)
    rounded = to_float32(round_to_bfloat16(weight))
    assert not np.array_equal(rounded, weight)
    assert np.array_equal(np.from_dlpack(result), x * rounded)
