"""The profiler of kernels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from toy_bundle import CHANNELS, compile_library, refresh

from kokoro_tvm.cli.develop.profile import _measure
from kokoro_tvm.common.constants import COMPONENTS
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.runtime import Synthesizer
from kokoro_tvm.runtime.bundle.node import ManifestNode
from kokoro_tvm.runtime.session.profiler import (
    Call,
    Kernel,
    _observer,
    kernels_of,
    read_kernels,
    record_calls,
    summarize,
    trace_events,
)
from kokoro_tvm.runtime.session.session import Session

KERNELS = {
    ("bert", "bert_linear_1"): Kernel("linear", 100.0),
    ("bert", "bert_attention_2"): Kernel("attention", 30.0),
    ("f0n", "f0n_linear_0"): Kernel("linear", 50.0),
}
CALLS = [
    Call("bert", "vm.builtin.alloc_tensor", 0.0, 0.25, 0, 1),
    Call("bert", "bert_linear_1", 1.0, 1.0, 400, 5),
    Call("bert", "shape_func", 2.0, 0.25, 0, 1),
    Call("bert", "bert_linear_1", 3.0, 1.0, 800, 10),
    Call("bert", "bert_attention_2", 4.0, 2.0, 1000, 10),
    Call("f0n", "f0n_linear_0", 5.0, 0.5, 100, 20),
    Call("f0n", "f0n_softplus_3", 6.0, 3.0, 60, 20),
]


def rows(by: str, runs: int = 1) -> list[tuple[object, ...]]:
    summaries = summarize(CALLS, KERNELS, by, runs)
    return [(u.component, u.name, u.operation, u.calls, u.seconds, u.bytes, u.flops) for u in summaries]


def test_summarize_by_kernel() -> None:
    assert rows("kernel") == [
        ("f0n", "softplus_3", "softplus", 1, 3.0, 60, None),
        ("bert", "linear_1", "linear", 2, 2.0, 1200, 1500.0),
        ("bert", "attention_2", "attention", 1, 2.0, 1000, 300.0),
        ("bert", "vm", "vm", 2, 0.5, 0, None),
        ("f0n", "linear_0", "linear", 1, 0.5, 100, 1000.0),
    ]


def test_summarize_by_operation() -> None:
    assert rows("operation") == [
        ("", "softplus", "softplus", 1, 3.0, 60, None),
        ("", "linear", "linear", 3, 2.5, 1300, 2500.0),
        ("", "attention", "attention", 1, 2.0, 1000, 300.0),
        ("", "vm", "vm", 2, 0.5, 0, None),
    ]


def test_summarize_by_component_and_runs() -> None:
    assert rows("component", runs=2) == [
        ("bert", "bert", "", 2, 2.25, 1100, 900.0),
        ("f0n", "f0n", "", 1, 1.75, 80, 500.0),
    ]


def test_usage_rates_and_shares() -> None:
    usages = summarize(CALLS, KERNELS)
    assert sum(usage.share for usage in usages) == pytest.approx(1)
    linear = usages[1]
    assert linear.share == pytest.approx(2 / 8)
    assert linear.gflops_per_second == pytest.approx(750e-9)
    assert linear.gigabytes_per_second == pytest.approx(600e-9)
    assert usages[0].gflops_per_second is None


def test_trace_events_are_relative_to_the_first() -> None:
    table = trace_events(CALLS[1:])
    first, second = table["traceEvents"][:2]
    assert (first["name"], first["cat"], first["ph"]) == ("bert_linear_1", "bert", "X")
    assert (first["ts"], first["dur"], second["ts"]) == (0.0, 1e6, 1e6)
    assert json.loads(json.dumps(table)) == table
    assert trace_events([])["traceEvents"] == []


def test_read_kernels_parses_a_table() -> None:
    table = {
        "a": {"operation": "conv1d", "flops_per_step": 12, "results": 2},
        "b": {"operation": "linear", "flops_per_step": 1.5},
        "c": {"operation": "take", "flops_per_step": None},
    }
    kernels = read_kernels(ManifestNode(table, "table"))
    assert kernels == {"a": Kernel("conv1d", 12.0, 2), "b": Kernel("linear", 1.5), "c": Kernel("take")}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "should be a JSON object but is list"),
        ({"a": 1}, "'a' should be dict but is int"),
        ({"a": {}}, "table: a lacks 'operation'"),
        ({"a": {"operation": "x", "flops_per_step": "many"}}, "'flops_per_step' should be float but is str"),
        ({"a": {"operation": "x", "flops_per_step": True}}, "but is bool"),
    ],
)
def test_read_kernels_refuses_invalid_tables(table: object, message: str) -> None:
    with pytest.raises(BundleError, match=message):
        read_kernels(ManifestNode(table, "table"))


def test_record_calls_counts_steps_of_the_first_result() -> None:
    calls: list[Call] = []
    observe = _observer("f0n", {("f0n", "f0n_conv1d_0"): Kernel("conv1d", 5.0, 2)}, calls.append)

    class Tensor:
        def __init__(self, *shape: int) -> None:
            self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(np.float32)

        def numel(self) -> int:
            return int(np.prod(self.shape))

    given = (Tensor(1, 7, 4), 3, Tensor(4), Tensor(1, 14, 8), Tensor(2, 5))
    for name in ("f0n_conv1d_0", "f0n_other", "vm.builtin.reshape"):
        for before in (True, False):
            observe(None, name, before, None, *given)
    assert [(call.steps, call.bytes) for call in calls] == [(14, 616), (5, 616), (5, 0)]


def test_record_calls_records_an_utterance(compiled: Callable[[str], Path]) -> None:
    tts = Synthesizer(compiled("exact"))
    assert isinstance(tts.runner, Session)
    plain = tts.from_phonemes("abc.")
    with record_calls(tts.runner) as calls:
        speech = tts.from_phonemes("abc.")
    assert np.array_equal(speech.audio, plain.audio)
    assert list(dict.fromkeys(call.component for call in calls)) == list(COMPONENTS)
    assert all(call.seconds >= 0 for call in calls)
    assert [call.start for call in calls] == sorted(call.start for call in calls)
    tokens, frames = speech.durations.size, int(speech.durations.sum())
    kernel = {
        call.component: call for call in calls if not call.name.startswith(("vm.builtin.", "shape_func"))
    }
    # tokens int64, scale and the result, float32
    assert kernel["bert"].bytes == tokens * 8 + CHANNELS * 4 + CHANNELS * tokens * 4
    assert kernel["f0n"].steps == 2 * frames
    number = len(calls)
    tts.from_phonemes("abc.")
    assert len(calls) == number, "recording ends with the block"


def test_profile_measures_an_utterance(compiled: Callable[[str], Path]) -> None:
    tts = Synthesizer(compiled("exact"), threads=1)
    profile = _measure(tts, ["abc."], "af_heart", 2)
    assert (profile.threads, profile.repeat) == (1, 2)
    assert profile.audio_seconds == tts.from_phonemes("abc.").audio.size / 24000
    assert {usage.component for usage in profile.by("kernel")} == set(COMPONENTS)
    assert all(usage.calls == 1 for usage in profile.by("kernel") if usage.operation != "vm")


def test_record_calls_ends_after_an_error(compiled: Callable[[str], Path]) -> None:
    session = Synthesizer(compiled("exact")).runner
    assert isinstance(session, Session)
    with pytest.raises(KeyError), record_calls(session) as calls:
        raise KeyError
    session.run("bert", 1, np.zeros((1, 1), np.int64))
    assert calls == []


def test_kernels_of_reads_the_tables_of_libraries(compiled: Callable[[str], Path], tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(compiled("exact"), tmp_path / "copy"))
    for bucket in (16, 64):
        table = {f"bert_{bucket}": {"operation": "take", "flops_per_step": 7}}
        compile_library(bundle / f"bert-{bucket}.so", "bert", bucket, "exact", kernels=table)
    refresh(bundle)
    session = Synthesizer(bundle).runner
    assert isinstance(session, Session)
    assert kernels_of(session) == {
        ("bert", "bert_16"): Kernel("take", 7.0),
        ("bert", "bert_64"): Kernel("take", 7.0),
    }
