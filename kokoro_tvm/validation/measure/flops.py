"""How much arithmetic an utterance takes, component by component: the unit of all GFLOP/s.

Counted are the multiplications and additions of matrix products, attention, LSTMs and convolutions of the
stock model, a convolution done directly. A kernel that needs fewer of them (minimal filtering) shows as more
GFLOP/s; activations, normalisation and the Fourier transforms show as fewer. The numbers are exact: a test
counts them again in the stock model.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COUNTS", "Count", "component_flops"]


@dataclass(frozen=True)
class Count:
    """FLOPs of one utterance as a polynomial of its length on the component's axis ("tokens", "frames")."""

    axis: str
    quadratic: int  # attention: every token with every other
    linear: int
    constant: int  # style projections, and the one step by which the decoder's spectrogram is longer

    def of(self, length: int) -> int:
        return (self.quadratic * length + self.linear) * length + self.constant


COUNTS = {
    "bert": Count("tokens", 36_864, 133_103_616, 0),
    "duration": Count("tokens", 0, 14_731_264, 786_432),
    "text_encoder": Count("tokens", 0, 11_010_048, 0),
    "f0n": Count("frames", 0, 18_882_560, 2_359_296),
    "decoder": Count("frames", 0, 1_298_023_368, 15_909_888),
}


def component_flops(component: str, tokens: int, frames: int) -> int:
    """FLOPs of a component for one utterance; 40 frames are a second of audio."""
    count = COUNTS[component]
    return count.of(tokens if count.axis == "tokens" else frames)
