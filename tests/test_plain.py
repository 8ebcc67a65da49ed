"""A whole Kokoro for a machine that nobody wrote kernels for, beside the patched model in eager PyTorch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import tvm
from lowering import BUCKET, CONFIG, MACHINE, RECIPE, lowered_program, program
from numpy.typing import NDArray
from tvm import relax

from kokoro_tvm.compiler.codegen import to_virtual_machine
from kokoro_tvm.compiler.lower import Lowered
from kokoro_tvm.compiler.pack import packed_weights
from kokoro_tvm.constants import COMPONENT_AXES
from kokoro_tvm.features import NO_KERNELS
from kokoro_tvm.lab.eager import EagerEngine, eager_engines
from kokoro_tvm.lab.engine import chain
from kokoro_tvm.measure.metrics import snr_db
from kokoro_tvm.model.synthetic import synthetic_state, synthetic_voices
from kokoro_tvm.patches.weight_norm import fold_weight_norm
from kokoro_tvm.targets import tvm_target
from kokoro_tvm.truth.reference import INPUTS, OUTPUTS
from kokoro_tvm.truth.request import Request

Arrays = dict[str, NDArray[Any]]

PLAIN = replace(MACHINE, features=NO_KERNELS)
REQUEST = Request(
    name="short",
    phonemes="hˈI",
    voice="af_heart",
    speed=1.0,
    seed=0,
    tokens=np.array([[0, 50, 156, 25, 0]]),
    ref_s=synthetic_voices(0)["af_heart"][3:4].numpy(),
)


@dataclass
class Recorder:
    """An engine of `lab.engine` that keeps what every component was given and gave."""

    engine: EagerEngine
    regime: str = "recorded"
    policy: str = "exact"
    inputs: dict[str, Arrays] = field(default_factory=dict)
    outputs: dict[str, Arrays] = field(default_factory=dict)

    def buckets(self, component: str) -> tuple[int, ...]:
        return (BUCKET,)

    def run_whole(
        self, component: str, bucket: int, length: int, inputs: Mapping[str, NDArray[Any]]
    ) -> Arrays:
        self.inputs[component] = dict(inputs)
        self.outputs[component] = self.engine.run_whole(component, bucket, length, inputs)
        return self.outputs[component]


@pytest.fixture(scope="module")
def eager() -> Iterator[Recorder]:
    patches = {name: RECIPE["components"][name]["patches"] for name in COMPONENT_AXES}
    with eager_engines(CONFIG, synthetic_state(CONFIG, 0), patches, ["exact"], inner=False) as engines:
        recorder = Recorder(engines["exact"])
        chain(recorder, REQUEST)
        yield recorder


@pytest.fixture(scope="module")
def state() -> Arrays:
    with torch.no_grad():
        return {n: t.numpy() for n, t in fold_weight_norm(synthetic_state(CONFIG, 0)).items()}


def assert_same(component: str, executable: Any, lowered: Lowered, eager: Recorder, state: Arrays) -> None:
    """What the code makes of the recorded inputs, beside the recorded outputs."""
    machine = relax.VirtualMachine(executable, tvm.cpu())
    arrays = [eager.inputs[component][name] for name in INPUTS[component]]
    arrays += packed_weights(lowered.parameters, state).values()
    results = machine[f"{component}_forward"](*map(tvm.runtime.tensor, arrays))
    for name, result in zip(OUTPUTS[component], results, strict=True):
        assert snr_db(result.numpy(), eager.outputs[component][name]) > 60, name


@pytest.mark.parametrize(
    "component",
    [
        pytest.param(
            name, marks=pytest.mark.slow("compiles the decoder of plain loops, which takes the longest")
        )
        if name == "decoder"
        else name
        for name in COMPONENT_AXES
    ],
)
def test_every_component_computes_the_same(component: str, eager: Recorder, state: Arrays) -> None:
    """From weights as the checkpoint has them."""
    lowered = lowered_program(program(component), component, machine=PLAIN)
    assert all(parameter.packing is None for parameter in lowered.parameters)
    target = tvm_target(PLAIN)
    built = relax.build(lowered.module, target=target, relax_pipeline=to_virtual_machine())
    assert_same(component, built, lowered, eager, state)


@pytest.mark.parametrize("component", ["duration", "text_encoder"])
def test_the_same_as_c(component: str, eager: Recorder, state: Arrays, tmp_path: Path) -> None:
    lowered = lowered_program(program(component), component, machine=PLAIN)
    target = tvm.target.Target({"kind": "c"})
    path = tmp_path / "plain.so"
    built = relax.build(lowered.module, target=target, relax_pipeline=to_virtual_machine())
    built.export_library(str(path), cc="gcc")
    assert_same(component, tvm.runtime.load_module(str(path)), lowered, eager, state)
