"""The synthesizer: text or phonemes to a plan, a plan to audio."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from kokoro_tvm.runtime.session.noise import Noise, draw_seed, given_noise, seed_words
from kokoro_tvm.runtime.session.session import ComponentRunner, Session
from kokoro_tvm.runtime.speech.checks import SPEEDS, check_ref_s, check_speed, check_token_ids
from kokoro_tvm.runtime.speech.division import DIVISION, Breath, Division
from kokoro_tvm.runtime.speech.joins import PAUSES, Pauses
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.planning import PlannedPiece, Style, plan_pieces
from kokoro_tvm.runtime.speech.rendering import complete
from kokoro_tvm.runtime.speech.stream import Chunk, Speech, Stream
from kokoro_tvm.runtime.threads import choose_threads

if TYPE_CHECKING:
    from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
    from kokoro_tvm.runtime.text.markup import MarkupVocabulary

__all__ = ["Speech", "Synthesizer"]

_MAX_CHARACTERS = 2_000_000  # 40 hours, 13 GB of audio
_WHOLE = Division(
    first=1 << 30, least=0, most=1 << 30, first_s=math.inf
)  # divides phonemes only if they exceed a bucket


class Synthesizer:
    """Synthesizes speech with a bundle. Python threads may share one.

    Attributes:
        bundle: its manifest.
        voices: of the bundle, and the user's.
        runner: runs the compiled components.
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
        """Open a bundle and compare its files with its manifest. This executes the code in it.

        Args:
            path: folder of the bundle; None: `default_bundle()`.
            threads: that compute together; None: TVM_NUM_THREADS, else the usable cores (CPU affinity and
                control groups).
            verify: read large weights again, even if they have not changed since this user's last check.
            sha256: digest that bundle.json must have, in hexadecimal; it pins every file. `kokoro-tvm
                inspect` prints it.
            lexicon: YAML file of words and their phonemes, which override all others (docs/text.md).
            voices: file of a voice (.pt, .npy, .bin, .safetensors), or a folder of them, to add.

        Raises:
            BundleError: the bundle is missing, damaged, of another schema or digest, or for another CPU.
            InputError: `threads` is no positive number, `sha256` no digest, or the lexicon or a voice is
                invalid.
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
        """Create a synthesizer around another engine.

        Args:
            bundle: its manifest.
            runner: runs the components.
            voices: style tables.
            front_end: text to phonemes; None: the bundle's.
        """
        self = cls.__new__(cls)

        def open_front_end() -> FrontEnd:
            from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd

            return front_end or FrontEnd.open(bundle)

        self._assemble(bundle, runner, voices, open_front_end)
        return self

    _opening: tuple[Any, ...] | None = None  # arguments of __init__, for pickling

    def __reduce__(self) -> tuple[type[Synthesizer], tuple[Any, ...]]:
        """Pickle as folder, digest and options; the other process opens the bundle again."""
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
        """The front end, text to phonemes; imported with the first text."""
        return self._open_front_end()

    def __call__(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
        division: Division = DIVISION,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
        omit: Collection[str] = (),
        lexicon: Mapping[str, str] | None = None,
    ) -> Speech:
        """Synthesize a text.

        Args:
            text: plain or with markup (docs/text.md), in one string or in portions.
            voice: name, or a mix such as "af_heart(2)+am_adam"; OpenAI's names work, too. None:
                `Voices.default`.
            speed: factor; above 1 is faster.
            seed: of the noise, 0 to 2**64 - 1. The same seed gives the same audio. None: a random one, which
                the plan of the result has.
            pauses: seconds of silence between pieces.
            division: lengths of pieces in phonemes.
            ssml: whether the text is SSML; None: it is if it begins with `<speak>`.
            language: letter or tag of a language of the bundle, such as "b" or "en-GB"; None: that of each
                voice.
            markup: False: brackets and tags are text.
            omit: kinds of text that are left out: citations, code, math, notes.
            lexicon: words and their phonemes, or respellings such as "kuh-TAR", for this text alone.

        Raises:
            InputError: an argument or markup is invalid, or the text exceeds two million characters.
        """
        _check_length(text)
        return self._joined(
            self.stream(
                text, voice, speed, seed, pauses, division, ssml, 0, language, (), markup, omit, lexicon
            )
        )

    def plan(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
        division: Division = DIVISION,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
        omit: Collection[str] = (),
        lexicon: Mapping[str, str] | None = None,
    ) -> Plan:
        """Plan a speech: everything that is known before the decoder runs. `render` synthesizes it.

        Arguments and errors are those of `__call__`.
        """
        _check_length(text)
        stream = self.stream(
            text, voice, speed, seed, pauses, division, ssml, None, language, (), markup, omit, lexicon
        )
        return replace(stream.plan, pieces=tuple(chunk.piece for chunk in stream))

    def stream(
        self,
        text: str | Iterable[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
        division: Division = DIVISION,
        ssml: bool | None = None,
        skip: int | None = 0,
        language: str | None = None,
        unread: Collection[str] = (),
        markup: bool = True,
        omit: Collection[str] = (),
        lexicon: Mapping[str, str] | None = None,
    ) -> Stream:
        """Synthesize piece by piece; the first chunk comes after the first clause or 2.5 s of speech.

        Memory does not grow with the text. The chunks of a text in portions (from a language model, say) are
        those of the same text in one string. Closing or dropping the stream cancels the work.

        Args:
            text: plain or with markup (docs/text.md), in one string or in portions.
            voice: name or mix; None: `Voices.default`.
            speed: factor; above 1 is faster.
            seed: of the noise; None: a random one, which `Stream.plan` has.
            pauses: seconds of silence between pieces.
            division: lengths of pieces in phonemes.
            ssml: whether the text is SSML; None: it is if it begins with `<speak>`.
            skip: number of pieces that are planned but not rendered, to resume a speech; None: all.
            language: letter or tag; None: that of each voice.
            unread: kinds of written forms whose rules are not applied, see `FrontEnd.leaving`.
            markup: False: brackets and tags are text.
            omit: kinds of text that are left out: citations, code, math, notes.
            lexicon: words and their phonemes, or respellings such as "kuh-TAR", for this text alone.

        Raises:
            InputError: an argument is invalid; while chunks are computed, the text is.
        """
        from kokoro_tvm.runtime.speech.sentences import sentences_of_text  # slow to import

        if isinstance(text, Sequence) and not isinstance(text, str):
            raise InputError(
                "The text is a list, whose items would be spoken as one text without spaces. Speak each item "
                "in a loop, or many at once with `kokoro-tvm batch`."
            )
        voice = self.voices.resolve(voice)
        front_end = self.front_end.with_unread_forms(unread) if unread else self.front_end
        if lexicon:
            from kokoro_tvm.runtime.text.frontend.user_lexicon import parse_lexicon

            front_end = front_end.with_lexicon(parse_lexicon(lexicon, self.bundle.vocabulary))
        sentences = sentences_of_text(text, self._known(voice, language), front_end, ssml, markup, omit)
        style = Style(self._tables(voice), 1.0, pauses, division)
        return self._stream(sentences, voice, speed, seed, style, skip)

    async def astream(self, text: str | Iterable[str], **options: Any) -> AsyncIterator[Chunk]:
        """Synthesize piece by piece without blocking the event loop. Ending the iteration cancels the work.

        Args:
            text: plain or with markup, in one string or in portions.
            options: those of `stream`.

        Raises:
            InputError: an argument or the text is invalid.
        """
        import asyncio  # slow to import

        stream = await asyncio.to_thread(self.stream, text, **options)
        try:
            while (chunk := await asyncio.to_thread(next, stream, None)) is not None:
                yield chunk
        finally:
            stream.close()

    def from_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
    ) -> Speech:
        """Synthesize phonemes.

        One utterance at a speed of 1 or more equals the result of `run`, bit for bit. Unknown symbols are
        left out with a SpeechWarning. An utterance that exceeds the largest bucket is divided at sentence
        ends, else clause ends, else spaces.

        Args:
            phonemes: one utterance, or several, in misaki's alphabet.
            voice: name or mix; None: `Voices.default`.
            speed: factor; above 1 is faster.
            seed: of the noise; None: a random one, which the plan of the result has.
            pauses: seconds of silence between utterances.

        Raises:
            InputError: an argument is invalid, or no symbol is known.
        """
        return self._joined(self.stream_phonemes(phonemes, voice, speed, seed, pauses))

    def plan_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
    ) -> Plan:
        """Plan the speech of `from_phonemes`, whose arguments and errors it has."""
        stream = self.stream_phonemes(phonemes, voice, speed, seed, pauses, skip=None)
        return replace(stream.plan, pieces=tuple(chunk.piece for chunk in stream))

    def stream_phonemes(
        self,
        phonemes: str | Sequence[str],
        voice: str | None = None,
        speed: float = 1.0,
        seed: int | None = 0,
        pauses: Pauses = PAUSES,
        skip: int | None = 0,
    ) -> Stream:
        """Synthesize phonemes piece by piece; see `from_phonemes` and `stream`."""
        from kokoro_tvm.runtime.speech.sentences import sentences_of_phonemes

        voice = self.voices.resolve(voice)
        texts = [phonemes] if isinstance(phonemes, str) else list(phonemes)
        sentences = sentences_of_phonemes(texts, self.bundle.vocabulary)
        style = Style(self._tables(voice), 1.0, pauses, _WHOLE)
        return self._stream(sentences, voice, speed, seed, style, skip)

    def complete(self, plan: Plan) -> Plan:
        """Predict the missing durations of a plan, of words whose phonemes were changed.

        Raises:
            InputError: the voice or a phoneme is unknown, or the plan is for other rates.
        """
        model, table = self._model_for(plan), self._tables(plan.voice)
        pieces = (complete(model, table(piece.voice), piece, plan.speed) for piece in plan.pieces)
        return replace(plan, pieces=tuple(pieces))

    def render(self, plan: Plan, pieces: Iterable[int] | None = None) -> Speech:
        """Synthesize a plan.

        Args:
            plan: of `plan`, edited or not.
            pieces: numbers of pieces; each sounds as in the whole. None: all.

        Raises:
            InputError: the plan has rates, voices or phonemes that the bundle does not have.
            TooLongError: a piece exceeds the largest bucket. It is an InputError.
        """
        return self._joined(self.render_stream(plan, pieces))

    def render_stream(self, plan: Plan, pieces: Iterable[int] | None = None, skip: int | None = 0) -> Stream:
        """Synthesize a plan piece by piece; the first `skip` chunks (None: all) have no audio."""
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
            model.check_frames(np.array(piece.utterance.durations, np.int64), f"Piece {number} of the plan")
        self._announce()
        planned = (PlannedPiece(piece, None) for piece in plan.pieces)
        return Stream(model, table, replace(plan, pieces=()), planned, skip)

    def phonemize(
        self,
        text: str,
        voice: str | None = None,
        ssml: bool | None = None,
        language: str | None = None,
        markup: bool = True,
        omit: Collection[str] = (),
    ) -> list[str]:
        """Return the phonemes of each paragraph, also divided at pauses and changes of voice.

        Arguments and errors are those of `__call__`.
        """
        from kokoro_tvm.runtime.text.reading import phonemize_markup

        voice = self.voices.resolve(voice)
        known = self._known(voice, language)
        utterances = phonemize_markup(text, known, self.front_end, ssml, markup, omit)
        return [utterance.phonemes for utterance in utterances if utterance.tokens]

    def run(
        self,
        token_ids: ArrayLike | Sequence[int],
        ref_s: ArrayLike,
        speed: float = 1.0,
        noise: Noise | None = None,
        seed: int | None = 0,
    ) -> Speech:
        """Synthesize one utterance from token ids, like the stock model's `forward_with_tokens`.

        Args:
            token_ids: integers (tokens,) or (1, tokens), with a 0 at both ends.
            ref_s: style, float32 (256,) or (1, 256).
            speed: factor; above 1 is faster.
            noise: standard normal float32 (samples,), or a function from the number of samples to it; None:
                drawn from `seed`.
            seed: 0 to 2**64 - 1; None: a random one.

        Raises:
            InputError: an argument is invalid.
            TooLongError: the utterance exceeds the largest bucket. It is an InputError.
        """
        speed = check_speed(speed)
        seed = draw_seed(seed)
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
        self,
        sentences: Iterator[Breath],
        voice: str,
        speed: float,
        seed: int | None,
        style: Style,
        skip: int | None,
    ) -> Stream:
        style = replace(style, speed=check_speed(speed))
        bundle = self.bundle
        rates = bundle.sample_rate, bundle.samples_per_frame
        # One utterance of phonemes equals the result of `run`, bit for bit.
        mute = style.division is not _WHOLE
        plan = Plan((), voice, style.speed, draw_seed(seed), *rates, mute=mute)
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
        """Return a function from a voice, or None for `voice`, to its style table; raises InputError."""

        @lru_cache(VOICES_REMEMBERED)
        def table(other: str | None) -> Floats:
            return self.voices.table(voice if other is None else other)

        table(None)
        return table

    def _known(self, voice: str, language: str | None = None) -> MarkupVocabulary:
        """Return the names that markup may use in a request."""
        from kokoro_tvm.runtime.text.markup import MarkupVocabulary

        return MarkupVocabulary(
            self.bundle.vocabulary, languages_of(self.voices, voice, language, self.bundle.languages)
        )

    def _announce(self, speed: float = 1.0) -> None:
        low, high = SPEEDS
        if not low <= speed <= high:
            limits = f"{low:g} to {high:g}"
            warn(f"Speed {speed:g} is beyond what the model can say, {limits}: sounds are lost or drawn out.")
        if self.bundle.synthetic:
            warn(f"{self.bundle.root.name} was built from synthetic (random) weights: this is not speech.")


def _check_length(text: str | Iterable[str]) -> None:
    if isinstance(text, str) and len(text) > _MAX_CHARACTERS:
        raise InputError(
            f"The text has {len(text)} characters, about {len(text) / 50_000:.0f} hours of speech, too much "
            "for memory at once. Use stream(), whose memory does not grow with the text."
        )
