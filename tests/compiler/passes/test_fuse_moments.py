from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from lowering import MACHINE, lowered, lowered_program, small_program
from tvm import relax

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.base.relax import resolve_call

from .support import calls

WEIGHTS = {
    "a": (64, 4, 3),
    "b": (64, 64, 3),
    "odd": (5, 4, 3),
    "affine": (64,),
    "style": (1, 9),
    "layer": (128, 9),
    "shift": (128,),
}
Weights = dict[str, torch.Tensor]


def semantic(module: Any, component: str = "small") -> list[tuple[str, Any]]:
    """Return (operation, call) of every semantic call."""
    resolved = [(resolve_call(c, MACHINE.features, {}), c) for c in calls(module, component)]
    return [(use.operation.name, call) for use, call in resolved if use is not None]


def fused(forward: Callable[[Weights, torch.Tensor], Any]) -> list[tuple[str, Any]]:
    """Return the semantic calls of a small program after the pass."""
    phases: dict[str, Any] = {}
    lowered_program(small_program(forward, WEIGHTS), "small", dump=phases.__setitem__)
    return semantic(phases["fuse_moments"])


def test_fuse_moments_adds_second_result() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = ops.conv1d(x, w["a"], padding=1)
        return y, ops.moments(y)

    ((operation, call),) = fused(forward)
    assert operation == "conv1d"
    assert isinstance(call.ty, relax.TupleType)
    use = resolve_call(call, MACHINE.features, {})
    assert use is not None
    assert use.call.result == (1, 9, 64)
    assert use.call.moments == (16, 4, 64)


def test_fuse_moments_kernel_writes_both_results() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = ops.conv1d(x, w["a"], padding=1)
        return y, ops.moments(y)

    module = lowered_program(small_program(forward, WEIGHTS), "small").module
    (kernel,) = (f for v, f in module.functions.items() if "_conv1d_" in v.name_hint)
    head = next(line for line in kernel.script().splitlines() if line.startswith("def "))
    assert "y: T.Buffer((1, 9, 64)" in head
    assert "moments: T.Buffer((16, 4, 64)" in head


def test_fuse_moments_shares_moments_of_a_tensor() -> None:
    """Normalize a tensor twice with different coefficients, as the generator's blocks do."""

    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = ops.conv1d(x, w["a"], padding=1)
        first, second = (
            ops.adain_coefficients(
                ops.moments(y), w["style"], w["layer"], w["shift"], w["affine"], factor * w["affine"]
            )
            for factor in (1.0, 2.0)
        )
        return ops.conv1d(y, w["b"], norm=first), ops.conv1d(y, w["b"], norm=second)

    resolved = fused(forward)
    assert sorted(operation for operation, _ in resolved) == ["adain_coefficients"] * 2 + ["conv1d"] * 3
    assert [
        isinstance(call.ty, relax.TupleType) for operation, call in resolved if operation == "conv1d"
    ].count(True) == 1


def test_fuse_moments_shares_moments_of_an_input() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return ops.moments(x), ops.moments(x) + 1.0

    assert [operation for operation, _ in fused(forward)] == ["moments"]


@pytest.mark.parametrize("weight", ["odd", "upsample_pool", "sum"])
def test_fuse_moments_leaves_incapable_producers(weight: str) -> None:
    """Use columns that only pad a block, other operations, and plain sums."""

    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if weight == "odd":
            y = ops.conv1d(x, w["odd"], padding=1)
        elif weight == "sum":
            y = ops.conv1d(x, w["a"], padding=1) + 1.0
        else:
            y = ops.gelu(x)
        return y, ops.moments(y)

    resolved = fused(forward)
    assert len(resolved) == 2
    assert {operation for operation, _ in resolved} > {"moments"}
    assert not any(isinstance(call.ty, relax.TupleType) for _, call in resolved)


def test_fuse_moments_leaves_unused_moments() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = ops.conv1d(x, w["a"], padding=1)
        return ops.moments(x), y, ops.conv1d(y, w["b"], padding=1)

    assert not any(isinstance(call.ty, relax.TupleType) for _, call in fused(forward))


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_fuse_moments_removes_moments_kernels_of_decoder(policy: str) -> None:
    """Expect moments kernels only for tensors that no convolution of whole columns writes."""
    _, phases = lowered("decoder", policy)
    before, after = (semantic(phases[phase], "decoder") for phase in ("import", "fuse_moments"))

    def count(resolved: list[tuple[str, Any]], name: str) -> int:
        return sum(operation == name for operation, _ in resolved)

    pairs = sum(isinstance(call.ty, relax.TupleType) for _, call in after)
    assert pairs > 0
    assert count(after, "conv1d") == count(before, "conv1d")
    assert count(after, "moments") + pairs <= count(before, "moments")
    tensors = [call.args[1][0] for operation, call in after if operation == "moments"]
    assert len(set(tensors)) == len(tensors)
