"""Inputs and outputs of the compiled components: names, shapes, dtypes, units.

Shapes have integers and, on the component's axis, symbols: "T" (tokens), "F" (frames), a multiple ("2*F").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kokoro_tvm.common.constants import SAMPLES_PER_FRAME, STYLE_DIM

_SYMBOL = {"tokens": "T", "frames": "F"}


@dataclass(frozen=True)
class TensorSpec:
    """A tensor; `meaning` says what it is and in which unit."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    meaning: str

    def at(self, length: int) -> TensorSpec:
        """Return the tensor of a length in tokens or frames, with numbers only in its shape."""
        return TensorSpec(self.name, self.dtype, tuple(extent(e, length) for e in self.shape), self.meaning)


SEED = TensorSpec("seed", "uint32", (3,), "the seed's lower and upper half, and the piece of the plan")
LENGTH = TensorSpec("length", "int64", (1,), "how many tokens or frames are valid, 1 to the bucket")


@dataclass(frozen=True)
class Signature:
    """Inputs and outputs of a component."""

    component: str
    axis: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    entry: str = "forward"

    @property
    def function(self) -> str:
        """Name of the function in a library."""
        return f"{self.component}_{self.entry}"

    @property
    def seeded(self) -> Signature | None:
        """Signature of the entry that draws its own noise; None if the component takes no noise."""
        if all(tensor.name != "noise" for tensor in self.inputs):
            return None
        inputs = tuple(SEED if tensor.name == "noise" else tensor for tensor in self.inputs)
        return replace(self, inputs=inputs, entry="seeded")

    @property
    def symbol(self) -> str:
        """Symbol of the axis in shapes."""
        return _SYMBOL[self.axis]

    def resolved(self, policy: str, bucket: int) -> Signature:
        """Return the signature of an artifact: symbolic for "exact", `bucket` long for "masked" and "padded".

        For "masked", the valid length is the last input.
        """
        if policy == "exact":
            return self
        inputs = tuple(t.at(bucket) for t in self.inputs)
        if policy == "masked":
            inputs += (LENGTH,)
        return replace(self, inputs=inputs, outputs=tuple(t.at(bucket) for t in self.outputs))


def extent(value: int | str, length: int) -> int:
    """Return the number for an entry of a shape: "600*F" with length 3 is 1800."""
    if isinstance(value, int):
        return value
    factor, _, _symbol = value.rpartition("*")
    return int(factor or 1) * length


def signatures(config: Mapping[str, Any]) -> dict[str, Signature]:
    """Return the signatures of a model by component; `config` is the content of config.json."""
    return _make_signatures(config["hidden_dim"], config["style_dim"], samples_per_frame(config))


def samples_per_frame(config: Mapping[str, Any]) -> int:
    """Return samples of audio per frame: the decoder doubles its steps, the vocoder multiplies them."""
    net = config["istftnet"]
    return 2 * math.prod(net["upsample_rates"]) * int(net["gen_istft_hop_size"])


def _make_signatures(hidden: int, style: int, samples: int) -> dict[str, Signature]:
    """Return the signatures by component for a model's hidden size, style size and samples per frame."""

    def f32(name: str, shape: tuple[int | str, ...], meaning: str) -> TensorSpec:
        return TensorSpec(name, "float32", (1, *shape), meaning)

    prosody = hidden + style
    tokens = TensorSpec("tokens", "int64", (1, "T"), "token ids, the boundary symbol 0 at both ends")
    d_en = f32("d_en", (hidden, "T"), "text features of bert")
    t_en = f32("t_en", (hidden, "T"), "text encoding")
    prosody_style = f32("style", (style,), "second half of the voice's row")
    decoder_style = f32("style", (style,), "first half of the voice's row")
    pitch = f32("f0", ("2*F",), "pitch in Hz, twice a frame")
    energy = f32("n", ("2*F",), "energy, twice a frame")
    audio = f32("audio", (f"{samples}*F",), "samples at 24 kHz, about -1 to 1")
    duration = f32("duration", ("T",), "frames of every token at speed 1, before rounding")
    noise = f32("noise", (f"{samples}*F",), "standard normal noise of the harmonic source")
    d = f32("d", (prosody, "T"), "prosody features")
    en = f32("en", (prosody, "F"), "prosody features, one column a frame")
    asr = f32("asr", (hidden, "F"), "text encoding, one column a frame")
    entries = (
        Signature("bert", "tokens", (tokens,), (d_en,)),
        Signature("duration", "tokens", (d_en, prosody_style), (duration, d)),
        Signature("text_encoder", "tokens", (tokens,), (t_en,)),
        Signature("f0n", "frames", (en, prosody_style), (pitch, energy)),
        Signature("decoder", "frames", (asr, pitch, energy, decoder_style, noise), (audio,)),
    )
    return {s.component: s for s in entries}


SIGNATURES = _make_signatures(hidden=512, style=STYLE_DIM, samples=SAMPLES_PER_FRAME)
"""The signatures of Kokoro-82M."""
