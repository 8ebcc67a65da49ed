"""Gates: the numbers an artifact must meet before it counts, and the partial ones a target recipe may set."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from kokoro_tvm.recipe._spec import Spec

__all__ = ["DecoderGate", "Gates", "GatesOverride", "SignalGate", "SpeechGate"]

_Decibels = Annotated[float, Field(ge=-400.0, le=400.0)]
_Correlation = Annotated[float, Field(ge=-1.0, le=1.0)]

_SNR = "Least signal-to-noise ratio against the reference, dB."
_GAIN = "How many dB nearer to the float64 run of the stock model than PyTorch float32 is, at least."
_CORRELATION = "Least correlation of magnitude spectra with the float64 run of the stock model."


class SignalGate(Spec):
    """For a component whose output feeds another."""

    min_snr_db: _Decibels = Field(description=_SNR)


class DecoderGate(Spec):
    """For the component whose output is heard."""

    min_snr_db: _Decibels = Field(description=_SNR)
    min_gain_db: _Decibels = Field(description=_GAIN)
    min_magnitude_correlation: _Correlation = Field(description=_CORRELATION)


class SpeechGate(Spec):
    """For the whole way from tokens to audio."""

    min_gain_db: _Decibels = Field(description=_GAIN)
    min_magnitude_correlation: _Correlation = Field(description=_CORRELATION)


class Gates(Spec):
    """A gate for every component and one for speech."""

    key_word: ClassVar[str] = "gate"

    bert: SignalGate = Field(description="Gate of bert.")
    duration: SignalGate = Field(description="Gate of duration; durations must be equal in any case.")
    text_encoder: SignalGate = Field(description="Gate of text_encoder.")
    f0n: SignalGate = Field(description="Gate of f0n.")
    decoder: DecoderGate = Field(description="Gate of decoder.")
    speech: SpeechGate = Field(description="Gate of the whole way from tokens to audio.")
    enforce: bool = Field(
        default=True, description="A missed gate fails the build; false with length: padded."
    )


class SignalGateOverride(Spec):
    """Numbers that replace a component's."""

    min_snr_db: _Decibels | None = Field(default=None, description=_SNR)


class DecoderGateOverride(Spec):
    """Numbers that replace the decoder's."""

    min_snr_db: _Decibels | None = Field(default=None, description=_SNR)
    min_gain_db: _Decibels | None = Field(default=None, description=_GAIN)
    min_magnitude_correlation: _Correlation | None = Field(default=None, description=_CORRELATION)


class SpeechGateOverride(Spec):
    """Numbers that replace those of speech."""

    min_gain_db: _Decibels | None = Field(default=None, description=_GAIN)
    min_magnitude_correlation: _Correlation | None = Field(default=None, description=_CORRELATION)


class GatesOverride(Spec):
    """The gates a target recipe sets; what it leaves out stays the model's."""

    key_word: ClassVar[str] = "gate"

    bert: SignalGateOverride | None = Field(default=None, description="Gate of bert.")
    duration: SignalGateOverride | None = Field(default=None, description="Gate of duration.")
    text_encoder: SignalGateOverride | None = Field(default=None, description="Gate of text_encoder.")
    f0n: SignalGateOverride | None = Field(default=None, description="Gate of f0n.")
    decoder: DecoderGateOverride | None = Field(default=None, description="Gate of decoder.")
    speech: SpeechGateOverride | None = Field(
        default=None, description="Gate of the whole way from tokens to audio."
    )
    enforce: bool | None = Field(default=None, description="A missed gate fails the build.")

    def over(self, gates: Gates) -> Gates:
        """`gates` with what is given here in place of theirs."""
        numbers = gates.model_dump()
        for name, override in self.model_dump(exclude_none=True).items():
            numbers[name] = numbers[name] | override if isinstance(override, dict) else override
        return Gates.model_validate(numbers)
