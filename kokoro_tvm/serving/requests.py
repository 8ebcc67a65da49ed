"""Requests that clients send: OpenAI's, and those that Kokoro-FastAPI adds."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, PydanticKnownError, core_schema

from kokoro_tvm.runtime.bundle.voices import MOST_VOICES
from kokoro_tvm.serving.encoding import AudioFormat, SampleRate
from kokoro_tvm.serving.settings import Omission, Settings

LIMITS: ContextVar[Settings] = ContextVar("limits")
"""Settings of the server that handles the current request."""


@dataclass(frozen=True)
class MaxLength:
    """Annotation of a string that has at most as many characters as a setting allows."""

    setting: str

    @property
    def _limit(self) -> int:
        """Largest number of characters, from the setting."""
        limit: int = getattr(LIMITS.get(), self.setting)
        return limit

    def _check(self, text: str) -> str:
        """Return a text. Raises PydanticKnownError if it is too long."""
        if len(text) > self._limit:
            raise PydanticKnownError("string_too_long", {"max_length": self._limit})
        return text

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        return handler(schema) | {"maxLength": self._limit}


def _allow_null(schema: dict[str, Any]) -> None:
    """State in a JSON schema that `null` stands for the default of a field."""
    for name, field in schema["properties"].items():
        if name not in schema.get("required", ()) and {"type": "null"} not in field.get("anyOf", ()):
            about = {key: field.pop(key) for key in ("default", "description", "title") if key in field}
            schema["properties"][name] = {"anyOf": [field, {"type": "null"}]} | about


class RequestModel(BaseModel):
    """Base of all requests.

    Types are strict, `null` stands for the default, and unknown fields are ignored and named in a header.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="allow",
        json_schema_extra=_allow_null,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, node: Any) -> Any:
        """Leave out fields that are null. Raises PydanticCustomError unless the body is an object."""
        if not isinstance(node, dict):
            raise PydanticCustomError("model_type", "Input should be a JSON object")
        # A lone surrogate in the name of an unknown field is no reason to refuse a request.
        return {
            name.encode(errors="replace").decode(): value for name, value in node.items() if value is not None
        }

    @property
    def headers(self) -> dict[str, str]:
        """Response header with the names of the unknown fields."""
        names = [name if name.isidentifier() and name.isascii() else "?" for name in self.model_extra or ()]
        return {"X-Unknown-Fields": ", ".join(names[:16])[:512]} if names else {}


VoiceName = Annotated[str, Field(min_length=1, max_length=1024)]
# A lower bound of 0 makes pydantic refuse lone surrogates.
Text = Annotated[str, Field(min_length=0), MaxLength("max_characters")]


class VoiceObject(RequestModel):
    """A voice as an object."""

    id: VoiceName


def _read_voice(node: Any) -> Any:
    """Return the name of a voice, which may be an object. Raises PydanticCustomError."""
    if isinstance(node, dict):
        return VoiceObject.model_validate(node).id
    if not isinstance(node, str):
        raise PydanticCustomError("string_type", "Input should be a string or an object with `id`")
    return node


def _read_voices(node: Any) -> Any:
    """Join a list of voices to a mix."""
    return "+".join(_VOICES.validate_python(node, strict=True)) if isinstance(node, list) else node


_VOICES = TypeAdapter(Annotated[list[VoiceName], Field(min_length=1, max_length=MOST_VOICES)])
_NAME_SCHEMA = {"type": "string", "minLength": 1, "maxLength": 1024}
_OBJECT_SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": _NAME_SCHEMA}}
_LIST_SCHEMA = {"type": "array", "items": _NAME_SCHEMA, "minItems": 1, "maxItems": MOST_VOICES}

_NonEmptyText = Annotated[str, Field(min_length=1), MaxLength("max_characters")]
_ModelName = Annotated[str, Field(max_length=256)]
_Voice = Annotated[
    VoiceName, BeforeValidator(_read_voice), WithJsonSchema({"oneOf": [_NAME_SCHEMA, _OBJECT_SCHEMA]})
]
_Voices = Annotated[
    VoiceName, BeforeValidator(_read_voices), WithJsonSchema({"oneOf": [_NAME_SCHEMA, _LIST_SCHEMA]})
]
_Language = Annotated[str, Field(min_length=1, max_length=16)]
_LanguageField = Annotated[_Language | None, Field(validation_alias=AliasChoices("language", "lang_code"))]
_Word = Annotated[str, Field(min_length=1, max_length=200)]
_Lexicon = Annotated[dict[_Word, _Word], Field(max_length=256)]
_Speed = Annotated[float, Field(ge=0.25, le=4.0)]
_Gain = Annotated[float, Field(ge=0.0, le=10.0)]
_Seed = Annotated[int, Field(ge=0, le=2**64 - 1)]


class NormalizationOptions(RequestModel):
    """Which written forms are read by rules. The lexicon reads the others as they stand."""

    normalize: bool = True
    """Read written forms as words. `false` switches off all that follows, and dates, times, money."""
    unit_normalization: bool = True
    """Read units of measure as words: `10 km/h`."""
    url_normalization: bool = True
    """Read addresses of the web as words."""
    email_normalization: bool = True
    """Read addresses of mail as words."""
    phone_normalization: bool = True
    """Read telephone numbers figure by figure."""
    optional_pluralization_normalization: bool = False
    """Accepted; `(s)` is never read as a plural."""
    replace_remaining_symbols: bool = True
    """Read signs as words: `=`, `#`, `@`, arrows, powers."""

    @property
    def unread(self) -> tuple[str, ...]:
        """Kinds of written forms that `Synthesizer.stream` leaves as they stand."""
        switches = {
            "all": self.normalize,
            "units": self.unit_normalization,
            "web": self.url_normalization,
            "mail": self.email_normalization,
            "phones": self.phone_normalization,
            "signs": self.replace_remaining_symbols,
        }
        return tuple(form for form, is_on in switches.items() if not is_on)


class SpeechRequest(RequestModel):
    """Body of `POST /v1/audio/speech`."""

    input: _NonEmptyText
    """The text to speak, with or without markup: `[pause:1.5s]`, `[voice:af_sky]`, `[rate:1.2]`,
    `[word](/phonemes/)`, or SSML."""
    model: _ModelName = "kokoro"
    """The name of a bundle. Any other name stands for the first."""
    voice: _Voice | None = None
    """A voice, a mix such as `af_heart(2)+am_adam`, or an object with `id`. By default `af_heart`, or the
    first voice of a bundle that does not have it."""
    response_format: AudioFormat = "mp3"
    """How the audio is encoded."""
    speed: _Speed = 1.0
    """Speed of speech; above 1 is faster."""
    stream_format: Literal["audio", "sse"] = "audio"
    """`audio`, or server-sent events with the audio in base64."""
    instructions: Text = ""
    """Accepted and not followed: the model has none."""
    stream: bool = True
    """Send audio as it is computed. If false, send it when all of it is computed."""
    language: _LanguageField = None
    """The language to read in: the letter of one that the bundle speaks, or its tag, such as `en-GB`; also as
    `lang_code`. By default that of the voice."""
    volume_multiplier: _Gain = 1.0
    """Factor on the audio, clipped at full scale."""
    sample_rate: SampleRate | None = None
    """Sample rate of the audio, in Hz. By default 24000, for `ulaw` and `alaw` 8000."""
    seed: _Seed = 0
    """Seed of the noise. The same seed gives the same audio."""
    allow_voice_tags: bool | None = None
    """`true` adds the `voice` to each word of captions. Tags are followed in any case."""
    return_download_link: bool = False
    """Keep the audio for a while. The header `X-Download-Path` has its path, below `/v1`."""
    download_format: AudioFormat | None = None
    """How the kept audio is encoded. By default as the response."""
    ssml: bool | None = None
    """Whether the text is SSML. By default it is if it begins as SSML."""
    markup: bool = True
    """Follow markup. If false, brackets and tags are text."""
    omit: list[Omission] = []
    """Kinds of text to leave out. Without `math`, formulas of LaTeX are read in words."""
    lexicon: _Lexicon | None = None
    """Words and their phonemes, or respellings such as `kuh-TAR`, which override all others."""
    normalization_options: NormalizationOptions | None = None
    """Which written forms are read by rules, as below."""

    @property
    def ignored(self) -> list[str]:
        """Names of fields that ask for what the server cannot do."""
        names = ["instructions"] if self.instructions else []
        options = self.normalization_options
        if options is not None and options.optional_pluralization_normalization:
            names.append("normalization_options.optional_pluralization_normalization")
        if self.allow_voice_tags is False:
            names.append("allow_voice_tags")
        return names


class CaptionedRequest(SpeechRequest):
    """Body of `POST /dev/captioned_speech`."""

    return_timestamps: bool = True
    """Send words with their times."""


class DialogueTurn(RequestModel):
    """What one speaker says."""

    voice: _Voice = Field(validation_alias=AliasChoices("voice", "voice_id"))
    """As in `/v1/audio/speech`; also as `voice_id`."""
    text: _NonEmptyText
    """What is said, with or without markup in brackets."""


class DialogueRequest(RequestModel):
    """Body of `POST /dev/dialogue`."""

    turns: list[DialogueTurn] = Field(
        validation_alias=AliasChoices("turns", "inputs"), min_length=1, max_length=10_000
    )
    """Who says what, in order: objects with `voice` and `text`; also as `inputs`."""
    pause_between_turns: Annotated[float, Field(ge=0.0, le=10.0)] = 0.0
    """Seconds of silence between two turns."""
    model: _ModelName = "kokoro"
    """As in `/v1/audio/speech`."""
    response_format: AudioFormat = "mp3"
    """As in `/v1/audio/speech`."""
    speed: _Speed = 1.0
    """As in `/v1/audio/speech`."""
    stream: bool = True
    """As in `/v1/audio/speech`."""
    language: _LanguageField = None
    """As in `/v1/audio/speech`. By default that of each voice."""
    volume_multiplier: _Gain = 1.0
    """As in `/v1/audio/speech`."""
    sample_rate: SampleRate | None = None
    """As in `/v1/audio/speech`."""
    seed: _Seed = 0
    """As in `/v1/audio/speech`."""
    omit: list[Omission] = []
    """As in `/v1/audio/speech`."""
    return_download_link: bool = False
    """As in `/v1/audio/speech`."""
    download_format: AudioFormat | None = None
    """As in `/v1/audio/speech`."""
    normalization_options: NormalizationOptions | None = None
    """As in `/v1/audio/speech`."""

    def to_speech(self, script: str) -> SpeechRequest:
        """Create the request for all turns as one text, in the voice of the first."""
        names = type(self).model_fields.keys() & SpeechRequest.model_fields.keys()
        shared = {name: getattr(self, name) for name in names}
        return SpeechRequest.model_construct(input=script, voice=self.turns[0].voice, ssml=False, **shared)


class SsmlRequest(RequestModel):
    """Body of `POST /dev/ssml`."""

    text: Text
    """The SSML, which begins with `<speak`. Any other text comes back as it is."""
    voice: Annotated[str, Field(max_length=1024)] | None = None
    """The voice that the text will be spoken in, which follows a stretch in another. Without it, voices and
    rates are left out."""


class SessionRequest(RequestModel):
    """The `session` of `session.update`: how the following speeches of a WebSocket are spoken."""

    model_config = ConfigDict(extra="forbid")

    model: _ModelName = "kokoro"
    """As in `/v1/audio/speech`."""
    voice: _Voice | None = None
    """As in `/v1/audio/speech`."""
    response_format: AudioFormat = "pcm"
    """How the audio is encoded."""
    speed: _Speed = 1.0
    """As in `/v1/audio/speech`."""
    language: _LanguageField = None
    """As in `/v1/audio/speech`."""
    volume_multiplier: _Gain = 1.0
    """As in `/v1/audio/speech`."""
    sample_rate: SampleRate | None = None
    """As in `/v1/audio/speech`."""
    seed: _Seed = 0
    """As in `/v1/audio/speech`."""
    markup: bool = True
    """As in `/v1/audio/speech`."""
    omit: list[Omission] = []
    """As in `/v1/audio/speech`."""
    words: bool = True
    """Send words with their times."""

    def to_speech(self) -> SpeechRequest:
        """Create the request for a speech whose text comes later."""
        return SpeechRequest.model_construct(input="", **self.model_dump(exclude={"words"}))


class PhonemizeRequest(RequestModel):
    """Body of `POST /dev/phonemize`."""

    text: Annotated[str, Field(min_length=1), MaxLength("max_phonemize_characters")]
    """The text."""
    language: _Language | None = None
    """As in `/v1/audio/speech`. By default the bundle's first, `a` of Kokoro."""


class PhonemesRequest(RequestModel):
    """Body of `POST /dev/generate_from_phonemes`."""

    phonemes: _NonEmptyText
    """Phonemes in misaki's alphabet, an utterance a line."""
    model: _ModelName = "kokoro"
    """As in `/v1/audio/speech`."""
    voice: _Voice | None = None
    """As in `/v1/audio/speech`."""
    response_format: AudioFormat = "wav"
    """How the audio is encoded."""
    speed: _Speed = 1.0
    """As in `/v1/audio/speech`."""
    sample_rate: SampleRate | None = None
    """As in `/v1/audio/speech`."""
    seed: _Seed = 0
    """As in `/v1/audio/speech`."""


def _allow_bare_voices(schema: dict[str, Any]) -> None:
    """State in the JSON schema that the voices may stand in place of the object."""
    voices = dict(schema["properties"]["voices"])
    whole = {key: schema.pop(key) for key in list(schema)}
    schema["anyOf"] = [whole, voices]


class CombineRequest(RequestModel):
    """Body of `POST /v1/audio/voices/combine`; Kokoro-FastAPI's clients send the voices alone."""

    model_config = ConfigDict(json_schema_extra=_allow_bare_voices)

    voices: _Voices
    """A mix, or a list of voices."""

    @model_validator(mode="before")
    @classmethod
    def _wrap_bare_voices(cls, node: Any) -> Any:
        """Accept the voices in place of the object."""
        return {"voices": node} if isinstance(node, str | list) else node
