"""Support for tests that patches are equivalent to the stock model: random modules, tolerances, tails."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from kokoro_tvm.model.kokoro import use_default_dtype
from kokoro_tvm.model.patches import apply_patches

DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
STYLE = 5

# Relative to the largest value: float32 allows for another order of summation, float64 for nothing else.
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10}


def stock(make: Callable[[], nn.Module], dtype: torch.dtype, seed: int = 0) -> Any:
    """Return a stock module with random weights throughout (norms, biases and alphas too), frozen."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")
        torch.manual_seed(seed)
        module = make()
        for name, parameter in module.named_parameters():
            scale = 1.0 if name.endswith("weight_v") else 0.3
            parameter.data = torch.randn_like(parameter) * scale
            if name.endswith("weight_g") or ".alpha" in name or "norm.weight" in name:
                parameter.data = parameter.abs() + 0.5
    return module.to(dtype).eval().requires_grad_(False)


def random(*shape: int, dtype: torch.dtype, seed: int = 1) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def assert_same(got: Tensor, want: Tensor, tolerance: float | None = None) -> None:
    """Assert equal shape and dtype, and values within the dtype's tolerance relative to the largest."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    error = (got - want).abs().max() / want.abs().max().clamp(min=1e-30)
    limit = TOLERANCE[want.dtype] if tolerance is None else tolerance
    assert error <= limit, f"relative error {error:.2e}, allowed {limit:.0e}"


def tails(x: Tensor, length: int) -> Iterator[Tensor]:
    """Return copies of `x` (1, T, ...) with NaN, 1e30 or other numbers from step `length` on."""
    for fill in (torch.nan, 1e30, None):
        y = x.clone()
        y[:, length:] = random(*y[:, length:].shape, dtype=x.dtype, seed=9) if fill is None else fill
        yield y


def assert_masked(
    run: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Sequence[Tensor],
    length: int,
    factor: int = 1,
    plus: int = 0,
) -> None:
    """Assert that the valid part of `run(*inputs, length)` equals `run` of the valid inputs, bit for bit.

    Time is axis 1: of inputs a multiple of the first, of results `factor` times the first, `plus`.
    """
    steps = inputs[0].shape[1]
    cut = [x[:, : x.shape[1] // steps * length] for x in inputs]
    alone = _all(run(*cut, None))
    valid = length * factor + plus
    marker = torch.tensor([length])
    seen: list[list[Tensor]] = []
    for tail in zip(*(tails(x, x.shape[1] // steps * length) for x in inputs), strict=True):
        results = _all(run(*tail, marker))
        assert all(r.shape[1] == steps * factor + plus for r in results)
        seen.append([r[:, :valid] for r in results])
    for results in seen:
        for result, first, want in zip(results, seen[0], alone, strict=True):
            assert torch.equal(result, first)
            assert_same(result, want)


def _all(results: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [results] if isinstance(results, Tensor) else list(results)


@contextmanager
def patched(names: Sequence[str], module: nn.Module, dtype: torch.dtype) -> Iterator[None]:
    with use_default_dtype(dtype), apply_patches(names, module), torch.no_grad():
        yield


class FixedNoise(torch.overrides.TorchFunctionMode):
    """Replaces `torch.randn_like` of the source's sines by known noise (1, samples, H), others by zeros."""

    def __init__(self, noise: Tensor) -> None:
        super().__init__()
        self.noise = noise

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.randn_like:
            return self.noise if args[0].shape == self.noise.shape else torch.zeros_like(args[0])
        return func(*args, **(kwargs or {}))


def projected(noise: Tensor, source: Any) -> Tensor:
    """Project nine channels of noise (1, samples, 9) to one (1, samples), as the source's linear layer does.

    The result is divided by the norm of the layer's weights.
    """
    weight = source.l_linear.weight[0].to(noise.dtype)
    return (noise @ weight / torch.linalg.vector_norm(weight)).detach()


@contextmanager
def plus_pi(stft: Any) -> Iterator[None]:
    """Replace phases of -pi that a `TorchSTFT` returns by +pi.

    The reflected edge makes the first frame symmetric, so its spectrum is real except for rounding. In every
    bin with a negative real part the stock phase is pi or -pi by the last bit of the excitation.
    """
    before = stft.__dict__.get("transform")
    transform = stft.transform

    def turned(x: Tensor) -> Tensor:
        return torch.where(x < 1e-6 - torch.pi, x + 2 * torch.pi, x)

    def wrapped(*args: Any) -> Any:
        spectrum = transform(*args)
        return turned(spectrum) if isinstance(spectrum, Tensor) else tuple(turned(x) for x in spectrum)

    stft.__dict__["transform"] = wrapped
    try:
        yield
    finally:
        del stft.__dict__["transform"]
        if before is not None:
            stft.__dict__["transform"] = before
