"""Engines of bundles and of other systems. Each imports its library only when it is opened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec


class BundleEngine:
    """A bundle: numpy and the TVM runtime, neither torch nor the compiler."""

    def __init__(self, spec: EngineSpec) -> None:
        from kokoro_tvm.runtime import Synthesizer

        self._synthesizer = Synthesizer(spec.path, threads=spec.threads)
        self.details = self._synthesizer.bundle.precision

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        """Synthesize utterances and sum up the time of every component."""
        source = None if noise else draw_zeros
        speeches = [self._synthesizer.run(u.tokens, u.style, noise=source) for u in utterances]
        bundle = self._synthesizer.bundle
        names = bundle.components if bundle.gpu is None else ()  # on a GPU they run asynchronously
        components = {name: sum(speech.timings[name] for speech in speeches) for name in names}
        return EngineOutput([speech.audio for speech in speeches], components)


class OnnxRuntimeEngine:
    """The ONNX export, which has no noise, in ONNX Runtime, on the CPU, with its default optimisations."""

    def __init__(self, spec: EngineSpec) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = spec.threads
        self._session = onnxruntime.InferenceSession(spec.path, options, providers=["CPUExecutionProvider"])
        self.details = spec.precision

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        """Synthesize utterances at speed 1; the caller takes the time."""
        return EngineOutput([self._session.run(None, make_feeds(u))[0].reshape(-1) for u in utterances])


class OpenVinoEngine:
    """The ONNX export, which has no noise, in OpenVINO, on the CPU, for latency, with dynamic lengths."""

    def __init__(self, spec: EngineSpec) -> None:
        import openvino

        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": spec.threads}
        if spec.precision == "float32":
            options["INFERENCE_PRECISION_HINT"] = "f32"
        model = openvino.Core().compile_model(spec.path, "CPU", options)
        self._request = model.create_infer_request()
        precision = model.get_property("INFERENCE_PRECISION_HINT").to_string()
        self.details = {"f32": "float32", "bf16": "bfloat16", "f16": "float16"}.get(precision, precision)

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        """Synthesize utterances at speed 1; the caller takes the time."""
        # A copy: the next request overwrites the result of this one.
        return EngineOutput([np.array(self._request.infer(make_feeds(u))[0]).reshape(-1) for u in utterances])


class StockModelEngine:
    """The stock `KModel` in PyTorch with its defaults; bfloat16 is automatic mixed precision."""

    def __init__(self, spec: EngineSpec, device: str = "cpu") -> None:
        import torch
        from kokoro import KModel

        torch.set_num_threads(spec.threads)
        folder = Path(spec.path)
        self.model = KModel(
            repo_id="hexgrad/Kokoro-82M",
            config=str(folder / "config.json"),
            model=str(folder / "kokoro-v1_0.pth"),
            disable_complex=False,
        )
        self.model = self.model.to(device).eval()
        self._device = device
        self._is_mixed = spec.precision == "bfloat16"
        precision = "mixed float32 and bfloat16" if self._is_mixed else "float32"
        self.details = precision if device == "cpu" else f"{precision} on {device}"

    def speak(self, utterances: Sequence[BenchUtterance], noise: bool = True) -> EngineOutput:
        """Synthesize utterances at speed 1; the caller takes the time."""
        import torch

        audio = []
        for utterance in utterances:
            with (
                torch.inference_mode(),
                torch.autocast(self._device, torch.bfloat16, enabled=self._is_mixed),
                nullcontext() if noise else _without_noise(),
            ):
                inputs = (utterance.tokens, utterance.style)
                tokens, style = (torch.tensor([values], device=self._device) for values in inputs)
                audio.append(self.model.forward_with_tokens(tokens, style, 1)[0].float().cpu().numpy())
        return EngineOutput(audio)


@contextmanager
def _without_noise() -> Iterator[None]:
    """Let `torch.randn_like`, which the stock source draws its noise with, return zeros within the block."""
    import torch

    # A mode of torch functions would end at the border of compiled code.
    draw, torch.randn_like = torch.randn_like, torch.zeros_like
    try:
        yield
    finally:
        torch.randn_like = draw


def open_compiled(spec: EngineSpec) -> StockModelEngine:
    """Open the stock model with `bert` and the decoder compiled by `torch.compile`, for all lengths.

    The first call compiles, which takes minutes unless PyTorch's cache has the code.
    """
    import torch

    engine = StockModelEngine(spec)
    # A graph of the whole model would break at the durations, and packed LSTMs do not compile.
    for name in ("bert", "decoder"):
        component = getattr(engine.model, name)
        component.forward = torch.compile(component.forward, dynamic=True)
    engine.details += ", compiled"
    return engine


def missing_compiler() -> str | None:
    """Return why `torch.compile` cannot generate code on this machine, or None if it can."""
    return None if which("g++") else "torch.compile needs a C++ compiler, and there is no g++ in PATH"


def open_on_gpu(spec: EngineSpec) -> StockModelEngine:
    """Open the stock model on the GPU. Raises RuntimeError if PyTorch can use none."""
    device = _gpu_device()
    if device is None:
        raise RuntimeError(missing_gpu())
    return StockModelEngine(spec, device)


def missing_gpu() -> str | None:
    """Return why PyTorch can use no GPU on this machine, or None if it can."""
    if _gpu_device() is not None:
        return None
    return "PyTorch finds no GPU here: it needs a driver and one of NVIDIA's or Apple's, and a build for it"


def _gpu_device() -> str | None:
    """Return PyTorch's name of the GPU; None if it can use none."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None


def draw_zeros(samples: int) -> NDArray[np.float32]:
    """Return silence in place of noise."""
    return np.zeros(samples, np.float32)


def make_feeds(utterance: BenchUtterance) -> dict[str, Any]:
    """Return the inputs of the ONNX export: ids int64 (1, tokens), style float32 (1, 256), speed (1,)."""
    return {
        "input_ids": np.array([utterance.tokens], np.int64),
        "style": np.array([utterance.style], np.float32),
        "speed": np.ones(1, np.float32),
    }
