"""Gates: limits that an artifact must meet before it gets into a bundle."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from kokoro_tvm.common.spec import Name, Spec

__all__ = [
    "AudioGate",
    "CorpusGate",
    "Gates",
    "IntelligibilityGate",
    "PhonemesGate",
    "SignalGate",
    "ThroughputGate",
]

_Decibels = Annotated[float, Field(ge=-400.0, le=400.0)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]
_Multiple = Annotated[float, Field(ge=0.0, le=1000.0)]
_Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]

_OFF = " null: not judged."
_SNR = "Least signal-to-noise ratio against the reference, dB."
_GAIN = "How many dB nearer to the float64 run of the stock model than PyTorch float32 is, at least."
_CORRELATION = "Least correlation of magnitude spectra with the float64 run of the stock model."
_MEDIAN_GAIN = (
    "How many dB nearer to that run than PyTorch float32 is, at the median of the utterances, at least."
)


def _required(description: str) -> Any:
    """Return a limit that a recipe has to give."""
    return Field(description=description + _OFF)


def _optional(description: str) -> Any:
    """Return an optional limit. The schema shows no default: a null in a recipe has a meaning of its own."""
    return Field(
        default=None,
        description=description + _OFF,
        json_schema_extra=_drop_default,
    )


def _drop_default(schema: dict[str, Any]) -> None:
    """Remove the default from a field's JSON Schema."""
    del schema["default"]


class _Ratios(Spec):
    min_snr_db: _Decibels | None = _optional(_SNR)
    min_frame_snr_median_db: _Decibels | None = _optional(
        "Least median of the frames' signal-to-noise ratios, dB."
    )
    min_frame_snr_p5_db: _Decibels | None = _optional(
        "Least 5th percentile of the frames' signal-to-noise ratios, dB."
    )


class SignalGate(_Ratios):
    """Gate of a component whose output feeds another; a frame is a token or frame of its axis."""

    min_snr_db: _Decibels | None = _required(_SNR)
    min_median_gain_db: _Decibels | None = _optional(_MEDIAN_GAIN)


class _AudioRatios(_Ratios):
    min_gain_db: _Decibels | None = _optional(_GAIN)
    min_first_frame_snr_db: _Decibels | None = _optional(
        "Least signal-to-noise ratio of the first frame, dB."
    )
    min_last_frame_snr_db: _Decibels | None = _optional("Least signal-to-noise ratio of the last frame, dB.")
    min_exact_frame_snr_median_db: _Decibels | None = _optional(
        "The same median against the float64 run with exact phases."
    )
    min_exact_frame_snr_p5_db: _Decibels | None = _optional(
        "The same 5th percentile against the float64 run with exact phases."
    )
    min_magnitude_correlation: _Correlation | None = _optional(_CORRELATION)


class AudioGate(_AudioRatios):
    """Gate of audio; a frame is 600 samples."""

    min_snr_db: _Decibels | None = _required(_SNR)
    min_gain_db: _Decibels | None = _required(_GAIN)
    min_magnitude_correlation: _Correlation | None = _required(_CORRELATION)


class CorpusGate(_AudioRatios):
    """Gate of `kokoro-tvm validate e2e` on a corpus; builds do not judge it."""

    min_median_gain_db: _Decibels | None = _optional(_MEDIAN_GAIN)


class ThroughputGate(Spec):
    """Gate of the decoder's speed; not run for emulated code or a GPU."""

    min_peak_share: _Multiple | None = _optional(
        "Least FLOP/s of the decoder on one core, a convolution counted as done directly, in multiples of "
        "what float32 multiply-adds from registers reach there."
    )


class IntelligibilityGate(Spec):
    """Gate of what a speech recogniser understands; needs the extra `asr`."""

    max_word_error_increase: _Share | None = _optional(
        "How much larger the word error rate may be than stock PyTorch's, at most; 0.01 is 1 %."
    )


class PhonemesGate(Spec):
    """Gate of the text front end, for American and for British English."""

    max_known_word_errors: _Count | None = _optional(
        "How many words that a lexicon has may be read otherwise than by misaki, at most."
    )
    max_phoneme_error_rate: _Share | None = _optional(
        "Largest phoneme error rate against misaki; 0.01 is 1 %."
    )


class Gates(Spec):
    """A gate for every component, one for speech and one for the corpus.

    A target's recipe, and each of a model's sets of gates, says what is other than in the model's.
    """

    key_word: ClassVar[str] = "gate"

    extends: Name | tuple[Name, ...] | None = Field(
        default=None,
        exclude=True,
        description="A set of gates, of the model's `gate_sets`, or several, that these are written over. "
        "`gates: NAME` is short for it.",
    )
    bert: SignalGate = Field(description="Gate of bert.")
    duration: SignalGate = Field(description="Gate of duration; durations must be equal in any case.")
    text_encoder: SignalGate = Field(description="Gate of text_encoder.")
    f0n: SignalGate = Field(description="Gate of f0n.")
    decoder: AudioGate = Field(description="Gate of decoder.")
    speech: AudioGate = Field(description="Gate of the whole way from tokens to audio.")
    corpus: CorpusGate = Field(
        default_factory=CorpusGate, description="Gate of the whole way on the regression corpus."
    )
    throughput: ThroughputGate = Field(
        default_factory=ThroughputGate, description="Gate of how fast the decoder computes."
    )
    intelligibility: IntelligibilityGate = Field(
        default_factory=IntelligibilityGate, description="Gate of what a speech recogniser understands."
    )
    phonemes: PhonemesGate = Field(
        default_factory=PhonemesGate, description="Gate of the text front end; needs `front_end`."
    )
    enforce: bool = Field(
        default=True, description="A missed gate fails the build; false with length: padded."
    )
