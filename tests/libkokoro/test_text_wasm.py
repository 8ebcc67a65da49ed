"""The C that reads text, as WebAssembly: in Node it finds the tokens that it finds on this machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import front_end_vectors
import pytest

from kokoro_tvm.libkokoro import FOLDER, LINUX, compile_sources, library_sources
from kokoro_tvm.toolchains.cc import CCompiler
from kokoro_tvm.toolchains.zig import MACOS, ZigC

HERE = Path(__file__).parent / "programs"
SHARED = [
    *sorted(FOLDER.glob("text/*.c")),
    *(FOLDER / name for name in ("base.c", "files.c", "json.c", "sha256.c")),
]
WASI = ZigC("zig cc", "ziglang", "wasm32-wasi")
pytestmark = [
    pytest.mark.slow("compiles to WebAssembly"),
    pytest.mark.skipif(MACOS.check() is not None, reason=str(MACOS.check())),
    pytest.mark.skipif(shutil.which("node") is None, reason="no Node here: `node` is not installed"),
]


def test_tokens_are_the_same(here: CCompiler, front_end_files: Path, tmp_path: Path) -> None:
    own, other, program = tmp_path / "text", tmp_path / "text.wasm", HERE / "text.c"
    system = [
        path for path in library_sources(LINUX) if path.name in ("os_posix.c", "os_linux.c", "verified.c")
    ]
    compile_sources(here, [program, *SHARED, *system], own, "-lpthread", "-ldl", "-lm")
    options = (f"-I{HERE / 'wasi'}", "-msimd128", "-s")
    compile_sources(WASI, [program, *SHARED, HERE / "wasi" / "os_wasi.c"], other, *options)
    lines = "".join(
        f"read:{' '.join(f'{ord(char):x}' for char in text)}\n" for text, _ in front_end_vectors.few_texts()
    )
    file = front_end_files / "front_end.safetensors"
    commands = (
        [str(own), str(file), "a"],
        ["node", "--no-warnings", str(HERE / "wasi" / "run.mjs"), str(other), str(file.parent), "a"],
    )
    found = [
        subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
        for command in commands
    ]
    assert found[0].count("\n") == lines.count("\n")
    assert found[1] == found[0]
