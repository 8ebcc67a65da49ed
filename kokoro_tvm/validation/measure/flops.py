"""FLOPs of an utterance by component, the unit of all GFLOP/s.

They count multiplications and additions of matrix products, attention, LSTMs and direct convolutions in the
stock model. A kernel that needs fewer (minimal filtering) has a higher rate; activations, normalisation and
Fourier transforms are not counted. The numbers are exact: a test counts them in the stock model.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Count:
    """FLOPs of one utterance as a polynomial of its length on the component's axis ("tokens", "frames")."""

    axis: str
    quadratic: int  # attention
    linear: int
    constant: int  # style projections, and the last step of the decoder's spectrogram

    def of(self, length: int) -> int:
        """Evaluate the polynomial."""
        return (self.quadratic * length + self.linear) * length + self.constant


COUNTS = {
    "bert": Count("tokens", 36_864, 133_103_616, 0),
    "duration": Count("tokens", 0, 14_731_264, 786_432),
    "text_encoder": Count("tokens", 0, 11_010_048, 0),
    "f0n": Count("frames", 0, 18_882_560, 2_359_296),
    "decoder": Count("frames", 0, 1_298_023_368, 15_909_888),
}


def component_flops(component: str, tokens: int, frames: int) -> int:
    """Count the FLOPs of a component for one utterance."""
    count = COUNTS[component]
    return count.of(tokens if count.axis == "tokens" else frames)
