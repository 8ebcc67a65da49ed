"""A convolution over time as the kernels for GPUs compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Layer"]


@dataclass(frozen=True)
class Layer:
    """For each step t and output o the sum over taps j and channels c of read(t + j*dilation, c) *
    weight[j, c, o].

    weight: as the kernel's tile packs it; steps: of the result; needed: how many of them are wanted, known
    only on the GPU: tiles beyond are left out; read(row, channel): an activated value of the input, zero
    where there is none, with rows up to the end of the last tile and its halo, and channels of [0, channels);
    write(step, output, sum): called for results that are wanted, gives what it wrote; moments: of the
    results, where they are to be written: then outputs are whole tiles.
    """

    weight: Any
    channels: int
    taps: int
    dilation: int
    steps: Any
    needed: Any
    outputs: int
    read: Callable[[Any, Any], Any]
    write: Callable[[Any, Any, Any], Any]
    moments: Any | None = None
