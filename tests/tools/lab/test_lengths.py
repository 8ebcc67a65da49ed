"""Every length, every bucket edge, and random padding, on the toy's bundles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from kokoro_tvm.common.constants import COMPONENT_AXES
from kokoro_tvm.common.errors import ValidationError
from kokoro_tvm.recipe import Gates
from kokoro_tvm.tools.lab.lengths import (
    LengthsReport,
    TailsReport,
    build_inputs,
    check_edges,
    choose_lengths,
    measure_lengths,
    random_padding,
    try_tails,
)
from kokoro_tvm.tools.lab.setting import Lab
from kokoro_tvm.tools.lab.stock_engine import StockEngine
from kokoro_tvm.validation.reference.reference import DYNAMIC, INPUTS, TRUTH, Reference

pytestmark = pytest.mark.nightly

COMPONENTS = pytest.mark.parametrize("component", COMPONENT_AXES)
LENGTHS = dict.fromkeys(("bert", "duration", "text_encoder"), range(1, 65)) | {
    "f0n": range(1, 131),
    # A few only, because float64 is slow; docs/accuracy.md has every length of the real weights.
    "decoder": [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 129, 130],
}


@pytest.fixture(scope="module")
def stock(lab: Callable[[str], Lab]) -> tuple[StockEngine, StockEngine]:
    return lab("toy").stock(TRUTH), lab("toy").stock(DYNAMIC)


@pytest.fixture(scope="module")
def hello(lab: Callable[[str], Lab]) -> Iterator[Reference]:
    yield lab("toy").reference("hello")


@COMPONENTS
def test_exact_lengths_meet_the_gates(
    component: str, lab: Callable[[str], Lab], stock: tuple[StockEngine, StockEngine], hello: Reference
) -> None:
    lengths = LENGTHS[component]
    gates = lab("toy").recipe.gates.model_dump()
    # Means over one or two frames are ill-conditioned: PyTorch float32 has less than 110 dB there, too.
    gates["f0n"] = {"min_snr_db": 100}
    rows = tuple(
        measure_lengths(lab("toy").tvm, *stock, hello, component, lengths, Gates.model_validate(gates))
    )
    assert all(row.metrics["gain_db"] > -6 for row in rows if component == "f0n" and row.length < 3)
    assert {row.length for row in rows} == set(lengths)
    report = LengthsReport("toy", "exact", True, rows, ())
    assert report.missed == []


@COMPONENTS
def test_masked_lengths_meet_the_gates_at_edges(
    component: str, lab: Callable[[str], Lab], stock: tuple[StockEngine, StockEngine], hello: Reference
) -> None:
    buckets = lab("masked").tvm.buckets(component)
    lengths = sorted({n for b in buckets for n in (b - 1, b, b + 1) if n <= buckets[-1]})
    rows = measure_lengths(lab("masked").tvm, *stock, hello, component, lengths, lab("masked").recipe.gates)
    assert LengthsReport("masked", "masked", True, tuple(rows), ()).missed == []


@pytest.mark.parametrize("name", ["toy", "masked", "padded"])
@COMPONENTS
def test_session_chooses_the_bucket_at_edges(
    name: str, component: str, lab: Callable[[str], Lab], hello: Reference
) -> None:
    edges = list(check_edges(lab(name).tvm.session, hello, component))
    buckets = lab(name).tvm.buckets(component)
    assert [e.length for e in edges] == [n for b in buckets for n in (b - 1, b, b + 1)]
    assert [e.status for e in edges] == ["passed"] * len(edges)
    assert [e.refused for e in edges] == [e.length > buckets[-1] for e in edges]
    following = dict(zip(buckets, [*buckets[1:], None], strict=True))
    assert all(e.expected == (following[e.bucket] if e.length > e.bucket else e.bucket) for e in edges)


@COMPONENTS
def test_masked_lengths_ignore_random_tails(
    component: str, lab: Callable[[str], Lab], hello: Reference
) -> None:
    engine = lab("masked").tvm
    for bucket in engine.buckets(component):
        # One length of the decoder, which takes longest.
        for length in choose_lengths(bucket)[-2:-1] if component == "decoder" else choose_lengths(bucket):
            trial = try_tails(engine, hello, component, bucket, length, 50)
            assert (trial.equal, trial.silent, trial.status) == (50, True, "passed")


@COMPONENTS
def test_try_tails_detects_padding_treated_as_data(
    component: str, lab: Callable[[str], Lab], hello: Reference
) -> None:
    engine = lab("padded").tvm
    (bucket,) = engine.buckets(component)
    if COMPONENT_AXES[component] == "tokens" and component != "duration":
        pytest.skip("random token ids would be read out of bounds where they are taken for speech")
    trial = try_tails(engine, hello, component, bucket, bucket // 3, 2)
    assert trial.equal < 2
    with pytest.raises(
        ValidationError, match=f"depends on its padding: {component}-{bucket} of {bucket // 3}: "
    ):
        TailsReport("padded", "padded", (trial,)).require()


def test_random_padding_has_every_kind_of_value() -> None:
    pad = random_padding(np.random.default_rng(0))
    tails = [pad("en", np.zeros((3, 1, 640), np.float32), 50) for _ in range(20)]
    assert {t.dtype for t in tails} == {np.dtype(np.float32)}
    assert all(np.isnan(t).any() and np.isinf(t).any() for t in tails)
    sizes = [np.abs(t[np.isfinite(t)]).max() for t in tails]
    assert min(sizes) < 1e3 and max(sizes) > 1e20
    assert len({t.tobytes() for t in tails}) == 20
    assert np.abs(pad("tokens", np.zeros((2, 1), np.int64), 9)).min() > 200


@COMPONENTS
@pytest.mark.parametrize("length", [1, 2, 3, 200])
def test_build_inputs_for_any_length(component: str, length: int, hello: Reference) -> None:
    inputs, short = build_inputs(hello, component, length), hello.inputs(component)
    assert inputs.keys() == set(INPUTS[component])
    for name, value in inputs.items():
        if name == "style":
            continue
        per = short[name].shape[1 if name == "noise" else -1] // hello.length(COMPONENT_AXES[component])
        assert value.shape[1 if name == "noise" else -1] == per * length
        assert value.dtype == short[name].dtype
        if name == "tokens":
            assert value[0, 0] == value[0, -1] == 0
            assert (value[0, 1:-1] > 0).all()
        else:
            count = min(per * length, short[name].shape[1 if name == "noise" else -1])
            axis = 1 if name == "noise" else -1
            np.testing.assert_array_equal(
                value.take(range(count), axis), short[name].take(range(count), axis)
            )


def test_report_lists_the_lengths_that_miss_a_gate(
    lab: Callable[[str], Lab], stock: tuple[StockEngine, StockEngine], hello: Reference
) -> None:
    gates = lab("toy").recipe.gates.model_dump()
    gates["text_encoder"]["min_snr_db"] = 300
    rows = measure_lengths(lab("toy").tvm, *stock, hello, "text_encoder", [2, 5], Gates.model_validate(gates))
    report = LengthsReport("toy", "exact", True, tuple(rows), ())
    with pytest.raises(
        ValidationError, match=r"text_encoder t_en misses a gate at 2, 5: at 2, t_en: snr_db 1"
    ):
        report.require()
    replace(report, enforce=False).require()
    assert report.to_json()["missed"] == report.missed
    (edge, *_) = check_edges(lab("toy").tvm.session, hello, "text_encoder")
    wrong = LengthsReport("toy", "padded", False, (), (replace(edge, equal=False),))
    with pytest.raises(ValidationError, match="text_encoder of 63 next to bucket 64 was to run in bucket 64"):
        wrong.require()
