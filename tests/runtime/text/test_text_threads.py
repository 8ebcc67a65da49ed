"""Threads that share a synthesizer: each gets the phonemes, the audio and the warnings of its own text."""

from __future__ import annotations

import os
import random
import re
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiers import ASIAN, each_language

from kokoro_tvm.runtime import SpeechWarning, Synthesizer, Voices
from kokoro_tvm.runtime.text.frontend import languages as g2p
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.source import SourceText
from kokoro_tvm.runtime.text.frontend.tokens import Token
from kokoro_tvm.runtime.text.reading import phonemize_text

THREADS = 8
TEXTS = {
    "a": "The quick brown fox. | She sells sea shells. | A big dog barked twice. | Where is my umbrella?",
    "b": "The weather is lovely. | My aunt can't dance. | Put the kettle on. | A bottle of water.",
    "e": "Buenos días, señor. | La casa es grande. | ¿Dónde está el perro? | Hoy hace mucho calor.",
    "f": "Bonjour tout le monde. | Le chat dort ici. | Où est la gare? | Il fait très beau.",
    "h": "नमस्ते दुनिया। | यह एक किताब है। | मौसम अच्छा है। | आप कैसे हैं?",
    "i": "Buongiorno a tutti. | La ragazza canta bene. | Dov'è la stazione? | Oggi piove molto.",
    "p": "Bom dia a todos. | O gato dorme aqui. | Onde fica a praia? | Hoje está chovendo.",
    "j": "こんにちは、世界。 | 私は本を読みます。 | 駅はどこですか。 | 今日は雨です。",
    "z": "你好,世界。 | 我会说中文。 | 今天下雨了。 | 车站在哪里?",
}


def phonemize(text: str) -> list[str]:
    """Phonemize with the installed packages."""
    return [found.phonemes for found in phonemize_text(SourceText.of(text), "a", FrontEnd())]


def side_by_side(work: Any, items: list[Any]) -> list[Any]:
    """Call `work` for every item, from THREADS threads at once."""
    begin = threading.Barrier(THREADS)

    def first(_: int) -> None:
        begin.wait()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads that share something meet more often
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(first, range(THREADS)))
            return list(pool.map(work, items))
    finally:
        sys.setswitchinterval(interval)


@pytest.fixture
def speaking(fake: tuple[Synthesizer, Any]) -> Synthesizer:
    """The synthesizer of the tests with a voice for every language."""
    tts, _ = fake
    rng = np.random.default_rng(3)
    tables = {f"{code}f_x": rng.standard_normal((510, 4)).astype(np.float32) for code in TEXTS}
    tts.voices = Voices(tables)
    return tts


def check(tts: Synthesizer, codes: str) -> None:
    texts = [(part.strip(), f"{code}f_x") for code in codes for part in TEXTS[code].split("|")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        phonemes = {text: tts.phonemize(text, voice) for text, voice in texts}
        audio = {text: tts(text, voice, speed=9.0).audio for text, voice in texts}
        assert len(set(map(str, phonemes.values()))) == len(texts)
        order = texts * 10
        random.Random(1).shuffle(order)
        found = side_by_side(lambda one: tts.phonemize(*one), order)
        wrong = [text for (text, _), heard in zip(order, found, strict=True) if heard != phonemes[text]]
        assert not wrong, f"{len(wrong)} of {len(order)} results are another text's"
        spoken = side_by_side(lambda one: tts(*one, speed=9.0).audio, order)
        assert all(np.array_equal(a, audio[text]) for (text, _), a in zip(order, spoken, strict=True))


@pytest.mark.parametrize("code", each_language(TEXTS))
def test_threads_get_the_single_threaded_result(speaking: Synthesizer, code: str) -> None:
    check(speaking, code)


@pytest.mark.parametrize("codes", ["abefhip", pytest.param("abefhipjz", marks=ASIAN)])
def test_threads_phonemize_languages_side_by_side(speaking: Synthesizer, codes: str) -> None:
    check(speaking, codes)


@pytest.mark.parametrize("length", ["exact", "masked"])
def test_threads_speak_through_compiled_code(compiled: Callable[[str], Path], length: str) -> None:
    """Utterances of different lengths and languages share one pool of TVM's threads."""
    tts = Synthesizer(compiled(length), threads=2)
    voices = {"a": "af_heart", "b": "bf_emma", "e": "ef_dora"}
    texts = [(part.strip(), voice) for code, voice in voices.items() for part in TEXTS[code].split("|")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        alone = [tts(text, voice, speed=9.0).audio for text, voice in texts]
        together = side_by_side(lambda one: tts(*one, speed=9.0).audio, texts * 5)
    assert len({audio.tobytes() for audio in alone}) == len(texts)
    assert all(np.array_equal(audio, alone[i % len(texts)]) for i, audio in enumerate(together))


def test_threads_share_converters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads wait for the first one, whose caller alone gets the warning about espeak-ng."""
    created: list[str] = []
    original = g2p._create
    monkeypatch.setattr(g2p, "_converters", {})
    monkeypatch.setattr(g2p, "_create", lambda code, *of: created.append(code) or original(code, *of))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = side_by_side(phonemize, ["One two three."] * (2 * THREADS))
    assert (created, len(caught), len(set(map(str, found)))) == (["a"], 1, 1)


def test_threads_get_their_own_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each thread gets the warnings of its own text."""

    shared = types.SimpleNamespace()

    def converted(text: str) -> list[Token]:
        shared.text = text  # as espeak-ng's state is
        threading.Event().wait(0.002)
        spoken = " ".join(word for word in shared.text.split() if word[0] != "x")
        return [Token(text, 0, len(text), spoken, "", origin="converter")]

    monkeypatch.setattr(g2p, "_converters", {("a", None): converted})
    heard: dict[int, list[str]] = {}

    def note(message: Warning | str, *_: Any, **__: Any) -> None:
        heard.setdefault(threading.get_ident(), []).extend(re.findall(r"\bx\d+\b", str(message)))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", note)
        due: dict[int, list[str]] = {}

        def work(index: int) -> None:
            due.setdefault(threading.get_ident(), []).append(f"x{index}")
            phonemize(f"word x{index}")

        side_by_side(work, list(range(40)))
    assert heard == due


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_child_converts_while_a_thread_converts(monkeypatch: pytest.MonkeyPatch) -> None:
    busy, done = threading.Event(), threading.Event()

    def slow(text: str) -> list[Token]:
        busy.set()
        done.wait(0.2)
        return [Token(text, 0, len(text), text)]

    monkeypatch.setattr(g2p, "_converters", {("a", None): slow})
    thread = threading.Thread(target=phonemize, args=("abc",))
    thread.start()
    assert busy.wait(60)
    child = os.fork()
    if child == 0:
        done.set()
        try:
            os._exit(0 if phonemize("abc") == ["abc"] else 1)
        finally:
            os._exit(2)  # never continue the test run in the child
    thread.join()
    for _ in range(100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == child and status == 0
