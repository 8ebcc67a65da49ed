"""Opens the shared cache of builds."""

from __future__ import annotations

import typer

from kokoro_tvm.builder.engine.cache import Cache

__all__ = ["shared_cache"]


def shared_cache() -> Cache | None:
    """Return the shared cache that the environment names, if any.

    Raises:
        InputError: The cache cannot be used.
    """
    return Cache.from_environment(lambda note: typer.echo(note, err=True))
