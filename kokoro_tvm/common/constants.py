"""Constants of every Kokoro model: rates, channels, components and their axes.

None of these is a setting. `config.json` says some of them again; `kokoro_tvm.model.signatures` reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

Axis: TypeAlias = Literal["tokens", "frames"]
ComponentName: TypeAlias = Literal["bert", "duration", "text_encoder", "f0n", "decoder"]

COMPONENT_AXES: Mapping[str, Axis] = {
    "bert": "tokens",
    "duration": "tokens",
    "text_encoder": "tokens",
    "f0n": "frames",
    "decoder": "frames",
}
"""The five components in the order they are built and run, each with the axis of its length."""

COMPONENTS = tuple(COMPONENT_AXES)

SAMPLE_RATE = 24_000
"""Samples of audio per second."""

SAMPLES_PER_FRAME = 600
"""Samples of audio per frame; durations count frames."""

FRAMES_PER_SECOND = SAMPLE_RATE // SAMPLES_PER_FRAME

NOISE_CHANNELS = 9
"""Sines of the harmonic source, each with noise of its own: the pitch and eight overtones."""

STYLE_DIM = 128
"""Half of a row of a voice: the decoder takes the first half, duration and f0n the second."""

STORAGE_STEPS: Mapping[str, int] = {"tokens": 512, "frames": 1280}
"""Memory is reserved for the next multiple of this many tokens or frames, so that most utterances share it.

1,280 frames are 32 seconds; few utterances are longer. GPUs and WebAssembly, where reserved memory costs,
reserve memory of the exact length instead.
"""
