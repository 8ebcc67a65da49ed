"""Touched files, edits that keep times, and a set clock: only content counts."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_graph import Tree, built  # noqa: F401  (a fixture)

import kokoro_tvm
from kokoro_tvm.builder.engine import code, memory

HOUR = 3600
PATCH = "model/patches/decoder.py"
FUNCTION = "kokoro_tvm.model.patches.decoder:_forward"


@pytest.fixture
def tree(built: Tree) -> Tree:  # noqa: F811
    built.build()
    time.sleep(0.05)  # until what was just written is old enough to be remembered
    assert built.build() == set()
    return built


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the package whose code is digested."""
    original = Path(kokoro_tvm.__file__).parent
    copy = shutil.copytree(
        original, tmp_path / "kokoro_tvm", ignore=shutil.ignore_patterns("__pycache__", "web")
    )
    monkeypatch.setattr(code, "_PACKAGE", copy)
    before = code.hash_executed_code([FUNCTION])
    time.sleep(0.05)
    assert code.hash_executed_code([FUNCTION]) == before
    return copy


def clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Set the clock of the engine; times of existing files stay."""
    result = SimpleNamespace(time_ns=lambda: time.time_ns() + int(seconds * 1e9), sleep=time.sleep)
    monkeypatch.setattr(memory, "time", result)


def keeping_times(path: Path, change: Callable[[bytes], bytes]) -> None:
    before, content = path.stat(), path.read_bytes()
    changed = change(content)
    assert len(changed) == len(content)
    assert changed != content
    path.chmod(0o644)
    path.write_bytes(changed)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@contextmanager
def edited(path: Path, change: Callable[[bytes], bytes]) -> Iterator[None]:
    """Replace the content of a file by one of the same size and time, while entered."""
    before = path.read_bytes()
    keeping_times(path, change)
    try:
        yield
    finally:
        path.write_bytes(before)


def not_current(tree: Tree) -> dict[str, str]:
    return {stage.name: stage.state().kind for stage in tree.graph().stages() if not stage.is_current()}


def other_code(source: bytes) -> bytes:
    """Write another program of the same length."""
    return source.replace(b"return ", b"assert ", 1)


@pytest.mark.parametrize("when", [0, HOUR, 4_102_444_800], ids=["1970", "later in 1970", "2100"])
def test_touch_builds_nothing(tree: Tree, package: Path, when: int) -> None:
    touched, before = 0, code.hash_executed_code([FUNCTION])
    for folder in (package, tree.root):
        for path in folder.rglob("*"):
            if path.is_file():
                os.utime(path, (when, when))
                touched += 1
    assert touched > 300
    assert not_current(tree) == {}
    assert code.hash_executed_code([FUNCTION]) == before


def test_edit_of_a_source_with_the_same_time_is_seen(package: Path) -> None:
    before = code.hash_executed_code([FUNCTION])
    with edited(package / PATCH, other_code):
        assert code.hash_executed_code([FUNCTION]) != before
    assert code.hash_executed_code([FUNCTION]) == before


def test_edit_of_a_recipe_with_the_same_time_is_seen(tree: Tree) -> None:
    path = tree.root / "recipes" / "cpu.yaml"
    with edited(path, lambda text: text.replace(b"native", b"znver4", 1)):
        assert not_current(tree)["cpu.machine"] == "stale"


def test_edit_of_an_output_with_the_same_time_is_seen(tree: Tree) -> None:
    """In place, so that the object of the store changes, too."""

    def flip(content: bytes) -> bytes:
        return bytes([content[0] ^ 1]) + content[1:]

    stage = next(s for s in tree.graph().stages() if s.name == "cpu.compile.decoder-5120")
    path = stage.path(stage.outputs[0])
    keeping_times(path, flip)
    assert not_current(tree) == {stage.name: "damaged"}
    keeping_times(path, flip)
    assert not_current(tree) == {}


@pytest.mark.parametrize("seconds", [-400 * 24 * HOUR, -HOUR, -0.01, HOUR, 400 * 24 * HOUR])
def test_set_clock_changes_nothing(
    tree: Tree, package: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    before = code.hash_executed_code([FUNCTION])
    with monkeypatch.context() as patch:
        clock(patch, seconds)
        assert not_current(tree) == {}
        with edited(package / PATCH, other_code):
            assert code.hash_executed_code([FUNCTION]) != before
        assert code.hash_executed_code([FUNCTION]) == before
        assert not_current(tree) == {}
    assert not_current(tree) == {}
