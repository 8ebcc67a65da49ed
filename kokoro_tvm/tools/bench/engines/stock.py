"""The stock model of the package `kokoro`, in PyTorch with its defaults (`disable_complex=False`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shutil import which

from kokoro_tvm.tools.bench.engine import BenchUtterance, EngineOutput, EngineSpec

__all__ = ["StockModelEngine", "missing_compiler", "missing_gpu", "open_compiled", "open_on_gpu"]


class StockModelEngine:
    """`KModel` from a folder with `config.json` and `kokoro-v1_0.pth`, as the hub has them, on a device as
    PyTorch calls it. Precision bfloat16 is PyTorch's automatic mixed precision."""

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
        self._mixed = spec.precision == "bfloat16"
        precision = "mixed float32 and bfloat16" if self._mixed else "float32"
        self.details = precision if device == "cpu" else f"{precision} on {device}"

    def speak(self, utterances: Sequence[BenchUtterance]) -> EngineOutput:
        import torch

        audio = []
        for utterance in utterances:
            with (
                torch.inference_mode(),
                torch.autocast(self._device, torch.bfloat16, enabled=self._mixed),
            ):
                given = (utterance.tokens, utterance.style)
                tokens, style = (torch.tensor([each], device=self._device) for each in given)
                audio.append(self.model.forward_with_tokens(tokens, style, 1)[0].float().cpu().numpy())
        return EngineOutput(audio)


def open_compiled(spec: EngineSpec) -> StockModelEngine:
    """The model with its components compiled by `torch.compile`, once for all lengths, which it does with the
    first call: that takes minutes unless PyTorch's cache has the code."""
    import torch

    engine = StockModelEngine(spec)
    # The whole would be cut where durations are read; LSTMs of packed sequences it cannot compile.
    for name in ("bert", "decoder"):
        component = getattr(engine.model, name)
        component.forward = torch.compile(component.forward, dynamic=True)
    engine.details += ", compiled"
    return engine


def missing_compiler() -> str | None:
    """Why `torch.compile` generates no code here; None where it does."""
    return None if which("g++") else "torch.compile needs a C++ compiler, and there is no g++ in PATH"


def open_on_gpu(spec: EngineSpec) -> StockModelEngine:
    """The model on this machine's GPU. Raises RuntimeError where there is none that PyTorch can use."""
    device = _gpu()
    if device is None:
        raise RuntimeError(missing_gpu())
    return StockModelEngine(spec, device)


def missing_gpu() -> str | None:
    """Why PyTorch computes on no GPU here; None where it can."""
    if _gpu() is not None:
        return None
    return "PyTorch finds no GPU here: it needs a driver and one of NVIDIA's or Apple's, and a build for it"


def _gpu() -> str | None:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None
