"""The C that reads text, on other machines and as WebAssembly: it finds the tokens that it finds here."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import front_end_vectors
import pytest

from kokoro_tvm.libkokoro import FOLDER, LINUX, compile_sources, library_sources
from kokoro_tvm.runners.qemu import Qemu
from kokoro_tvm.toolchains.cc import CCompiler
from kokoro_tvm.toolchains.zig import ZigC

HERE = Path(__file__).parent / "programs"
SHARED = [
    HERE / "text.c",
    *sorted(FOLDER.glob("text/*.c")),
    *(FOLDER / name for name in ("base.c", "files.c", "json.c", "sha256.c")),
]
LINUX_ALONE = [p for p in library_sources(LINUX) if p.name in ("os_posix.c", "os_linux.c", "verified.c")]
LINES = "".join(
    f"read:{' '.join(f'{ord(char):x}' for char in text)}\n" for text, _ in front_end_vectors.few_texts()
)
pytestmark = pytest.mark.slow("compiles for other machines")


def printed(command: Sequence[str]) -> str:
    return subprocess.run(command, input=LINES, capture_output=True, text=True, check=True).stdout


def compile_for_linux(compiler: CCompiler, out: Path) -> None:
    if reason := compiler.check():
        pytest.skip(reason)
    compile_sources(compiler, [*SHARED, *LINUX_ALONE], out, "-lpthread", "-ldl", "-lm")


@pytest.fixture(scope="module")
def expected(here: CCompiler, front_end_files: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is printed on this machine."""
    program = tmp_path_factory.mktemp("here") / "text"
    compile_for_linux(here, program)
    found = printed([str(program), str(front_end_files / "front_end.safetensors"), "a"])
    assert found.count("\n") == LINES.count("\n")
    return found


@pytest.mark.parametrize(
    "machine", [Qemu("aarch64", "cortex-a72"), Qemu("riscv64", "rv64")], ids=["aarch64", "riscv64"]
)
def test_on_other_cpus(machine: Qemu, expected: str, front_end_files: Path, tmp_path: Path) -> None:
    if reason := machine.check():
        pytest.skip(reason)
    compile_for_linux(machine.compiler, tmp_path / "text")
    start = machine.start(tmp_path / "text")
    assert start is not None
    assert printed([*start.command, str(front_end_files / "front_end.safetensors"), "a"]) == expected


def test_as_webassembly(expected: str, front_end_files: Path, tmp_path: Path) -> None:
    """In Node."""
    compiler, wasi = ZigC("zig cc", "ziglang", "wasm32-wasi"), HERE / "wasi"
    if reason := compiler.check() or (None if shutil.which("node") else "no Node here"):
        pytest.skip(reason)
    options = (f"-I{wasi}", "-msimd128", "-s")
    compile_sources(compiler, [*SHARED, wasi / "os_wasi.c"], tmp_path / "text.wasm", *options)
    command = ["node", "--no-warnings", str(wasi / "run.mjs"), str(tmp_path / "text.wasm")]
    assert printed([*command, str(front_end_files), "a"]) == expected
