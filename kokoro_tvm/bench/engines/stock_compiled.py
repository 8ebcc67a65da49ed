"""The stock model with its components compiled by `torch.compile`, for any length."""

from __future__ import annotations

from kokoro_tvm.bench.engine import EngineSpec
from kokoro_tvm.bench.engines.stock import StockEngine

__all__ = ["missing_compiler", "open_engine"]


def open_engine(spec: EngineSpec) -> StockEngine:
    """Compiles with the first call, which takes minutes unless PyTorch's cache has the code."""
    engine = StockEngine(spec)
    engine.compile()
    return engine


def missing_compiler() -> str | None:
    """Why `torch.compile` generates no code here; None where it does."""
    from shutil import which

    return None if which("g++") else "torch.compile needs a C++ compiler, and there is no g++ in PATH"
