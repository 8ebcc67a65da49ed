"""A kernel whose buffers may share memory must not promise that pointers do not alias."""

from __future__ import annotations

import re
from typing import Any

import pytest
import tvm
from elsewhere import RECIPES, generated_for, machine_for, recipe_of
from lowering import lowered_program, program
from tvm import relax

from kokoro_tvm.kernels.base.semantic import OpCall, registry
from kokoro_tvm.recipe import list_recipes

# One recipe of every kind of target and, of `llvm`, of every platform; names of machines differ besides.
NAMES = ("cpu", "linux-arm64", "linux-riscv64", "macos-arm64", "metal-ios", "wasm", "windows-x86-64")
NAMES += ("cuda", "metal-macos", "webgpu")
ALLOC_TENSOR = tvm.ir.Op.get("relax.memory.alloc_tensor")


def kind_of(name: str) -> tuple[Any, ...]:
    target = recipe_of(name).target
    return target.kind, getattr(target, "platform", None)


def test_noalias_samples_cover_every_target_kind() -> None:
    shipped = {kind_of(name) for name in list_recipes(RECIPES)}
    assert {kind_of(name) for name in NAMES} >= shipped


@pytest.mark.parametrize("name", NAMES)
def test_noalias_is_off_for_in_place_kernels(name: str) -> None:
    """Follow the storages of the finished function's tensors."""
    machine = machine_for(name)
    modules: dict[str, Any] = {}
    lowered_program(program("bert"), "bert", dump=modules.__setitem__, machine=machine)
    module = modules["plan_memory"]
    storage: dict[Any, Any] = {}
    shared = 0
    for binding in (b for block in module["bert_forward"].body.blocks for b in block.bindings):
        value = binding.value
        if isinstance(value, relax.Var):
            storage[binding.var] = storage.get(value)
        elif isinstance(value, relax.Call) and value.op == ALLOC_TENSOR:
            storage[binding.var] = value.args[0]
        elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            storages = [place for a in value.args if (place := storage.get(a)) is not None]
            if len(set(storages)) < len(storages):
                assert not module[value.op].attrs["tirx.noalias"], value.op.name_hint
                shared += 1
    assert (shared > 0) == (machine.features.kernels == "cpu")


@pytest.mark.parametrize("name", [n for n in NAMES if kind_of(n)[0] == "llvm"])
@pytest.mark.parametrize("residual", [False, True])
def test_noalias_reaches_llvm(name: str, residual: bool) -> None:
    """Search the LLVM IR for `noalias` on parameters; kernels that are not in place keep it."""
    machine = machine_for(name)
    shapes: dict[str, Any] = {"x": (1, "n", 16), "weight": (16, 16, 3)}
    shapes |= {"residual": (1, "n", 16)} if residual else {}
    attributes = {"stride": 1, "padding": 1, "dilation": 1, "slope": 1.0, "gain": 1.0, "repeat": 1}
    call = OpCall(shapes, attributes | {"tolerant": True}, (1, "n", 16), machine.features)
    text = str(generated_for(name, registry()["conv1d"].kernel(call)).inspect_source("ll"))
    promised = re.search(r"^(define|declare).*\bnoalias\b.*%\w*(y|residual)\b", text, re.MULTILINE)
    assert (promised is None) == residual
