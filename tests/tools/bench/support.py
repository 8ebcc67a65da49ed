"""Shared by these tests: systems with the fake engine, and a result with every field."""

from __future__ import annotations

from kokoro_tvm.builder.diagnostics.hardware import MachineInfo
from kokoro_tvm.tools.bench.engine import EngineSpec
from kokoro_tvm.tools.bench.results import (
    ComponentResult,
    Result,
    SystemResult,
    TextInfo,
    TextResult,
    compare,
)
from kokoro_tvm.tools.bench.systems import System


def fake_system(name: str, path: str = "", ours: bool = False, precision: str = "float32") -> System:
    spec = EngineSpec("tools.bench.fake_engine:FakeEngine", path, 2, precision)
    return System(name, name.capitalize(), ours, precision, spec, ("json",), {"fake": "1.0"}, 1000)


def timed(text: str, median: float, audio: float, components: tuple[ComponentResult, ...] = ()) -> TextResult:
    return TextResult(
        text=text,
        audio_s=audio,
        first_s=3 * median,
        seconds_s=(0.9 * median, median, 1.1 * median),
        median_s=median,
        minimum_s=0.9 * median,
        rtf=median / audio,
        peak_rss_bytes=400_000_000,
        components=components,
    )


def measured(
    name: str, precision: str, *texts: TextResult, ours: bool = False, fidelity: float | None = None
) -> SystemResult:
    return SystemResult(
        name=name,
        title={"pytorch": "PyTorch", "openvino": "OpenVINO"}.get(name, name),
        ours=ours,
        precision=precision,
        details=precision,
        versions={"torch": "2.13.0"},
        disk_bytes=327_000_000,
        cold_starts_s=(1.0, 1.1),
        cold_start_s=1.05,
        import_s=0.4,
        texts=texts,
        fidelity=fidelity,
        problem=None,
    )


def absent(name: str, problem: str) -> SystemResult:
    title = {"openvino": "OpenVINO"}.get(name, name)
    return SystemResult(name=name, title=title, ours=False, precision="default", problem=problem)


def complete_result() -> Result:
    """Return two bundles, two peers that ran, one that is missing and one that failed."""
    texts = (TextInfo(name="short", tokens=(15,)), TextInfo(name="minute", tokens=(345, 340)))
    decoder = ComponentResult(
        component="decoder", seconds_s=0.2, flops=82_000_000_000, flops_per_s=4.1e11, share_of_peak=0.82
    )
    pitch = ComponentResult(
        component="f0n", seconds_s=0.01, flops=1_200_000_000, flops_per_s=1.2e11, share_of_peak=None
    )
    systems = (
        measured("cpu", "float32", timed("short", 0.21, 1.5, (pitch, decoder)), ours=True, fidelity=1.0),
        measured(
            "cpu-bf16",
            "bfloat16",
            *(timed("short", 0.1, 1.5), timed("minute", 4.0, 60.0)),
            ours=True,
            fidelity=0.99962,
        ),
        measured(
            "pytorch", "float32", timed("short", 0.5, 1.5), timed("minute", 20.0, 60.0), fidelity=0.99971
        ),
        measured("openvino", "float32", timed("short", 0.3, 1.6), timed("minute", 10.0, 60.0)),
        absent("openvino-default", "not run: it takes `pip install '.[lab]'`"),
        absent("onnxruntime", "failed on the text short: ended by signal SIGSEGV, its log is empty"),
    )
    return Result(
        date="2026-01-31",
        machine=MachineInfo(cpu="Machine", cores=2, memory_bytes=2**35, system="Linux 6.1", python="3.11.7"),
        threads=2,
        rounds=3,
        voice="af_heart",
        others_cores=0.25,
        peak_flops_per_s={"float32": 5e11, "bfloat16": 1e12},
        texts=texts,
        systems=systems,
        comparisons=compare(systems, [text.name for text in texts]),
    )
