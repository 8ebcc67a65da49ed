"""The runner of macOS code; test_served.py covers what all runners share."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from elsewhere import library_of, obstacle, recipe_of, runner_of
from small_kernels import filled, scaled

from kokoro_tvm.common.errors import BuildError, BundleError
from kokoro_tvm.native.toolchains import macho
from kokoro_tvm.native.toolchains.lld import IMPORTED
from kokoro_tvm.targets import PinnedLibrary, tools_for
from kokoro_tvm.targets.runners.macho import MachORunner
from kokoro_tvm.targets.runners.process import RunnerProcess

pytestmark = pytest.mark.slow("runs code for macOS in QEMU")

RECIPE = "macos-arm64"
needs_all = pytest.mark.skipif(obstacle(RECIPE) is not None, reason=str(obstacle(RECIPE)))
X = np.linspace(-1, 1, 64, dtype=np.float32)
EXPECTED = np.exp(X) * np.float32(3) + X
Runtime = Callable[[str], list[Path]]


@pytest.fixture(scope="module")
def server(runner_runtime: Runtime) -> Iterator[RunnerProcess]:
    started = runner_of(RECIPE).serve(runner_runtime(RECIPE), 2)
    yield started
    started.close()


@needs_all
def test_macos_code_computes_the_bits_of_linux_code(
    server: RunnerProcess, runner_runtime: Runtime, tmp_path: Path
) -> None:
    """Both use Linux' libm."""
    linux = runner_of("linux-arm64").serve(runner_runtime(RECIPE), 2)
    matches = []
    for item, recipe in ((server, RECIPE), (linux, "linux-arm64")):
        number = item.open(library_of(recipe, scaled(), tmp_path), "module")
        arguments = [X, np.full(64, np.nan, np.float32)]
        matches.append(item.call(number, "scaled", arguments, result="arguments")[1])
    linux.close()
    assert np.array_equal(*matches)


@needs_all
def test_functions_of_macos_alone_are_provided(server: RunnerProcess, tmp_path: Path) -> None:
    path = library_of(RECIPE, filled(), tmp_path)
    assert b"_memset_pattern16" in path.read_bytes()
    number = server.open(path, "module")
    for place in ("end", "start"):
        (y,) = server.call(number, "filled", [np.zeros(67, np.float32)], result="arguments", place=place)
        assert np.array_equal(y, np.full(67, 0.1, np.float32))


@needs_all
def test_changed_instruction_changes_the_result(server: RunnerProcess, tmp_path: Path) -> None:
    """The library's own code is executed: multiply-and-add becomes multiply-and-subtract."""
    path = library_of(RECIPE, scaled(), tmp_path)
    content = bytearray(path.read_bytes())
    for at in range(0, len(content) - 3, 4):
        (word,) = struct.unpack_from("<I", content, at)
        if word & 0xFFE0FC00 == 0x4E20CC00:  # FMLA of four float32; FMLS has another bit
            struct.pack_into("<I", content, at, word | 1 << 23)
    assert content != path.read_bytes()
    path.write_bytes(content)
    number = server.open(path, "module")
    _, y = server.call(number, "scaled", [X, np.zeros(64, np.float32)], result="arguments")
    assert np.abs(y - EXPECTED).max() > 0.1


@needs_all
def test_undefined_symbol_is_named_at_loading(
    server: RunnerProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = library_of(RECIPE, scaled(), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"_expf\0", b"_expq\0"))
    with pytest.raises(
        BundleError, match=r"as macOS could not load scaled.dylib: .*nobody has its symbol _expq"
    ):
        server.open(path, "module")


@needs_all
@pytest.mark.parametrize(
    ("recipe", "reason"),
    [("linux-arm64", "it is no Mach-O library for arm64"), ("windows-x86-64", "no Mach-O")],
)
def test_library_of_another_platform_is_refused(
    recipe: str, reason: str, server: RunnerProcess, tmp_path: Path
) -> None:
    with pytest.raises(BundleError, match=f"could not load scaled.*{reason}"):
        server.open(library_of(recipe, scaled(), tmp_path), "module")


@needs_all
def test_damaged_library_is_refused_and_the_server_continues(server: RunnerProcess, tmp_path: Path) -> None:
    """The file is cut at several places, because the loader reads files of others."""
    content = library_of(RECIPE, scaled(), tmp_path).read_bytes()
    for number, size in enumerate((0, 31, 33, 500, 1000, 20000, 40000)):
        path = tmp_path / f"cut-{number}.dylib"
        path.write_bytes(content[:size])
        with pytest.raises(BundleError, match=r"could not load cut-\d.dylib"):
            server.open(path, "module")
    assert server.features()


@needs_all
@pytest.mark.parametrize("from_c", [False, True])
def test_changed_byte_breaks_the_signature(from_c: bool, tmp_path: Path) -> None:
    """A component's library, and libkokoro."""
    path = library_of(RECIPE, scaled(), tmp_path)
    content = bytearray(path.read_bytes())
    content[len(content) // 4] ^= 1
    path.write_bytes(content)
    file = SimpleNamespace(path=path)
    component = SimpleNamespace(libraries=[] if from_c else [SimpleNamespace(file=file)])
    bundle: Any = SimpleNamespace(components={"decoder": component}, libkokoro=[file] if from_c else [])
    message = rf"{re.escape(str(path))} would be refused by macOS: page \d+ of \d+ differs from its signature"
    with pytest.raises(BundleError, match=message) as caught:
        MachORunner("max").session(bundle, 1)
    assert caught.value.exit_code == 5


def test_runner_uses_linux_libraries_and_bundles_bring_macos_ones() -> None:
    tools = tools_for(recipe_of(RECIPE).target)
    for libraries, suffix, platform in (
        (tools.runtime_libraries(), ".dylib", "macosx_11_0_arm64"),
        (tools.runner_libraries(), ".so", "manylinux_2_28_aarch64"),
    ):
        assert list(libraries) == ["runtime", "ffi"]
        for library in libraries.values():
            assert isinstance(library, PinnedLibrary)
            assert library.name.endswith(suffix)
            assert library.platforms == (platform,)


def test_version_names_the_missing_emulator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"no qemu-aarch64 .*apt-get install qemu-user") as caught:
        MachORunner("max").version()
    assert caught.value.exit_code == 3


def test_stub_exports_all_imported_functions() -> None:
    for owner in ("libc", "libm"):
        assert all(f" _{name}" in macho._STUB for name in IMPORTED[owner])
