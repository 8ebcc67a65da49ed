"""Whether this processor has the instructions a bundle was compiled for."""

from __future__ import annotations

import sys
from pathlib import Path

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle import Bundle

__all__ = ["check_cpu"]

# Names LLVM gives to instructions a library may hold, and Linux's names for them.
_CPU_FLAGS = {
    "avx": "avx",
    "avx2": "avx2",
    "fma": "fma",
    "f16c": "f16c",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "lzcnt": "abm",
    "sse4.2": "sse4_2",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512cd": "avx512cd",
    "avx512vnni": "avx512_vnni",
    "avx512bf16": "avx512_bf16",
    "avxvnni": "avx_vnni",
}


def check_cpu(bundle: Bundle, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Refuse a bundle whose code this processor cannot run, instead of dying of an illegal instruction."""
    if not sys.platform.startswith("linux") or not cpuinfo.is_file():
        return
    flags: set[str] = set()
    for line in cpuinfo.read_text().splitlines():
        if line.startswith("flags"):
            flags = set(line.partition(":")[2].split())
            break
    needed = {name.removeprefix("+") for name in bundle.cpu_features}
    missing = sorted(name for name in needed & _CPU_FLAGS.keys() if _CPU_FLAGS[name] not in flags)
    if missing:
        raise BundleError(
            f"{bundle.root} was built for a processor with {', '.join(missing)}, which this one lacks. "
            "Build the recipe on this machine, or with a target it can run."
        )
