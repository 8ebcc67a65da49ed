"""The stock model on this machine's GPU."""

from __future__ import annotations

from kokoro_tvm.bench.engine import EngineSpec
from kokoro_tvm.bench.engines.stock import StockEngine

__all__ = ["missing_gpu", "open_engine"]


def open_engine(spec: EngineSpec) -> StockEngine:
    """Raises RuntimeError where there is no GPU that PyTorch can use."""
    device = _device()
    if device is None:
        raise RuntimeError(missing_gpu())
    return StockEngine(spec, device)


def missing_gpu() -> str | None:
    """Why PyTorch computes on no GPU here; None where it can."""
    if _device() is not None:
        return None
    return "PyTorch finds no GPU here: it needs a driver and one of NVIDIA's or Apple's, and a build for it"


def _device() -> str | None:
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else None
