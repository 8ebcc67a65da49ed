"""Tuned choices for convolution layers, which replace the rules of `kernels.cpu.conv_plan`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConvChoice:
    """How to compute a convolution layer, as a schedule chooses it.

    Attributes:
        outputs: Results of the minimal filtering F(outputs, taps); 1 for plain convolution.
        taps: Taps of the minimal filtering; 1 for plain convolution.
        tiles: Register tiles of a block, or None for the number that the rule gives.
    """

    outputs: int
    taps: int
    tiles: int | None = None
