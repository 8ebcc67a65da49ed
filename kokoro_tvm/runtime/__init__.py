"""Synthesizes speech with a bundle; needs numpy, `tvm_ffi` and `libtvm_runtime`, no torch and no compiler.

from kokoro_tvm.runtime import Synthesizer
speech = Synthesizer("artifacts/cpu")("Hello world.")
"""

from __future__ import annotations

from kokoro_tvm.runtime.audio import check_output, write_wav
from kokoro_tvm.runtime.bundle import Bundle, read_bundle
from kokoro_tvm.runtime.division import Division
from kokoro_tvm.runtime.joins import Pauses
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.plan import Piece, Plan, Word
from kokoro_tvm.runtime.routing import TooLongError
from kokoro_tvm.runtime.speech import Chunk, Speech
from kokoro_tvm.runtime.stream import Stream
from kokoro_tvm.runtime.synthesizer import Synthesizer
from kokoro_tvm.runtime.voices import VoiceInfo, Voices, describe
from kokoro_tvm.runtime.words import TimedPhoneme, TimedWord

__all__ = [
    "Bundle",
    "Chunk",
    "Division",
    "Pauses",
    "Piece",
    "Plan",
    "Speech",
    "SpeechWarning",
    "Stream",
    "Synthesizer",
    "TimedPhoneme",
    "TimedWord",
    "TooLongError",
    "VoiceInfo",
    "Voices",
    "Word",
    "check_output",
    "describe",
    "read_bundle",
    "write_wav",
]
