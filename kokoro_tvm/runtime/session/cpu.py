"""Checks that this machine can run a bundle."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from kokoro_tvm.common.cpu_features import AMX, CPUINFO, PORTABLE, features_of_cpu
from kokoro_tvm.common.errors import BundleError
from kokoro_tvm.common.platforms import WEB, detect_platform, parse_triple
from kokoro_tvm.runtime.bundle.manifest import Bundle
from kokoro_tvm.runtime.notices import warn

_ARCH_PRCTL, _REQUEST, _TILES = 158, 0x1023, 18  # of Linux on x86-64: a system call and its arguments


def check_cpu(bundle: Bundle, cpuinfo: Path = CPUINFO, emulated: frozenset[str] = frozenset()) -> None:
    """Refuse a bundle that this CPU cannot run, which would die of an illegal instruction.

    Warns if the system does not list the CPU's features. Requests AMX from Linux if the bundle needs it.

    Args:
        bundle: its manifest.
        cpuinfo: the system's list.
        emulated: features that an emulator adds.

    Raises:
        BundleError: features are missing, or Linux refuses AMX.
    """
    available = features_of_cpu(cpuinfo)
    if available is None:
        if bundle.cpu_features:
            warn(
                f"This system does not list its CPU's features, so it was not checked whether {bundle.root} "
                f"(recipe {bundle.recipe}) runs here: it needs {', '.join(bundle.cpu_features)}."
            )
        return
    refuse_missing(bundle, available | emulated, "this one", _advice(bundle, available))
    if {*bundle.cpu_features} & (AMX - emulated):
        try:
            request_amx()
        except OSError as error:
            raise BundleError(
                f"{bundle.root} (recipe {bundle.recipe}) needs AMX, and Linux does not give it to this "
                f"process ({error.strerror}). Use the recipe `cpu`, built on this machine."
            ) from error


def request_amx() -> None:
    """Request the tiles of AMX, 8 KB per thread, from Linux; raises OSError."""
    if ctypes.CDLL(None, use_errno=True).syscall(_ARCH_PRCTL, _REQUEST, _TILES):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def check_platform(bundle: Bundle) -> None:
    """Refuse a bundle for another operating system or architecture; raises BundleError."""
    triple = str(bundle.target.get("mtriple", ""))
    target, here = parse_triple(triple), detect_platform()
    if target.system == "ios":
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {target}, as archives that an app is "
            f"linked with: nothing can load them, and this is {here}. `kokoro-tvm package` writes them as an "
            "XCFramework. To speak here, use the recipe `cpu`, built on this machine."
        )
    if target == WEB:
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {target}: a browser runs it, or Node, and "
            f"no Python. `kokoro-tvm web {bundle.root}` writes a page that speaks with it. To speak here, "
            "use the recipe `cpu`, built on this machine."
        )
    if triple and target != here:
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {target}, and this is {here}. "
            "Use the recipe `cpu`, built on this machine."
        )


def refuse_missing(bundle: Bundle, available: frozenset[str], where: str, advice: str = "") -> None:
    """Refuse a bundle that needs features which the machine `where` lacks; raises BundleError."""
    missing = sorted(set(bundle.cpu_features) - available)
    if missing:
        text = f"{bundle.root} (recipe {bundle.recipe}) was built for a processor with {', '.join(missing)}"
        raise BundleError(f"{text}, which {where} lacks. {advice}".rstrip())


def _advice(bundle: Bundle, available: frozenset[str]) -> str:
    """Name the recipes that run here: the native one, and the most capable portable one."""
    arithmetic = " (float32)" if bundle.precision != "float32" else ""
    advice = f"Use the recipe `cpu`{arithmetic}, built on this machine"
    portable = [name for name, needed in PORTABLE.items() if needed <= available]
    return f"{advice}, or the portable recipe `{portable[0]}`." if portable else f"{advice}."
