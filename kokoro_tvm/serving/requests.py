"""The requests that clients send, field by field: OpenAI's, and those that Kokoro-FastAPI adds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from kokoro_tvm.runtime.bundle.voices import MOST_VOICES
from kokoro_tvm.serving.encoding import FORMATS
from kokoro_tvm.serving.fields import (
    FieldKind,
    choice,
    field_of,
    flag,
    items,
    nested,
    number,
    read,
    shown,
    text,
    whole,
    wrong,
)
from kokoro_tvm.serving.settings import Settings

__all__ = [
    "VOICE",
    "CaptionedRequest",
    "CombineRequest",
    "DialogueRequest",
    "DialogueTurn",
    "NormalizationOptions",
    "PhonemesRequest",
    "PhonemizeRequest",
    "SessionRequest",
    "SpeechRequest",
    "SsmlRequest",
]

VOICE = text(1024, 1)
_VOICE_OR_NONE = text(1024)
_LANGUAGE = text(16, 1)


@dataclass(frozen=True)
class VoiceObject:
    """A voice as an object."""

    id: str = field_of(VOICE, "The voice, as it stands in a string.")


def _text(least: int = 0) -> Callable[[Settings], FieldKind]:
    return lambda settings: text(settings.most_characters, least)


def _voice(settings: Settings) -> FieldKind:
    def reads(node: Any, path: str) -> str:
        if isinstance(node, dict):
            return read(VoiceObject, node, settings, path)[0].id
        if not isinstance(node, str):
            raise wrong(path, f"`{path}` should be a string or an object with `id`, but is {shown(node)}.")
        return str(VOICE.read(node, path))

    with_id = {"type": "object", "required": ["id"], "properties": {"id": VOICE.schema}}
    return FieldKind({"oneOf": [VOICE.schema, with_id]}, reads)


def _turns(settings: Settings) -> FieldKind:
    return items(nested(DialogueTurn)(settings), 1, 10_000)


def _voices() -> FieldKind:
    several = items(VOICE, 1, MOST_VOICES)

    def reads(node: Any, path: str) -> str:
        if isinstance(node, str):
            return str(VOICE.read(node, path))
        return "+".join(several.read(node, path))

    return FieldKind({"oneOf": [VOICE.schema, several.schema]}, reads)


@dataclass(frozen=True)
class NormalizationOptions:
    """Which written forms are read by rules. One whose switch is off goes to the lexicon as it stands."""

    normalize: bool = field_of(
        flag(),
        "Read written forms as words. Without it, all that follows is off, and dates, times, money.",
        True,
    )
    unit_normalization: bool = field_of(flag(), "Read units of measure as words: `10 km/h`.", True)
    url_normalization: bool = field_of(flag(), "Read addresses of the web as words.", True)
    email_normalization: bool = field_of(flag(), "Read addresses of mail as words.", True)
    phone_normalization: bool = field_of(flag(), "Read telephone numbers figure by figure.", True)
    optional_pluralization_normalization: bool = field_of(
        flag(), "Accepted; `(s)` is never read as a plural.", False
    )
    replace_remaining_symbols: bool = field_of(
        flag(), "Read signs as words: `=`, `#`, `@`, arrows, powers.", True
    )

    @property
    def unread(self) -> tuple[str, ...]:
        """Kinds of written forms that are left as they stand, as `Synthesizer.stream` takes them."""
        switches = {
            "all": self.normalize,
            "units": self.unit_normalization,
            "web": self.url_normalization,
            "mail": self.email_normalization,
            "phones": self.phone_normalization,
            "signs": self.replace_remaining_symbols,
        }
        return tuple(form for form, on in switches.items() if not on)


@dataclass(frozen=True)
class SpeechRequest:
    """`POST /v1/audio/speech`."""

    input: str = field_of(
        _text(1),
        "The text to speak, with or without markup: `[pause:1.5s]`, `[voice:af_sky]`, `[rate:1.2]`, "
        "`[word](/phonemes/)`, or SSML.",
    )
    model: str = field_of(text(256), "The name of a bundle. Any other name stands for the first.", "kokoro")
    voice: str | None = field_of(
        _voice,
        "A voice, a mix such as `af_heart(2)+am_adam`, or an object with `id`; without it `af_heart`, or the "
        "first of a bundle that does not have it.",
        None,
    )
    response_format: str = field_of(choice(*FORMATS), "How the audio is encoded.", "mp3")
    speed: float = field_of(number(0.25, 4.0), "Speed of speech; above 1 is faster.", 1.0)
    stream_format: str = field_of(
        choice("audio", "sse"), "`audio`, or server-sent events with the audio in base64.", "audio"
    )
    instructions: str = field_of(_text(), "Accepted and not followed: the model has none.", "")
    stream: bool = field_of(
        flag(), "Whether audio is sent as it is computed; else when all of it is there.", True
    )
    lang_code: str | None = field_of(
        _LANGUAGE,
        "The language to read in, where it is not that of the voice: the letter of one that the bundle "
        "speaks, or its tag, such as `en-GB`.",
        None,
    )
    volume_multiplier: float = field_of(number(0.0, 10.0), "Factor on the audio, clipped at full scale.", 1.0)
    seed: int = field_of(whole(0, 2**64 - 1), "Seed of the noise. The same gives the same audio.", 0)
    allow_voice_tags: bool | None = field_of(
        flag(),
        "`true` gives the words of captions the `voice` they have; tags are followed in any case.",
        None,
    )
    return_download_link: bool = field_of(
        flag(),
        "Keep the audio for a while; the header `X-Download-Path` says where, below `/v1`.",
        False,
    )
    download_format: str | None = field_of(
        choice(*FORMATS), "How the audio that is kept is encoded, where it is otherwise.", None
    )
    ssml: bool | None = field_of(flag(), "Whether the text is SSML; else it is where it begins so.", None)
    markup: bool = field_of(flag(), "Whether markup is followed; else brackets and tags are text.", True)
    normalization_options: NormalizationOptions | None = field_of(
        nested(NormalizationOptions), "Which written forms are read by rules, as below.", None
    )

    @property
    def ignored(self) -> list[str]:
        """Names of fields that ask for what cannot be done."""
        names = ["instructions"] if self.instructions else []
        options = self.normalization_options
        if options is not None and options.optional_pluralization_normalization:
            names.append("normalization_options.optional_pluralization_normalization")
        if self.allow_voice_tags is False:
            names.append("allow_voice_tags")
        return names


@dataclass(frozen=True)
class CaptionedRequest(SpeechRequest):
    """`POST /dev/captioned_speech`."""

    return_timestamps: bool = field_of(flag(), "Whether words come with their times.", True)


@dataclass(frozen=True)
class DialogueTurn:
    """What one speaker says."""

    ALIASES: ClassVar[Mapping[str, str]] = {"voice_id": "voice"}

    voice: str = field_of(_voice, "As in `/v1/audio/speech`; also as `voice_id`.")
    text: str = field_of(_text(1), "What is said, with or without markup in brackets.")


@dataclass(frozen=True)
class DialogueRequest:
    """`POST /dev/dialogue`."""

    ALIASES: ClassVar[Mapping[str, str]] = {"inputs": "turns"}

    turns: Sequence[DialogueTurn] = field_of(
        _turns, "Who says what, in order: objects with `voice` and `text`; also as `inputs`."
    )
    pause_between_turns: float = field_of(number(0.0, 10.0), "Seconds of silence between two turns.", 0.0)
    model: str = field_of(text(256), "As in `/v1/audio/speech`.", "kokoro")
    response_format: str = field_of(choice(*FORMATS), "How the audio is encoded.", "mp3")
    speed: float = field_of(number(0.25, 4.0), "Speed of speech; above 1 is faster.", 1.0)
    stream: bool = field_of(flag(), "As in `/v1/audio/speech`.", True)
    lang_code: str | None = field_of(
        _LANGUAGE, "As in `/v1/audio/speech`, where it is not that of each voice.", None
    )
    volume_multiplier: float = field_of(number(0.0, 10.0), "Factor on the audio, clipped at full scale.", 1.0)
    seed: int = field_of(whole(0, 2**64 - 1), "Seed of the noise.", 0)
    return_download_link: bool = field_of(flag(), "As in `/v1/audio/speech`.", False)
    download_format: str | None = field_of(choice(*FORMATS), "As in `/v1/audio/speech`.", None)
    normalization_options: NormalizationOptions | None = field_of(
        nested(NormalizationOptions), "As in `/v1/audio/speech`.", None
    )

    def speech(self, script: str) -> SpeechRequest:
        """The request for the speech of the turns as one text, whose voice is that of the first."""
        shared = {field.name for field in dataclasses.fields(SpeechRequest)}
        own = {field.name for field in dataclasses.fields(self)} & shared
        return SpeechRequest(
            input=script, voice=self.turns[0].voice, ssml=False, **{name: getattr(self, name) for name in own}
        )


@dataclass(frozen=True)
class SsmlRequest:
    """`POST /dev/ssml`."""

    text: str = field_of(_text(), "The SSML, which begins with `<speak`. Any other text comes back as it is.")
    voice: str | None = field_of(
        _VOICE_OR_NONE,
        "The voice that the text will be spoken in, which follows a stretch in another. Without it, voices "
        "and rates are left out.",
        None,
    )


@dataclass(frozen=True)
class SessionRequest:
    """`session.update` of `/v1/audio/speech/stream`: how the speeches that follow are spoken."""

    model: str = field_of(text(256), "As in `/v1/audio/speech`.", "kokoro")
    voice: str | None = field_of(_voice, "As in `/v1/audio/speech`.", None)
    response_format: str = field_of(choice(*FORMATS), "How the audio is encoded.", "pcm")
    speed: float = field_of(number(0.25, 4.0), "Speed of speech; above 1 is faster.", 1.0)
    lang_code: str | None = field_of(_LANGUAGE, "As in `/v1/audio/speech`.", None)
    volume_multiplier: float = field_of(number(0.0, 10.0), "Factor on the audio, clipped at full scale.", 1.0)
    seed: int = field_of(whole(0, 2**64 - 1), "Seed of the noise.", 0)
    markup: bool = field_of(flag(), "As in `/v1/audio/speech`.", True)
    words: bool = field_of(flag(), "Whether words come with their times.", True)

    @property
    def speech(self) -> SpeechRequest:
        """The request for a speech, but for its text."""
        fields = asdict(self)
        del fields["words"]
        return SpeechRequest(input="", **fields)


@dataclass(frozen=True)
class PhonemizeRequest:
    """`POST /dev/phonemize`."""

    text: str = field_of(lambda settings: text(settings.most_phonemized, 1), "The text.")
    language: str | None = field_of(
        _LANGUAGE, "As `lang_code` in `/v1/audio/speech`; without it the bundle's first, `a` of Kokoro.", None
    )


@dataclass(frozen=True)
class PhonemesRequest:
    """`POST /dev/generate_from_phonemes`."""

    phonemes: str = field_of(_text(1), "Phonemes in misaki's alphabet, an utterance a line.")
    model: str = field_of(text(256), "As in `/v1/audio/speech`.", "kokoro")
    voice: str | None = field_of(_voice, "As in `/v1/audio/speech`.", None)
    response_format: str = field_of(choice(*FORMATS), "How the audio is encoded.", "wav")
    speed: float = field_of(number(0.25, 4.0), "Speed of speech; above 1 is faster.", 1.0)
    seed: int = field_of(whole(0, 2**64 - 1), "Seed of the noise.", 0)


@dataclass(frozen=True)
class CombineRequest:
    """`POST /v1/audio/voices/combine`, whose body may be the voices alone, as Kokoro-FastAPI has it."""

    ALONE: ClassVar[str] = "voices"

    voices: str = field_of(_voices(), "A mix, or a list of voices.")
