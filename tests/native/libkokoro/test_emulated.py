"""libkokoro on emulated CPUs, without Python in the emulator."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kokoro_tvm import Synthesizer
from kokoro_tvm.native.libkokoro import LINUX, compile_libkokoro
from kokoro_tvm.native.toolchains.cc import linux_compiler
from kokoro_tvm.runtime import write_wav

pytestmark = pytest.mark.slow("runs code for other CPUs in QEMU")

STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic")
PHONEMES = "abc, “da”."


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("qemu-x86_64") is None,
    reason="no qemu-x86_64 on an x86-64 machine (Debian: apt-get install qemu-user)",
)
def test_speak_on_an_emulated_cpu_equals_python(
    built: Path, tvm: Path, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    """The toy is compiled for any x86-64, so the instructions and the bits are equal."""
    speech = Synthesizer(compiled("exact"), threads=1).from_phonemes(PHONEMES, seed=9)
    write_wav(tmp_path / "expected.wav", speech.audio, speech.sample_rate)
    command = ["qemu-x86_64", "-cpu", "Nehalem", str(built / LINUX.program), str(compiled("exact"))]
    command += ["--phonemes", PHONEMES, "--seed", "9", "-o", str(tmp_path / "spoken.wav")]
    environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm), "TVM_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "spoken.wav").read_bytes() == (tmp_path / "expected.wav").read_bytes()


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None, reason="no qemu-x86_64 (Debian: apt-get install qemu-user)"
)
def test_check_cpu_asks_the_emulated_cpu(
    built: Path, tvm: Path, compiled: Callable[[str], Path], tmp_path: Path
) -> None:
    """/proc/cpuinfo shows the CPU of the host."""
    bundle = shutil.copytree(compiled("exact"), tmp_path / "bundle")
    text = (bundle / "bundle.json").read_text(encoding="utf-8")
    newer = text.replace('"cpu_features": []', '"cpu_features": ["sse4.2", "avx2", "fma"]')
    (bundle / "bundle.json").write_text(newer, encoding="utf-8")
    command = ["qemu-x86_64", "-cpu", "Nehalem", str(built / LINUX.program), str(bundle), "--phonemes", "a"]
    environment = os.environ | {"TVM_LIBRARY_PATH": str(tvm)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 5
    assert "was built for a processor with avx2, fma, which this one lacks." in done.stderr


@pytest.mark.parametrize(("architecture", "number"), [("aarch64", 183), ("riscv64", 243)])
def test_libkokoro_compiles_for_other_cpus(architecture: str, number: int, tmp_path: Path) -> None:
    compiler = linux_compiler(architecture)
    if reason := compiler.check():
        pytest.skip(reason)
    compile_libkokoro(compiler, tmp_path, *STRICT)
    machine = (tmp_path / LINUX.program).read_bytes()[18:20]
    assert machine == number.to_bytes(2, "little")  # as ELF files number architectures
