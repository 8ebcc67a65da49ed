"""The five components as two questions: how long does every token last, and how does it sound."""

from __future__ import annotations

import time
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.constants import COMPONENTS
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.session.alignment import repeat_tokens, token_of_frame
from kokoro_tvm.runtime.session.device import Output
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.session.session import Runner
from kokoro_tvm.runtime.stopping import Stopping

__all__ = ["Floats", "Model"]

Floats: TypeAlias = NDArray[np.float32]


class Model:
    """Runs the components for one request, sums up the wall time each takes, and stops on request.

    A component on a GPU only begins to compute: the wait for it counts for the component that is read next.
    """

    def __init__(self, bundle: Bundle, runner: Runner) -> None:
        self.bundle = bundle
        self.timings = dict.fromkeys(COMPONENTS, 0.0)
        self._runner = runner
        self._stopping = Stopping()

    def stop(self) -> None:
        """End the work, the component that runs included; any thread may call it."""
        self._stopping.stop()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopping.stopped

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
            f0 = (self._read("f0n", f0) * pitch[np.newaxis]).astype(np.float32)
        asr = repeat_tokens(self._read("text_encoder", t_en), of_frame)
        seeded = noise.dtype == np.uint32
        entry, source = ("decoder_seeded", noise) if seeded else ("decoder", noise[np.newaxis])
        (audio,) = self._run(entry, frames, asr, f0, n, timbre, source)
        spoken = self._read("decoder", audio).reshape(-1)
        if not np.isfinite(spoken).all():
            raise BundleError("The decoder gave audio that is not finite. Build the bundle again.")
        return spoken

    def _run(self, entry: str, length: int, *inputs: Output) -> tuple[Output, ...]:
        start = time.perf_counter()
        with self._stopping.working():
            outputs = self._runner.run(entry, length, *inputs)
        self.timings[entry.removesuffix("_seeded")] += time.perf_counter() - start
        return outputs

    def _read(self, component: str, output: Output) -> Floats:
        """A copy of what a component gave, out of the runtime's memory. A GPU is waited for here, so this
        is the component's time as well."""
        start = time.perf_counter()
        found = np.array(output, np.float32)
        self.timings[component] += time.perf_counter() - start
        return found

    def _style(self, ref_s: Floats, *, prosody: bool) -> Floats:
        """Half of `ref_s` (1, style_dim): the second half for duration and f0n, the first for the decoder."""
        half = self.bundle.style_dim
        return ref_s[np.newaxis, half:] if prosody else ref_s[np.newaxis, :half]
