"""The toy on a GPU: through every stage, its kernels executed from the text that TVM prints for each kind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from toys import PHONEMES, TARGET, doit, write_recipes

from kokoro_tvm import Synthesizer
from kokoro_tvm.errors import BundleError
from kokoro_tvm.runners import wgpu
from kokoro_tvm.runners.base import open_synthesizer
from kokoro_tvm.runtime import SpeechWarning
from kokoro_tvm.runtime.device_code import DeviceCode
from kokoro_tvm.targets import find_runner
from kokoro_tvm.toolchains import nvrtc

_MISSING = {
    "cuda": nvrtc.check(),
    "metal": None if shutil.which("g++") else "there is no g++ to execute kernels with",
    "webgpu": wgpu.check(),
}
KINDS = [
    pytest.param(
        kind,
        marks=[
            pytest.mark.skipif(reason is not None, reason=str(reason)),
            *([] if kind == "cuda" else [pytest.mark.nightly]),
        ],
    )
    for kind, reason in _MISSING.items()
]


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    write_recipes(root)
    target = {"kind": kind, "host": {"kind": "llvm", "mcpu": "native"}, "host_components": ["bert"]}
    recipe = TARGET | {"target": target, "length": "exact", "buckets": {"tokens": [64], "frames": [130]}}
    (root / "recipes" / "gpu.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")
    done = doit(root, "gpu")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    bundle = root / "artifacts" / "gpu"
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["target"]["kind"] == kind
    for name, component in manifest["components"].items():
        (library,) = component["libraries"]
        assert (library["kernels"] is None) == (name == "bert")
        assert (library["machine_code"] is None) == (name == "bert" or kind != "cuda")
        if library["kernels"] is not None:
            content = (bundle / library["kernels"]["file"]).read_bytes()
            assert DeviceCode.from_bytes(kind, content).functions
    report = json.loads((bundle.parent / ".build" / "gpu" / "speech" / "speech.json").read_text())
    assert report["passed"]
    runner, reason = find_runner(target)
    assert runner is not None, reason
    assert report["runner"] == runner.version()
    with pytest.warns(SpeechWarning, match="random"):
        speech = open_synthesizer(runner, bundle, 2).from_phonemes(PHONEMES, voice="af_heart")
    assert speech.audio.shape == (600 * speech.durations.sum(),)
    with pytest.raises(BundleError, match=f"computes on a GPU.*{kind}"):
        Synthesizer(bundle)
