"""Store: publishing, restoring, damage and garbage collection."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kokoro_tvm.builder.engine import durable
from kokoro_tvm.builder.engine import store as store_module
from kokoro_tvm.builder.engine.collection import collect
from kokoro_tvm.builder.engine.record import StageRecord, request_of
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.common.errors import BuildError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def publish(store: Store, word: str, stage: str = "cpu.x", **files: str) -> StageRecord:
    """Publish files, by default one that contains `word`, and return the record."""
    written = files or {"word": word}
    derivation = {"word": word, "code": {}, "files": {}}
    with store.lock("a" * 64), store.workspace("a" * 64) as folder:
        for name, content in written.items():
            with open(folder / name, "w") as stream:  # noqa: PTH123  (not what the tests make fail)
                stream.write(content)
        return store.publish(stage, derivation, folder, list(written), 1.5, 1.25)


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def damage(path: Path, content: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(content)


def test_store_restores_what_was_published(store: Store, tmp_path: Path) -> None:
    record = publish(store, "one", a="A", b="B")
    assert store.record(record.key) == record
    assert list(store.records()) == [record]
    assert store.current("cpu.x") is None
    assert [d.missing for d in store.verify(record, tmp_path / "out")] == [True, True]
    assert store.restore(record, tmp_path / "out", "cpu.x")
    assert tree(tmp_path / "out") == {"a": b"A", "b": b"B"}
    assert store.verify(record, tmp_path / "out") == ()
    assert store.current("cpu.x") == record


def test_store_keeps_equal_content_once(store: Store) -> None:
    one, two = publish(store, "one", a="same"), publish(store, "two", b="same")
    assert one.key != two.key
    assert len(list((store.root / "objects").glob("*/*"))) == 1


def test_restore_creates_hard_links(store: Store, tmp_path: Path) -> None:
    record = publish(store, "one")
    store.restore(record, tmp_path)
    assert (tmp_path / "word").samefile(store.object(record.sha256("word")))
    assert (tmp_path / "word").stat().st_mode & 0o777 == 0o444


def test_restore_copies_without_hard_links(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    record = publish(store, "one")
    monkeypatch.setattr(os, "link", refuse)
    assert store.restore(record, tmp_path)
    assert tree(tmp_path)["word"] == b"one"
    damage(tmp_path / "word", b"two")
    assert [d.missing for d in store.verify(record, tmp_path)] == [False]
    assert store.restore(record, tmp_path), "the object is as it was"
    assert tree(tmp_path)["word"] == b"one"


@pytest.mark.parametrize("content", [None, b"", b"on", b"eno"])
def test_store_replaces_a_damaged_object(store: Store, tmp_path: Path, content: bytes | None) -> None:
    record = publish(store, "one", a="one", b="two")
    path = store.object(record.sha256("a"))
    path.unlink() if content is None else damage(path, content)
    assert not store.restore(record, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert publish(store, "one", a="one", b="two").outputs == record.outputs
    assert store.restore(record, tmp_path / "out")
    assert tree(tmp_path / "out") == {"a": b"one", "b": b"two"}


def test_restore_removes_the_manifest_first(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = publish(store, "one", a="1", manifest="m"), publish(store, "two", a="2", manifest="m")
    store.restore(old, tmp_path)
    seen: list[set[str]] = []
    link = durable.link

    def watch(source: Path, path: Path) -> None:
        seen.append({name for name in ("a", "manifest") if (tmp_path / name).exists()})
        link(source, path)

    monkeypatch.setattr(durable, "link", watch)
    assert store.restore(new, tmp_path)
    assert seen == [{"a"}, {"a"}]
    assert (tmp_path / "a").read_text() == "2"
    assert (tmp_path / "manifest").read_text() == "m"


@pytest.mark.parametrize("paranoid", [False, True])
def test_paranoid_store_reads_unchanged_files(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paranoid: bool
) -> None:
    record = publish(store, "one")
    store.restore(record, tmp_path)
    read: list[Path] = []
    monkeypatch.setattr(
        "kokoro_tvm.builder.engine.memory.file_sha256",
        lambda path: read.append(path) or record.sha256("word"),
    )
    assert Store(store.root, paranoid=paranoid).verify(record, tmp_path) == ()
    assert read == ([tmp_path / "word"] if paranoid else [])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"1": 2}', b'{"1": [1, 2, 3]}', b"\xff"])
def test_store_survives_a_damaged_memory(store: Store, tmp_path: Path, content: bytes) -> None:
    record = publish(store, "one")
    store.restore(record, tmp_path)
    (store.root / "verified.json").write_bytes(content)
    assert Store(store.root).verify(record, tmp_path) == ()


def test_store_survives_a_wrong_memory(store: Store, tmp_path: Path) -> None:
    record = publish(store, "one")
    store.restore(record, tmp_path)
    memory = store.root / "verified.json"
    memory.write_text(memory.read_text().replace(record.sha256("word"), "0" * 64))
    assert Store(store.root).verify(record, tmp_path) == ()


@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 65, b"0" * 64])
def test_store_ignores_a_damaged_list(store: Store, content: bytes, tmp_path: Path) -> None:
    record = publish(store, "one")
    store.restore(record, tmp_path / "out", "cpu.x")
    (store.root / "stages" / "cpu.x").write_bytes(content)
    assert store.current("cpu.x") is None
    assert store.history("cpu.x") == []
    assert store.restore(record, tmp_path / "out", "cpu.x")
    assert store.current("cpu.x") == record


def test_store_ignores_a_record_under_another_key(store: Store) -> None:
    record = publish(store, "one")
    (path,) = (store.root / "records").glob("*/*.json")
    path.rename(path.with_name(f"{record.key[:2]}{'0' * 62}.json"))
    assert store.record(f"{record.key[:2]}{'0' * 62}") is None
    assert list(store.records()) == []


def test_collect_keeps_selected_records(store: Store, tmp_path: Path) -> None:
    one, two = publish(store, "one", a="A", b="B"), publish(store, "two", b="B", c="CC")
    (store.root / "work" / f"{'b' * 64}-left").mkdir()
    (store.root / "work" / f"{'b' * 64}-left" / "x").write_text("12345")
    assert collect(store, {two.key}, dry_run=True) == collect(store, {two.key}, dry_run=True), (
        "nothing is removed"
    )
    foreseen = collect(store, {two.key}, dry_run=True)
    collected = collect(store, {two.key})
    assert collected == foreseen
    assert (collected.records, collected.objects, collected.temporaries) == (1, 1, 1)
    assert collected.bytes == len(one.to_bytes()) + 1 + len(f"{one.key}\n") + 5
    assert store.record(one.key) is None
    assert store.restore(two, tmp_path / "out")
    assert collect(store, {two.key}).records == 0
    known = Store(store.root).verified._facts
    assert len(known) == 2, "of what is gone, nothing is remembered"


def test_audit_finds_damage(store: Store) -> None:
    record = publish(store, "one", a="A", b="B")
    assert [fault for _, fault in store.audit()] == ["", "", ""]
    held = store.object(record.outputs[0].sha256)
    damage(held, b"X")
    kept = next((store.root / "records").glob("*/*.json"))
    damage(kept, kept.read_bytes().replace(b"1.25", b"1.26"))
    assert {path: fault for path, fault in store.audit() if fault} == {
        kept: "is no record, or was changed",
        held: "holds something else than was written",
    }


def test_sweep_keeps_folders_in_use(store: Store, tmp_path: Path) -> None:
    key, other = "c" * 64, "d" * 64
    with store.lock(key), store.workspace(key) as folder:
        (folder / "x").write_text("")
        assert collect(store, ()).temporaries == 0
        with store.lock(other), store.workspace(other):
            assert (folder / "x").exists()
    assert not folder.exists()


def test_workspace_removes_abandoned_folders(store: Store) -> None:
    left = [store.root / "work" / f"{letter * 64}-left" for letter in "cd"]
    for folder in left:
        folder.mkdir(parents=True)
    with store.lock("c" * 64), store.workspace("c" * 64) as folder:
        assert list((store.root / "work").iterdir()) == [folder]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errno.ENOSPC, "the disk is full; make room"),
        (errno.EROFS, "the file system is read-only; mount it for writing"),
        (errno.EACCES, "no permission; make it writable for you"),
        (errno.EIO, "Input/output error; see to it"),
    ],
)
def test_storing_names_the_remedy(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: int, message: str
) -> None:
    monkeypatch.setattr(os, "fsync", Faulty(os.fsync, 1, error).called)
    with pytest.raises(BuildError, match=rf"/store/work/.*/word cannot be written: {message}"):
        publish(store, "one")


CALLS: dict[str, tuple[Any, str]] = {
    "fsync": (os, "fsync"),
    "link": (os, "link"),
    "replace": (Path, "replace"),
    "chmod": (Path, "chmod"),
    "mkdir": (Path, "mkdir"),
    "open": (Path, "open"),
}


@pytest.mark.parametrize("able", [True, False])
def test_flush_reaches_the_drive_on_macos(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, able: bool
) -> None:
    """fsync of macOS leaves data in the drive's memory, and some file systems support nothing else."""
    done: list[str] = []

    def told(handle: int, command: int) -> None:
        assert command == 51
        if not able:
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        done.append("fcntl")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", told)
    monkeypatch.setattr(os, "fsync", lambda handle: done.append("fsync"))
    durable.write(tmp_path / "file", b"content")
    durable.sync(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"content"
    assert done == ["fcntl" if able else "fsync"] * 3  # the file, its folder, the file


class Faulty:
    """Replacement of a system function that fails at the n-th call."""

    def __init__(self, real: Callable[..., Any], fails_at: int, error: int) -> None:
        self.real, self.fails_at, self.error, self.calls = real, fails_at, error, 0

    def called(self, *args: Any, **words: Any) -> Any:
        self.calls += 1
        if self.calls == self.fails_at:
            path = [] if isinstance(args[0], int) else [str(args[0])]
            raise OSError(self.error, os.strerror(self.error), *path)
        return self.real(*args, **words)


@pytest.mark.parametrize("name", CALLS)
def test_failed_write_damages_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Records that were published before or are published afterwards stay complete."""
    owner, attribute = CALLS[name]
    real = getattr(owner, attribute)
    kept = publish(store, "kept")
    store.restore(kept, tmp_path / "out", "cpu.x")
    failed = 0
    for count in range(1, 100):
        faulty = Faulty(real, count, errno.ENOSPC)
        monkeypatch.setattr(owner, attribute, lambda *args, f=faulty, **words: f.called(*args, **words))
        try:
            store.restore(publish(store, f"word {count}"), tmp_path / "out", "cpu.x")
        except BuildError as raised:
            assert "the disk is full" in str(raised)
            assert str(tmp_path) in str(raised)
            failed += 1
        finally:
            monkeypatch.setattr(owner, attribute, real)
        fresh = Store(store.root, paranoid=True)
        assert kept in fresh.records()
        assert all(fresh.holds(o) for r in fresh.records() for o in r.outputs)
        assert all(r in fresh.find_requested(r.request) for r in fresh.records()), "else it is built again"
        assert fresh.restore(kept, tmp_path / "out", "cpu.x")
        assert tree(tmp_path / "out") == {"word": b"kept"}
        if faulty.calls < count:
            break
    assert failed


def test_lock_beats_while_it_waits(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_BEAT_S", 0.01)
    beaten, released = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock("0" * 64):
            held.set()
            beaten.wait(60)
            released.set()

    held = threading.Event()
    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(60)
    with store.lock("0" * 64, lambda seconds: beaten.set()):
        assert released.is_set()
    holder.join()


def test_collect_removes_unused_locks_and_requests(store: Store) -> None:
    used = {"code": {}, "files": {}}
    for word in ("one", "two"):
        with store.workspace(word * 22) as folder:
            (folder / "a").write_text(word)
            store.publish("cpu.x", {"word": word, **used}, folder, ["a"], 1.0, 1.0)
    (one, two) = (request_of({"word": word}) for word in ("one", "two"))
    assert [len(store.find_requested(request)) for request in (one, two)] == [1, 1]
    with store.lock("1" * 64):
        pass
    with store.lock("2" * 64):
        collect(store, {store.find_requested(one)[0].key})
        assert {path.name for path in (store.root / "locks").iterdir()} == {"store", "2" * 64}
    assert [len(store.find_requested(request)) for request in (one, two)] == [1, 0]
    assert [path.name for path in (store.root / "requests").rglob("*") if path.is_file()] == [one]
