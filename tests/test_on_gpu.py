"""The toy on a GPU: through every stage, its kernels executed from the text that TVM prints for each kind."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from toys import ROUNDED, SHORT, TARGET, doit, toy_model

from kokoro_tvm import Synthesizer
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.native.toolchains import nvrtc
from kokoro_tvm.runtime import SpeechWarning, read_bundle
from kokoro_tvm.runtime.bundle.device_code import DeviceCode
from kokoro_tvm.runtime.bundle.voices import Voices
from kokoro_tvm.runtime.session.session import Session
from kokoro_tvm.targets import find_runner
from kokoro_tvm.targets.runners.wgpu import WGPU

_MISSING = {
    "cuda": nvrtc.check(),
    "metal": None if shutil.which("g++") else "there is no g++ to execute kernels with",
    "webgpu": WGPU.check(),
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


TEXT = ["bert", "duration", "text_encoder"]


@pytest.mark.slow("builds the toy for GPUs")
@pytest.mark.gpu
@pytest.mark.parametrize(
    ("length", "precision", "host"),
    [
        ("exact", "float32", TEXT),
        pytest.param("exact", "float32", ["bert"], marks=pytest.mark.nightly),
        pytest.param("exact", "float16", ["bert"], marks=pytest.mark.nightly),
        pytest.param("masked", "float32", ["bert"], marks=pytest.mark.nightly),
        pytest.param("masked", "float16", ["bert"], marks=pytest.mark.nightly),
        pytest.param("padded", "float32", ["bert"], marks=pytest.mark.nightly),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)}-on-host",
)
@pytest.mark.parametrize("kind", KINDS)
def test_every_stage(kind: str, length: str, precision: str, host: list[str], toy_copy: Path) -> None:
    """Programs and checkpoint are the toy's, which are there. Machine code is that of one generation: all are
    in test_nvrtc.py. What is said on the way is compared with nothing, so every night is enough for it."""
    root, everything = toy_copy, host != TEXT
    target = {"kind": kind, "host": {"kind": "llvm", "mcpu": "native"}, "host_components": host}
    target |= {"arch": ["sm_90"]} if kind == "cuda" else {}
    recipe = TARGET | {"target": target, "length": length, "precision": precision, "model": "short-model"}
    recipe |= {"buckets": {"tokens": [64], "frames": [130]}}
    recipe |= {"gates": ROUNDED} if precision == "float16" else {}
    for name, content in {"gpu": recipe, "short-model": toy_model(SHORT)}.items():
        written = yaml.safe_dump(content, allow_unicode=True)
        (root / "recipes" / f"{name}.yaml").write_text(written, encoding="utf-8")
    done = doit(root, "gpu" if everything else "gpu.speech")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    bundle = root / "artifacts" / "gpu"
    manifest = json.loads((bundle / "bundle.json").read_text(encoding="utf-8"))
    assert manifest["target"]["kind"] == kind
    for name, component in manifest["components"].items():
        (library,) = component["libraries"]
        assert (library["kernels"] is None) == (name in host)
        assert (library["machine_code"] is None) == (name in host or kind != "cuda")
        if library["kernels"] is not None:
            content = (bundle / library["kernels"]["file"]).read_bytes()
            code = DeviceCode.from_bytes(kind, content)
            assert code.functions
            text = b"".join(code.code.values())
            rounds = name == "decoder" and precision == "float16"
            assert any(word in text for word in (b"half*", b"half *", b"f16>")) == rounds
    report = json.loads((bundle.parent / ".build" / "gpu" / "speech" / "speech.json").read_text())
    assert report["passed"]
    runner, reason = find_runner(target)
    assert runner is not None, reason
    assert report["runner"] == runner.version()
    check_what_is_copied(kind, bundle, host)
    with pytest.raises(BundleError, match=f"computes on a GPU.*{kind}"):
        Synthesizer(bundle)


def check_what_is_copied(kind: str, path: Path, host: list[str]) -> None:
    """Weights are uploaded once, and an utterance like the one before takes no memory for its inputs.

    Durations and features of tokens, which the host repeats, come from the GPU, and audio; pitch stays."""
    bundle = read_bundle(path)
    device = counting(kind)
    session = Session(bundle, 2, device=device)
    uploaded = len(device.filled)
    assert uploaded == sum(len(c.parameters) for c in bundle.components.values() if c.name not in host)
    synthesizer = Synthesizer.from_parts(bundle, session, Voices.open(bundle))
    for _ in range(2):
        device.allocated.clear()
        device.filled.clear()
        device.read.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SpeechWarning)
            speech = synthesizer.from_phonemes(SHORT, voice="af_heart")
        assert speech.audio.shape == (600 * speech.durations.sum(),)
    assert device.allocated == []
    if bundle.length == "exact":
        # d_en, style; tokens; en, style; asr, style, seed, and duration, d; t_en; audio
        assert (len(device.filled), len(device.read)) == ((5, 1) if host == TEXT else (8, 4))


def counting(kind: str) -> Any:
    """A stand-in for a GPU that counts."""
    from kokoro_tvm.targets.runners.source.device import SourceDevice
    from kokoro_tvm.targets.runners.wgpu_kernels import WgpuDevice

    class Counting(WgpuDevice if kind == "webgpu" else SourceDevice):  # type: ignore[misc]
        def __init__(self) -> None:
            self.allocated: list[tuple[int, ...]] = []
            self.filled: list[tuple[int, ...]] = []
            self.read: list[tuple[int, ...]] = []
            super().__init__(kind)

        def allocate(self, shape: tuple[int, ...], dtype: Any) -> Any:
            self.allocated.append(tuple(shape))
            return super().allocate(shape, dtype)

        def fill(self, tensor: Any, array: np.ndarray) -> None:
            self.filled.append(array.shape)
            super().fill(tensor, array)

        def array(self, tensor: Any) -> np.ndarray:
            self.read.append(tuple(map(int, tensor.shape)))
            return super().array(tensor)

    return Counting()
