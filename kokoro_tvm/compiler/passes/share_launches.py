"""Pass: merge independent calls into one launch (horizontal fusion), if their kernel can (`LaunchSharing`).

A short kernel takes as long as its launch. A call waits for the earliest calls that differ only in their
tensors, and what they need is computed before it. So parallel branches are computed side by side, and more
tensors live at the same time. Runs right before select_kernels, which handles calls of several members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tvm import relax

from kokoro_tvm.compiler.passes import LoweringContext
from kokoro_tvm.kernels.base.relax import shared_call
from kokoro_tvm.kernels.base.semantic import LaunchSharing, registry


def apply(module: Any, context: LoweringContext) -> Any:
    """Reorder and merge the calls of the component's function."""
    if not any(operation.kernel_for(context.features).sharing for operation in registry().values()):
        return module
    function = module[context.forward]
    blocks = [
        type(block)(list(_Scheduler(block.bindings, context).bindings())) for block in function.body.blocks
    ]
    module = module.clone()
    module[context.forward] = relax.Function(
        function.params,
        relax.SeqExpr(blocks, function.body.body),
        function.ret_ty,
        function.is_pure,
        function.attrs,
    )
    return relax.transform.Normalize()(module)


class _Scheduler:
    """Order of a block's bindings: as they are, except what a shared launch waits for."""

    def __init__(self, bindings: Sequence[Any], context: LoweringContext) -> None:
        """Find what each binding needs, and which calls can share a launch."""
        self._bindings = bindings
        self._context = context
        places = {binding.var: place for place, binding in enumerate(bindings)}
        self._needs = [
            [places[v] for v in relax.analysis.free_vars(binding.value) if v in places]
            for binding in bindings
        ]
        self._sharable = {
            place: key for place, b in enumerate(bindings) if (key := self._share_key(b)) is not None
        }
        self._done: set[int] = set()

    def bindings(self) -> Iterator[Any]:
        """Yield the bindings in their new order."""
        for place in range(len(self._bindings)):
            if place in self._done:
                continue
            members = [place, *self._find_mergeable_calls(place)]
            for waited in sorted(set().union(*map(self._find_missing, members))):
                yield self._bindings[waited]
                self._done.add(waited)
            yield from self._emit_shared(members)
            self._done.update(members)

    def _find_mergeable_calls(self, place: int) -> list[int]:
        """Return later calls of the same key that can share the launch, up to the limit."""
        # None of them, and nothing that they need, may depend on a call that shares a launch later.
        if place not in self._sharable:
            return []
        key, sharing = self._sharable[place]
        calls = [
            other
            for other, (other_key, _) in self._sharable.items()
            if other > place
            and other not in self._done
            and other_key == key
            and not any(need in self._sharable for need in self._find_missing(other))
        ]
        return calls[: sharing.most - 1]

    def _find_missing(self, place: int) -> set[int]:
        """Return the bindings that a binding needs, transitively, and that are not done yet."""
        missing: set[int] = set()
        waiting = list(self._needs[place])
        while waiting:
            if (need := waiting.pop()) not in self._done | missing:
                missing.add(need)
                waiting += self._needs[need]
        return missing

    def _share_key(self, binding: Any) -> tuple[Any, LaunchSharing] | None:
        """Return what calls that share a launch have in common, or None for other bindings."""
        semantic = self._context.resolve(binding.value)
        sharing = semantic.kernel.sharing if semantic is not None else None
        if semantic is None or sharing is None:
            return None
        by_name = semantic.by_name
        if set(by_name) != {*sharing.own, *sharing.common, *sharing.joined}:
            return None
        if not all(self._context.is_weight(by_name[name]) for name in sharing.joined):
            return None
        return (
            semantic.operation.name,
            repr(semantic.call),
            [by_name[name] for name in sharing.common],
        ), sharing

    def _emit_shared(self, members: list[int]) -> Iterator[Any]:
        """Yield the merged call of members and the bindings of their results; a single one is unchanged."""
        first = self._bindings[members[0]]
        if len(members) == 1:
            yield first
            return
        call = shared_call([self._bindings[member].value for member in members])
        results = relax.DataflowVar if isinstance(first.var, relax.DataflowVar) else relax.Var
        shared = results(f"{first.var.name}_shared", call.ty)
        yield relax.VarBinding(shared, call)
        for number, member in enumerate(members):
            yield relax.VarBinding(self._bindings[member].var, relax.TupleGetItem(shared, number))
