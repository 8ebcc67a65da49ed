"""What exact arithmetic would choose where the truth leaves the choice to rounding (torch)."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

__all__ = ["ExactPhases"]


class ExactPhases(TorchFunctionMode):
    """While entered, `torch.angle` gives 0 or pi for bins that are real in exact arithmetic.

    The excitation's spectra (1, bins, frames) are real at DC and Nyquist, and all bins are in the first
    frame, because the signal is mirrored about its first sample. What a Fourier transform leaves in the
    imaginary part there is rounding, by whose sign a negative bin has the phase pi or -pi.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is not torch.angle:
            return func(*args, **(kwargs or {}))
        spectra: torch.Tensor = args[0].clone()
        spectra.imag[:, [0, -1]] = 0.0
        spectra.imag[..., 0] = 0.0
        return func(spectra)
