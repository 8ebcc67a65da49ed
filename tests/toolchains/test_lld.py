"""LLVM's linker: code for a machine that nothing of is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
import tvm
from machines import machine_of
from tvm.script import tirx as T

from kokoro_tvm.compiler.codegen import generate
from kokoro_tvm.errors import BuildError
from kokoro_tvm.targets import Machine, target_kind
from kokoro_tvm.targets.llvm import LlvmTarget
from kokoro_tvm.toolchains.gnu import GNU
from kokoro_tvm.toolchains.lld import LLD, Lld

needs_lld = pytest.mark.skipif(LLD.check() is not None, reason="no ld.lld (Debian: apt-get install lld)")
ARM = ("cortex-a72", "aarch64-linux-gnu")


@T.prim_func(s_tir=True)
def exponential(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")) -> None:
    T.func_attr({"global_symbol": "exponential"})
    for i in range(16):
        with T.sblock("y"):
            j = T.axis.spatial(16, i)
            y[j] = T.exp(x[j])


def linked(machine: Machine, folder: Path) -> Path:
    folder.mkdir(parents=True)
    options = {"opt_level": 3, "disabled_passes": [], "config": {}}
    kernel = tvm.IRModule({"exponential": exponential})["exponential"]
    generate("exponential", kernel, machine, options).write_to_file(str(folder / "exponential.o"))
    LLD.link([folder / "exponential.o"], folder / "exponential.so")
    return folder / "exponential.so"


@needs_lld
def test_a_library_for_arm_is_made_without_anything_of_arm(tmp_path: Path) -> None:
    library = linked(machine_of(*ARM), tmp_path / "out").read_bytes()
    assert library[:6] == b"\x7fELF\x02\x01"
    assert int.from_bytes(library[18:20], "little") == 183, "EM_AARCH64"
    assert b"__tvm_ffi_exponential" in library


@needs_lld
def test_the_same_objects_give_the_same_bytes(tmp_path: Path) -> None:
    machine = machine_of(*ARM)
    one, other = (linked(machine, tmp_path / name) for name in ("one", "two/deeper"))
    assert one.read_bytes() == other.read_bytes()


@needs_lld
def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.o").write_text("no object", encoding="utf-8")
    with pytest.raises(BuildError, match=r"LLD \d+\.\S+ could not link small.so: exit status 1: .*text.o"):
        LLD.link([tmp_path / "text.o"], tmp_path / "small.so")
    assert not (tmp_path / "small.so").exists()


def test_where_there_is_none_the_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing = Lld()
    assert missing.command == "ld.lld"
    with pytest.raises(BuildError, match=r"no working ld.lld to link with .*\(Debian: apt-get install lld\)"):
        missing.version()
    assert "apt-get install lld" in str(missing.check())


def test_the_plain_name_comes_first_then_the_newest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, chosen in (("ld.lld-9", "ld.lld-9"), ("ld.lld-19", "ld.lld-19"), ("ld.lld", "ld.lld")):
        (tmp_path / name).write_text("#!/bin/sh\necho LLD 1.2.3 of somebody\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        assert Lld().command == chosen
    assert Lld().version() == "LLD 1.2.3"


@pytest.mark.parametrize(
    ("triple", "toolchain"),
    [
        (None, GNU),
        ("x86_64-linux-gnu", GNU),
        ("aarch64-linux-gnu", LLD),
        ("riscv64-unknown-linux-gnu", LLD),
    ],
)
def test_code_of_another_linux_machine_is_linked_by_it(
    triple: str | None, toolchain: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    spec = LlvmTarget(kind="llvm", mcpu="generic", mtriple=triple)
    assert target_kind("llvm").toolchain(spec) is toolchain
