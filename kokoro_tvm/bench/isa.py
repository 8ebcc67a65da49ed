"""Instruction sets that peers can be held to, as on an older CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

__all__ = ["HELD_BY", "Isa"]

Isa: TypeAlias = Literal["avx2"]

HELD_BY: Mapping[Isa, Mapping[str, str]] = {
    # Of OpenVINO, releases up to 2026.4 follow the first alone: oneDNN's convolutions and products are held,
    # kernels that OpenVINO generates itself are not.
    "avx2": {
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OV_CPU_MAX_ISA": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    },
}
"""Environment variables that PyTorch, OpenVINO and their libraries follow."""
