"""Regimes on a toy: engines of every kind say the same where they should, and every step is accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.runtime import TooLongError
from kokoro_tvm.tools.lab.eager import EagerEngine, eager_engines
from kokoro_tvm.tools.lab.stock_engine import StockEngine
from kokoro_tvm.validation.measure.engine import chain, run_component
from kokoro_tvm.validation.measure.metrics import snr_db
from kokoro_tvm.validation.reference.compute import compute_steps
from kokoro_tvm.validation.reference.reference import DYNAMIC, OUTPUTS, TRUTH, Reference
from kokoro_tvm.validation.reference.steps import STEPS, Steps, Tail, load_steps, save_steps, split_tail

MODEL = yaml.safe_load((Path(__file__).parents[3] / "recipes/kokoro-82m.yaml").read_text(encoding="utf-8"))
PATCHES = {name: component["patches"] for name, component in MODEL["components"].items()}
BUCKETS = {"tokens": (8, 12), "frames": (40, 64)}

State = Mapping[str, torch.Tensor]


@pytest.fixture(scope="module")
def truth(config: dict[str, Any], state: State, voices: Any, utterances: Any) -> dict[str, Steps]:
    return compute_steps(config, state, voices, utterances[0])


@pytest.fixture(scope="module")
def engines(config: dict[str, Any], state: State) -> Iterator[dict[str, EagerEngine]]:
    with eager_engines(config, state, PATCHES, ["exact", "masked", "padded"], BUCKETS) as made:
        yield made


def test_steps_are_those_of_the_reference(truth: dict[str, Steps], references: list[Reference]) -> None:
    """What hooks inside the decoder read changes nothing, and a step has the extent it is said to have."""
    for regime, trace in ((TRUTH, references[0].truth), (DYNAMIC, references[0].dynamic)):
        steps = truth[regime]
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


def test_the_stock_model_component_by_component(
    config: dict[str, Any], state: State, references: list[Reference]
) -> None:
    """It is called as its own forward calls it: the same numbers to the last bit."""
    for regime, part in ((TRUTH, "fed_truth"), (DYNAMIC, "fed_dynamic")):
        engine = StockEngine(config, state, regime)
        for reference in references:
            for component, names in OUTPUTS.items():
                done = run_component(engine, component, reference.inputs(component))
                for name in names:
                    want = getattr(getattr(reference, part), name)
                    np.testing.assert_array_equal(done.values[name].reshape(want.shape), want, err_msg=name)


@pytest.mark.parametrize("policy", ["exact", "masked"])
def test_every_step_of_a_length_aware_engine_is_the_truths(
    policy: str, engines: dict[str, EagerEngine], truth: dict[str, Steps], references: list[Reference]
) -> None:
    steps = chain(engines[policy], references[0])
    assert not steps.missing
    for step in STEPS:
        value, want = steps.values[step.name], truth[TRUTH].values[step.name]
        # A phase near pi may come out near -pi, and the generator hears the difference for a moment.
        limit = 25 if step.component == "decoder" else 90
        assert snr_db(value, want) > limit, step.name
    for name, tail in steps.tails.items():
        assert policy == "masked"
        assert (tail.max_abs, tail.finite_fraction) == (0, 1), name
    assert bool(steps.tails) == (policy == "masked")


def test_padding_taken_for_speech_is_heard_from_the_first_step_on(
    engines: dict[str, EagerEngine], truth: dict[str, Steps], references: list[Reference]
) -> None:
    counts = truth[TRUTH].values["pred_dur"]
    steps = chain(engines["padded"], references[0], durations=counts)
    for name in ("d_en", "duration", "f0", "asr", "decode.3", "audio"):
        assert snr_db(steps.values[name], truth[TRUTH].values[name]) < 40, name
    assert steps.tails["f0"].max_abs > 0
    assert steps.frames == counts.sum()


@pytest.mark.parametrize("component", ["text_encoder", "f0n"])
def test_what_fills_the_bucket_reaches_the_inputs(
    component: str, engines: dict[str, EagerEngine], references: list[Reference]
) -> None:
    reference, seen = references[0], {}

    class Spy:
        regime, policy = "spy", "padded"

        def buckets(self, component: str) -> tuple[int, ...]:
            return engines["padded"].buckets(component)

        def run_whole(self, component: str, bucket: int, length: int, inputs: Any) -> dict[str, Any]:
            seen.update(inputs, bucket=bucket)
            return engines["padded"].run_whole(component, bucket, length, inputs)

    def repeat(name: str, valid: Any, count: int) -> Any:
        return np.repeat(valid[-1:], count, axis=0)

    valid = reference.inputs(component)
    done = run_component(Spy(), component, valid, fill=repeat)
    name = "tokens" if component == "text_encoder" else "en"
    length = valid[name].shape[-1]
    assert seen["bucket"] == done.bucket == seen[name].shape[-1] > length
    np.testing.assert_array_equal(seen[name][..., :length], valid[name])
    behind = seen[name][..., length:]
    np.testing.assert_array_equal(behind, valid[name][..., -1:] + 0 * behind)
    assert "style" not in seen or seen["style"].shape == (1, 128)


def test_an_utterance_above_the_largest_bucket_is_refused(
    engines: dict[str, EagerEngine], references: list[Reference]
) -> None:
    valid = references[1].inputs("text_encoder")
    with pytest.raises(TooLongError):
        run_component(engines["masked"], "text_encoder", valid, bucket=valid["tokens"].size - 1)


def test_what_stands_behind() -> None:
    value = np.array([[1.0, 2.0, -7.0, np.nan]])
    valid, tail = split_tail(value, 2)
    np.testing.assert_array_equal(valid, [[1.0, 2.0]])
    assert tail == Tail(2, 7.0, 0.5)
    assert split_tail(value, 4)[1] is None


def test_steps_are_kept_whole(
    engines: dict[str, EagerEngine], references: list[Reference], tmp_path: Path
) -> None:
    steps = chain(engines["masked"], references[0])
    partly = Steps(
        "tvm",
        {name: value for name, value in steps.values.items() if name != "source"},
        steps.tails,
        {"source": "inside"},
    )
    save_steps(partly, tmp_path / "a" / "steps.safetensors")
    read = load_steps(tmp_path / "a" / "steps.safetensors")
    assert (read.regime, read.tails, read.missing) == ("tvm", partly.tails, partly.missing)
    assert read.values.keys() == partly.values.keys()
    for name, value in partly.values.items():
        np.testing.assert_array_equal(read.values[name], value)
    (tmp_path / "broken").write_bytes(b"no")
    with pytest.raises(ValidationError, match="cannot be read as the steps of an utterance"):
        load_steps(tmp_path / "broken")
    with pytest.raises(ValueError, match="both or neither of present and missing"):
        Steps("tvm", {}, {}, {"source": "inside"})
