from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.kernels.base import semantic as _semantic
from kokoro_tvm.kernels.base.semantic import OpCall
from kokoro_tvm.tools.lab.probe.compare import ProbeRow
from kokoro_tvm.tools.lab.probe.eager import run_eager
from kokoro_tvm.tools.lab.probe.probe import Probe, ProbeResult
from kokoro_tvm.tools.lab.probe.subject import Subject
from kokoro_tvm.tools.lab.probe.values import select
from probe.conftest import LENGTH, inputs_of, subject_of

TOLERANCE = 1e-4
WHOLE = pytest.mark.slow("computes every value of a component")


def look(subject: Subject, patterns: list[str], **options: object) -> ProbeResult:
    values = select(subject.values, patterns)
    probe = Probe(subject, TOLERANCE, **options)  # type: ignore[arg-type]
    return probe.findings("toy", probe.inside(values, inputs_of(subject)), len(values), False)


@pytest.mark.parametrize(
    "policy", ["masked", *(pytest.param(name, marks=WHOLE) for name in ("exact", "padded"))]
)
def test_a_sound_component_diverges_nowhere(policy: str, weights: dict[str, np.ndarray]) -> None:
    """Every value, those that are fused otherwise too, on the valid part alone."""
    subject = subject_of("text_encoder", policy, weights)
    found = look(subject, ["*"])
    assert [row.value for row in found.rows] == subject.values
    assert found.first is None
    found.require()
    assert max(row.error for row in found.rows) < 1e-5
    steps = {"exact": LENGTH, "masked": LENGTH, "padded": subject.bucket}[policy]
    assert found.rows[-1].shape == (1, 512, steps)


@WHOLE
def test_moments_are_compared_by_what_they_mean(weights: dict[str, np.ndarray]) -> None:
    """Blocks are the kernel's choice, and a convolution may leave them behind in blocks of its own."""
    subject = subject_of("f0n", "exact", weights)
    found = look(subject, ["moments", "moments_1", "moments_5", "adain_coefficients"])
    assert found.first is None
    assert sorted(row.shape[0] for row in found.rows) == [2, 2, 2, 3]
    assert max(row.error for row in found.rows) < 1e-5


def test_eager_runs_give_what_the_component_gives(exact: Subject) -> None:
    """The last value of the graph is the component's output, in float64 to the last bits."""
    inputs, _ = exact.inputs(inputs_of(exact))
    last = exact.values[-1].node
    single, double = (
        run_eager(exact.program, exact.weights, inputs, [last], d)[last]
        for d in (torch.float32, torch.float64)
    )
    assert single.dtype == np.float32 and double.dtype == np.float64
    assert 0 < np.abs(single - double).max() < 1e-4


@WHOLE
def test_many_values_are_computed_in_parts(exact: Subject) -> None:
    result: list[str] = []
    found = look(exact, ["*"], together=200_000, progress=result.append)
    parts = [line for line in result if line.startswith("compiling")]
    assert len(parts) > 2
    assert [row.value for row in found.rows] == exact.values


@pytest.fixture
def slanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A leaky ReLU of another slope than the model's in the kernel of layer_norm."""
    sound = _semantic._REGISTRY["layer_norm"]

    def kernel(call: OpCall) -> object:
        return sound.cpu.build(replace(call, attributes={**call.attributes, "slope": 0.5}))

    slanted = replace(sound, cpu=_semantic.OpImplementation(kernel))
    monkeypatch.setitem(_semantic._REGISTRY, "layer_norm", slanted)


@pytest.mark.usefixtures("slanted")
def test_a_wrong_kernel_is_named(exact: Subject) -> None:
    found = look(exact, ["*"])
    first = found.first
    assert first is not None and first.value.operation == "layer_norm"
    assert first.value.name == "text_encoder/layer_norm"
    assert not any(row.diverges for row in found.rows[:-1])
    with pytest.raises(ValidationError) as error:
        found.require()
    assert str(error.value).startswith(
        "toy: text_encoder/layer_norm is the first value that diverges, of those requested. It is a result "
        "of layer_norm, which reads text_encoder.cnn.0.1.gamma, text_encoder.cnn.0.1.beta: relative error "
    )
    assert "--operation layer_norm --at 'text_encoder/layer_norm'" in str(error.value)
    assert error.value.exit_code == 4


@pytest.mark.usefixtures("slanted")
@pytest.mark.parametrize("seed", [None, 0])
def test_a_wrong_kernel_is_wrong_alone(exact: Subject, seed: int | None) -> None:
    """What comes after it is right when it is given the right inputs."""
    probe = Probe(exact, TOLERANCE)
    rows = list(probe.alone(exact.values, inputs_of(exact), seed))
    assert {row.value.operation for row in rows if row.diverges} == {"layer_norm"}
    assert {row.value for row in rows} == set(exact.values)


@WHOLE
def test_operations_alone_take_moments_along(weights: dict[str, np.ndarray]) -> None:
    subject = subject_of("f0n", "masked", weights)
    values = [v for v in subject.values if v.operation == "adain_coefficients"][:2]
    rows = list(Probe(subject, TOLERANCE).alone(values, inputs_of(subject)))
    assert [row.shape for row in rows] == [(3, 512), (3, 512)]
    assert not any(row.diverges for row in rows)


def test_json(exact: Subject) -> None:
    result = json.loads(json.dumps(look(exact, ["text_encoder/conv1d"]).to_json(), allow_nan=False))
    assert result["first_diverging"] is None
    (value,) = result["values"]
    assert value["name"] == "text_encoder/conv1d"
    assert value["shape"] == [1, LENGTH, 512]
    assert set(value["tvm"]) == {"finite_fraction", "min", "p1", "median", "p99", "max", "head"}
    assert value["error"] < 1e-5


def test_a_row_that_is_far_off_only_where_pytorch_is_does_not_diverge(exact: Subject) -> None:
    row: ProbeRow = look(exact, ["text_encoder/conv1d"]).rows[0]
    assert replace(row, error=2e-4, pytorch_error=1e-7).diverges
    assert not replace(row, error=2e-4, pytorch_error=1e-4).diverges
    assert replace(row, error=np.inf, pytorch_error=1e-4).diverges
