"""Cached facts about files: never used if they may be wrong."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kokoro_tvm.builder.engine import memory
from kokoro_tvm.builder.engine.memory import Memory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    settle()
    return path


def settle() -> None:
    """Wait until files that were just written count as settled."""
    time.sleep(0.03)


class Reader:
    """Reads a file and counts the calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, path: Path) -> str:
        self.count += 1
        return path.read_text()


def test_recall_reads_an_unchanged_file_once(file: Path, tmp_path: Path) -> None:
    read, path = Reader(), tmp_path / "memory.json"
    first = Memory(path)
    assert [first.recall(file, read) for _ in range(3)] == ["content"] * 3
    first.save()
    assert Memory(path).recall(file, read) == "content"
    assert read.count == 1
    assert Memory(path, trust=False).recall(file, read) == "content"
    assert read.count == 2


def test_recall_keeps_facts_by_topic(file: Path) -> None:
    memory = Memory(None)
    assert [memory.recall(file, lambda p, a=about: a, about) for about in "abab"] == list("abab")


@pytest.mark.parametrize("how", ["in place", "replaced", "truncated", "moved here", "times set back"])
def test_recall_reads_a_changed_file_again(file: Path, tmp_path: Path, how: str) -> None:
    memory, read, before = Memory(None), Reader(), file.stat()
    assert memory.recall(file, read) == "content"
    if how == "truncated":
        os.truncate(file, 4)
    elif how == "replaced":
        file.unlink()
        file.write_bytes(b"another")
    elif how == "moved here":
        (tmp_path / "other").write_bytes(b"another")
        os.utime(tmp_path / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
        (tmp_path / "other").replace(file)
    else:
        file.write_bytes(b"another")
    if how == "times set back":
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert memory.recall(file, read) == ("cont" if how == "truncated" else "another")
    assert read.count == 2


def test_recall_does_not_cache_a_new_file(tmp_path: Path) -> None:
    memory, read = Memory(None), Reader()
    for content in ("one", "two", "two"):
        (tmp_path / "file").write_text(content)
        assert memory.recall(tmp_path / "file", read) == content
    assert read.count == 3


def test_recall_does_not_cache_a_changing_file(file: Path) -> None:
    def change(path: Path) -> str:
        path.write_bytes(b"another")
        return "content"

    memory = Memory(None)
    memory.recall(file, change)
    settle()
    assert memory.recall(file, Reader()) == "another"


def test_recall_survives_a_clock_set_back(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(memory.time, "time_ns", lambda: now - 3600 * 10**9)
    remembering, read = Memory(None), Reader()
    for _ in range(3):
        remembering.recall(file, read)
    assert read.count == 3


def test_recall_waits_longer_for_a_coarse_clock(file: Path) -> None:
    second = (time.time_ns() // 10**9 - 1) * 10**9
    result = os.stat_result(file.stat()[:10], {"st_ctime_ns": second, "st_mtime_ns": second})
    assert memory._clock_step(result) > 10**9
    assert memory._clock_step(file.stat()) < 10**8 or file.stat().st_ctime_ns % 10**6 == 0


def test_note_caches_renamed_files(file: Path, tmp_path: Path) -> None:
    memory, read = Memory(None), Reader()
    os.link(file, tmp_path / "other")
    memory.note({tmp_path / "other": "what it held"})
    assert memory.recall(file, read) == "what it held"
    file.write_bytes(b"another")
    assert memory.recall(tmp_path / "other", read) == "another"


def test_save_merges_facts_of_processes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_text(file.name)
    settle()
    memories = [Memory(tmp_path / "memory.json") for _ in files]
    for one, file in zip(memories, files, strict=True):
        one.recall(file, Reader())
        one.save()
    read = Reader()
    assert [Memory(tmp_path / "memory.json").recall(file, read) for file in files] == list("abc")
    assert read.count == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_memory_ignores_a_damaged_file(tmp_path: Path, data: st.DataObject) -> None:
    file, path = tmp_path / "file", tmp_path / "memory.json"
    if not path.exists():
        file.write_text("content")
        settle()
        memory = Memory(path)
        memory.sha256(file)
        memory.save()
        (tmp_path / "whole").write_bytes(path.read_bytes())
    damaged = bytearray((tmp_path / "whole").read_bytes())
    if data.draw(st.booleans()):
        bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
        damaged[bit // 8] ^= 1 << bit % 8
    else:
        del damaged[data.draw(st.integers(0, len(damaged) - 1)) :]
    path.write_bytes(damaged)
    assert Memory(path)._facts == {}
    assert Memory(path).sha256(file) == hashlib.sha256(b"content").hexdigest()


def test_save_ignores_a_folder_that_is_not_writable(file: Path, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    memory = Memory(tmp_path / "a file" / "memory.json")
    assert memory.recall(file, Reader()) == "content"
    memory.save()
