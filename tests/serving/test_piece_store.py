"""Store of spoken pieces: reads, damaged files, size."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm.serving.pieces.store import DamagedError, PieceStore

AUDIO = np.linspace(-1.5, 1.5, 1000, dtype=np.float32)
SIZE = 32 + AUDIO.nbytes


def name(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


def held(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("url", ["{folder}", "file://{folder}", "memory://{folder}"])
def test_store_returns_what_it_was_given(tmp_path: Path, url: str) -> None:
    store = PieceStore(url.format(folder=tmp_path / "pieces"), 1 << 20)
    assert store.get(name(1), AUDIO.size) is None
    assert store.put(name(1), AUDIO)
    assert store.put(name(1), AUDIO)
    again = PieceStore(url.format(folder=tmp_path / "pieces"), 1 << 20)
    result = again.get(name(1), AUDIO.size)
    assert result is not None
    assert result.dtype == np.float32
    assert np.array_equal(result, AUDIO)
    assert again.get(name(2), AUDIO.size) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:31],
        lambda data: data + b"\0",
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: bytes(len(data)),
    ],
)
def test_store_refuses_and_replaces_a_damaged_file(tmp_path: Path, damage: object) -> None:
    store = PieceStore(str(tmp_path), 1 << 20)
    store.put(name(1), AUDIO)
    (path,) = held(tmp_path)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DamagedError, match=name(1)):
        store.get(name(1), AUDIO.size)
    store.put(name(1), AUDIO)
    assert np.array_equal(store.get(name(1), AUDIO.size), AUDIO)


def test_store_refuses_a_wrong_name_or_length(tmp_path: Path) -> None:
    store = PieceStore(str(tmp_path), 1 << 20)
    store.put(name(1), AUDIO)
    (path,) = held(tmp_path)
    other = tmp_path / name(2)[:2] / name(2)
    other.parent.mkdir(exist_ok=True)
    path.rename(other)
    with pytest.raises(DamagedError):
        store.get(name(2), AUDIO.size)
    with pytest.raises(DamagedError):
        store.get(name(2), AUDIO.size - 1)


def test_store_removes_abandoned_partial_files(tmp_path: Path) -> None:
    store = PieceStore(str(tmp_path), 16 * SIZE, abandoned_s=0.0)
    leftover = tmp_path / name(1)[:2] / f".{name(1)}.0123"
    leftover.parent.mkdir()
    leftover.write_bytes(b"half")
    assert store.get(name(1), AUDIO.size) is None
    for number in range(4):  # files are counted after every sixteenth part of the bound
        store.put(name(number + 2), AUDIO)
    assert not leftover.exists()
    assert len(held(tmp_path)) == 4


def test_store_keeps_recent_partial_files(tmp_path: Path) -> None:
    store = PieceStore(str(tmp_path), 16 * SIZE)
    store.put(name(1), AUDIO)
    writing = tmp_path / name(9)[:2] / f".{name(9)}.0123"
    writing.parent.mkdir(exist_ok=True)
    writing.write_bytes(b"half")
    for number in range(40):
        store.put(name(number + 10), AUDIO)
    assert writing.exists()


def test_store_bounds_its_folder(tmp_path: Path) -> None:
    most = 10 * SIZE + 100
    store = PieceStore(str(tmp_path), most)
    for number in range(60):
        store.put(name(number), AUDIO)
        sizes = [path.stat().st_size for path in held(tmp_path)]
        assert sum(sizes) <= most
        assert store.bytes == sum(sizes)
        assert store.get(name(number), AUDIO.size) is not None
    assert len(held(tmp_path)) >= 7


def test_store_counts_files_of_other_processes(tmp_path: Path) -> None:
    most = 32 * SIZE
    ours, theirs = (PieceStore(str(tmp_path), most) for _ in range(2))
    for number in range(100):
        (ours, theirs)[number % 2].put(name(number), AUDIO)
        assert sum(path.stat().st_size for path in held(tmp_path)) <= most * (1 + 1 / 16) + SIZE


def test_store_skips_audio_above_the_limit(tmp_path: Path) -> None:
    store = PieceStore(str(tmp_path), SIZE - 1)
    assert not store.put(name(1), AUDIO)
    assert held(tmp_path) == []


def test_store_shares_a_folder_between_processes(tmp_path: Path) -> None:
    """Processes that write and remove the same names read no partial file."""
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        store = PieceStore(str(tmp_path), 6 * SIZE)
        numbers = np.random.default_rng(seed).integers(0, 12, 150)
        try:
            for number in numbers:
                audio = np.full(AUDIO.size, number, np.float32)
                result = store.get(name(number), audio.size)
                assert result is None or np.array_equal(result, audio)
                store.put(name(number), audio)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
