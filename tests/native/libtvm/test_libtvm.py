"""The TVM runtime compiled from its sources."""

from __future__ import annotations

import base64
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checkout import RECIPES, ROOT
from elsewhere import library_of, machine_for, obstacle, runner_of
from small_kernels import scaled

from kokoro_tvm.builder.graph import RecipeGraph
from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.native.libtvm import FFI, RUNTIME, compile_libtvm, own_files
from kokoro_tvm.native.toolchains.cc import CCompiler, linux_compiler, tvm_ffi_headers
from kokoro_tvm.recipe import load_recipe
from kokoro_tvm.runtime.session.cpu import refuse_missing

pytestmark = pytest.mark.slow("runs code for other machines")

RECIPE = "linux-riscv64"
INCLUDE = ROOT / "kokoro_tvm" / "native" / "libtvm" / "include"
HARD_FLOAT_DOUBLE = 4  # of a RISC-V ELF file's flags
needs_riscv = pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE)))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ (Debian: apt-get install g++)")
def test_stream_headers_write_tvms_format(tmp_path: Path) -> None:
    """Counts have 64 bits, and plain values are stored as in memory."""
    program, ffi = tmp_path / "streams", tvm_ffi_headers()
    places = [INCLUDE, INCLUDE / "tvm", ffi]
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", *(f"-I{place}" for place in places)]
    command += ["-isystem", str(ffi), str(Path(__file__).with_name("streams.cc")), "-o", str(program)]
    library = ffi.parent / "lib"
    subprocess.run([*command, f"-L{library}", "-ltvm_ffi", f"-Wl,-rpath,{library}"], check=True)
    process = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    matches, encoded = process.stdout.split()

    def counted(*parts: bytes) -> bytes:
        return struct.pack("<Q", len(parts)) + b"".join(parts)

    def text(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    expected = struct.pack("<i", 7) + text(b"abc") + text(b"") + counted(text(b"x"), text(b""))
    expected += counted(struct.pack("<q", 258)) + counted(text(b"yz")) + bytes([2, 32, 1, 0])
    assert bytes.fromhex(matches) == expected + struct.pack("<2q", 3, -1)
    assert base64.b64decode(encoded) == text(b"any text")


def test_compile_libtvm_names_the_missing_compiler(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        compile_libtvm(linux_compiler("sparc64", "g++"), tmp_path, 1)
    for word in ("sparc64-linux-gnu-g++", "apt-get install g++-sparc64-linux-gnu"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 3
    assert list(tmp_path.iterdir()) == []


def test_compile_libtvm_reports_the_compilers_message(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo "some g++ 1.2" && exit\necho not today; exit 1\n'
    )
    compiler.chmod(0o700)
    with pytest.raises(BuildError, match=r"^some g\+\+ 1\.2 could not compile \w+\.cc: not today\.$"):
        compile_libtvm(CCompiler(str(compiler), "g++"), tmp_path, 1)


def test_runtime_stage_key_contains_compiler_headers_and_versions(tmp_path: Path) -> None:
    if obstacle(RECIPE) is not None:
        pytest.skip(str(obstacle(RECIPE)))
    stage = RecipeGraph(load_recipe(RECIPE, RECIPES), tmp_path, ROOT).runtime
    assert stage is not None
    assert (stage.kind, stage.outputs) == ("libtvm", (RUNTIME, FFI))
    facts = stage.facts()
    assert "riscv64-linux-gnu-g++" in facts["compiler"]
    assert set(facts["sources"]) == {path.name for path in own_files()}
    assert {"apache-tvm", "apache-tvm-ffi"} <= set(facts["versions"])
    assert stage.parameters["compiler"]["command"] == "riscv64-linux-gnu-g++"


@needs_riscv
def test_compile_libtvm_uses_the_float_abi_of_c(tmp_path: Path) -> None:
    """A library with another ABI would not load."""
    (flags,) = struct.unpack_from("<I", library_of(RECIPE, scaled(), tmp_path).read_bytes(), 48)
    assert flags & 6 == HARD_FLOAT_DOUBLE
    linux_compiler("riscv64").run(["-shared", "-nostdlib", "-xc", os.devnull, "-o", str(tmp_path / "c")], "c")
    assert struct.unpack_from("<I", (tmp_path / "c").read_bytes(), 48) == (flags,)


@needs_riscv
@pytest.mark.nightly
def test_compiled_runtime_executes_code_with_threads(
    runner_runtime: Callable[[str], list[Path]], tmp_path: Path
) -> None:
    x = np.linspace(-1, 1, 64, dtype=np.float32)
    server = runner_of(RECIPE).serve(runner_runtime(RECIPE), 2)
    number = server.open(library_of(RECIPE, scaled(), tmp_path), "module")
    _, y = server.call(number, "scaled", [x, np.full(64, np.nan, np.float32)], result="arguments")
    assert np.allclose(y, np.exp(x) * np.float32(3) + x, rtol=1e-6)
    with pytest.raises(BundleError, match=r"could not load nothing\.so: .*cannot open shared object file"):
        server.open(tmp_path / "nothing.so", "vm")
    assert server.features() == {"m", "a", "f", "d", "c"} == set(machine_for(RECIPE).required)
    bundle: Any = SimpleNamespace(root="bundle", recipe="vectors", cpu_features=("d", "v"))
    with pytest.raises(BundleError, match=r"was built for a processor with v, which qemu-riscv64 .* lacks"):
        refuse_missing(bundle, server.features(), server.name)
    server.close()


@needs_riscv
@pytest.mark.nightly
def test_compiled_libraries_contain_no_path_and_need_no_libatomic(
    runner_runtime: Callable[[str], list[Path]],
) -> None:
    for library in runner_runtime(RECIPE):
        assert str(Path.home()).encode() not in library.read_bytes()
        assert str(ROOT).encode() not in library.read_bytes()
        command = ["riscv64-linux-gnu-readelf", "--dynamic", "--version-info", str(library)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", shown))
        assert needed <= {FFI, "libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6"} | {
            "ld-linux-riscv64-lp64d.so.1"
        }
        versions = {tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", shown)}
        assert max(versions) <= (2, 34)
