"""The model: durations of tokens, and audio, through the five components."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BundleError, OutOfMemoryError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.bundle.tensors import aligned_empty
from kokoro_tvm.runtime.session.device import Output
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.session.session import ComponentRunner
from kokoro_tvm.runtime.stopping import Cancellation

__all__ = ["Floats", "Model", "frame_durations", "repeat_tokens", "token_of_frame"]

Floats: TypeAlias = NDArray[np.float32]
_MAX_DURATION = 1 << 40  # frames, far above any bucket; a tiny speed does not overflow int64


def frame_durations(duration: Floats, speed: float | NDArray[np.float64]) -> NDArray[np.int64]:
    """Round durations to whole frames: max(1, rint(duration / speed)), halves to even.

    Args:
        duration: float32 (1, tokens), in frames at speed 1.
        speed: of all tokens, or (tokens,).

    Returns:
        int64 (tokens,).

    Raises:
        BundleError: a duration is not finite.
    """
    if not np.isfinite(duration).all():
        raise BundleError("The duration component gave a value that is not finite. Build the bundle again.")
    with np.errstate(over="ignore"):
        # A speed too small for float32 would be 0, and 0 / 0 no duration.
        divisor = np.maximum(np.asarray(speed, np.float32), np.finfo(np.float32).tiny)
        scaled = np.rint(duration.reshape(-1).astype(np.float32) / divisor)
    return np.clip(scaled, 1, _MAX_DURATION).astype(np.int64)


def token_of_frame(durations: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each frame's token, int64 (frames,)."""
    return np.repeat(np.arange(durations.size, dtype=np.int64), durations)


def repeat_tokens(features: Floats, index: NDArray[np.int64]) -> Floats:
    """Repeat token features (1, C, tokens) for the frames of `index` (frames,): (1, C, frames)."""
    frames = aligned_empty((*features.shape[:2], index.size), features.dtype)
    return np.take(features, index, axis=2, out=frames, mode="clip")  # clip writes straight into `out`


@contextmanager
def _memory_for(entry: str, length: int) -> Iterator[None]:
    try:
        yield
    except MemoryError as error:
        why = str(error) or "its size is not known"
        raise OutOfMemoryError.of(f"{entry} for a length of {length}", why) from error


class Model:
    """Runs the components for one request, sums up the wall time each takes, and stops on request.

    Of a style `ref_s` (2 * style_dim,), the first half is for the decoder, the second for duration and f0n.

    A component on a GPU only begins to compute: the wait for it counts for the component that is read next.
    What stops `stopping` ends the component that runs, too.
    """

    def __init__(self, bundle: Bundle, runner: ComponentRunner) -> None:
        self.bundle = bundle
        self.timings = dict.fromkeys(COMPONENTS, 0.0)
        self._runner = runner
        self.stopping = Cancellation()

    def predict(self, tokens: NDArray[np.int64], ref_s: Floats) -> tuple[Floats, Floats]:
        """(duration (1, tokens) in frames at speed 1, features `d` (1, C, tokens)) of tokens (1, tokens).

        Raises TooLongError when the tokens exceed the largest bucket.
        """
        length = tokens.shape[1]
        limit = self.bundle.largest("tokens")
        if length > limit:
            raise TooLongError("tokens", length, limit)
        (d_en,) = self._run("bert", length, tokens)
        duration, d = self._run("duration", length, d_en, ref_s[np.newaxis, self.bundle.style_dim :])
        # Copies: others may run before they are used.
        return self._read("duration", duration), self._read("duration", d)

    def check_frames(self, durations: NDArray[np.int64], what: str = "The utterance") -> None:
        """Raise TooLongError when an utterance's frames exceed the largest bucket."""
        frames, limit = int(durations.sum()), self.bundle.largest("frames")
        if frames > limit:
            raise TooLongError("frames", frames, limit, what)

    def decode(
        self,
        tokens: NDArray[np.int64],
        ref_s: Floats,
        durations: NDArray[np.int64],
        features: Floats,
        noise: Floats | NDArray[np.uint32],
        pitch: Floats | None = None,
        window: slice = slice(None),
    ) -> Floats:
        """Audio float32 (samples,) of tokens that last `durations` (tokens,) frames.

        `noise` is (samples,), or `seed_words`, of which the decoder draws it; `pitch` a factor on f0 for
        every half frame (2 * frames,). Of the frames in `window` alone is the audio computed.
        """
        with _memory_for("decoder", int(durations.sum())):
            of_frame = token_of_frame(durations)
            frames = of_frame.size
            (t_en,) = self._run("text_encoder", tokens.shape[1], tokens)
            timbre, prosody = np.split(ref_s[np.newaxis], [self.bundle.style_dim], axis=1)
            f0, n = self._run("f0n", frames, repeat_tokens(features, of_frame), prosody)
            if pitch is not None:
                f0 = (self._read("f0n", f0) * pitch[np.newaxis]).astype(np.float32)
            of_window = of_frame[window]
            if of_window.size < frames:
                first, last, _ = window.indices(frames)
                frames = of_window.size
                f0, n = (self._read("f0n", curve)[:, 2 * first : 2 * last].copy() for curve in (f0, n))
            asr = repeat_tokens(self._read("text_encoder", t_en), of_window)
            seeded = noise.dtype == np.uint32
            entry, source = ("decoder_seeded", noise) if seeded else ("decoder", noise[np.newaxis])
            (audio,) = self._run(entry, frames, asr, f0, n, timbre, source)
            spoken = self._read("decoder", audio).reshape(-1)
            if not np.isfinite(spoken).all():
                raise BundleError("The decoder gave audio that is not finite. Build the bundle again.")
            return spoken

    def _run(self, entry: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        start = time.perf_counter()
        with self.stopping.working(), _memory_for(entry, length):
            outputs = self._runner.run(entry, length, *inputs)
        self.timings[entry.removesuffix("_seeded")] += time.perf_counter() - start
        return outputs

    def _read(self, component: str, output: Output) -> Floats:
        """Copy an output from the runtime's memory; the wait for a GPU counts as the component's time."""
        start = time.perf_counter()
        values = np.array(output, np.float32)
        self.timings[component] += time.perf_counter() - start
        return values
