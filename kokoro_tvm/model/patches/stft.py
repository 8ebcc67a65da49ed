"""Patch of the excitation's Fourier transform and the generator's inverse one, in real numbers."""

from __future__ import annotations

from torch import Tensor, nn

from kokoro_tvm import kernels as ops
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.patches import method_patch


def _transform(self: nn.Module, x: Tensor, length: Tensor | None = None) -> Tensor:
    """Return magnitudes, then phases, (1, samples/hop + 1, n_fft + 2), of x (1, samples).

    `length` is in samples. The stock method returns the two separately, time last.
    """
    _check(self)
    return ops.stft(x, length, n_fft=self.filter_length, hop=self.hop_length)


def _inverse(self: nn.Module, x: Tensor, length: Tensor | None = None) -> Tensor:
    """Return samples (1, (M - 1)*hop) of x (1, M, n_fft + 2): log magnitudes, then phase arguments.

    `length` is in frames of x. The stock method takes magnitudes and phases and returns (1, 1, samples).
    """
    _check(self)
    return ops.istft(x, length, n_fft=self.filter_length, hop=self.hop_length)


def _check(stft: nn.Module) -> None:
    """Raise BuildError unless the window is as long as the transform."""
    if stft.win_length != stft.filter_length:
        raise BuildError(
            f"patch stft supports windows as long as the transform ({stft.filter_length}), "
            f"not {stft.win_length}"
        )


PATCH = method_patch(
    "stft", {"kokoro.istftnet.TorchSTFT.transform": _transform, "kokoro.istftnet.TorchSTFT.inverse": _inverse}
)
