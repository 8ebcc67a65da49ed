"""Archives for iOS."""

from __future__ import annotations

import plistlib
import struct
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from elsewhere import library_of
from hypothesis import given
from hypothesis import strategies as st
from small_kernels import beyond, scaled

from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.archive import Archive, prefix_of
from kokoro_tvm.native.toolchains.macho import MachOToolchain
from kokoro_tvm.publish.distribution import write_xcframework

pytestmark = pytest.mark.slow("links for other machines")

RECIPE = "metal-ios"
_PROBLEM = Archive().check() or MachOToolchain("ios").check()
needs_llvm = pytest.mark.skipif(_PROBLEM is not None, reason=str(_PROBLEM))


@given(st.sampled_from(COMPONENTS), st.integers(1, 9999), st.sampled_from(COMPONENTS), st.integers(1, 9999))
def test_prefix_of_is_unique_and_valid(one: str, bucket: int, other: str, another: int) -> None:
    prefixes = prefix_of(f"{one}-{bucket}"), prefix_of(f"{other}-{another}")
    assert (prefixes[0] == prefixes[1]) == ((one, bucket) == (other, another))
    assert all(len(prefix) >= 8 and prefix.isidentifier() for prefix in prefixes)


@needs_llvm
def test_archive_has_an_index_and_code_for_ios_14(tmp_path: Path) -> None:
    content = library_of(RECIPE, scaled(), tmp_path).read_bytes()
    assert content.startswith(b"!<arch>\n")
    assert b"__.SYMDEF" in content[:200], "without an index Apple's linker refuses it"
    assert b"kokoro_scaled___tvm_ffi__library_ctx" in content
    version = content.index(struct.pack("<2I", 0x32, 24)) + 8  # LC_BUILD_VERSION
    assert struct.unpack_from("<2I", content, version) == (2, 14 << 16), "iOS 14.0"


@needs_llvm
def test_xcframework_contains_all_libraries(tmp_path: Path) -> None:
    names = {"decoder-130": scaled(), "f0n-130": beyond()}
    paths = [library_of(RECIPE, kernel, tmp_path, name) for name, kernel in names.items()]
    files = [SimpleNamespace(file=SimpleNamespace(path=path)) for path in paths]
    bundle: Any = SimpleNamespace(recipe="toy", components={"all": SimpleNamespace(libraries=files)})
    target = write_xcframework(bundle, tmp_path / "dist")
    with zipfile.ZipFile(target) as framework:
        framework.extractall(tmp_path)
    root = tmp_path / "toy.xcframework"
    (offered,) = plistlib.loads((root / "Info.plist").read_bytes())["AvailableLibraries"]
    assert (offered["SupportedPlatform"], offered["SupportedArchitectures"]) == ("ios", ["arm64"])
    folder = root / offered["LibraryIdentifier"]
    (header,) = (folder / offered["HeadersPath"]).iterdir()
    assert '#define KOKORO_F0N_130 "kokoro_f0n_130_"' in header.read_text(encoding="utf-8").splitlines()
    linked = tmp_path / "app.dylib"
    MachOToolchain("ios").link([folder / offered["LibraryPath"]], linked)
    for path in paths:
        assert f"_{prefix_of(path.stem)}__tvm_ffi__library_ctx".encode() in linked.read_bytes()
    assert write_xcframework(bundle, tmp_path / "again").read_bytes() == target.read_bytes()


def test_archive_names_the_missing_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"no llvm-ar to make archives .*apt-get install llvm"):
        Archive().link([], tmp_path / "none.a")
