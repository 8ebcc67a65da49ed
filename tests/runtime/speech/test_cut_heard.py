"""The listening gate of a cut utterance: with the real weights, it is close to uncut speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kokoro_tvm.runtime import Division, Synthesizer
from kokoro_tvm.validation.measure.metrics import magnitude_correlation

VOICES = ("af_heart", "am_michael", "bf_emma")
SENTENCES = (
    "The committee that had been appointed by the former mayor of the city decided to postpone "
    "the annual meeting of all members until the end of the following month.",
    "Nobody in the village could remember a winter that had brought so much snow to the narrow "
    "valley between the two old mountains.",
    "Please take the documents that are lying on the kitchen table and put them into the blue "
    "folder next to the window before you leave.",
    "Researchers at several universities have found that people who walk every morning sleep "
    "better than those who only walk in the evening.",
    "Our neighbour has been looking for a small house near the sea since he sold the bakery that "
    "belonged to his grandfather.",
    "Each new employee receives a yellow envelope with all the keys and the numbers of everyone "
    "who works on the same floor.",
    "Rain is expected in the northern half of the country while the south will remain warm and "
    "dry over the whole weekend.",
    "We were allowed to enter the museum an hour early because the director knew the woman who "
    "had organized our journey.",
    "You may always ask him why he never answers any of the long letters that arrive on Monday "
    "morning from an unknown lady.",
    "A young engineer who had never flown an airplane before designed the wing in less than four "
    "weeks with only a pencil.",
    "Their union never knew any reason whose value our lawyers would allow in an early hearing "
    "about minor errors.",
    "Is there anybody in this room who remembers where the owner of the little yellow car usually "
    "parks it on Sunday evening?",
)
MAX_STEP_DB = 4.0  # measured: 3.2 at most, 1.1 in the median
MIN_CORRELATION = 0.90  # of magnitudes in either piece; measured: 0.918 at least, 0.976 in the median

Audio = NDArray[np.float32]


@pytest.fixture(scope="module")
def tts(real_bundle: Path) -> Synthesizer:
    return Synthesizer(real_bundle)


def level(audio: Audio) -> float:
    """Return the level in decibels."""
    return float(20 * np.log10(np.sqrt(np.mean(audio**2)) + 1e-9))


@pytest.mark.slow("needs the real weights")
@pytest.mark.parametrize("voice", VOICES)
@pytest.mark.parametrize("text", SENTENCES)
def test_cut_sounds_like_uncut_speech(tts: Synthesizer, text: str, voice: str) -> None:
    speech, whole = tts(text, voice, division=Division()), tts(text, voice)
    assert speech.plan is not None and whole.plan is not None
    assert not whole.plan.pieces[0].after  # only streams are cut by default
    cut = speech.plan.pieces[0].samples(speech.plan.samples_per_frame)
    assert speech.audio.size == whole.audio.size
    assert cut <= 2.5 * speech.sample_rate
    half = speech.sample_rate // 2
    before, after = (
        level(speech.audio[part]) - level(whole.audio[part])
        for part in (slice(cut - half, cut), slice(cut, cut + half))
    )
    assert abs(after - before) <= MAX_STEP_DB
    for part in (slice(0, cut), slice(cut, None)):
        assert magnitude_correlation(speech.audio[part], whole.audio[part]) >= MIN_CORRELATION
