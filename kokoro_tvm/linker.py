"""The linker that makes shared libraries of object code, and its version."""

from __future__ import annotations

import subprocess
from functools import cache

from kokoro_tvm.errors import BuildError

__all__ = ["LINKER", "linker_version"]

LINKER = "g++"


@cache
def linker_version() -> str:
    """The linker as it tells of itself. Raises BuildError where there is none."""
    try:
        told = subprocess.run([LINKER, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(
            f"no working {LINKER} to link with ({error}): install it (Debian: apt-get install g++)"
        ) from error
    return told.stdout.splitlines()[0]
