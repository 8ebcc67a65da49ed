"""The download of the MP3 encoder for a site."""

from __future__ import annotations

from pathlib import Path

import pytest

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.publish import mp3


def test_fetch_refuses_another_encoder(tmp_path: Path) -> None:
    folder = tmp_path / f"lamejs-{mp3.VERSION}"
    folder.mkdir()
    for name in ("lamejs.js", "LICENSE", "README.md", "package.json"):
        (folder / name).write_text(name, encoding="utf-8")
    with pytest.raises(BuildError, match=r"lamejs\.js of @breezystack/lamejs@1\.2\.7 is not the pinned file"):
        mp3.fetch_encoder(tmp_path, lambda line: None)


def test_unreachable_registry_names_the_alternative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BuildError, match=r"The MP3 encoder cannot be fetched: .* --no-mp3"):
        mp3.fetch_encoder(tmp_path, lambda line: None)
    assert list(tmp_path.iterdir()) == []
