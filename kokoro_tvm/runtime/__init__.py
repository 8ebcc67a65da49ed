"""Synthesizes speech with a bundle; needs numpy, `tvm_ffi` and `libtvm_runtime`, no torch and no compiler.

from kokoro_tvm.runtime import Synthesizer
speech = Synthesizer("artifacts/cpu")("Hello world.")
"""

from __future__ import annotations

from kokoro_tvm.runtime.audio import check_output, write_wav
from kokoro_tvm.runtime.bundle import Bundle, read_bundle
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.routing import TooLongError
from kokoro_tvm.runtime.synthesizer import Speech, Synthesizer
from kokoro_tvm.runtime.voices import VoiceInfo, Voices, describe

__all__ = [
    "Bundle",
    "Speech",
    "SpeechWarning",
    "Synthesizer",
    "TooLongError",
    "VoiceInfo",
    "Voices",
    "check_output",
    "describe",
    "read_bundle",
    "write_wav",
]
