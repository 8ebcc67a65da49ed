"""The spool of an interrupted speech."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm.common.errors import InputError
from kokoro_tvm.runtime.documents.spool import Spool
from kokoro_tvm.runtime.documents.writers import write_audio


def add(spool: Spool) -> None:
    """Add three samples and close."""
    spool.add(np.ones(3, np.float32))
    spool.close()


def test_spool_resumes(tmp_path: Path) -> None:
    output = tmp_path / "book.flac"
    spool = Spool(output, "request")
    spool.add(np.arange(5, dtype=np.float32))
    spool.add(np.zeros(0, np.float32))
    with (tmp_path / ".book.flac.spool").open("ab") as stream:
        stream.write(b"half a pi")  # what was being written when the power failed
    spool.close()
    again = Spool(output, "request")
    assert (again.pieces, again.samples) == (2, 5)
    again.add(np.array([7, 8], np.float32))
    assert np.concatenate(list(again.blocks())).tolist() == [0, 1, 2, 3, 4, 7, 8]
    again.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "record", ["", "{}", "[1]", '["request", -1, 3]', '["request", "a", 3]', '["request", 1, 99]']
)
def test_spool_ignores_a_damaged_record(tmp_path: Path, record: str) -> None:
    add(Spool(tmp_path / "a.wav", "request"))
    (tmp_path / ".a.wav.spool.json").write_text(record)
    spool = Spool(tmp_path / "a.wav", "request")
    assert (spool.pieces, spool.samples, list(spool.blocks())) == (0, 0, [])


def test_spool_restarts_for_another_request(tmp_path: Path) -> None:
    add(Spool(tmp_path / "a.wav", "one"))
    assert Spool(tmp_path / "a.wav", "two").pieces == 0


def test_spool_refuses_an_unwritable_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Spool(tmp_path / "no" / "a.wav", "request")


def test_spool_refuses_a_second_process(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "a.wav", "request")
    spool.add(np.ones(3, np.float32))
    other = (
        "import pathlib, sys\n"
        "from kokoro_tvm.runtime.documents.spool import Spool\n"
        "Spool(pathlib.Path(sys.argv[1]), 'b')"
    )
    done = subprocess.run(
        [sys.executable, "-c", other, str(tmp_path / "a.wav")], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "Another process is writing" in done.stderr
    assert [block.size for block in spool.blocks()] == [3]
    spool.remove()
    Spool(tmp_path / "a.wav", "request").remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", [0, 8, 9, 16])
def test_spool_detects_changes(size: int, tmp_path: Path) -> None:
    spool = Spool(tmp_path / "a.wav", "request")
    spool.add(np.ones(3, np.float32))
    os.truncate(tmp_path / ".a.wav.spool", size)
    with pytest.raises(InputError, match="samples where 3 were written"):
        write_audio(tmp_path / "a.wav", spool.blocks(), 24000)
    assert not (tmp_path / "a.wav").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_spool_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"years")
    (tmp_path / ".a.wav.spool").symlink_to("mine")
    with pytest.raises(InputError, match="cannot be written"):
        Spool(tmp_path / "a.wav", "request")
    assert (tmp_path / "mine").read_bytes() == b"years"
