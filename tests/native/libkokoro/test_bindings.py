"""Bindings of libkokoro in other languages: their audio equals that of Python's runtime, bit for bit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from calls import timeline

from kokoro_tvm import Synthesizer
from kokoro_tvm.native.libkokoro import HEADER, sources
from kokoro_tvm.validation.measure.text_from_c import format_words

BINDINGS = Path(__file__).parent / "bindings"
INCLUDE = next(path.parent for path in sources() if path.name == HEADER)
NODE_HEADERS = Path("/usr/include/node")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
PHONEMES, VOICE, SPEED, SEED = "ab, “ca” d.", "af_heart,bf_emma", 0.75, 1 << 40
TEXT = "😀 A coin, 2 kg: a bad cab! Is it “naïve” — or not? He came home, and she left… It costs $2.50."


@dataclass(frozen=True)
class Setting:
    """Folder of libkokoro.so, arguments and environment of programs, expected audio and words."""

    built: Path
    folder: Path
    arguments: list[str]
    expected: tuple[bytes, str]
    environment: dict[str, str]

    def compile(self, command: Sequence[str | Path]) -> None:
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def check(self, command: Sequence[str | Path]) -> None:
        out = self.folder / "audio.f32"
        words = [*map(str, command), *self.arguments, str(out)]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=False)
        assert done.returncode == 0, done.stderr
        assert (out.read_bytes(), done.stdout.strip()) == self.expected

    def check_error(self, command: Sequence[str | Path]) -> None:
        """Check that the message of an error arrives."""
        words = [*map(str, command), "/nowhere", *self.arguments[1:], str(self.folder / "none.f32")]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment, check=False)
        assert done.returncode != 0
        assert "There is no bundle at /nowhere: the folder does not exist." in done.stderr


@pytest.fixture
def setting(built: Path, tvm: Path, compiled: Callable[[str], Path], tmp_path: Path) -> Setting:
    synthesizer = Synthesizer(compiled("exact"), threads=1)
    speech = synthesizer.from_phonemes(PHONEMES, voice=VOICE, speed=SPEED, seed=SEED)
    arguments = [str(compiled("exact")), PHONEMES, VOICE, str(SPEED), str(SEED)]
    environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm), "LD_LIBRARY_PATH": str(built)}
    expected = speech.audio.tobytes(), "\n".join(timeline(speech))
    return Setting(built, tmp_path, arguments, expected, environment)


@pytest.fixture
def texts(built: Path, tvm: Path, polyglot: Path, tmp_path: Path) -> Setting:
    """Return the setting for programs that speak a text in pieces."""
    speech = Synthesizer(polyglot, threads=1)(TEXT, "bf_emma", 1.5, SEED, markup=False)
    assert speech.plan is not None
    assert len(speech.plan.pieces) > 1
    arguments = [str(polyglot), TEXT, "bf_emma", "1.5", str(SEED)]
    environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm), "LD_LIBRARY_PATH": str(built)}
    expected = speech.audio.tobytes(), "\n".join(format_words(speech.plan))
    return Setting(built, tmp_path, arguments, expected, environment | {"LC_ALL": "C.UTF-8"})


def test_ctypes_speaks_as_python(setting: Setting) -> None:
    command = [sys.executable, BINDINGS / "speak.py", setting.built / "libkokoro.so"]
    setting.check(command)
    setting.check_error(command)


def test_ctypes_speaks_beside_the_python_runtime(setting: Setting) -> None:
    """Both use the same TVM runtime of the process."""
    code = f"""
import runpy, sys
from kokoro_tvm import Synthesizer
tts = Synthesizer(sys.argv[2])
before = tts.from_phonemes("abc").audio
runpy.run_path({str(BINDINGS / "speak.py")!r}, run_name="__main__")
assert (tts.from_phonemes("abc").audio == before).all()
"""
    setting.check([sys.executable, "-c", code, setting.built / "libkokoro.so"])


def test_loading_keeps_the_fault_handler(setting: Setting) -> None:
    """libtvm_ffi installs a handler, with which Java would crash at its next null pointer."""
    code = f"""
import faulthandler, os, runpy, signal
faulthandler.enable()
runpy.run_path({str(BINDINGS / "speak.py")!r}, run_name="__main__")
os.kill(os.getpid(), signal.SIGSEGV)
"""
    words = [sys.executable, "-c", code, str(setting.built / "libkokoro.so"), *setting.arguments]
    command = [*words, str(setting.folder / "audio.f32")]
    done = subprocess.run(command, capture_output=True, text=True, env=setting.environment, check=False)
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_cpp_speaks_as_python(setting: Setting) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++ (Debian: apt-get install g++)")
    program = setting.folder / "speak"
    flags = [f"-I{INCLUDE}", f"-L{setting.built}", "-lkokoro", "-o", program]
    setting.compile(["g++", "-std=c++11", *WARNINGS, BINDINGS / "speak.cc", *flags])
    setting.check([program])
    setting.check_error([program])


def test_rust_speaks_as_python(texts: Setting) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc (Debian: apt-get install rustc)")
    program = texts.folder / "say"
    flags = ["--edition=2021", "-D", "warnings", "-L", texts.built, "-o", program]
    texts.compile(["rustc", *flags, BINDINGS / "say.rs"])
    texts.check([program])
    texts.check_error([program])


@pytest.mark.slow("needs a JDK")
def test_java_speaks_as_python(texts: Setting) -> None:
    """Kotlin calls the same class."""
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("no javac (Debian: apt-get install default-jdk-headless)")
    headers = Path(compiler).resolve().parents[1] / "include"
    includes = ["-isystem", headers, "-isystem", headers / "linux", f"-I{INCLUDE}"]
    flags = ["-shared", "-fPIC", f"-L{texts.built}", "-lkokoro", "-o", texts.folder / "libkokoro_jni.so"]
    texts.compile(["gcc", "-std=c99", *WARNINGS, *includes, BINDINGS / "kokoro_jni.c", *flags])
    classes = [BINDINGS / "Kokoro.java", BINDINGS / "Say.java"]
    texts.compile([compiler, "-Xlint:all", "-Werror", "-encoding", "UTF-8", "-d", texts.folder, *classes])
    # What handles signals is not looked at while libtvm_ffi is loaded, where it is another for a moment.
    checks = ["-Xcheck:jni", "-XX:+AllowUserSignalHandlers"]
    command = ["java", *checks, "-cp", texts.folder, f"-Djava.library.path={texts.folder}", "Say"]
    texts.check(command)
    texts.check_error(command)


@pytest.mark.slow("needs Mono")
def test_csharp_speaks_as_python(texts: Setting) -> None:
    if shutil.which("mcs") is None or shutil.which("mono") is None:
        pytest.skip("no Mono (Debian: apt-get install mono-mcs mono-runtime)")
    program = texts.folder / "Say.exe"
    texts.compile(["mcs", "-warnaserror", f"-out:{program}", BINDINGS / "Say.cs"])
    texts.check(["mono", program])
    texts.check_error(["mono", program])


def test_node_speaks_as_python(setting: Setting) -> None:
    if shutil.which("node") is None or not (NODE_HEADERS / "node_api.h").is_file():
        pytest.skip("no node with headers (Debian: apt-get install libnode-dev nodejs)")
    addon = setting.folder / "kokoro.node"
    flags = ["-shared", "-fPIC", "-isystem", NODE_HEADERS, f"-I{INCLUDE}", f"-L{setting.built}", "-lkokoro"]
    setting.compile(["gcc", "-std=c99", *WARNINGS, BINDINGS / "addon.c", *flags, "-o", addon])
    setting.check(["node", BINDINGS / "speak.js", addon])
    setting.check_error(["node", BINDINGS / "speak.js", addon])


@pytest.mark.slow("needs doxygen")
def test_header_is_documented(tmp_path: Path) -> None:
    if shutil.which("doxygen") is None:
        pytest.skip("no doxygen (Debian: apt-get install doxygen)")
    settings = (f"INPUT={INCLUDE}/kokoro.h", f"OUTPUT_DIRECTORY={tmp_path}", "OPTIMIZE_OUTPUT_FOR_C=YES")
    settings += ("MACRO_EXPANSION=YES", "PREDEFINED=KOKORO_API=", "HAVE_DOT=NO", "QUIET=YES")
    done = subprocess.run(["doxygen", "-"], input="\n".join(settings), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "language", [["gcc", "-std=c99", "-xc"], ["g++", "-std=c++98", "-xc++", "-Wno-long-long"]]
)
def test_header_compiles_alone(language: list[str], tmp_path: Path) -> None:
    if shutil.which(language[0]) is None:
        pytest.skip(f"no {language[0]} (Debian: apt-get install {language[0]})")
    (tmp_path / "alone").write_text('#include "kokoro.h"\n', encoding="utf-8")
    command = [*language, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", str(tmp_path / "alone")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
