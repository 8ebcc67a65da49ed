"""References that are kept: they count as long as they are what was written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.build.references import ReferenceStore, _seal_of
from kokoro_tvm.model.checkpoint import FILES
from kokoro_tvm.recipe import Utterance

SAID = Utterance(name="hello", phonemes="həlˈO", voice="af_heart")


@pytest.mark.parametrize("damage", ["none", "a byte", "the end", "not sealed", "seal damaged"])
def test_only_what_was_written_counts(tmp_path: Path, damage: str) -> None:
    for name in FILES:
        (tmp_path / name).write_bytes(b"")
    told: list[str] = []
    kept = ReferenceStore(tmp_path, tmp_path, told.append)
    kept.__dict__["folder"] = tmp_path / "by-digest"  # found from the checkpoint, which is none
    path = kept._path(SAID, ".safetensors")
    path.parent.mkdir()
    kept._seal(lambda made, to: to.write_bytes(made), b"spoken", path)
    seal = _seal_of(path)
    if damage == "a byte":
        path.write_bytes(b"sposen")
    elif damage == "the end":
        path.write_bytes(b"spok")
    elif damage == "not sealed":
        seal.unlink()
    elif damage == "seal damaged":
        seal.write_bytes(b"\xff")
    found = kept._kept(SAID, ".safetensors", Path.read_bytes)
    assert found == (b"spoken" if damage == "none" else None)
    assert told == ([] if damage == "none" else [f"{path} is not as it was written. It is made again."])
