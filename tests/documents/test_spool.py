"""Audio on disk: an interrupted speech goes on, another begins anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kokoro_tvm.documents.spool import Spool
from kokoro_tvm.errors import InputError


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    output = tmp_path / "book.flac"
    spool = Spool(output, "request")
    spool.add(np.arange(5, dtype=np.float32))
    spool.add(np.zeros(0, np.float32))
    with (tmp_path / ".book.flac.spool").open("ab") as stream:
        stream.write(b"half a pi")  # what was being written when the power failed
    again = Spool(output, "request")
    assert (again.pieces, again.samples) == (2, 5)
    again.add(np.array([7, 8], np.float32))
    assert np.concatenate(list(again.blocks())).tolist() == [0, 1, 2, 3, 4, 7, 8]
    again.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "record", ["", "{}", "[1]", '["request", -1, 3]', '["request", "a", 3]', '["request", 1, 99]']
)
def test_a_damaged_record_counts_as_none(tmp_path: Path, record: str) -> None:
    Spool(tmp_path / "a.wav", "request").add(np.ones(3, np.float32))
    (tmp_path / ".a.wav.spool.json").write_text(record)
    spool = Spool(tmp_path / "a.wav", "request")
    assert (spool.pieces, spool.samples, list(spool.blocks())) == (0, 0, [])


def test_another_request_begins_anew(tmp_path: Path) -> None:
    Spool(tmp_path / "a.wav", "one").add(np.ones(3, np.float32))
    assert Spool(tmp_path / "a.wav", "two").pieces == 0


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Spool(tmp_path / "no" / "a.wav", "request")
