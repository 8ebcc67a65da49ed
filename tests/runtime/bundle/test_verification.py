"""Verification of files and its cache."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest
from toy_bundle import refresh

from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import read_bundle
from kokoro_tvm.runtime.bundle import verification
from kokoro_tvm.runtime.bundle.files import OpenFile, OpenFiles
from kokoro_tvm.runtime.bundle.verification import verify_bundle


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(verification, "_LARGE_BYTES", 1)  # bytes: every file of the toy is a large one
    monkeypatch.setattr(verification, "_SETTLED_S", -60.0)  # the toy was written a moment ago
    return tmp_path / "cache"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the files that are read."""
    names: list[str] = []
    original = OpenFile.check

    def check(file: OpenFile, keep: bool = False) -> None:
        names.append(file.ref.path.name)
        original(file, keep)

    monkeypatch.setattr(OpenFile, "check", check)
    return names


def verify(bundle: Path, again: bool = False) -> None:
    opened = read_bundle(bundle)
    with OpenFiles(opened.files()) as files:
        verify_bundle(opened, files, workers=2, again=again)


def flip(path: Path) -> None:
    """Change one byte, and restore size, inode and both times."""
    before = path.stat()
    with path.open("r+b") as stream:
        stream.seek(-1, os.SEEK_END)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_END)
        stream.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def large(names: list[str]) -> list[str]:
    return sorted(name for name in names if name.endswith(".safetensors"))


def test_verify_bundle_reads_large_files_once(cache: Path, plain_bundle: Path, read: list[str]) -> None:
    verify(plain_bundle)
    assert len(read) == 1 + 5 * 3
    assert len(large(read)) == 6
    read.clear()
    verify(plain_bundle)
    assert large(read) == []
    assert len(read) == 5 * 2  # code is always read
    read.clear()
    verify(plain_bundle, again=True)
    assert len(large(read)) == 6


@pytest.mark.parametrize("name", ["bert.safetensors", "voices.safetensors", "f0n-32.so"])
def test_verify_bundle_detects_a_changed_byte_with_the_same_size_and_mtime(
    cache: Path, plain_bundle: Path, name: str
) -> None:
    verify(plain_bundle)
    time.sleep(0.02)  # a coarse clock's step; files changed as lately as this are never taken as known
    flip(plain_bundle / name)
    for _ in range(2):  # nor is it taken for good the second time
        with pytest.raises(BundleError, match=rf"{name} has sha256"):
            verify(plain_bundle)
    flip(plain_bundle / name)
    verify(plain_bundle)


def test_verify_bundle_does_not_cache_a_recently_changed_file(
    cache: Path, plain_bundle: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next change could have the same time."""
    monkeypatch.setattr(verification, "_SETTLED_S", 60.0)
    for _ in range(2):
        read.clear()
        verify(plain_bundle)
        assert len(large(read)) == 6


def test_verify_bundle_compares_cached_digests_with_the_manifest(cache: Path, plain_bundle: Path) -> None:
    verify(plain_bundle)
    manifest = plain_bundle / "bundle.json"
    manifest_content = json.loads(manifest.read_text())
    manifest_content["components"]["bert"]["weights"]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(manifest_content))
    with pytest.raises(BundleError, match=r"bert\.safetensors has sha256 .* 0{64}"):
        verify(plain_bundle)


def test_verify_bundle_reads_a_copy(cache: Path, plain_bundle: Path, tmp_path: Path, read: list[str]) -> None:
    verify(plain_bundle)
    copy = tmp_path / "copy"
    shutil.copytree(plain_bundle, copy)  # with the same modification times
    read.clear()
    verify(copy)
    assert len(large(read)) == 6


def test_verify_bundle_reads_a_rebuilt_bundle(cache: Path, plain_bundle: Path, read: list[str]) -> None:
    verify(plain_bundle)
    weights = plain_bundle / "bert.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.unlink()
    weights.write_bytes(data)
    refresh(plain_bundle)
    read.clear()
    verify(plain_bundle)
    assert large(read) == ["bert.safetensors"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '"x"'])
def test_verify_bundle_ignores_a_damaged_cache(
    cache: Path, plain_bundle: Path, read: list[str], text: str
) -> None:
    verify(plain_bundle)
    (memory,) = (cache / "kokoro-tvm" / "verified").iterdir()
    memory.write_text(text)
    read.clear()
    verify(plain_bundle)
    assert len(large(read)) == 6


def test_verify_bundle_works_without_a_cache_folder(
    cache: Path, plain_bundle: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text("a file where a folder should be")
    for _ in range(2):
        read.clear()
        verify(plain_bundle)
        assert len(large(read)) == 6

    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    verify(plain_bundle)


def test_synthesizer_reports_missing_files_before_reading(
    cache: Path, plain_bundle: Path, read: list[str]
) -> None:
    verify(plain_bundle)
    (plain_bundle / "decoder-128.so").unlink()
    read.clear()
    with pytest.raises(BundleError, match=r"decoder-128\.so is missing"):
        verify(plain_bundle)
    assert read == []
