"""Synthesis: text or phonemes through the five components to audio."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kokoro_tvm.bundles import default_bundle
from kokoro_tvm.constants import COMPONENTS
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime import phonemes as symbols
from kokoro_tvm.runtime.alignment import frame_durations, repeat_tokens, token_of_frame
from kokoro_tvm.runtime.audio import join
from kokoro_tvm.runtime.bundle import Bundle, read_bundle
from kokoro_tvm.runtime.files import OpenFiles
from kokoro_tvm.runtime.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.inputs import check_ref_s, check_speed, check_token_ids
from kokoro_tvm.runtime.noise import Noise, check_seed, draw_noise, given_noise
from kokoro_tvm.runtime.notices import warn
from kokoro_tvm.runtime.routing import TooLongError
from kokoro_tvm.runtime.session import Runner, Session
from kokoro_tvm.runtime.text import phonemize
from kokoro_tvm.runtime.threads import choose_threads
from kokoro_tvm.runtime.verification import verify_bundle
from kokoro_tvm.runtime.voices import LANGUAGES, Voices, describe, style_of

__all__ = ["Speech", "Synthesizer"]

Floats: TypeAlias = NDArray[np.float32]
Outputs: TypeAlias = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Speech:
    """The result of a synthesis.

    `audio` is float32 (samples,) at `sample_rate` Hz and may exceed 1 in magnitude; `durations` is int64
    (tokens,) in frames of 600 samples, for every token including the marks at both ends (of a text in several
    pieces, piece after piece); `timings` is the wall time in seconds per component, summed over pieces.
    """

    audio: Floats
    sample_rate: int
    durations: NDArray[np.int64]
    timings: dict[str, float]


@dataclass(frozen=True)
class _Piece:
    """An utterance whose durations are known and fit, waiting for its audio."""

    tokens: NDArray[np.int64]
    ref_s: Floats
    durations: NDArray[np.int64]
    features: Floats  # `d` of the duration component (1, 640, tokens)


class _Clock:
    """Runs components and sums up the wall time each takes."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.timings = dict.fromkeys(COMPONENTS, 0.0)

    def run(self, component: str, length: int, *inputs: NDArray[Any]) -> Outputs:
        start = time.perf_counter()
        outputs = self._runner.run(component, length, *inputs)
        self.timings[component] += time.perf_counter() - start
        return outputs


class Synthesizer:
    """Synthesizes speech with a bundle.

    The number of threads is the argument's, else that of TVM_NUM_THREADS, else that of the usable cores (CPU
    affinity and control group). Python threads may share a synthesizer.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        threads: int | None = None,
        verify: bool = False,
        sha256: str | None = None,
    ) -> None:
        """Open the bundle at `path` (default: `default_bundle()`) and compare its files with its manifest.

        A bundle is code: opening it executes its libraries. `sha256` is the digest that its bundle.json must
        have (`kokoro-tvm inspect` prints it), which pins every file. Large weights that this user opened
        before and that have not changed since are not read again, unless `verify` is true.

        Raises:
            BundleError: missing, damaged, of another schema or digest, or not for this processor.
            InputError: `threads` is no positive number, or `sha256` no digest.
        """
        count = choose_threads(threads)
        bundle = read_bundle(default_bundle() if path is None else path, sha256)
        with OpenFiles(bundle.files()) as files:
            verify_bundle(bundle, files, workers=count, again=verify)
            session = Session(bundle, count, files)
            voices = Voices.open(bundle, files[bundle.voices])
            front_end = FrontEnd.open(bundle, files[bundle.front_end] if bundle.front_end else None)
        self._assemble(bundle, session, voices, front_end)

    @classmethod
    def from_parts(
        cls, bundle: Bundle, runner: Runner, voices: Voices, front_end: FrontEnd | None = None
    ) -> Synthesizer:
        """A synthesizer around a `runner` that is already there (another engine, or a stand-in for tests).

        front_end: the bundle's own unless one is given.
        """
        self = cls.__new__(cls)
        self._assemble(bundle, runner, voices, front_end or FrontEnd.open(bundle))
        return self

    def _assemble(self, bundle: Bundle, runner: Runner, voices: Voices, front_end: FrontEnd) -> None:
        self.front_end = front_end
        self.bundle = bundle
        self.voices = voices
        self.runner = runner

    def __call__(self, text: str, voice: str = "af_heart", speed: float = 1.0, seed: int = 0) -> Speech:
        """Speak `text` in the language of `voice` (the first of a mix).

        Blank lines part paragraphs, which are spoken as utterances of their own, as are the
        parts of a paragraph that exceeds the largest bucket.

        Raises:
            InputError: the text, voice, speed or seed is invalid; the message says why.
        """
        check_speed(speed)
        check_seed(seed)
        return self._speak(self.phonemize(text, voice), voice, speed, seed)

    def from_phonemes(
        self, phonemes: str | Sequence[str], voice: str = "af_heart", speed: float = 1.0, seed: int = 0
    ) -> Speech:
        """Speak phonemes, or several strings of them as utterances of their own.

        Symbols the model does not know are listed in a SpeechWarning and left out. What exceeds the largest
        bucket is divided at sentence ends, else clause ends, else spaces; nothing is cut.

        Raises:
            InputError: nothing is left to speak, or the voice, speed or seed is invalid.
        """
        return self._speak([phonemes] if isinstance(phonemes, str) else list(phonemes), voice, speed, seed)

    def phonemize(self, text: str, voice: str = "af_heart") -> list[str]:
        """Phonemes of each paragraph of `text`, as `__call__` speaks them; raises InputError."""
        infos = [describe(name) for name in self.voices.split(voice)]
        code = infos[0].code
        if code not in LANGUAGES:
            code = "a"
            warn(f"The name of the voice {infos[0].name} names no language; American English is used.")
        elif any(info.code != code for info in infos):
            warn(f"The voices of the mix '{voice}' speak different languages; {LANGUAGES[code]} is used.")
        return phonemize(text, code, self.front_end)

    def run(
        self,
        token_ids: ArrayLike | Sequence[int],
        ref_s: ArrayLike,
        speed: float = 1.0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> Speech:
        """One utterance from token ids to audio, as the stock model's `forward_with_tokens` does it.

        Args:
            token_ids: (tokens,) or (1, tokens) integers with the 0 at both ends.
            ref_s: style float32 (256,) or (1, 256).
            speed: above 1 is faster.
            noise: standard normal float32 (samples, 9), or a callable from `samples` to it;
                drawn from `seed` if None.
            seed: of numpy's PCG64, when `noise` is None.

        Raises:
            InputError: an argument is invalid; TooLongError when the utterance exceeds the largest
                bucket, because tokens cannot be divided here.
        """
        check_speed(speed)
        check_seed(seed)
        tokens = check_token_ids(token_ids, self.bundle)
        self._announce()
        clock = _Clock(self.runner)
        piece = self._plan(clock, tokens, check_ref_s(ref_s, self.bundle), speed)
        return self._finish(clock, [piece], [self._render(clock, piece, 0, seed, noise)])

    def _speak(self, texts: Sequence[str], voice: str, speed: float, seed: int) -> Speech:
        check_speed(speed)
        check_seed(seed)
        table = self.voices.table(voice)
        cleaned = [symbols.clean(text) for text in texts]
        symbols.warn_of_unknown(" ".join(cleaned), self.bundle.vocabulary)
        self._announce()
        clock = _Clock(self.runner)
        # All pieces are planned before the first is rendered: durations decide whether one has to be divided.
        speakable = (text for text in cleaned if symbols.has_sound(text, self.bundle.vocabulary))
        pieces = [piece for text in speakable for piece in self._pieces(clock, text, table, speed)]
        spoken = [self._render(clock, piece, index, seed) for index, piece in enumerate(pieces)]
        return self._finish(clock, pieces, spoken)

    def _pieces(self, clock: _Clock, text: str, table: Floats, speed: float) -> list[_Piece]:
        """Divide `text` until tokens and then predicted frames of every part fit the largest buckets."""
        pieces: list[_Piece] = []

        def fits(part: str) -> bool:
            ids = np.array([symbols.encode(part, self.bundle.vocabulary)], np.int64)
            try:
                pieces.append(self._plan(clock, ids, style_of(table, part), speed))
            except TooLongError:
                return False
            return True

        limits = f"{self.bundle.largest('tokens')} tokens, {self.bundle.largest('frames')} frames"
        why = f"exceeds the largest bucket of this bundle ({limits}) at speed {speed:g}"
        symbols.split_to_fit(text, fits, why)
        return pieces

    def _plan(self, clock: _Clock, tokens: NDArray[np.int64], ref_s: Floats, speed: float) -> _Piece:
        """Durations of an utterance; raises TooLongError when tokens or frames exceed the largest bucket."""
        length = tokens.shape[1]
        limit = self.bundle.largest("tokens")
        if length > limit:
            raise TooLongError("tokens", length, limit)
        (d_en,) = clock.run("bert", length, tokens)
        duration, d = clock.run("duration", length, d_en, self._style(ref_s, prosody=True))
        durations = frame_durations(duration, speed)
        frames, limit = int(durations.sum()), self.bundle.largest("frames")
        if frames > limit:
            raise TooLongError("frames", frames, limit)
        return _Piece(tokens, ref_s, durations, np.array(d))  # a copy: others may run before this is rendered

    def _render(
        self, clock: _Clock, piece: _Piece, index: int, seed: int, noise: Noise | None = None
    ) -> Floats:
        """Audio float32 (samples,) of a planned piece, the `index`-th of its text."""
        of_frame = token_of_frame(piece.durations)
        frames = of_frame.size
        samples, channels = frames * self.bundle.samples_per_frame, self.bundle.noise_channels
        if noise is None:
            drawn = draw_noise(seed, index, samples, channels)
        else:
            drawn = given_noise(noise, samples, channels)
        (t_en,) = clock.run("text_encoder", piece.tokens.shape[1], piece.tokens)
        prosody, timbre = (self._style(piece.ref_s, prosody=choice) for choice in (True, False))
        f0, n = clock.run("f0n", frames, repeat_tokens(piece.features, of_frame), prosody)
        asr = repeat_tokens(t_en, of_frame)
        (audio,) = clock.run("decoder", frames, asr, f0, n, timbre, drawn[np.newaxis])
        spoken = np.array(audio, np.float32).reshape(-1)  # a copy: `audio` lies in the runtime's memory
        if not np.isfinite(spoken).all():
            raise BundleError("The decoder gave audio that is not finite. Build the bundle again.")
        return spoken

    def _style(self, ref_s: Floats, *, prosody: bool) -> Floats:
        """Half of `ref_s` (1, style_dim): the second half for duration and f0n, the first for the decoder."""
        half = self.bundle.style_dim
        return ref_s[np.newaxis, half:] if prosody else ref_s[np.newaxis, :half]

    def _announce(self) -> None:
        if self.bundle.synthetic:
            warn(f"{self.bundle.root} was built from synthetic (random) weights: this is not speech.")

    def _finish(self, clock: _Clock, pieces: Sequence[_Piece], spoken: Sequence[Floats]) -> Speech:
        durations = np.concatenate([piece.durations for piece in pieces])
        rate = self.bundle.sample_rate
        return Speech(join(spoken, rate), rate, durations, clock.timings)
