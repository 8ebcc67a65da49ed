"""Each source: what it gives when all is well, and what it says when it is not."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from tiny_model import VOICE_BYTES, VOICES, nested, onnx_bytes, sha256

from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.kokoro import load_state
from kokoro_tvm.model.sources import huggingface
from kokoro_tvm.model.sources.npm import fetch_onnx
from kokoro_tvm.recipe.checkpoint import Checkpoint, NpmSource, PinnedFile

Fetched = Callable[..., Path]
State = dict[str, torch.Tensor]


def file_source(path: Path, **more: str) -> dict[str, Any]:
    return {"kind": "file", "path": path.name, "sha256": sha256(path.read_bytes()), **more}


@pytest.mark.parametrize("form", ["nested.pth", "flat.pth", "flat.safetensors", "export.onnx"])
def test_file_source_reads_every_format(home: Path, form: str, tiny: State, fetched: Fetched) -> None:
    path = home / form
    if form == "nested.pth":
        # Buffers that old versions of transformers saved are no weights.
        torch.save(nested(tiny | {"bert.embeddings.position_ids": torch.arange(3)}), path)
    elif form == "flat.pth":
        torch.save({key: value.double() for key, value in tiny.items()}, path)
    elif form == "flat.safetensors":
        save_file(tiny, path)
    else:
        path.write_bytes(onnx_bytes(tiny))
    state = load_state(fetched(file_source(path), root=home))
    assert all(
        torch.equal(state[key], value) and state[key].dtype == torch.float32 for key, value in tiny.items()
    )
    assert torch.equal(state["predictor.F0.0.norm1.norm.weight"], torch.ones(2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("bert_encoder.bias"), "got 3 of them; missing: bert_encoder.bias"),
        (lambda state: state.update({"bert.novel": torch.zeros(1)}), "got 4 of them; not known: bert.novel"),
        (
            lambda state: state.update({"bert_encoder.bias": torch.zeros(4)}),
            r"should have shape \(3,\), got \(4,\)",
        ),
        (lambda state: state["bert_encoder.bias"].fill_(float("nan")), "should be finite"),
    ],
    ids=["missing", "extra", "shape", "nan"],
)
def test_file_source_with_other_tensors_is_refused(
    home: Path, tiny: State, fetched: Fetched, change: Callable[[State], None], message: str
) -> None:
    change(tiny)
    torch.save(nested(tiny), home / "k.pth")
    with pytest.raises(BuildError, match=f"from file k.pth is refused: .*{message}"):
        fetched(file_source(home / "k.pth"), root=home)


@pytest.mark.parametrize("form", ["k.pth", "k.safetensors", "k.onnx"])
def test_damaged_file_source_is_refused(home: Path, tiny: State, fetched: Fetched, form: str) -> None:
    path = home / form
    if form == "k.pth":
        torch.save(nested(tiny), path)
    elif form == "k.safetensors":
        save_file(tiny, path)
    else:
        path.write_bytes(onnx_bytes(tiny))
    whole = file_source(path)
    path.write_bytes(path.read_bytes()[:-20])
    cut = file_source(path)
    with pytest.raises(BuildError, match=f"expected sha256 {whole['sha256']}, got {cut['sha256']}"):
        fetched(whole, root=home)
    with pytest.raises(BuildError, match=f"from file {form} is refused: .*{form}"):
        fetched(cut, root=home)


class Evil:
    """What a pickle may do to who loads it, unless only weights are let in."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.victim),)


def test_pickled_code_does_not_run(home: Path, tmp_path: Path, tiny: State, fetched: Fetched) -> None:
    torch.save({"bert_encoder": Evil(tmp_path / "victim")}, home / "k.pth")
    with pytest.raises(BuildError, match=r"cannot be loaded as a PyTorch checkpoint \(weights only\)"):
        fetched(file_source(home / "k.pth"), root=home)
    assert not (tmp_path / "victim").exists()


def test_missing_file_of_another_model_gets_its_own_advice(
    tmp_path: Path, checkpoint: Callable[..., Checkpoint]
) -> None:
    source = {"kind": "file", "path": "mine/model.pth", "sha256": "a" * 64}
    own = checkpoint(source).model_copy(update={"config": PinnedFile(file="config.json", sha256="b" * 64)})
    with pytest.raises(BuildError) as refused:
        fetch(own, tmp_path, root=tmp_path)
    assert str(refused.value) == (
        "no source of the checkpoint answers. Tried: (1) file mine/model.pth: there is no file "
        "mine/model.pth. Put the file where `checkpoint: sources:` of the model's recipe has it (a relative "
        "path starts from the folder with recipes/), or correct the recipe."
    )


def test_file_source_needs_its_folder_of_voices(home: Path, tiny: State, fetched: Fetched) -> None:
    torch.save(nested(tiny), home / "k.pth")
    (home / "voices").rename(home / "styles")
    with pytest.raises(BuildError, match=r"there is no folder of voices .*voices; put their files"):
        fetched(file_source(home / "k.pth"), root=home)
    fetched(file_source(home / "k.pth", voices="styles"), root=home)


def test_voice_with_a_flipped_bit_is_refused(
    home: Path,
    hub: dict[str, Any],
    npm_source: dict[str, Any],
    pack: Callable[[str, dict[str, bytes]], None],
    fetched: Fetched,
) -> None:
    flipped = VOICE_BYTES | {"am_adam": b"\0" + VOICE_BYTES["am_adam"][1:]}
    actual = sha256(b"".join(flipped.values()))
    pack("voices-2.0.0", {f"voices/{name}.bin": data for name, data in flipped.items()})
    voice = torch.load(home / "voices" / "am_adam.pt", weights_only=True)
    voice.view(torch.int32)[0, 0, 0] ^= 1
    torch.save(voice, home / "voices" / "am_adam.pt")
    sources = {
        "huggingface owner/name@ffffffffffff k.pth": (hub, "voices"),
        "npm tiny-a@1.0.0 tiny-b@1.0.0": (npm_source, "voices"),
        "file k.pth": (file_source(home / "k.pth"), f"{home}/voices"),
    }
    for label, (source, folder) in sources.items():
        with pytest.raises(BuildError) as caught:
            fetched(source, root=home)
        assert str(caught.value) == (
            f"the checkpoint from {label} is refused: the voices in {folder} are not the pinned ones: "
            f"expected sha256 {VOICES['sha256']} of their values, got {actual}."
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda spec: spec["shards"].update(count=12),
            r"expected 12 parts .*, missing are tiny\.part11\.bin",
        ),
        (lambda spec: spec["shards"].update(count=10), r"weights\.onnx is not the pinned file"),
        (lambda spec: spec["shards"].update(size=9), "expected at most 9 bytes of data, got more"),
        (lambda spec: spec["voices"].update(folder="styles"), "voice 'af_heart' is not there"),
    ],
    ids=["part missing", "part too many", "too large", "voice missing"],
)
def test_npm_source_with_other_content_is_refused(
    npm_source: dict[str, Any], fetched: Fetched, change: Callable[[Any], None], message: str
) -> None:
    change(npm_source)
    with pytest.raises(BuildError, match=f"from npm tiny-a@1.0.0 tiny-b@1.0.0 is refused: .*{message}"):
        fetched(npm_source)


def test_npm_source_unpacks_into_a_relative_folder(
    npm_source: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    source = NpmSource.model_validate(npm_source)
    assert fetch_onnx(source, Path("work"), lambda line: None).stat().st_size == npm_source["shards"]["size"]


def test_npm_source_refuses_an_oversized_voice(
    npm_source: dict[str, Any], fetched: Fetched, pack: Callable[[str, dict[str, bytes]], None]
) -> None:
    pack("voices-2.0.0", {f"voices/{name}.bin": data + b"0" for name, data in VOICE_BYTES.items()})
    with pytest.raises(BuildError, match="expected at most 1,044,480 bytes of data, got more"):
        fetched(npm_source)


def test_npm_source_unpacks_only_pinned_voices(
    npm_source: dict[str, Any], fetched: Fetched, pack: Callable[[str, dict[str, bytes]], None]
) -> None:
    files = {f"voices/{name}.bin": data for name, data in VOICE_BYTES.items()}
    pack("voices-2.0.0", {"voices/aa_first.bin": b"x" * 600_000} | files)
    fetched(npm_source)


def test_npm_source_refuses_a_truncated_package(
    npm_source: dict[str, Any], fetched: Fetched, registry: Path
) -> None:
    path = registry / "tiny-b-1.0.0.tgz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BuildError, match=r"tiny-b-1.0.0.tgz cannot be unpacked"):
        fetched(npm_source)


def test_npm_source_unpacks_nothing_outside_of_its_folder(
    tmp_path: Path,
    npm_source: dict[str, Any],
    fetched: Fetched,
    pack: Callable[[str, dict[str, bytes]], None],
) -> None:
    pack("tiny-a-1.0.0", {"../../../../tiny.part0.bin": b"out", "deep/tiny.part0.bin": b"deep"})
    with pytest.raises(BuildError, match=r"missing are tiny\.part0\.bin, "):
        fetched(npm_source)
    assert not list(tmp_path.rglob("tiny.part0.bin"))


def test_npm_source_reports_a_missing_npm(
    tmp_path: Path, npm_source: dict[str, Any], fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(BuildError, match="the command `npm` is not installed"):
        fetched(npm_source)


def test_hub_source_downloads_a_checkpoint(hub: dict[str, Any], fetched: Fetched, tiny: State) -> None:
    lines: list[str] = []
    folder = fetched(hub, log=lines.append)
    assert torch.equal(load_state(folder)["bert_encoder.bias"], tiny["bert_encoder.bias"])
    assert any(line.startswith("downloaded voices/am_adam.pt: ") for line in lines)


def test_hub_source_with_another_file_is_refused(hub: dict[str, Any], fetched: Fetched) -> None:
    there = hub["weights"]["sha256"]
    hub["weights"]["sha256"] = "4" * 64
    message = (
        "from huggingface owner/name@ffffffffffff k.pth is refused: k.pth is not the pinned file: "
        f"expected sha256 {'4' * 64}, got {there}"
    )
    with pytest.raises(BuildError, match=message):
        fetched(hub)


def test_failing_hub_falls_back_to_the_next_source(
    hub: dict[str, Any], fetched: Fetched, npm_source: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fail(*args: Any, **options: Any) -> str:
        raise LocalEntryNotFoundError("the line is dead\nand so on")

    lines: list[str] = []
    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    fetched(hub, npm_source, log=lines.append)
    assert any("k.pth cannot be downloaded: LocalEntryNotFoundError: the line is dead" in x for x in lines)


def test_offline_hub_is_not_contacted(
    hub: dict[str, Any], fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BuildError, match="HF_HUB_OFFLINE is set"):
        fetched(hub)


def test_unreachable_hub_falls_back_to_the_next_source(
    hub: dict[str, Any], fetched: Fetched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "unreachable", lambda url: f"{url} does not answer within 5 s")
    with pytest.raises(BuildError, match=r"https://huggingface\.co does not answer within 5 s"):
        fetched(hub)
