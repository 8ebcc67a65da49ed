"""Code under QEMU: kernels and errors, as if they ran here; and what becomes of an instruction too new."""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from machines import machine_of
from tvm.script import tirx as T

from kokoro_tvm.compiler.codegen import generate
from kokoro_tvm.cpu_features import PORTABLE
from kokoro_tvm.errors import BuildError, BundleError
from kokoro_tvm.runners.process import Server
from kokoro_tvm.runners.qemu import Qemu
from kokoro_tvm.runtime.cpu import refuse_missing
from kokoro_tvm.targets import Machine, find_runner, target_kind
from kokoro_tvm.targets.llvm import LlvmTarget

OPTIONS = {"opt_level": 3, "disabled_passes": [], "config": {}}
X86 = "x86_64-linux-gnu"
OLD, NEWER = Qemu("x86_64", "Nehalem"), Qemu("x86_64", "Haswell")
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or OLD.check() is not None,
    reason="no qemu-x86_64 on an x86-64 machine (Debian: apt-get install qemu-user)",
)


@T.prim_func(s_tir=True)
def scaled(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")) -> None:
    T.func_attr({"global_symbol": "scaled"})
    for i in T.parallel(64):
        with T.sblock("y"):
            j = T.axis.spatial(64, i)
            y[j] = T.exp(x[j]) * T.float32(3) + x[j]


@T.prim_func(s_tir=True)
def beyond(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")) -> None:
    T.func_attr({"global_symbol": "beyond"})
    for i in range(5):  # one more than there are
        with T.sblock("y"):
            j = T.axis.spatial(5, i)
            y[j] = x[j]


@cache
def runtime_files() -> dict[str, Path]:
    spec = LlvmTarget(kind="llvm", mcpu="x86-64-v2", mtriple=X86, emulate="Nehalem")
    found = target_kind("llvm").runtime_libraries(spec)
    return {role: path for role, path in found.items() if isinstance(path, Path)}


def library(kernel: Any, machine: Machine, folder: Path) -> Path:
    name = str(kernel.attrs["global_symbol"])
    generate(name, kernel, machine, OPTIONS).write_to_file(str(folder / f"{name}.o"))
    spec = LlvmTarget(kind="llvm", mcpu="x86-64-v2", mtriple=X86)
    target_kind("llvm").toolchain(spec).link([folder / f"{name}.o"], folder / f"{name}.so")
    return folder / f"{name}.so"


Serve = Callable[[Qemu], Server]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[Server] = []

    def start(runner: Qemu) -> Server:
        folder = tmp_path / f"runtime-{len(started)}"
        folder.mkdir()
        for path in runtime_files().values():
            shutil.copyfile(path, folder / path.name)
        started.append(runner.serve(folder, 2))
        return started[-1]

    yield start
    for server in started:
        server.close()


X = np.linspace(-1, 1, 64, dtype=np.float32)
EXPECTED = np.exp(X) * np.float32(3) + X


def test_a_kernel_gives_what_it_gives_here(serve: Serve, tmp_path: Path) -> None:
    path = library(scaled, machine_of("x86-64-v2", X86), tmp_path)
    server = serve(OLD)
    number = server.open(path, "module")
    _, y = server.call(number, "scaled", [X, np.full(64, np.nan, np.float32)], result="arguments")
    here = np.zeros(64, np.float32)
    tvm_ffi.load_module(str(path))["scaled"](*map(tvm_ffi.from_dlpack, (X.copy(), here)))
    assert np.array_equal(y, here), "the same instructions, the same bits"
    assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_an_array_can_stay(serve: Serve, tmp_path: Path) -> None:
    server = serve(OLD)
    number = server.open(library(scaled, machine_of("x86-64-v2", X86), tmp_path), "module")
    kept = server.keep(X)
    for _ in range(2):
        x, y = server.call(number, "scaled", [kept, np.zeros(64, np.float32)], result="arguments")
        assert np.array_equal(x, X)
        assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_an_instruction_that_the_cpu_lacks_is_named(serve: Serve, tmp_path: Path) -> None:
    path = library(scaled, machine_of("x86-64-v3", X86), tmp_path)
    arguments = [X, np.zeros(64, np.float32)]
    server = serve(NEWER)
    _, y = server.call(server.open(path, "module"), "scaled", arguments, result="arguments")
    assert np.allclose(y, EXPECTED, rtol=1e-5)
    server = serve(OLD)
    number = server.open(path, "module")
    with pytest.raises(BundleError) as caught:
        server.call(number, "scaled", arguments)
    assert str(caught.value) == (
        f"{OLD.version()} could not run scaled: it was ended by signal SIGILL, an instruction that this CPU "
        "lacks."
    )
    assert caught.value.exit_code == 5


def test_what_the_emulated_cpu_has_is_what_it_says_itself(serve: Serve) -> None:
    """Not what this machine's /proc/cpuinfo says, which an emulated program reads."""
    assert serve(OLD).features() == PORTABLE["x86-64-v2"]
    assert PORTABLE["x86-64-v3"] <= serve(NEWER).features()


def test_a_bundle_for_another_cpu_is_refused_with_the_features_name(serve: Serve) -> None:
    needs = tuple(sorted(PORTABLE["x86-64-v3"]))
    bundle: Any = SimpleNamespace(root="bundle", recipe="newer", cpu_features=needs)
    had = serve(OLD).features()
    with pytest.raises(BundleError) as caught:
        refuse_missing(bundle, had, OLD.version())
    assert str(caught.value) == (
        "bundle (recipe newer) was built for a processor with avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe, "
        f"which {OLD.version()} lacks."
    )


def test_a_kernel_that_leaves_its_arguments_is_found(serve: Serve, tmp_path: Path) -> None:
    path = library(beyond, machine_of("x86-64-v2", X86), tmp_path)
    arguments = [np.ones(4, np.float32), np.zeros(4, np.float32)]
    server = serve(OLD)
    with pytest.raises(BundleError, match="could not run beyond: it was ended by signal SIGSEGV"):
        server.call(server.open(path, "module"), "beyond", arguments, place="end")


def test_what_tvm_raises_is_an_error_and_the_server_goes_on(serve: Serve, tmp_path: Path) -> None:
    server = serve(OLD)
    with pytest.raises(BundleError, match=r"could not load none.so: .*none.so.*cannot open shared object"):
        server.open(tmp_path / "none.so", "module")
    number = server.open(library(scaled, machine_of("x86-64-v2", X86), tmp_path), "module")
    with pytest.raises(BundleError, match=r"could not run scaled: .*argument"):
        server.call(number, "scaled", [X])
    _, y = server.call(number, "scaled", [X, np.zeros(64, np.float32)], result="arguments")
    assert np.allclose(y, EXPECTED, rtol=1e-5)


def test_a_symbol_that_is_missing_is_named_when_the_library_is_loaded(serve: Serve, tmp_path: Path) -> None:

    source = tmp_path / "lacking.c"
    source.write_text("extern int nobody_has_this(void);\nint f(void) { return nobody_has_this(); }\n")
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", str(source), "-o", str(tmp_path / "lacking.so")]
    subprocess.run(command, check=True)
    with pytest.raises(BundleError, match="nobody_has_this"):
        serve(OLD).open(tmp_path / "lacking.so", "module")


def test_where_there_is_no_emulator_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Qemu("sparc64v9", "anything")
    with pytest.raises(BuildError) as caught:
        missing.version()
    for word in ("qemu-sparc64v9", "apt-get install qemu-user", "run: false"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 3
    assert str(missing.check()) == str(caught.value)


def test_a_target_says_what_it_is_emulated_as() -> None:
    found, reason = find_runner(
        {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu", "emulate": "cortex-a53"}
    )
    assert isinstance(found, Qemu)
    assert (found.program, found.cpu, reason) == ("qemu-aarch64", "cortex-a53", "")
    off = find_runner({"kind": "llvm", "mcpu": "native", "run": False})
    assert off == (None, "the recipe's target says `run: false`")
