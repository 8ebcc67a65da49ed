from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import tvm
from hypothesis import given
from hypothesis import strategies as st
from lowering import MACHINE, PASSES, STORAGE_STEP, lowered
from tvm import relax

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext, plan_memory
from kokoro_tvm.compiler.passes.select_kernels import IN_PLACE
from kokoro_tvm.targets import tvm_target

from .support import calls, operators

ALLOC_STORAGE = "relax.memory.alloc_storage"


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_plan_memory_frees_every_allocation(policy: str) -> None:
    """Expect that every tensor that is not returned is freed after its last use."""
    _, phases = lowered("duration", policy)
    counts = operators(phases["plan_memory"], "duration")
    assert counts["relax.call_tir"] == 0
    assert counts["relax.memory.alloc_storage"] > 0
    assert counts["relax.memory.kill_storage"] == counts["relax.memory.alloc_storage"]
    assert counts["relax.memory.kill_tensor"] >= counts["relax.memory.alloc_tensor"] - 2  # two are returned


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_plan_memory_shares_storage_of_different_sizes(policy: str) -> None:
    module = lowered("decoder", policy)[1]["plan_memory"]
    sizes = {
        str(call.args[2]) for call in calls(module, "decoder") if call.op == _op("relax.memory.alloc_tensor")
    }
    assert operators(module, "decoder")["relax.memory.alloc_storage"] < len(sizes)


@pytest.mark.parametrize("component", ["bert", "duration", "text_encoder", "f0n", "decoder"])
def test_plan_memory_keeps_storage_until_last_read(component: str) -> None:
    """Follow the finished function, other names of a tensor (views, tuples) included."""
    # A kernel that works in place reads the argument that its result replaces, and is the last to do so.
    module = lowered(component, "exact")[1]["plan_memory"]
    function = module[f"{component}_forward"]
    where: dict[Any, set[Any]] = {}  # variable -> the storages its memory lies in
    lost: set[Any] = set()
    reused = in_place = 0
    for binding in (b for block in function.body.blocks for b in block.bindings):
        value = binding.value
        if isinstance(value, relax.Call) and value.op == _op("relax.memory.alloc_tensor"):
            storage = value.args[0]
            lost |= {variable for variable, storages in where.items() if storage in storages}
            where[binding.var] = {storage}
            reused += 1
        elif not (isinstance(value, relax.Call) and value.op == _op("relax.memory.kill_tensor")):
            used = set(relax.analysis.free_vars(value))
            over = _read_and_overwritten(module, value, where)
            assert not (used - over) & lost
            in_place += len(over)
            if not (isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar)):
                where[binding.var] = {storage for variable in used for storage in where.get(variable, ())}
    assert reused > 5
    assert lost
    assert (in_place > 0) == (component in ("bert", "f0n", "decoder"))  # those with residuals
    assert not set(relax.analysis.free_vars(function.body.body)) & lost


LENGTH = tvm.tirx.Var("n", "int64")
TENSORS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(0, 20), st.integers(0, 8)), min_size=1
)


@given(TENSORS)
def test_plan_memory_assigns_fitting_exclusive_storage(result: list[tuple[int, int, int, int]]) -> None:
    """Use sizes of `slope * n + offset` bytes and lifetimes that are intervals of bindings."""
    # Every third tensor may reuse the memory of those that end before it does.
    variable = relax.Var("x", relax.TensorType([LENGTH], "float32"))
    lengths = plan_memory._Lengths(relax.Function([variable], variable, variable.ty))
    tensors = []
    for place, (slope, offset, first, duration) in enumerate(result):
        size, last = LENGTH * slope + offset, first + duration
        ended = {
            i for i, (_, _, start, length) in enumerate(result) if start < first <= start + length < last
        }
        over = frozenset(ended) if place % 3 == 0 else frozenset()
        tensors.append(plan_memory._Tensor(place, size, lengths.typical(size), first, last, over))
    slots = plan_memory._assign_slots(tensors, lengths)
    assert sorted(map(id, tensors)) == sorted(id(t) for slot in slots for t in slot.tensors)
    for slot in slots:
        for one, other in itertools.combinations(slot.tensors, 2):
            apart = one.last < other.first or other.last < one.first
            assert apart or one.variable in other.over or other.variable in one.over
        for length in (1, 2, 1 << 20):
            sizes = [_at(t.size, length) for t in slot.tensors]
            assert max(sizes) == sizes[0]


@pytest.mark.parametrize("component", ["duration", "decoder"])
def test_plan_memory_rounds_lengths_to_steps(component: str) -> None:
    """Expect equal sizes, because the pool returns blocks of exactly the same size only."""
    module = lowered(component, "exact")[1]["plan_memory"]
    storages = [c.args[0].values[0] for c in calls(module, component) if c.op == _op(ALLOC_STORAGE)]
    (variable,) = relax.analysis.defined_symbolic_vars(module[f"{component}_forward"])
    sizes = [
        [_at(size, length, variable) for size in storages]
        for length in (1, STORAGE_STEP - 1, STORAGE_STEP, STORAGE_STEP + 1)
    ]
    assert sizes[0] == sizes[1] == sizes[2]
    assert all(next_one > one for one, next_one in zip(sizes[2], sizes[3], strict=True) if one > 4096)


@pytest.mark.parametrize("component", ["f0n", "decoder"])
def test_plan_memory_keeps_results_exclusive(component: str) -> None:
    """Expect a storage of its own, which the caller may keep."""
    function = lowered(component, "exact")[1]["plan_memory"][f"{component}_forward"]
    bindings = [b for block in function.body.blocks for b in block.bindings]
    storages = {b.var: b.value.args[0] for b in bindings if _is_call(b.value, "relax.memory.alloc_tensor")}
    returned = {storages[variable] for variable in _returned(function, bindings) if variable in storages}
    assert returned
    assert all(list(storages.values()).count(storage) == 1 for storage in returned)


def test_plan_memory_rejects_branches() -> None:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    condition = relax.Var("condition", relax.TensorType((), "bool"))
    with builder.function("bert_forward", [x, condition]):
        builder.emit_func_output(builder.emit(relax.If(condition, x, x)))
    context = LoweringContext("bert", tvm_target(MACHINE), MACHINE.features, frozenset())
    with pytest.raises(BuildError, match="bert_forward branches"):
        plan_memory.apply(builder.get(), context)


def test_plan_memory_reuses_memory_in_place() -> None:
    """Compare the decoder, most of which is residual blocks, with the same kernels without `IN_PLACE`."""
    _, phases = lowered("decoder", "exact")
    before = phases[PASSES[PASSES.index("plan_memory") - 1]]
    apart = tvm.IRModule(
        {
            v: f.without_attr(IN_PLACE) if IN_PLACE in (f.attrs or {}) else f
            for v, f in before.functions.items()
        }
    )
    context = LoweringContext(
        "decoder", tvm_target(MACHINE), MACHINE.features, frozenset(), storage_step=STORAGE_STEP
    )
    totals = [_total(phases["plan_memory"]), _total(plan_memory.apply(apart, context))]
    assert totals[0] < 0.9 * totals[1]


def _total(module: Any) -> int:
    """Return the bytes of all storages of the decoder at 10,000 steps."""
    (variable,) = relax.analysis.defined_symbolic_vars(module["decoder_forward"])
    storages = [c.args[0].values[0] for c in calls(module, "decoder") if c.op == _op(ALLOC_STORAGE)]
    return sum(_at(size, 10_000, variable) for size in storages)


def _read_and_overwritten(module: Any, value: Any, where: dict[Any, set[Any]]) -> set[Any]:
    """Return the arguments of a kernel whose memory its result reuses."""
    if not (isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar)):
        return set()
    places = json.loads((module[value.op].attrs or {}).get(IN_PLACE, '{"over": []}'))
    over = [value.args[position] for position in places["over"]]
    return {
        a for a in over if isinstance(a, relax.Var) and where.get(a) == where[value.args[places["result"]]]
    }


def _op(name: str) -> Any:
    return tvm.ir.Op.get(name)


def _is_call(value: Any, name: str) -> bool:
    return isinstance(value, relax.Call) and value.op == _op(name)


def _returned(function: Any, bindings: list[Any]) -> set[Any]:
    """Return the variables that a function returns, and those that they are other names of."""
    variables = set(relax.analysis.free_vars(function.body.body))
    for binding in reversed(bindings):
        if binding.var in variables and not _is_call(binding.value, "relax.memory.alloc_tensor"):
            variables |= set(relax.analysis.free_vars(binding.value))
    return variables


def _at(size: Any, length: int, variable: Any = LENGTH) -> int:
    analyzer = tvm.sym.Analyzer()
    analyzer.bind(variable, tvm.tirx.const(length, "int64"))
    return int(analyzer.simplify(size))
