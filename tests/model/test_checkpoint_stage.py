"""The stage: its key is what was obtained and how it is converted, and a cache hands out nothing else."""

from __future__ import annotations

import copy
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import kokoro_tvm
from kokoro_tvm.builder.engine import code
from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.builder.engine.digest import digest
from kokoro_tvm.builder.engine.inputs import Inputs
from kokoro_tvm.builder.engine.stage import Stage
from kokoro_tvm.builder.engine.store import Store
from kokoro_tvm.builder.stages import checkpoint as module
from kokoro_tvm.builder.stages.base import Place
from kokoro_tvm.common.errors import BuildError
from kokoro_tvm.recipe.checkpoint import Checkpoint

Source = dict[str, Any]
Declared = Callable[..., Stage]
NO_FILE = {"kind": "file", "path": "nowhere/kokoro.pth", "sha256": "0" * 64}


@pytest.fixture
def declared(
    checkpoint: Callable[..., Checkpoint], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Declared:
    """The stage of plain sources on a machine of its own name, all of which share a cache.

    It runs in this process, where the tiny model stands for the stock one.
    """

    def call(self: Stage, out: Path, log: Path, beat: object, **options: bool) -> float:
        module.run(out, Inputs({}), **self.settings())
        return 0.0

    monkeypatch.setattr(Stage, "call", call)
    shared = tmp_path / "shared"
    shared.mkdir()

    def declare(*sources: Source, machine: str = "one", cached: bool = False, **more: Any) -> Stage:
        artifacts = tmp_path / machine / "artifacts"
        cache = Cache(str(shared), "read-write", pytest.fail) if cached else None
        place = Place("tiny", artifacts, Store(artifacts / ".store", cache=cache))
        return module.declare(place, checkpoint(*copy.deepcopy(sources), **more), tmp_path)

    return declare


def contents(stage: Stage) -> dict[str, bytes]:
    return {output: stage.path(output).read_bytes() for output in stage.outputs}


def keys(stage: Stage) -> list[str]:
    return [digest(one) for one in stage.derivations()]


def test_key_ignores_the_place_of_equal_files(declared: Declared, npm_source: Source, hub: Source) -> None:
    built = declared(npm_source)
    assert built.run() == "built"
    moved = npm_source | {
        "packages": tuple(package | {"version": "9.9.9"} for package in npm_source["packages"]),
        "shards": npm_source["shards"] | {"pattern": "other{}.bin", "count": 3, "size": 7},
        "voices": npm_source["voices"] | {"package": "elsewhere"},
    }
    for sources in ((moved,), (hub, npm_source), (npm_source, hub), (NO_FILE, hub, npm_source)):
        assert declared(*sources).is_current(), sources
        assert built.key() in keys(declared(*sources))
    save = {"path": "saved/joined.onnx", "sha256": npm_source["shards"]["sha256"]}
    assert declared({"kind": "file", **save}).is_current()  # the same file from the user's own disk


def test_key_depends_on_every_digest(declared: Declared, npm_source: Source) -> None:
    declared(npm_source).run()
    stage = declared(npm_source)
    others = [
        declared(npm_source | {"shards": npm_source["shards"] | {"sha256": "1" * 64}}),
        declared(npm_source, voices={"names": ("af_heart", "am_adam"), "sha256": "2" * 64}),
        declared(npm_source, voices={"names": ("af_heart", "am_other"), "sha256": stage.record().key}),
    ]
    assert stage.is_current()
    assert not any(other.is_current() for other in others)
    assert len({stage.key(), *(other.key() for other in others)}) == 4


def test_key_depends_on_the_format(
    declared: Declared, npm_source: Source, hub: Source, home: Path, tiny: dict[str, torch.Tensor]
) -> None:
    save_file(tiny, home / "k.safetensors")
    same = hub | {"weights": {"file": "k.safetensors", "sha256": "3" * 64}}
    assert len({*keys(declared(npm_source, hub, same))}) == 3


def test_cache_returns_only_files_of_the_yield(
    declared: Declared, npm_source: Source, hub: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One machine reaches npm alone, others the hub; what each stores is what its key says."""
    with monkeypatch.context() as offline:
        offline.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        first = declared(hub, npm_source, machine="first", cached=True)
        assert first.run() == "built"
        assert first.read_json("checkpoint.json")["format"] == "onnx"

        alone = declared(hub, machine="alone", cached=True)
        assert alone.key() != first.record().key
        with pytest.raises(BuildError, match="HF_HUB_OFFLINE is set"):
            alone.run()
        assert not alone.folder.exists()

        third = declared(hub, npm_source, machine="third", cached=True)
        assert third.run() == "restored"
        assert contents(third) == contents(first)

    assert alone.run() == "built"
    assert alone.read_json("checkpoint.json")["format"] == "pth"
    assert alone.path("weights.safetensors").read_bytes() != first.path("weights.safetensors").read_bytes()
    assert first.is_current()
    later = {"b": ((hub, npm_source), alone), "c": ((npm_source, hub), first), "d": ((npm_source,), first)}
    for machine, (sources, like) in later.items():
        stage = declared(*sources, machine=machine, cached=True)
        assert stage.run() == "restored"
        assert contents(stage) == contents(like)


def test_source_with_other_files_leaves_no_record(declared: Declared, npm_source: Source) -> None:
    lying = npm_source | {"shards": npm_source["shards"] | {"sha256": "1" * 64}}
    stage = declared(lying)
    with pytest.raises(BuildError, match=r"from npm tiny-a@1\.0\.0 tiny-b@1\.0\.0 is refused"):
        stage.run()
    assert not stage.folder.exists() and not stage.failed_path.exists()


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the package, whose code counts instead of the real one's."""
    folder = tmp_path_factory.mktemp("copy") / "kokoro_tvm"
    real = Path(kokoro_tvm.__file__).parent
    shutil.copytree(real, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_PACKAGE", folder)
        yield folder


@pytest.mark.parametrize(
    ("file", "concerned"),
    [
        ("model/sources/npm.py", ""),
        ("model/sources/huggingface.py", ""),
        ("model/sources/file.py", ""),
        ("model/sources/__init__.py", ""),
        ("model/network.py", ""),
        ("model/pins.py", ""),
        ("model/voices.py", ""),  # the values of voices are pinned, however they were read
        ("model/checkpoint.py", ""),
        ("common/errors.py", ""),
        ("recipe/checkpoint.py", ""),
        ("model/synthetic.py", ""),
        ("model/formats/safetensors.py", ""),
        ("model/formats/onnx.py", "onnx"),
        ("model/formats/pth.py", "pth"),
        ("model/kokoro.py", "onnx pth"),  # the shapes that the model expects
        ("model/state.py", "onnx pth"),
        ("model/checkpoint_files.py", "onnx pth"),
        ("model/safetensors_file.py", "onnx pth"),
    ],
)
def test_key_depends_only_on_converting_code(
    declared: Declared, npm_source: Source, hub: Source, package: Path, file: str, concerned: str
) -> None:
    changed = edit(
        declared(npm_source, hub),
        package / file,
        lambda text: re.sub(r"\) -> [^:]+:\n", ") -> Other:\n", text),
    )
    assert changed == set(concerned.split())


@pytest.mark.parametrize("file", ["formats/onnx.py", "formats/pth.py", "state.py", "sources/npm.py"])
def test_key_ignores_the_wording_of_errors(
    declared: Declared, npm_source: Source, hub: Source, package: Path, file: str
) -> None:
    def reword(text: str) -> str:
        assert "expected" in text
        return text.replace("raise BuildError(", 'raise BuildError("Oh dear! "')

    assert edit(declared(npm_source, hub), package / "model" / file, reword) == set()


def edit(stage: Stage, path: Path, change: Callable[[str], str]) -> set[str]:
    """The formats, of "onnx" and "pth", whose key is another one once a file is edited; it is put back."""
    before, text = keys(stage), path.read_text(encoding="utf-8")
    path.write_text(change(text), encoding="utf-8")
    after = keys(stage)
    path.write_text(text, encoding="utf-8")
    return {f for f, old, new in zip(("onnx", "pth"), before, after, strict=True) if old != new}
