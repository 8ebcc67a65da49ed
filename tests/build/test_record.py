"""Records: what they say is current, and what a damaged one means."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.build.record import Record, read_record

INGREDIENTS = {"b": [1, 2], "a": {"ɹ": None}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.so").write_bytes(b"code")
    Record.of("cpu.compile.x", INGREDIENTS, tmp_path, ["x.so"], 1.5, 1.25).write(tmp_path / "record.json")
    return tmp_path


def read(folder: Path) -> Record:
    found = read_record(folder / "record.json")
    assert found is not None
    return found


def test_there_and_back(folder: Path) -> None:
    found = read(folder)
    assert (found.stage, found.seconds, found.cpu_seconds) == ("cpu.compile.x", 1.5, 1.25)
    assert found.sha256("x.so") == "5694d08a2e53ffcae0c3103e5ad6f6076abd960eb1f8a56577040bc1028f702b"
    assert found.is_current({"a": {"ɹ": None}, "b": [1, 2]}, folder)
    assert sorted(p.name for p in folder.iterdir()) == ["record.json", "x.so"]


def test_other_ingredients_are_not_current(folder: Path) -> None:
    assert not read(folder).is_current(INGREDIENTS | {"b": [2, 1]}, folder)


@pytest.mark.parametrize("content", [None, b"cod", b"Code"])
def test_an_output_that_is_gone_or_changed_is_not_current(folder: Path, content: bytes | None) -> None:
    if content is None:
        (folder / "x.so").unlink()
    else:
        (folder / "x.so").write_bytes(content)
    assert not read(folder).is_current(INGREDIENTS, folder)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"null", b"\xff", b'{"outputs": [{}]}'])
def test_a_damaged_record_is_none(folder: Path, content: bytes) -> None:
    (folder / "record.json").write_bytes(content)
    assert read_record(folder / "record.json") is None


def test_no_record(tmp_path: Path) -> None:
    assert read_record(tmp_path / "record.json") is None
