"""PyTorch programs that TVM's importer should take, and what it makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim

from upstream.support import broken, computed, imported

X = torch.tensor([[-1.5, -0.5, 0.5, 1.5], [2.0, -2.0, 1.0, 0.0]])
OPERATIONS: dict[str, Any] = {
    "atan2": lambda x: torch.atan2(x, x + 0.25),
    "clamp": lambda x: x.clamp(-1.0, 1.0),
    "leaky_relu": lambda x: nn.functional.leaky_relu(x, 0.1),
    "expand to a higher rank": lambda x: x.expand(3, -1, -1),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_the_seeds_patched(name: str) -> None:
    forward = OPERATIONS[name]
    np.testing.assert_allclose(computed(imported(forward, X), X.numpy()), forward(X).numpy(), rtol=1e-6)


def masked(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[x < 0] = 7.0
    return y


@broken("index_put with a boolean mask is taken for one with positions", TypeError)
def test_assignment_by_mask() -> None:
    np.testing.assert_array_equal(computed(imported(masked, X), X.numpy()), masked(X).numpy())


def sized(lines: Any) -> np.ndarray:
    """`lines` of a vector whose length is symbolic."""
    return computed(
        imported(lines, torch.ones(12), dynamic=[{0: Dim("n", min=6, max=64)}]), np.ones(8, "float32")
    )


def test_floor_division_of_a_length() -> None:
    assert sized(lambda x: x.new_ones(x.shape[0] // 3) + 1.0).shape == (2,)


@broken("a length is multiplied with a tensor of another type as it is", TypeError)
def test_a_length_as_a_factor() -> None:
    assert sized(lambda x: x * x.shape[0])[0] == 8.0


def test_concatenation_of_unknown_lengths() -> None:
    assert sized(lambda x: torch.cat([x, x + 1.0])).shape == (16,)


@broken("sym_float has no converter")
def test_a_length_as_a_float() -> None:
    assert sized(lambda x: x * torch.sym_float(x.shape[0]))[0] == 8.0


@broken("truediv of a length has no converter")
def test_true_division_of_a_length() -> None:
    assert sized(lambda x: x * (x.shape[0] / 2))[0] == 4.0


@broken("rand has no converter")
def test_rand() -> None:
    imported(lambda x: x + torch.rand(2, 4), X)


@broken("randn_like is drawn at import, unseeded, and kept as a constant")
def test_noise_is_drawn_at_run_time() -> None:
    module = imported(lambda x: torch.randn_like(x), X)
    assert not np.array_equal(computed(module, X.numpy()), computed(module, X.numpy()))


@broken("stft has no converter")
def test_short_time_fourier_transform() -> None:
    window = torch.hann_window(4)
    imported(lambda x: torch.stft(x, 4, 2, window=window, return_complex=True).abs(), torch.ones(1, 16))


def bindings(steps: int) -> int:
    function = imported(nn.LSTM(3, 2, batch_first=True), torch.ones(1, steps, 3))["main"]
    return sum(len(block.bindings) for block in function.body.blocks)


@broken("an LSTM is unrolled, so a module grows with its length")
def test_a_recurrence_is_a_loop() -> None:
    assert bindings(16) == bindings(8)


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 2, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


@broken("torch.export refuses packed sequences, before TVM sees them", TypeError)
def test_a_packed_lstm() -> None:
    imported(Packed(), torch.ones(1, 8, 3), torch.tensor([5]))


@broken("the last element of a symbolic axis is imported as take(-1), which reads out of bounds")
def test_the_last_element_of_an_unknown_length() -> None:
    module = imported(lambda x: x[:, -1] * 1.0, torch.ones(2, 6), dynamic=[{1: Dim("n", min=4, max=64)}])
    # Of the first row it reads what stands before the array in memory, of the second the end of the first.
    assert computed(module, np.arange(12, dtype="float32").reshape(2, 6))[1] == 11.0


@broken("the imported function is called main")
def test_the_imported_function_has_a_name_of_its_own() -> None:
    assert [g.name_hint for g in imported(lambda x: x + 1.0, X).get_global_vars()] != ["main"]
