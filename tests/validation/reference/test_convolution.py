"""Convolutions as matrix products: PyTorch's numbers but for the order of sums, and one module's alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kokoro_tvm.validation.reference import convolution
from kokoro_tvm.validation.reference.convolution import MatrixConvolution


def layer(**options: object) -> torch.nn.Conv1d:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        settings = {"in_channels": 3, "out_channels": 5, "kernel_size": 3, "dtype": torch.float64} | options
        return torch.nn.Conv1d(**settings).requires_grad_(False)  # type: ignore[arg-type]


def signal(length: int, channels: int = 3, batch: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(length).standard_normal((batch, channels, length)))


@given(
    taps=st.integers(1, 11),
    dilation=st.integers(1, 5),
    padding=st.integers(0, 30),
    length=st.integers(1, 200),
    block=st.integers(5, 600),
    bias=st.booleans(),
)
def test_it_is_the_convolution(
    taps: int, dilation: int, padding: int, length: int, block: int, bias: bool
) -> None:
    """Also where a block is shorter than the taps reach, and where padding is wider than the input."""
    length = max(length, dilation * (taps - 1) + 1 - 2 * padding)
    module = layer(kernel_size=taps, dilation=dilation, padding=padding, bias=bias)
    x = signal(length)
    with pytest.MonkeyPatch.context() as patch, MatrixConvolution(module):
        patch.setattr(convolution, "_BLOCK", block)
        result = module(x)
    torch.testing.assert_close(result, module(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "options",
    [{"stride": 2}, {"in_channels": 5, "groups": 5}, {"dtype": torch.float32}],
    ids=["stride", "groups", "float32"],
)
def test_what_is_not_plain_is_pytorchs_to_the_last_bit(options: dict[str, object]) -> None:
    module = layer(**options)
    x = signal(100, module.in_channels).to(module.weight.dtype)
    with MatrixConvolution(module):
        result = module(x)
    assert torch.equal(result, module(x))


def test_two_sequences_at_once_are_pytorchs() -> None:
    module, x = layer(), signal(50, batch=2)
    with MatrixConvolution(module):
        result = module(x)
    assert torch.equal(result, module(x))


def test_other_modules_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it is another module's")

    monkeypatch.setattr(convolution, "_convolve", never)
    mine, other, x = layer(), layer(), signal(50)
    with MatrixConvolution(mine):
        other(x)
        with pytest.raises(AssertionError, match="another module"):
            mine(x)
