"""Patch of the bidirectional LSTM: two projections and a recurrence that starts at the last valid step."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import method_patch


def _forward(self: nn.LSTM, x: Tensor, length: Tensor | None = None) -> Tensor:
    """Return the hidden states of both directions (1, T, 2H) for x (1, T, I).

    Raises BuildError for another kind of LSTM.
    """
    if self.num_layers != 1 or not self.bidirectional or not self.bias or self.proj_size:
        raise BuildError(f"patch lstm supports LSTMs of one layer, two directions and a bias, not {self}")
    forward = ops.conv1d(x, self.weight_ih_l0, self.bias_ih_l0, length=length)
    backward = ops.conv1d(x, self.weight_ih_l0_reverse, self.bias_ih_l0_reverse, length=length)
    return ops.lstm(
        forward,
        backward,
        self.weight_hh_l0,
        self.bias_hh_l0,
        self.weight_hh_l0_reverse,
        self.bias_hh_l0_reverse,
        length,
    )


PATCH = method_patch("lstm", {"torch.nn.modules.rnn.LSTM.forward": _forward})
