"""Transcribe a bundle and the stock model, which speak the same tokens with the same noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.common.noise import draw_noise
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text import phonemes as symbols
from kokoro_tvm.validation.measure.intelligibility import SENTENCES, Transcript, english_voices
from kokoro_tvm.validation.measure.recogniser import Recogniser
from kokoro_tvm.validation.reference.reference import DYNAMIC

_SEED = 0


def listen(
    bundle: Path,
    config: Mapping[str, Any],
    state: Mapping[str, Any],
    recogniser: Recogniser,
    *,
    voices: Sequence[str] | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Transcript]:
    """Transcribe every sentence in every voice, spoken by the bundle and by PyTorch float32.

    Args:
        bundle: Folder of the bundle.
        config: Configuration of the checkpoint that the bundle was built from.
        state: Its state dict.
        recogniser: The recogniser.
        voices: Voices, or None for `english_voices`.
        threads: Threads of the bundle.
        progress: Called with a line of text before every voice.
    """
    from kokoro_tvm.validation.reference.stock import run_stock, stock_model

    tts = Synthesizer(bundle, threads=threads)
    model = stock_model(config, state, DYNAMIC)
    draw = partial(draw_noise, _SEED)
    transcripts = []
    for voice in voices or english_voices(tts.voices.names, tts.bundle.languages):
        progress(f"listening to {voice}")
        table = tts.voices.table(voice)
        for sentence in SENTENCES:
            text = symbols.clean_phonemes(" ".join(tts.phonemize(sentence, voice)))
            tokens = np.array([symbols.encode(text, tts.bundle.vocabulary)], np.int64)
            style = np.array(style_of(table, text))  # a copy, because the table is mapped read-only
            ours = tts.run(tokens, style, seed=_SEED).audio
            stock = run_stock(model, tokens, style.reshape(1, -1), 1.0, draw).audio.astype(np.float32)
            texts = (recogniser.transcribe(audio, tts.bundle.sample_rate) for audio in (ours, stock))
            transcripts.append(Transcript(voice, sentence, *texts))
    return transcripts
