from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tvm
from lowering import lowered
from tvm import relax

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext, run_passes

from .on_gpu import GPU, TARGET, phases

CONTEXT = LoweringContext("toy", TARGET, GPU.features, frozenset())


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_narrow_removes_int64_tensors(policy: str) -> None:
    modules = phases("bert", policy)
    assert 'dtype="int64"' in modules["import"].script()
    text = modules["narrow"].script()
    assert 'dtype="int64"' not in text
    assert '"int64")' not in text  # R.const
    tokens = modules["narrow"]["bert_forward"].params[0]
    assert (tokens.name, str(tokens.ty.dtype)) == ("tokens", "int32")


def test_narrow_keeps_type_of_lengths() -> None:
    """Expect int64 in shapes, which are no tensors: the virtual machine counts in int64."""
    tokens = phases("bert", "exact")["narrow"]["bert_forward"].params[0]
    assert str(tokens.ty.shape[1].ty.dtype) == "int64"


@pytest.mark.parametrize("index", [0, 2, -1])
def test_narrow_slices_at_constant_index(index: int) -> None:
    x = relax.Var("x", relax.TensorType((4, 3, 5), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("toy_forward", [x]):
        element = relax.op.take(x, relax.const(index, "int64"), axis=1)
        builder.emit_func_output(builder.emit(element))
    module = run_passes(builder.get(), ["narrow", "legalize"], CONTEXT)
    assert "take" not in [variable.name_hint for variable in module.get_global_vars()]
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    array = np.arange(60, dtype=np.float32).reshape(4, 3, 5)
    actual = machine["toy_forward"](tvm.runtime.tensor(array)).numpy()
    assert np.array_equal(actual, array[:, index])


def test_narrow_leaves_cpu_modules() -> None:
    before, after = (lowered("text_encoder", "masked")[1][phase] for phase in ("import", "narrow"))
    assert after["text_encoder_forward"].same_as(before["text_encoder_forward"])


def one_constant(value: int) -> tvm.IRModule:
    x = relax.Var("x", relax.TensorType((1,), "int64"))
    builder = relax.BlockBuilder()
    with builder.function("toy_forward", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(value, "int64"))))
    return builder.get()


def test_narrow_casts_constants() -> None:
    function = run_passes(one_constant(2**31 - 1), ["narrow"], CONTEXT)["toy_forward"]
    assert str(function.ret_ty.dtype) == "int32"
    wide = replace(CONTEXT, features=replace(CONTEXT.features, kernels="cpu"))
    assert str(run_passes(one_constant(7), ["narrow"], wide)["toy_forward"].ret_ty.dtype) == "int64"


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_narrow_rejects_overflowing_constant(value: int) -> None:
    with pytest.raises(BuildError, match=f"toy: the constant {np.int64(value)} does not fit int32"):
        run_passes(one_constant(value), ["narrow"], CONTEXT)
