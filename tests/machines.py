"""Machines by LLVM's names."""

from __future__ import annotations

from collections.abc import Sequence

from kokoro_tvm.targets import Machine, resolve
from kokoro_tvm.targets.cpu import LlvmTarget

__all__ = ["machine_of"]


def machine_of(
    mcpu: str, mtriple: str | None = None, mattr: Sequence[str] = (), precision: str = "float32"
) -> Machine:
    return resolve(LlvmTarget(kind="llvm", mcpu=mcpu, mtriple=mtriple, mattr=tuple(mattr)), precision)
