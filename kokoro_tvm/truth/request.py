"""An utterance as the model is given it: what every kind of reference begins with (numpy only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.noise import draw_noise

__all__ = ["Request"]


@dataclass(frozen=True, eq=False)
class Request:
    """What is to be spoken, by which voice, with which noise."""

    name: str
    phonemes: str
    voice: str
    speed: float
    seed: int
    tokens: NDArray[np.int64]
    """(1, T) with the boundary symbol 0 at both ends."""
    ref_s: NDArray[np.float32]
    """(1, 256): the first half is the decoder's style, the second duration's and f0n's."""
    piece: int = field(default=0, kw_only=True)
    """Which piece of a text has this noise; `Synthesizer.run` speaks the first, 0."""

    def draw(self, samples: int) -> NDArray[np.float32]:
        """The utterance's noise, (samples,) float32, as the compiled decoder draws it from the seed."""
        return draw_noise(self.seed, samples, self.piece)

    def source(self) -> dict[str, Any]:
        """What `Synthesizer.run` makes its noise of: the seed or, for a later piece of a text, the noise."""
        return {"noise": self.draw} if self.piece else {"seed": self.seed}

    def metadata(self) -> dict[str, str]:
        """The fields that are not arrays, as a safetensors file keeps them."""
        values = {"name": self.name, "phonemes": self.phonemes, "voice": self.voice}
        return values | {"speed": repr(self.speed), "seed": str(self.seed), "piece": str(self.piece)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fields that are arrays."""
        return {"tokens": self.tokens, "ref_s": self.ref_s}

    @classmethod
    def fields_of(cls, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> dict[str, Any]:
        """The fields by name, from `arrays` and `metadata`; raises KeyError, ValueError where some lack."""
        values: dict[str, Any] = {key: metadata[key] for key in ("name", "phonemes", "voice")}
        values |= {"speed": float(metadata["speed"])}
        values |= {key: int(metadata[key]) for key in ("seed", "piece")}
        return values | {name: tensors[name] for name in ("tokens", "ref_s")}
