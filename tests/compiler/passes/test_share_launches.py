from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from lowering import lowered, lowered_program, small_program
from tvm import relax

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.lower import LoweredModule, Parameter
from kokoro_tvm.kernels.base.relax import resolve_call

from .on_gpu import GPU, phases

CHANNELS, STYLE = 64, 9
LAYER = {"layer": (2 * CHANNELS, STYLE), "shift": (2 * CHANNELS,), "gain": (CHANNELS,), "offset": (CHANNELS,)}
WEIGHTS = {
    "style": (1, STYLE),
    "a": (CHANNELS, 4, 3),
    **{f"conv{n}": (CHANNELS, CHANNELS, 3) for n in range(6)},
    **{f"{name}{n}": shape for n in range(6) for name, shape in LAYER.items()},
}
Weights = dict[str, torch.Tensor]
Forward = Callable[[Weights, torch.Tensor], Any]


def block(w: Weights, x: torch.Tensor, number: int, style: str = "style") -> torch.Tensor:
    """Return a convolution after AdaIN."""
    layer = (w[f"{name}{number}"] for name in LAYER)
    norm = ops.adain_coefficients(ops.moments(x), w[style], *layer)
    return ops.conv1d(x, w[f"conv{number}"], norm=norm, padding=1)


def branches(w: Weights, x: torch.Tensor, count: int = 2) -> list[torch.Tensor]:
    """Return two blocks of each branch, one branch after the other."""
    x = ops.conv1d(x, w["a"], padding=1)
    return [block(w, block(w, x, 2 * n), 2 * n + 1) for n in range(count)]


def lower(
    forward: Forward, weights: dict[str, tuple[int, ...]] = WEIGHTS
) -> tuple[LoweredModule, dict[str, Any]]:
    modules: dict[str, Any] = {}
    exported = small_program(forward, weights)
    return lowered_program(exported, "small", machine=GPU, dump=modules.__setitem__), modules


def members(module: Any, component: str = "small") -> list[int]:
    """Return the members of each launch of coefficients, in the order of the calls."""
    function = module[f"{component}_forward"]
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    defined, counts = {*function.params, *relax.analysis.defined_symbolic_vars(function)}, []
    for binding in bindings:
        assert set(relax.analysis.free_vars(binding.value)) <= defined, "used before it is defined"
        defined.add(binding.var)
        use = resolve_call(binding.value, GPU.features, {})
        if use is not None and use.operation.name == "adain_coefficients":
            counts.append(use.call.members)
    return counts


def test_share_launches_interleaves_branches() -> None:
    result, modules = lower(lambda w, x: tuple(branches(w, x)))
    assert members(modules["halve"]) == [1, 1, 1, 1]
    assert members(modules["share_launches"]) == [2, 2]
    first, second = (p for p in result.parameters if p.parts)
    assert [name for name, _ in first.parts] == [f"{name}{n}" for n in (0, 2) for name in LAYER]
    assert [name for name, _ in second.parts] == [f"{name}{n}" for n in (1, 3) for name in LAYER]
    assert first.name == "layer0+7"
    assert [packing is not None for _, packing in first.parts] == [True, False, False, False] * 2
    assert all(Parameter.from_json(p.to_json()) == p for p in result.parameters)
    names = {p.name for p in result.parameters}
    assert not names & {f"{name}{n}" for n in range(4) for name in LAYER}


def test_share_launches_limits_members() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = ops.conv1d(x, w["a"], padding=1)
        return tuple(block(w, x, n) for n in range(6))

    assert members(lower(forward)[1]["share_launches"]) == [4, 2]


def test_share_launches_respects_dependences() -> None:
    def forward(w: Weights, x: torch.Tensor) -> torch.Tensor:
        one, other = branches(w, x)
        return block(w, one + other, 4)

    assert members(lower(forward)[1]["share_launches"]) == [2, 2, 1]


def test_share_launches_orders_summed_blocks() -> None:
    """Sum three blocks, as each stage of the generator does."""

    def forward(w: Weights, x: torch.Tensor) -> torch.Tensor:
        first, second, third = branches(w, x, 3)
        return first + second + third

    assert members(lower(forward)[1]["share_launches"]) == [3, 3]


def test_share_launches_requires_equal_styles_and_shapes() -> None:
    def styles(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = ops.conv1d(x, w["a"], padding=1)
        return block(w, x, 0), block(w, x, 1, "other")

    def eps(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        moments = ops.moments(ops.conv1d(x, w["a"], padding=1))
        layers = [[w[f"{name}{n}"] for name in LAYER] for n in range(2)]
        return tuple(
            ops.adain_coefficients(moments, w["style"], *layer, eps=10.0**-n)
            for n, layer in enumerate(layers, 4)
        )

    weights = WEIGHTS | {"other": (1, STYLE)}
    for forward in (styles, eps):
        assert members(lower(forward, weights)[1]["share_launches"]) == [1, 1]


def test_share_launches_leaves_computed_weights() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        moments = ops.moments(ops.conv1d(x, w["a"], padding=1))
        return tuple(
            ops.adain_coefficients(
                moments, w["style"], w[f"layer{n}"], w["shift0"] + n, w["gain0"], w["offset0"]
            )
            for n in range(2)
        )

    assert members(lower(forward)[1]["share_launches"]) == [1, 1]


def test_share_launches_rejects_weight_used_elsewhere() -> None:
    def forward(w: Weights, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (*branches(w, x), w["gain1"] + 1.0)

    with pytest.raises(
        BuildError, match=r"small: used by a launch that calls share, and elsewhere too: p_gain1\.$"
    ):
        lower(forward)


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_share_launches_merges_pitch_and_energy(policy: str) -> None:
    before, after = (members(phases("f0n", policy)[p], "f0n") for p in ("halve", "share_launches"))
    assert sum(before) == sum(after) == 12
    assert after == [2] * 6


def test_share_launches_leaves_cpu_modules() -> None:
    before, after = (lowered("decoder")[1][phase] for phase in ("halve", "share_launches"))
    assert before.script(show_meta=True) == after.script(show_meta=True)
