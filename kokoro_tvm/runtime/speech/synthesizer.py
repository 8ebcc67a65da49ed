"""Synthesis: text or phonemes to a plan, a plan to audio, through the five components."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kokoro_tvm.common.bundles import default_bundle
from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.bundle.files import OpenFiles
from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.tensors import map_safetensors
from kokoro_tvm.runtime.bundle.verification import verify_bundle
from kokoro_tvm.runtime.bundle.voice_files import read_voices
from kokoro_tvm.runtime.bundle.voices import VOICES_REMEMBERED, Voices, languages_of
from kokoro_tvm.runtime.notices import warn
from kokoro_tvm.runtime.session.model import Floats, Model, frame_durations
from kokoro_tvm.runtime.session.noise import Noise, check_seed, given_noise, seed_words
from kokoro_tvm.runtime.session.session import ComponentRunner, Session
from kokoro_tvm.runtime.speech.checks import SPEEDS, check_ref_s, check_speed, check_token_ids
from kokoro_tvm.runtime.speech.division import Breath, Division
from kokoro_tvm.runtime.speech.joins import Pauses
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.planning import Planned, Style, plan_pieces
from kokoro_tvm.runtime.speech.rendering import complete
from kokoro_tvm.runtime.speech.stream import Chunk, Speech, Stream
from kokoro_tvm.runtime.threads import choose_threads

if TYPE_CHECKING:
    from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
    from kokoro_tvm.runtime.text.markup import MarkupVocabulary

__all__ = ["Speech", "Synthesizer"]

_PAUSES = Pauses()
_DIVISION = Division()
_LONGEST = 2_000_000  # characters, which are 40 hours and 13 GB of audio
_WHOLE = Division(first=1 << 30, least=0, most=1 << 30)  # phonemes are divided only where they do not fit


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
        lexicon: str | Path | None = None,
        voices: str | Path | None = None,
    ) -> None:
        """Open the bundle at `path` (default: `default_bundle()`) and compare its files with its manifest.

        A bundle is code: opening it executes its libraries. `sha256` is the digest that its bundle.json must
        have (`kokoro-tvm inspect` prints it), which pins every file. Large weights that this user opened
        before and that have not changed since are not read again, unless `verify` is true. `lexicon` is a
        YAML file of words and their phonemes, which come before all others (docs/text.md). `voices` is a file
        of a voice (.pt, .npy, .bin, .safetensors), or a folder of such: voices beside the bundle's.

        Raises:
            BundleError: missing, damaged, of another schema or digest, or not for this processor.
            InputError: `threads` is no positive number, `sha256` no digest, or there is a mistake in the
                lexicon or in a voice.
        """
        count = choose_threads(threads)
        bundle = read_bundle(default_bundle() if path is None else path, sha256)
        words = None
        if lexicon is not None:
            from kokoro_tvm.runtime.text.frontend.user_lexicon import read_lexicon

            words = read_lexicon(lexicon, bundle.vocabulary)
        own = {} if voices is None else read_voices(Path(voices), 2 * bundle.style_dim)
        with OpenFiles(bundle.files()) as files:
            verify_bundle(bundle, files, workers=count, again=verify)
            session = Session(bundle, count, files)
            all_voices = Voices.open(bundle, files[bundle.voices])
            data = bundle.front_end
            tensors = None if data is None else map_safetensors(data.path, files[data])

        def front_end() -> FrontEnd:
            from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
            from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

            file = None if data is None or tensors is None else FrontEndFile(tensors, data.path)
            return FrontEnd(file, words, bundle.languages)

        self._assemble(bundle, session, all_voices.joined(own) if own else all_voices, front_end)
        self._opening = bundle.root.resolve(), threads, False, bundle.sha256, lexicon, voices

    @classmethod
    def from_parts(
        cls, bundle: Bundle, runner: ComponentRunner, voices: Voices, front_end: FrontEnd | None = None
    ) -> Synthesizer:
        """A synthesizer around a `runner` that is already there (another engine, or a stand-in for tests).

        front_end: the bundle's own unless one is given.
        """
        self = cls.__new__(cls)

        def opened() -> FrontEnd:
            from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

            return front_end or FrontEnd.open(bundle)

        self._assemble(bundle, runner, voices, opened)
        return self

    _opening: tuple[Any, ...] | None = None  # arguments that open it again

    def __reduce__(self) -> tuple[type[Synthesizer], tuple[Any, ...]]:
        """Open the same bundle in the other process, by its folder, digest and options."""
        if self._opening is None:
            raise InputError(
                "A synthesizer of `from_parts` cannot be pickled. Call `from_parts` in the process that "
                "speaks, or open the bundle by its folder: Synthesizer(path)."
            )
        return Synthesizer, self._opening

    def _assemble(
        self, bundle: Bundle, runner: ComponentRunner, voices: Voices, front_end: Callable[[], FrontEnd]
    ) -> None:
        if bundle.not_run:
            warn(f"Nothing vouches for what {bundle.root} says: its gates were not run ({bundle.not_run}).")
        self._open_front_end = front_end
        self.bundle = bundle
        self.voices = voices
        self.runner = runner

    @cached_property
    def front_end(self) -> FrontEnd:
        """Text to phonemes; imported with the first text, so that opening a bundle does not wait for it."""
        return self._open_front_end()

    def __call__(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
        division: Division = _DIVISION,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
    ) -> Speech:
        """Speak `text`: the chunks of `stream`, joined.

        Without a voice, `Voices.default` speaks. Markup in the text is followed (docs/text.md); markup: False
        makes all brackets and tags text; ssml: whether all of it is SSML, which None leaves to its beginning;
        language: the letter of one of the bundle's languages, by which all of it is read, where None leaves
        it to each voice, the first of a mix.

        Raises:
            InputError: the text, voice, speed or seed is invalid, or the text longer than two million
                characters; the message says why.
        """
        _check_length(text)
        return self._joined(
            self.stream(text, voice, speed, seed, pauses, division, ssml, 0, language, markup=markup)
        )

    def plan(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
        division: Division = _DIVISION,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
    ) -> Plan:
        """Everything about a speech that is known before the decoder runs: `render` speaks it.

        Raises InputError as `__call__` does.
        """
        _check_length(text)
        stream = self.stream(text, voice, speed, seed, pauses, division, ssml, None, language, markup=markup)
        return replace(stream.plan, pieces=tuple(chunk.piece for chunk in stream))

    def stream(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
        division: Division = _DIVISION,
        ssml: bool | None = None,
        skip: int | None = 0,
        language: str | None = None,
        unread: Collection[str] = (),
        markup: bool = True,
    ) -> Stream:
        """Speak piece by piece: the first chunk comes after the first clause.

        `text` may come in portions (a language model's output); sentences are spoken when they are complete,
        and the chunks are those of the same text in one string. Memory does not grow with the text. The first
        `skip` pieces are planned but not rendered (None: all of them), to go on where a speech was
        interrupted. Dropping or closing the stream stops the work after the component that runs. Written
        forms of the kinds `unread` are not read by their rules, as `FrontEnd.leaving` says.

        Raises:
            InputError: the voice, speed, seed or a kind of written forms is invalid; while chunks are
                computed, the text.
        """
        from kokoro_tvm.runtime.speech.sentences import (
            sentences_of_text,  # opening a bundle does not wait for it
        )

        voice = self.voices.default if voice is None else voice
        front_end = self.front_end.with_unread_forms(unread) if unread else self.front_end
        sentences = sentences_of_text(text, self._known(voice, language), front_end, ssml, markup)
        style = Style(self._tables(voice), 1.0, pauses, division)
        return self._stream(sentences, voice, speed, seed, style, skip)

    def from_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
    ) -> Speech:
        """Speak phonemes, or several strings of them as utterances of their own.

        One utterance at a speed of 1 or more is, bit for bit, what `run` gives. Symbols the model does not
        know are listed in a SpeechWarning and left out. What exceeds the largest bucket is divided at
        sentence ends, else clause ends, else spaces; nothing is cut.

        Raises:
            InputError: nothing is left to speak, or the voice, speed or seed is invalid.
        """
        return self._joined(self.stream_phonemes(phonemes, voice, speed, seed, pauses))

    def plan_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
    ) -> Plan:
        """The plan of what `from_phonemes` speaks. Raises InputError as it does."""
        stream = self.stream_phonemes(phonemes, voice, speed, seed, pauses, skip=None)
        return replace(stream.plan, pieces=tuple(chunk.piece for chunk in stream))

    def stream_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int = 0,
        pauses: Pauses = _PAUSES,
        skip: int | None = 0,
    ) -> Stream:
        """The chunks of what `from_phonemes` speaks, as `stream` gives them."""
        from kokoro_tvm.runtime.speech.sentences import sentences_of_phonemes

        voice = self.voices.default if voice is None else voice
        texts = [phonemes] if isinstance(phonemes, str) else list(phonemes)
        sentences = sentences_of_phonemes(texts, self.bundle.vocabulary)
        style = Style(self._tables(voice), 1.0, pauses, _WHOLE)
        return self._stream(sentences, voice, speed, seed, style, skip)

    def complete(self, plan: Plan) -> Plan:
        """The plan with durations for words whose phonemes were changed; all others stay as they are.

        Raises InputError for another voice or phoneme than there is.
        """
        model, table = self._model_for(plan), self._tables(plan.voice)
        pieces = (complete(model, table(piece.voice), piece, plan.speed) for piece in plan.pieces)
        return replace(plan, pieces=tuple(pieces))

    def render(self, plan: Plan, pieces: Iterable[int] | None = None) -> Speech:
        """Speak a plan, or some of its pieces by number: each sounds as it does in the whole.

        Raises:
            InputError: the plan is not for this bundle's rates, voices or phonemes; TooLongError, one too,
                when a piece exceeds the largest bucket.
        """
        return self._joined(self.render_stream(plan, pieces))

    def render_stream(self, plan: Plan, pieces: Iterable[int] | None = None, skip: int | None = 0) -> Stream:
        """The chunks of what `render` speaks, without the audio of the first `skip`."""
        numbers = list(range(len(plan.pieces)) if pieces is None else pieces)
        for number in numbers:
            plan.check_place(number)
        plan = replace(plan, pieces=tuple(plan.pieces[number] for number in numbers))
        if not plan.pieces:
            raise InputError("There is nothing to speak: the plan has no pieces.")
        plan = self.complete(plan)
        model, table = self._model_for(plan), self._tables(plan.voice)
        for number, piece in zip(numbers, plan.pieces, strict=True):  # before any of them is rendered
            table(piece.voice)
            model.check_frames(np.array(piece.durations, np.int64), f"Piece {number} of the plan")
        self._announce()
        planned = (Planned(piece, None) for piece in plan.pieces)
        return Stream(model, table, replace(plan, pieces=()), planned, skip)

    def phonemize(
        self,
        text: str,
        voice: str | None = None,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
    ) -> list[str]:
        """Phonemes of each paragraph of `text`, divided at pauses and other voices too; raises InputError."""
        from kokoro_tvm.runtime.text.reading import phonemize_markup

        voice = self.voices.default if voice is None else voice
        utterances = phonemize_markup(text, self._known(voice, language), self.front_end, ssml, markup)
        return [utterance.phonemes for utterance in utterances if utterance.tokens]

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
            noise: standard normal float32 (samples,), or a callable from `samples` to it;
                the decoder draws it from `seed` if None.
            seed: 0 to 2**64 - 1, when `noise` is None.

        Raises:
            InputError: an argument is invalid; TooLongError when the utterance exceeds the largest
                bucket, because tokens cannot be divided here.
        """
        speed = check_speed(speed)
        check_seed(seed)
        tokens = check_token_ids(token_ids, self.bundle)
        style = check_ref_s(ref_s, self.bundle)
        self._announce(speed)
        model = Model(self.bundle, self.runner)
        duration, features = model.predict(tokens, style)
        durations = frame_durations(duration, speed)
        model.check_frames(durations)
        samples = int(durations.sum()) * self.bundle.samples_per_frame
        source = seed_words(seed, 0) if noise is None else given_noise(noise, samples)
        audio = model.decode(tokens, style, durations, features, source)
        return Speech(audio, self.bundle.sample_rate, durations, model.timings)

    def _stream(
        self, sentences: Iterator[Breath], voice: str, speed: float, seed: int, style: Style, skip: int | None
    ) -> Stream:
        style = replace(style, speed=check_speed(speed))
        bundle = self.bundle
        rates = bundle.sample_rate, bundle.samples_per_frame
        # Phonemes of one utterance are spoken as `run` speaks them, to the last bit.
        mute = style.division is not _WHOLE
        plan = Plan((), voice, style.speed, check_seed(seed), *rates, mute=mute)
        self._announce(style.speed)
        model = Model(bundle, self.runner)
        return Stream(model, style.table, plan, plan_pieces(model, sentences, style), skip)

    def _joined(self, stream: Stream) -> Speech:
        chunks: list[Chunk] = list(stream)
        pieces = tuple(chunk.piece for chunk in chunks)
        durations = np.array([frames for piece in pieces for frames in piece.durations], np.int64)
        audio = np.concatenate([chunk.audio for chunk in chunks])
        plan = replace(stream.plan, pieces=pieces)
        return Speech(audio, self.bundle.sample_rate, durations, stream.timings, plan)

    def _model_for(self, plan: Plan) -> Model:
        rates = self.bundle.sample_rate, self.bundle.samples_per_frame
        if (plan.sample_rate, plan.samples_per_frame) != rates:
            raise InputError(
                f"The plan is for {plan.sample_rate} Hz and {plan.samples_per_frame} samples per frame, the "
                f"bundle for {rates[0]} and {rates[1]}. Plan the text with this bundle."
            )
        return Model(self.bundle, self.runner)

    def _tables(self, voice: str) -> Callable[[str | None], Floats]:
        """The style table of a voice, or of `voice` itself for None; raises InputError for an unknown one."""

        @lru_cache(VOICES_REMEMBERED)
        def table(other: str | None) -> Floats:
            return self.voices.table(voice if other is None else other)

        table(None)
        return table

    def _known(self, voice: str, language: str | None = None) -> MarkupVocabulary:
        """What markup may name in a request for `voice`, which is read in `language` or in each voice's."""
        from kokoro_tvm.runtime.text.markup import MarkupVocabulary

        return MarkupVocabulary(
            self.bundle.vocabulary, languages_of(self.voices, voice, language, self.bundle.languages)
        )

    def _announce(self, speed: float = 1.0) -> None:
        low, high = SPEEDS
        if not low <= speed <= high:
            can = f"{low:g} to {high:g}"
            warn(f"Speed {speed:g} is beyond what the model can say, {can}: sounds are lost or drawn out.")
        if self.bundle.synthetic:
            warn(f"{self.bundle.root.name} was built from synthetic (random) weights: this is not speech.")


def _check_length(text: str | Iterable[str]) -> None:
    if isinstance(text, str) and len(text) > _LONGEST:
        raise InputError(
            f"The text has {len(text)} characters, about {len(text) / 50_000:.0f} hours of speech, too much "
            "for memory at once. Use stream(), whose memory does not grow with the text."
        )
