"""Lets calls that do not depend on one another share a launch, where their kernel can (`OpImplementation.sharing`).

A launch of little work takes as long as starting it. A call waits for the earliest ones that are equal to it
but for their tensors, so that what they need is computed before it: branches that are computed one after the
other are computed side by side then, and more tensors live at the same time.

Comes right before select_kernels, which knows calls that share a launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tvm import relax

from kokoro_tvm.ops.base.relax import shared_call
from kokoro_tvm.ops.base.semantic import LaunchSharing, registry
from kokoro_tvm.passes import LoweringContext

__all__ = ["apply"]


def apply(module: Any, context: LoweringContext) -> Any:
    if not any(operation.kernel_for(context.features).sharing for operation in registry().values()):
        return module
    function = module[context.forward]
    blocks = [type(block)(list(_Order(block.bindings, context).bindings())) for block in function.body.blocks]
    module = module.clone()
    module[context.forward] = relax.Function(
        function.params,
        relax.SeqExpr(blocks, function.body.body),
        function.ret_ty,
        function.is_pure,
        function.attrs,
    )
    return relax.transform.Normalize()(module)


class _Order:
    """The bindings of a block in their order, but for what a shared launch waits for."""

    def __init__(self, bindings: Sequence[Any], context: LoweringContext) -> None:
        self._bindings = bindings
        self._context = context
        places = {binding.var: place for place, binding in enumerate(bindings)}
        self._needs = [
            [places[v] for v in relax.analysis.free_vars(binding.value) if v in places]
            for binding in bindings
        ]
        self._able = {place: like for place, b in enumerate(bindings) if (like := self._like(b)) is not None}
        self._done: set[int] = set()

    def bindings(self) -> Iterator[Any]:
        for place in range(len(self._bindings)):
            if place in self._done:
                continue
            members = [place, *self._fellows(place)]
            for waited in sorted(set().union(*map(self._missing, members))):
                yield self._bindings[waited]
                self._done.add(waited)
            yield from self._shared(members)
            self._done.update(members)

    def _fellows(self, place: int) -> list[int]:
        """The calls that can share the launch of one whose needs are met: none of them, and nothing that
        they need, comes of a call that shares a launch later."""
        if place not in self._able:
            return []
        like, sharing = self._able[place]
        found = [
            other
            for other, (other_like, _) in self._able.items()
            if other > place
            and other not in self._done
            and other_like == like
            and not any(needed in self._able for needed in self._missing(other))
        ]
        return found[: sharing.most - 1]

    def _missing(self, place: int) -> set[int]:
        """What a binding needs, by way of others too, that is not done yet."""
        found: set[int] = set()
        waiting = list(self._needs[place])
        while waiting:
            if (needed := waiting.pop()) not in self._done | found:
                found.add(needed)
                waiting += self._needs[needed]
        return found

    def _like(self, binding: Any) -> tuple[Any, LaunchSharing] | None:
        """What calls that share a launch have in common; None for what does not share any."""
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

    def _shared(self, members: list[int]) -> Iterator[Any]:
        first = self._bindings[members[0]]
        if len(members) == 1:
            yield first
            return
        call = shared_call([self._bindings[member].value for member in members])
        results = relax.DataflowVar if isinstance(first.var, relax.DataflowVar) else relax.Var
        together = results(f"{first.var.name}_shared", call.ty)
        yield relax.VarBinding(together, call)
        for number, member in enumerate(members):
            yield relax.VarBinding(self._bindings[member].var, relax.TupleGetItem(together, number))
