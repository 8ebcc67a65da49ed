"""The front end in C on other CPUs and as WebAssembly, compared with this machine."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import front_end_vectors
import pytest

from kokoro_tvm.native.libkokoro import FOLDER, LINUX, compile_sources, compile_text
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.native.toolchains.zig import WASI
from kokoro_tvm.targets.runners.qemu import Qemu

HERE = Path(__file__).parent / "programs"
SHARED = [
    HERE / "text.c",
    *sorted(FOLDER.glob("base/*.c")),
    *sorted(FOLDER.glob("bundle/*.c")),
    *sorted(FOLDER.glob("text/*.c")),
]
LINUX_ALONE = [FOLDER / name for name in LINUX.sources]
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
    """Return the output on this machine."""
    program = tmp_path_factory.mktemp("here") / "text"
    compile_for_linux(here, program)
    result = printed([str(program), str(front_end_files / "front_end.safetensors"), "a"])
    assert result.count("\n") == LINES.count("\n")
    return result


@pytest.mark.parametrize(
    "machine", [Qemu("aarch64", "cortex-a72"), Qemu("riscv64", "rv64")], ids=["aarch64", "riscv64"]
)
def test_text_is_read_equally_on_other_cpus(
    machine: Qemu, expected: str, front_end_files: Path, tmp_path: Path
) -> None:
    if reason := machine.check():
        pytest.skip(reason)
    compile_for_linux(machine.compiler, tmp_path / "text")
    start = machine.start(tmp_path / "text")
    assert start is not None
    assert printed([*start.command, str(front_end_files / "front_end.safetensors"), "a"]) == expected


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the module of a bundle for browsers."""
    if reason := WASI.check() or (None if shutil.which("node") else "no Node here"):
        pytest.skip(reason)
    target = tmp_path_factory.mktemp("module") / "text.wasm"
    compile_text(WASI, target)
    return target


def test_text_module_imports_one_function(module: Path) -> None:
    """It looks up the languages of voices. It is small, because it travels before the first word."""
    script = "WebAssembly.Module.imports(new WebAssembly.Module(fs.readFileSync(process.argv[1])))"
    command = ["node", "-p", f"{script}.map(({{ name }}) => name).join()", str(module)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "language_of\n"
    assert len(gzip.compress(module.read_bytes())) < 260_000
