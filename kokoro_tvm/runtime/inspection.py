"""What a compiled library says of itself, asked alone: no bundle, no torch, no compiler."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kokoro_tvm.errors import BundleError
from kokoro_tvm.runtime.bundle import COMPONENTS
from kokoro_tvm.runtime.tvm_runtime import load_tvm_ffi

__all__ = ["inspect_library"]


def inspect_library(path: Path) -> dict[str, Any]:
    """The manifest that a library carries: what was compiled, for what, from what, with what.

    component, bucket, length, precision, project, target, cpu_features, program and schedule (sha256; null
    where every layer goes by the rules), toolchain. Raises BundleError: no such file, no library for this
    kind of machine, or none of ours.
    """
    if not path.is_file():
        raise BundleError(f"{path}: there is no such file.")
    tvm_ffi = load_tvm_ffi()
    try:
        machine = tvm_ffi.load_module(str(path.resolve()))["vm_load_executable"]()
        machine["vm_initialization"](1, 0, 2)  # CPU, device 0, pooled allocator, as a session does
        names = [f"{component}_manifest" for component in COMPONENTS]
        found = [name for name in names if machine.implements_function(name)]
        told = [json.loads(str(machine[name]())) for name in found]
    except (RuntimeError, AttributeError, ValueError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise BundleError(
            f"{path} cannot be loaded as a compiled component ({reason}). "
            "It is damaged, or for another kind of machine."
        ) from error
    if len(told) != 1:
        raise BundleError(f"{path} says nothing of itself: it is no component that kokoro-tvm compiled.")
    return dict(told[0])
