"""Speech synthesis with a bundle; needs numpy, `tvm_ffi` and `libtvm_runtime`, no torch and no compiler.

from kokoro_tvm.runtime import Synthesizer
speech = Synthesizer("artifacts/cpu")("Hello world.")
"""

from __future__ import annotations

from kokoro_tvm.runtime.bundle.manifest import Bundle, read_bundle
from kokoro_tvm.runtime.bundle.voices import VoiceInfo, Voices, describe
from kokoro_tvm.runtime.notices import SpeechWarning
from kokoro_tvm.runtime.session.routing import TooLongError
from kokoro_tvm.runtime.speech.division import Division
from kokoro_tvm.runtime.speech.joins import Pauses
from kokoro_tvm.runtime.speech.piece import Piece, Word
from kokoro_tvm.runtime.speech.plan import Plan
from kokoro_tvm.runtime.speech.stream import Chunk, Speech, Stream
from kokoro_tvm.runtime.speech.synthesizer import Synthesizer
from kokoro_tvm.runtime.speech.wav import check_output, write_wav
from kokoro_tvm.runtime.speech.words import TimedPhoneme, TimedWord

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
