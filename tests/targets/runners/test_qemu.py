"""The runner under QEMU; test_served.py covers what all runners share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from elsewhere import library_of, machine_for, obstacle, runner_of
from machines import machine_of
from small_kernels import scaled

from kokoro_tvm.common.cpu_features import PORTABLE
from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.runtime.session.cpu import refuse_missing
from kokoro_tvm.targets import find_runner
from kokoro_tvm.targets.runners.process import RunnerProcess
from kokoro_tvm.targets.runners.qemu import Qemu

pytestmark = pytest.mark.slow("runs code for other CPUs in QEMU")

RECIPE, X86 = "x86-64-v2", "x86_64-linux-gnu"
SERVER = "linux-arm64-server"
OLD, NEWER = Qemu("x86_64", "Nehalem"), Qemu("x86_64", "Haswell")
needs_qemu = pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE)))
X = np.linspace(-1, 1, 64, dtype=np.float32)
EXPECTED = np.exp(X) * np.float32(3) + X
Serve = Callable[[Qemu], RunnerProcess]


@pytest.fixture
def serve(runner_runtime: Callable[[str], list[Path]]) -> Iterator[Serve]:
    started: list[RunnerProcess] = []

    def start(runner: Qemu) -> RunnerProcess:
        started.append(runner.serve(runner_runtime(RECIPE), 2))
        return started[-1]

    yield start
    for server in started:
        server.close()


@needs_qemu
def test_emulated_code_computes_the_same_bits(serve: Serve, tmp_path: Path) -> None:
    path = library_of(RECIPE, scaled(), tmp_path)
    server = serve(OLD)
    number = server.open(path, "module")
    _, y = server.call(number, "scaled", [X, np.full(64, np.nan, np.float32)], result="arguments")
    here = np.zeros(64, np.float32)
    tvm_ffi.load_module(str(path))["scaled"](*map(tvm_ffi.from_dlpack, (X.copy(), here)))
    assert np.array_equal(y, here)


@needs_qemu
def test_illegal_instruction_is_reported(serve: Serve, tmp_path: Path) -> None:
    path = library_of(RECIPE, scaled(), tmp_path, machine=machine_of("x86-64-v3", X86))
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


@needs_qemu
def test_bundle_for_a_newer_cpu_is_refused_by_features(serve: Serve) -> None:
    needs = tuple(sorted(PORTABLE["x86-64-v3"]))
    bundle: Any = SimpleNamespace(root="bundle", recipe="newer", cpu_features=needs)
    assert PORTABLE["x86-64-v3"] <= serve(NEWER).features()
    with pytest.raises(BundleError) as caught:
        refuse_missing(bundle, serve(OLD).features(), OLD.version())
    assert str(caught.value) == (
        "bundle (recipe newer) was built for a processor with avx, avx2, bmi, bmi2, f16c, fma, lzcnt, movbe, "
        f"which {OLD.version()} lacks."
    )


@pytest.mark.skipif(obstacle(SERVER) is not None, reason=str(obstacle(SERVER)))
def test_bundle_for_servers_is_refused_by_features(
    runner_runtime: Callable[[str], list[Path]],
) -> None:
    needs = machine_for(SERVER).required
    newest = runner_of(SERVER).serve(runner_runtime(SERVER), 2)
    had = newest.features()
    newest.close()
    assert set(needs) <= had
    older = Qemu("aarch64", "cortex-a72")
    server = older.serve(runner_runtime(SERVER), 2)
    bundle: Any = SimpleNamespace(root="bundle", recipe=SERVER, cpu_features=needs)
    with pytest.raises(BundleError) as caught:
        refuse_missing(bundle, server.features(), older.version())
    server.close()
    assert str(caught.value) == (
        f"bundle (recipe {SERVER}) was built for a processor with bf16, complxnum, dotprod, flagm, fp16fml, "
        f"fullfp16, i8mm, jsconv, lse, rcpc, rcpc-immo, rdm, which {older.version()} lacks."
    )


@needs_qemu
def test_undefined_symbol_is_named_at_loading(serve: Serve, tmp_path: Path) -> None:
    source = tmp_path / "lacking.c"
    source.write_text("extern int nobody_has_this(void);\nint f(void) { return nobody_has_this(); }\n")
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,now", str(source), "-o", str(tmp_path / "lacking.so")]
    subprocess.run(command, check=True)
    with pytest.raises(BundleError, match="nobody_has_this"):
        serve(OLD).open(tmp_path / "lacking.so", "module")


def test_version_names_the_missing_emulator() -> None:
    missing = Qemu("sparc64v9", "anything")
    with pytest.raises(BuildError) as caught:
        missing.version()
    for word in ("qemu-sparc64v9", "apt-get install qemu-user", "run: false"):
        assert word in str(caught.value)
    assert caught.value.exit_code == 3
    assert str(missing.check()) == str(caught.value)


def test_find_runner_returns_the_emulated_cpu() -> None:
    matches, reason = find_runner(
        {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu", "emulate": "cortex-a53"}
    )
    assert isinstance(matches, Qemu)
    assert (matches.program, matches.cpu, reason) == ("qemu-aarch64", "cortex-a53", "")
    off = find_runner({"kind": "llvm", "mcpu": "native", "run": False})
    assert off == (None, "the recipe's target says `run: false`")
