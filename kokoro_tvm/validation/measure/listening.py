"""Lets a bundle and the stock model say the same tokens, with the same noise, to a speech recogniser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from kokoro_tvm.kernels.noise import draw_noise
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text import phonemes as symbols
from kokoro_tvm.validation.measure.intelligibility import SENTENCES, Heard, english_voices
from kokoro_tvm.validation.measure.recogniser import Recogniser
from kokoro_tvm.validation.reference.reference import DYNAMIC

__all__ = ["listen"]

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
) -> list[Heard]:
    """Every sentence in these voices, or `english_voices`, as the recogniser understood the bundle and
    PyTorch float32.

    config, state: of the checkpoint the bundle was built from, as `stock_model` takes them. Raises
    BundleError and InputError as a Synthesizer does.
    """
    from kokoro_tvm.validation.reference.stock import run_stock, stock_model

    tts = Synthesizer(bundle, threads=threads)
    model = stock_model(config, state, DYNAMIC)
    draw = partial(draw_noise, _SEED)
    heard = []
    for voice in voices or english_voices(tts.voices.names, tts.bundle.languages):
        progress(f"listening to {voice}")
        table = tts.voices.table(voice)
        for sentence in SENTENCES:
            text = symbols.clean_phonemes(" ".join(tts.phonemize(sentence, voice)))
            tokens = np.array([symbols.encode(text, tts.bundle.vocabulary)], np.int64)
            style = np.array(style_of(table, text))  # the table lies in a file that is mapped read-only
            ours = tts.run(tokens, style, seed=_SEED).audio
            stock = run_stock(model, tokens, style.reshape(1, -1), 1.0, draw).audio.astype(np.float32)
            understood = (recogniser.transcribe(audio, tts.bundle.sample_rate) for audio in (ours, stock))
            heard.append(Heard(voice, sentence, *understood))
    return heard
