"""Gates: the numbers an artifact must meet before it counts, and the partial ones a target recipe may set."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from kokoro_tvm.spec import Name, Spec

__all__ = [
    "AudioGate",
    "CorpusGate",
    "Gates",
    "GatesOverride",
    "IntelligibilityGate",
    "PhonemesGate",
    "SignalGate",
    "ThroughputGate",
    "or_by_name",
]

_Decibels = Annotated[float, Field(ge=-400.0, le=400.0)]
_Share = Annotated[float, Field(ge=0.0, le=1.0)]
_Count = Annotated[int, Field(ge=0, le=1_000_000)]
_Multiple = Annotated[float, Field(ge=0.0, le=1000.0)]
_Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]

_OFF = " null: not judged."
_SNR = "Least signal-to-noise ratio against the reference, dB." + _OFF
_FRAME_MEDIAN = "Least median of the frames' signal-to-noise ratios, dB." + _OFF
_FRAME_P5 = "Least 5th percentile of the frames' signal-to-noise ratios, dB." + _OFF
_FIRST_FRAME = "Least signal-to-noise ratio of the first frame, dB." + _OFF
_LAST_FRAME = "Least signal-to-noise ratio of the last frame, dB." + _OFF
_EXACT_MEDIAN = "The same median against the float64 run with exact phases." + _OFF
_EXACT_P5 = "The same 5th percentile against the float64 run with exact phases." + _OFF
_GAIN = "How many dB nearer to the float64 run of the stock model than PyTorch float32 is, at least." + _OFF
_MEDIAN_GAIN = (
    "How many dB nearer to that run than PyTorch float32 is, at the median of the utterances, at least."
    + _OFF
)
_CORRELATION = "Least correlation of magnitude spectra with the float64 run of the stock model." + _OFF
_INCREASE = "How much larger the word error rate may be than stock PyTorch's, at most; 0.01 is 1 %." + _OFF
_KNOWN_WORDS = "How many words that a lexicon has may be read otherwise than by misaki, at most." + _OFF
_PEAK = (
    "Least FLOP/s of the decoder on one core, a convolution counted as done directly, in multiples of what "
    "float32 multiply-adds from registers reach there." + _OFF
)
_PHONEMES = "Largest phoneme error rate against misaki; 0.01 is 1 %." + _OFF


def _not_given(description: str) -> Any:
    """A number that may be left out; the schema shows no default, for null has a meaning of its own."""
    return Field(default=None, description=description, json_schema_extra=_without_default)


def or_by_name(schema: dict[str, Any]) -> None:
    """Adds to the schema of a recipe's gates that a set of them may be named instead."""
    gates = schema.pop("anyOf", None) or [{"$ref": schema.pop("$ref")}]
    over = {"$ref": "#/$defs/GatesOverride", "required": ["extends"]}
    name = {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"}
    schema["anyOf"] = [*gates, over, name]


def _without_default(schema: dict[str, Any]) -> None:
    del schema["default"]


class _Ratios(Spec):
    min_snr_db: _Decibels | None = _not_given(_SNR)
    min_frame_snr_median_db: _Decibels | None = _not_given(_FRAME_MEDIAN)
    min_frame_snr_p5_db: _Decibels | None = _not_given(_FRAME_P5)


class SignalGateOverride(_Ratios):
    """Numbers that replace a component's."""

    min_median_gain_db: _Decibels | None = _not_given(_MEDIAN_GAIN)


class SignalGate(SignalGateOverride):
    """For a component whose output feeds another; its frames are the tokens or frames of its axis."""

    min_snr_db: _Decibels | None = Field(description=_SNR)


class AudioGateOverride(_Ratios):
    """Numbers that replace those of the decoder or of speech."""

    min_gain_db: _Decibels | None = _not_given(_GAIN)
    min_first_frame_snr_db: _Decibels | None = _not_given(_FIRST_FRAME)
    min_last_frame_snr_db: _Decibels | None = _not_given(_LAST_FRAME)
    min_exact_frame_snr_median_db: _Decibels | None = _not_given(_EXACT_MEDIAN)
    min_exact_frame_snr_p5_db: _Decibels | None = _not_given(_EXACT_P5)
    min_magnitude_correlation: _Correlation | None = _not_given(_CORRELATION)


class AudioGate(AudioGateOverride):
    """For what is heard; its frames are of 600 samples."""

    min_snr_db: _Decibels | None = Field(description=_SNR)
    min_gain_db: _Decibels | None = Field(description=_GAIN)
    min_magnitude_correlation: _Correlation | None = Field(description=_CORRELATION)


class CorpusGate(AudioGateOverride):
    """For `kokoro-tvm validate e2e` on anything but the recipe's own utterances; no build asks for it."""

    min_median_gain_db: _Decibels | None = _not_given(_MEDIAN_GAIN)


class ThroughputGate(Spec):
    """For how fast the decoder computes; not run where its code is emulated, or for a GPU."""

    min_peak_share: _Multiple | None = _not_given(_PEAK)


class IntelligibilityGate(Spec):
    """For what a speech recogniser understands; needs the extra `asr`."""

    max_word_error_increase: _Share | None = _not_given(_INCREASE)


class PhonemesGate(Spec):
    """For the text front end, of American and of British English each."""

    max_known_word_errors: _Count | None = _not_given(_KNOWN_WORDS)
    max_phoneme_error_rate: _Share | None = _not_given(_PHONEMES)


# Nothing given. null is refused in place of a whole gate, where it would not mean what it does in a number's.
_Signal = Annotated[SignalGateOverride, Field(default_factory=SignalGateOverride)]
_Audio = Annotated[AudioGateOverride, Field(default_factory=AudioGateOverride)]
_Corpus = Annotated[CorpusGate, Field(default_factory=CorpusGate)]
_Throughput = Annotated[ThroughputGate, Field(default_factory=ThroughputGate)]
_Intelligibility = Annotated[IntelligibilityGate, Field(default_factory=IntelligibilityGate)]
_Phonemes = Annotated[PhonemesGate, Field(default_factory=PhonemesGate)]


class Gates(Spec):
    """A gate for every component, one for speech and one for the corpus."""

    key_word: ClassVar[str] = "gate"

    bert: SignalGate = Field(description="Gate of bert.")
    duration: SignalGate = Field(description="Gate of duration; durations must be equal in any case.")
    text_encoder: SignalGate = Field(description="Gate of text_encoder.")
    f0n: SignalGate = Field(description="Gate of f0n.")
    decoder: AudioGate = Field(description="Gate of decoder.")
    speech: AudioGate = Field(description="Gate of the whole way from tokens to audio.")
    corpus: _Corpus = Field(description="Gate of the whole way on the regression corpus.")
    throughput: _Throughput = Field(description="Gate of how fast the decoder computes.")
    intelligibility: _Intelligibility = Field(description="Gate of what a speech recogniser understands.")
    phonemes: _Phonemes = Field(description="Gate of the text front end; needs `front_end`.")
    enforce: bool = Field(
        default=True, description="A missed gate fails the build; false with length: padded."
    )


class GatesOverride(Spec):
    """The gates a target recipe sets, or a set of them; what it leaves out stays the model's."""

    key_word: ClassVar[str] = "gate"

    extends: Name | tuple[Name, ...] | None = Field(
        default=None,
        description="A set of gates, of the model's `gate_sets`, or several, that these are written over. "
        "`gates: NAME` is short for it.",
    )

    bert: _Signal = Field(description="Gate of bert.")
    duration: _Signal = Field(description="Gate of duration.")
    text_encoder: _Signal = Field(description="Gate of text_encoder.")
    f0n: _Signal = Field(description="Gate of f0n.")
    decoder: _Audio = Field(description="Gate of decoder.")
    speech: _Audio = Field(description="Gate of the whole way from tokens to audio.")
    corpus: _Corpus = Field(description="Gate of the whole way on the regression corpus.")
    throughput: _Throughput = Field(description="Gate of how fast the decoder computes.")
    intelligibility: _Intelligibility = Field(description="Gate of what a speech recogniser understands.")
    phonemes: _Phonemes = Field(description="Gate of the text front end.")
    enforce: bool | None = Field(default=None, description="A missed gate fails the build.")

    def over(self, gates: Gates) -> Gates:
        """`gates` with what is given here, null too, in place of theirs."""
        numbers = gates.model_dump()
        for name, override in self.model_dump(exclude_unset=True).items():
            if isinstance(override, dict):
                numbers[name] |= override
            elif override is not None:
                numbers[name] = override
        return Gates.model_validate(numbers)
