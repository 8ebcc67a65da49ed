"""Choice of systems, and results of those that cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kokoro_tvm.common.errors import BuildError, InputError
from kokoro_tvm.runtime.bundle.manifest import Bundle, Component, FileRef, Library
from kokoro_tvm.runtime.session import device
from kokoro_tvm.tools.bench.peer_models import PeerModels
from kokoro_tvm.tools.bench.results import SystemResult
from kokoro_tvm.tools.bench.systems import PEERS, Peer, System, bundle_systems, choose_peers, peer_system


def bundle(root: str, recipe: str) -> Bundle:
    voices = FileRef(Path(root, "voices.safetensors"), 28_000_000, "0")
    return Bundle(
        root=Path(root),
        recipe=recipe,
        model="kokoro-82m",
        length="exact",
        precision="bfloat16",
        synthetic=False,
        sample_rate=24000,
        samples_per_frame=600,
        style_dim=128,
        context_length=512,
        vocabulary={},
        voices=voices,
        components={},
        cpu_features=(),
        toolchain={},
    )


def peer(*packages: str, fails: bool = False) -> Peer:
    def model(models: PeerModels) -> Path:
        if fails:
            raise BuildError("npm is not installed")
        return Path(__file__)

    return Peer("one", "One", "int8", "some.engine", packages, model)


@pytest.fixture
def models(tmp_path: Path) -> PeerModels:
    return PeerModels(tmp_path, tmp_path, "kokoro-82m")


def gpu_bundle() -> Bundle:
    """Return a bundle for a kind of GPU that no TVM runtime supports."""
    file = FileRef(Path("decoder"), 1, "0")
    library = Library(5120, file, file)
    component = Component("decoder", "frames", "decoder_forward", (), (), (), file, (library,), 1)
    return replace(bundle("a", "cuda"), components={"decoder": component}, target={"kind": "vulkan"})


def test_bundle_for_a_missing_gpu_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(device.DEVICE_TYPES, "vulkan", 7)
    (result,) = bundle_systems([gpu_bundle()], 1)
    assert isinstance(result, SystemResult) and result.ours
    problem = "not run: This bundle computes on a GPU, and the TVM runtime for vulkan is not"
    assert str(result.problem).startswith(problem)


def test_peer_on_a_gpu_needs_one(models: PeerModels) -> None:
    (gpu,) = (p for p in PEERS if p.on_gpu)
    assert gpu not in choose_peers(None)
    assert gpu in choose_peers(None, gpu=True)
    assert choose_peers([gpu.name]) == (gpu,)
    result = peer_system(replace(peer("numpy"), missing=lambda: "no GPU"), models, 1)
    assert isinstance(result, SystemResult) and result.problem == "not run: no GPU"
    assert isinstance(peer_system(peer("numpy"), models, 1), System)


def test_bundles_are_named_by_recipe() -> None:
    (system,) = bundle_systems([bundle("a/b", "cpu-bf16")], 3)
    assert (system.name, system.title, system.ours) == ("cpu-bf16", "kokoro-tvm cpu-bf16", True)
    assert (system.precision, system.engine.path, system.engine.threads) == ("bfloat16", "a/b", 3)
    assert system.disk_bytes == 0  # voices do not count


def test_bundles_of_one_recipe_are_named_by_path() -> None:
    systems = bundle_systems([bundle("a/cpu", "cpu"), bundle("b/cpu", "cpu"), bundle("c", "mine")], 1)
    assert [system.name for system in systems] == ["a/cpu", "b/cpu", "mine"]


def test_peer_system_is_complete(models: PeerModels) -> None:
    system = peer_system(peer("numpy"), models, 2)
    assert isinstance(system, System)
    assert set(system.versions) == {"numpy"}
    assert system.disk_bytes == Path(__file__).stat().st_size
    assert (system.ours, system.engine.precision) == (False, "int8")


def test_missing_package_says_how_to_install_it(models: PeerModels) -> None:
    result = peer_system(peer("numpy", "no-such-package"), models, 2)
    assert isinstance(result, SystemResult)
    assert result.problem == (
        "not run: the package no-such-package is not installed; run `pip install '.[lab]'` in the repository"
    )


def test_missing_model_says_why(models: PeerModels) -> None:
    result = peer_system(peer("numpy", fails=True), models, 2)
    assert isinstance(result, SystemResult)
    assert result.problem == "not run: its model cannot be had: npm is not installed."


def test_peer_that_ignores_isa_is_not_run(models: PeerModels) -> None:
    restricted = peer_system(peer("numpy"), models, 2, "avx2")
    assert isinstance(restricted, System) and restricted.variables["ONEDNN_MAX_CPU_ISA"] == "AVX2"
    result = peer_system(replace(peer("numpy"), follows_isa=False), models, 2, "avx2")
    assert isinstance(result, SystemResult)
    assert result.problem == "not run: it cannot be held to AVX2: ONNX Runtime has no switch for that"
    assert [p.name for p in PEERS if not p.follows_isa] == [
        "onnxruntime",
        "onnxruntime-int8",
        "onnxruntime-static-int8",
    ]


def test_choose_peers() -> None:
    assert choose_peers(None, gpu=True) == PEERS
    assert choose_peers([]) == ()
    assert [p.name for p in choose_peers(["openvino", "pytorch"])] == ["pytorch", "openvino"]
    with pytest.raises(
        InputError,
        match=r"no peer 'torch'.*pytorch, pytorch-bfloat16, pytorch-compiled, pytorch-gpu, onnx.*or none",
    ):
        choose_peers(["torch"])
