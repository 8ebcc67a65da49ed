"""Weight normalisation folded into plain weights: w = g * v / ||v||, the norm over all axes but the first.

Computed in float64 and rounded once, so a folded weight is the nearest one to the exact quotient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.weight_norm import WeightNorm

from kokoro_tvm.errors import BuildError
from kokoro_tvm.patches.base.patch import Patch

__all__ = ["PATCH", "fold_weight_norm"]


def fold_weight_norm(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A stock state dict with every pair `NAME_g`, `NAME_v` replaced by `NAME`, in the dtype of `NAME_v`.

    Keys keep the order of the state; everything else is passed on as it is. Raises BuildError for half a
    pair, a folded name that is there already, and a row of v that is all zeros (its direction is unknown).
    """
    folded: dict[str, Tensor] = {}
    for name, tensor in state.items():
        stem, half = name[:-2], name[-2:]
        if not stem.endswith("weight") or half not in ("_g", "_v"):
            folded[name] = tensor
            continue
        other = stem + ("_v" if half == "_g" else "_g")
        if other not in state:
            raise BuildError(f"the state has {name} but not {other}: a weight norm comes in pairs")
        if stem in state:
            raise BuildError(f"the state has {stem} both folded and as {name}: keep one")
        if half == "_v":
            folded[stem] = _folded(state[other], tensor, stem)
    return folded


def _folded(g: Tensor, v: Tensor, name: str) -> Tensor:
    """g (O, 1, ...) * v (O, ...) / ||v||, per first index; on the meta device only the shape."""
    if v.is_meta:
        return torch.empty_like(v)
    norm = torch.linalg.vector_norm(v.double(), dim=tuple(range(1, v.dim())), keepdim=True)
    if not bool((norm > 0).all()):
        raise BuildError(f"{name} cannot be folded: a row of {name}_v is zero or not a number")
    return (v.double() / norm * g.double()).to(v.dtype)


@contextmanager
def _apply(module: nn.Module) -> Iterator[None]:
    """Replaces g, v and the hook that combines them by a parameter `weight`; puts them back at the end."""
    undo: list[_Stock] = []
    try:
        for path, part in module.named_modules():
            for hook in [h for h in part._forward_pre_hooks.values() if isinstance(h, WeightNorm)]:
                g, v = part._parameters[f"{hook.name}_g"], part._parameters[f"{hook.name}_v"]
                assert g is not None and v is not None
                weight = nn.Parameter(_folded(g.data, v.data, f"{path}.{hook.name}"), requires_grad=False)
                undo.append(_Stock.of(part, hook.name))
                for key in [k for k, h in part._forward_pre_hooks.items() if h is hook]:
                    del part._forward_pre_hooks[key]
                del part.__dict__[hook.name]
                del part._parameters[f"{hook.name}_g"], part._parameters[f"{hook.name}_v"]
                part.register_parameter(hook.name, weight)
        if not undo:
            raise BuildError(
                f"patch weight_norm finds no weight norm in {type(module).__name__}: take the patch out of "
                "this component's list"
            )
        yield
    finally:
        for stock in reversed(undo):
            stock.restore()


@dataclass(frozen=True)
class _Stock:
    """A weight-normed module as it was: parameters and hooks in their order, the stale product of both."""

    module: nn.Module
    parameters: dict[str, nn.Parameter | None]
    hooks: dict[int, Callable[..., Any]]
    name: str
    product: Tensor

    @classmethod
    def of(cls, module: nn.Module, name: str) -> _Stock:
        hooks = dict(module._forward_pre_hooks)
        return cls(module, dict(module._parameters), hooks, name, module.__dict__[name])

    def restore(self) -> None:
        for current, stock in (
            (self.module._parameters, self.parameters),
            (self.module._forward_pre_hooks, self.hooks),
        ):
            current.clear()
            current.update(stock)
        self.module.__dict__[self.name] = self.product


PATCH = Patch("weight_norm", ("torch.nn.utils.weight_norm.WeightNorm.__call__",), _apply)
