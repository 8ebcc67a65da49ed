"""Opens the shared cache of builds."""

from __future__ import annotations

from kokoro_tvm.builder.engine.cache import Cache
from kokoro_tvm.cli._output import note


def open_shared_cache() -> Cache | None:
    """Return the shared cache that the environment names, if any.

    Raises:
        InputError: The cache cannot be used.
    """
    return Cache.from_environment(note)
