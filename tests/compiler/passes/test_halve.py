"""Only tensors between tolerant convolutions are float16 in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from lowering import lowered_program, program, small_program

from kokoro_tvm import kernels as ops
from kokoro_tvm.kernels.base.relax import resolve_call

from .on_gpu import GPU
from .support import calls

HALF = replace(GPU, features=replace(GPU.features, precision="float16"))
WEIGHTS = {
    "a": (64, 4, 3),
    "b": (64, 64, 3),
    "c": (64, 64, 3),
    "affine": (64,),
    "style": (1, 9),
    "layer": (128, 9),
    "shift": (128,),
}
Weights = dict[str, torch.Tensor]


def halves(exported: Any, component: str, machine: Any = HALF) -> list[tuple[str, set[str]]]:
    """Return (operation, its float16 tensors, "y" for the result) of every semantic call after the pass."""
    phases: dict[str, Any] = {}
    lowered_program(exported, component, dump=phases.__setitem__, machine=machine)
    uses = [resolve_call(call, machine.features, {}) for call in calls(phases["halve"], component)]
    return [(use.operation.name, set(use.call.halves)) for use in uses if use is not None]


def of(forward: Callable[[Weights, torch.Tensor], Any], machine: Any = HALF) -> list[tuple[str, set[str]]]:
    return halves(small_program(forward, WEIGHTS), "small", machine)


def test_halve_stores_tensors_of_tolerant_layers_as_float16() -> None:
    def forward(w: Weights, x: torch.Tensor) -> torch.Tensor:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        z = ops.conv1d(y, w["b"], padding=1, tolerant=True)
        return ops.conv1d(z, w["b"], padding=1, residual=y, tolerant=True)

    assert of(forward) == [("conv1d", {"y"}), ("conv1d", {"x", "y"}), ("conv1d", {"x", "residual"})]
    assert of(forward, GPU) == [("conv1d", set())] * 3


def test_halve_keeps_moments() -> None:
    def forward(w: Weights, x: torch.Tensor) -> torch.Tensor:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        norm = ops.adain_coefficients(
            ops.moments(y), w["style"], w["layer"], w["shift"], w["affine"], w["affine"]
        )
        return ops.conv1d(y, w["b"], norm=norm, padding=1, tolerant=True)

    assert of(forward) == [("conv1d", {"y"}), ("adain_coefficients", set()), ("conv1d", {"x"})]


def test_halve_leaves_tensors_with_other_readers() -> None:
    """Use an intolerant layer, an operation without such a kernel, a plain one, and the caller."""

    def exact(w: Weights, x: torch.Tensor) -> torch.Tensor:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        return ops.conv1d(y, w["b"], padding=1) + ops.conv1d(y, w["c"], padding=1, tolerant=True)

    def read(w: Weights, x: torch.Tensor) -> torch.Tensor:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        return ops.conv1d(ops.gelu(y), w["b"], padding=1, residual=y, tolerant=True)

    def added(w: Weights, x: torch.Tensor) -> torch.Tensor:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        return ops.conv1d(y, w["b"], padding=1, tolerant=True) + y

    def returned(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = ops.conv1d(x, w["a"], padding=1, tolerant=True)
        return y, ops.conv1d(y, w["b"], padding=1, tolerant=True)

    for forward in (exact, read, added, returned):
        assert not [names for _, names in of(forward) if names]


def test_halve_stores_generator_activations_as_float16() -> None:
    """Expect float16 in most of the decoder's convolutions; its inputs and its result stay float32."""
    tensors_by_call = halves(program("decoder"), "decoder")
    convolutions = [names for operation, names in tensors_by_call if operation.startswith("conv")]
    assert sum("y" in names for names in convolutions) > len(convolutions) / 2
    assert {operation for operation, names in tensors_by_call if names} == {"conv1d", "conv_transpose1d"}
    lowered = lowered_program(program("decoder"), "decoder", machine=HALF)
    dtypes = {p.name: p.dtype for p in lowered.parameters}
    assert dtypes["decoder.generator.resblocks.0.convs1.0.weight"] == "float16"
    assert dtypes["decoder.generator.resblocks.0.convs1.0.bias"] == "float32"
    result = lowered.module["decoder_forward"].ret_ty
    assert str(getattr(result, "dtype", "float32")) == "float32"


def test_halve_leaves_pitch() -> None:
    lowered = lowered_program(program("f0n"), "f0n", machine=HALF)
    assert {p.dtype for p in lowered.parameters} == {"float32"}
    assert not [names for _, names in halves(program("f0n"), "f0n") if names]
