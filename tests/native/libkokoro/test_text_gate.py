"""The gate `validate_text`: `speak BUNDLE "Text."` equals Python's runtime, also on other machines."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from elsewhere import obstacle, recipe_of, runner_of
from talking import add_program, in_seven_languages, with_front_end
from toy_bundle import compile_into, edit_manifest, refresh, write_bundle

from kokoro_tvm import Synthesizer
from kokoro_tvm.native.libkokoro import LINUX, compile_libkokoro, names_of
from kokoro_tvm.runtime import SpeechWarning
from kokoro_tvm.runtime.bundle.languages import KOKORO
from kokoro_tvm.targets import tools_for
from kokoro_tvm.targets.runners import Start, open_synthesizer
from kokoro_tvm.targets.runners.program import SpeakProgram
from kokoro_tvm.validation.measure.text_from_c import SENTENCES, validate_text

pytestmark = pytest.mark.filterwarnings("ignore::kokoro_tvm.runtime.SpeechWarning")
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
LANGUAGES = [KOKORO[letter].name for letter in "abefhip"]


@pytest.fixture(scope="module")
def bundle(polyglot: Path, built: Path, tvm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = shutil.copytree(polyglot, tmp_path_factory.mktemp("gate") / "bundle")
    add_program(folder, built, LINUX, sorted(tvm.iterdir()))
    return folder


def program(bundle: Path) -> SpeakProgram:
    files = [bundle / name for name in (LINUX.library, LINUX.program)]
    return SpeakProgram(bundle, files, lambda program: Start([str(program)]), threads=1)


@pytest.mark.parametrize("decode", [True, False])
def test_gate_judges_every_language(bundle: Path, decode: bool) -> None:
    verdicts = list(validate_text(Synthesizer(bundle, threads=1), program(bundle), decode))
    what = ("words", "audio") if decode else ("words",)
    assert [v.where for v in verdicts] == [f"{name} {item}" for name in LANGUAGES for item in what]
    assert {(v.gate, v.value, v.limit, v.status) for v in verdicts} == {("max_c_off", 0.0, 0.0, "passed")}


@dataclass
class Spoiled:
    """A program whose output is changed."""

    program: SpeakProgram
    spoil: Callable[[list[str], np.ndarray], tuple[list[str], np.ndarray]]

    def synthesize_text(self, text: str, voice: str, decode: bool) -> tuple[list[str], np.ndarray | None]:
        words, audio = self.program.synthesize_text(text, voice, decode)
        assert audio is not None
        return self.spoil(words, audio)


def test_gate_fails_on_one_word_or_sample(bundle: Path) -> None:
    tts = Synthesizer(bundle, threads=1)

    def off(spoil: Callable[[list[str], np.ndarray], tuple[list[str], np.ndarray]]) -> tuple[float, float]:
        words, audio, *_ = validate_text(tts, Spoiled(program(bundle), spoil), decode=True)
        assert words.passed is (words.value == 0)
        return words.value, audio.value

    speech = tts(SENTENCES["a"], "af_heart", markup=False)
    assert off(lambda words, audio: (["0 1 a Hello", *words[1:]], audio)) == (1, 0)
    assert off(lambda words, audio: (words, np.append(audio[:-1], np.float32(9)))) == (0, 1)
    assert off(lambda words, audio: (words[:-1], audio[:-1])) == (len(speech.timeline), speech.audio.size)


def test_gate_skips_languages_that_c_does_not_read(bundle: Path, tmp_path: Path) -> None:
    """Languages without a voice, those of espeak-ng, and bundles without a front end."""
    folder = shutil.copytree(bundle, tmp_path / "bundle")
    languages = {"a": {"name": "American English"}, "e": {"name": "Spanish", "espeak": "es"}}
    edit_manifest(folder, lambda manifest: manifest.update(languages=languages))
    result = list(validate_text(Synthesizer(folder, threads=1), program(folder), decode=False))
    assert [v.where for v in result] == ["American English words"]
    edit_manifest(folder, lambda manifest: manifest.update(front_end=None))
    assert not list(validate_text(Synthesizer(folder, threads=1), program(folder), decode=False))


@pytest.mark.slow("runs code for other CPUs and macOS in QEMU, and for Windows in Wine")
@pytest.mark.parametrize("recipe", ["linux-arm64", "linux-riscv64", "macos-arm64", "windows-x86-64"])
def test_other_machines_speak_seven_languages(
    recipe: str, runner_runtime: Callable[[str], list[Path]], front_end_files: Path, tmp_path: Path
) -> None:
    """Compare with Python's runtime and the same emulated code."""
    if reason := obstacle(recipe):
        pytest.skip(reason)
    runner, libraries = runner_of(recipe), runner_runtime(recipe)
    compiler = tools_for(recipe_of(recipe).target).c_compiler()
    assert compiler is not None
    toy = write_bundle(tmp_path / "toy")
    compile_into(toy, "exact", recipe)
    refresh(toy)
    talking = with_front_end(toy, front_end_files, tmp_path / "talking")
    bundle = in_seven_languages(talking, tmp_path / "bundle")
    (tmp_path / "built").mkdir()
    compile_libkokoro(compiler, tmp_path / "built", *STRICT)
    files = add_program(bundle, tmp_path / "built", names_of(compiler), libraries)

    def start(program: Path) -> Start:
        started = runner.start(program, libraries)
        assert started is not None
        return started

    tts = open_synthesizer(runner, bundle, 1, libraries)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpeechWarning)
        verdicts = list(validate_text(tts, SpeakProgram(bundle, files, start, threads=1), decode=True))
    assert [v.where for v in verdicts] == [
        f"{name} {item}" for name in LANGUAGES for item in ("words", "audio")
    ]
    assert [str(v) for v in verdicts if not v.passed] == []
