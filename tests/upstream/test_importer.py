"""PyTorch programs that TVM's importer should take, and what it makes of them."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch
from tiers import PINNED
from torch import nn
from torch.export import Dim

from upstream.support import TVM_ISSUES, UNKNOWN, broken, changed, computed, imported

pytestmark = [pytest.mark.upstream, PINNED]

DYNAMIC = f"{TVM_ISSUES}/17818 (dynamic shapes)"

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


def test_assignment_by_mask() -> None:
    message = "IndexPut requires each index tensor to have integer dtype.*dtype=T.bool"
    with broken("index_put with a boolean mask is taken for one with positions", TypeError, message):
        imported(masked, X)


def sized(lines: Any) -> np.ndarray:
    """`lines` of a vector whose length is symbolic."""
    return computed(
        imported(lines, torch.ones(12), dynamic=[{0: Dim("n", min=6, max=64)}]), np.ones(8, "float32")
    )


def test_floor_division_of_a_length() -> None:
    assert sized(lambda x: x.new_ones(x.shape[0] // 3) + 1.0).shape == (2,)


def test_a_length_as_a_factor() -> None:
    message = r"Binary operators must have the same datatype .* R\.multiply"
    with broken("a length is multiplied with a tensor of another type", TypeError, message, DYNAMIC):
        sized(lambda x: x * x.shape[0])


def test_concatenation_of_unknown_lengths() -> None:
    assert sized(lambda x: torch.cat([x, x + 1.0])).shape == (16,)


def unsupported(*functions: str, issue: str = UNKNOWN) -> AbstractContextManager[None]:
    """The importer names these as the functions it has no converter for, in the order of a set."""
    lists = (re.escape(f"Unsupported function types {list(order)}") for order in permutations(functions))
    message = "|".join(lists)
    return broken(f"{', '.join(functions)} cannot be imported", AssertionError, message, issue)


def test_a_length_as_a_float() -> None:
    with unsupported("sym_float", issue=DYNAMIC):
        sized(lambda x: x * torch.sym_float(x.shape[0]))


def test_true_division_of_a_length() -> None:
    with unsupported("truediv", issue=DYNAMIC):
        sized(lambda x: x * (x.shape[0] / 2))


def test_rand() -> None:
    with unsupported("rand.default"):
        imported(lambda x: x + torch.rand(2, 4), X)


def test_noise_is_drawn_at_run_time() -> None:
    module = imported(lambda x: torch.randn_like(x), X)
    same = np.array_equal(computed(module, X.numpy()), computed(module, X.numpy()))
    assert same, changed("randn_like is drawn at import, unseeded, and kept", f"{TVM_ISSUES}/18815")


def test_short_time_fourier_transform() -> None:
    window = torch.hann_window(4)
    with unsupported("unfold.default", "_fft_r2c.default", issue=f"{TVM_ISSUES}/18364"):
        imported(lambda x: torch.stft(x, 4, 2, window=window, return_complex=True).abs(), torch.ones(1, 16))


def bindings(steps: int) -> int:
    function = imported(nn.LSTM(3, 2, batch_first=True), torch.ones(1, steps, 3))["main"]
    return sum(len(block.bindings) for block in function.body.blocks)


def test_a_recurrence_is_a_loop() -> None:
    grown = bindings(16) - bindings(8)
    assert grown == bindings(24) - bindings(16) > 0, changed("an LSTM is unrolled")


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 2, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]


def test_a_packed_lstm() -> None:
    """torch.export refuses it, before TVM sees it."""
    message = "type must be tuple of ints,but got FakeTensor"
    issue = "https://github.com/pytorch/pytorch/issues/171978"
    with broken("packed sequences are not exported", TypeError, message, issue):
        imported(Packed(), torch.ones(1, 8, 3), torch.tensor([5]))


def test_the_last_element_of_an_unknown_length() -> None:
    """It is imported as take(-1), which reads what stands before a row: here, the end of the first."""
    module = imported(lambda x: x[:, -1] * 1.0, torch.ones(2, 6), dynamic=[{1: Dim("n", min=4, max=64)}])
    second = computed(module, np.arange(12, dtype="float32").reshape(2, 6))[1]
    issue = f"{TVM_ISSUES}/19436 (the same of ONNX, which was fixed)"
    assert second == 5.0, changed("the last element of a symbolic axis is read out of bounds", issue)


def test_the_imported_function_has_a_name_of_its_own() -> None:
    names = [g.name_hint for g in imported(lambda x: x + 1.0, X).get_global_vars()]
    assert names == ["main"], changed("the imported function is called main")
