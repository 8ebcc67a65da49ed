"""LLVM's linker for machines whose libraries are not installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from elsewhere import library_of
from small_kernels import scaled

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains import Toolchain
from kokoro_tvm.native.toolchains.archive import ARCHIVE
from kokoro_tvm.native.toolchains.coff import COFF, Coff
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.native.toolchains.lld import ELF, Elf, Lld
from kokoro_tvm.native.toolchains.macho import MACHO, MachOToolchain
from kokoro_tvm.native.toolchains.zig import ZIG
from kokoro_tvm.targets import tools_for
from kokoro_tvm.targets.cpu import LlvmTarget

pytestmark = pytest.mark.slow("links for other machines")

LINKED: dict[str, Toolchain] = {"linux-arm64": ELF, "windows-x86-64": COFF, "macos-arm64": MACHO}
"""Recipe -> what links its libraries."""


def each(linkers: Mapping[str, Toolchain]) -> pytest.MarkDecorator:
    """Skip a recipe whose linker is missing."""
    problems = {recipe: linker.check() for recipe, linker in linkers.items()}
    skipped = {recipe: pytest.mark.skipif(bool(why), reason=str(why)) for recipe, why in problems.items()}
    return pytest.mark.parametrize("recipe", [pytest.param(r, marks=mark) for r, mark in skipped.items()])


linked = each(LINKED)


def test_elf_links_for_arm_without_its_libraries(tmp_path: Path) -> None:
    if reason := ELF.check():
        pytest.skip(reason)
    library = library_of("linux-arm64", scaled(), tmp_path).read_bytes()
    assert library[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(library[18:20], "little") == 183, "EM_AARCH64"
    assert b"__tvm_ffi_scaled" in library


@each(LINKED | {"metal-ios": ARCHIVE, "wasm": ZIG})
def test_lld_links_reproducibly(recipe: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two/deeper")]
    for folder in folders:
        folder.mkdir(parents=True)
    one, other = (library_of(recipe, scaled(), folder) for folder in folders)
    assert one.read_bytes() == other.read_bytes()
    assert sorted(folders[0].iterdir()) == sorted([one, one.with_suffix(".o")])


@linked
def test_lld_refuses_a_file_that_is_no_object(recipe: str, tmp_path: Path) -> None:
    (tmp_path / "text.o").write_text("no object", encoding="utf-8")
    out = tmp_path / f"small{LINKED[recipe].suffix}"
    message = rf"(?s)LLD \d+\.\S+ could not link {out.name}: exit status 1: .*text.o"
    with pytest.raises(BuildError, match=message):
        LINKED[recipe].link([tmp_path / "text.o"], out)
    assert not out.exists()


@pytest.mark.parametrize("kind", [Elf, Coff, MachOToolchain])
def test_lld_names_the_missing_package(
    kind: type[Lld], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = kind()
    assert missing.command == kind.program
    message = rf"no {kind.program} to link with: apt-get install lld"
    with pytest.raises(BuildError, match=message):
        missing.version()
    assert "apt-get install lld" in str(missing.check())


def test_newest_prefers_the_plain_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, chosen in (("ld.lld-9", "ld.lld-9"), ("ld.lld-19", "ld.lld-19"), ("ld.lld", "ld.lld")):
        (tmp_path / name).write_text("#!/bin/sh\necho LLD 1.2.3 of somebody\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        assert Elf().command == chosen
    assert Elf().version() == "LLD 1.2.3"


@pytest.mark.parametrize(
    ("triple", "toolchain"),
    [
        (None, GNU),
        ("x86_64-linux-gnu", GNU),
        ("aarch64-linux-gnu", ELF),
        ("riscv64-unknown-linux-gnu", ELF),
        ("x86_64-pc-windows-msvc", COFF),
        ("arm64-apple-macos11.0", MACHO),
    ],
)
def test_toolchain_depends_on_the_platform(
    triple: str | None, toolchain: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    spec = LlvmTarget(kind="llvm", mcpu="generic", mtriple=triple)
    assert tools_for(spec).toolchain() is toolchain
