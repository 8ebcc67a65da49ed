"""libkokoro for Windows under Wine, compared with Python's runtime on the same code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calls import Speaker, durations, edited, timeline
from elsewhere import obstacle
from toy_bundle import compile_into, compile_library, file_entry, refresh, write_bundle

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.cpu_features import X86, features_of_cpu
from kokoro_tvm.native.libkokoro import HEADER, WINDOWS, compile_libkokoro, names_of, sources
from kokoro_tvm.native.toolchains.cc import MINGW
from kokoro_tvm.runtime import write_wav
from kokoro_tvm.runtime.bundle.voices import style_of
from kokoro_tvm.runtime.text.phonemes import encode
from kokoro_tvm.targets.runners import open_synthesizer
from kokoro_tvm.targets.runners.program import SpeakProgram
from kokoro_tvm.targets.runners.wine import WINE

RECIPE = "windows-x86-64"
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
PROGRAMS = Path(__file__).parent / "programs"
INCLUDE = next(path.parent for path in sources() if path.name == HEADER)
PHONEMES, SEED = "abc, d — ab!", 1 << 63 | 5
Runtime = Callable[[str], list[Path]]

pytestmark = [
    pytest.mark.slow("runs code for Windows in Wine"),
    pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE))),
]


@pytest.fixture(scope="session")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of kokoro.dll and speak.exe."""
    folder = tmp_path_factory.mktemp("windows")
    compile_libkokoro(MINGW, folder, *STRICT)
    return folder


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy compiled for Windows."""
    folder = write_bundle(tmp_path_factory.mktemp("toy"))
    compile_into(folder, "exact", RECIPE)
    refresh(folder)
    return folder


@pytest.fixture(scope="session")
def python(toy: Path, runner_runtime: Runtime) -> Synthesizer:
    """Return Python's runtime with the toy's code for Windows."""
    return open_synthesizer(WINE, toy, 1, runner_runtime(RECIPE))


@pytest.fixture
def speaker(windows: Path, runner_runtime: Runtime, tmp_path: Path) -> Speaker:
    return Speaker(windows / WINDOWS.program, runner_runtime(RECIPE)[0].parent, tmp_path, WINE.start)


@pytest.fixture
def mutable(toy: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(toy, tmp_path / "bundle"))


def rewrite(bundle: Path, path: str, value: Any) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    (bundle / "bundle.json").write_text(json.dumps(edited(manifest, path, value)), encoding="utf-8")


def test_speak_matches_python(speaker: Speaker, toy: Path, python: Synthesizer, tmp_path: Path) -> None:
    """The folder's name is neither ASCII nor in Windows' code page."""
    speech = python.from_phonemes(PHONEMES, voice="bf_emma,am_adam", speed=0.7, seed=SEED)
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    bundle = shutil.copytree(toy, tmp_path / "bündel ☃")
    words = ("--phonemes", PHONEMES, "--voice", "bf_emma,am_adam", "--speed", "0.7")
    result = speaker(bundle, *words, "--durations", "--words", seed=SEED)
    assert (result.status, result.errors) == (0, "")
    assert result.lines == [durations(speech), *timeline(speech)]
    assert result.wav == (tmp_path / "expected.wav").read_bytes()


def test_bundle_speaks_with_its_own_files(
    windows: Path, runner_runtime: Runtime, mutable: Path, python: Synthesizer
) -> None:
    """The gate of whole utterances runs the program the same way."""
    files = [windows / WINDOWS.library, windows / WINDOWS.program, INCLUDE / HEADER]
    for path in (*files, *runner_runtime(RECIPE)):
        Path(shutil.copyfile(path, mutable / path.name)).chmod(0o444)
    rewrite(mutable, "libkokoro", [file_entry(mutable / path.name) for path in files])
    for role in ("ffi", "runtime"):
        rewrite(mutable, role, file_entry(mutable / f"tvm_{role}.dll"))
    style = style_of(python.voices.table("bf_emma"), PHONEMES)
    expected = python.run(encode(PHONEMES, python.bundle.vocabulary), style, speed=0.7, seed=11)
    program = SpeakProgram(mutable, [mutable / path.name for path in files], WINE.start, threads=2)
    result = program.speak(PHONEMES, "bf_emma", 0.7, 11)
    assert result.audio.tobytes() == expected.audio.tobytes()
    assert result.durations.tolist() == expected.durations.tolist()


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (("--phonemes", "☃ ζ"), 2, "the model knows none of the phonemes ('☃' (U+2603)"),
        (("--phonemes", "a", "--voice", "af_hart"), 2, "There is no voice 'af_hart' in this bundle."),
        (("--phonemes", "ab" * 40), 2, "The utterance needs 82 tokens, but the largest bucket"),
        (("--phonemes", "a", "--sha256", "0" * 64), 5, "bundle.json has sha256 "),
        (("--phonemes", "a", "--loud"), 2, "unknown argument --loud"),
    ],
)
def test_speak_refuses_a_bad_request(
    speaker: Speaker, toy: Path, words: tuple[str, ...], status: int, text: str
) -> None:
    result = speaker(toy, *words)
    assert result.status == status, result.errors
    assert text in result.errors


def test_speak_refuses_a_damaged_bundle(speaker: Speaker, mutable: Path) -> None:
    assert "none: the folder does not exist." in speaker(mutable / "none", "--phonemes", "a").errors
    result = speaker(mutable / "bert-16.so", "--phonemes", "a")
    assert (result.status, "is a file; a bundle is a folder" in result.errors) == (5, True)
    for name in ("voices.safetensors", "bert-16.so"):
        content = (mutable / name).read_bytes()
        (mutable / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        result = speaker(mutable, "--phonemes", "a")
        assert (result.status, f"{name} has sha256 " in result.errors) == (5, True), result.errors
        (mutable / name).write_bytes(content)
    (mutable / "bert-16.so").unlink()
    assert "bert-16.so is missing from the bundle." in speaker(mutable, "--phonemes", "a").errors


def test_speak_refuses_a_library_of_another_system(
    speaker: Speaker, compiled: Callable[[str], Path], runner_runtime: Runtime
) -> None:
    result = speaker(compiled("exact"), "--phonemes", "a")
    assert result.status == 5
    assert re.search(r"bert-16\.so cannot be loaded \(error 193 of Windows: .*\)\. Build", result.errors)


def test_load_runtime_names_the_places_it_searched(windows: Path, toy: Path, tmp_path: Path) -> None:
    result = Speaker(windows / WINDOWS.program, tmp_path, tmp_path, WINE.start)(toy, "--voices")
    assert result.status == 5
    assert "tvm_ffi.dll was not found (error 126 of Windows: " in result.errors
    assert "Point TVM_LIBRARY_PATH to the folder that holds it" in result.errors


def test_check_cpu_names_missing_features(speaker: Speaker, mutable: Path) -> None:
    had = features_of_cpu()
    assert had is not None
    rewrite(mutable, "cpu_features", list(X86))
    result = speaker(mutable, "--phonemes", "a")
    missing = ", ".join(name for name in X86 if name not in had)
    assert f"was built for a processor with {missing}, which this one lacks." in result.errors


def test_recorded_file_is_not_hashed_again(speaker: Speaker, mutable: Path, tmp_path: Path) -> None:
    name = "voices.safetensors"
    content = (mutable / name).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    more = bytes(5 << 20)
    begin = len(content) - 8 - size
    header["zz"] = {"dtype": "F32", "shape": [5 << 16, 4], "data_offsets": [begin, begin + len(more)]}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    (mutable / name).write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :] + more)
    rewrite(mutable, "voices", file_entry(mutable / name))
    time.sleep(2.1)  # what was changed lately is not remembered
    assert speaker(mutable, "--voices").status == 0
    (memory,) = (tmp_path / "cache").rglob("*.json")
    (identity,) = json.loads(memory.read_text(encoding="utf-8"))
    rewrite(mutable, "voices/sha256", "f" * 64)
    assert f"{name} has sha256 " in speaker(mutable, "--voices").errors
    memory.write_text(json.dumps({identity: "f" * 64}), encoding="utf-8")
    assert speaker(mutable, "--voices").status == 0
    (mutable / name).touch()
    assert f"{name} has sha256 " in speaker(mutable, "--voices").errors


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(windows: Path, runner_runtime: Runtime, tmp_path: Path) -> Run:
    """Return a function that compiles and runs a program of `programs/` with kokoro.dll."""

    def run(name: str, *words: object) -> subprocess.CompletedProcess[str]:
        folder = Path(shutil.copytree(windows, tmp_path / name))
        options = (*STRICT, "-static", f"-I{INCLUDE}", str(folder / WINDOWS.library), "-lpthread")
        MINGW.compile(
            [PROGRAMS / f"{name}.c", INCLUDE / "os" / "os_windows.c"], folder / f"{name}.exe", *options
        )
        start = WINE.start(folder / name)
        assert start is not None
        environment = os.environ | {"TVM_LIBRARY_PATH": str(runner_runtime(RECIPE)[0].parent)}
        environment |= {"XDG_CACHE_HOME": str(tmp_path), **start.environment}
        command = [*start.command, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        start.afterwards()
        return done

    return run


def test_bundle_is_shared_by_threads(run: Run, toy: Path) -> None:
    """It is opened and closed many times too."""
    done = run("threads", toy, 12)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


def test_two_bundles_share_a_process(run: Run, toy: Path, mutable: Path, tmp_path: Path) -> None:
    """Their libraries have equal names and different content. TVM accepts ASCII paths only."""
    for bucket in (16, 64):
        path = mutable / f"bert-{bucket}.so"
        compile_library(path, "bert", bucket, "exact", claims={"project": "another"}, recipe=RECIPE)
    refresh(mutable)
    done = run("two", toy, mutable)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr
    shutil.rmtree(tmp_path / "two")
    done = run("two", toy, mutable.rename(tmp_path / "☃"))
    assert done.returncode == 1
    assert "TVM takes paths of ASCII only, and another library of this name is loaded" in done.stderr


def test_library_needs_no_mingw_files(windows: Path) -> None:
    for name in (WINDOWS.library, WINDOWS.program):
        command = ["x86_64-w64-mingw32-objdump", "-p", str(windows / name)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        needed = {result.lower() for result in re.findall(r"DLL Name: (\S+)", text)}
        assert needed <= {"kernel32.dll", "msvcrt.dll", "shell32.dll", WINDOWS.library}
        if name == WINDOWS.library:
            table = text.partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
            exported = re.findall(r"\] (\w+)$", table, re.MULTILINE)
            header = (INCLUDE / HEADER).read_text(encoding="utf-8")
            assert set(exported) == set(re.findall(r"^KOKORO_API .*?(kokoro_\w+)\(", header, re.MULTILINE))


def test_libkokoro_is_compiled_reproducibly(windows: Path, tmp_path: Path) -> None:
    compile_libkokoro(MINGW, tmp_path, *STRICT)
    assert names_of(MINGW) == WINDOWS
    for name in (WINDOWS.library, WINDOWS.program):
        assert (tmp_path / name).read_bytes() == (windows / name).read_bytes()
