"""For how many tokens or frames memory is reserved."""

from __future__ import annotations

__all__ = ["storage_step"]

_STEPS = {"tokens": 512, "frames": 1280}


def storage_step(axis: str, eager: bool) -> int:
    """Memory is reserved for the next multiple of so many tokens or frames.

    Of frames for 32 seconds: few utterances are longer, so all share their memory. eager: memory costs as
    soon as it is reserved, as on GPUs and in WebAssembly; every length then has its own.
    """
    return 1 if eager else _STEPS[axis]
