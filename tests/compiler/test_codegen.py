from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tvm_ffi
from lowering import BUCKET, CONFIG, MACHINE, RECIPE, lowered, lowered_program, program

from kokoro_tvm.builder.library import compile_module
from kokoro_tvm.compiler.lower import LoweredModule
from kokoro_tvm.model.components import build_component
from kokoro_tvm.model.kokoro import build_model
from kokoro_tvm.model.patches import apply_patches
from kokoro_tvm.model.patches.weight_norm import fold_weight_norm
from kokoro_tvm.model.synthetic import draw_state
from kokoro_tvm.native.toolchains.gnu import GNU


@cache
def state() -> dict[str, torch.Tensor]:
    return draw_state(CONFIG, 0)


def load(path: Path) -> Any:
    machine = tvm_ffi.load_module(str(path))["vm_load_executable"]()
    machine["vm_initialization"](1, 0, 2)
    return machine


def compiled(result: LoweredModule, component: str, library: Path) -> Callable[..., list[np.ndarray]]:
    machine = load(compile_module(result.module, MACHINE, GNU, library, RECIPE["pass_context"]))
    with torch.no_grad():
        arrays = {name: tensor.numpy() for name, tensor in fold_weight_norm(state()).items()}
    weights = [
        tvm_ffi.from_dlpack(
            np.ascontiguousarray(p.packing.pack(arrays[p.name]) if p.packing else arrays[p.name])
        )
        for p in result.parameters
    ]

    def run(*inputs: torch.Tensor) -> list[np.ndarray]:
        outputs = machine[f"{component}_forward"](*(tvm_ffi.from_dlpack(x.numpy()) for x in inputs), *weights)
        outputs = [outputs] if isinstance(outputs, tvm_ffi.Tensor) else list(outputs)
        return [np.from_dlpack(f).copy() for f in outputs]

    return run


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library of a policy; that of `exact` is shared."""
    return tmp_path_factory.mktemp("exact") / "duration.so"


@pytest.fixture(scope="module")
def exact(library: Path) -> Callable[..., list[np.ndarray]]:
    return compiled(lowered("duration")[0], "duration", library)


def inputs(steps: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(steps)
    return torch.randn(1, 512, steps, generator=generator), torch.randn(1, 128, generator=generator)


@pytest.mark.parametrize("steps", [1, 2, 17, BUCKET])
def test_library_matches_torch_at_every_length(exact: Callable[..., list[np.ndarray]], steps: int) -> None:
    component = build_component("duration", build_model(CONFIG, state(), dtype=torch.float64))
    with apply_patches(RECIPE["components"]["duration"]["patches"], component), torch.no_grad():
        want = component(*(x.double() for x in inputs(steps)))
    actual = exact(*inputs(steps))
    assert len(actual) == len(want) == 2
    for result, expected in zip(actual, want, strict=True):
        assert result.shape == tuple(expected.shape)
        assert np.abs(result - expected.numpy()).max() <= 2e-6 * expected.abs().max()


def test_masked_library_matches_exact_bits(exact: Callable[..., list[np.ndarray]], tmp_path: Path) -> None:
    masked = compiled(lowered("duration", "masked")[0], "duration", tmp_path / "masked.so")
    whole, style = inputs(BUCKET)
    for length in (1, 40, BUCKET):
        want = exact(whole[..., :length].contiguous(), style)
        for fill in (np.nan, 1e30):
            filled = whole.clone()
            filled[..., length:] = fill
            for actual, expected in zip(masked(filled, style, torch.tensor([length])), want, strict=True):
                assert actual[..., :length].tobytes() == expected.tobytes()
                assert not actual[..., length:].any()


@pytest.mark.usefixtures("exact")
def test_library_returns_its_manifest(library: Path) -> None:
    outcome = load(library)["duration_manifest"]()
    assert json.loads(str(outcome)) == {"component": "duration", "bucket": BUCKET}
    assert list(library.parent.iterdir()) == [library]


@pytest.mark.slow("compiles in several processes")
def test_library_is_reproducible(tmp_path: Path) -> None:
    """Export and lower twice, because TVM's hash tables are ordered by addresses."""
    libraries = set()
    for place in ("here", "a-place-with-a-longer-name"):
        (tmp_path / place).mkdir()
        result = lowered_program(program("f0n"), "f0n")
        path = compile_module(
            result.module, MACHINE, GNU, tmp_path / place / "f0n.so", RECIPE["pass_context"]
        )
        libraries.add(path.read_bytes())
    assert len(libraries) == 1
