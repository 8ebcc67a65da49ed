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


def run_probe(subject: Subject, patterns: list[str], **options: object) -> ProbeResult:
    probe = Probe(subject, TOLERANCE, **options)  # type: ignore[arg-type]
    return probe.run("toy", select(subject.values, patterns), inputs_of(subject))


@pytest.mark.parametrize(
    "policy", ["masked", *(pytest.param(name, marks=WHOLE) for name in ("exact", "padded"))]
)
def test_correct_component_does_not_diverge(policy: str, weights: dict[str, np.ndarray]) -> None:
    """Every value is compared on its valid part, those too that are fused otherwise."""
    subject = subject_of("text_encoder", policy, weights)
    result = run_probe(subject, ["*"])
    assert [row.value for row in result.rows] == subject.values
    assert result.first is None
    result.require()
    assert max(row.error for row in result.rows) < 1e-5
    steps = {"exact": LENGTH, "masked": LENGTH, "padded": subject.bucket}[policy]
    assert result.rows[-1].shape == (1, 512, steps)


@WHOLE
def test_moments_are_compared_as_mean_and_variance(weights: dict[str, np.ndarray]) -> None:
    subject = subject_of("f0n", "exact", weights)
    result = run_probe(subject, ["moments", "moments_1", "moments_5", "adain_coefficients"])
    assert result.first is None
    assert sorted(row.shape[0] for row in result.rows) == [2, 2, 2, 3]
    assert max(row.error for row in result.rows) < 1e-5


def test_run_eager_computes_in_both_precisions(exact: Subject) -> None:
    inputs, _ = exact.inputs(inputs_of(exact))
    last = exact.values[-1].node
    single, double = (
        run_eager(exact.program, exact.weights, inputs, [last], d)[last]
        for d in (torch.float32, torch.float64)
    )
    assert single.dtype == np.float32 and double.dtype == np.float64
    assert 0 < np.abs(single - double).max() < 1e-4


@WHOLE
def test_many_values_are_computed_in_batches(exact: Subject) -> None:
    log: list[str] = []
    result = run_probe(exact, ["*"], batch_bytes=200_000, progress=log.append)
    batches = [line for line in log if line.startswith("compiling")]
    assert len(batches) > 2
    assert [row.value for row in result.rows] == exact.values


@pytest.fixture
def wrong_slope(monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the slope of the leaky ReLU in the kernel of layer_norm."""
    original = _semantic._REGISTRY["layer_norm"]

    def kernel(call: OpCall) -> object:
        return original.cpu.build(replace(call, attributes={**call.attributes, "slope": 0.5}))

    changed = replace(original, cpu=_semantic.OpImplementation(kernel))
    monkeypatch.setitem(_semantic._REGISTRY, "layer_norm", changed)


@pytest.mark.usefixtures("wrong_slope")
def test_wrong_kernel_is_named(exact: Subject) -> None:
    result = run_probe(exact, ["*"])
    first = result.first
    assert first is not None and first.value.operation == "layer_norm"
    assert first.value.name == "text_encoder/layer_norm"
    assert not any(row.diverges for row in result.rows[:-1])
    with pytest.raises(ValidationError) as error:
        result.require()
    assert str(error.value).startswith(
        "toy: text_encoder/layer_norm is the first value that diverges, of those requested. It is a result "
        "of layer_norm, which reads text_encoder.cnn.0.1.gamma, text_encoder.cnn.0.1.beta: relative error "
    )
    assert "--operation layer_norm --at 'text_encoder/layer_norm'" in str(error.value)
    assert error.value.exit_code == 4


@pytest.mark.usefixtures("wrong_slope")
def test_wrong_kernel_diverges_alone(exact: Subject) -> None:
    """Later operations receive the right inputs."""
    rows = list(Probe(exact, TOLERANCE)._compare(exact.values, inputs_of(exact), alone=True))
    assert {row.value.operation for row in rows if row.diverges} == {"layer_norm"}
    assert {row.value for row in rows} == set(exact.values)


@WHOLE
def test_operation_alone_keeps_its_moments(weights: dict[str, np.ndarray]) -> None:
    subject = subject_of("f0n", "masked", weights)
    values = [v for v in subject.values if v.operation == "adain_coefficients"][:2]
    rows = Probe(subject, TOLERANCE).run("toy", values, inputs_of(subject), alone=True).rows
    assert [row.shape for row in rows] == [(3, 512), (3, 512)]
    assert not any(row.diverges for row in rows)


def test_probe_result_is_json(exact: Subject) -> None:
    result = json.loads(json.dumps(run_probe(exact, ["text_encoder/conv1d"]).to_json(), allow_nan=False))
    assert result["first_diverging"] is None
    (value,) = result["values"]
    assert value["name"] == "text_encoder/conv1d"
    assert value["shape"] == [1, LENGTH, 512]
    assert set(value["tvm"]) == {"finite_fraction", "min", "p1", "median", "p99", "max", "head"}
    assert value["error"] < 1e-5


def test_ill_conditioned_value_does_not_diverge(exact: Subject) -> None:
    row: ProbeRow = run_probe(exact, ["text_encoder/conv1d"]).rows[0]
    assert replace(row, error=2e-4, pytorch_error=1e-7).diverges
    assert not replace(row, error=2e-4, pytorch_error=1e-4).diverges
    assert replace(row, error=np.inf, pytorch_error=1e-4).diverges
