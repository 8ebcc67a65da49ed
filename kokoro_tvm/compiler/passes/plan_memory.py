"""Pass: plan memory. Tensors whose lifetimes do not overlap share storage; all is freed after its last use.

TVM's own planner shares storage of equal size only, because it cannot compare sizes that depend on a length.
Here a storage serves every tensor that provably fits into it for any length. Largest first, each tensor gets
the smallest storage that is free during its lifetime (greedy by size: Pisarchyk and Lee, Efficient Memory
Management for Deep Neural Net Inference, 2020). A result reuses the memory of an argument if its kernel
allows that (`IN_PLACE`) and nothing reads the argument afterwards.

A storage has the size for the next multiple of `LoweringContext.storage_step`. The runtime's pool returns
blocks of exactly the same size only, so an utterance reuses the memory of the last one, whatever its length.
Untouched memory costs addresses only; the first touch of a page takes some 3 microseconds.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import tvm
from tvm import relax

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes import LoweringContext, list_bindings
from kokoro_tvm.compiler.passes.select_kernels import IN_PLACE

_MAX_LENGTH = 1 << 20  # bounds the lengths that proofs consider
_TYPICAL_LENGTH = 1000


@dataclass(eq=False)
class _Tensor:
    """A tensor, its size and its lifetime.

    Attributes:
        variable: Its allocation.
        size: Bytes, an expression of the symbolic lengths.
        typical: Bytes at a typical length.
        first: Index of the binding that allocates it.
        last: Index of the binding that reads it last.
        over: Allocations whose memory it may reuse, although they live until it is written.
    """

    variable: Any
    size: Any
    typical: int
    first: int
    last: int
    over: frozenset[Any] = frozenset()


@dataclass(eq=False)
class _Slot:
    """A storage of the size of its first tensor, and all its tensors."""

    tensors: list[_Tensor] = field(default_factory=list)

    def is_free(self, tensor: _Tensor) -> bool:
        """Return whether the storage is free during a tensor's lifetime."""
        return all(
            t.last < tensor.first
            or tensor.last < t.first
            or t.variable in tensor.over
            or tensor.variable in t.over
            for t in self.tensors
        )


def apply(module: Any, context: LoweringContext) -> Any:
    """Make allocation explicit and plan it."""
    explicit = [
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
    ]
    lowering = [relax.transform.LowerAllocTensor(), relax.transform.KillAfterLastUse()]
    with context.target:
        module = tvm.transform.Sequential(explicit)(module)
        planner = _Planner(module, _plan(module, context.forward), context.storage_step)
        return tvm.transform.Sequential(lowering)(context.rewrite(module, planner))


def _plan(module: Any, name: str) -> list[_Slot]:
    """Assign tensors to storages. Raises BuildError for a function that branches."""
    # A tensor that leaves the function has its own storage: the caller keeps its memory as long as it likes.
    function = module[name]
    bindings = list_bindings(function)
    if any(isinstance(binding.value, relax.If) for binding in bindings):
        raise BuildError(f"{name} branches, so lifetimes are unknown; make it straight-line code")
    last: dict[Any, int] = dict.fromkeys(relax.analysis.free_vars(function.body.body), len(bindings))
    for index in reversed(range(len(bindings))):
        value = bindings[index].value
        # A kernel only reads or writes its arguments; the value of anything else may alias them.
        alias = not (isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar))
        until = max(last.get(bindings[index].var, index), index) if alias else index
        for variable in relax.analysis.free_vars(value):
            last[variable] = max(last.get(variable, 0), until)
    lengths = _Lengths(function)
    over = _find_reusable(module, bindings, last)
    tensors = []
    for index, binding in enumerate(bindings):
        if _is_allocation(binding.value):
            size = _size_of(binding.value)
            until = last.get(binding.var, index)
            places = over.get(binding.var, frozenset())
            tensors.append(_Tensor(binding.var, size, lengths.typical(size), index, until, places))
    inner = [tensor for tensor in tensors if tensor.last < len(bindings)]
    returned = [_Slot([tensor]) for tensor in tensors if tensor.last == len(bindings)]
    return _assign_slots(inner, lengths) + returned


def _find_reusable(module: Any, bindings: list[Any], last: dict[Any, int]) -> dict[Any, frozenset[Any]]:
    """Map the allocation of each result to those whose memory it may reuse."""
    # Its kernel must be the last to use them, and take them once.
    allocated: dict[Any, Any] = {}  # variable -> the allocation whose memory it names
    fields: dict[Any, list[Any]] = {}
    reusable = {}
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
            reusable[memory[places["result"]]] = frozenset(free)
    return reusable


def _assign_slots(tensors: list[_Tensor], lengths: _Lengths) -> list[_Slot]:
    """Assign tensors to storages greedily by size."""
    slots: list[_Slot] = []
    for tensor in sorted(tensors, key=lambda t: (-t.typical, t.first)):
        # The last storage is the smallest.
        for slot in reversed(slots):
            if slot.is_free(tensor) and lengths.fits(tensor.size, slot.tensors[0].size):
                break
        else:
            slots.append(slot := _Slot())
        slot.tensors.append(tensor)
    return slots


def _is_allocation(value: Any) -> bool:
    """Return whether an expression allocates a tensor."""
    return isinstance(value, relax.Call) and value.op == tvm.ir.Op.get("relax.builtin.alloc_tensor")


def _size_of(allocation: Any) -> Any:
    """Return the bytes of an allocation, an expression."""
    shape, dtype = allocation.args[0], str(allocation.args[1].value)
    return math.prod(shape.values, start=tvm.tirx.const(tvm.DataType(dtype).itemsize, "int64"))


def _round_up(size: Any, step: int) -> Any:
    """Return a size at the next multiple of `step` of every length in it."""
    stepped, renamed = tvm.sym.Analyzer(), tvm.sym.Analyzer()
    for variable in tvm.tirx.analysis.undefined_vars(size):
        other = tvm.tirx.Var("length", "int64")  # an analyzer would replace a variable by itself forever
        stepped.bind(variable, (other + (step - 1)) // step * step)
        renamed.bind(other, variable)
    return renamed.simplify(stepped.simplify(size))


class _Lengths:
    """Compares sizes for every length that a function's symbolic lengths can have."""

    def __init__(self, function: Any) -> None:
        self._typical, self._any = tvm.sym.Analyzer(), tvm.sym.Analyzer()
        for variable in relax.analysis.defined_symbolic_vars(function):
            self._typical.bind(variable, tvm.tirx.const(_TYPICAL_LENGTH, "int64"))
            self._any.bind(variable, tvm.ir.Range.from_min_extent(1, _MAX_LENGTH))

    def typical(self, size: Any) -> int:
        """Return a size at a typical length."""
        return int(self._typical.simplify(size))

    def fits(self, size: Any, room: Any) -> bool:
        """Return whether a size provably fits for every length."""
        return bool(self._any.can_prove(room - size >= 0))


@relax.expr_functor.mutator
class _Planner(relax.PyExprMutator):
    """Mutator that allocates tensors from storages, which it allocates at their first tensor."""

    def __init__(self, module: Any, slots: list[_Slot], step: int) -> None:
        """Create the mutator. step: see `LoweringContext.storage_step`."""
        super().__init__(module)
        self._step = step
        self._slots = {tensor.variable: slot for slot in slots for tensor in slot.tensors}
        self._storages: dict[int, Any] = {}

    def visit_var_binding_(self, binding: Any) -> None:
        """Replace an allocation by one from its storage, which is allocated before its first tensor."""
        if binding.var not in self._slots:
            super().visit_var_binding_(binding)
            return
        slot = self._slots[binding.var]
        if id(slot) not in self._storages:
            size = _round_up(slot.tensors[0].size, self._step)
            self._storages[id(slot)] = self.builder_.emit(
                relax.op.memory.alloc_storage(relax.ShapeExpr([size]), 0, "global", "uint8"), "storage"
            )
        shape, dtype = binding.value.args[0], str(binding.value.args[1].value)
        tensor = relax.op.memory.alloc_tensor(self._storages[id(slot)], 0, shape, dtype)
        self.set_var_remap(binding.var, self.builder_.emit(tensor, binding.var.name))
