"""Makes allocation explicit: tensors that never live together share storage; all is freed after its last use.

TVM's own planning shares storage of equal size only, because it cannot compare sizes that depend on a length.
Here a storage serves every tensor that provably fits into it for any length. Largest first, each into the
smallest that is free for as long as it lives (greedy by size: Pisarchyk and Lee, Efficient Memory Management
for Deep Neural Net Inference, 2020). A result lies where an argument of its kernel lies, if the kernel allows
that (`IN_PLACE`) and nothing reads the argument afterwards.

A storage is as large as the next multiple of `LoweringContext.storage_step` needs it. The runtime's pool
hands back blocks of the very same size only; so an utterance takes the memory of the last, whatever its
length. What it does not touch costs addresses, not memory. The first touch of a page takes some 3
microseconds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.errors import BuildError
from kokoro_tvm.passes import LoweringContext, list_bindings
from kokoro_tvm.passes.select_kernels import IN_PLACE

__all__ = ["apply"]

_LONGEST = 1 << 20  # of any length; only bounds what has to be proved
_TYPICAL = 1000


@dataclass(eq=False)
class _Tensor:
    """A tensor: its allocation, its size in bytes, the bindings between which it lives (indices), and the
    allocations it may take the place of, although they live until it is written."""

    variable: Any
    size: Any
    typical: int
    first: int
    last: int
    over: frozenset[Any] = frozenset()


@dataclass(eq=False)
class _Slot:
    """A storage, as large as its first tensor, and all its tensors."""

    tensors: list[_Tensor] = field(default_factory=list)

    def is_free(self, tensor: _Tensor) -> bool:
        return all(
            t.last < tensor.first
            or tensor.last < t.first
            or t.variable in tensor.over
            or tensor.variable in t.over
            for t in self.tensors
        )


def apply(module: Any, context: LoweringContext) -> Any:
    explicit = [
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
    ]
    freed = [relax.transform.LowerAllocTensor(), relax.transform.KillAfterLastUse()]
    with context.target:
        module = tvm.transform.Sequential(explicit)(module)
        planner = _Planner(module, _plan(module, context.forward), context.storage_step)
        return tvm.transform.Sequential(freed)(context.rewrite(module, planner))


def _plan(module: Any, name: str) -> list[_Slot]:
    """Which tensors share a storage. What leaves the function has one for itself: its memory is the caller's
    for as long as it likes."""
    function = module[name]
    bindings = list_bindings(function)
    if any(isinstance(binding.value, relax.If) for binding in bindings):
        raise BuildError(f"{name} branches, so lifetimes are unknown; make it straight-line code")
    last: dict[Any, int] = dict.fromkeys(relax.analysis.free_vars(function.body.body), len(bindings))
    for index in reversed(range(len(bindings))):
        value = bindings[index].value
        # What a kernel is given it reads or writes; what anything else gives may be the same memory again.
        alias = not (isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar))
        until = max(last.get(bindings[index].var, index), index) if alias else index
        for used in relax.analysis.free_vars(value):
            last[used] = max(last.get(used, 0), until)
    lengths = _Lengths(function)
    over = _in_place(module, bindings, last)
    found = []
    for index, binding in enumerate(bindings):
        if _is_allocation(binding.value):
            size = _size(binding.value)
            until = last.get(binding.var, index)
            places = over.get(binding.var, frozenset())
            found.append(_Tensor(binding.var, size, lengths.typical(size), index, until, places))
    inner = [tensor for tensor in found if tensor.last < len(bindings)]
    returned = [_Slot([tensor]) for tensor in found if tensor.last == len(bindings)]
    return _shared(inner, lengths) + returned


def _in_place(module: Any, bindings: list[Any], last: dict[Any, int]) -> dict[Any, frozenset[Any]]:
    """Allocation of a result -> those it may take the place of: its kernel is the last to use them, and is
    given them once."""
    allocated: dict[Any, Any] = {}  # variable -> the allocation whose memory it names
    fields: dict[Any, list[Any]] = {}
    found = {}
    for index, binding in enumerate(bindings):
        value = binding.value
        if _is_allocation(value):
            allocated[binding.var] = binding.var
        elif isinstance(value, relax.Tuple):
            fields[binding.var] = list(value.fields)
        elif isinstance(value, relax.TupleGetItem) and value.tuple_value in fields:
            allocated[binding.var] = allocated.get(fields[value.tuple_value][value.index])
        elif isinstance(value, relax.Var):
            allocated[binding.var] = allocated.get(value)
        elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            places = json.loads((module[value.op].attrs or {}).get(IN_PLACE, "null"))
            if places is None:
                continue
            memory = [allocated.get(argument) for argument in value.args]
            free = {memory[position] for position in places["over"]}
            free = {m for m in free if m is not None and last[m] == index and memory.count(m) == 1}
            found[memory[places["result"]]] = frozenset(free)
    return found


def _shared(tensors: list[_Tensor], lengths: _Lengths) -> list[_Slot]:
    slots: list[_Slot] = []
    for tensor in sorted(tensors, key=lambda t: (-t.typical, t.first)):
        # The latest made is the smallest.
        for slot in reversed(slots):
            if slot.is_free(tensor) and lengths.fits(tensor.size, slot.tensors[0].size):
                break
        else:
            slots.append(slot := _Slot())
        slot.tensors.append(tensor)
    return slots


def _is_allocation(value: Any) -> bool:
    return isinstance(value, relax.Call) and value.op == tvm.ir.Op.get("relax.builtin.alloc_tensor")


def _size(allocation: Any) -> Any:
    shape, dtype = allocation.args[0], str(allocation.args[1].value)
    return math.prod(shape.values, start=tvm.tirx.const(tvm.DataType(dtype).itemsize, "int64"))


def _stepped(size: Any, step: int) -> Any:
    """`size` at the next multiple of `step` of every length in it."""
    stepped, renamed = tvm.sym.Analyzer(), tvm.sym.Analyzer()
    for variable in tvm.tirx.analysis.undefined_vars(size):
        other = tvm.tirx.Var("length", "int64")  # an analyzer would go on to replace a variable by itself
        stepped.bind(variable, (other + (step - 1)) // step * step)
        renamed.bind(other, variable)
    return renamed.simplify(stepped.simplify(size))


class _Lengths:
    """Sizes compared for every length the symbolic ones of a function can have."""

    def __init__(self, function: Any) -> None:
        self._typical, self._any = tvm.sym.Analyzer(), tvm.sym.Analyzer()
        for variable in relax.analysis.defined_symbolic_vars(function):
            self._typical.bind(variable, tvm.tirx.const(_TYPICAL, "int64"))
            self._any.bind(variable, tvm.ir.Range.from_min_extent(1, _LONGEST))

    def typical(self, size: Any) -> int:
        return int(self._typical.simplify(size))

    def fits(self, size: Any, room: Any) -> bool:
        return bool(self._any.can_prove(room - size >= 0))


@relax.expr_functor.mutator
class _Planner(relax.PyExprMutator):
    """Takes tensors from their storage, and that from the first of them on."""

    def __init__(self, module: Any, slots: list[_Slot], step: int) -> None:
        super().__init__(module)
        self._step = step
        self._slots = {tensor.variable: slot for slot in slots for tensor in slot.tensors}
        self._storages: dict[int, Any] = {}

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var not in self._slots:
            super().visit_var_binding_(binding)
            return
        slot = self._slots[binding.var]
        if id(slot) not in self._storages:
            size = _stepped(slot.tensors[0].size, self._step)
            self._storages[id(slot)] = self.builder_.emit(
                relax.op.memory.alloc_storage(relax.ShapeExpr([size]), 0, "global", "uint8"), "storage"
            )
        shape, dtype = binding.value.args[0], str(binding.value.args[1].value)
        tensor = relax.op.memory.alloc_tensor(self._storages[id(slot)], 0, shape, dtype)
        self.set_var_remap(binding.var, self.builder_.emit(tensor, binding.var.name))
