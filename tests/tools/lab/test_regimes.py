"""Engines on a small model: the stock model component by component, and the recorded steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import TooLongError
from kokoro_tvm.tools.lab.stock_engine import StockEngine
from kokoro_tvm.validation.measure.engine import run_component
from kokoro_tvm.validation.reference.compute import compute_steps
from kokoro_tvm.validation.reference.reference import DYNAMIC, OUTPUTS, TRUTH, Reference
from kokoro_tvm.validation.reference.steps import STEPS, Steps, Tail, load_steps, save_steps, split_tail

State = Mapping[str, torch.Tensor]


@pytest.fixture(scope="module")
def regimes(config: dict[str, Any], state: State, voices: Any, utterances: Any) -> dict[str, Steps]:
    return compute_steps(config, state, voices, utterances[0])


class PaddedEngine:
    """Records the inputs of a static shape and returns them as outputs."""

    policy = "padded"

    def __init__(self, size: int) -> None:
        self.size = size
        self.inputs: Mapping[str, Any] = {}

    def buckets(self, component: str) -> tuple[int, ...]:
        return (self.size,)

    def run_whole(self, component: str, bucket: int, length: int, inputs: Any) -> dict[str, Any]:
        self.inputs = inputs
        return {name: np.zeros((1, 2 * bucket)) for name in OUTPUTS[component]}


def test_steps_equal_the_reference(regimes: dict[str, Steps], references: list[Reference]) -> None:
    """Hooks inside the decoder change nothing, and every step has its declared extent."""
    for regime, trace in ((TRUTH, references[0].truth), (DYNAMIC, references[0].dynamic)):
        steps = regimes[regime]
        assert steps.regime == regime
        assert not steps.missing
        for name in ("d_en", "d", "duration", "en", "f0", "n", "t_en", "asr", "audio"):
            np.testing.assert_array_equal(steps.values[name], getattr(trace, name), err_msg=name)
        np.testing.assert_array_equal(steps.values["pred_dur"], trace.durations)
        lengths = {"tokens": steps.tokens, "frames": steps.frames}
        for step in STEPS:
            assert steps.values[step.name].shape[-1] == step.extent(lengths[step.axis]), step.name
        logits = steps.values["logits"]
        np.testing.assert_allclose((1 / (1 + np.exp(-logits))).sum(1), trace.duration, rtol=1e-5)
        # The waveform is the inverse transform of the spectrum: loud where the magnitudes are.
        assert np.exp(steps.values["spectrum"][:, :11]).max() > 0


def test_stock_engine_equals_the_forward_pass(
    config: dict[str, Any], state: State, references: list[Reference]
) -> None:
    for regime, part in ((TRUTH, "fed_truth"), (DYNAMIC, "fed_dynamic")):
        engine = StockEngine(config, state, regime)
        for reference in references:
            for component, names in OUTPUTS.items():
                output = run_component(engine, component, reference.inputs(component))
                for name in names:
                    expected = getattr(getattr(reference, part), name)
                    value = output.values[name].reshape(expected.shape)
                    np.testing.assert_array_equal(value, expected, err_msg=name)


@pytest.mark.parametrize("component", ["text_encoder", "f0n"])
def test_padding_fills_the_bucket(component: str, references: list[Reference]) -> None:
    def repeat(name: str, valid: Any, count: int) -> Any:
        return np.repeat(valid[-1:], count, axis=0)

    valid = references[0].inputs(component)
    name = "tokens" if component == "text_encoder" else "en"
    length = valid[name].shape[-1]
    engine = PaddedEngine(length + 9)
    run_component(engine, component, valid, padding=repeat)
    padded = engine.inputs[name]
    assert padded.shape[-1] == length + 9
    np.testing.assert_array_equal(padded[..., :length], valid[name])
    tail = padded[..., length:]
    np.testing.assert_array_equal(tail, valid[name][..., -1:] + 0 * tail)
    assert "style" not in engine.inputs or engine.inputs["style"].shape == (1, 128)


def test_run_component_refuses_a_length_above_the_bucket(references: list[Reference]) -> None:
    valid = references[1].inputs("text_encoder")
    with pytest.raises(TooLongError):
        run_component(PaddedEngine(valid["tokens"].size - 1), "text_encoder", valid)


def test_split_tail_summarizes_the_padding() -> None:
    value = np.array([[1.0, 2.0, -7.0, np.nan]])
    valid, tail = split_tail(value, 2)
    np.testing.assert_array_equal(valid, [[1.0, 2.0]])
    assert tail == Tail(2, 7.0, 0.5)
    assert split_tail(value, 4)[1] is None


def test_steps_survive_a_file(regimes: dict[str, Steps], tmp_path: Path) -> None:
    values = dict(regimes[DYNAMIC].values)
    del values["source"]
    steps = Steps("tvm", values, {"f0": Tail(2, 7.0, 0.5)}, {"source": "inside"})
    save_steps(steps, tmp_path / "a" / "steps.safetensors")
    copy = load_steps(tmp_path / "a" / "steps.safetensors")
    assert (copy.regime, copy.tails, copy.missing) == ("tvm", steps.tails, steps.missing)
    assert copy.values.keys() == values.keys()
    for name, value in values.items():
        np.testing.assert_array_equal(copy.values[name], value)


def test_load_steps_refuses_a_damaged_file(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"no")
    with pytest.raises(ValidationError, match="cannot be read as the steps of an utterance"):
        load_steps(tmp_path / "broken")


def test_steps_account_for_every_name() -> None:
    with pytest.raises(ValueError, match="both or neither of present and missing"):
        Steps("tvm", {}, {}, {"source": "inside"})
