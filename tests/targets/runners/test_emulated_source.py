"""GPU kernels compiled as C++ for an emulated host: code for macOS and iOS launches kernels for Metal."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elsewhere import generated_for, library_of, machine_for, recipe_of
from elsewhere import obstacle as obstacle_of
from small_kernels import scaled

from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.compiler.codegen import extract_device_code
from kokoro_tvm.kernels.gpu.kernel import GpuKernel
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.targets import find_runner, target_kind
from kokoro_tvm.targets.runners.process import Place, RunnerProcess
from kokoro_tvm.targets.runners.qemu import Qemu
from kokoro_tvm.targets.runners.source.program import compile_kernels
from kokoro_tvm.targets.runners.source.runner import EmulatedSource, SourceRunner

pytestmark = pytest.mark.slow("runs code for other machines")

RECIPES = ("metal-macos", "metal-ios")
GROUP, GROUPS = 64, 5
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"


def runner(recipe: str = "metal-macos") -> EmulatedSource:
    matches, reason = find_runner(recipe_of(recipe).target.model_dump(mode="json"))
    assert isinstance(matches, EmulatedSource), reason
    return matches


def rotation() -> Any:
    """Return a kernel that rotates the values of rows; the number of rows is known at run time."""
    k = GpuKernel("rotation", machine_for("metal-macos").features)
    with k:
        x, y = k.param("x", ("n", GROUP)), k.param("y", ("n", GROUP))
        with k.launch(GROUP, x.shape[0]) as (thread, group):
            shared = k.shared(GROUP)
            k.store(shared, x[group, thread], thread)
            k.barrier()
            k.store(y, shared[(thread + 1) % GROUP], group, thread)
    return k.build()


@pytest.fixture(scope="module", params=RECIPES)
def recipe(request: pytest.FixtureRequest) -> str:
    if reason := obstacle_of(request.param):
        pytest.skip(reason)
    return str(request.param)


@pytest.fixture(scope="module")
def serve(recipe: str, runner_runtime: Callable[[str], list[Path]]) -> Callable[[], RunnerProcess]:
    return lambda: runner(recipe).host.serve(runner_runtime(recipe), 2)


@pytest.fixture(scope="module")
def server(serve: Callable[[], RunnerProcess]) -> Iterator[RunnerProcess]:
    """Return a server that several tests share, which must not end it."""
    started = serve()
    yield started
    started.close()


Rotate = Callable[..., np.ndarray]
NUMBERS = itertools.count()  # of system libraries: a process has one of each name


@pytest.fixture
def rotate(recipe: str, tmp_path: Path) -> Rotate:
    """Return a function that edits the kernel's text, and runs its library in a server."""
    kernel, number = rotation(), next(NUMBERS)
    library = library_of(recipe, kernel, tmp_path, f"library-{number}")
    loaded, prefix = runner(recipe).host.prepare(library)
    code = extract_device_code(generated_for(recipe, kernel, prefix=prefix))
    assert code is not None

    def run(server: RunnerProcess, before: str = "", after: str = "", place: Place = "aligned") -> np.ndarray:
        ((name, content),) = code.code.items()
        text = content.decode()
        assert before in text
        edited = replace(code, code={name: text.replace(before, after, 1).encode()})
        kernels = tmp_path / "kernels.so"
        compile_kernels(edited, kernels, runner(recipe).compiler, "-DGROUP_CORES=2")
        opened = server.open(loaded, "module", "metal", kernels, prefix)
        arguments = [X, np.full(X.shape, np.nan, np.float32)]
        _, y = server.call(opened, "rotation", arguments, result="arguments", place=place, device="metal")
        return y

    return run


X = np.random.default_rng(0).standard_normal((GROUPS, GROUP), dtype=np.float32)


def test_host_code_launches_kernels_of_its_bundle(rotate: Rotate, server: RunnerProcess) -> None:
    assert rotate(server, place="end").tobytes() == np.roll(X, -1, 1).tobytes()


def test_missing_barrier_changes_the_result(rotate: Rotate, server: RunnerProcess) -> None:
    assert not np.array_equal(rotate(server, BARRIER), np.roll(X, -1, 1))


def test_unreached_barrier_is_an_error(rotate: Rotate, server: RunnerProcess) -> None:
    message = r"could not run rotation: .*rotation_kernel, workgroup .* thread 37 .* barrier in line \d+"
    with pytest.raises(BundleError, match=message) as caught:
        rotate(server, BARRIER, f"if (threadIdx != 37) {BARRIER}")
    assert caught.value.exit_code == 5


def test_index_off_by_one_ends_the_program(rotate: Rotate, serve: Callable[[], RunnerProcess]) -> None:
    with pytest.raises(BundleError, match="could not run rotation: it was ended by signal SIGSEGV"):
        rotate(serve(), "y_ptr[", "y_ptr[1 + ", place="end")


@pytest.mark.skipif(obstacle_of("macos-arm64") is not None, reason=str(obstacle_of("macos-arm64")))
def test_changed_byte_breaks_the_signature(tmp_path: Path) -> None:
    """The library that launches the kernels is signed."""
    path = library_of("macos-arm64", scaled(), tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 1
    path.write_bytes(content)
    component = SimpleNamespace(libraries=[SimpleNamespace(file=SimpleNamespace(path=path))])
    bundle: Any = SimpleNamespace(components={"decoder": component}, libkokoro=())
    with pytest.raises(BundleError, match="would be refused by macOS"):
        runner().session(bundle, 1)


def test_runner_depends_on_host_and_kind() -> None:
    native = {"kind": "llvm", "mcpu": "native"}
    arm = {"kind": "llvm", "mcpu": "cortex-a72", "mtriple": "aarch64-linux-gnu"}
    emulated = arm | {"emulate": "cortex-a72"}

    def choose(name: str, host: dict[str, str], **more: bool) -> Any:
        kind = target_kind(name)
        spec = {"kind": name, "host": host, **more}
        return kind.tools(kind.spec.model_validate(spec, strict=False)).runner()

    assert isinstance(choose("cuda", native), SourceRunner)
    assert isinstance(choose("cuda", emulated), EmulatedSource)
    assert isinstance(choose("cuda", emulated).host, Qemu)
    assert choose("cuda", emulated, run=False) is None
    assert choose("cuda", arm) is None
    assert choose("webgpu", emulated) is None


def test_facts_contain_host_and_kernels() -> None:
    facts = runner().facts()
    assert facts["host"] == runner().host.facts()
    assert facts["kernels"].keys() == {"compiler", "headers"}
    assert runner().way == "under qemu-aarch64, max, as macOS, with its kernels for metal compiled as C++"


def test_version_names_the_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code = DeviceCode("metal", "metal", {}, {})
    message = r"no aarch64-linux-gnu-g\+\+ to execute .*apt-get install g\+\+-aarch64-linux-gnu"
    with pytest.raises(BuildError, match=message):
        compile_kernels(code, tmp_path / "kernels.so", runner().compiler)
