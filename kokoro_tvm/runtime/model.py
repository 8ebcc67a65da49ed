"""The five components as two questions: how long does every token last, and how does it sound."""

from __future__ import annotations

import threading
import time
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.constants import COMPONENTS
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.alignment import repeat_tokens, token_of_frame
from kokoro_tvm.runtime.bundle import Bundle
from kokoro_tvm.runtime.routing import TooLongError
from kokoro_tvm.runtime.session import Runner

__all__ = ["Floats", "Model", "Stopped"]

Floats: TypeAlias = NDArray[np.float32]


class Stopped(Exception):  # noqa: N818 - not an error: it was requested
    """The work was stopped by its owner; nothing is computed any more."""


class Model:
    """Runs the components for one request, sums up the wall time each takes, and stops on request."""

    def __init__(self, bundle: Bundle, runner: Runner) -> None:
        self.bundle = bundle
        self.timings = dict.fromkeys(COMPONENTS, 0.0)
        self._runner = runner
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Let the component that runs be the last one; any thread may call it."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def predict(self, tokens: NDArray[np.int64], ref_s: Floats) -> tuple[Floats, Floats]:
        """(duration (1, tokens) in frames at speed 1, features `d` (1, C, tokens)) of tokens (1, tokens).

        Raises TooLongError when the tokens exceed the largest bucket.
        """
        length = tokens.shape[1]
        limit = self.bundle.largest("tokens")
        if length > limit:
            raise TooLongError("tokens", length, limit)
        (d_en,) = self._run("bert", length, tokens)
        duration, d = self._run("duration", length, d_en, self._style(ref_s, prosody=True))
        return duration, np.array(d)  # a copy: others may run before it is used

    def check_frames(self, durations: NDArray[np.int64]) -> None:
        """Raise TooLongError when an utterance's frames exceed the largest bucket."""
        frames, limit = int(durations.sum()), self.bundle.largest("frames")
        if frames > limit:
            raise TooLongError("frames", frames, limit)

    def decode(
        self,
        tokens: NDArray[np.int64],
        ref_s: Floats,
        durations: NDArray[np.int64],
        features: Floats,
        noise: Floats | NDArray[np.uint32],
        pitch: Floats | None = None,
    ) -> Floats:
        """Audio float32 (samples,) of tokens that last `durations` (tokens,) frames.

        `noise` is (samples,), or `seed_words`, of which the decoder draws it; `pitch` a factor on f0 for
        every half frame (2 * frames,).
        """
        of_frame = token_of_frame(durations)
        frames = of_frame.size
        (t_en,) = self._run("text_encoder", tokens.shape[1], tokens)
        prosody, timbre = (self._style(ref_s, prosody=choice) for choice in (True, False))
        f0, n = self._run("f0n", frames, repeat_tokens(features, of_frame), prosody)
        if pitch is not None:
            f0 = (f0 * pitch[np.newaxis]).astype(np.float32)
        asr = repeat_tokens(t_en, of_frame)
        seeded = noise.dtype == np.uint32
        entry, source = ("decoder_seeded", noise) if seeded else ("decoder", noise[np.newaxis])
        (audio,) = self._run(entry, frames, asr, f0, n, timbre, source)
        spoken = np.array(audio, np.float32).reshape(-1)  # a copy: `audio` lies in the runtime's memory
        if not np.isfinite(spoken).all():
            raise BundleError("The decoder gave audio that is not finite. Build the bundle again.")
        return spoken

    def _run(self, entry: str, length: int, *inputs: NDArray[Any]) -> tuple[NDArray[Any], ...]:
        if self.stopped:
            raise Stopped
        start = time.perf_counter()
        outputs = self._runner.run(entry, length, *inputs)
        self.timings[entry.removesuffix("_seeded")] += time.perf_counter() - start
        return outputs

    def _style(self, ref_s: Floats, *, prosody: bool) -> Floats:
        """Half of `ref_s` (1, style_dim): the second half for duration and f0n, the first for the decoder."""
        half = self.bundle.style_dim
        return ref_s[np.newaxis, half:] if prosody else ref_s[np.newaxis, :half]
