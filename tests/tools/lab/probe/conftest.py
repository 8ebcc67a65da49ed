"""A toy text encoder to probe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lowering import BUCKET, CONFIG, MACHINE, PASSES, RECIPE

from kokoro_tvm.model.patches.weight_norm import fold_weight_norm
from kokoro_tvm.model.synthetic import draw_state
from kokoro_tvm.native.toolchains.gnu import GNU
from kokoro_tvm.tools.lab.probe.subject import Subject

LENGTH = 21


@pytest.fixture(scope="session")
def weights() -> dict[str, np.ndarray]:
    folded = fold_weight_norm(draw_state(CONFIG, 0))
    return {name: tensor.numpy() for name, tensor in folded.items()}


def subject_of(component: str, length: str, weights: dict[str, np.ndarray]) -> Subject:
    return Subject(
        component=component,
        config=CONFIG,
        length=length,
        bucket=BUCKET,
        patches=tuple(RECIPE["components"][component]["patches"]),
        passes=PASSES,
        pass_context=RECIPE["pass_context"],
        machine=MACHINE,
        toolchain=GNU,
        weights=weights,
    )


def inputs_of(subject: Subject, length: int = LENGTH) -> dict[str, np.ndarray]:
    """Draw random inputs of the exact signature."""
    draw = np.random.default_rng(length)
    inputs: dict[str, Any] = {}
    for spec in subject.signature.inputs:
        shape = spec.at(length).shape
        if spec.dtype == "int64":
            inputs[spec.name] = draw.integers(0, 100, shape)
        else:
            inputs[spec.name] = draw.standard_normal(shape).astype(np.float32)
    return inputs


@pytest.fixture(scope="session")
def exact(weights: dict[str, np.ndarray]) -> Subject:
    return subject_of("text_encoder", "exact", weights)


@pytest.fixture(scope="session")
def masked(weights: dict[str, np.ndarray]) -> Subject:
    return subject_of("text_encoder", "masked", weights)
