"""Pairs of regimes: what counts, what is said of what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kokoro_tvm.recipe import Gates
from kokoro_tvm.validation.measure.compare import compare
from kokoro_tvm.validation.reference.steps import STEPS, Steps, Tail

SIGNAL = {"min_snr_db": 60.0}
AUDIO = {"min_snr_db": 30.0, "min_gain_db": 10.0, "min_magnitude_correlation": 0.999}
PARTS = ("bert", "duration", "text_encoder", "f0n")
GATES = Gates.model_validate(dict.fromkeys(PARTS, SIGNAL) | dict.fromkeys(("decoder", "speech"), AUDIO))


def steps(regime: str, error: float = 0.0, frames: tuple[int, ...] = (3, 2, 4), **changed: Any) -> Steps:
    """Build steps of random values, the same in every call, with a relative error."""
    generator = np.random.default_rng(0)
    lengths = {"tokens": len(frames), "frames": sum(frames)}
    values: dict[str, Any] = {}
    for step in STEPS:
        shape = (step.extent(lengths[step.axis]),)
        if step.name != "audio":
            shape = (1, 2, *shape)
        value = generator.standard_normal(shape)
        values[step.name] = value + error * np.abs(value).mean() * generator.standard_normal(shape)
    values |= {"pred_dur": np.array(frames), "alignment": np.repeat(np.arange(len(frames)), frames)}
    return Steps(regime, values | changed)


TRUTH = steps("pt.float64")


def test_equal_values_pass() -> None:
    pair = compare(steps("tvm"), TRUTH, GATES, steps("pt.dynamic", 1e-3))
    assert pair.judged and pair.first_missed is None
    assert [row.status for row in pair.rows] == ["passed"] * len(STEPS)
    assert {row.metrics["snr_db"] for row in pair.rows} == {np.inf}


def test_row_has_the_metrics_of_its_step() -> None:
    value = TRUTH.values["f0"].copy()
    value[0, 0, 0] += 3.0
    value[0, 1, 4] -= 1.0
    row = {r.step: r for r in compare(steps("tvm", f0=value), TRUTH, GATES).rows}["f0"]
    size = value.size
    expected = {"mean_abs": 4 / size, "max_abs": 3.0, "rms_error": np.sqrt(10 / size), "finite_fraction": 1.0}
    assert {key: row.metrics[key] for key in expected} == pytest.approx(expected)
    assert row.metrics["correlation"] == pytest.approx(
        np.corrcoef(value.ravel(), TRUTH.values["f0"].ravel())[0, 1]
    )
    assert row.status == "failed"
    assert [v.gate for v in row.verdicts if v.status == "failed"] == ["min_snr_db"]


def test_first_missed_follows_the_order_of_steps() -> None:
    wrong = steps("tvm", asr=-TRUTH.values["asr"], d=-TRUTH.values["d"])
    first = compare(wrong, TRUTH, GATES).first_missed
    assert first is not None and first.step == "d"


def test_only_the_truth_judges_and_never_pytorch() -> None:
    assert compare(steps("pt.masked"), TRUTH, GATES).judged
    assert not compare(steps("pt.dynamic"), TRUTH, GATES).judged
    assert not compare(steps("tvm"), steps("pt.dynamic"), GATES).judged


def test_gain_needs_the_truth_as_reference() -> None:
    near, far = steps("tvm", 1e-3), steps("pt.dynamic", 1e-2)
    audio = compare(near, TRUTH, GATES, far).rows[-1]
    assert audio.metrics["gain_db"] == pytest.approx(20, abs=0.1)
    assert "min_gain_db" in {v.gate for v in audio.verdicts}
    assert "gain_db" not in compare(near, far, GATES, far).rows[-1].metrics
    assert "gain_db" not in compare(far, TRUTH, GATES, far).rows[-1].metrics
    other_length = steps("pt.dynamic", frames=(1, 1, 1))
    audio = compare(near, TRUTH, GATES, other_length).rows[-1]
    assert np.isnan(audio.metrics["gain_db"]) and audio.status == "failed"


def test_unsteady_step_has_no_gate() -> None:
    wrapped = steps("tvm", **{"generator.0": -TRUTH.values["generator.0"]})
    assert compare(wrapped, TRUTH, GATES).first_missed is None


def test_values_that_are_not_finite_fail_without_gates() -> None:
    broken = TRUTH.values["encode"].copy()
    broken[0, 0, 0] = np.nan
    row = {r.step: r for r in compare(steps("tvm", encode=broken), TRUTH, GATES).rows}["encode"]
    assert row.status == "failed"
    assert row.metrics["finite_fraction"] == pytest.approx(1 - 1 / broken.size)
    assert row.to_json()["metrics"]["snr_db"] == "-inf"


def test_other_durations_of_the_same_length() -> None:
    rows = {r.step: r for r in compare(steps("tvm", frames=(2, 3, 4)), TRUTH, GATES).rows}
    assert rows["pred_dur"].status == rows["alignment"].status == "failed"
    assert rows["pred_dur"].verdicts[0].value == 2
    assert rows["f0"].metrics is not None


def test_other_lengths_are_not_compared() -> None:
    pair = compare(steps("tvm", frames=(2, 2, 2)), TRUTH, GATES)
    rows = {r.step: r for r in pair.rows}
    assert rows["alignment"].status == "failed" and rows["alignment"].reason == "6 frames against 9"
    for name in ("en", "audio", "generator.1"):
        assert rows[name].status == "not run" and rows[name].metrics is None
        assert rows[name].reason == "nothing to compare: 6 frames against 9"
    json.dumps(pair.to_json(), allow_nan=False)


def test_missing_step_has_a_reason() -> None:
    values = {name: value for name, value in TRUTH.values.items() if name != "source"}
    partly = replace(TRUTH, regime="tvm", values=values, missing={"source": "it stays inside"})
    rows = compare(partly, TRUTH, GATES).rows
    assert [row.step for row in rows] == [step.name for step in STEPS]
    (source,) = (row for row in rows if row.step == "source")
    assert (source.status, source.reason) == ("not run", "not available: tvm, it stays inside")


def test_tails_are_those_of_the_value() -> None:
    tailed = replace(TRUTH, regime="tvm", tails={"f0": Tail(12, 3.5, 0.5)})
    row = {r.step: r for r in compare(tailed, TRUTH, GATES).rows}["f0"]
    assert row.to_json()["tail"] == {"elements": 12, "max_abs": 3.5, "finite_fraction": 0.5}
