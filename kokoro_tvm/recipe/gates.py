"""Gates: limits that an artifact must meet before it gets into a bundle."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from kokoro_tvm.common.spec import Name, Spec

_Decibels = Annotated[float, Field(ge=-400.0, le=400.0)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]
_Multiple = Annotated[float, Field(ge=0.0, le=1000.0)]
_Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]

_OFF = " null: not judged."
_SNR = "Least signal-to-noise ratio (SNR) against the reference, in dB."
_GAIN = "Least gain over PyTorch float32: its SNR against the float64 run is lower by as many dB."
_CORRELATION = "Least correlation of magnitude spectra with the float64 run."
_MEDIAN_GAIN = "Least median over the utterances of the gain over PyTorch float32, in dB (see `min_gain_db`)."


def _required(description: str) -> Any:
    """Return a limit that a recipe has to give."""
    return Field(description=description + _OFF)


def _optional(description: str) -> Any:
    """Return an optional limit. The schema shows no default: a null in a recipe has a meaning of its own."""
    return Field(default=None, description=description + _OFF, json_schema_extra=_drop_default)


def _drop_default(schema: dict[str, Any]) -> None:
    """Remove the default from a field's JSON Schema."""
    del schema["default"]


class _Ratios(Spec):
    min_snr_db: _Decibels | None = _optional(_SNR)
    min_frame_snr_median_db: _Decibels | None = _optional("Least median of the frames' SNR, in dB.")
    min_frame_snr_p5_db: _Decibels | None = _optional("Least 5th percentile of the frames' SNR, in dB.")


class SignalGate(_Ratios):
    """Gate of a component whose output feeds another; a frame is a token or frame of its axis."""

    min_snr_db: _Decibels | None = _required(_SNR)
    min_median_gain_db: _Decibels | None = _optional(_MEDIAN_GAIN)


class _AudioRatios(_Ratios):
    min_gain_db: _Decibels | None = _optional(_GAIN)
    min_first_frame_snr_db: _Decibels | None = _optional("Least SNR of the first frame, in dB.")
    min_last_frame_snr_db: _Decibels | None = _optional("Least SNR of the last frame, in dB.")
    min_exact_frame_snr_median_db: _Decibels | None = _optional(
        "`min_frame_snr_median_db` against the float64 run with exact phases."
    )
    min_exact_frame_snr_p5_db: _Decibels | None = _optional(
        "`min_frame_snr_p5_db` against the float64 run with exact phases."
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
        "Least speed of the decoder on one core: its FLOP/s, with convolutions counted as"
        " direct ones, divided by the FLOP/s of float32 multiply-adds in registers."
    )


class IntelligibilityGate(Spec):
    """Gate of what a speech recogniser understands; needs the extra `asr`."""

    max_word_error_increase: _Share | None = _optional(
        "Largest increase of the word error rate over stock PyTorch; 0.01 is 1 %."
    )


class PhonemesGate(Spec):
    """Gate of the text front end, for American and for British English."""

    max_known_word_errors: _Count | None = _optional(
        "Largest number of words in a lexicon that are read differently from misaki."
    )
    max_phoneme_error_rate: _Share | None = _optional(
        "Largest phoneme error rate relative to misaki; 0.01 is 1 %."
    )


class Gates(Spec):
    """A gate for every component, one for speech and one for the corpus.

    A target's recipe, and each of a model's sets of gates, says what is other than in the model's.
    """

    key_word: ClassVar[str] = "gate"

    extends: Name | tuple[Name, ...] | None = Field(
        default=None,
        exclude=True,
        description="Set of the model's `gate_sets`, or list of sets, that these gates override. "
        "`gates: NAME` is short for it.",
    )
    bert: SignalGate = Field(description="Gate of bert.")
    duration: SignalGate = Field(description="Gate of duration. Rounded durations must always be equal.")
    text_encoder: SignalGate = Field(description="Gate of text_encoder.")
    f0n: SignalGate = Field(description="Gate of f0n.")
    decoder: AudioGate = Field(description="Gate of decoder.")
    speech: AudioGate = Field(description="Gate of whole utterances, from tokens to audio.")
    corpus: CorpusGate = Field(
        default_factory=CorpusGate, description="Gate of whole utterances of the regression corpus."
    )
    throughput: ThroughputGate = Field(
        default_factory=ThroughputGate, description="Gate of the decoder's speed."
    )
    intelligibility: IntelligibilityGate = Field(
        default_factory=IntelligibilityGate,
        description="Gate of intelligibility, judged by a speech recognizer.",
    )
    phonemes: PhonemesGate = Field(
        default_factory=PhonemesGate, description="Gate of the text front end; needs `front_end`."
    )
    enforce: bool = Field(
        default=True,
        description="Whether a missed gate fails the build. It must be `false` with `length: padded`.",
    )
