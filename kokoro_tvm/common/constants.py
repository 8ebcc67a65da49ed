"""What every Kokoro model has in common: rates, channels, components and their axes (no torch, no numpy).

None of these is a setting. `config.json` says some of them again; `kokoro_tvm.model.signatures` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = [
    "COMPONENTS",
    "COMPONENT_AXES",
    "FRAMES_PER_SECOND",
    "NOISE_CHANNELS",
    "SAMPLES_PER_FRAME",
    "SAMPLE_RATE",
    "STORAGE_STEPS",
    "STYLE_DIM",
    "Axis",
    "ComponentName",
]

Axis: TypeAlias = Literal["tokens", "frames"]
ComponentName: TypeAlias = Literal["bert", "duration", "text_encoder", "f0n", "decoder"]

COMPONENT_AXES: Mapping[str, Axis] = {
    "bert": "tokens",
    "duration": "tokens",
    "text_encoder": "tokens",
    "f0n": "frames",
    "decoder": "frames",
}
"""The five components in the order they are built and run, each with the axis its length is counted on."""

COMPONENTS = tuple(COMPONENT_AXES)

SAMPLE_RATE = 24_000
"""Samples of audio a second."""

SAMPLES_PER_FRAME = 600
"""Samples of audio for one frame, which is what a duration counts."""

FRAMES_PER_SECOND = SAMPLE_RATE // SAMPLES_PER_FRAME

NOISE_CHANNELS = 9
"""Sines of the harmonic source, each with noise of its own: the pitch and eight overtones."""

STYLE_DIM = 128
"""Half of a voice's row: the decoder takes the first half, duration and f0n the second."""

STORAGE_STEPS: Mapping[str, int] = {"tokens": 512, "frames": 1280}
"""Memory is reserved for the next multiple of so many tokens or frames: of frames for 32 seconds, for few
utterances are longer, so that all share their memory. Where memory costs as soon as it is reserved, as on
GPUs and in WebAssembly, every length has its own."""
