"""Patch of weight normalization: folds w = g * v / ||v|| into a plain weight.

The norm is over all axes but the first. It is computed in float64 and rounded once, so a folded weight is the
nearest one to the exact quotient.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.weight_norm import WeightNorm

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import Patch


def fold_weight_norm(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Replace every pair `NAME_g`, `NAME_v` of a stock state dict by `NAME`, in the dtype of `NAME_v`.

    Args:
        state: The state dict.

    Returns:
        A state dict in the order of `state`; its other entries are unchanged.

    Raises:
        BuildError: Half a pair is missing, a folded name exists already, or a row of v is zero, so that its
            direction is undefined.
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
            folded[stem] = _fold(state[other], tensor, stem)
    return folded


def _fold(g: Tensor, v: Tensor, name: str) -> Tensor:
    """Compute g (O, 1, ...) * v (O, ...) / ||v|| per first index; on the meta device, its shape only.

    Raises BuildError if a row of v is zero.
    """
    if v.is_meta:
        return torch.empty_like(v)
    norm = torch.linalg.vector_norm(v.double(), dim=tuple(range(1, v.dim())), keepdim=True)
    if not bool((norm > 0).all()):
        raise BuildError(f"{name} cannot be folded: a row of {name}_v is zero or not a number")
    return (v.double() / norm * g.double()).to(v.dtype)


@contextmanager
def _apply(module: nn.Module) -> Iterator[None]:
    """Replace g, v and the hook that combines them by a parameter `weight`; restore them at the end.

    Raises BuildError if the module has no weight norm, or see `_fold`.
    """
    normed = [
        (path, part, hook)
        for path, part in module.named_modules()
        for hook in part._forward_pre_hooks.values()
        if isinstance(hook, WeightNorm)
    ]
    if not normed:
        raise BuildError(
            f"patch weight_norm finds no weight norm in {type(module).__name__}: remove the patch from "
            "this component's list"
        )
    with ExitStack() as undo:
        for path, part, hook in normed:
            g, v = part._parameters[f"{hook.name}_g"], part._parameters[f"{hook.name}_v"]
            assert g is not None and v is not None
            weight = nn.Parameter(_fold(g.data, v.data, f"{path}.{hook.name}"), requires_grad=False)
            undo.callback(_restore, part._parameters, dict(part._parameters))
            undo.callback(_restore, part._forward_pre_hooks, dict(part._forward_pre_hooks))
            undo.callback(part.__dict__.__setitem__, hook.name, part.__dict__[hook.name])
            for key in [k for k, h in part._forward_pre_hooks.items() if h is hook]:
                del part._forward_pre_hooks[key]
            del part.__dict__[hook.name]
            del part._parameters[f"{hook.name}_g"], part._parameters[f"{hook.name}_v"]
            part.register_parameter(hook.name, weight)
        yield


def _restore(current: dict[Any, Any], stock: dict[Any, Any]) -> None:
    """Restore a dict in place, in the stock's order."""
    current.clear()
    current.update(stock)


PATCH = Patch("weight_norm", ("torch.nn.utils.weight_norm.WeightNorm.__call__",), _apply)
