"""The Fourier transform of the excitation and the inverse one at the generator's head, in real numbers."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import ops
from kokoro_tvm.errors import BuildError
from kokoro_tvm.patches import method_patch

__all__ = ["PATCH"]


def _transform(self: nn.Module, x: Tensor, length: Tensor | None = None) -> Tensor:
    """x (1, samples) -> magnitudes, then phases, (1, samples/hop + 1, n_fft + 2); length in samples.

    The stock one gives the two apart, time last.
    """
    _check(self)
    return ops.stft(x, length, n_fft=self.filter_length, hop=self.hop_length)


def _inverse(self: nn.Module, x: Tensor, length: Tensor | None = None) -> Tensor:
    """x (1, M, n_fft + 2): log magnitudes, then values whose sines are the phases -> (1, (M - 1)*hop).

    The stock one takes magnitudes and phases and gives (1, 1, samples). length in frames of x.
    """
    _check(self)
    return ops.istft(x, length, n_fft=self.filter_length, hop=self.hop_length)


def _check(stft: nn.Module) -> None:
    if stft.win_length != stft.filter_length:
        raise BuildError(
            f"patch stft knows windows as long as the transform ({stft.filter_length}), not {stft.win_length}"
        )


PATCH = method_patch(
    "stft",
    {"kokoro.istftnet.TorchSTFT.transform": _transform, "kokoro.istftnet.TorchSTFT.inverse": _inverse},
)
