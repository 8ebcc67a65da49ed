"""Whether this machine is one that a bundle was compiled for."""

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

__all__ = ["check_cpu", "check_platform", "refuse_missing", "request_amx"]


def check_cpu(bundle: Bundle, cpuinfo: Path = CPUINFO, emulated: frozenset[str] = frozenset()) -> None:
    """Refuse a bundle whose code this processor cannot run, instead of dying of an illegal instruction.

    emulated: features that this process has without the processor. AMX is requested of Linux where it is
    needed.

    Where the operating system does not list the processor's features, a warning says that nothing was
    compared.

    Raises:
        BundleError: names the features that are missing, and the recipes whose bundles run here; or Linux
            does not give AMX.
    """
    had = features_of_cpu(cpuinfo)
    if had is None:
        if bundle.cpu_features:
            warn(
                f"This system does not list its CPU's features, so it was not checked whether {bundle.root} "
                f"(recipe {bundle.recipe}) runs here: it needs {', '.join(bundle.cpu_features)}."
            )
        return
    refuse_missing(bundle, had | emulated, "this one", _advice(bundle, had))
    if {*bundle.cpu_features} & (AMX - emulated):
        try:
            request_amx()
        except OSError as error:
            raise BundleError(
                f"{bundle.root} (recipe {bundle.recipe}) needs AMX, and Linux does not give it to this "
                f"process ({error.strerror}). Use the recipe `cpu`, built on this machine."
            ) from error


def request_amx() -> None:
    """Linux gives a process the tiles of AMX, 8 KB a thread, if it requests them. Raises OSError."""
    if ctypes.CDLL(None, use_errno=True).syscall(_ARCH_PRCTL, _REQUEST, _TILES):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def check_platform(bundle: Bundle) -> None:
    """Refuse a bundle whose code is for another operating system or architecture, or of which nothing can be
    loaded.

    Raises:
        BundleError: names both.
    """
    triple = str(bundle.target.get("mtriple", ""))
    wanted, here = parse_triple(triple), detect_platform()
    if wanted.system == "ios":
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {wanted}, as archives that an app is "
            f"linked with: nothing can load them, and this is {here}. `kokoro-tvm package` writes them as an "
            "XCFramework. To speak here, use the recipe `cpu`, built on this machine."
        )
    if wanted == WEB:
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {wanted}: a browser runs it, or Node, and "
            f"no Python. `kokoro-tvm web {bundle.root}` writes a page that speaks with it. To speak here, "
            "use the recipe `cpu`, built on this machine."
        )
    if triple and wanted != here:
        raise BundleError(
            f"{bundle.root} (recipe {bundle.recipe}) was built for {wanted}, and this is {here}. "
            "Use the recipe `cpu`, built on this machine."
        )


def refuse_missing(bundle: Bundle, had: frozenset[str], where: str, advice: str = "") -> None:
    """Raises BundleError that names the features the bundle's code may use and `where`, which has `had`,
    lacks."""
    missing = sorted(set(bundle.cpu_features) - had)
    if missing:
        text = f"{bundle.root} (recipe {bundle.recipe}) was built for a processor with {', '.join(missing)}"
        raise BundleError(f"{text}, which {where} lacks. {advice}".rstrip())


def _advice(bundle: Bundle, had: frozenset[str]) -> str:
    """Which recipe to use instead: the native one, and the most capable portable one that runs here."""
    arithmetic = " (float32)" if bundle.precision != "float32" else ""
    advice = f"Use the recipe `cpu`{arithmetic}, built on this machine"
    portable = [name for name, needed in PORTABLE.items() if needed <= had]
    return f"{advice}, or the portable recipe `{portable[0]}`." if portable else f"{advice}."
