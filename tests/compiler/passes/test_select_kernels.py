from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from lowering import lowered, lowered_program, small_program

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.compiler.passes.select_kernels import PACKINGS

from .support import operators


def test_select_kernels_replaces_every_operation() -> None:
    _, phases = lowered("bert")
    before, after = (operators(phases[phase], "bert") for phase in ("fuse", "select_kernels"))
    assert after["relax.call_dps_packed"] == 0
    assert after["relax.call_tir"] == before["relax.call_tir"] + before["relax.call_dps_packed"]


def test_select_kernels_shares_kernels_of_equal_calls() -> None:
    _, phases = lowered("bert")
    kernels = [v.name_hint for v in phases["select_kernels"].get_global_vars() if "_conv1d_" in v.name_hint]
    assert 0 < len(kernels) < operators(phases["fuse"], "bert")["relax.call_dps_packed"]
    numbered = [name.rpartition("_")[2] for name in kernels]
    assert len(set(numbered)) == len(kernels)


def test_select_kernels_records_packings() -> None:
    function = lowered("duration")[1]["select_kernels"]["duration_forward"]
    packings = json.loads(function.attrs[PACKINGS])
    assert {p["operation"] for p in packings.values()} >= {"conv1d", "linear", "lstm"}
    shapes = {p.name: tuple(int(e) for e in p.ty.shape) for p in function.params if p.name in packings}
    assert set(shapes) == set(packings)


def lower_small(forward: Any, weights: dict[str, tuple[int, ...]]) -> Any:
    return lowered_program(small_program(forward, weights), "small")


def test_select_kernels_packs_shared_weight_once() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return ops.conv1d(ops.conv1d(x, w["a"], padding=1), w["a"], padding=1)

    (parameter,) = lower_small(forward, {"a": (4, 4, 3)}).parameters
    assert parameter.packing is not None
    assert parameter.packing.name.startswith("convolution(")


def test_select_kernels_rejects_two_packings_of_a_weight() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return ops.conv1d(x, w["a"], padding=1), ops.conv1d(x, w["a"], padding=1, stride=2)

    with pytest.raises(
        BuildError, match=r"small: p_a is needed as convolution\(.*\) and as convolution\(.*stride=2\)"
    ):
        lower_small(forward, {"a": (4, 4, 3)})


def test_select_kernels_rejects_packed_and_plain_weight() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        pooled = ops.upsample_pool(x, w["a"], w["b"])
        return pooled, ops.conv1d(x[..., :1], w["a"], padding=1)

    with pytest.raises(BuildError, match="small: used both packed and as they are: p_a"):
        lower_small(forward, {"a": (4, 1, 3), "b": (4,)})


def test_select_kernels_rejects_packed_weight_in_plain_operation() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return ops.conv1d(x, w["a"], padding=1), w["a"] + 1.0

    with pytest.raises(BuildError, match="small: used both packed and as they are: p_a"):
        lower_small(forward, {"a": (4, 4, 3)})


def test_select_kernels_rejects_computed_weight() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return ops.conv1d(x, w["a"] * 2.0, padding=1)

    with pytest.raises(
        BuildError, match="small: conv1d wants its weight packed at build time, but it is computed"
    ):
        lower_small(forward, {"a": (4, 4, 3)})


def test_select_kernels_rejects_call_without_kernel() -> None:
    def forward(w: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return ops.conv1d(x, w["a"], padding=2, stride=2, dilation=2)

    with pytest.raises(BuildError, match="small: conv1d: stride and dilation together have no kernel"):
        lower_small(forward, {"a": (4, 4, 3)})
