"""Other languages speak through libkokoro: each says, bit for bit, what Python's runtime says."""

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
from kokoro_tvm.libkokoro import HEADER, sources

BINDINGS = Path(__file__).parent / "bindings"
INCLUDE = next(path.parent for path in sources() if path.name == HEADER)
NODE_HEADERS = Path("/usr/include/node")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
PHONEMES, VOICE, SPEED, SEED = "ab, “ca” d.", "af_heart,bf_emma", 0.75, 1 << 40


@dataclass(frozen=True)
class Setting:
    """built: the folder of libkokoro.so; arguments: what every program is called with; expected: audio and
    words; environment: of the programs."""

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
        """The text of an error arrives."""
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


def test_python_by_ctypes(setting: Setting) -> None:
    command = [sys.executable, BINDINGS / "speak.py", setting.built / "libkokoro.so"]
    setting.check(command)
    setting.check_error(command)


def test_python_by_ctypes_beside_the_python_runtime(setting: Setting) -> None:
    """Both use the one TVM runtime of the process."""
    code = f"""
import runpy, sys
from kokoro_tvm import Synthesizer
tts = Synthesizer(sys.argv[2])
before = tts.from_phonemes("abc").audio
runpy.run_path({str(BINDINGS / "speak.py")!r}, run_name="__main__")
assert (tts.from_phonemes("abc").audio == before).all()
"""
    setting.check([sys.executable, "-c", code, setting.built / "libkokoro.so"])


def test_cpp(setting: Setting) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no g++ (Debian: apt-get install g++)")
    program = setting.folder / "speak"
    flags = [f"-I{INCLUDE}", f"-L{setting.built}", "-lkokoro", "-o", program]
    setting.compile(["g++", "-std=c++11", *WARNINGS, BINDINGS / "speak.cc", *flags])
    setting.check([program])
    setting.check_error([program])


def test_rust(setting: Setting) -> None:
    if shutil.which("rustc") is None:
        pytest.skip("no rustc (Debian: apt-get install rustc)")
    program = setting.folder / "speak"
    setting.compile(
        [
            "rustc",
            "--edition=2021",
            "-D",
            "warnings",
            BINDINGS / "speak.rs",
            "-L",
            setting.built,
            "-o",
            program,
        ]
    )
    setting.check([program])
    setting.check_error([program])


def test_node(setting: Setting) -> None:
    if shutil.which("node") is None or not (NODE_HEADERS / "node_api.h").is_file():
        pytest.skip("no node with headers (Debian: apt-get install libnode-dev nodejs)")
    addon = setting.folder / "kokoro.node"
    flags = ["-shared", "-fPIC", "-isystem", NODE_HEADERS, f"-I{INCLUDE}", f"-L{setting.built}", "-lkokoro"]
    setting.compile(["gcc", "-std=c99", *WARNINGS, BINDINGS / "addon.c", *flags, "-o", addon])
    setting.check(["node", BINDINGS / "speak.js", addon])
    setting.check_error(["node", BINDINGS / "speak.js", addon])


@pytest.mark.parametrize(
    "language", [["gcc", "-std=c99", "-xc"], ["g++", "-std=c++98", "-xc++", "-Wno-long-long"]]
)
def test_the_header_stands_alone(language: list[str], tmp_path: Path) -> None:
    if shutil.which(language[0]) is None:
        pytest.skip(f"no {language[0]} (Debian: apt-get install {language[0]})")
    (tmp_path / "alone").write_text('#include "kokoro.h"\n', encoding="utf-8")
    command = [*language, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", str(tmp_path / "alone")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
