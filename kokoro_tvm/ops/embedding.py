"""Table look-up: ids become columns."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from kokoro_tvm.ops._kernel import Kernel, const, maximum, minimum
from kokoro_tvm.ops._semantic import Call, Shape, semantic_op

__all__ = ["embedding"]


def _shape(*, weight: Shape, ids: Shape) -> Shape:
    return (1, weight[1], ids[1])


def _kernel(call: Call) -> Any:
    rows, channels = (int(extent) for extent in call.shapes["weight"])
    k = Kernel("embedding", call.features.lanes)
    with k:
        weight, ids = k.param("weight", (rows, channels)), k.param("ids", call.shapes["ids"], "int64")
        y = k.param("y", call.result)
        with k.loop(k.let(k.index(ids.shape[1]))) as t:
            # Ids are checked before they get here; the tail of a masked input may hold anything.
            row = k.let(maximum(minimum(ids[0, t], const(rows - 1, "int64")), const(0, "int64")))
            with k.loop(channels) as c:
                k.store(y, weight[row, c], 0, c, t)
    return k.build()


@semantic_op(shape=_shape, kernel=_kernel)
def embedding(weight: Tensor, ids: Tensor) -> Tensor:
    """weight[ids], channels first. weight (N, C); ids int64 (1, T), taken to the nearest row there is -> (1,
    C, T)."""
    return weight[ids[0].clamp(0, weight.shape[0] - 1)].T.unsqueeze(0).contiguous()
