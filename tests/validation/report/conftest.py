"""Facts of a small bundle: two utterances of sines and noise, a failed artifact, a gate that was not run."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.validation.reference.reference import Outputs, Reference, ReferenceTrace
from kokoro_tvm.validation.report import BuiltStage, BundleFacts, SpokenUtterance, write_page

FRAMES = 40


def reference(name: str, frames: int = FRAMES) -> Reference:
    samples = 600 * frames
    time = np.arange(samples) / 24000
    audio = 0.5 * np.sin(2 * np.pi * 220 * time) * np.minimum(1, time * 4)
    f0 = np.where(np.arange(2 * frames) % 20 < 15, 220.0, 0.0)[None]
    empty = np.zeros((1, 1, 1))
    durations = np.array([frames // 2, frames - frames // 2])
    values: dict[str, Any] = {f.name: empty for f in fields(ReferenceTrace)}
    trace = ReferenceTrace(**values | {"audio": audio, "f0": f0, "durations": durations})
    fed = Outputs(**{f.name: empty for f in fields(Outputs)})
    tokens, ref_s = np.zeros((1, 2), np.int64), np.zeros((1, 256), np.float32)
    columns = (trace, trace, fed, fed, trace.audio, trace.audio)
    return Reference(name, f"<b>{name}</b> & ˈ", "af_one", 1.0, 3, tokens, ref_s, *columns)


def verdict(gate: str, value: float | str, limit: float | None, status: str) -> dict[str, Any]:
    return {"output": "audio", "gate": gate, "value": value, "limit": limit, "status": status}


def report(component: str, bucket: int | None, *verdicts: dict[str, Any]) -> dict[str, Any]:
    failed = [v for v in verdicts if v["status"] == "failed"]
    return {
        "component": component,
        "bucket": bucket,
        "passed": not failed,
        "enforce": True,
        "missed": [f"one: {v['gate']}" for v in failed],
        "utterances": [
            {
                "name": name,
                "length": FRAMES,
                "status": "failed" if failed else "passed",
                "outputs": {"audio": {"snr_db": 41.25, "gain_db": 29.5, "magnitude_correlation": 0.99998}},
                "verdicts": list(verdicts),
            }
            for name in ("one", "two")
        ],
        "overall": [],
    }


@pytest.fixture(scope="session")
def facts() -> BundleFacts:
    draw = np.random.default_rng(0)
    utterances = []
    for name in ("one", "two"):
        stock = reference(name)
        audio = stock.truth.audio + 0.002 * draw.standard_normal(stock.truth.audio.size)
        f0, durations = stock.truth.f0 * 1.01, stock.truth.durations
        text = {"one": "The first sentence.", "two": "The second one."}[name]
        utterances.append(SpokenUtterance(stock, audio.astype(np.float32), f0, durations, text, 0.25))
    good = verdict("min_snr_db", 112.5, 90.0, "passed")
    reports = [report(c, 512 if axis == "tokens" else 64, good) for c, axis in COMPONENT_AXES.items()]
    reports[-1] = report("decoder", 64, good, verdict("min_gain_db", 3.0, 10.0, "failed"))
    reports.append(report("decoder", 128, good, verdict("min_gain_db", 3.0, None, "not run")))
    longer = {"status": "not run: longer than the bucket", "outputs": {}, "verdicts": []}
    reports[-2]["utterances"].append({"name": "three", "length": 90} | longer)
    file = {"file": "x.so", "size": 1_234_567, "sha256": "ab" * 32}
    part = {"weights": file, "libraries": [file | {"bucket": 64}]}
    manifest: dict[str, Any] = {
        "recipe": "toy",
        "not_run": None,
        "model": "toy-model",
        "version": "1",
        "precision": "float32",
        "length": "exact",
        "synthetic": True,
        "target": {"kind": "llvm", "mcpu": "znver5", "mtriple": "x86_64-linux-gnu"},
        "voices": file,
        "front_end": None,
        "components": {"decoder": part},
        "toolchain": {"torch": "2.0"},
        "cpu_features": ["avx2", "fma"],
    }
    stages = [
        BuiltStage("toy.compile.decoder-64", 31.5, 60.25, "decoder.log", (("x.so", 1_234_567, "ab" * 32),))
    ]
    speech = report("speech", None, good)
    return BundleFacts(manifest, reports, speech, utterances, ["three"], stages, {"CPU": "znver5"})


@pytest.fixture(scope="session")
def page(facts: BundleFacts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_page(facts, tmp_path_factory.mktemp("page") / "report.html")
