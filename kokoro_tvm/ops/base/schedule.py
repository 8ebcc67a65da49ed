"""What `kokoro-tvm tune` found to be fastest for a layer, in place of the rules of `ops.cpu.conv_plan`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ConvChoice"]


@dataclass(frozen=True)
class ConvChoice:
    """Minimal filtering F(outputs, taps), 1 and 1 being plain convolution; tiles: register tiles of a block,
    None: as many as the rule has."""

    outputs: int
    taps: int
    tiles: int | None = None
