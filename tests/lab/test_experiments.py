"""The experiments on a toy: what they vary is what differs."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kokoro_tvm.errors import InputError
from kokoro_tvm.lab.experiments import bucket_sizes, decoder_tail, prefix_f0n
from kokoro_tvm.lab.setting import Lab

pytestmark = pytest.mark.slow("builds the toy with every length policy")


def test_prefix_f0n(lab: Callable[[str], Lab]) -> None:
    toy = lab("toy")
    done = prefix_f0n(toy, toy.references(["hello"]), 64)
    rows = {row.variant: row.metrics for row in done.rows}
    assert list(rows) == ["padded", "prefix only", "masked"]
    for variant in ("prefix only", "masked"):
        assert rows[variant]["f0_snr_db"] > 100
        assert rows[variant]["f0_max_abs"] < 1e-2
        assert rows[variant]["magnitude_correlation"] > 0.99
    assert rows["padded"]["f0_snr_db"] < 40
    assert rows["padded"]["audio_snr_db"] < rows["prefix only"]["audio_snr_db"]


@pytest.mark.nightly
def test_decoder_tail(lab: Callable[[str], Lab]) -> None:
    toy = lab("toy")
    done = decoder_tail(toy, toy.references(["hello"]), [32, 64])
    rows = {(row.regime, row.variant): row for row in done.rows}
    assert {row.bucket for row in done.rows} == {64}  # 32 frames do not hold it
    variants = ("zeros", "repeat", "random", "F0N's own")
    assert rows.keys() == {(f"pt.{policy}", v) for policy in ("masked", "padded") for v in variants}
    for variant in variants:
        assert rows["pt.masked", variant].metrics["moved_max_abs"] == 0.0
        assert (rows["pt.padded", variant].metrics["moved_max_abs"] > 0) == (variant != "zeros")
        assert (
            rows["pt.padded", variant].metrics["snr_db"] < rows["pt.masked", variant].metrics["snr_db"] - 10
        )


@pytest.mark.nightly
def test_bucket_sizes(lab: Callable[[str], Lab]) -> None:
    masked = lab("masked")
    done = bucket_sizes(masked, masked.references(["hello"]), [64, 72])
    rows = {(row.regime, row.variant, row.bucket): row.metrics for row in done.rows}
    static = {
        (r, v, b)
        for r in ("pt.masked", "pt.padded")
        for v in ("decoder", "f0n and decoder")
        for b in (64, 72)
    }
    exact = {("pt.exact", v, None) for v in ("decoder", "f0n and decoder")}
    assert rows.keys() == static | exact | {("tvm", "decoder", 64), ("tvm", "decoder", 72)}
    for (regime, _, _), metrics in rows.items():
        assert (metrics["snr_db"] > 30) == (regime != "pt.padded")
    result = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert len(result["rows"]) == len(rows)


def test_an_utterance_the_recipe_does_not_have(lab: Callable[[str], Lab]) -> None:
    with pytest.raises(InputError, match=r"The recipe toy has no utterance .helo"):
        lab("toy").references(["helo"])
