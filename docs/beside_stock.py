"""From text to speech beside stock kokoro: words that a recogniser mishears, and the time to the first sound.

.venv/bin/python docs/beside_stock.py [BUNDLE]

Stock kokoro is its own KPipeline over PyTorch in float32: misaki, spaCy's tagger, espeak-ng. The recogniser
needs the extra `asr`. Sentences are those of the phonemes' gate that have no figures and 6 to 20 words.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from jiwer import wer

from kokoro_tvm.measure.intelligibility import words
from kokoro_tvm.measure.recogniser import open_recogniser
from kokoro_tvm.model.kokoro import build_model, load_config, load_state
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.truth.phonemes import sentences, tagger_folder

VOICE = "af_heart"
_COUNT = 200
_ROUNDS = 3
_PARAGRAPH = 8  # sentences; stock kokoro reads a line before it speaks the line's beginning
_PAGE = 3  # paragraphs
_UNUSED = ["parser", "senter", "attribute_ruler", "lemmatizer", "ner"]


@contextmanager
def stock_pipeline(artifacts: Path, tts: Synthesizer) -> Iterator[Any]:
    """kokoro's KPipeline as it is, with weights, tagger and voice of the build in place of downloads."""
    import spacy
    from kokoro import KModel, KPipeline

    checkpoint = artifacts / "checkpoint" / tts.bundle.model
    with tagger_folder(artifacts / "front_end" / tts.bundle.model / "tagger.zip") as folder:
        load = spacy.load
        with (
            patch("spacy.util.is_package", return_value=True),
            # The release leaves out what misaki does not use; the archive has not even its configuration.
            patch("spacy.load", lambda _, **options: load(folder, exclude=_UNUSED, **options)),
        ):
            model = build_model(load_config(checkpoint), load_state(checkpoint))
            assert isinstance(model, KModel)
            pipeline = KPipeline("a", repo_id="hexgrad/Kokoro-82M", model=model)
        table = np.array(tts.voices.table(VOICE))
        pipeline.voices[VOICE] = torch.from_numpy(table.reshape(len(table), 1, -1))
        yield pipeline


def stock_audio(pipeline: Any, text: str) -> np.ndarray:
    """All chunks of stock kokoro's speech, joined as its users join them."""
    with torch.no_grad():
        return np.concatenate([result.audio.numpy() for result in pipeline(text, voice=VOICE)])


def misheard(tts: Synthesizer, pipeline: Any) -> None:
    """Prints the word error rate of both on the same sentences."""
    ears = open_recogniser()
    plain = [s for s in sentences() if not re.search(r"[\d/]", s) and 6 <= len(s.split()) <= 20]
    chosen = random.Random(10).sample(plain, _COUNT)
    understood: dict[str, list[str]] = {"kokoro-tvm": [], "stock kokoro": []}
    for number, sentence in enumerate(chosen, 1):
        spoken = {
            "kokoro-tvm": tts(sentence, voice=VOICE).audio,
            "stock kokoro": stock_audio(pipeline, sentence),
        }
        for name, audio in spoken.items():
            understood[name].append(" ".join(words(ears.transcribe(audio, tts.bundle.sample_rate))))
        if number % 50 == 0:
            rates = {
                name: wer([" ".join(words(s)) for s in chosen[:number]], u) for name, u in understood.items()
            }
            print(f"{number} sentences: " + ", ".join(f"{n} {r:.2%}" for n, r in rates.items()), flush=True)


def first_sound(tts: Synthesizer, pipeline: Any) -> None:
    """Prints the seconds to the first sound of a page and of a book, in turns, medians."""
    every = sentences()
    paragraphs = [" ".join(every[i : i + _PARAGRAPH]) for i in range(0, len(every), _PARAGRAPH)]
    texts = {"page": "\n\n".join(paragraphs[:_PAGE]), "book": "\n\n".join(paragraphs)}
    for name, text in texts.items():
        ours, stock = [], []
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            with tts.stream(text, voice=VOICE) as stream:
                next(stream)
                ours.append(time.perf_counter() - start)
            start = time.perf_counter()
            with torch.no_grad():
                next(iter(pipeline(text, voice=VOICE)))
            stock.append(time.perf_counter() - start)
        a, b = statistics.median(ours), statistics.median(stock)
        print(
            f"{name}, {len(text)} characters: {a:.2f} s, stock kokoro {b:.2f} s, ratio {a / b:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    bundle = Path(sys.argv[1] if len(sys.argv) > 1 else "artifacts/cpu")
    tts = Synthesizer(bundle)
    with stock_pipeline(bundle.parent, tts) as pipeline:
        first_sound(tts, pipeline)
        misheard(tts, pipeline)
