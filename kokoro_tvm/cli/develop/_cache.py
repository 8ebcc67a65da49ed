"""The shared cache of builds, as commands open it."""

from __future__ import annotations

import typer

from kokoro_tvm.builder.engine.cache import Cache

__all__ = ["shared_cache"]


def shared_cache() -> Cache | None:
    """Open the shared cache of builds, if there is one.

    Raises:
        InputError: the cache cannot be used.
    """
    return Cache.from_environment(lambda note: typer.echo(note, err=True))
