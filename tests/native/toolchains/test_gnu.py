"""The linker of this machine."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.native.toolchains.gnu import GNU, Gnu


def stub(script: str | None, folder: Path) -> Gnu:
    """Return a function that replaces the linker by a shell script, or by nothing."""
    program = folder / "linker"
    if script is not None:
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
    return type("Stub", (Gnu,), {"command": str(program)})()


@pytest.fixture
def objects(tmp_path: Path) -> list[Path]:
    """Return two objects with one function each."""
    target = []
    for number in (1, 2):
        source = tmp_path / f"{number}.c"
        source.write_text(f"int number_{number}(void) {{ return {number}; }}\n", encoding="utf-8")
        target.append(source.with_suffix(".o"))
        subprocess.run(["gcc", "-c", "-fPIC", str(source), "-o", str(target[-1])], check=True)
    return target


def test_gnu_links_every_object(objects: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    GNU.link(objects, folder / "both.so")
    library = ctypes.CDLL(str(folder / "both.so"))
    assert (library.number_1(), library.number_2()) == (1, 2)
    assert list(folder.iterdir()) == [folder / "both.so"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (None, "no .*linker to link with: apt-get install"),
        ("exit 1", "no working .*linker to link with"),
        (
            '[ "$1" = --version ] && echo stub 1.0 && exit; echo cannot >&2; exit 3',
            r"stub 1.0 could not link small.so: exit status 3: cannot",
        ),
        (
            '[ "$1" = --version ] && echo stub 1.0 && exit; exit 0',
            "stub 1.0 wrote no library for small.so",
        ),
    ],
    ids=["missing", "broken", "failing", "silent"],
)
def test_link_with_refuses_failing_linkers(
    script: str | None,
    message: str,
    objects: list[Path],
    tmp_path: Path,
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    old = folder / "small.so"
    old.write_bytes(b"before")
    with pytest.raises(BuildError, match=message):
        stub(script, tmp_path).link(objects, old)
    assert list(folder.iterdir()) == [old]
    assert old.read_bytes() == b"before"


@pytest.mark.skipif(sys.platform != "linux", reason="another system's g++ calls another linker")
def test_identity_contains_gxx_and_its_linker() -> None:
    assert GNU.identity().startswith(f"{GNU.version()}, GNU ld ")
