"""The front end in C on other CPUs and as WebAssembly, compared with this machine."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

import front_end_vectors
import pytest
from c_readings import drawn_passages, reading, units

from kokoro_tvm.native.libkokoro import FOLDER, LINUX, compile_sources, compile_text
from kokoro_tvm.native.toolchains.cc import CCompiler
from kokoro_tvm.native.toolchains.zig import WASI
from kokoro_tvm.runtime.text.frontend.data import FrontEndFile
from kokoro_tvm.runtime.text.frontend.front_end import FrontEnd
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


def node_test(file: Path, **variables: Path) -> str:
    environment = os.environ | {name: str(path) for name, path in variables.items()}
    command = ["node", "--test", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_text_module_reads_passages_as_python(module: Path, front_end_files: Path, tmp_path: Path) -> None:
    """In seven languages with links; a refused passage does not affect the next."""
    path = front_end_files / "front_end.safetensors"
    front_end, rows = FrontEnd(FrontEndFile.open(path)), []
    for code in "abefhip":
        for source in drawn_passages(code, 25):
            place = units(source.text)
            links = [asdict(replace(x, start=place[x.start], end=place[x.end])) for x in source.links]
            read, notices = reading(source, code, front_end)
            for token in chain.from_iterable(read):
                token[1:3] = [place[token[1]], place[token[2]]]
            rows.append([source.text, links, code, read, notices])
    (tmp_path / "readings.json").write_text(json.dumps(rows), encoding="utf-8")
    variables = {"TEXT": module, "FRONT_END": path, "READINGS": tmp_path / "readings.json"}
    assert f"{len(rows)} of {len(rows)} passages" in node_test(HERE / "front_end.mjs", **variables)


def test_text_module_plans_texts_as_python(module: Path, front_end_files: Path) -> None:
    program = HERE.parents[1] / "web" / "planning.test.mjs"
    node_test(program, TEXT=module, FRONT_END=front_end_files / "front_end.safetensors")


def test_text_module_imports_nothing(module: Path) -> None:
    """It is small too, because it travels before the first word."""
    script = "WebAssembly.instantiate(fs.readFileSync(process.argv[1]))"  # fails where something is missing
    subprocess.run(["node", "-e", script, str(module)], check=True)
    assert len(gzip.compress(module.read_bytes())) < 220_000
