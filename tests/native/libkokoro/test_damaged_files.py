"""Checks before loading: CPU features, and the record of large files."""

from __future__ import annotations

import json
import shutil
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from calls import Speaker, edited
from toy_bundle import file_entry

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.cpu_features import ARM, X86, features_of_cpu

LARGE = "duration.safetensors"


def rewrite(bundle: Path, path: str, value: object) -> None:
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    (bundle / "bundle.json").write_text(json.dumps(edited(manifest, path, value)), encoding="utf-8")


@pytest.fixture
def mutable(compiled: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(compiled("exact"), tmp_path / "bundle"))


def test_check_cpu_names_missing_features(speaker: Speaker, mutable: Path) -> None:
    had = features_of_cpu()
    if had is None:
        pytest.skip("this system does not list its CPU's features")
    table = ARM if "neon" in had else X86
    rewrite(mutable, "cpu_features", list(table))
    missing = [name for name in table if name not in had]
    result = speaker(mutable, "--phonemes", "a")
    assert result.status == 5
    assert f"was built for a processor with {', '.join(missing)}, which this one lacks." in result.errors
    rewrite(mutable, "cpu_features", sorted(had))
    assert speaker(mutable, "--phonemes", "a").status == 0


@pytest.fixture
def large(mutable: Path) -> Path:
    """Return a bundle with a file that is large enough for the record."""
    content = (mutable / LARGE).read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    body = content[8 + size :]
    more = np.zeros(5 << 18, np.float32).tobytes()
    header["more"] = {"dtype": "F32", "shape": [5 << 18], "data_offsets": [len(body), len(body) + len(more)]}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    (mutable / LARGE).write_bytes(struct.pack("<Q", len(text)) + text + body + more)
    rewrite(mutable, "components/duration/weights", file_entry(mutable / LARGE))
    time.sleep(2.1)  # what was changed lately is not remembered
    return mutable


def test_record_of_a_large_file_equals_pythons(
    speaker: Speaker, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert speaker(large, "--phonemes", "a").status == 0
    (memory,) = (tmp_path / "cache").rglob("*.json")
    written = json.loads(memory.read_text(encoding="utf-8"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    Synthesizer(large, threads=1)
    (other,) = (tmp_path / "other").rglob("*.json")
    assert (memory.name, written) == (other.name, json.loads(other.read_text(encoding="utf-8")))
    assert len(written) == 1


def test_recorded_file_is_not_hashed_again(speaker: Speaker, large: Path, tmp_path: Path) -> None:
    assert speaker(large, "--phonemes", "a").status == 0
    (memory,) = (tmp_path / "cache").rglob("*.json")
    (identity,) = json.loads(memory.read_text(encoding="utf-8"))
    rewrite(large, "components/duration/weights/sha256", "f" * 64)
    assert f"{LARGE} has sha256 " in speaker(large, "--phonemes", "a").errors
    memory.write_text(json.dumps({identity: "f" * 64}), encoding="utf-8")
    assert speaker(large, "--phonemes", "a").status == 0
    memory.write_text("no JSON", encoding="utf-8")
    assert f"{LARGE} has sha256 " in speaker(large, "--phonemes", "a").errors
    (large / LARGE).touch()  # another time, so another file
    memory.write_text(json.dumps({identity: "f" * 64}), encoding="utf-8")
    assert f"{LARGE} has sha256 " in speaker(large, "--phonemes", "a").errors
