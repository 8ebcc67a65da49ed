"""espeak-ng: its input, and recovery when it dies."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime import SpeechWarning
from kokoro_tvm.runtime.bundle.languages import SpokenLanguage
from kokoro_tvm.runtime.text.frontend import espeak, espeak_process, languages
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.espeak import EspeakEnglish, EspeakLanguage
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, phonemize
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
from kokoro_tvm.runtime.text.frontend.letters import UnknownWordReader
from kokoro_tvm.runtime.text.frontend.source import SourceText

pytest.importorskip("espeakng_loader")
pytest.importorskip("phonemizer")

FATAL = "é" + "'s" * 68  # overflows a buffer of espeak-ng 1.52
UNITS = (
    "'s",
    "é",
    "-",
    ".",
    "a",
    "b&",
    "1",
    "’",
    "ß",
    "n't",
    "世",
    "ж",
    "\u0301",
    "\u200d",
    "@",
    "\x01",
    "𝄞",
    "😀",
)


@pytest.fixture
def file(front_end_files: Path) -> FrontEndFile:
    return FrontEndFile.open(front_end_files / "front_end.safetensors")


@pytest.fixture(autouse=True)
def _process() -> Iterator[None]:
    yield
    espeak_process._end()


def hostile_words(count: int, seed: int) -> Iterator[str]:
    """Yield words of repeated units, up to 600 characters."""
    rng = random.Random(seed)
    for _ in range(count):
        head = "".join(rng.choices(UNITS, k=rng.randint(0, 3)))
        unit = "".join(rng.choices(UNITS, k=rng.randint(1, 4)))
        yield head + unit * rng.randint(1, 150)


def test_espeak_that_dies_is_started_again() -> None:
    before = phonemize("hello", "en-us")
    with pytest.raises(EspeakError, match=r"ended while it read a text"):
        phonemize(FATAL, "en-us")
    assert phonemize("hello", "en-us") == before


def test_espeak_that_died_while_idle_is_started_again() -> None:
    before = phonemize("hello", "en-us")
    assert espeak_process._process is not None
    espeak_process._process.kill()
    espeak_process._process.wait()
    assert phonemize("hello", "en-us") == before


def test_espeak_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    phonemize("hello", "en-us")
    process = espeak_process._process
    assert process is not None
    monkeypatch.setattr(espeak_process, "TIMEOUT_S", 0.2)
    if os.name == "posix":
        os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(EspeakError, match="ended while it read"):
        phonemize("hello", "en-us")


def test_espeak_names_a_language_that_it_does_not_have() -> None:
    with pytest.raises(EspeakError, match='language "xx-yy" is not supported'):
        phonemize("hello", "xx-yy")


def test_front_end_reads_a_word_by_its_letters_if_espeak_dies(
    file: FrontEndFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(espeak, "_MAX_CHARACTERS", 1000)
    with pytest.warns(SpeechWarning, match="read by its letters"):
        spoken = UnknownWordReader(file.english(False), False)(FATAL)
    assert spoken is not None
    assert spoken[1] in ("letters", "spelled")


def test_front_end_reads_long_words_by_their_letters(file: FrontEndFile) -> None:
    reading = FrontEnd(file).read(SourceText.of(f"Hello {FATAL} world."), "a")
    assert any(notice.startswith("Read by their letters") for notice in reading.notices), reading.notices
    assert not any("Install" in notice for notice in reading.notices)


def test_text_of_another_language_is_left_out_if_espeak_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    def die(text: str, language: str, **options: str) -> str:
        if "Welt" in text:
            raise EspeakError("espeak-ng ended while it read a text")
        return text

    monkeypatch.setattr(espeak, "phonemize", die)
    monkeypatch.setattr(languages, "_converters", {})
    front_end = FrontEnd(languages={"d": SpokenLanguage("German", "de")})
    with pytest.warns(SpeechWarning, match="ended while it read a text. It was 'Hallo Welt'"):
        reading = front_end.read(SourceText.of("Hallo Welt"), "d")
    assert reading.notices[0].startswith("Left out")
    assert front_end.read(SourceText.of("Hallo."), "d").utterances[0].phonemes == "Hallo."


def test_language_that_espeak_does_not_start_with_is_refused() -> None:
    front_end = FrontEnd(languages={"d": SpokenLanguage("Elvish", "xx-yy")})
    with pytest.raises(InputError, match="Elvish text into phonemes needs espeak-ng, which does not start"):
        front_end.read(SourceText.of("Hallo"), "d")


def test_espeak_is_given_words_of_bounded_length_and_known_letters(
    file: FrontEndFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def record(text: str, language: str, **options: str) -> str:
        texts.append(text)
        return "ˈɛ" if text.strip() else ""

    monkeypatch.setattr(espeak, "phonemize", record)
    front_end = FrontEnd(
        file, languages={"a": SpokenLanguage("English"), "d": SpokenLanguage("German", "de")}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        for word in hostile_words(120, seed=1):
            for code in "ad":
                front_end.read(SourceText.of(f"Say {word} now."), code)
    words = [word for text in texts for word in text.split()]
    assert len(words) > 200
    assert max(map(len, words)) <= 64
    assert not set("世ж\x01😀") & set("".join(words))


@pytest.mark.slow("reads 12,000 words with the native library")
def test_espeak_survives_hostile_words() -> None:
    english, german = EspeakEnglish(british=False), EspeakLanguage("de")
    phonemize("", "en-us")
    process = espeak_process._process
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Divided", SpeechWarning)
        warnings.filterwarnings("error", "espeak-ng", SpeechWarning)
        for word in hostile_words(6000, seed=2):
            english(word[:64])
            german(word)
    assert espeak_process._process is process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_child_starts_an_espeak_of_its_own() -> None:
    before = phonemize("hello", "en-us")
    assert espeak_process._process is not None
    own = espeak_process._process.pid
    child = os.fork()
    if child == 0:
        same = phonemize("hello", "en-us") == before
        other = espeak_process._process is not None and espeak_process._process.pid != own
        espeak_process._end()
        os._exit(0 if same and other else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert phonemize("hello", "en-us") == before
    assert espeak_process._process.pid == own


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), 9)"])
def test_espeak_ends_with_its_parent_and_leaves_no_file(tmp_path: Path, end: str) -> None:
    """The child holds its parent's standard error, so `run` waits for its end."""
    code = f"""
import os
from kokoro_tvm.runtime.text.frontend.espeak_process import EspeakError, phonemize
phonemize("hello", "en-us")
try:
    phonemize("é" + "'s" * 68, "en-us")
except EspeakError:
    phonemize("hello", "en-us")
{end}
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, timeout=60, check=False
    )
    assert not list(tmp_path.iterdir())


def test_espeak_child_does_not_import_numpy() -> None:
    """Importing it takes five times as long as the start."""
    source = Path(espeak_process.__file__).with_name("espeak_child.py").read_text(encoding="utf-8")
    program = source.replace("os._exit(0)", "answers.write(json.dumps(sorted(sys.modules)))")
    requests = [sys.path, {"language": "en-us", "options": {}, "text": "of"}]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    command = [sys.executable, "-I", "-c", program]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    answer, modules = map(json.loads, done.stdout.splitlines())
    assert answer == {"phonemes": "ʌv"}
    assert "phonemizer.backend" in modules
    assert {"numpy", "csvw", "kokoro_tvm"}.isdisjoint(modules)
